//! The words of a page that a person does not see: hidden elements, comments, attributes. They go to the filters and to nobody else.

use super::dom::{Dom, Id, Kind};
use super::write::is_inline;

/// The hidden words of a page, each part apart by blank lines, in the order of the page. `parents`: by node, as it was before anything was taken out;
/// `unseen`: by node, whether it and what is below it is hidden.
pub(super) fn words(dom: &Dom, parents: &[Option<Id>], unseen: &[bool]) -> String {
    let above = |id: Id| std::iter::successors(Some(id), |id| parents.get(*id).copied().flatten());
    let block_of = |id: Id| above(id).skip(1).find(|id| dom.element(*id).is_some_and(|element| !is_inline(element.name())));
    let is_data = |id: Id| above(id).nth(1).and_then(|id| dom.element(id)).is_some_and(|above| matches!(above.name(), "script" | "style"));
    let mut words = String::new();
    // The block of the last text, if that was hidden.
    let mut last = None;
    for (id, node) in dom.nodes.iter().enumerate().take(parents.len()) {
        let aside: Vec<&str> = match &node.kind {
            Kind::Comment(text) => vec![text],
            Kind::Element(element) => {
                let spoken = element
                    .attributes()
                    .filter(|(name, value)| SPOKEN.split(' ').any(|spoken| spoken == *name) && value.contains(char::is_whitespace));
                spoken.map(|(_, value)| value).collect()
            }
            Kind::Document => continue,
            Kind::Text(_) if is_data(id) => continue,
            Kind::Text(text) if above(id).any(|id| unseen.get(id) == Some(&true)) => {
                // Texts of one block are one text, broken by tags only.
                let block = block_of(id);
                if last.is_some() && last == Some(block) && words.len() + text.len() <= MOST {
                    words.push_str(text);
                    continue;
                }
                last = Some(block);
                vec![text]
            }
            Kind::Text(_) => {
                last = None;
                continue;
            }
        };
        for part in aside.into_iter().filter(|part| part.contains(char::is_alphanumeric)) {
            if words.len() + part.len() + 2 <= MOST {
                words.truncate(words.trim_end().len());
                words.push_str(if words.is_empty() { "" } else { "\n\n" });
                words.push_str(part.trim_start());
            }
        }
    }
    words.trim().to_owned()
}

/// Bytes of hidden words that are kept: more says nothing about a page that its first ones do not.
pub(super) const MOST: usize = 64 * 1024;

/// Attributes whose text reaches a reader of the source but not of the page.
const SPOKEN: &str = "alt title aria-label content summary placeholder value label data-prompt data-instruction data-instructions \
    aria-description";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hidden_words;

    fn parts(html: &str) -> Vec<String> {
        hidden_words(html).split("\n\n").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
    }

    #[test]
    fn what_is_hidden_is_told_apart_from_what_is_shown() {
        let html = "<head><meta name=description content='two words'><style>p{}</style></head><body title='a title'>seen\
                    <!-- a comment --><p hidden>not <b>seen</b></p><i aria-hidden=true>x y</i><img alt='a picture'><script>no()</script>";
        assert_eq!(parts(html), ["two words", "a title", "a comment", "not seen", "x y", "a picture"]);
        assert_eq!(hidden_words("<p>seen <b>too</b></p>"), "");
    }

    #[test]
    fn every_ordinary_way_to_hide_is_known() {
        let sheet = "<style>.x{display:none} #a p{opacity:0} .w{color:#fff} .g{color:#eee;background:#eee}</style>";
        for (html, words) in [
            ("<p style='display:none'>h</p>y", vec!["h"]),
            ("<p style='dis&#112;lay:none'>h</p>y", vec!["h"]),
            ("<p style='position:absolute;left:-9999px'>h <b>i</b></p>y", vec!["h i"]),
            ("<p style='font-size:0'>h</p><p style='opacity:0'>i</p>y", vec!["h", "i"]),
            ("<p style='color:white;background:white'>h</p><p style='color:#fff'>i</p>", vec!["h", "i"]),
            ("<p style='color:#fff;background:#000'>y</p>", vec![]),
            ("<p class='b x'>h</p>y", vec!["h"]),
            ("<div id=a><p>h</p>y</div><p>z</p>", vec!["h"]),
            ("<p class=g>h</p><p class=w>y</p>", vec!["h"]),
            ("<p class=x style='display:block'>y</p>", vec![]),
            ("<p hidden>h</p><div popover>i</div><dialog>j</dialog><dialog open>y</dialog>", vec!["h", "i", "j"]),
            ("<!-- h --><!-- i --!>y<!-->z<p>y", vec!["h", "i"]),
            ("<xmp><p class=x>y</p></xmp>", vec![]),
            ("<title>y <!-- z</title><p class=x>h</p><p>y</p>", vec!["h"]),
            (
                "<noscript>h</noscript><template>i</template><noframes><p>j</noframes><iframe><!-- k</iframe>y",
                vec!["h", "i", "<p>j", "<!-- k"],
            ),
            ("<body style='opacity:0'><p>y</p><p class=x>h", vec!["h"]),
        ] {
            assert_eq!(parts(&format!("<body>{sheet}{html}")), words, "{html}");
            assert_eq!(parts(&format!("<body>{html}{sheet}")), words, "{html}: the sheet comes after it");
        }
    }

    #[test]
    fn a_page_of_hidden_words_is_kept_in_part() {
        let page = format!("{}<p>{}", "<!-- many words -->".repeat(10_000), "shown ".repeat(100));
        let words = hidden_words(&page);
        assert!(words.len() <= MOST && words.len() > MOST / 2, "{}", words.len());
    }
}
