//! Links as footnotes: the text flows, and the targets stand at its end.

use std::collections::HashMap;
use std::fmt::Write;

use super::fence::{self, Line};
use super::inline::{self, Part};

/// Takes the targets of links (not of pictures) out of Markdown of this floor and lists them below it, each once: `[text](url)` becomes `text[1]`.
pub fn footnotes(markdown: &str) -> String {
    let mut notes = Notes::default();
    let mut out = String::with_capacity(markdown.len());
    // Links may begin on one line and end on another.
    let mut paragraph = String::new();
    for line in fence::lines(markdown) {
        match line {
            Line::Text(line) if !line.trim().is_empty() => paragraph.push_str(line),
            Line::Text(line) | Line::Fence(line) | Line::Code(line, _) => {
                notes.unlink(&std::mem::take(&mut paragraph), &mut out);
                out.push_str(line);
            }
        }
    }
    notes.unlink(&paragraph, &mut out);
    for (number, target) in notes.targets.iter().enumerate() {
        let _ = writeln!(out, "{}[{}]: {target}", if number == 0 { "\n" } else { "" }, number + 1);
    }
    out
}

/// The targets of links, each once.
#[derive(Debug, Default)]
struct Notes {
    targets: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Notes {
    fn unlink(&mut self, paragraph: &str, out: &mut String) {
        for part in inline::parts(paragraph) {
            match part {
                Part::Char(c) => out.push(c),
                Part::Escaped(c) => out.extend(['\\', c]),
                Part::Code(written, _) | Part::Target { written, is_picture: true, .. } => out.push_str(written),
                Part::Link => {}
                Part::Picture => out.push('['),
                Part::Target { target, .. } => {
                    let number = *self.numbers.entry(target.to_owned()).or_insert_with(|| {
                        self.targets.push(target.to_owned());
                        self.targets.len()
                    });
                    let _ = write!(out, "[{number}]");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_stand_below_the_text_each_once() {
        let rows = [
            (
                "see [a](https://a/x) and [b](https://b/(1)) and [a](https://a/x)\n",
                "see a[1] and b[2] and a[1]\n\n[1]: https://a/x\n[2]: https://b/(1)\n",
            ),
            ("[![alt](https://p/i.png)](https://a/)\n", "![alt](https://p/i.png)[1]\n\n[1]: https://a/\n"),
            ("[a](https://a/ \"title\") \\[no\\](x) `[c](d)` [e]\n", "a[1] \\[no\\](x) `[c](d)` [e]\n\n[1]: https://a/\n"),
            ("```\n[a](b)\n```\n", "```\n[a](b)\n```\n"),
            ("plain ] [ text (x)\n", "plain ] [ text (x)\n"),
            ("`open [a](b)\n", "`open a[1]\n\n[1]: b\n"),
        ];
        for (markdown, expected) in rows {
            assert_eq!(footnotes(markdown), expected, "{markdown}");
        }
    }
}
