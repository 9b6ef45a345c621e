//! A pass over hostile markup before any tree is built: bounds what tree builders are quadratic or recursive in.
//!
//! Attributes of one tag are compared with each other by every parser (200 000 of them cost minutes), depth is recursion in every extractor,
//! and scripts and comments are where scanners and parsers disagree about what a tag is; so tags are capped here and the rest left out.

use super::choose::is_mark;

/// Attributes of one tag that are kept.
const MAX_ATTRIBUTES: usize = 256;
/// Open elements; deeper start tags are left out, their text stays.
pub(super) const MAX_DEPTH: usize = 512;
/// Open elements that are looked at for one that ends by itself.
const LOOK_BACK: usize = 32;
/// Bytes of one attribute value that are kept; longer values are data, not addresses.
const MAX_VALUE: usize = 8 * 1024;

/// Rewrites `html` with bounded tags, without comments, scripts (but JSON-LD, which carries author and date) and styles.
pub(super) fn capped(html: &str) -> String {
    let mut scanner = Scanner { rest: html, out: String::with_capacity(html.len()), open: Vec::new(), pre: 0 };
    scanner.run();
    scanner.out
}

struct Scanner<'a> {
    rest: &'a str,
    out: String,
    open: Vec<&'a str>,
    /// Where in `out` the content of the last `pre` begins.
    pre: usize,
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

    /// HTML standard, section 13.2.5.41 and on: `<!-->` and `<!--->` are whole comments, `--!>` ends one too.
    fn comment(&mut self) {
        let body = self.rest.strip_prefix("!--").unwrap_or_default();
        if let Some(after) = [">", "->"].into_iter().find_map(|end| body.strip_prefix(end)) {
            self.rest = after;
            return;
        }
        let mut ahead = body;
        self.rest = loop {
            let Some(at) = ahead.find("--") else { break "" };
            let after = ahead.get(at + 2..).unwrap_or_default();
            if let Some(rest) = [">", "!>"].into_iter().find_map(|end| after.strip_prefix(end)) {
                break rest;
            }
            // One byte on, for `--->`.
            ahead = ahead.get(at + 1..).unwrap_or_default();
        };
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
        let (closed, kind) = self.attributes(&mut tag);
        if !closed {
            self.rest = "";
            return;
        }
        tag.push('>');
        match name.to_ascii_lowercase().as_str() {
            "script" => self.script(kind.unwrap_or_default()),
            // Their content is text to a parser in some places and markup in others.
            "style" | "noembed" | "noframes" => drop(self.skip_element(name)),
            // What stands there is shown as it is written, with its tags and without references.
            lower @ ("xmp" | "plaintext") => {
                let body = if lower == "xmp" { self.skip_element(name) } else { std::mem::take(&mut self.rest) };
                self.imply_ends("pre");
                let attributes = tag.get(name.len() + 1..).unwrap_or(">");
                // The first line feed of a `pre` is dropped, and that of an `xmp` is not.
                let body = body.replace('&', "&amp;").replace('<', "&lt;");
                for part in ["<pre", attributes, "\n", &body, "</pre>"] {
                    self.out.push_str(part);
                }
            }
            lower => {
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

    /// Copies attributes to `tag`; says whether the tag ends, and what its `type` is.
    fn attributes(&mut self, tag: &mut String) -> (bool, Option<&'a str>) {
        let (mut kept, mut kind) = (0, None);
        loop {
            self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            if let Some(after) = self.rest.strip_prefix('>') {
                self.rest = after;
                return (true, kind);
            }
            if self.rest.is_empty() {
                return (false, kind);
            }
            // A leading `=` belongs to the name (HTML standard, section 13.2.5.32).
            let skip = usize::from(self.rest.starts_with('='));
            let length =
                self.rest.bytes().skip(skip).take_while(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>' | b'=')).count()
                    + skip;
            let (name, after) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
            self.rest = after;
            let value = self.value();
            kind = kind.or(value.filter(|_| name.eq_ignore_ascii_case("type")));
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

    /// Leaves an element with its content out and gives that content.
    fn skip_element(&mut self, name: &str) -> &'a str {
        let whole = self.rest;
        let mut searched = 0;
        while let Some((_, ahead)) = whole.split_at_checked(searched)
            && let Some(found) = ahead.find("</")
        {
            searched += found + 2;
            let after = whole.split_at_checked(searched).map_or("", |(_, after)| after);
            if after.as_bytes().get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes())) {
                self.rest = after;
                self.skip_past(">");
                return whole.split_at_checked(searched.saturating_sub(2)).map_or("", |(body, _)| body);
            }
        }
        self.rest = "";
        whole
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
}
