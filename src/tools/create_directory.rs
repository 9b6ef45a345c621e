//! `create_directory`: a folder and the missing ones above it.

use std::sync::LazyLock;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{first_target, heavy, stop};
use super::schema;
use crate::gate::Permit;
use crate::model::{self, Action, Argument, CallPath, Failure, Flag, Flags, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::tool::{Card, Stage, Tool};

/// `create_directory`
#[derive(Debug)]
pub(super) struct CreateDirectory;

static SPEC: ToolSpec = ToolSpec {
    name: "create_directory",
    flags: Flags::of(&[Flag::WriteFile]),
    arguments: &[Argument { name: "path", default: None }],
    inside: &[],
    alike: &[],
};

static INPUT: LazyLock<Map<String, Value>> = LazyLock::new(|| schema::input::<Args>(&SPEC));

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// ROOT/folder
    path: String,
}

impl Tool for CreateDirectory {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Create a folder",
            description: "Creates a folder and those missing above it.",
            read_only: false,
            destructive: false,
            idempotent: true,
            open_world: false,
            input_schema: &INPUT,
            output_schema: Some(schema::output(json!({}))),
        }
    }

    fn known_as(&self) -> &'static [&'static str] {
        &["mkdir", "make_directory", "create_dir", "make_dir", "create_folder"]
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args: Args = schema::parse(&INPUT, arguments)?;
        Ok(Action::CreateDirectory(model::CreateDirectory { path: CallPath::parse(&args.path)? }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let permit = permit.narrow::<model::CreateDirectory>()?;
            stop(&stage, &permit).check()?;
            let target = first_target(&permit);
            let made = heavy(false, || sandbox.roots.create_directory(permit))?;
            let done = match made {
                0 => "is there already",
                1 => "created",
                _ => "created with the folders above it",
            };
            Ok(Output::text(format!("`{target}` {done}")).fact("path", target).fact("created", made))
        })
    }
}
