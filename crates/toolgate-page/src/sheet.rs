//! The style sheets of a page, as far as they take elements out of sight or keep white space.
//!
//! Selectors of types, classes and ids are read, with descendants and children; what else a selector may say is not, so that an element is never taken
//! for hidden that a browser shows. Sheets in files of their own are not fetched.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};

use super::css::{Declaration, declarations, plain};
use super::media::holds;
use super::style::{PROPERTIES, Style, written};

/// Bytes of the style sheets of one page that are read; a rule takes some eight of them. What a page says after so many is not read.
pub(super) const MOST: usize = 512 * 1024;
/// Rules of one page; beyond it the first ones are forgotten, since a later rule holds against an earlier one.
const MOST_RULES: usize = 64 * 1024;
/// Compounds of one selector.
const MOST_COMPOUNDS: usize = 8;
/// Comparisons of the rules of one page with its elements: for each byte of the page, and at most.
const STEPS: usize = 64;
const MOST_STEPS: usize = 4_000_000;
/// Elements above one that selectors are compared with.
pub(super) const MOST_ABOVE: usize = 64;
/// Bytes of an id and of classes that selectors see.
const LONGEST: usize = 8 * 1024;

/// Bounds of the cache of declarations: elements, and bytes of the id and the classes of one element.
const MOST_KNOWN: usize = 4096;
const MOST_NAMES: usize = 256;

/// The rules of one page.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    rules: VecDeque<Rule>,
    /// Rules that were forgotten.
    forgotten: usize,
    /// The blocks of declarations.
    blocks: Vec<Vec<Declaration>>,
    /// The numbers of rules, by what the last part of a selector names: `#id`, `.class` or a type.
    named: HashMap<String, Vec<usize>>,
    /// The declarations for elements that were asked for, where they hold wherever the element stands.
    known: RefCell<HashMap<(String, String, String), Vec<Declaration>>>,
    steps: Cell<usize>,
    most_steps: usize,
}

/// What selectors see of an element.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Subject<'e> {
    pub(super) name: &'e str,
    pub(super) id: &'e str,
    pub(super) class: &'e str,
}

#[derive(Debug)]
struct Rule {
    /// From the element outwards, each with whether it must be the parent of the one before.
    compounds: Vec<(bool, Compound)>,
    /// Ids, classes, types; then the place of the rule.
    weight: (usize, usize, usize, usize),
    /// The number of its block.
    block: usize,
}

#[derive(Debug, Default)]
struct Compound {
    name: String,
    id: Vec<String>,
    classes: Vec<String>,
}

impl Sheet {
    /// Reads the style sheets of a page of so many bytes.
    pub(super) fn of(css: &str, page: usize) -> Self {
        let mut sheet = Self { most_steps: MOST_STEPS.min(page.saturating_mul(STEPS)), ..Self::default() };
        if !css.is_empty() {
            sheet.read(&plain(css.get(..css.floor_char_boundary(MOST)).unwrap_or_default()));
        }
        sheet
    }

    /// Begins to count comparisons anew.
    pub(super) fn restart(&self) {
        self.steps.set(0);
    }

