//! What an HTML source says to a person and what it says past them: hidden elements, comments, attributes.
//!
//! A tokenizer, not a parser: it never fails and reads each byte once.

use std::borrow::Cow;

use super::raw::{Raw, comment, length, raw};
use super::sheet::{MOST_ABOVE, Sheet, Subject};
use super::style::{Origin, Style, is_whole_page};

/// The words of a page and the spans of them that a person does not see.
#[derive(Debug, Default)]
pub(super) struct Markup {
    /// All text, hidden parts between blank lines, in the order of the source.
    pub(super) text: String,
    /// Spans of the text that are not shown.
    pub(super) hidden: Vec<(usize, usize)>,
}

/// Open elements that are remembered; deeper ones inherit from the last.
const DEPTH: usize = 512;

/// Attributes whose text reaches a reader of the source but not of the page.
const SPOKEN: &[&str] = &[
    "alt",
    "title",
    "aria-label",
    "content",
    "summary",
    "placeholder",
    "value",
    "label",
    "data-prompt",
    "data-instruction",
    "data-instructions",
    "aria-description",
];

/// Elements without an end tag.
const VOID: &[&str] = &["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];

/// Reads an HTML source with its style sheets.
pub(super) fn read(html: &str, sheet: &Sheet) -> Markup {
    super::work::read(html.len());
    sheet.restart();
    let mut reader = Reader { html, out: Markup::default(), open: Vec::new(), sheet };
    let mut at = 0;
    while let Some(rest) = html.get(at..).filter(|rest| !rest.is_empty()) {
        let length = rest.find('<').unwrap_or(rest.len());
        reader.text(at, at + length);
        at += length;
        at += reader.markup(at);
    }
    reader.out
}

struct Reader<'h> {
    html: &'h str,
    out: Markup,
    open: Vec<Open>,
    sheet: &'h Sheet,
}

/// An open element: what selectors see of it, and whether it is hidden.
struct Open {
    name: String,
    id: String,
    class: String,
    hidden: bool,
    /// By `visibility`, which an element inside can end.
    invisible: bool,
}

impl Open {
    fn subject(&self) -> Subject<'_> {
        Subject { name: &self.name, id: &self.id, class: &self.class }
    }
}

