//! What the server and a reader say to each other. A reader gets a file: its job in JSON on the first line, then the bytes. It answers in lines of JSON,
//! page by page where a file has pages.

use serde::{Deserialize, Serialize};

use toolgate_page::{Article, Format, Mode};

/// What is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A page in HTML or XHTML.
    Html,
    /// RSS, Atom or a JSON feed.
    Feed,
    /// A PDF file.
    Pdf,
}

/// One job, beside the bytes it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// What the bytes are.
    pub source: Source,
    /// How much of a page is wanted.
    pub mode: Mode,
    /// The form in which it is written.
    pub format: Format,
    /// `Content-Type` as sent, for its charset.
    pub content_type: Option<String>,
    /// The address that relative links start from.
    pub base: Option<String>,
}

/// What a reader answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// One page of a file; another answer follows.
    Page(Article),
    /// The content, or what of it the pages before do not hold; or why there is none.
    Last(Result<Article, String>),
}
