//! `list_directory`: the entries of a folder.

use std::sync::LazyLock;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::schema;
use crate::gate::Permit;
use crate::model::{self, Action, Argument, CallPath, Failure, Flag, Flags, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::sandbox::root::Pattern;
use crate::tool::{Card, Stage, Tool};

/// `list_directory`
#[derive(Debug)]
pub(super) struct ListDirectory;

static SPEC: ToolSpec = ToolSpec {
    name: "list_directory",
    flags: Flags::of(&[Flag::ReadFile]),
    arguments: &[
        Argument { name: "path", default: None },
        Argument { name: "depth", default: Some("1") },
        Argument { name: "glob", default: None },
        Argument { name: "limit", default: Some("500") },
    ],
};

static INPUT: LazyLock<Map<String, Value>> = LazyLock::new(|| schema::input::<Args>(&SPEC));

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// ROOT or ROOT/folder
    path: String,
    /// How many folders deep.
    #[schemars(range(min = 1, max = 32))]
    depth: Option<u32>,
    /// `*.rs` matches names at any depth, `src/**/*.rs` the path below `path`.
    glob: Option<String>,
    /// Most entries.
    #[schemars(range(min = 1, max = 10000))]
    limit: Option<u32>,
}

impl Tool for ListDirectory {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "List a folder",
            description: "Lists a folder, sorted, folders with a trailing slash, files with their size. Entries you may not see are left out and \
                          counted.",
            read_only: true,
            destructive: false,
            idempotent: true,
            open_world: false,
            input_schema: INPUT.clone(),
            output_schema: Some(schema::output(json!({
                "path": {"type": "string"},
                "entries": {"type": "array", "items": {"type": "object", "properties": {
                    "path": {"type": "string"},
                    "kind": {"type": "string"},
                    "size": {"type": "integer"},
                }}},
                "left_out": {"type": "integer"},
                "truncated": {"type": "boolean"},
            }))),
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args: Args = schema::parse(&INPUT, arguments)?;
        if let Some(glob) = &args.glob {
            Pattern::parse(glob).map_err(|why| schema::invalid("glob", "a glob", &why))?;
        }
        Ok(Action::ListDirectory(model::ListDirectory {
            path: CallPath::parse(&args.path)?,
            depth: args.depth.unwrap_or(1),
            glob: args.glob,
            limit: args.limit.unwrap_or(500),
        }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let _ = (permit.narrow::<model::ListDirectory>()?, sandbox, stage);
            Err(Failure::new(model::Code::Internal, "not built yet"))
        })
    }
}
