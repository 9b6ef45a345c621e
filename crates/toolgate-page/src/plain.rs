//! Pages, and main parts of pages, in which there is nothing that content would have to be told from.

use super::dom::{Dom, Id};

/// The element all of whose texts are content: the whole page where it is bare, else its `main` or `article` where that is and holds most of
/// the page's words. `words` are those of each text of `texts`.
///
/// Of 198 pages seven have such a part, and what extractors choose of them is the same but for a word in a thousand.
pub(super) fn part_of(dom: &Dom, texts: &[Id], words: &[usize]) -> Option<Id> {
    if is_bare(dom, 0) {
        return Some(0);
    }
    let all: usize = words.iter().sum();
    let mains =
        dom.walk().map(|(id, _)| id).filter(|id| dom.element(*id).is_some_and(|element| matches!(element.name(), "main" | "article")));
    mains.take(MOST_LOOKED_AT).find(|id| {
        let inside = |text: &Id| dom.ancestors(*text).any(|above| above == *id);
        let held: usize = texts.iter().zip(words).filter(|(text, _)| inside(text)).map(|(_, words)| *words).sum();
        held * 2 > all && is_bare(dom, *id)
    })
}

/// True when a part has no navigation, frame or class from which an extractor could tell content from the rest: then all of it is content.
fn is_bare(dom: &Dom, top: Id) -> bool {
    let mut classes = 0;
    let mut pending = dom.children(top).to_vec();
    while let Some(id) = pending.pop() {
        pending.extend(dom.children(id));
        let Some(element) = dom.element(id) else { continue };
        if matches!(element.name(), "nav" | "header" | "footer" | "aside" | "form" | "button" | "frame")
            || element.attribute("role").is_some()
        {
            return false;
        }
        classes += usize::from(element.attribute("class").is_some() && !matches!(element.name(), "pre" | "code" | "span"));
        if classes >= FEW_CLASSES {
            return false;
        }
    }
    true
}

/// Classes from which on a part has a design.
const FEW_CLASSES: usize = 8;

/// Main parts of one page that are looked at; a page has one, a list of posts has many.
const MOST_LOOKED_AT: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn part(html: &str) -> Option<String> {
        let dom = Dom::parse(html);
        let texts: Vec<Id> = dom.walk().map(|(id, _)| id).filter(|id| dom.element(*id).is_none() && dom.node(*id).is_some()).collect();
        let words = vec![1; texts.len()];
        part_of(&dom, &texts, &words).map(|id| dom.element(id).map_or("all", |element| element.name()).to_owned())
    }

    #[test]
    fn a_bare_page_is_content_and_so_is_a_bare_main_part_that_holds_most_of_it() {
        assert_eq!(part("<p>a<p>b").as_deref(), Some("all"));
        let main = |inside: &str| format!("<nav><a href=/>x</a></nav><main>{inside}</main><footer class=f>y</footer>");
        let texts = "<p>a<p>b<p>c<p>d<p>e<p>f<p>g<p>h";
        assert_eq!(part(&main(texts)).as_deref(), Some("main"));
        assert_eq!(part(&main("<p>a")), None, "most of the page's words stand elsewhere");
        assert_eq!(part(&main(&format!("{texts}<aside>more</aside>"))), None);
        assert_eq!(part(&main(&texts.replace("<p>", "<p class=x>"))), None);
    }
}
