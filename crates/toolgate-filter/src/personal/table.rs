//! The rows of `data/personal/rows.toml`: what a number is, by its form, its check digits and the words around it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use serde::Deserialize;

use super::check::{Check, Sum};
use super::words::{Context, Lists, NEAR, Vocabulary};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Rows {
    /// Parts of forms by name.
    parts: BTreeMap<String, String>,
    national: Vec<Row>,
    lettered: Vec<Row>,
    card: Vec<Row>,
    phone: Vec<Row>,
}

/// One row; the file says what each field means.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[cfg_attr(test, serde(deny_unknown_fields))]
pub(super) struct Row {
    pub(super) id: String,
    form: String,
    sums: Vec<Sum>,
    checks: Vec<Check>,
    skip: usize,
    words: Vec<String>,
    near: bool,
    unless: Vec<String>,
    alone: bool,
    cell: bool,
    pub(super) score: f32,
    #[cfg(test)]
    pub(super) r#match: Vec<String>,
    #[cfg(test)]
    pub(super) not: Vec<String>,
    /// What a finding is called.
    #[serde(skip)]
    pub(super) type_: &'static str,
    /// The words by their numbers.
    #[serde(skip)]
    wanted: BTreeSet<usize>,
    #[serde(skip)]
    denying: BTreeSet<usize>,
}

/// What may be a number of a person.
#[derive(Debug)]
pub(super) struct Candidate<'t> {
    pub(super) text: &'t str,
    pub(super) start: usize,
    pub(super) end: usize,
    /// What is matched with the forms.
    pub(super) shape: String,
    /// Whether more numbers stand right beside it.
    pub(super) in_row: bool,
}

/// Everything that is built from the data.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) lists: Lists,
    pub(super) rows: Vec<Row>,
    forms: RegexSet,
    /// Any number with letters.
    pub(super) lettered: Regex,
    vocabulary: Vocabulary,
}

/// The table; a test reads the files.
pub(super) static TABLE: LazyLock<Option<Table>> = LazyLock::new(Table::build);

impl Table {
    fn build() -> Option<Self> {
        let lists: Lists = toml::from_str(include_str!("../../data/personal/words.toml")).ok()?;
        let Rows { parts, national, lettered, card, mut phone } = toml::from_str(include_str!("../../data/personal/rows.toml")).ok()?;
        phone.extend(lists.calling.iter().map(|(code, (country, least, most))| Row {
            id: country.clone(),
            // `+44 (0)20 …`: the trunk prefix in brackets is written but not dialled.
            form: format!(r"\+{code}(?:\(0\))?(?:\D?\d){{{least},{most}}}"),
            score: 0.9,
            ..Row::default()
        }));
        // Signs and digits are ASCII; saying so keeps the automata small.
        let form = |row: &Row| {
            let form = parts.iter().fold(row.form.clone(), |form, (name, part)| form.replace(&format!("{{{name}}}"), part));
            form.replace(r"\d", "[0-9]").replace(r"\D", "[ -/]")
        };
        let words = lettered.iter().map(form).collect::<Vec<_>>().join("|");
        let mut vocabulary = Vocabulary::default();
        let mut rows = Vec::new();
        for (type_, part) in [("NATIONAL_ID", national), ("NATIONAL_ID", lettered), ("BANK_CARD", card), ("PHONE", phone)] {
            for row in part {
                let (wanted, denying) = (vocabulary.numbers(&row.words, &lists), vocabulary.numbers(&row.unless, &lists));
                rows.push(Row { type_, wanted, denying, ..row });
            }
        }
        Some(Self {
            forms: RegexSet::new(rows.iter().map(|row| format!("^(?:{})$", form(row)))).ok()?,
            lettered: Regex::new(&format!(r"(?i-u)\b(?:{words})\b")).ok()?,
            vocabulary: vocabulary.built(&lists)?,
            rows,
            lists,
        })
    }

    /// The first row that a candidate fits.
    pub(super) fn classify(&self, candidate: &Candidate<'_>) -> Option<&Row> {
        crate::work::read(candidate.shape.len());
        let characters: Vec<u8> = candidate.shape.bytes().filter(u8::is_ascii_alphanumeric).collect();
        let mut context = None;
        self.forms.matches(&candidate.shape).into_iter().filter_map(|place| self.rows.get(place)).find(|row| {
            row.holds(&characters)
                && !(row.alone && candidate.in_row)
                && (!row.cell || candidate.is_cell())
                && (row.wanted.is_empty() && row.denying.is_empty()
                    || row.suits(context.get_or_insert_with(|| self.vocabulary.around(candidate.text, candidate.start, candidate.end))))
        })
    }
}

impl Row {
    fn holds(&self, characters: &[u8]) -> bool {
        let characters = characters.get(self.skip..).unwrap_or_default();
        self.sums.iter().all(|sum| sum.holds(characters)) && self.checks.iter().all(|check| check.holds(characters))
    }

    /// Whether the words around are the row's.
    fn suits(&self, context: &Context) -> bool {
        let before = context.nearest(&self.wanted);
        let named =
            if self.near { before.is_some_and(|distance| distance <= NEAR) } else { before.is_some() || context.follows(&self.wanted) };
        let denied = context.nearest(&self.denying).is_some_and(|distance| distance <= before.unwrap_or(NEAR));
        (self.wanted.is_empty() || named) && !denied
    }
}

impl Candidate<'_> {
    /// Whether it is a cell by itself: between line ends, commas, tabs, quotes.
    fn is_cell(&self) -> bool {
        let bytes = self.text.as_bytes();
        let ends = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b',' | b'\t' | b';' | b'|' | b'"'));
        ends(self.start.checked_sub(1).and_then(|at| bytes.get(at))) && ends(bytes.get(self.end))
    }
}
