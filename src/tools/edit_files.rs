//! `edit_files`: exact replacements in several files.

use std::fmt::Write as _;
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
use crate::sandbox::files::Edited;
use crate::tool::{Card, Stage, Tool};

/// `edit_files`
#[derive(Debug)]
pub(super) struct EditFiles;

static SPEC: ToolSpec = ToolSpec {
    name: "edit_files",
    flags: Flags::of(&[Flag::ReadFile, Flag::WriteFile]),
    arguments: &[Argument { name: "edits", default: None }, Argument { name: "dry_run", default: Some("false") }],
    inside: &[("edits", Inside::Names(&["path", "old_text", "new_text", "replace_all"]))],
    alike: &["edit_file"],
};

static INPUT: LazyLock<Map<String, Value>> = LazyLock::new(|| schema::input::<Args>(&SPEC));

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Made in this order.
    #[schemars(length(min = 1))]
    edits: Vec<Edit>,
    /// Only show the diff.
    dry_run: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// ROOT/folder/file
    path: String,
    /// As of one file.
    #[schemars(length(min = 1))]
    old_text: String,
    /// What takes its place.
    new_text: String,
    /// Every place where it is.
    replace_all: Option<bool>,
}

impl Tool for EditFiles {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Edit several files",
            description: "As edit_file, in up to 50 files at once: all are changed, or none.",
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: false,
            input_schema: &INPUT,
            output_schema: Some(schema::output(json!({}))),
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args: Args = schema::parse(&INPUT, arguments)?;
        let mut edits = Vec::with_capacity(args.edits.len());
        for (index, edit) in args.edits.into_iter().enumerate() {
            if edit.old_text == edit.new_text {
                return Err(schema::invalid(&format!("edits[{index}].new_text"), "different from `old_text`", "the same"));
            }
            let replace_all = edit.replace_all.unwrap_or(false);
            edits.push((CallPath::parse(&edit.path)?, model::Edit { old_text: edit.old_text, new_text: edit.new_text, replace_all }));
        }
        let action = model::EditFiles { edits, dry_run: args.dry_run.unwrap_or(false) };
        let files = action.files().len();
        if files > model::EditFiles::MOST {
            let most = format!("edits of at most {} files", model::EditFiles::MOST);
            return Err(schema::invalid("edits", &most, &format!("of {files}")));
        }
        Ok(Action::EditFiles(action))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let permit = permit.narrow::<model::EditFiles>()?;
            stop(&stage, &permit).check()?;
            let dry_run = permit.action().dry_run;
            let edited = heavy(true, || sandbox.roots.edit_files(permit))?;
            Ok(answer(edited, dry_run))
        })
    }
}

fn answer(edited: Vec<Edited>, dry_run: bool) -> Output {
    let done = if dry_run { "would change; nothing was written" } else { "changed" };
    let files = if edited.len() == 1 { "1 file".to_owned() } else { format!("{} files", edited.len()) };
    let mut text = format!("{files} {done}");
    let (mut rows, mut diff, mut masked, mut written) = (Vec::new(), String::new(), None::<Vec<_>>, 0);
    let cut = edited.iter().any(|file| file.diff_cut);
    for file in edited {
        let passages = if file.replacements == 1 { "1 passage" } else { &format!("{} passages", file.replacements) };
        let sha256 = file.sha256.as_ref().map(|sha256| format!(", sha256 {sha256}")).unwrap_or_default();
        let _ = write!(text, "\n`{}`: {passages}{sha256}", file.target);
        let fact = |value: Value| Field::Fact(value);
        let mut row = vec![
            ("path", fact(file.target.to_string().into())),
            ("replacements", fact(file.replacements.into())),
            ("size", fact(file.size.into())),
        ];
        row.extend(file.sha256.map(|sha256| ("sha256", fact(sha256.into()))));
        rows.push(row);
        diff.push_str(&file.diff);
        if let Some(names) = file.masked {
            masked.get_or_insert_default().extend(names);
        }
        written += if dry_run { 0 } else { file.size };
    }
    let mut output = Output::text(text).fact("dry_run", dry_run);
    output.masked = masked;
    output.blocks.push(Block::Text { text: diff.clone(), origin: Origin::File });
    if cut {
        let note = "[the diff is longer; read the files to see the rest]".to_owned();
        output.blocks.push(Block::Text { text: note, origin: Origin::Own });
    }
    output.structured.get_or_insert_default().extend([("files", Field::List(rows)), ("diff", Field::Text(diff, Origin::File))]);
    output.bytes_written = written;
    output
}
