//! `file_info`: facts about one path.

use std::fmt::Write as _;
use std::sync::LazyLock;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{LARGE, heavy, kind, stop, time};
use super::schema;
use crate::gate::Permit;
use crate::model::{self, Action, Argument, Block, Bytes, CallPath, Failure, Flag, Flags, Origin, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::sandbox::files::Info;
use crate::tool::{Card, Stage, Tool};

/// `file_info`
#[derive(Debug)]
pub(super) struct FileInfo;

static SPEC: ToolSpec = ToolSpec {
    name: "file_info",
    flags: Flags::of(&[Flag::ReadFile]),
    arguments: &[Argument { name: "path", default: None }],
    inside: &[],
    alike: &[],
};

static INPUT: LazyLock<Map<String, Value>> = LazyLock::new(|| schema::input::<Args>(&SPEC));

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// A file or a folder.
    path: String,
}

impl Tool for FileInfo {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "File facts",
            description: "Type, size and times of a file or folder; SHA-256 and line count of a file.",
            read_only: true,
            destructive: false,
            idempotent: true,
            open_world: false,
            input_schema: &INPUT,
            output_schema: Some(schema::output(json!({}))),
        }
    }

    fn known_as(&self) -> &'static [&'static str] {
        &["stat", "get_file_info", "file_stat", "get_metadata"]
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args: Args = schema::parse(&INPUT, arguments)?;
        Ok(Action::FileInfo(model::FileInfo { path: CallPath::parse(&args.path)? }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let permit = permit.narrow::<model::FileInfo>()?;
            stop(&stage, &permit).check()?;
            let large = permit.opened().first().is_some_and(|opened| opened.fact.size > LARGE);
            let info = heavy(large, || sandbox.roots.info(permit))?;
            Ok(answer(info))
        })
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
        let sha256 = content.sha256.as_ref().map_or_else(|| ", holds masked secrets".to_owned(), |sha256| format!(", sha256 {sha256}"));
        let _ = write!(text, ", {}{lines}{sha256}", content.mime_type);
        output = output.fact("mime_type", content.mime_type);
        if let Some(sha256) = content.sha256 {
            output = output.fact("sha256", sha256);
        }
        if let Some(lines) = content.lines {
            output = output.fact("lines", lines);
        }
    }
    output.blocks.push(Block::Text { text, origin: Origin::Own });
    output
}
