//! The cleaning of one answer.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use toolgate_filter::{Finding, Kind, scan_hidden};

use super::marks::{closing, hidden_note, opening};
use super::names;
use super::treatment::{Count, Scope, clean, counts, judge};
use crate::manifest::{Filters, Treatment, Trust};
use crate::model::{Block, Code, Field, Origin, Output, Refusal};

/// What is known of the texts of an answer besides pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// The file whose content the answer shows, where others may have written it: marked in the manifest, or saved from the web.
    pub untrusted_file: Option<String>,
    /// The program may have read such a file, or the network.
    pub untrusted_program: bool,
}

/// What a filtered answer holds.
#[derive(Debug, Default)]
pub struct Parts {
    /// The pieces in order.
    pub blocks: Vec<Block>,
    /// The structured answer.
    pub structured: Option<Map<String, Value>>,
    /// Facts about the answer.
    pub meta: Map<String, Value>,
    /// Whether the model is told that the tool failed.
    pub is_error: bool,
    /// The code of a failed answer.
    pub code: Option<Code>,
    /// Bytes written to roots.
    pub bytes_written: u64,
    /// Bytes sent out.
    pub bytes_sent: u64,
    /// For the record alone.
    pub notes: Vec<String>,
    /// Where untrusted content in it came from: the address of a page, a file, `run_python`. None: all of it is the caller's own.
    pub untrusted: Option<String>,
}

/// What was found in an answer, in its `_meta`.
const FOUND: &str = "toolgate/filter";

/// The name of a program as a source.
const PROGRAM: &str = "run_python";
/// The source of what a database holds.
const ROWS: &str = "query_database";

/// The parts of an answer: every text of the output is treated by where it comes from.
/// # Errors  `review_denied`: the manifest denies what was found.
pub(super) fn parts(output: Output, settings: &Filters, delimiter: &str, provenance: Provenance) -> Result<Parts, Refusal> {
    let Output { structured, numbered_from, unseen, masked, mut meta, is_error, code, bytes_written, bytes_sent, notes, .. } = output;
    let file_scope = if masked.is_some() { Scope::Masked } else { Scope::Own };
    let mut cleaning = Cleaning { settings, delimiter, provenance, file_scope, page: String::new(), found: Vec::new(), untrusted: None };
    if let Some(file) = &mut cleaning.provenance.untrusted_file {
        *file = clean(file, settings, Scope::Own)?.text.into_owned();
    }
    if let Some(Value::Object(facts)) = meta.get_mut("toolgate/page") {
        cleaning.page_facts(facts)?;
    }
    let in_facts = cleaning.found.len();
    let mut blocks = Vec::with_capacity(output.blocks.len());
    for block in output.blocks {
        cleaning.block(block, numbered_from, &mut blocks)?;
    }
    if settings.injection != Treatment::Off && !unseen.is_empty() {
        let hidden = judge(&scan_hidden(&unseen), settings, Scope::Untrusted)?;
        blocks.extend((!hidden.is_empty()).then(|| own(hidden_note(&hidden))));
        cleaning.found.extend(hidden);
    }
    let in_text = cleaning.found.len();
    let structured = structured.map(|fields| cleaning.object(fields)).transpose()?;
    if in_text > in_facts {
        // The structured answer repeats the text: what is found in both is counted once.
        cleaning.found.truncate(in_text);
    }
    cleaning.found.extend(masked_counts(&masked.unwrap_or_default(), settings, bytes_written > 0)?);
    let found = Count::sum(cleaning.found);
    if !found.is_empty() {
        meta.insert(FOUND.to_owned(), json!({"found": found}));
    }
    let untrusted = cleaning.untrusted;
    Ok(Parts { blocks, structured, meta, is_error, code, bytes_written, bytes_sent, notes, untrusted })
}

impl Parts {
    /// Length of what the model sees, in bytes before encoding.
    pub fn size(&self) -> usize {
        let size = |block: &Block| match block {
            Block::Text { text, .. } => text.len(),
            Block::Image { data, .. } => data.len(),
        };
        self.blocks.iter().map(size).sum()
    }
}

/// The secrets that were masked where files were read. A call that changed something is not refused for them: its answer says what was done.
/// # Errors  When the manifest denies them.
fn masked_counts(names: &[&'static str], settings: &Filters, changed: bool) -> Result<Vec<Count>, Refusal> {
    let finding = |name: &&'static str| Finding { kind: Kind::Secret, type_: "SECRET", sub: name, start: 0, end: 0, score: 1.0 };
    let findings: Vec<Finding> = names.iter().map(finding).collect();
    if changed { Ok(counts(&findings, settings)) } else { judge(&findings, settings, Scope::Own) }
}

/// What the treatment of the texts of one answer needs, and what it has found.
struct Cleaning<'a> {
    settings: &'a Filters,
    delimiter: &'a str,
    provenance: Provenance,
    /// What the content of a file is that the caller may have written.
    file_scope: Scope<'static>,
    /// The address of the page, where the answer is one.
    page: String,
    found: Vec<Count>,
    untrusted: Option<String>,
}

