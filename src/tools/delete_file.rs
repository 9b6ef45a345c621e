//! `delete_file`: a file, an empty folder, or a folder with all below it.

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

/// `delete_file`
#[derive(Debug)]
pub(super) struct DeleteFile;

static SPEC: ToolSpec = ToolSpec {
    name: "delete_file",
    flags: Flags::of(&[Flag::WriteFile]),
    arguments: &[Argument { name: "path", default: None }, Argument { name: "recursive", default: Some("false") }],
    inside: &[],
    alike: &[],
};

static INPUT: LazyLock<Map<String, Value>> = LazyLock::new(|| schema::input::<Args>(&SPEC));

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// A file or a folder.
    path: String,
    /// Also a folder that is not empty.
    recursive: Option<bool>,
}

impl Tool for DeleteFile {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Delete",
            description: "Deletes a file or an empty folder, or with `recursive` all below it. There is no way back.",
            read_only: false,
            destructive: true,
            idempotent: true,
            open_world: false,
            input_schema: &INPUT,
            output_schema: Some(schema::output(json!({}))),
        }
    }

    fn known_as(&self) -> &'static [&'static str] {
        &["rm", "remove", "remove_file", "unlink", "delete", "delete_directory", "rmdir"]
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args: Args = schema::parse(&INPUT, arguments)?;
        Ok(Action::DeleteFile(model::DeleteFile { path: CallPath::parse(&args.path)?, recursive: args.recursive.unwrap_or(false) }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let permit = permit.narrow::<model::DeleteFile>()?;
            stop(&stage, &permit).check()?;
            let target = first_target(&permit);
            let deleted = heavy(true, || sandbox.roots.delete(permit))?;
            let with = match deleted {
                0 | 1 => String::new(),
                2 => " with the entry below it".to_owned(),
                more => format!(" with the {} entries below it", more - 1),
            };
            Ok(Output::text(format!("`{target}` deleted{with}")).fact("path", target).fact("deleted", deleted))
        })
    }
}