impl Reader<'_> {
    /// Reads what begins with `<` at `at`; gives its length, at least one byte unless the source has ended.
    fn markup(&mut self, at: usize) -> usize {
        let rest = self.html.get(at..).unwrap_or_default();
        if rest.is_empty() {
            return 0;
        }
        if let Some(body) = rest.strip_prefix("<!--") {
            let (words, whole) = comment(body);
            if words > 0 {
                self.aside(at + 4, at + 4 + words);
            }
            return 4 + whole;
        }
        let name_at = 1 + usize::from(rest.starts_with("</"));
        let name: String = rest
            .get(name_at..)
            .unwrap_or_default()
            .chars()
            .take(24)
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '-')
            .collect::<String>()
            .to_ascii_lowercase();
        if name.is_empty() && !rest.starts_with("<!") && !rest.starts_with("<?") {
            self.out.text.push('<');
            return 1;
        }
        let tag_length = tag_length(rest);
        if rest.starts_with("</") {
            self.close(&name);
        } else {
            let tag = rest.get(..tag_length).unwrap_or_default();
            self.tag(&name, tag, at + name_at + name.len());
            if let Some(kind) = raw(&name) {
                let from = at + tag_length;
                let body_length = length(rest.get(tag_length..).unwrap_or_default(), &name);
                match kind {
                    Raw::Data if matches!(name.as_str(), "script" | "style") => {}
                    Raw::Data => self.aside(from, from + body_length),
                    Raw::Text | Raw::Written => {
                        self.gap();
                        self.text(from, from + body_length);
                        self.gap();
                    }
                }
                return tag_length + body_length;
            }
        }
        if !matches!(
            name.as_str(),
            "a" | "b" | "i" | "em" | "strong" | "span" | "u" | "font" | "code" | "wbr" | "small" | "sup" | "sub" | "mark" | "abbr"
        ) {
            self.gap();
        }
        tag_length
    }

    fn tag(&mut self, name: &str, tag: &str, attributes_at: usize) {
        let mut hidden = self.open.last().is_some_and(|open| open.hidden) || matches!(name, "noscript" | "template");
        let (mut own, mut id, mut class) = (Cow::Borrowed(""), Cow::Borrowed(""), Cow::Borrowed(""));
        let mut is_open = false;
        let offset = tag.len().min(name.len() + 1);
        for (key, from, to) in attributes(tag, offset) {
            let start = attributes_at + from - offset;
            let value = tag.get(from..to).unwrap_or_default();
            match key.as_str() {
                "style" if own.is_empty() => own = resolved(value),
                "id" if id.is_empty() => id = resolved(value),
                "class" if class.is_empty() => class = resolved(value),
                "open" => is_open = true,
                _ => {}
            }
            hidden |= match key.as_str() {
                // Shown when a script or a button opens it (HTML standard, section 6.12).
                "popover" => true,
                "hidden" => !value.eq_ignore_ascii_case("until-found"),
                "aria-hidden" => value.eq_ignore_ascii_case("true"),
                "type" => name == "input" && value.eq_ignore_ascii_case("hidden"),
                _ => false,
            };
            if SPOKEN.contains(&key.as_str()) && value.contains(char::is_whitespace) {
                self.aside(start, start + (to - from));
            }
        }
        hidden |= name == "dialog" && !is_open;
        let mut invisible = self.open.last().is_some_and(|open| open.invisible);
        let above = || self.open.iter().rev().take(MOST_ABOVE).map(Open::subject).collect();
        // What hides the whole page until a script has run hides nothing from a person.
        if !is_whole_page(name)
            && let Some((style, is_by_sheet)) = self.sheet.style(Subject { name, id: &id, class: &class }, &own, above)
        {
            let origin = if is_by_sheet { Origin::Sheet } else { Origin::Attribute };
            let own_colour = || is_by_sheet && !own.is_empty() && Style::of(&own).is_camouflage(Origin::Attribute);
            hidden |= style.is_out_of_sight() || style.is_camouflage(origin) || own_colour();
            invisible = style.is_invisible() || invisible && !style.is_visible();
        }
        let ends = VOID.contains(&name) || tag.ends_with("/>");
        if !ends && self.open.len() < DEPTH {
            self.open.push(Open { name: name.to_owned(), id: id.into_owned(), class: class.into_owned(), hidden, invisible });
        }
    }

    fn close(&mut self, name: &str) {
        // Browsers close up to the matching element; an end tag that matches nothing near is nothing.
        if let Some(back) = self.open.iter().rev().take(32).position(|open| open.name == name) {
            self.open.truncate(self.open.len() - back - 1);
        }
    }

    /// Text of the page.
    fn text(&mut self, start: usize, end: usize) {
        let from = self.out.text.len();
        self.decode(start, end);
        let hidden = self.open.last().is_some_and(|open| open.hidden || open.invisible);
        let to = self.out.text.len();
        if hidden && to > from {
            self.out.hidden.push((from, to));
        }
    }

    /// Text that stands apart and is not shown.
    fn aside(&mut self, start: usize, end: usize) {
        self.gap();
        self.gap();
        let from = self.out.text.len();
        self.decode(start, end);
        self.out.hidden.push((from, self.out.text.len()));
        self.gap();
        self.gap();
    }

    /// Appends text with its character references resolved.
    fn decode(&mut self, start: usize, end: usize) {
        self.out.text.push_str(&resolved(self.html.get(start..end).unwrap_or_default()));
    }

    /// Ends a paragraph.
    fn gap(&mut self) {
        if !self.out.text.ends_with("\n\n") {
            self.out.text.push('\n');
        }
    }
}

