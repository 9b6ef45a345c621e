//! `read_file`: one file, or some of its lines.

use std::sync::LazyLock;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::schema;
use crate::gate::Permit;
use crate::model::{self, Action, Argument, CallPath, Encoding, Failure, Flag, Flags, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::tool::{Card, Stage, Tool};

/// `read_file`
#[derive(Debug)]
pub(super) struct ReadFile;

static SPEC: ToolSpec = ToolSpec {
    name: "read_file",
    flags: Flags::of(&[Flag::ReadFile]),
    arguments: &[
        Argument { name: "path", default: None },
        Argument { name: "offset", default: Some("1") },
        Argument { name: "limit", default: None },
        Argument { name: "encoding", default: Some("\"utf-8\"") },
    ],
};

static INPUT: LazyLock<Map<String, Value>> = LazyLock::new(|| schema::input::<Args>(&SPEC));

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// ROOT/folder/file
    path: String,
    /// First line, from 1.
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// Most lines; all when absent.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// How the content is sent; base64 for binary files.
    encoding: Option<Encoding>,
}

impl Tool for ReadFile {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Read a file",
            description: "Reads a text file, or `limit` lines of it from line `offset`. A long answer is cut at a line and says which offset to \
                          go on with. Pictures (PNG, JPEG, GIF, WebP) come back as images; other binary files only with encoding base64.",
            read_only: true,
            destructive: false,
            idempotent: true,
            open_world: false,
            input_schema: INPUT.clone(),
            output_schema: None,
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args: Args = schema::parse(&INPUT, arguments)?;
        Ok(Action::ReadFile(model::ReadFile {
            path: CallPath::parse(&args.path)?,
            offset: args.offset.unwrap_or(1),
            limit: args.limit,
            encoding: args.encoding.unwrap_or_default(),
        }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let _ = (permit.narrow::<model::ReadFile>()?, sandbox, stage);
            Err(Failure::new(model::Code::Internal, "not built yet"))
        })
    }
}
