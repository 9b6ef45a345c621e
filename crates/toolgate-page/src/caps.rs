//! A pass over hostile markup before any tree is built: bounds what tree builders are quadratic or recursive in.
//!
//! Attributes of one tag are compared with each other by every parser (200 000 of them cost minutes), depth is recursion in every extractor,
//! and scripts and comments are where scanners and parsers disagree about what a tag is; so tags are capped here and the rest left out.

use super::choose::is_mark;
use crate::media::is_for_screen;
use crate::raw::{Raw, comment, length, raw};
use crate::sheet::{self, Sheet};

/// Attributes of one tag that are kept.
const MAX_ATTRIBUTES: usize = 256;
/// Open elements; deeper start tags are left out, their text stays.
pub(super) const MAX_DEPTH: usize = 512;
/// Open elements that are looked at for one that ends by itself.
const LOOK_BACK: usize = 32;
/// Bytes of one attribute value that are kept; longer values are data, not addresses.
const MAX_VALUE: usize = 8 * 1024;

/// A page with bounded tags, without comments, scripts (but JSON-LD, which carries author and date) and styles.
#[derive(Debug)]
pub(super) struct Capped {
    pub(super) html: String,
    /// The rules of its `style` elements that are for a screen.
    pub(super) sheet: Sheet,
}

/// Rewrites `html`, and reads its sheets.
pub(super) fn capped(html: &str) -> Capped {
    crate::work::read(html.len());
    let mut scanner = Scanner { rest: html, out: String::with_capacity(html.len()), css: String::new(), open: Vec::new(), pre: 0 };
    scanner.run();
    Capped { html: scanner.out, sheet: Sheet::of(&scanner.css, html.len()) }
}

/// The sheets inside an HTML source.
pub(crate) fn sheet_of(html: &str) -> Sheet {
    capped(html).sheet
}

struct Scanner<'a> {
    rest: &'a str,
    out: String,
    css: String,
    open: Vec<&'a str>,
    /// Where in `out` the content of the last `pre` begins.
    pre: usize,
}

/// What is read of the attributes of a tag.
#[derive(Debug, Default)]
struct Attributes<'a> {
    /// The tag ends.
    closed: bool,
    kind: Option<&'a str>,
    media: Option<&'a str>,
}

impl<'a> Scanner<'a> {
    fn run(&mut self) {
        while let Some((text, tag)) = self.rest.split_once('<') {
            self.out.push_str(text);
            self.rest = tag;
            let before = self.out.len();
            match tag.as_bytes().first() {
                Some(byte) if byte.is_ascii_alphabetic() => self.start_tag(),
                Some(b'/') => self.end_tag(),
                Some(b'!') if tag.starts_with("!--") => self.comment(),
                Some(b'!' | b'?') => self.skip_past(">"),
                _ => self.out.push_str("&lt;"),
            }
            // A line feed behind a left-out part would come to stand first in its `pre`, where parsers drop one (HTML standard, section 13.2.6.4.7).
            if self.pre == before && before == self.out.len() && self.rest.starts_with(['\n', '\r']) {
                self.out.push('\n');
            }
        }
        self.out.push_str(self.rest);
    }

    fn skip_past(&mut self, end: &str) {
        self.rest = self.rest.split_once(end).map_or("", |(_, after)| after);
    }

    fn comment(&mut self) {
        let body = self.rest.strip_prefix("!--").unwrap_or_default();
        self.rest = body.get(comment(body).1..).unwrap_or_default();
    }

    fn end_tag(&mut self) {
        let tag = self.rest.strip_prefix('/').unwrap_or_default();
        let name = tag.split(|c: char| !is_name(c)).next().unwrap_or_default();
        self.skip_past(">");
        if name.is_empty() {
            return;
        }
        if let Some(at) = self.open.iter().rposition(|open| open.eq_ignore_ascii_case(name)) {
            self.open.truncate(at);
        }
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }

