//! `list_directory`: the entries of a folder.

use std::fmt::Write as _;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::answer::{kind, left_out, name, on_files};
use super::schema::{self, arguments};
use crate::gate::{Permit, Terms};
use crate::model::{self, Action, Block, Bytes, CallPath, Failure, Field, Flag, Kind, Origin, Output, Refusal, RelPath, Target, ToolSpec};
use crate::policy::paths::visible;
use crate::policy::words::mode;
use crate::sandbox::Sandbox;
use crate::sandbox::files::{Listing, Pattern};
use crate::tool::{Card, Stage, Tool};

/// `list_directory`
#[derive(Debug)]
pub(super) struct ListDirectory;

arguments! {
    /// `.` lists the roots
    path: String,
    /// 1: only direct entries.
    #[schemars(range(min = 1, max = 32))]
    depth: u32 = 1,
    /// `*.rs` at any depth, or `src/**/*.rs`
    glob: Option<String>,
    #[schemars(range(min = 1, max = 10000))]
    limit: u32 = 500,
    /// Include what .gitignore excludes.
    ignored: bool = false,
}

static SPEC: ToolSpec = ToolSpec::new("list_directory", &[Flag::ReadFile], ARGUMENTS);

impl Tool for ListDirectory {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "List a folder",
            description: "Lists a folder, sorted, with sizes. Entries you may not see and those in .gitignore are only counted.",
            output_schema: Some(schema::output(json!({}))),
            known_as: "ls dir tree list_dir list_files directory_tree list_folder list_allowed_directories",
            ..Card::reads(&INPUT)
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let Args { path, depth, glob, limit, ignored } = Args::read(arguments)?;
        if let Some(glob) = &glob {
            Pattern::parse(glob).map_err(|why| schema::invalid("glob", "a glob", &why))?;
        }
        let path = if is_above_roots(&path) { None } else { Some(CallPath::parse(&path)?) };
        Ok(Action::ListDirectory(model::ListDirectory { path, depth, glob, limit, ignored }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        on_files(permit, stage, |permit: Permit<model::ListDirectory>, stop| {
            let terms = permit.terms().clone();
            if permit.action().path.is_none() {
                // What a profile has of the manifest: nothing outside the process is looked at.
                return Ok(roots(&terms));
            }
            let root = permit.opened().first().map(|opened| opened.target.root.clone()).unwrap_or_default();
            let seen = |path: &RelPath, is_folder| visible(&terms.manifest, &root, path, is_folder);
            Ok(answer(&sandbox.roots.list(permit, &seen, stop)?, terms.max_answer))
        })
    }
}

/// Whether a path is one of the spellings of "above all roots". For every other tool they are malformed, or outside.
fn is_above_roots(path: &str) -> bool {
    matches!(path, "" | "." | "./" | "/")
}

/// The roots of a profile, as the entries of the folder above them.
fn roots(terms: &Terms) -> Output {
    let mut text = String::new();
    let mut entries = Vec::new();
    for (name, root) in terms.manifest.roots_of(&terms.profile) {
        let _ = writeln!(text, "{name}/  ({})", mode(root));
        entries.push(vec![("path", Field::Fact(name.as_str().into())), ("kind", Field::Fact(kind(Kind::Directory).into()))]);
    }
    if entries.is_empty() {
        text.push_str("no folder is open to you\n");
    }
    Output::text(text).fact("path", ".").field("entries", Field::List(entries)).fact("left_out", 0_u64).fact("truncated", false)
}

fn answer(listing: &Listing, most: Bytes) -> Output {
    let target = listing.target.to_string();
    let mut text = String::new();
    let mut entries = Vec::with_capacity(listing.entries.len());
    let mut cut = listing.truncated || listing.late;
    for entry in &listing.entries {
        let full = Target { root: listing.target.root.clone(), path: entry.path.clone() };
        let shown = name(&full.to_string());
        // The text and the facts say the same twice.
        if text.len() + shown.len() > most.as_usize() / 2 {
            cut = true;
            break;
        }
        text.push_str(&shown);
        let mut fact = vec![("path", Field::Name(full.to_string(), Origin::File)), ("kind", Field::Fact(kind(entry.kind).into()))];
        match entry.kind {
            Kind::Directory => text.push('/'),
            Kind::File => {
                let _ = write!(text, "  {}", Bytes(entry.size));
                fact.push(("size", Field::Fact(entry.size.into())));
            }
            _ => drop(write!(text, "  ({})", kind(entry.kind))),
        }
        text.push('\n');
        entries.push(fact);
    }
    if entries.is_empty() {
        let _ = writeln!(text, "nothing to show in `{}`", name(&target));
    }
    text.push_str(&left_out(listing.left_out));
    match listing.ignored {
        0 => {}
        1 => text.push_str("[1 entry that .gitignore names is left out; `ignored: true` lists it]\n"),
        more => drop(writeln!(text, "[{more} entries that .gitignore names are left out; `ignored: true` lists them]")),
    }
    if cut {
        let why = if listing.late { "the time was up" } else { "there are more entries" };
        let _ = writeln!(text, "[cut: {why}; go on in a folder below, with a glob, or with a higher limit]");
    }
    // The names are those of the file system, where programs and others make files as well.
    Output { blocks: vec![Block::text(text, Origin::File)], ..Output::default() }
        .fact("path", target)
        .field("entries", Field::List(entries))
        .fact("left_out", listing.left_out)
        .fact("truncated", cut)
        // What is below an ignored folder was not counted.
        .optional_fact("ignored", (listing.ignored > 0).then_some(listing.ignored))
}
