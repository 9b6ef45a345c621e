#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod caps;
mod charset;
mod choose;
mod clean;
mod code;
mod dom;
mod embed;
mod escape;
mod feed;
mod formula;
mod head;
mod headed;
mod hidden;
mod json;
mod kind;
mod listing;
mod marked;
mod paging;
mod pdf;
mod pdf_content;
mod pdf_layout;
#[cfg(test)]
mod pdf_tests;
mod plain;
mod raised;
mod scripted;
mod sheet;
mod sink;
mod streamed;
mod style;
mod table;
mod write;

use url::Url;

pub use charset::{characters, decode, guess_charset};
pub use feed::read_feed;
pub use json::pretty_json;
pub use kind::{Kind, kind_of, picture};
pub use paging::{Slice, slice};
pub use pdf::{join_page, read_pdf};

use choose::{Choice, Facts};
use dom::Dom;
use write::{Notes, Writing};

/// How much of a page is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The main content, without navigation, teasers and the like.
    #[default]
    Article,
    /// Everything a person would see.
    Page,
}

/// The form in which a page is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// `CommonMark` with tables.
    #[default]
    Markdown,
    /// The same with the targets of links (not of pictures) listed below it, each once: `[text](url)` is `text[1]`.
    Footnotes,
    /// Plain text: no marks, targets of links or rules of tables; cells are parted by tabs, and code is as it was.
    Text,
}

/// How a page is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// The page's address, from which relative links start; without it they stay relative.
    pub base: Option<&'a Url>,
    /// How much of the page is wanted.
    pub mode: Mode,
    /// The form of its content.
    pub format: Format,
}

/// A page that was read.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Article {
    /// The content in the format that was asked for. Links and pictures lead to `http`, `https`, `mailto` or `tel` only.
    pub text: String,
    /// The page's title.
    pub title: Option<String>,
    /// Who wrote it.
    pub byline: Option<String>,
    /// When it was published, `YYYY-MM-DD`.
    pub date: Option<String>,
    /// Words the page hid from people (styles, comments, attributes), at most 64 KiB, in the order of the page and apart by blank lines: for the
    /// filters, not for the model.
    pub hidden: String,
    /// The page was larger than what is read of it.
    pub truncated: bool,
    /// The page leaves its text to scripts, which are not run: what is read is what it says without them.
    pub scripted: bool,
}

/// Reads a page.
///
/// Never fails: a page that cannot be understood gives what text it has, in bounded time and memory. It is work for a thread that may be busy
/// for a while, with 8 MiB of stack or more.
pub fn read_html(html: &str, options: &Options<'_>) -> Article {
    let mut notes = Notes::default();
    let mut article = read_part(html, options, 0, &mut notes);
    notes.write(&mut article.text);
    article
}

/// Reads a page or a part of one, without the list of its links, and with its headings so many levels `deeper`.
fn read_part(html: &str, options: &Options<'_>, deeper: usize, notes: &mut Notes) -> Article {
    let Cleaned { dom, hidden, scripted } = cleaned(html);
    let links = head::base_of(&dom, options.base);
    let (choice, facts) = match options.mode {
        Mode::Article => Choice::main(&dom, options.base),
        Mode::Page => (Choice::all(&dom), Facts::default()),
    };
    let writing = Writing { base: links.as_ref(), format: options.format, deeper };
    let mut text = write::chosen(&dom, |id| choice.keeps(id), writing, notes);
    if text.is_empty() && options.mode == Mode::Article {
        let all = Choice::all(&dom);
        text = write::chosen(&dom, |id| all.keeps(id), writing, notes);
    }
    if text.is_empty() {
        // A page that draws itself by script: what it says of itself is better than nothing.
        text = head::description_of(&dom).unwrap_or_default();
    }
    let title = facts.title.or_else(|| head::title_of(&dom));
    Article { text, title, byline: facts.byline, date: facts.date, hidden, truncated: dom.truncated, scripted }
}

/// The words that a page hides from people, see [`Article::hidden`].
pub fn hidden_words(html: &str) -> String {
    cleaned(html).hidden
}

/// The tree of a page without what a person would not see.
struct Cleaned {
    dom: Dom,
    hidden: String,
    scripted: bool,
}

fn cleaned(html: &str) -> Cleaned {
    let start = html.get(..html.floor_char_boundary(MOST)).unwrap_or_default();
    let mut dom = caps::parse(start);
    dom.truncated |= start.len() < html.len();
    let scripted = scripted::is_scripted(&dom, start);
    let hidden = clean::clean(&mut dom);
    Cleaned { dom, hidden, scripted }
}

/// Bytes of markup that are read of one page.
const MOST: usize = 8 << 20;