    fn start_tag(&mut self) {
        let before = self.rest;
        let name = before.split(|c: char| !is_name(c)).next().unwrap_or_default();
        self.rest = before.strip_prefix(name).unwrap_or_default();
        let mut tag = String::from("<");
        tag.push_str(name);
        let attributes = self.attributes(&mut tag);
        if !attributes.closed {
            self.rest = "";
            return;
        }
        tag.push('>');
        let lower = name.to_ascii_lowercase();
        match (lower.as_str(), raw(&lower).filter(|_| !self.is_inside(&["svg", "math"]) || matches!(lower.as_str(), "script" | "style"))) {
            ("script", _) => self.script(attributes.kind.unwrap_or_default()),
            ("style", _) => self.style(&attributes),
            ("iframe", Some(_)) => {
                self.skip_element(name);
                self.out.extend([&*tag, "</iframe>"]);
            }
            (_, Some(Raw::Data)) => drop(self.skip_element(name)),
            (_, Some(Raw::Text)) => {
                let body = self.skip_element(name).replace('<', "&lt;");
                self.out.extend([&*tag, &*body, "</", name, ">"]);
            }
            (_, Some(Raw::Written)) => {
                let body = self.skip_element(&lower);
                self.imply_ends("pre");
                let attributes = tag.get(name.len() + 1..).unwrap_or(">");
                // The first line feed of a `pre` is dropped, and that of an `xmp` is not.
                let body = body.replace('&', "&amp;").replace('<', "&lt;");
                for part in ["<pre", attributes, "\n", &body, "</pre>"] {
                    self.out.push_str(part);
                }
            }
            (lower, None) => {
                if VOID.contains(&lower) {
                    self.out.push_str(&tag);
                    return;
                }
                self.imply_ends(lower);
                if self.open.len() < MAX_DEPTH {
                    self.open.push(name);
                    self.out.push_str(&tag);
                    self.pre = if matches!(lower, "pre" | "listing") { self.out.len() } else { self.pre };
                }
            }
        }
    }

    /// Whether an element of one of these names is open.
    fn is_inside(&self, names: &[&str]) -> bool {
        self.open.iter().any(|open| names.iter().any(|name| open.eq_ignore_ascii_case(name)))
    }

    /// Copies attributes to `tag`.
    fn attributes(&mut self, tag: &mut String) -> Attributes<'a> {
        let (mut kept, mut read) = (0, Attributes::default());
        loop {
            self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            if let Some(after) = self.rest.strip_prefix('>') {
                self.rest = after;
                return Attributes { closed: true, ..read };
            }
            if self.rest.is_empty() {
                return read;
            }
            // A leading `=` belongs to the name (HTML standard, section 13.2.5.32).
            let skip = usize::from(self.rest.starts_with('='));
            let length =
                self.rest.bytes().skip(skip).take_while(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>' | b'=')).count()
                    + skip;
            let (name, after) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
            self.rest = after;
            let value = self.value();
            read.kind = read.kind.or(value.filter(|_| name.eq_ignore_ascii_case("type")));
            read.media = read.media.or(value.filter(|_| name.eq_ignore_ascii_case("media")));
            if kept < MAX_ATTRIBUTES && is_wanted(name, value.unwrap_or_default()) {
                kept += 1;
                tag.push(' ');
                tag.push_str(name);
                if let Some(value) = value {
                    tag.push_str("=\"");
                    tag.push_str(&value.replace('"', "&quot;"));
                    tag.push('"');
                }
            }
        }
    }

