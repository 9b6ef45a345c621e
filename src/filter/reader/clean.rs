//! Takes out of a page what a person would not see.

use std::collections::HashSet;

use super::super::sheet::{MOST_ABOVE, Sheet};
use super::super::style::Style;
use super::code::holders;
use super::dom::{Dom, Element, Id, Kind};
use super::embed;
use super::listing::{style_of, to_pre};

/// Removes hidden elements and those without text of their own, and makes `pre` of what is shown like it. `sheet`: the style sheets of the page.
pub(super) fn clean(dom: &mut Dom, sheet: &Sheet) {
    let (mut removed, mut kept, mut by_sheet) = (Vec::new(), Vec::new(), HashSet::new());
    // Words of what sheets hide.
    let mut covered = 0;
    let below = words_below(dom);
    let words = below.first().copied().unwrap_or(0);
    let formulas = holders(dom, |element| element.name() == "math");
    for (id, _) in dom.walk() {
        let Some(element) = dom.element(id) else { continue };
        let style = style_of(dom, id, element, sheet);
        if style.as_ref().is_some_and(|style| style.is("white-space", &["pre"])) {
            kept.push(id);
        }
        let is_embedding = embed::is_embedding(element.name());
        let is_copy = is_drawing(dom, id, element, &formulas);
        if SILENT.contains(&element.name()) || is_copy || is_permalink(dom, id, element) || (is_embedding && !embed::is_shown(dom, id)) {
            removed.push(id);
        } else if is_embedding {
            // Words for those who cannot see it; its sources stay.
            removed.extend(dom.children(id).iter().filter(|child| dom.element(**child).is_none_or(|element| element.name() != "source")));
        } else if is_closed(element) || style.as_ref().is_some_and(is_hidden) {
            let by_itself = is_closed(element) || is_hidden(&Style::of(element.attribute("style").unwrap_or_default()));
            let below = below.get(id).copied().unwrap_or(0);
            if by_itself && is_little(below, words) {
                removed.push(id);
            } else if !by_itself {
                if !dom.ancestors(id).take(MOST_ABOVE).any(|above| by_sheet.contains(&above)) {
                    covered += below;
                }
                by_sheet.insert(id);
            }
        }
    }
    // A sheet hides parts by the dozen until a script has filled them.
    if is_little(covered, words) {
        removed.extend(by_sheet);
    }
    dom.detach_all(&removed);
    to_pre(dom, &kept);
    uncover_headings(dom);
    settle_noscript(dom);
    adopt_lists(dom);
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
        let mut dom = Dom::parse(html);
        clean(&mut dom, &Sheet::of(html));
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
    fn a_noscript_part_counts_only_where_it_is_the_page() {
        assert_eq!(cleaned("<body>text<noscript>turn scripts on</noscript>"), "text");
        let words = "word ".repeat(80);
        assert_eq!(cleaned(&format!("<body>menu<noscript><p>{words}</p></noscript>")), format!("menu|{words}"));
    }
}
