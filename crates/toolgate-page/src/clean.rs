//! Takes out of a page what a person would not see.

use std::collections::HashSet;

use super::code::holders;
use super::dom::{Dom, Element, Id, Kind};
use super::embed;
use super::listing::{style_of, to_pre};
use crate::sheet::{MOST_ABOVE, Sheet};
use crate::style::{Style, is_whole_page};

/// Removes hidden elements and those without text of their own, and makes `pre` of what is shown like it. `sheet`: the style sheets of the page.
pub(super) fn clean(dom: &mut Dom, sheet: &Sheet) {
    let (mut removed, mut kept) = (Vec::new(), Vec::new());
    let (mut covers, mut visible) = (Vec::new(), Vec::new());
    let formulas = holders(dom, |element| element.name() == "math");
    for (id, _) in dom.walk() {
        let Some(element) = dom.element(id) else { continue };
        let style = style_of(dom, id, element, sheet);
        let says = |what: fn(&Style) -> bool| style.as_ref().is_some_and(what);
        if says(|style| style.is("white-space", &["pre"])) {
            kept.push(id);
        }
        let own = || Style::of(element.attribute("style").unwrap_or_default());
        let is_embedding = embed::is_embedding(element.name());
        let is_copy = is_drawing(dom, id, element, &formulas);
        if SILENT.contains(&element.name()) || is_copy || is_permalink(dom, id, element) || (is_embedding && !embed::is_shown(dom, id)) {
            removed.push(id);
        } else if is_embedding {
            // Words for those who cannot see it; its sources stay.
            removed.extend(dom.children(id).iter().filter(|child| dom.element(**child).is_none_or(|element| element.name() != "source")));
        } else if is_whole_page(element.name()) {
            // Scripts show it, and hidden it would leave nothing.
        } else if is_closed(element) || says(is_hidden) {
            covers.push(Cover { id, is_sheets: !is_closed(element) && !is_hidden(&own()), is_inherited: false });
        } else if says(Style::is_invisible) {
            covers.push(Cover { id, is_sheets: !own().is_invisible(), is_inherited: true });
        } else if says(Style::is_visible) {
            visible.push(id);
        }
    }
    removed.extend(covered(dom, &covers, &visible));
    dom.detach_all(&removed);
    to_pre(dom, &kept);
    uncover_headings(dom);
    settle_noscript(dom);
    adopt_lists(dom);
}

/// An element that is hidden.
#[derive(Debug)]
struct Cover {
    id: Id,
    /// By a rule of a sheet, not by the element itself.
    is_sheets: bool,
    /// By `visibility`, which elements inside inherit and can end.
    is_inherited: bool,
}

/// The nodes that are to be taken out for these covers. `visible`: elements that end the inheritance.
fn covered(dom: &Dom, covers: &[Cover], visible: &[Id]) -> Vec<Id> {
    let below = words_below(dom);
    let words = below.first().copied().unwrap_or(0);
    let mut inside = Inside::of(dom, visible);
    let (mut removed, mut by_sheet) = (Vec::new(), HashSet::new());
    // Words of what sheets hide.
    let mut by_sheet_words = 0;
    for cover in covers {
        let parts = if cover.is_inherited { inside.invisible(dom, cover.id) } else { vec![cover.id] };
        let count = |ids: &[Id]| ids.iter().filter_map(|id| below.get(*id)).sum::<usize>();
        if cover.is_sheets {
            if !dom.ancestors(cover.id).take(MOST_ABOVE).any(|above| by_sheet.contains(&above)) {
                by_sheet_words += count(&parts);
            }
            by_sheet.extend(parts);
        } else if is_little(count(&parts), words) {
            removed.extend(parts);
        }
    }
    // A sheet hides parts by the dozen until a script has filled them, and hides all of a page until it is drawn.
    if by_sheet_words < words && is_little(by_sheet_words, words) {
        removed.extend(by_sheet);
    }
    removed
}

/// Where visible elements stand inside invisible ones.
struct Inside {
    /// By node: whether it is visible, whether a visible one is below it, whether its children were looked at.
    nodes: Vec<(bool, bool, bool)>,
}

impl Inside {
    fn of(dom: &Dom, visible: &[Id]) -> Self {
        let mut nodes = vec![(false, false, false); dom.len()];
        for id in visible {
            if let Some(node) = nodes.get_mut(*id) {
                node.0 = true;
            }
            for above in dom.ancestors(*id) {
                match nodes.get_mut(above) {
                    Some((_, holds @ false, _)) => *holds = true,
                    _ => break,
                }
            }
        }
        Self { nodes }
    }