    fn value(&mut self) -> Option<&'a str> {
        let after = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace()).strip_prefix('=')?;
        let after = after.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let (value, rest) = if let Some(quote @ ('"' | '\'')) = after.chars().next() {
            after.strip_prefix(quote).and_then(|inner| inner.split_once(quote)).unwrap_or(("", ""))
        } else {
            let length = after.bytes().take_while(|byte| !byte.is_ascii_whitespace() && *byte != b'>').count();
            after.split_at_checked(length).unwrap_or((after, ""))
        };
        self.rest = rest;
        Some(value)
    }

    fn script(&mut self, kind: &str) {
        let body = self.skip_element("script");
        if kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("math/tex")) {
            // A formula that a script would draw. Generators of XHTML hide its signs from parsers behind a comment of TeX.
            let tex = body.trim().trim_start_matches("% <![CDATA[").trim_end_matches("%]]>").trim();
            self.out.push_str("<math class=\"tex\"><semantics><annotation encoding=\"application/x-tex\">");
            self.out.push_str(&tex.replace('&', "&amp;").replace('<', "&lt;"));
            self.out.push_str("</annotation></semantics></math>");
        } else if kind.eq_ignore_ascii_case("application/ld+json") {
            // In JSON an escaped `<` is the same character, and no parser can see a tag in it.
            self.out.push_str("<script type=\"application/ld+json\">");
            self.out.push_str(&body.replace('<', "\\u003c"));
            self.out.push_str("</script>");
        }
    }

    /// Keeps the rules of a sheet that holds here. A browser that runs scripts reads none in `noscript`, and none in a template.
    fn style(&mut self, attributes: &Attributes<'_>) {
        let body = self.skip_element("style");
        let is_css = attributes.kind.is_none_or(|kind| kind.is_empty() || kind.eq_ignore_ascii_case("text/css"));
        let room = sheet::MOST.saturating_sub(self.css.len());
        if is_css && room > 0 && is_for_screen(attributes.media.unwrap_or_default()) && !self.is_inside(&["noscript", "template"]) {
            self.css.push_str(body.get(..body.floor_char_boundary(room)).unwrap_or_default());
            self.css.push('\n');
        }
    }

    /// Leaves an element with its content out and gives that content.
    fn skip_element(&mut self, name: &str) -> &'a str {
        let (body, end) = self.rest.split_at_checked(length(self.rest, name)).unwrap_or((self.rest, ""));
        self.rest = end;
        self.skip_past(">");
        body
    }

    /// Closes what a start tag closes by itself, so that pages without end tags do not seem deep.
    fn imply_ends(&mut self, name: &str) {
        let (closes, within): (&[&str], &[&str]) = match name {
            "li" => (&["li"], &["ul", "ol", "menu"]),
            "dt" | "dd" => (&["dt", "dd"], &["dl"]),
            "option" => (&["option"], &["select"]),
            "td" | "th" => (&["td", "th"], &["tr", "table"]),
            "tr" => (&["tr"], &["table"]),
            "tbody" | "thead" | "tfoot" => (&["tbody", "thead", "tfoot"], &["table"]),
            "a" | "span" | "b" | "i" | "em" | "strong" | "code" | "font" | "u" | "small" | "sup" | "sub" | "label" | "button" => return,
            _ => (&["p"], &["td", "th", "table", "button", "object"]),
        };
        let any = |names: &[&str], open: &str| names.iter().any(|name| open.eq_ignore_ascii_case(name));
        for (at, open) in self.open.iter().enumerate().rev().take(LOOK_BACK) {
            if any(closes, open) {
                self.open.truncate(at);
                return;
            }
            if any(within, open) {
                return;
            }
        }
    }
}

fn is_name(c: char) -> bool {
    !c.is_ascii_whitespace() && !matches!(c, '/' | '>' | '<' | '=' | '"' | '\'') && !is_mark(c)
}

/// Handlers and embedded data say nothing to a reader.
fn is_wanted(name: &str, value: &str) -> bool {
    let is = |start: &str| name.as_bytes().get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()));
    !(is("on") || is("sizes") || is("integrity") || name.is_empty() || name.contains(['<', '"', '\'']) || name.contains(is_mark))
        && value.len() <= MAX_VALUE
        && !value.trim_start().as_bytes().get(..5).is_some_and(|head| head.eq_ignore_ascii_case(b"data:"))
}

