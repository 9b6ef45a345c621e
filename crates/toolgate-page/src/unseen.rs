//! The words of a page that a person does not see: hidden elements, comments, attributes. They go to the filters and to nobody else.

use super::caps::sheet_of;
use crate::markup;
use crate::sheet::Sheet;

/// The hidden words of an HTML source, each part on lines of its own; at most 64 KiB of them, in the order of the source.
pub fn hidden_words(html: &str) -> String {
    words(html, &sheet_of(html))
}

/// As [`hidden_words`] of a page with these style sheets.
pub(super) fn words(html: &str, sheet: &Sheet) -> String {
    let page = markup::read(html, sheet);
    let mut words = String::new();
    let mut end = 0;
    for &(from, to) in &page.hidden {
        let Some(part) = page.text.get(from..to).filter(|part| part.contains(char::is_alphanumeric)) else { continue };
        if words.len() + part.len() > MOST {
            continue;
        }
        // Parts that follow each other at once are one text, broken by tags only.
        words.push_str(if from == end { "" } else { "\n\n" });
        words.push_str(if from == end { part } else { part.trim_start() });
        end = to;
    }
    words.trim().to_owned()
}

/// Bytes of hidden words that are kept: more says nothing about a page that its first ones do not.
const MOST: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_told_apart_from_what_is_shown() {
        let html = "<head><meta name=description content='two words'><style>p{}</style></head><body title='a title'>seen\
                    <!-- a comment --><p hidden>not <b>seen</b></p><i aria-hidden=true>x y</i><img alt='a picture'><script>no()</script>";
        let words = hidden_words(html);
        assert_eq!(
            words.split("\n\n").map(str::trim_end).collect::<Vec<_>>(),
            ["two words", "a title", "a comment", "not seen", "x y", "a picture"]
        );
        assert_eq!(hidden_words("<p>seen <b>too</b></p>"), "");
    }

    #[test]
    fn a_page_of_hidden_words_is_kept_in_part() {
        let words = hidden_words(&"<p hidden>many words</p>".repeat(50_000));
        assert!(words.len() <= MOST && words.len() > MOST / 2, "{}", words.len());
    }
}
