//! `create_directory`: a folder and the missing ones above it.

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::answer::{first_target, on_files};
use super::schema::arguments;
use crate::gate::Permit;
use crate::model::{self, Action, CallPath, Failure, Flag, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::tool::{Card, Stage, Tool};

/// `create_directory`
#[derive(Debug)]
pub(super) struct CreateDirectory;

arguments! {
    path: String,
}

static SPEC: ToolSpec = ToolSpec::new("create_directory", &[Flag::WriteFile], ARGUMENTS);

impl Tool for CreateDirectory {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Create a folder",
            description: "Creates a folder and its missing parents.",
            destructive: false,
            idempotent: true,
            known_as: "mkdir make_directory create_dir make_dir create_folder",
            ..Card::changes(&INPUT)
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args = Args::read(arguments)?;
        Ok(Action::CreateDirectory(model::CreateDirectory { path: CallPath::parse(&args.path)? }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        on_files(permit, stage, |permit: Permit<model::CreateDirectory>, _| {
            let target = first_target(&permit);
            let made = sandbox.roots.create_directory(permit)?;
            let done = match made {
                0 => "is there already",
                1 => "created",
                _ => "created with the folders above it",
            };
            Ok(Output::text(format!("`{target}` {done}")).fact("path", target).fact("created", made))
        })
    }
}
