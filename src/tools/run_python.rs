//! `run_python`: a program in a sandbox of its own.

use std::sync::LazyLock;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::schema;
use crate::gate::Permit;
use crate::model::{self, Action, Argument, Code, Failure, Flag, Flags, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::tool::{Card, Stage, Tool};

/// `run_python`
#[derive(Debug)]
pub(super) struct RunPython;

static SPEC: ToolSpec = ToolSpec {
    name: "run_python",
    flags: Flags::of(&[Flag::ExecuteCode]),
    arguments: &[
        Argument { name: "code", default: None },
        Argument { name: "session", default: None },
        Argument { name: "stdin", default: Some("\"\"") },
        Argument { name: "timeout_s", default: None },
        Argument { name: "fresh", default: Some("false") },
    ],
};

static INPUT: LazyLock<Map<String, Value>> = LazyLock::new(|| schema::input::<Args>(&SPEC));

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    code: String,
    /// `new` keeps the interpreter; later calls give the handle from the answer and find their variables.
    #[schemars(length(min = 1))]
    session: Option<String>,
    /// What the program reads from standard input.
    stdin: Option<String>,
    /// Longest run time in seconds, within the manifest's.
    #[schemars(range(min = 1))]
    timeout_s: Option<u64>,
    /// A cold interpreter.
    fresh: Option<bool>,
}

impl Tool for RunPython {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Run Python",
            description: "Runs a Python program in a sandbox: allowed imports only, no network unless the policy opens it, own /tmp, the policy's \
                          roots at /roots/NAME. Print what you want to see; the value of a last expression is shown. Read toolgate://policy for \
                          imports and limits.",
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: false,
            input_schema: INPUT.clone(),
            output_schema: Some(schema::output(json!({
                "status": {"type": "string", "enum": ["ok", "exception", "limit", "killed", "sandbox_error"]},
                "limit": {"type": "string", "enum": ["memory", "cpu", "wall", "pids", "fsize", "disk", "fds", "output"]},
                "evidence": {"type": "string"},
                "exit_code": {"type": "integer"},
                "signal": {"type": "integer"},
                "stdout": {"type": "string"},
                "stderr": {"type": "string"},
                "truncated": {"type": "boolean"},
                "duration_ms": {"type": "number"},
                "usage": {"type": "object"},
                "files": {"type": "array", "items": {"type": "object"}},
                "session": {"type": "string"},
                "isolation": {"type": "object"},
            }))),
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args: Args = schema::parse(&INPUT, arguments)?;
        Ok(Action::RunPython(model::RunPython {
            code: args.code,
            session: args.session,
            stdin: args.stdin.unwrap_or_default(),
            timeout_s: args.timeout_s,
            fresh: args.fresh.unwrap_or(false),
        }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let _ = (permit.narrow::<model::RunPython>()?, sandbox, stage);
            Err(Failure::new(Code::Internal, "not built yet"))
        })
    }
}
