//! `edit_files`: exact replacements in several files.

use std::fmt::Write as _;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::answer::{edit, on_files, passages, with_diff};
use super::schema::{self, arguments};
use crate::gate::Permit;
use crate::model::{self, Action, CallPath, Failure, Field, Flag, Inside, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::sandbox::files::Edited;
use crate::tool::{Card, Stage, Tool};

/// `edit_files`
#[derive(Debug)]
pub(super) struct EditFiles;

arguments! {
    #[schemars(length(min = 1))]
    edits: Vec<Edit>,
    dry_run: bool = false,
}

static SPEC: ToolSpec = ToolSpec {
    inside: &[("edits", Inside::Names(&["path", "old_text", "new_text", "replace_all"]))],
    alike: &["edit_file"],
    ..ToolSpec::new("edit_files", &[Flag::ReadFile, Flag::WriteFile], ARGUMENTS)
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// ROOT/folder/file
    path: String,
    #[schemars(length(min = 1))]
    old_text: String,
    new_text: String,
    replace_all: Option<bool>,
}

impl Tool for EditFiles {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Edit several files",
            description: "Like edit_file, for up to 50 files at once: all are changed, or none.",
            ..Card::changes(&INPUT)
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args = Args::read(arguments)?;
        let each = args.edits.into_iter().enumerate();
        let edits = each
            .map(|(at, one)| Ok((CallPath::parse(&one.path)?, edit(at, one.old_text, one.new_text, one.replace_all)?)))
            .collect::<Result<_, Refusal>>()?;
        let action = model::EditFiles { edits, dry_run: args.dry_run };
        let files = action.files().len();
        if files > model::EditFiles::MOST {
            let most = format!("edits of at most {} files", model::EditFiles::MOST);
            return Err(schema::invalid("edits", &most, &format!("of {files}")));
        }
        Ok(Action::EditFiles(action))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        on_files(permit, stage, |permit: Permit<model::EditFiles>, _| {
            let dry_run = permit.action().dry_run;
            Ok(answer(sandbox.roots.edit(permit)?, dry_run))
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
        let _ = write!(text, "\n`{}`: {}", file.target, passages(&file));
        let mut row = vec![
            ("path", Field::Fact(file.target.to_string().into())),
            ("replacements", Field::Fact(file.replacements.into())),
            ("size", Field::Fact(file.size.into())),
        ];
        row.extend(file.sha256.map(|sha256| ("sha256", Field::Fact(sha256.into()))));
        rows.push(row);
        diff.push_str(&file.diff);
        if let Some(names) = file.masked {
            masked.get_or_insert_default().extend(names);
        }
        written += if dry_run { 0 } else { file.size };
    }
    let mut output = Output::text(text).fact("dry_run", dry_run).field("files", Field::List(rows));
    output.masked = masked;
    output.bytes_written = written;
    with_diff(output, diff, cut.then_some("the files"))
}
