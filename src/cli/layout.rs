//! How text meets a terminal: colours where one is there and they are wanted.

use std::io::{self, IsTerminal};

use crate::filter::escape_line;

/// Whether output is coloured, with escape sequences of our own.
#[derive(Debug, Clone, Copy)]
pub struct Colour(pub bool);

impl Colour {
    /// Where standard output is a terminal and `NO_COLOR` is not set (<https://no-color.org>).
    pub fn of_stdout() -> Self {
        Self(std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()) && io::stdout().is_terminal())
    }

    /// The text, in the colour of this SGR code (ECMA-48, 8.3.117) where there are colours. No code, no colour.
    pub fn paint(self, code: &str, text: &str) -> String {
        if self.0 && !code.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// A line with its number as it may be printed, and below it a mark under its part of `length` code points after the first `before`. Nothing in the
/// line steers the terminal.
pub fn underlined(number: usize, line: &str, before: usize, length: usize, paint: impl Fn(&str) -> String) -> String {
    let part = |from: usize, most: usize| {
        let part: String = line.chars().skip(from).take(most).map(|c| if c == '\t' { ' ' } else { c }).collect();
        escape_line(&part).into_owned()
    };
    let (head, found, tail) = (part(0, before), part(before, length), part(before.saturating_add(length), usize::MAX));
    let mark = paint(&"^".repeat(found.chars().count().max(1)));
    let (gutter, indent) = (" ".repeat(number.to_string().len()), " ".repeat(head.chars().count()));
    format!("{number} | {head}{found}{tail}\n{gutter} | {indent}{mark}\n")
}
