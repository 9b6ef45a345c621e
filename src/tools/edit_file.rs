//! `edit_file`: exact replacements in one file.

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{edit, on_files, passages, with_diff};
use super::schema::{self, arguments};
use crate::gate::Permit;
use crate::model::{self, Action, CallPath, Code, Failure, Flag, Inside, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::tool::{Card, Stage, Tool};

/// `edit_file`
#[derive(Debug)]
pub(super) struct EditFile;

arguments! {
    /// ROOT/folder/file
    path: String,
    #[schemars(length(min = 1))]
    edits: Vec<Edit>,
    /// Only show the diff.
    dry_run: bool = false,
}

static SPEC: ToolSpec = ToolSpec {
    inside: &[("edits", Inside::Names(&["old_text", "new_text", "replace_all"]))],
    ..ToolSpec::new("edit_file", &[Flag::ReadFile, Flag::WriteFile], ARGUMENTS)
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// Exactly as in the file; must occur once, unless `replace_all`.
    #[schemars(length(min = 1))]
    old_text: String,
    /// The replacement.
    new_text: String,
    /// Replace every occurrence.
    replace_all: Option<bool>,
}

impl Tool for EditFile {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Edit a file",
            description: "Replaces exact passages of a text file in order, all or none, and returns the diff. Line endings are kept.",
            output_schema: Some(schema::output(json!({
                "diff": {"type": "string"},
                "sha256": {"type": "string"},
            }))),
            known_as: "edit str_replace str_replace_editor str_replace_based_edit_tool apply_patch patch replace \
                       replace_in_file search_replace sed multi_edit",
            ..Card::changes(&INPUT)
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args = Args::read(arguments)?;
        let path = CallPath::parse(&args.path)?;
        let each = args.edits.into_iter().enumerate();
        let edits = each.map(|(at, one)| Ok((path.clone(), edit(at, one.old_text, one.new_text, one.replace_all)?)));
        Ok(Action::EditFiles(model::EditFiles { edits: edits.collect::<Result<_, Refusal>>()?, dry_run: args.dry_run }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        on_files(permit, stage, |permit: Permit<model::EditFiles>, _| {
            let edited = sandbox.roots.edit(permit)?.into_iter().next();
            let edited = edited.ok_or_else(|| Failure::new(Code::Internal, "the permit holds no object"))?;
            let (target, dry_run) = (edited.target.to_string(), edited.identity.is_none());
            let done = if dry_run { "would change; nothing was written" } else { "changed" };
            let mut output = Output::text(format!("`{target}` {done}: {}", passages(&edited)))
                .fact("path", target)
                .fact("replacements", edited.replacements)
                .fact("dry_run", dry_run)
                .fact("size", edited.size)
                .optional_fact("sha256", edited.sha256);
            output.masked = edited.masked;
            output.bytes_written = if dry_run { 0 } else { edited.size };
            Ok(with_diff(output, edited.diff, edited.diff_cut.then_some("the file")))
        })
    }
}