    /// The largest parts of an invisible element that hold nothing visible. Each node is looked at once, for the outermost element.
    fn invisible(&mut self, dom: &Dom, top: Id) -> Vec<Id> {
        let (mut parts, mut pending) = (Vec::new(), vec![top]);
        while let Some(id) = pending.pop() {
            match self.nodes.get_mut(id) {
                Some((_, true, looked @ false)) => {
                    *looked = true;
                    let is_visible = |id: &Id| self.nodes.get(*id).is_some_and(|node| node.0);
                    pending.extend(dom.children(id).iter().filter(|child| !is_visible(child)));
                }
                Some((_, false, _)) => parts.push(id),
                _ => {}
            }
        }
        parts
    }
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
    if class.starts_with("MathJax") {
        // A script that was a formula follows its drawing.
        let siblings = parent.map_or(&[][..], |parent| dom.children(parent));
        let mut after = siblings.iter().rev().take_while(|sibling| **sibling != id).take(MOST_BETWEEN);
        let follows = after.any(|sibling| dom.element(*sibling).is_some_and(|next| next.attribute("class") == Some("tex")));
        return follows;
    }
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
fn settle_noscript(dom: &mut Dom) {
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
        }
    }
    dom.detach_all(&removed);
}

/// A list that stands straight in a list belongs to the item before it, as browsers show it.
fn adopt_lists(dom: &mut Dom) {
    let is = |dom: &Dom, id: Id, names: &[&str]| dom.element(id).is_some_and(|element| names.contains(&element.name()));
    let lists: Vec<(Id, Id)> = dom
        .walk()
        .filter(|(id, _)| is(dom, *id, &["ul", "ol"]))
        .filter_map(|(id, _)| dom.ancestors(id).next().filter(|parent| is(dom, *parent, &["ul", "ol"])).map(|parent| (id, parent)))
        .take(MOST_ADOPTED)
        .collect();
    for (list, parent) in lists {
        let siblings = dom.children(parent);
        let at = siblings.iter().position(|child| *child == list);
        let item = at.and_then(|at| siblings.get(..at)?.iter().rev().copied().find(|child| is(dom, *child, &["li"])));
        if let Some(item) = item {
            dom.detach(list);
            dom.attach(list, item);
        }
    }
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

fn set(words: &mut [usize], id: Id, count: usize) {
    if let Some(slot) = words.get_mut(id) {
        *slot = count;
    }
}

fn is_unread(element: &Element) -> bool {
    matches!(element.name(), "script" | "title" | "head")
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

/// What a style hides by itself. What only has the colour of its ground may be seen on another.
fn is_hidden(style: &Style) -> bool {
    if style.enters() { style.is_not_displayed() } else { style.is_out_of_sight() }
}

/// Elements that say nothing to a reader, or not in words.
const SILENT: &[&str] =
    &["style", "template", "svg", "object", "embed", "canvas", "map", "link", "datalist", "select", "textarea", "frameset", "applet"];

/// Elements behind the drawing of a formula among which its TeX is looked for.
const MOST_BETWEEN: usize = 64;

/// Lists of one page that are put where they belong.
const MOST_ADOPTED: usize = 500;

/// Words below which a hidden part is hidden, however small the page is.
const REVEALED: usize = 150;

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(html: &str) -> String {
        let (mut dom, sheet) = Dom::parse_with_sheet(html);
        clean(&mut dom, &sheet);
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

    #[test]
    fn what_is_visible_inside_the_invisible_is_kept_and_nothing_beside_it() {
        let sheet = "<style>.h{visibility:hidden}.v{visibility:visible}</style>";
        for html in [
            "<div class=h>a<p>b<i>c</i><b class=v>d<i class=h>e</i></b></p>f</div><p>g",
            "<div style='visibility:hidden'>a<div class=h>b<b style='visibility:visible'>d</b></div>f</div><p>g",
        ] {
            assert_eq!(cleaned(&format!("{sheet}{html}")), "d|g", "{html}");
        }
        assert_eq!(cleaned(&format!("{sheet}<div class=h style='display:none'><b class=v>d</b></div><p>g")), "g");
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
            let read = |sheet: &str| crate::read_html(&page(sheet), &crate::Options { mode, ..crate::Options::default() }).markdown;
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
