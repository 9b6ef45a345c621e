//! What a tool gives back, before the filter.

use serde_json::{Map, Value};

use super::{Code, Refusal};

/// Where a text comes from, which decides how it is filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Our own words.
    Own,
    /// The content of a file.
    File,
    /// A page of the web.
    Page,
    /// The output of a program.
    Program,
    /// The cells of a database.
    Rows,
}

/// One piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Text for the model.
    Text {
        /// The text.
        text: String,
        /// Where it comes from.
        origin: Origin,
    },
    /// A picture.
    Image {
        /// Its bytes.
        data: Vec<u8>,
        /// Its media type, e.g. `image/png`.
        mime_type: String,
    },
}

impl Block {
    /// A text and where it comes from.
    pub fn text(text: impl Into<String>, origin: Origin) -> Self {
        Self::Text { text: text.into(), origin }
    }
}

/// One value of the structured answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    /// A fact of ours: numbers, names of the house, paths that the caller gave. Nothing that a program, a page or a file system chose.
    Fact(Value),
    /// Text from outside.
    Text(String, Origin),
    /// A short text from outside that stands alone, in one line: the name of a file, a host.
    Name(String, Origin),
    /// A list of such values.
    Array(Vec<Field>),
    /// A list of objects that hold such values (the matches of a search).
    List(Vec<Vec<(&'static str, Field)>>),
}

/// What a tool gives back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    /// The pieces in order.
    pub blocks: Vec<Block>,
    /// The structured answer; none for tools whose answer is the text itself.
    pub structured: Option<Vec<(&'static str, Field)>>,
    /// The number of the first line of what is shown of a file, where its lines are shown with their numbers. The filter writes them, after it has
    /// looked at the lines as they are in the file.
    pub numbered_from: Option<u64>,
    /// What a page says without a person seeing it: looked through by the filter, never shown.
    pub unseen: String,
    /// Names of the secrets masked in what is shown of files; none where the files were not looked through as a whole.
    pub masked: Option<Vec<&'static str>>,
    /// Facts about the answer, by their key in `_meta` (e.g. `toolgate/file`).
    pub meta: Map<String, Value>,
    /// Whether the model is told that the tool failed (a program that ended with an exception).
    pub is_error: bool,
    /// The code that the record of a failed answer carries.
    pub code: Option<Code>,
    /// Bytes written to roots, for budgets and records.
    pub bytes_written: u64,
    /// Bytes sent out, for budgets and records.
    pub bytes_sent: u64,
    /// Processor time of a program, for budgets.
    pub cpu_ms: u64,
    /// What the record of the call tells besides, e.g. odd events of a program. Never shown to the model.
    pub notes: Vec<String>,
}

impl Output {
    /// An answer of one text of ours.
    pub fn text(text: impl Into<String>) -> Self {
        Self { blocks: vec![Block::text(text, Origin::Own)], ..Self::default() }
    }

    /// Adds a fact to the structured answer.
    #[must_use]
    pub fn fact(self, key: &'static str, value: impl Into<Value>) -> Self {
        self.field(key, Field::Fact(value.into()))
    }

    /// Adds a fact to the structured answer, where there is one.
    #[must_use]
    pub fn optional_fact(self, key: &'static str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value { self.fact(key, value) } else { self }
    }

    /// Adds a field to the structured answer.
    #[must_use]
    pub fn field(mut self, key: &'static str, field: Field) -> Self {
        self.structured.get_or_insert_default().push((key, field));
        self
    }
}

/// The tool tried and the world said no. The model sees it like a refusal; the record tells them apart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub Refusal);

impl Failure {
    /// A failure with its sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Refusal::new(code, message))
    }

    /// Adds one safe next step.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self(self.0.hint(hint))
    }
}
