//! `search_files`: names or lines below a folder.

use std::fmt::Write as _;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::answer::{left_out, name, on_files};
use super::schema::{self, arguments};
use crate::gate::Permit;
use crate::model::{self, Action, Block, CallPath, Failure, Field, Flag, Origin, Output, Refusal, RelPath, Target, ToolSpec};
use crate::policy::paths::visible;
use crate::sandbox::Sandbox;
use crate::sandbox::files::{Ended, Found, MatchedLine, Pattern, line_matcher};
use crate::tool::{Card, Stage, Tool};

/// `search_files`
#[derive(Debug)]
pub(super) struct SearchFiles;

arguments! {
    path: String,
    /// Rust regex; (?i) ignores case. Without it, file names are listed.
    query: Option<String>,
    /// `*.rs` at any depth, or `src/**/*.rs`
    glob: Option<String>,
    #[schemars(range(min = 0, max = 20))]
    context_lines: u32 = 0,
    #[schemars(range(min = 1, max = 1000))]
    max_results: u32 = 100,
}

static SPEC: ToolSpec = ToolSpec::new("search_files", &[Flag::ReadFile], ARGUMENTS);

impl Tool for SearchFiles {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Search files",
            description: "Searches a file or a folder for lines that match a regex, or for names that match a glob. Skips binary files (also PDF) \
                          and what .gitignore excludes.",
            output_schema: Some(schema::output(json!({
                "matches": {"type": "array", "items": {"type": "object"}},
                "truncated": {"type": "boolean"},
            }))),
            known_as: "grep rg ripgrep find glob search search_code codebase_search grep_search file_search find_files",
            ..Card::reads(&INPUT)
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let Args { path, query, glob, context_lines, max_results } = Args::read(arguments)?;
        if let Some(glob) = &glob {
            Pattern::parse(glob).map_err(|why| schema::invalid("glob", "a glob", &why))?;
        }
        if let Some(query) = &query {
            line_matcher(query).map_err(|why| schema::invalid("query", "a regular expression", &why))?;
        }
        let path = CallPath::parse(&path)?;
        Ok(Action::SearchFiles(model::SearchFiles { path, query, glob, context_lines, max_results }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        on_files(permit, stage, |permit: Permit<model::SearchFiles>, stop| {
            let terms = permit.terms().clone();
            let root = permit.opened().first().map(|opened| opened.target.root.clone()).unwrap_or_default();
            let seen = |path: &RelPath, is_folder| visible(&terms.manifest, &root, path, is_folder);
            Ok(answer(sandbox.roots.search(permit, &seen, stop)?))
        })
    }
}

fn answer(found: Found) -> Output {
    let target = found.target.to_string();
    let mut text = String::new();
    let mut rows = Vec::with_capacity(found.matches.len());
    let mut file = String::new();
    let count = found.matches.len();
    for hit in found.matches {
        let path = Target { root: found.target.root.clone(), path: hit.path }.to_string();
        if path != file {
            let _ = writeln!(text, "{}", name(&path));
            file.clone_from(&path);
        }
        let mut row = vec![("path", Field::Name(path, Origin::File))];
        if let Some(line) = hit.line {
            show(&mut text, &line);
            row.push(("line", Field::Fact(line.number.into())));
            row.push(("text", Field::Text(line.text, Origin::File)));
            for (key, around) in [("before", line.before), ("after", line.after)] {
                if !around.is_empty() {
                    row.push((key, Field::Text(around.join("\n"), Origin::File)));
                }
            }
        }
        rows.push(row);
    }
    let mut note = match count {
        0 if found.files == 1 => format!("nothing found in `{}`\n", name(&target)),
        0 => format!("nothing found in {} files below `{}`\n", found.files, name(&target)),
        _ => String::new(),
    };
    note.push_str(&left_out(found.left_out));
    if found.not_text > 0 {
        let files = if found.not_text == 1 { "1 file is" } else { &format!("{} files are", found.not_text) };
        let _ = writeln!(note, "[{files} no text (binary, PDF) or too large, and could not be searched]");
    }
    match found.ended {
        Some(Ended::Full) => note.push_str("[cut: there is more; narrow the query, the glob or the folder]\n"),
        Some(Ended::Late) => note.push_str("[cut: the time was up; search a folder below or give a glob]\n"),
        None => {}
    }
    let mut output = Output { masked: found.masked, ..Output::default() };
    for (text, origin) in [(text, Origin::File), (note, Origin::Own)] {
        if !text.is_empty() {
            output.blocks.push(Block::text(text, origin));
        }
    }
    output
        .fact("path", target)
        .fact("files_searched", found.files)
        .fact("left_out", found.left_out)
        .fact("truncated", found.ended.is_some())
        .optional_fact("not_text", (found.not_text > 0).then_some(found.not_text))
        .field("matches", Field::List(rows))
}

/// One match as lines: `12: text`, those around it `11- text`.
fn show(text: &mut String, line: &MatchedLine) {
    let first = line.number.saturating_sub(line.before.len() as u64);
    for (number, before) in (first..).zip(&line.before) {
        let _ = writeln!(text, "{number}- {before}");
    }
    let _ = writeln!(text, "{}: {}", line.number, line.text);
    for (number, after) in (line.number + 1..).zip(&line.after) {
        let _ = writeln!(text, "{number}- {after}");
    }
}
