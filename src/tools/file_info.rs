//! `file_info`: facts about one path.

use std::sync::LazyLock;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::schema;
use crate::gate::Permit;
use crate::model::{self, Action, Argument, CallPath, Failure, Flag, Flags, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::tool::{Card, Stage, Tool};

/// `file_info`
#[derive(Debug)]
pub(super) struct FileInfo;

static SPEC: ToolSpec =
    ToolSpec { name: "file_info", flags: Flags::of(&[Flag::ReadFile]), arguments: &[Argument { name: "path", default: None }] };

static INPUT: LazyLock<Map<String, Value>> = LazyLock::new(|| schema::input::<Args>(&SPEC));

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// ROOT/folder/file
    path: String,
}

impl Tool for FileInfo {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "File facts",
            description: "Type, size and times of a file or folder; for a file its SHA-256 and lines as well, while it is not too large.",
            read_only: true,
            destructive: false,
            idempotent: true,
            open_world: false,
            input_schema: INPUT.clone(),
            output_schema: Some(schema::output(json!({
                "path": {"type": "string"},
                "kind": {"type": "string"},
                "size": {"type": "integer"},
                "modified": {"type": "string"},
                "mode": {"type": "string"},
                "sha256": {"type": "string"},
                "lines": {"type": "integer"},
                "mime_type": {"type": "string"},
            }))),
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args: Args = schema::parse(&INPUT, arguments)?;
        Ok(Action::FileInfo(model::FileInfo { path: CallPath::parse(&args.path)? }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let _ = (permit.narrow::<model::FileInfo>()?, sandbox, stage);
            Err(Failure::new(model::Code::Internal, "not built yet"))
        })
    }
}
