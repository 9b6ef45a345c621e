//! How text meets a terminal: colours where one is there and they are wanted, lines that fit it.

use std::io::{self, IsTerminal};

use crate::filter::escape_line;

/// Columns that every terminal has.
pub const COLUMNS: usize = 80;

/// Whether output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// With escape sequences of our own.
    On,
    /// Plain text.
    Off,
}

impl Colour {
    /// On where standard output is a terminal and `NO_COLOR` is not set (<https://no-color.org>).
    pub fn of_stdout() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
        if wanted && io::stdout().is_terminal() { Self::On } else { Self::Off }
    }

    /// The text, in the colour of this SGR code (ECMA-48, 8.3.117) where there are colours.
    pub fn paint(self, code: &str, text: &str) -> String {
        if self == Self::On { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Breaks a line into lines of at most [`COLUMNS`] code points: the first after `first`, the others after `next`. A break is at a space where
/// there is one, else inside the word.
pub fn folded(text: &str, first: &str, next: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    let width = |text: &str| text.chars().count();
    for word in text.split_inclusive(' ') {
        if !is_empty && width(&line) + width(word.trim_end()) > COLUMNS {
            lines.push(std::mem::replace(&mut line, next.to_owned()).trim_end().to_owned());
        }
        for c in word.chars() {
            // A space that does not fit ends the line as well as any.
            if width(&line) >= COLUMNS && c != ' ' {
                lines.push(std::mem::replace(&mut line, next.to_owned()).trim_end().to_owned());
            }
            line.push(c);
        }
        is_empty = false;
    }
    lines.push(line.trim_end().to_owned());
    lines
}

/// At most `most` code points of a text; an ellipsis stands for what is left out.
pub fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most.saturating_sub(1)).chain(['…']).collect() }
}

/// A line as it may be printed, and the mark that stands under its part of `length` code points after the first `before`. Nothing in the line steers
/// the terminal.
pub fn marked(line: &str, before: usize, length: usize) -> (String, String) {
    let part = |from: usize, most: usize| {
        let part: String = line.chars().skip(from).take(most).map(|c| if c == '\t' { ' ' } else { c }).collect();
        escape_line(&part).into_owned()
    };
    let (head, found, tail) = (part(0, before), part(before, length), part(before.saturating_add(length), usize::MAX));
    let mark = format!("{}{}", " ".repeat(head.chars().count()), "^".repeat(found.chars().count().max(1)));
    (format!("{head}{found}{tail}"), mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_broken_at_spaces_and_a_long_word_inside() {
        assert_eq!(folded("", "  | ", "  | "), ["  |"]);
        assert_eq!(folded("a  b", "", ""), ["a  b"]);
        let text = format!("{} {} end", "word ".repeat(20), "x".repeat(100));
        let lines = folded(&text, "> ", "    ");
        assert!(lines.iter().all(|line| line.chars().count() <= COLUMNS), "{lines:#?}");
        assert!(lines.len() > 3 && lines[0].starts_with("> word word") && lines[1].starts_with("    "), "{lines:#?}");
        let whole: String = lines.concat().chars().filter(|c| !c.is_whitespace() && *c != '>').collect();
        assert_eq!(whole, text.chars().filter(|c| !c.is_whitespace()).collect::<String>());
    }

    #[test]
    fn a_text_is_shortened_to_its_bound() {
        assert_eq!((shortened("äöü", 3).as_str(), shortened("äöüß", 3).as_str()), ("äöü", "äö…"));
    }
}
