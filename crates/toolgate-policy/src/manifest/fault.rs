//! What is wrong with a manifest, and where. Faults are gathered, so that all are told at once.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use crate::model::ToolSpec;

/// A place in the text of a manifest, both counted from 1; columns are characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Location {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
}

/// One fault of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The key, e.g. `roots.project.allowed_paths[0]`; empty for the whole.
    pub at: String,
    /// Where it stands; none where the manifest came as JSON, without a text.
    pub location: Option<Location>,
    /// How many characters of that line are at fault.
    pub width: usize,
    /// What is wrong and what to do.
    pub what: String,
    /// The known word nearest to it.
    pub nearest: Option<String>,
}

impl fmt::Display for Fault {
    /// One line: `line:column: key: what; did you mean …?`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Location { line, column }) = self.location {
            write!(f, "{line}:{column}: ")?;
        }
        if !self.at.is_empty() {
            write!(f, "{}: ", self.at)?;
        }
        f.write_str(&self.what)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

/// Where each key of a manifest stands.
#[derive(Debug, Clone, Default)]
pub struct Spans(BTreeMap<String, Span>);

#[derive(Debug, Clone, Copy, Default)]
struct Span {
    location: Option<Location>,
    width: usize,
}

impl Spans {
    /// Where a key stands; for a rule that is not written (a default) the nearest table above it.
    pub fn locate(&self, at: &str) -> Option<Location> {
        self.nearest(at).and_then(|span| span.location)
    }

    /// Whether the key itself is written.
    pub fn holds(&self, at: &str) -> bool {
        self.0.contains_key(at)
    }

    /// A fault at a noted key, or at the nearest table above it.
    pub(super) fn fault(&self, at: &str, what: impl Into<String>, nearest: Option<String>) -> Fault {
        let Span { location, width } = self.nearest(at).copied().unwrap_or_default();
        Fault { at: at.to_owned(), location, width, what: what.into(), nearest }
    }

    fn nearest(&self, at: &str) -> Option<&Span> {
        let mut at = at;
        loop {
            if let Some(span) = self.0.get(at) {
                return Some(span);
            }
            at = at.rsplit_once(['.', '[']).map(|(above, _)| above)?;
        }
    }
}

/// Where a key and its value stand, in bytes. An entry of a list is its own key.
#[derive(Debug, Clone, Default)]
pub(super) struct Source {
    pub(super) key: Range<usize>,
    pub(super) value: Range<usize>,
    /// What the value is where JSON has no word for it.
    pub(super) foreign: Option<&'static str>,
}

/// Gathers faults and spans while a manifest is read.
#[derive(Debug)]
pub(super) struct Ledger<'t> {
    text: &'t str,
    pub(super) specs: &'t [&'t ToolSpec],
    // Byte offset of each line's begin: a fault needs its line without counting from the top each time.
    lines: Vec<usize>,
    /// All keys of the text; none of a manifest that came as JSON.
    pub(super) sources: BTreeMap<String, Source>,
    pub(super) spans: Spans,
    pub(super) faults: Vec<Fault>,
}

impl<'t> Ledger<'t> {
    /// A ledger over a text; over the empty text (a manifest that came as JSON) nothing has a location.
    pub(super) fn new(text: &'t str, specs: &'t [&'t ToolSpec]) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, specs, lines, sources: BTreeMap::new(), spans: Spans::default(), faults: Vec::new() }
    }

    /// Where a key and its value stand in the text.
    pub(super) fn source(&self, at: &str) -> Source {
        self.sources.get(at).cloned().unwrap_or_default()
    }

    /// Notes where a known key stands.
    pub(super) fn note(&mut self, at: &str, span: &Range<usize>) {
        let span = self.position(span);
        self.spans.0.insert(at.to_owned(), span);
    }

    /// Adds a fault at a span.
    pub(super) fn fault_in(&mut self, at: &str, span: &Range<usize>, what: impl Into<String>, nearest: Option<String>) {
        let Span { location, width } = self.position(span);
        self.faults.push(Fault { at: at.to_owned(), location, width, what: what.into(), nearest });
    }

    /// Adds a fault at a noted key, or at the nearest table above it.
    pub(super) fn fault(&mut self, at: &str, what: impl Into<String>) {
        self.fault_near(at, what, None);
    }

    /// Adds a fault with the known word nearest to it.
    pub(super) fn fault_near(&mut self, at: &str, what: impl Into<String>, nearest: Option<String>) {
        self.faults.push(self.spans.fault(at, what, nearest));
    }

    fn position(&self, span: &Range<usize>) -> Span {
        if self.text.is_empty() {
            return Span::default();
        }
        let line = self.lines.partition_point(|begin| *begin <= span.start).max(1);
        let begin = self.lines.get(line - 1).copied().unwrap_or(0);
        let column = self.text.get(begin..span.start).map_or(0, |before| before.chars().count()) + 1;
        let shown = self.text.get(span.clone()).unwrap_or_default();
        let width = shown.lines().next().map_or(0, |first| first.chars().count()).max(1);
        Span { location: Some(Location { line, column }), width }
    }
}