const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr", "frame", "basefont",
    "bgsound", "keygen",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn capped(html: &str) -> String {
        super::capped(html).html
    }

    #[test]
    fn ordinary_markup_stays_as_it_is() {
        let html = "<html><body><p class=\"a\">one &amp; two <br> 1 < 2<ul><li>x<li>y</ul></body></html>";
        assert_eq!(capped(html), html.replace("1 < 2", "1 &lt; 2"));
        assert_eq!(capped("<a HREF='x\"y' b c=d>t</a>"), "<a HREF=\"x&quot;y\" b c=\"d\">t</a>");
    }

    #[test]
    fn scripts_styles_comments_and_handlers_are_left_out() {
        let html = "a<script>if (a<b) '<div>'</script>b<STYLE>x</style >c<!-- <p> -->d<!-->e<!--x--!>f<p onclick=x>g</p><?php x ?>";
        assert_eq!(capped(html), "abcdef<p>g</p>");
        let json = "<script type=application/ld+json>{\"a\":\"<b>\"}</script>";
        assert_eq!(capped(json), "<script type=\"application/ld+json\">{\"a\":\"\\u003cb>\"}</script>");
        assert_eq!(capped("a<XMP id=b>\n<p>&amp;</XMP>c"), "a<pre id=\"b\">\n\n&lt;p>&amp;amp;</pre>c");
        for open in ["<!-- x", "<script>x", "<p class='", "<style>", "<p a"] {
            assert_eq!(capped(&format!("a{open}")), "a", "{open}");
        }
    }

    #[test]
    fn depth_and_attributes_are_bounded_while_unclosed_items_are_not_deep() {
        let deep = capped(&"<div>".repeat(50_000));
        assert_eq!(deep.matches("<div>").count(), MAX_DEPTH);
        let items = capped(&format!("<ul>{}</ul>", "<li><p>x".repeat(5000)));
        assert_eq!(items.matches("<li>").count(), 5000);
        let wide = (0..200_000).fold(String::new(), |wide, n| wide + " a" + &n.to_string() + "=x");
        assert_eq!(capped(&format!("<p{wide}>x</p>")).matches('=').count(), MAX_ATTRIBUTES);
    }

    #[test]
    fn titles_fields_and_frames_hold_text_and_no_tags() {
        for (html, expected) in [
            ("<title>a <!-- b</title>c", "<title>a &lt;!-- b</title>c"),
            ("<TITLE>a <b> &amp; c</title >d", "<TITLE>a &lt;b> &amp; c</TITLE>d"),
            ("<textarea><script></textarea>c", "<textarea>&lt;script></textarea>c"),
            ("<iframe src=a><!-- </iframe>c", "<iframe src=\"a\"></iframe>c"),
            ("a<style>b</styled>c</style>d", "ad"),
            ("<svg><title>a</title></svg>b", "<svg><title>a</title></svg>b"),
        ] {
            assert_eq!(capped(html), expected, "{html}");
        }
    }

    #[test]
    fn sheets_are_read_where_a_browser_reads_them() {
        let hides = |html: &str| {
            let subject = crate::sheet::Subject { name: "p", ..Default::default() };
            sheet_of(html).style(subject, "", Vec::new).is_some_and(|(style, _)| style.is_not_displayed())
        };
        for html in [
            "<style>p{display:none}</style>",
            "<p title='a <!-- b'><style>p{display:none}</style>",
            "<title>a <!-- b</title><style>p{display:none}</style>",
            "<!-- a --!><style>p{display:none}</style>",
            "<style media='screen, print'>p{display:none}</style>",
            "<style media=all data-print type='text/css'>p{display:none}</style>",
            "<STYLE>p{display:none}",
            "<style>a{}</style><svg><style>p{display:none}</style>",
        ] {
            assert!(hides(html), "{html}");
        }
        for html in [
            "<style media=print>p{display:none}</style>",
            "<style media='(max-width:600px)'>p{display:none}</style>",
            "<style type='text/less'>p{display:none}</style>",
            "<!-- <style>p{display:none}</style> -->",
            "<script>'<style>p{display:none}</style>'</script>",
            "<noscript><style>p{display:none}</style></noscript>",
            "<template><style>p{display:none}</style></template>",
            "<xmp><style>p{display:none}</style></xmp>",
            "<textarea><style>p{display:none}</style></textarea>",
            "<iframe><style>p{display:none}</style></iframe>",
            "<styled>p{display:none}</styled>",
        ] {
            assert!(!hides(html), "{html}");
        }
    }
}
