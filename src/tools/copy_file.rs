//! `copy_file`: the bytes of a file under another name.

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::answer::{digest, of_written, on_files};
use super::schema::arguments;
use crate::gate::Permit;
use crate::model::{self, Action, Bytes, CallPath, Failure, Flag, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::tool::{Card, Stage, Tool};

/// `copy_file`
#[derive(Debug)]
pub(super) struct CopyFile;

arguments! {
    /// ROOT/folder/file
    from: String,
    /// Path of the copy.
    to: String,
}

static SPEC: ToolSpec =
    ToolSpec { alike: &["read_file", "write_file"], ..ToolSpec::new("copy_file", &[Flag::ReadFile, Flag::WriteFile], ARGUMENTS) };

impl Tool for CopyFile {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card { title: "Copy a file", description: "Copies one file, also between roots. Creates missing folders.", ..Card::changes(&INPUT) }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let Args { from, to } = Args::read(arguments)?;
        Ok(Action::CopyFile(model::CopyFile { from: CallPath::parse(&from)?, to: CallPath::parse(&to)? }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        on_files(permit, stage, |permit: Permit<model::CopyFile>, _| {
            let (from, copy) = sandbox.roots.copy(permit)?;
            let (from, to) = (from.to_string(), copy.target.to_string());
            let replaced = if copy.created { "" } else { "; what stood there was replaced" };
            let text = format!("`{from}` copied to `{to}`: {}, {}{replaced}", Bytes(copy.size), digest(copy.sha256.as_ref()));
            Ok(of_written(text, Output::default().fact("from", from).fact("to", to).fact("replaced", !copy.created), copy))
        })
    }
}