/// Bytes of a tag to its `>`, quotes respected; an unclosed quote ends with the tag's first `>`.
fn tag_length(rest: &str) -> usize {
    let mut quote = None;
    for (at, byte) in rest.bytes().enumerate().take(64 * 1024) {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    rest.find('>').map_or(rest.len(), |at| at + 1)
}

/// The value of an attribute with its character references resolved.
fn resolved(value: &str) -> Cow<'_, str> {
    if !value.contains('&') {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, _)) = rest.split_once('&') {
        out.push_str(before);
        let from = rest.get(before.len()..).unwrap_or_default();
        let (character, length) = super::raw::reference(from).unwrap_or(('&', 1));
        out.push(character);
        rest = from.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Names and value spans (offsets in the tag) of a tag's attributes; at most 256.
fn attributes(tag: &str, from: usize) -> Vec<(String, usize, usize)> {
    let bytes = tag.as_bytes();
    let mut found = Vec::new();
    let mut at = from;
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(b'>');
    while at < bytes.len() && found.len() < 256 {
        while byte(at).is_ascii_whitespace() || byte(at) == b'/' {
            at += 1;
        }
        let start = at;
        while at < bytes.len() && !byte(at).is_ascii_whitespace() && !matches!(byte(at), b'=' | b'>' | b'/') {
            at += 1;
        }
        if at == start {
            at += 1;
            continue;
        }
        let name = tag.get(start..at).unwrap_or_default().to_ascii_lowercase();
        let mut here = at;
        while byte(here).is_ascii_whitespace() {
            here += 1;
        }
        if byte(here) != b'=' || here >= bytes.len() {
            found.push((name, at, at));
            continue;
        }
        here += 1;
        while here < bytes.len() && byte(here).is_ascii_whitespace() {
            here += 1;
        }
        let quote = byte(here);
        let (from, to) = if matches!(quote, b'"' | b'\'') {
            let from = here + 1;
            (from, bytes.iter().skip(from).position(|byte| *byte == quote).map_or(bytes.len(), |length| from + length))
        } else {
            (
                here,
                bytes
                    .iter()
                    .skip(here)
                    .position(|byte| byte.is_ascii_whitespace() || *byte == b'>')
                    .map_or(bytes.len(), |length| here + length),
            )
        };
        found.push((name, from, to));
        at = to + usize::from(matches!(quote, b'"' | b'\''));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(html: &str) -> Vec<String> {
        let markup = read(html, &crate::sheet_of(html));
        markup.hidden.iter().map(|&(from, to)| markup.text.get(from..to).unwrap().to_owned()).collect()
    }

    #[test]
    fn what_a_person_does_not_see_is_told_from_what_they_do() {
        assert_eq!(hidden("<p>a</p><!-- b --><p hidden>c</p><p>d</p>"), [" b ", "c"]);
        assert_eq!(hidden("<p style='position:absolute;left:-9999px'>x <b>y</b></p>z"), ["x ", "y"]);
        assert_eq!(hidden("<img alt=\"two words\"><span style=\"opacity:0\">o</span>"), ["two words", "o"]);
        assert_eq!(hidden("<div style=\"color:#fff;font-size:1px\">w</div><div style=\"color:#fff;background:#000\">ok</div>"), ["w"]);
        assert_eq!(hidden("<script>var a = '<p hidden>'</script><p>seen</p>"), Vec::<String>::new());
    }

    #[test]
    fn every_way_to_hide_in_a_style_is_known_and_ordinary_styles_are_not() {
        for style in [
            "content-visibility:hidden",
            "clip-path: circle(0)",
            "clip-path:circle(0px at 50% 50%)",
            "clip-path:polygon(0 0, 0 0, 0 0)",
            "clip-path:inset(50%)",
            "transform: scale(0)",
            "transform:scale(0, 0)",
            "transform:scaleX(0)",
            "transform:rotate(3deg) scaleY(.01)",
            "transform:scale3d(0,0,1)",
            "transform:matrix(0,0,0,0,0,0)",
            "transform:translateX(-9999px)",
            "transform:translate3d(-100vw,0,0)",
            "transform:translate(0,-3000px)",
            "scale:0",
            "translate:-9999px",
            "filter:opacity(0)",
            "filter:opacity(0%)",
            "zoom:.01",
            "position:absolute;left:-100vw",
            "position:fixed;top:-200vh",
            "text-indent:-9999px",
            "width:1px;height:1px;overflow:hidden",
            "block-size:0;overflow:clip",
        ] {
            assert_eq!(hidden(&format!("<p style='{style}'>x</p>y")), ["x"], "{style}");
        }
        for style in [
            "clip-path:circle(50%)",
            "clip-path:inset(10px)",
            "clip-path:polygon(0 0, 100% 0, 100% 100%)",
            "transform:scale(1.05)",
            "transform:translateX(-50%)",
            "transform:translate(-50%,-100%)",
            "transform:matrix(1,0,0,1,0,0)",
            "transform:rotate(0deg)",
            "scale:1",
            "zoom:1",
            "filter:opacity(.8)",
            "filter:blur(0)",
            "left:-20px",
            "left:-100%",
            "text-indent:-2em",
            "margin-left:-15px",
            "content-visibility:auto",
        ] {
            assert_eq!(hidden(&format!("<p style='{style}'>x</p>y")), Vec::<String>::new(), "{style}");
        }
    }

    #[test]
    fn what_a_sheet_or_a_closed_box_hides_is_told_from_what_is_shown() {
        let sheet = "<style>.x{display:none} #a p{opacity:0} .w{color:#fff} .g{color:#eee;background:#eee}</style>";
        for (html, words) in [
            ("<p class='b x'>h</p>y", vec!["h"]),
            ("<div id=a><p>h</p>y</div><p>z</p>", vec!["h"]),
            ("<p class=g>h</p><p class=w>y</p>", vec!["h"]),
            ("<p class=x style='display:block'>y</p>", vec![]),
            ("<div popover>h</div><dialog>i</dialog><dialog open>y</dialog>", vec!["h", "i"]),
            ("<xmp><p class=x>y</p></xmp>", vec![]),
            ("<title>y <!-- z</title><p class=x>h</p><p>y</p>", vec!["h"]),
            ("<!-- a --!><p class=x>h</p>y<!-->z<p>y", vec![" a ", "h"]),
            ("<div style='visibility:hidden'>h<p style='visibility:visible'>y</p>i</div>", vec!["h", "i"]),
            ("<p style='dis&#112;lay:none'>h</p>", vec!["h"]),
            ("<body style='opacity:0'><p>y</p><p class=x>h", vec!["h"]),
            ("<p style='display:none!important;display:block'>h</p>", vec!["h"]),
            ("<noframes><p>h</noframes><iframe><!-- i</iframe>y", vec!["<p>h", "<!-- i"]),
        ] {
            assert_eq!(hidden(&format!("{sheet}{html}")), words, "{html}");
            assert_eq!(hidden(&format!("{html}{sheet}")), words, "{html}: the sheet comes after it");
        }
    }
}
