//! `move_file`: a new name for a file or folder.

use std::sync::LazyLock;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{heavy, names, stop, with_folders};
use super::schema;
use crate::gate::Permit;
use crate::model::{self, Action, Argument, CallPath, Failure, Flag, Flags, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::tool::{Card, Stage, Tool};

/// `move_file`
#[derive(Debug)]
pub(super) struct MoveFile;

static SPEC: ToolSpec = ToolSpec {
    name: "move_file",
    flags: Flags::of(&[Flag::ReadFile, Flag::WriteFile]),
    arguments: &[Argument { name: "from", default: None }, Argument { name: "to", default: None }],
    inside: &[],
    alike: &[],
};

static INPUT: LazyLock<Map<String, Value>> = LazyLock::new(|| schema::input::<Args>(&SPEC));

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// A file or a folder.
    from: String,
    /// The whole new path.
    to: String,
}

impl Tool for MoveFile {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Move or rename",
            description: "Moves or renames a file or folder. Folders missing above the new path are made.",
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: false,
            input_schema: &INPUT,
            output_schema: Some(schema::output(json!({}))),
        }
    }

    fn known_as(&self) -> &'static [&'static str] {
        &["mv", "rename", "rename_file", "move"]
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args: Args = schema::parse(&INPUT, arguments)?;
        Ok(Action::MoveFile(model::MoveFile { from: CallPath::parse(&args.from)?, to: CallPath::parse(&args.to)? }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let permit = permit.narrow::<model::MoveFile>()?;
            let stop = stop(&stage, &permit);
            stop.check()?;
            let moved = heavy(true, || sandbox.roots.rename(permit, &stop))?;
            let (from, to) = (moved.from.to_string(), moved.to.to_string());
            let replaced = if moved.replaced { "; what stood there was replaced" } else { "" };
            let folders = with_folders(&moved.folders);
            let output = Output::text(format!("`{from}` moved to `{to}`{replaced}{folders}"))
                .fact("from", from)
                .fact("to", to)
                .fact("replaced", moved.replaced);
            Ok(if moved.folders.is_empty() { output } else { output.fact("folders", names(&moved.folders)) })
        })
    }
}
