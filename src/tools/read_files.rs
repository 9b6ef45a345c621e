//! `read_files`: several files, each read by a call of `read_file`.

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::schema::arguments;
use crate::gate::Permit;
use crate::model::{Action, Failure, Flag, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::tool::{Card, Parts, Piece, Stage, Tool};

/// `read_files`
#[derive(Debug)]
pub(super) struct ReadFiles;

arguments! {
    #[schemars(length(min = 1, max = 50))]
    paths: Vec<String>,
    /// Most lines of each file.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    line_numbers: bool = false,
}

static SPEC: ToolSpec = ToolSpec::new("read_files", &[Flag::ReadFile], ARGUMENTS);

impl Tool for ReadFiles {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card { title: "Read several files", description: "Reads up to 50 files; each counts as one read_file.", ..Card::reads(&INPUT) }
    }

    fn parts(&self) -> Option<Parts> {
        Some(Parts { tool: "read_file", split, at_once: false, effect: "read", key: "toolgate/files", named: "path" })
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        split(arguments)?;
        Err(super::answer::no_action(&SPEC))
    }

    fn execute<'a>(&'a self, _: Permit<Action>, _: &'a Sandbox, _: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async { Err(Failure(super::answer::no_action(&SPEC))) })
    }
}

fn split(arguments: Map<String, Value>) -> Result<Vec<Piece>, Refusal> {
    let Args { paths, limit, line_numbers } = Args::read(arguments)?;
    Ok(super::answer::pieces("path", paths, &[("limit", limit.map(Value::from)), ("line_numbers", line_numbers.then(|| true.into()))]))
}
