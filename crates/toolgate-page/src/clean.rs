//! Takes out of a page what a person would not see.

use std::collections::HashSet;

use super::code::holders;
use super::dom::{Dom, Element, Id, Kind};
use super::embed;
use super::hidden;
use super::listing::to_pre;
use super::sheet::{Sheet, sheets_of};
use super::style::Style;

/// Removes hidden elements and those without text of their own, and makes `pre` of what is shown like it. Gives the hidden words of the page, see
/// [`crate::Article::hidden`].
pub(super) fn clean(dom: &mut Dom) -> String {
    let sheets = sheets_of(dom);
    let sheet = Sheet::of(&sheets);
    let parents: Vec<Option<Id>> = dom.nodes.iter().map(|node| node.parent).collect();
    read_scripts(dom);
    let mut found = Found { unseen: vec![false; dom.len()], ..Found::default() };
    let formulas = holders(dom, |element| element.name() == "math");
    for (id, _) in dom.walk() {
        if let Some(element) = dom.element(id) {
            found.look(dom, id, element, &sheet, &formulas);
        }
    }
    let Found { mut removed, kept, written, covers, mut unseen } = found;
    for id in covered(dom, &covers) {
        removed.push(id);
        set(&mut unseen, id, true);
    }
    dom.detach_all(&removed);
    for id in written {
        dom.rename(id, "pre");
    }
    to_pre(dom, &kept);
    uncover_headings(dom);
    place_noscript(dom, &mut unseen);
    hidden::words(dom, &parents, &unseen)
}

/// What was found in a page.
#[derive(Debug, Default)]
struct Found {
    removed: Vec<Id>,
    /// Elements whose style keeps white space.
    kept: Vec<Id>,
    /// Elements that show their content as it is written.
    written: Vec<Id>,
    /// Hidden elements, each with whether a rule of a sheet hides it, not the element itself.
    covers: Vec<(Id, bool)>,
    /// By node, whether its words are not seen.
    unseen: Vec<bool>,
}

impl Found {
    fn look(&mut self, dom: &Dom, id: Id, element: &Element, sheet: &Sheet<'_>, formulas: &[bool]) {
        let name = element.name();
        let style = sheet.style(dom, id, element);
        if style.as_ref().is_some_and(|(style, _)| style.is("white-space", &["pre"])) {
            self.kept.push(id);
        }
        if matches!(name, "xmp" | "plaintext") {
            self.written.push(id);
        }
        let own = || Style::of(element.attribute("style").unwrap_or_default());
        let is_camouflage =
            || style.as_ref().is_some_and(|(style, by_sheet)| style.is_camouflage(!by_sheet) || (*by_sheet && own().is_camouflage(true)));
        let is_embedding = embed::is_embedding(name);
        if matches!(name, "template" | "noembed" | "noframes" | "iframe") || element.attribute("aria-hidden") == Some("true") {
            set(&mut self.unseen, id, true);
        }
        if SILENT.contains(&name)
            || is_drawing(dom, id, element, formulas)
            || is_permalink(dom, id, element)
            || is_embedding && !embed::is_shown(dom, id)
        {
            self.removed.push(id);
        } else if is_embedding {
            // Words for those who cannot see it; its sources stay.
            self.removed
                .extend(dom.children(id).iter().filter(|child| dom.element(**child).is_none_or(|element| element.name() != "source")));
        } else if is_whole_page(name) {
            // Scripts show it, and hidden it would leave nothing.
        } else if is_closed(element) || style.as_ref().is_some_and(|(style, _)| style.hides()) {
            self.covers.push((id, !is_closed(element) && !own().hides()));
        } else if is_camouflage() {
            // It may be seen on the ground of another element.
            set(&mut self.unseen, id, true);
        }
    }
}

/// Whether an element of this name is the page: hidden it would leave nothing, and pages hide it until a script has run.
fn is_whole_page(name: &str) -> bool {
    matches!(name, "html" | "body" | "main")
}

