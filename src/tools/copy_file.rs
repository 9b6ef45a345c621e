//! `copy_file`: the bytes of a file under another name.

use std::sync::LazyLock;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{heavy, names, stop, with_folders};
use super::schema;
use crate::gate::Permit;
use crate::model::{self, Action, Argument, Bytes, CallPath, Failure, Flag, Flags, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::tool::{Card, Stage, Tool};

/// `copy_file`
#[derive(Debug)]
pub(super) struct CopyFile;

static SPEC: ToolSpec = ToolSpec {
    name: "copy_file",
    flags: Flags::of(&[Flag::ReadFile, Flag::WriteFile]),
    arguments: &[Argument { name: "from", default: None }, Argument { name: "to", default: None }],
    inside: &[],
    alike: &["read_file", "write_file"],
};

static INPUT: LazyLock<Map<String, Value>> = LazyLock::new(|| schema::input::<Args>(&SPEC));

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// A file, as ROOT/folder/file.
    from: String,
    /// The copy's whole path.
    to: String,
}

impl Tool for CopyFile {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Copy a file",
            description: "Copies one file, also to another root. Missing folders are made.",
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: false,
            input_schema: &INPUT,
            output_schema: Some(schema::output(json!({}))),
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args: Args = schema::parse(&INPUT, arguments)?;
        Ok(Action::CopyFile(model::CopyFile { from: CallPath::parse(&args.from)?, to: CallPath::parse(&args.to)? }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let permit = permit.narrow::<model::CopyFile>()?;
            stop(&stage, &permit).check()?;
            let (from, copy) = heavy(true, || sandbox.roots.copy(permit))?;
            let (from, to) = (from.to_string(), copy.target.to_string());
            let replaced = if copy.created { "" } else { "; what stood there was replaced" };
            let sha256 = copy.sha256.as_ref().map_or_else(|| "holds masked secrets".to_owned(), |sha256| format!("sha256 {sha256}"));
            let folders = with_folders(&copy.folders);
            let mut output = Output::text(format!("`{from}` copied to `{to}`: {}, {sha256}{replaced}{folders}", Bytes(copy.size)))
                .fact("from", from)
                .fact("to", to)
                .fact("replaced", !copy.created)
                .fact("size", copy.size);
            if let Some(sha256) = copy.sha256 {
                output = output.fact("sha256", sha256);
            }
            if !copy.folders.is_empty() {
                output = output.fact("folders", names(&copy.folders));
            }
            output.bytes_written = copy.size;
            Ok(output)
        })
    }
}
