//! `move_file`: a new name for a file or folder.

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::answer::{names, on_files, with_folders};
use super::schema::arguments;
use crate::gate::Permit;
use crate::model::{self, Action, CallPath, Failure, Flag, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::tool::{Card, Stage, Tool};

/// `move_file`
#[derive(Debug)]
pub(super) struct MoveFile;

arguments! {
    from: String,
    /// The new path.
    to: String,
}

static SPEC: ToolSpec = ToolSpec::new("move_file", &[Flag::ReadFile, Flag::WriteFile], ARGUMENTS);

impl Tool for MoveFile {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Move or rename",
            description: "Moves or renames a file or folder. Creates missing folders.",
            known_as: "mv rename rename_file move",
            ..Card::changes(&INPUT)
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let Args { from, to } = Args::read(arguments)?;
        Ok(Action::MoveFile(model::MoveFile { from: CallPath::parse(&from)?, to: CallPath::parse(&to)? }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        on_files(permit, stage, |permit: Permit<model::MoveFile>, stop| {
            let moved = sandbox.roots.rename(permit, stop)?;
            let (from, to) = (moved.from.to_string(), moved.to.to_string());
            let replaced = if moved.replaced { "; what stood there was replaced" } else { "" };
            let folders = with_folders(&moved.folders);
            Ok(Output::text(format!("`{from}` moved to `{to}`{replaced}{folders}"))
                .fact("from", from)
                .fact("to", to)
                .fact("replaced", moved.replaced)
                .optional_fact("folders", names(&moved.folders)))
        })
    }
}
