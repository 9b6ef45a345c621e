//! The bracket or quote that a text in TOML never closes. A parser names the place where it can read no further, which may be many lines below.

use std::fmt;

use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// A bracket or quote that is never closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unclosed {
    /// Where it stands, in bytes.
    pub(super) at: usize,
    /// The bracket or quote itself.
    pub(super) opener: &'static str,
    closer: &'static str,
    /// What the closing one must stand after.
    after: &'static str,
}

impl fmt::Display for Unclosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is never closed; write `{}` after {}", self.opener, self.closer, self.after)
    }
}

/// A bracket that is open at some place of the text.
struct Open {
    bracket: Unclosed,
    /// Whether its line has ended.
    goes_on: bool,
    /// Whether a key may follow: at the begin of an inline table, and after its commas.
    takes_key: bool,
}

impl Unclosed {
    /// The first one of a text. An array is never closed where a later line in it gives a key; an inline table where a later line in it gives a
    /// key without a comma before it; the name of a table where its line ends.
    pub(super) fn find(text: &str) -> Option<Self> {
        let source = Source::new(text);
        let mut open: Vec<Open> = Vec::new();
        let mut in_value = false;
        for token in source.lex() {
            let at = token.span().start();
            match token.kind() {
                TokenKind::LeftSquareBracket => {
                    let is_name = !in_value && open.iter().all(|open| open.bracket.after == NAME);
                    let bracket = Self { at, opener: "[", closer: "]", after: if is_name { NAME } else { ENTRIES } };
                    open.push(Open { bracket, goes_on: false, takes_key: false });
                }
                TokenKind::LeftCurlyBracket => {
                    open.push(Open { bracket: Self { at, opener: "{", closer: "}", after: ENTRIES }, goes_on: false, takes_key: true });
                }
                kind @ (TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket) => {
                    let closer = if kind == TokenKind::RightSquareBracket { "]" } else { "}" };
                    let last = open.pop()?;
                    if last.bracket.closer != closer {
                        return Some(last.bracket);
                    }
                }
                TokenKind::Comma => {
                    if let Some(last) = open.last_mut() {
                        last.takes_key = last.bracket.opener == "{";
                    }
                }
                TokenKind::Equals => match open.last_mut() {
                    Some(last) if last.goes_on && !last.takes_key => return Some(last.bracket),
                    Some(last) => last.takes_key = false,
                    None => in_value = true,
                },
                TokenKind::Newline => {
                    if let Some(last) = open.last().filter(|last| last.bracket.after == NAME) {
                        return Some(last.bracket);
                    }
                    in_value &= !open.is_empty();
                    for open in &mut open {
                        open.goes_on = true;
                    }
                }
                kind => {
                    let written = text.get(at..token.span().end()).unwrap_or_default();
                    let quote = quote(kind).filter(|quote| !is_closed(written, quote));
                    if let Some(quote) = quote {
                        return Some(Self { at, opener: quote, closer: quote, after: "the text" });
                    }
                }
            }
        }
        open.pop().map(|last| last.bracket)
    }
}

const NAME: &str = "the name of the table";
const ENTRIES: &str = "the last entry";

/// The quote of a text's form.
const fn quote(kind: TokenKind) -> Option<&'static str> {
    match kind {
        TokenKind::BasicString => Some("\""),
        TokenKind::LiteralString => Some("'"),
        TokenKind::MlBasicString => Some("\"\"\""),
        TokenKind::MlLiteralString => Some("'''"),
        _ => None,
    }
}

/// Whether a text ends with its quote. An odd number of backslashes makes a double quote part of the text.
fn is_closed(written: &str, quote: &str) -> bool {
    let inner = written.get(quote.len()..).and_then(|rest| rest.strip_suffix(quote));
    let escapes = |inner: &str| quote.starts_with('"') && inner.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
    inner.is_some_and(|inner| !escapes(inner))
}
