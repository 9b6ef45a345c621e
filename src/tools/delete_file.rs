//! `delete_file`: a file, an empty folder, or a folder with all below it.

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::answer::{first_target, on_files};
use super::schema::arguments;
use crate::gate::Permit;
use crate::model::{self, Action, CallPath, Failure, Flag, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::tool::{Card, Stage, Tool};

/// `delete_file`
#[derive(Debug)]
pub(super) struct DeleteFile;

arguments! {
    path: String,
    recursive: bool = false,
}

static SPEC: ToolSpec = ToolSpec::new("delete_file", &[Flag::WriteFile], ARGUMENTS);

impl Tool for DeleteFile {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Delete",
            description: "Deletes a file or an empty folder; with `recursive`, a folder and all it contains. Cannot be undone.",
            idempotent: true,
            known_as: "rm remove remove_file unlink delete delete_directory rmdir",
            ..Card::changes(&INPUT)
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let Args { path, recursive } = Args::read(arguments)?;
        Ok(Action::DeleteFile(model::DeleteFile { path: CallPath::parse(&path)?, recursive }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        on_files(permit, stage, |permit: Permit<model::DeleteFile>, _| {
            let target = first_target(&permit);
            let deleted = sandbox.roots.delete(permit)?;
            let with = match deleted {
                0 | 1 => String::new(),
                2 => " with the entry below it".to_owned(),
                more => format!(" with the {} entries below it", more - 1),
            };
            Ok(Output::text(format!("`{target}` deleted{with}")).fact("path", target).fact("deleted", deleted))
        })
    }
}