/// Keeps data about the page and takes out all scripts.
fn read_scripts(dom: &mut Dom) {
    let is_script = |id: &Id| dom.element(*id).is_some_and(|element| element.name() == "script");
    let scripts: Vec<Id> = dom.walk().map(|(id, _)| id).filter(is_script).collect();
    let is_data = |id: &Id| {
        let kind = dom.element(*id).and_then(|element| element.attribute("type"));
        kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/ld+json"))
    };
    let (data, removed): (Vec<Id>, Vec<Id>) = scripts.into_iter().partition(is_data);
    for id in data {
        let child = dom.children(id).first().copied();
        if let Some(Kind::Text(text)) = child.and_then(|child| dom.nodes.get_mut(child)).map(|node| &mut node.kind) {
            // In JSON an escaped `<` is the same character, and no parser can see a tag in it.
            *text = text.replace('<', "\\u003c");
        }
    }
    dom.detach_all(&removed);
}

/// The nodes that are to be taken out for these elements.
fn covered(dom: &Dom, covers: &[(Id, bool)]) -> Vec<Id> {
    let below = words_below(dom);
    let count = |id: Id| below.get(id).copied().unwrap_or(0);
    let (mut removed, mut by_sheet) = (Vec::new(), HashSet::new());
    // Words of what sheets hide.
    let mut words = 0;
    for (id, is_by_sheet) in covers {
        if *is_by_sheet {
            words += if dom.ancestors(*id).any(|above| by_sheet.contains(&above)) { 0 } else { count(*id) };
            by_sheet.insert(*id);
        } else if is_little(count(*id), count(0)) {
            removed.push(*id);
        }
    }
    // A sheet hides parts by the dozen until a script has filled them, and hides all of a page until it is drawn.
    if words < count(0) && is_little(words, count(0)) {
        removed.extend(by_sheet);
    }
    removed
}

/// A summary that holds a heading says what the heading says: as a line in bold it would break it.
fn uncover_headings(dom: &mut Dom) {
    let holds_heading = holders(dom, |element| matches!(element.name(), "h1" | "h2" | "h3" | "h4" | "h5" | "h6"));
    let is_one = |id: &Id| holds_heading.get(*id) == Some(&true) && dom.element(*id).is_some_and(|element| element.name() == "summary");
    let found: Vec<Id> = dom.walk().map(|(id, _)| id).filter(is_one).collect();
    for id in found {
        dom.rename(id, "div");
    }
}

/// True for the drawing of a formula that stands beside it as markup or TeX, as formula scripts leave it.
fn is_drawing(dom: &Dom, id: Id, element: &Element, formulas: &[bool]) -> bool {
    let holds_formula = |id: Id| formulas.get(id).copied().unwrap_or(false);
    let class = element.attribute("class").unwrap_or_default();
    let parent = dom.ancestors(id).next();
    let is_unspoken = element.attribute("aria-hidden") == Some("true") || class == "katex-html";
    let is_drawn = |above: &Element| {
        above.name() == "mjx-container"
            || above.attribute("class").unwrap_or_default().split_ascii_whitespace().any(|class| matches!(class, "katex" | "MathJax"))
    };
    is_unspoken && !holds_formula(id) && parent.is_some_and(|parent| holds_formula(parent) && dom.element(parent).is_some_and(is_drawn))
}

/// True for the sign behind a heading that leads to the heading itself.
fn is_permalink(dom: &Dom, id: Id, element: &Element) -> bool {
    let leads_here = || element.attribute("href").is_some_and(|href| href.contains('#'));
    let sign = || texts_below(dom, id).take(3).collect::<String>();
    element.name() == "a" && leads_here() && matches!(sign().trim(), "¶" | "#" | "§" | "🔗" | "⚓" | "⚓︎")
}

/// `noscript` is usually a beacon or a second copy; where it holds most of the page's text (forums that draw themselves), it is the page.
fn place_noscript(dom: &mut Dom, unseen: &mut [bool]) {
    let found: Vec<Id> =
        dom.walk().map(|(id, _)| id).filter(|id| dom.element(*id).is_some_and(|element| element.name() == "noscript")).collect();
    if found.is_empty() {
        return;
    }
    let below = words_below(dom);
    let inside: Vec<usize> = found.iter().map(|id| below.get(*id).copied().unwrap_or(0)).collect();
    let outside = below.first().copied().unwrap_or(0).saturating_sub(inside.iter().sum());
    let mut removed = Vec::new();
    for (id, words) in found.into_iter().zip(inside) {
        if words > 60 && words * 2 > outside {
            dom.rename(id, "div");
        } else {
            removed.push(id);
            set(unseen, id, true);
        }
    }
    dom.detach_all(&removed);
}

