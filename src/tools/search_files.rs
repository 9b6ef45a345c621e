//! `search_files`: names or lines below a folder.

use std::sync::LazyLock;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::schema;
use crate::gate::Permit;
use crate::model::{self, Action, Argument, CallPath, Failure, Flag, Flags, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::sandbox::root::{Pattern, line_matcher};
use crate::tool::{Card, Stage, Tool};

/// `search_files`
#[derive(Debug)]
pub(super) struct SearchFiles;

static SPEC: ToolSpec = ToolSpec {
    name: "search_files",
    flags: Flags::of(&[Flag::ReadFile]),
    arguments: &[
        Argument { name: "path", default: None },
        Argument { name: "query", default: None },
        Argument { name: "glob", default: None },
        Argument { name: "context_lines", default: Some("0") },
        Argument { name: "max_results", default: Some("100") },
    ],
};

static INPUT: LazyLock<Map<String, Value>> = LazyLock::new(|| schema::input::<Args>(&SPEC));

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// ROOT or ROOT/folder
    path: String,
    /// A regular expression (Rust syntax, `(?i)` ignores case); without it the matching file names are listed.
    query: Option<String>,
    /// `*.rs` matches names at any depth, `src/**/*.rs` the path below `path`.
    glob: Option<String>,
    /// Lines around each match.
    #[schemars(range(min = 0, max = 20))]
    context_lines: Option<u32>,
    #[schemars(range(min = 1, max = 1000))]
    max_results: Option<u32>,
}

impl Tool for SearchFiles {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Search files",
            description: "Searches the files below a folder for lines that match a regular expression, or for names that match a glob. \
                          Skips what .gitignore names, and binary files.",
            read_only: true,
            destructive: false,
            idempotent: true,
            open_world: false,
            input_schema: INPUT.clone(),
            output_schema: Some(schema::output(json!({
                "path": {"type": "string"},
                "matches": {"type": "array", "items": {"type": "object", "properties": {
                    "path": {"type": "string"},
                    "line": {"type": "integer"},
                    "text": {"type": "string"},
                    "before": {"type": "string"},
                    "after": {"type": "string"},
                }}},
                "files_searched": {"type": "integer"},
                "left_out": {"type": "integer"},
                "truncated": {"type": "boolean"},
                "stopped": {"type": "string"},
            }))),
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args: Args = schema::parse(&INPUT, arguments)?;
        if let Some(glob) = &args.glob {
            Pattern::parse(glob).map_err(|why| schema::invalid("glob", "a glob", &why))?;
        }
        if let Some(query) = &args.query {
            line_matcher(query).map_err(|why| schema::invalid("query", "a regular expression", &why))?;
        }
        Ok(Action::SearchFiles(model::SearchFiles {
            path: CallPath::parse(&args.path)?,
            query: args.query,
            glob: args.glob,
            context_lines: args.context_lines.unwrap_or(0),
            max_results: args.max_results.unwrap_or(100),
        }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let _ = (permit.narrow::<model::SearchFiles>()?, sandbox, stage);
            Err(Failure::new(model::Code::Internal, "not built yet"))
        })
    }
}