    /// The style of an element by these sheets and by its own attribute, and whether a rule of the sheets is part of it. `above`: its parent, the parent
    /// of that, and so on. `None`: nothing is said of it.
    pub(super) fn style<'e>(&self, element: Subject<'e>, own: &str, above: impl FnOnce() -> Vec<Subject<'e>>) -> Option<(Style, bool)> {
        let mut declarations = self.declarations(element, above).unwrap_or_default();
        let is_by_sheet = !declarations.is_empty();
        // An attribute holds against every rule but one that is important, where the attribute is not.
        declarations.extend(written(own));
        (!declarations.is_empty()).then(|| (Style::new(declarations), is_by_sheet))
    }

    /// The declarations of the rules for an element, in the order in which they give way.
    fn declarations<'e>(&self, element: Subject<'e>, above: impl FnOnce() -> Vec<Subject<'e>>) -> Option<Vec<Declaration>> {
        if self.rules.is_empty() || self.steps.get() >= self.most_steps {
            return None;
        }
        let element = Subject {
            class: element.class.get(..element.class.floor_char_boundary(LONGEST))?,
            id: element.id.get(..element.id.floor_char_boundary(LONGEST))?,
            ..element
        };
        let key = (element.name.to_owned(), element.id.to_owned(), element.class.to_owned());
        if let Some(known) = self.known.borrow().get(&key) {
            return Some(known.clone());
        }
        let class_names = element.class.split_ascii_whitespace().map(|class| format!(".{class}"));
        let mut names: Vec<String> = class_names.chain([format!("#{}", element.id), element.name.to_owned(), "*".to_owned()]).collect();
        names.sort_unstable();
        names.dedup();
        let candidates: Vec<&Rule> =
            names.iter().filter_map(|name| self.named.get(name)).flatten().filter_map(|rule| self.rule_of(*rule)).collect();
        // What many elements are named by costs as well.
        self.steps.set(self.steps.get() + names.len() + candidates.len());
        let is_alone = candidates.iter().all(|rule| rule.compounds.len() == 1);
        let above = if is_alone { Vec::new() } else { above() };
        let mut found: Vec<&Rule> = candidates.into_iter().filter(|rule| self.is_for(rule, element, &above)).collect();
        found.sort_by_key(|rule| rule.weight);
        found.dedup_by_key(|rule| rule.weight);
        let declarations = last_of_each(found.iter().filter_map(|rule| self.blocks.get(rule.block)).flatten());
        let mut known = self.known.borrow_mut();
        if is_alone && known.len() < MOST_KNOWN && key.1.len() + key.2.len() <= MOST_NAMES {
            known.insert(key, declarations.clone());
        }
        Some(declarations)
    }

    fn rule_of(&self, number: usize) -> Option<&Rule> {
        self.rules.get(number.checked_sub(self.forgotten)?)
    }

    fn is_for(&self, rule: &Rule, element: Subject<'_>, above: &[Subject<'_>]) -> bool {
        let Some(((_, last), rest)) = rule.compounds.split_first() else { return false };
        self.step(last, element) && last.is_for(element) && self.is_below(rest, above)
    }

    /// Whether these compounds, the nearest first, are for elements above.
    fn is_below(&self, compounds: &[(bool, Compound)], above: &[Subject<'_>]) -> bool {
        let Some(((is_parent, compound), rest)) = compounds.split_first() else { return true };
        for (at, element) in above.iter().enumerate() {
            if !self.step(compound, *element) {
                return false;
            }
            if compound.is_for(*element) && self.is_below(rest, above.get(at + 1..).unwrap_or_default()) {
                return true;
            }
            if *is_parent {
                return false;
            }
        }
        false
    }

    /// Counts a comparison; false when there were too many: what is left is taken for shown.
    fn step(&self, compound: &Compound, element: Subject<'_>) -> bool {
        /// Bytes of classes that are looked through in the time of one comparison of names.
        const ALIKE: usize = 64;
        let steps = 1 + compound.classes.len() * element.class.len() / ALIKE;
        self.steps.set(self.steps.get() + steps);
        super::work::read(steps);
        self.steps.get() < self.most_steps
    }

    fn read(&mut self, css: &str) {
        super::work::read(css.len());
        // Of each block that is open, whether it holds here.
        let mut open: Vec<bool> = Vec::new();
        let mut from = 0;
        while let Some((at, sign)) = next_of(css, from, &['{', '}', ';']) {
            let prelude = css.get(from..at).unwrap_or_default().trim();
            from = at + 1;
            match sign {
                b'{' if prelude.starts_with('@') => open.push(open.last() != Some(&false) && holds(prelude)),
                b'{' => {
                    let (end, next) = next_of(css, from, &['{', '}']).unwrap_or((css.len(), b'}'));
                    if open.last() != Some(&false) {
                        self.rule(prelude, css.get(from..end).unwrap_or_default());
                    }
                    from = end + 1;
                    if next == b'{' {
                        // A rule inside a rule: neither it nor what comes after it in the block is read.
                        from = skip_block(css, from, 2);
                    }
                }
                b'}' => drop(open.pop()),
                _ => {}
            }
        }
    }

    fn rule(&mut self, selectors: &str, body: &str) {
        let block: Vec<Declaration> = declarations(body, PROPERTIES).collect();
        if block.is_empty() {
            return;
        }
        for selector in selectors.split(',').filter_map(compounds) {
            let Some((_, last)) = selector.first() else { continue };
            let key = match (last.id.first(), last.classes.first()) {
                (Some(id), _) => format!("#{id}"),
                (None, Some(class)) => format!(".{class}"),
                (None, None) if last.name.is_empty() => "*".to_owned(),
                (None, None) => last.name.clone(),
            };
            let number = self.forgotten + self.rules.len();
            self.named.entry(key).or_default().push(number);
            let sum = |of: fn(&Compound) -> usize| selector.iter().map(|(_, compound)| of(compound)).sum::<usize>();
            let kinds = sum(|compound| usize::from(compound.name != "*" && !compound.name.is_empty()));
            let weight = (sum(|compound| compound.id.len()), sum(|compound| compound.classes.len()), kinds, number);
            self.rules.push_back(Rule { compounds: selector, weight, block: self.blocks.len() });
            if self.rules.len() > MOST_RULES {
                self.rules.pop_front();
                self.forgotten += 1;
            }
        }
        self.blocks.push(block);
    }
}

