//! `edit_file`: exact replacements in one file.

use std::sync::LazyLock;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{heavy, stop};
use super::schema;
use crate::gate::Permit;
use crate::model::{self, Action, Argument, Block, CallPath, Failure, Field, Flag, Flags, Inside, Origin, Output, Refusal, ToolSpec};
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
    inside: &[("edits", Inside::Names(&["old_text", "new_text", "replace_all"]))],
    alike: &[],
};

static INPUT: LazyLock<Map<String, Value>> = LazyLock::new(|| schema::input::<Args>(&SPEC));

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// ROOT/folder/file
    path: String,
    /// Made in this order.
    #[schemars(length(min = 1))]
    edits: Vec<Edit>,
    /// Only show the diff.
    dry_run: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// Exactly as in the file, and there once unless `replace_all`.
    #[schemars(length(min = 1))]
    old_text: String,
    /// What takes its place.
    new_text: String,
    /// Every place where it is.
    replace_all: Option<bool>,
}

impl Tool for EditFile {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Edit a file",
            description: "Replaces exact passages of a text file, in order, all or none; answers with the diff. Line ends are kept.",
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: false,
            input_schema: &INPUT,
            output_schema: Some(schema::output(json!({
                "diff": {"type": "string"},
                "sha256": {"type": "string"},
            }))),
        }
    }

    fn known_as(&self) -> &'static [&'static str] {
        &[
            "edit",
            "str_replace",
            "str_replace_editor",
            "str_replace_based_edit_tool",
            "apply_patch",
            "patch",
            "replace",
            "replace_in_file",
            "search_replace",
            "sed",
            "multi_edit",
        ]
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
            let permit = permit.narrow::<model::EditFile>()?;
            stop(&stage, &permit).check()?;
            let edited = heavy(true, || sandbox.roots.edit(permit))?;
            let target = edited.target.to_string();
            let dry_run = edited.identity.is_none();
            let done = if dry_run { "would change; nothing was written" } else { "changed" };
            let passages = if edited.replacements == 1 { "1 passage" } else { &format!("{} passages", edited.replacements) };
            let sha256 = edited.sha256.as_ref().map(|sha256| format!(", sha256 {sha256}")).unwrap_or_default();
            let mut output = Output::text(format!("`{target}` {done}: {passages}{sha256}"))
                .fact("path", target)
                .fact("replacements", edited.replacements)
                .fact("dry_run", dry_run)
                .fact("size", edited.size);
            if let Some(sha256) = edited.sha256 {
                output = output.fact("sha256", sha256);
            }
            output.masked = edited.masked;
            output.blocks.push(Block::Text { text: edited.diff.clone(), origin: Origin::File });
            if edited.diff_cut {
                let note = "[the diff is longer; read the file to see the rest]".to_owned();
                output.blocks.push(Block::Text { text: note, origin: Origin::Own });
            }
            output.structured.get_or_insert_default().push(("diff", Field::Text(edited.diff, Origin::File)));
            output.bytes_written = if dry_run { 0 } else { edited.size };
            Ok(output)
        })
    }
}