impl Cleaning<'_> {
    /// What a text of an origin is, and its source where it is untrusted; none for our own words.
    fn scope(&self, origin: Origin) -> Option<(Scope<'static>, Option<String>)> {
        let file = &self.provenance.untrusted_file;
        let program = || Some(PROGRAM.to_owned());
        Some(match origin {
            Origin::Own => return None,
            Origin::Page => (Scope::Untrusted, Some(self.page.clone())),
            Origin::Rows => (Scope::Untrusted, Some(ROWS.to_owned())),
            Origin::Program if self.settings.program_output == Trust::Untrusted => (Scope::Untrusted, program()),
            Origin::Program => (Scope::Own, program().filter(|_| self.provenance.untrusted_program)),
            Origin::File if file.is_some() => (Scope::UntrustedFile, file.clone()),
            Origin::File => (self.file_scope, None),
        })
    }

    /// One block. The content of an untrusted file stays a block of its own; its marks stand in blocks before and after it.
    fn block(&mut self, block: Block, numbered_from: Option<u64>, out: &mut Vec<Block>) -> Result<(), Refusal> {
        match block {
            Block::Text { text, origin } => {
                let from = self.found.len();
                let mut text = self.text(text, origin)?;
                if let (Origin::File, Some(first)) = (origin, numbered_from) {
                    text = numbered(&text, first);
                }
                let file = self.provenance.untrusted_file.as_deref().filter(|_| origin == Origin::File && self.wraps());
                out.extend(file.map(|file| own(opening(file, self.delimiter))));
                out.push(Block::Text { text, origin });
                out.extend(file.map(|_| own(closing(self.delimiter, self.found.get(from..).unwrap_or_default()))));
            }
            image @ Block::Image { .. } => {
                // A model reads what is written in a picture, and no filter sees it.
                let page = Some(&self.page).filter(|page| !page.is_empty());
                self.untrusted = self.untrusted.take().or_else(|| self.provenance.untrusted_file.as_ref().or(page).cloned());
                out.push(image);
            }
        }
        Ok(())
    }

    /// Our own words pass; the bytes of a file change only where a secret is masked; what comes from outside is marked.
    fn text(&mut self, text: String, origin: Origin) -> Result<String, Refusal> {
        let Some((scope, source)) = self.scope(origin) else { return Ok(text) };
        let cleaned = clean(&text, self.settings, scope)?;
        let marks = source.as_deref().filter(|_| scope == Scope::Untrusted && self.wraps());
        let shown = match (marks, cleaned.text) {
            (Some(source), body) => {
                let end = if body.ends_with('\n') { "" } else { "\n" };
                Some(format!("{}{body}{end}{}", opening(source, self.delimiter), closing(self.delimiter, &cleaned.found)))
            }
            (None, Cow::Owned(changed)) => Some(changed),
            (None, Cow::Borrowed(_)) => None,
        };
        self.found.extend(cleaned.found);
        self.untrusted = self.untrusted.take().or(source);
        Ok(shown.unwrap_or(text))
    }

    fn wraps(&self) -> bool {
        self.settings.injection != Treatment::Off
    }

    /// What a page calls itself is as untrusted as what it says, and so is the address it came from.
    fn page_facts(&mut self, facts: &mut Map<String, Value>) -> Result<(), Refusal> {
        for (name, value) in &mut *facts {
            let Value::String(text) = value else { continue };
            let (shown, found) = match name.as_str() {
                "final_url" => names::shown_address(text, self.settings)?,
                _ => names::shown(text, self.settings, Scope::Untrusted)?,
            };
            *text = shown;
            self.found.extend(found);
        }
        facts.get("final_url").and_then(Value::as_str).unwrap_or_default().clone_into(&mut self.page);
        Ok(())
    }

    /// A name that somebody else chose: cleaned like the text it stands beside. The secrets of names are not masked where files are read.
    fn name(&mut self, text: &str, origin: Origin) -> Result<String, Refusal> {
        let scope = match self.scope(origin) {
            None => return Ok(names::one_line(text)),
            Some((Scope::Own | Scope::Masked, _)) => Scope::Own,
            Some(_) => Scope::Untrusted,
        };
        let (shown, found) = names::shown(text, self.settings, scope)?;
        self.found.extend(found);
        Ok(shown)
    }

    fn object(&mut self, fields: Vec<(&'static str, Field)>) -> Result<Map<String, Value>, Refusal> {
        fields.into_iter().map(|(name, field)| Ok((name.to_owned(), self.value(field)?))).collect()
    }

    fn value(&mut self, field: Field) -> Result<Value, Refusal> {
        Ok(match field {
            Field::Fact(value) => value,
            // The table before it stands between marks; a cell of its own has no room for them.
            Field::Text(text, Origin::Rows) => {
                let cleaned = clean(&text, self.settings, Scope::Untrusted)?;
                self.found.extend(cleaned.found);
                Value::String(cleaned.text.into_owned())
            }
            Field::Array(items) => Value::Array(items.into_iter().map(|item| self.value(item)).collect::<Result<_, _>>()?),
            Field::Text(text, origin) => Value::String(self.text(text, origin)?),
            Field::Name(text, origin) => Value::String(self.name(&text, origin)?),
            Field::List(items) => {
                Value::Array(items.into_iter().map(|fields| self.object(fields).map(Value::Object)).collect::<Result<_, _>>()?)
            }
        })
    }
}

/// A block of our own words.
pub(super) fn own(text: String) -> Block {
    Block::Text { text, origin: Origin::Own }
}

/// A text with the number of each line before it, in the form of `cat -n`.
fn numbered(text: &str, first: u64) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    for (number, line) in (first..).zip(text.split_inclusive('\n')) {
        // Writing to a String cannot fail.
        let _ = write!(out, "{number:6}\t{line}");
    }
    out
}