impl Compound {
    fn is_for(&self, element: Subject<'_>) -> bool {
        (self.name == "*" || self.name.is_empty() || self.name.eq_ignore_ascii_case(element.name))
            && self.id.iter().all(|id| id == element.id)
            && self.classes.iter().all(|class| element.class.split_ascii_whitespace().any(|own| own == class))
    }
}

/// Of the declarations of each property, which give way in this order, the last one and the last that is important.
fn last_of_each<'d>(declarations: impl DoubleEndedIterator<Item = &'d Declaration>) -> Vec<Declaration> {
    let mut last: Vec<Declaration> = Vec::new();
    for declaration in declarations.rev() {
        if !last.iter().any(|known| known.name == declaration.name && known.important == declaration.important) {
            last.push(declaration.clone());
        }
    }
    last.reverse();
    last
}

/// A selector from the element outwards. `None`: it says what is not read.
fn compounds(selector: &str) -> Option<Vec<(bool, Compound)>> {
    let mut parts = Vec::new();
    let spaced = selector.replace('>', " > ");
    let mut is_parent = false;
    for word in spaced.split_ascii_whitespace().rev() {
        if word == ">" {
            is_parent = true;
            continue;
        }
        parts.push((is_parent, compound(word)?));
        is_parent = false;
        if parts.len() > MOST_COMPOUNDS {
            return None;
        }
    }
    (!parts.is_empty() && !is_parent).then_some(parts)
}

fn compound(word: &str) -> Option<Compound> {
    let mut compound = Compound::default();
    let end = word.find(['.', '#']).unwrap_or(word.len());
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    compound.name = word.get(..end).unwrap_or_default().to_ascii_lowercase();
    if !compound.name.is_empty() && compound.name != "*" && !is_name(&compound.name) {
        return None;
    }
    let mut rest = word.get(end..).unwrap_or_default();
    while let Some(sign) = rest.chars().next() {
        let name = rest.get(1..)?;
        let end = name.find(['.', '#']).unwrap_or(name.len());
        let (name, after) = name.split_at_checked(end)?;
        if !is_name(name) {
            return None;
        }
        if sign == '#' {
            compound.id.push(name.to_owned());
        } else {
            compound.classes.push(name.to_owned());
        }
        rest = after;
    }
    Some(compound)
}

/// The next of these signs, and where it stands.
fn next_of(css: &str, from: usize, signs: &[char]) -> Option<(usize, u8)> {
    let at = from + css.get(from..)?.find(signs)?;
    Some((at, *css.as_bytes().get(at)?))
}

