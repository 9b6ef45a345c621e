//! `write_file`: creates, replaces or lengthens one file.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{heavy, names, stop, with_folders};
use super::schema;
use crate::gate::Permit;
use crate::model::{self, Action, Argument, Bytes, CallPath, Encoding, Failure, Flag, Flags, Output, Refusal, ToolSpec, WriteMode};
use crate::sandbox::Sandbox;
use crate::tool::{Card, Stage, Tool};

/// `write_file`
#[derive(Debug)]
pub(super) struct WriteFile;

static SPEC: ToolSpec = ToolSpec {
    name: "write_file",
    flags: Flags::of(&[Flag::WriteFile]),
    arguments: &[
        Argument { name: "path", default: None },
        Argument { name: "content", default: None },
        Argument { name: "encoding", default: Some("\"utf-8\"") },
        Argument { name: "mode", default: Some("\"overwrite\"") },
        Argument { name: "expected_sha256", default: None },
    ],
    inside: &[],
    alike: &[],
};

static INPUT: LazyLock<Map<String, Value>> = LazyLock::new(|| schema::input::<Args>(&SPEC));

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// ROOT/folder/file
    path: String,
    /// The whole content.
    content: String,
    /// Of `content`.
    encoding: Option<Encoding>,
    /// create fails when the file exists.
    mode: Option<WriteMode>,
    /// Of the file that is replaced.
    expected_sha256: Option<String>,
}

impl Tool for WriteFile {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Write a file",
            description: "Writes a whole file, atomically, and the folders missing above it. To change part of a file use edit_file.",
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: false,
            input_schema: &INPUT,
            output_schema: Some(schema::output(json!({}))),
        }
    }

    fn known_as(&self) -> &'static [&'static str] {
        &["write", "create_file", "save_file", "new_file", "file_write", "put_file"]
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args: Args = schema::parse(&INPUT, arguments)?;
        let content = match args.encoding.unwrap_or_default() {
            Encoding::Utf8 => args.content.into_bytes(),
            Encoding::Base64 => {
                STANDARD.decode(&args.content).map_err(|fault| schema::invalid("content", "valid base64", &format!("not: {fault}")))?
            }
        };
        let expected_sha256 = args.expected_sha256.as_deref().map(digest).transpose()?;
        let mode = args.mode.unwrap_or_default();
        Ok(Action::WriteFile(model::WriteFile { path: CallPath::parse(&args.path)?, content, mode, expected_sha256 }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let permit = permit.narrow::<model::WriteFile>()?;
            stop(&stage, &permit).check()?;
            let written = heavy(true, || sandbox.roots.write(permit))?;
            let (target, size) = (written.target.to_string(), Bytes(written.size));
            let done = if written.created { "created" } else { "written" };
            let sha256 = written.sha256.as_ref().map_or_else(|| "holds masked secrets".to_owned(), |sha256| format!("sha256 {sha256}"));
            let folders = with_folders(&written.folders);
            let mut output = Output::text(format!("`{target}` {done}: {size}, {sha256}{folders}"))
                .fact("path", target)
                .fact("created", written.created)
                .fact("size", written.size);
            if let Some(sha256) = written.sha256 {
                output = output.fact("sha256", sha256);
            }
            if !written.folders.is_empty() {
                output = output.fact("folders", names(&written.folders));
            }
            output.bytes_written = written.size;
            Ok(output)
        })
    }
}

/// A SHA-256 as the house writes it. Upper case is what other tools print and is the same digest.
fn digest(text: &str) -> Result<String, Refusal> {
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(text.to_ascii_lowercase());
    }
    let length = text.chars().count();
    Err(schema::invalid("expected_sha256", "64 hexadecimal digits", &format!("a text of {length} characters")))
}
