//! `file_info`: facts about one path.

use std::fmt::Write as _;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::answer::{digest, kind, on_files, time};
use super::schema::{self, arguments};
use crate::gate::Permit;
use crate::model::{self, Action, Block, Bytes, CallPath, Failure, Flag, Origin, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::sandbox::files::Info;
use crate::tool::{Card, Stage, Tool};

/// `file_info`
#[derive(Debug)]
pub(super) struct FileInfo;

arguments! {
    path: String,
}

static SPEC: ToolSpec = ToolSpec::new("file_info", &[Flag::ReadFile], ARGUMENTS);

impl Tool for FileInfo {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "File facts",
            description: "Returns type, size and times of a file or folder, and SHA-256 and line count of a file.",
            output_schema: Some(schema::output(json!({}))),
            known_as: "stat get_file_info file_stat get_metadata",
            ..Card::reads(&INPUT)
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args = Args::read(arguments)?;
        Ok(Action::FileInfo(model::FileInfo { path: CallPath::parse(&args.path)? }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        on_files(permit, stage, |permit: Permit<model::FileInfo>, _| Ok(answer(sandbox.roots.info(permit)?)))
    }
}

fn answer(info: Info) -> Output {
    let target = info.target.to_string();
    let (kind, modified, mode) = (kind(info.kind), time(info.modified_ns), format!("{:04o}", info.mode));
    let mut text = format!("`{target}`: {kind}, {}, modified {modified}, mode {mode}", Bytes(info.size));
    let mut output =
        Output::default().fact("path", target).fact("kind", kind).fact("size", info.size).fact("modified", modified).fact("mode", mode);
    if let Some(content) = info.content {
        let lines = content.lines.map(|lines| format!(", {lines} lines")).unwrap_or_default();
        let _ = write!(text, ", {}{lines}, {}", content.mime_type, digest(content.sha256.as_ref()));
        output = output.fact("mime_type", content.mime_type).optional_fact("sha256", content.sha256).optional_fact("lines", content.lines);
    }
    output.blocks.push(Block::text(text, Origin::Own));
    output
}