/// The words that a person would read of every subtree, by node.
fn words_below(dom: &Dom) -> Vec<usize> {
    let mut words = vec![0; dom.len()];
    let order: Vec<Id> = dom.walk().map(|(id, _)| id).collect();
    // Backwards, children come before their parents.
    for id in order.into_iter().rev() {
        if let Some(Kind::Text(text)) = dom.node(id).map(|node| &node.kind) {
            set(&mut words, id, text.split_whitespace().count());
        } else if dom.element(id).is_some_and(is_unread) {
            set(&mut words, id, 0);
        }
        let own = words.get(id).copied().unwrap_or(0);
        if let Some(above) = dom.ancestors(id).next().and_then(|parent| words.get_mut(parent)) {
            *above += own;
        }
    }
    words
}

fn set<T>(slots: &mut [T], id: Id, value: T) {
    if let Some(slot) = slots.get_mut(id) {
        *slot = value;
    }
}

fn is_unread(element: &Element) -> bool {
    matches!(element.name(), "script" | "style" | "title" | "head" | "iframe" | "noembed" | "noframes")
}

/// The texts of a subtree that a person would read.
pub(super) fn texts_below(dom: &Dom, top: Id) -> impl Iterator<Item = &str> {
    let mut pending = vec![top];
    std::iter::from_fn(move || {
        while let Some(id) = pending.pop() {
            if dom.element(id).is_some_and(is_unread) {
                continue;
            }
            pending.extend(dom.children(id).iter().rev());
            if let Some(Kind::Text(text)) = dom.node(id).map(|node| &node.kind) {
                return Some(text.as_str());
            }
        }
        None
    })
}

/// What a script or a button has to open (HTML standard, sections 4.11.4 and 6.12), or is hidden by its attribute.
fn is_closed(element: &Element) -> bool {
    let has = |name: &str| element.attribute(name).is_some();
    has("hidden") || has("popover") || (element.name() == "dialog" && !has("open"))
}

/// Whether words that are hidden are few among those of the page: what is hidden and yet most of it is shown by a script later, so a person does see it.
const fn is_little(hidden: usize, words: usize) -> bool {
    hidden < REVEALED || hidden * 3 < words
}

/// Elements that say nothing to a reader, or not in words.
const SILENT: &[&str] = &[
    "style", "template", "noembed", "noframes", "svg", "object", "embed", "canvas", "map", "link", "datalist", "select", "textarea",
    "frameset", "applet",
];