/// Behind so many open blocks.
fn skip_block(css: &str, mut from: usize, mut depth: usize) -> usize {
    while let Some((at, sign)) = next_of(css, from, &['{', '}']) {
        from = at + 1;
        depth = if sign == b'{' { depth + 1 } else { depth - 1 };
        if depth == 0 {
            return from;
        }
    }
    css.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Path<'e> = [(&'e str, &'e str, &'e str)];

    fn hides_beside(sheet: &str, own: &str, path: &Path<'_>) -> bool {
        let sheet = Sheet::of(sheet, usize::MAX);
        let mut path = path.iter().map(|&(name, id, class)| Subject { name, id, class });
        let element = path.next().unwrap();
        let style = sheet.style(element, own, || path.collect());
        style.is_some_and(|(style, _)| style.is_out_of_sight() || style.is_invisible())
    }

    fn hides(sheet: &str, path: &Path<'_>) -> bool {
        hides_beside(sheet, "", path)
    }

    #[test]
    fn elements_are_hidden_by_the_rules_that_are_for_them() {
        let element = ("p", "i", "a x");
        for sheet in [
            ".x{display:none}",
            "#i { visibility : hidden }",
            "p.a.x{opacity:0}",
            "b, .x {font-size:0}",
            "div .x{display:none}",
            "div.o > p{position:absolute;left:-9999px}",
            "*{display:none}",
            "@media screen{.x{display:none}}",
            "@media (min-width: 600px) and (min-width:700px){.x{clip:rect(0,0,0,0)}}",
            "@import 'a.css';.x{display:none}",
            "/* .y{ */ .x{display:none}",
            "<!-- .x{display:none} -->",
            ".y{content:'}'}.x{display:none}",
            ".\\78 {d\\69splay:none}",
            ".x{display:none!important}p{display:block}#i{display:block}",
            ".y{color:red;.z{color:blue}}.x{display:none}",
            ".x{mask:linear-gradient(transparent,transparent)}",
            ".x{-webkit-mask-image:linear-gradient(#0000 , rgba(0, 0, 0, 0))}",
            ".y:before{content:\"\\\"\"}.x{display:none}",
            ".y{content:\"/*\"}.x{display:none}",
            "@media (min-width:0){.x{display:none}}",
            "@media (width >= 40em) and (hover){.x{display:none}}",
            "@media not print{.x{display:none}}",
            "@media print, screen{.x{display:none}}",
            "@media (max-width:99999px){.x{display:none}}",
            ".x{display:none!important}.x{display:block}",
        ] {
            assert!(hides(sheet, &[element, ("div", "", "o"), ("body", "", "")]), "{sheet}");
        }
        for sheet in [
            ".y{display:none}",
            ".x:hover{display:none}",
            ".x::before{display:none}",
            ".y .x{display:none}",
            "body > p{display:none}",
            ".x[data-a]{display:none}",
            ".a + .x{display:none}",
            "@media print{.x{display:none}}",
            "@media (max-width:600px){.x{display:none}}",
            "@font-face{display:none}",
            "@keyframes a{from{opacity:0}to{opacity:1}}",
            ".x{display:none}.x{display:block}",
            ".x{display:none}#i{display:block}",
            ".x{opacity:.5;clip:auto;mask:linear-gradient(#000,transparent)}",
            ".md\\:hidden{display:none}",
            ".y{content:'}.x{display:none}'}",
            "@media not screen{.x{display:none}}",
            "@media not (prefers-color-scheme:dark){.x{display:none}}",
            "@media (min-width:3000px){.x{display:none}}",
            "@supports not (display:grid){.x{display:none}}",
        ] {
            assert!(!hides(sheet, &[element, ("div", "", "o"), ("body", "", "")]), "{sheet}");
        }
    }

    #[test]
    fn an_attribute_holds_against_a_rule_unless_the_rule_alone_is_important() {
        let path = [("p", "", "x")];
        for (sheet, own) in [
            (".x{display:block!important}", "display:none!important"),
            (".x{display:none!important}", "display:block"),
            (".x{display:block}", "display:none"),
            ("", "display:none!important;display:block"),
        ] {
            assert!(hides_beside(sheet, own, &path), "{sheet} {own}");
        }
        for (sheet, own) in [
            (".x{display:block!important}", "display:none"),
            (".x{display:none}", "display:block"),
            (".x{display:none!important}", "display:block!important"),
        ] {
            assert!(!hides_beside(sheet, own, &path), "{sheet} {own}");
        }
    }

    #[test]
    fn no_number_of_rules_classes_or_blanks_covers_a_rule() {
        let many: String = (0..200).fold(String::new(), |many, n| many + "a" + &n.to_string() + " ");
        let class = many.clone() + "x";
        for sheet in [
            ".x{top:0}".repeat(5000) + ".x{display:none}",
            ".x{display:none}".to_owned() + &".x{top:0}".repeat(5000),
            ".y,".repeat(5000) + ".x{display:none}",
            ".y{top:0}".repeat(30_000) + ".x{display:none}",
            format!(".x{{display:{}none}}", " ".repeat(5000)),
        ] {
            assert!(hides(&sheet, &[("p", "", &class)]), "{}", sheet.len());
        }
    }

    #[test]
    fn a_hostile_sheet_costs_a_bounded_number_of_comparisons() {
        let selector = "div ".repeat(MOST_COMPOUNDS) + ".x";
        for css in [
            format!("{selector}{{display:none}}").repeat(20_000),
            ".x{".repeat(100_000),
            "@media a{".repeat(50_000),
            "{}".repeat(200_000),
            "/*".repeat(200_000),
            "\"".repeat(300_000),
            format!(".x{{{}}}", "display:none;".repeat(40_000)),
            format!("{}{{display:none}}", ".x,".repeat(100_000)),
        ] {
            let sheet = Sheet::of(&css, usize::MAX);
            assert!(sheet.rules.len() <= MOST_RULES);
            let above = vec![Subject { name: "div", id: "", class: "" }; 512];
            for _ in 0..2000 {
                let _ = sheet.style(Subject { name: "p", id: "", class: "x" }, "", || above.clone());
            }
            // The last element may look at each of its rules once more.
            assert!(sheet.steps.get() <= MOST_STEPS + 2 * MOST_RULES, "{}", sheet.steps.get());
        }
    }
}
