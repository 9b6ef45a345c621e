//! `edit_file`: exact replacements in one file.

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

/// `edit_file`
#[derive(Debug)]
pub(super) struct EditFile;

static SPEC: ToolSpec = ToolSpec {
    name: "edit_file",
    flags: Flags::of(&[Flag::ReadFile, Flag::WriteFile]),
    arguments: &[
        Argument { name: "path", default: None },
        Argument { name: "edits", default: None },
        Argument { name: "dry_run", default: Some("false") },
    ],
};

static INPUT: LazyLock<Map<String, Value>> = LazyLock::new(|| schema::input::<Args>(&SPEC));

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// ROOT/folder/file
    path: String,
    /// Applied in order, all or none.
    #[schemars(length(min = 1))]
    edits: Vec<Edit>,
    /// Only show the diff.
    dry_run: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// The passage, exactly as it stands in the file, exactly once unless `replace_all`.
    #[schemars(length(min = 1))]
    old_text: String,
    new_text: String,
    replace_all: Option<bool>,
}

impl Tool for EditFile {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Edit a file",
            description: "Replaces exact passages of a text file and answers with the diff. Line ends and byte order mark of the file are kept. \
                          Fails without any change when a passage is missing or stands there more than once.",
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: false,
            input_schema: INPUT.clone(),
            output_schema: Some(schema::output(json!({
                "path": {"type": "string"},
                "replacements": {"type": "integer"},
                "dry_run": {"type": "boolean"},
                "diff": {"type": "string"},
                "size": {"type": "integer"},
                "sha256": {"type": "string"},
            }))),
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args: Args = schema::parse(&INPUT, arguments)?;
        let mut edits = Vec::with_capacity(args.edits.len());
        for (index, edit) in args.edits.into_iter().enumerate() {
            if edit.old_text == edit.new_text {
                return Err(schema::invalid(&format!("edits[{index}].new_text"), "different from `old_text`", "the same"));
            }
            edits.push(model::Edit { old_text: edit.old_text, new_text: edit.new_text, replace_all: edit.replace_all.unwrap_or(false) });
        }
        Ok(Action::EditFile(model::EditFile { path: CallPath::parse(&args.path)?, edits, dry_run: args.dry_run.unwrap_or(false) }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let _ = (permit.narrow::<model::EditFile>()?, sandbox, stage);
            Err(Failure::new(model::Code::Internal, "not built yet"))
        })
    }
}