/// Words below which a hidden part is hidden, however small the page is.
const REVEALED: usize = 150;

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(html: &str) -> String {
        let mut dom = Dom::parse(html);
        clean(&mut dom);
        texts_below(&dom, 0).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn hidden_elements_are_taken_out() {
        let html = "<p>a<p hidden>b<p style='color:red; Display : NONE !important'>c<p style=opacity:0.0>d<p style=font-size:0px>e\
                    <p style='opacity:0.5'>f<p style='position:absolute;left:-9999px'>g<p style='opacity:0;transition:all 1s'>h<svg><text>i</text></svg>\
                    <p style='color:#fff'>j<p style='display:none;transition:all 1s'>k";
        assert_eq!(cleaned(html), "a|f|h|j");
    }

    #[test]
    fn what_a_sheet_or_a_closed_box_hides_is_taken_out() {
        let html = "<style>.x{display:none}.y{opacity:0;transition:all 1s}.z{display:block}</style><p class=x>a<p class=y>b<p class='x z'>c\
                    <div popover>d</div><dialog>e</dialog><dialog open>f</dialog>";
        assert_eq!(cleaned(html), "b|c|f");
        let words = "word ".repeat(200);
        assert_eq!(cleaned(&format!("<style>.x{{display:none}}</style><div class=x>{words}</div>")), words, "a script shows the page");
        let parts = "<div class=x>a few words</div>".repeat(100);
        assert!(cleaned(&format!("<style>.x{{visibility:hidden}}</style>{parts}")).contains("a few words"), "and its parts");
    }

    #[test]
    fn a_short_page_that_is_hidden_until_it_is_drawn_is_read() {
        for sheet in [
            "body{opacity:0}",
            "body{visibility:hidden}",
            "html{visibility:hidden}",
            "main{display:none}",
            ".w{opacity:0}",
            "p{font-size:0}",
        ] {
            assert_eq!(cleaned(&format!("<style>{sheet}</style><main class=w><p>a few words</p></main>")), "a few words", "{sheet}");
        }
        assert_eq!(cleaned("<body style='opacity:0'><p>a few words"), "a few words");
        assert_eq!(cleaned("<style>.x{opacity:0}</style><p>a</p><p class=x>b c d e f"), "a", "but what is hidden beside it is not");
    }

    /// Rules of the kinds that a page carries before it says a word: a reset, a page's own, of parts that scripts fill, of highlighted code.
    const ORDINARY: &str = "*,:after,:before{box-sizing:border-box;border:0 solid #e5e7eb}html{line-height:1.5;-webkit-text-size-adjust:100%}
        body{margin:0;opacity:0;font:400 1rem/1.5 sans-serif;color:#fff;background:#fff}h1{font-size:2em;margin:.67em 0}small{font-size:80%}
        code,kbd,pre,samp{font-family:monospace;font-size:.875em}pre{font-size:.85em;overflow:auto;margin-top:0}sub,sup{font-size:75%;line-height:0;top:-.5em}
        a{font-size:.9em;color:#0a58ca;text-decoration:underline}li{font-size:.95rem}table{font-size:.9em;width:100%;border-collapse:collapse}
        td,th{height:1em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}th{font-size:.75rem}[hidden]{display:none!important}
        .sr-only{position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)}.row{margin-left:-15px;display:flex}.fade:not(.show){opacity:0}
        .fade{transition:opacity .15s linear}@media (prefers-reduced-motion:reduce){.fade{transition:none}}.collapse:not(.show){display:none}
        @media print{a,p,code{display:none}}@media (max-width:576px){table,pre{display:none}}@keyframes in{from{opacity:0}to{opacity:1}}
        .icon:before{content:\"\\f101\";font-size:0}.hljs{display:block;overflow-x:auto;padding:.5em;background:#1e1e1e;color:#dcdcdc}
        .hljs-keyword,.token.keyword{color:#569cd6}.token.comment,.token.prolog{color:#6a9955;opacity:.7}.token.punctuation{opacity:.06}
        .line-numbers{position:relative;left:-3.8em;width:3em;font-size:100%}.tok-hidden{visibility:visible}main{animation:in .3s;transform:translateY(-4px)}
        .highlight .gp::selection{color:transparent}.text-truncate{max-width:20ch;overflow:hidden}summary{display:list-item}.lead{font-size:1.25rem}
        @font-face{font-family:a;src:url(data:font/woff2;base64,d09GMgABAAAAA{})}.bg{background:url(a;b) #fff;background-color:#fff}p{margin-top:-1px}";

    #[test]
    fn an_ordinary_sheet_before_an_article_changes_nothing_of_it() {
        let body = "<main class=fade><h1>A title</h1><p class=lead>Run <code class='hljs token'>cargo build</code> now, then read <a href=/a>the notes</a>.</p>\
            <ul class=row><li>one<sup>1</sup></li><li><small>two</small></li></ul><pre class=highlight><code><span class='token keyword'>fn</span> \
            <span class='token punctuation'>()</span>\n  <span class='token comment'>// so</span></code></pre><table class=text-truncate><tr><th>a</th><th>b</th></tr>\
            <tr><td class=text-truncate>c</td><td>d</td></tr></table><p class='bg line-numbers'>The end.</p></main>";
        let page = |sheet: &str| format!("<html><head><title>T</title>{sheet}</head><body>{body}</body></html>");
        for mode in [crate::Mode::Article, crate::Mode::Page] {
            let read = |sheet: &str| crate::read_html(&page(sheet), &crate::Options { mode, ..crate::Options::default() }).text;
            assert_eq!(read(&format!("<style>{ORDINARY}</style>")), read(""));
        }
        assert_eq!(crate::hidden_words(&page(&format!("<style>{ORDINARY}</style>"))), "");
    }

    #[test]
    fn a_noscript_part_counts_only_where_it_is_the_page() {
        assert_eq!(cleaned("<body>text<noscript>turn scripts on</noscript>"), "text");
        let words = "word ".repeat(80);
        assert_eq!(cleaned(&format!("<body>menu<noscript><p>{words}</p></noscript>")), format!("menu|{words}"));
    }
}
