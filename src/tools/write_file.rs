//! `write_file`: creates, replaces or lengthens one file.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::answer::{digest, of_written, on_files};
use super::schema::{self, arguments};
use crate::gate::Permit;
use crate::model::{self, Action, Bytes, CallPath, Encoding, Failure, Flag, Output, Refusal, ToolSpec, WriteMode};
use crate::sandbox::Sandbox;
use crate::tool::{Card, Stage, Tool};

/// `write_file`
#[derive(Debug)]
pub(super) struct WriteFile;

arguments! {
    /// ROOT/folder/file
    path: String,
    content: String,
    encoding: Encoding = "utf-8",
    /// `create` fails if the file exists.
    mode: WriteMode = "overwrite",
    /// Of the file to be replaced.
    expected_sha256: Option<String>,
}

static SPEC: ToolSpec = ToolSpec::new("write_file", &[Flag::WriteFile], ARGUMENTS);

impl Tool for WriteFile {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Write a file",
            description: "Writes a whole file atomically. Creates missing folders. To change part of a file, use edit_file.",
            known_as: "write create_file save_file new_file file_write put_file",
            ..Card::changes(&INPUT)
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args = Args::read(arguments)?;
        let content = match args.encoding {
            Encoding::Utf8 => args.content.into_bytes(),
            Encoding::Base64 => {
                STANDARD.decode(&args.content).map_err(|fault| schema::invalid("content", "valid base64", &format!("not: {fault}")))?
            }
        };
        let expected_sha256 = args.expected_sha256.as_deref().map(checked).transpose()?;
        Ok(Action::WriteFile(model::WriteFile { path: CallPath::parse(&args.path)?, content, mode: args.mode, expected_sha256 }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        on_files(permit, stage, |permit: Permit<model::WriteFile>, _| {
            let written = sandbox.roots.write(permit)?;
            let target = written.target.to_string();
            let done = if written.created { "created" } else { "written" };
            let text = format!("`{target}` {done}: {}, {}", Bytes(written.size), digest(written.sha256.as_ref()));
            Ok(of_written(text, Output::default().fact("path", target).fact("created", written.created), written))
        })
    }
}

/// A SHA-256 in lower case. Upper case is what other tools print and is the same digest.
fn checked(text: &str) -> Result<String, Refusal> {
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(text.to_ascii_lowercase());
    }
    let length = text.chars().count();
    Err(schema::invalid("expected_sha256", "64 hexadecimal digits", &format!("a text of {length} characters")))
}
