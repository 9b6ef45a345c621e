//! The style sheets of a page, as far as they take elements out of sight or keep white space.
//!
//! Selectors of types, classes and ids are read, with descendants and children; what else a selector may say is not, so that an element is never taken
//! for hidden that a browser shows. Sheets in files of their own are not fetched.

use std::cell::Cell;
use std::collections::HashMap;

use super::style::Style;

/// Bytes of style sheets and rules of one page that are read; compounds of one selector; rules of one class, id or type; comparisons of one page.
const MOST: usize = 512 * 1024;
const MOST_RULES: usize = 8192;
const MOST_COMPOUNDS: usize = 8;
const MOST_ALIKE: usize = 64;
const MOST_STEPS: usize = 1_000_000;
/// Elements above one that selectors are compared with.
pub(super) const MOST_ABOVE: usize = 64;

/// The rules of one page.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    rules: Vec<Rule>,
    /// By what the last part of a selector names: `#id`, `.class` or a type.
    named: HashMap<String, Vec<usize>>,
    steps: Cell<usize>,
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
    plain: String,
    important: String,
}

#[derive(Debug, Default)]
struct Compound {
    name: String,
    id: Vec<String>,
    classes: Vec<String>,
}

impl Sheet {
    /// Reads the style sheets inside an HTML source.
    pub(super) fn of(html: &str) -> Self {
        let mut sheet = Self::default();
        let mut css = String::new();
        let mut rest = html;
        while let Some(at) = rest.find('<').filter(|_| css.len() < MOST) {
            rest = rest.get(at + 1..).unwrap_or_default();
            let named = |name: &str| rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
            if rest.starts_with("!--") {
                rest = rest.split_once("-->").map_or("", |(_, after)| after);
            } else if named("script") || named("noscript") {
                let name = if named("script") { "script" } else { "noscript" };
                (_, rest) = raw(rest, name);
            } else if named("style") && rest.as_bytes().get(5).is_some_and(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-') {
                let (tag, body) = rest.split_once('>').unwrap_or((rest, ""));
                let (body, after) = raw(body, "style");
                if !tag.to_ascii_lowercase().contains("print") {
                    css.push_str(body.get(..super::finding::floor(body, MOST)).unwrap_or_default());
                    css.push('\n');
                }
                rest = after;
            }
        }
        if !css.is_empty() {
            sheet.read(&without_comments(&css));
        }
        sheet
    }

    /// The declarations for an element, those that give way to its own style and those that do not. `above`: its parent, its parent, and so on. `None`: no
    /// rule is for it.
    pub(super) fn style<'e>(&self, element: Subject<'e>, above: impl FnOnce() -> Vec<Subject<'e>>) -> Option<(String, String)> {
        if self.rules.is_empty() || self.steps.get() >= MOST_STEPS {
            return None;
        }
        let class_names = element.class.split_ascii_whitespace().take(MOST_ALIKE).map(|class| format!(".{class}"));
        let names = class_names.chain([format!("#{}", element.id), element.name.to_owned(), "*".to_owned()]);
        let candidates: Vec<&Rule> =
            names.filter_map(|name| self.named.get(&name)).flatten().filter_map(|rule| self.rules.get(*rule)).collect();
        if candidates.is_empty() {
            return None;
        }
        // What many elements are named by costs as well.
        self.steps.set(self.steps.get() + candidates.len());
        let above = if candidates.iter().any(|rule| rule.compounds.len() > 1) { above() } else { Vec::new() };
        let mut found: Vec<&Rule> = candidates.into_iter().filter(|rule| self.is_for(rule, element, &above)).collect();
        found.sort_by_key(|rule| rule.weight);
        found.dedup_by_key(|rule| rule.weight);
        let all = |of: fn(&Rule) -> &str| found.iter().map(|rule| of(rule)).collect::<String>();
        (!found.is_empty()).then(|| (all(|rule| &rule.plain), all(|rule| &rule.important)))
    }

    fn is_for(&self, rule: &Rule, element: Subject<'_>, above: &[Subject<'_>]) -> bool {
        let Some(((_, last), rest)) = rule.compounds.split_first() else { return false };
        self.step() && last.is_for(element) && self.is_below(rest, above)
    }

    /// Whether these compounds, the nearest first, are for elements above.
    fn is_below(&self, compounds: &[(bool, Compound)], above: &[Subject<'_>]) -> bool {
        let Some(((is_parent, compound), rest)) = compounds.split_first() else { return true };
        for (at, element) in above.iter().enumerate() {
            if !self.step() {
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
    fn step(&self) -> bool {
        self.steps.set(self.steps.get() + 1);
        super::work::read(1);
        self.steps.get() < MOST_STEPS
    }

    fn read(&mut self, css: &str) {
        // Of each block that is open, whether it holds here.
        let mut open: Vec<bool> = Vec::new();
        let mut from = 0;
        while let Some((at, sign)) = next_sign(css, from) {
            let prelude = css.get(from..at).unwrap_or_default().trim();
            from = at + 1;
            match sign {
                b'{' if prelude.starts_with('@') => open.push(open.last() != Some(&false) && holds(prelude)),
                b'{' => {
                    let (end, next) = next_sign_of(css, from, b"{}").unwrap_or((css.len(), b'}'));
                    if open.last() != Some(&false) && self.rules.len() < MOST_RULES {
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
        let (mut plain, mut important) = (String::new(), String::new());
        for declaration in body.split(';') {
            let Some((name, value)) = declaration.split_once(':') else { continue };
            let name = name.trim().to_ascii_lowercase();
            if !RELEVANT.contains(&name.as_str()) || value.len() > 200 {
                continue;
            }
            let (value, to) = match value.trim().to_ascii_lowercase().strip_suffix("!important") {
                Some(value) => (value.trim_end().to_owned(), &mut important),
                None => (value.trim().to_owned(), &mut plain),
            };
            to.extend([&*name, ":", &*value, ";"]);
        }
        if plain.is_empty() && important.is_empty() {
            return;
        }
        for selector in selectors.split(',').filter_map(compounds).take(MOST_ALIKE) {
            let Some((_, last)) = selector.first() else { continue };
            let key = match (last.id.first(), last.classes.first()) {
                (Some(id), _) => format!("#{id}"),
                (None, Some(class)) => format!(".{class}"),
                (None, None) => last.name.clone(),
            };
            let alike = self.named.entry(key).or_default();
            if alike.len() >= MOST_ALIKE {
                continue;
            }
            let sum = |of: fn(&Compound) -> usize| selector.iter().map(|(_, compound)| of(compound)).sum::<usize>();
            let kinds = sum(|compound| usize::from(compound.name != "*" && !compound.name.is_empty()));
            let weight = (sum(|compound| compound.id.len()), sum(|compound| compound.classes.len()), kinds, self.rules.len());
            alike.push(self.rules.len());
            self.rules.push(Rule { compounds: selector, weight, plain: plain.clone(), important: important.clone() });
        }
    }
}

impl Compound {
    fn is_for(&self, element: Subject<'_>) -> bool {
        (self.name == "*" || self.name.is_empty() || self.name.eq_ignore_ascii_case(element.name))
            && self.id.iter().all(|id| id == element.id)
            && self.classes.iter().all(|class| element.class.split_ascii_whitespace().any(|own| own == class))
    }
}

/// The style of an element by sheets and by its own attribute.
pub(super) fn merged(sheet: Option<(String, String)>, own: &str) -> Style {
    let (plain, important) = sheet.unwrap_or_default();
    // What the attribute says of importance is settled: it stands last but for what a sheet insists on.
    Style::of(&format!("{plain}{own};{important}"))
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

/// Whether the rules inside hold on the screen of a computer.
fn holds(prelude: &str) -> bool {
    let prelude = prelude.to_ascii_lowercase();
    let Some(query) = prelude.strip_prefix("@media") else { return prelude.starts_with("@layer") || prelude.starts_with("@supports") };
    query.split(',').any(|query| {
        query.split(" and ").map(str::trim).all(|part| {
            let least = || part.strip_prefix("(min-width:").and_then(|width| width.trim().trim_end_matches("px)").parse::<f32>().ok());
            matches!(part, "" | "all" | "screen" | "only screen") || least().is_some_and(|width| width <= 1024.0)
        })
    })
}

/// The next brace or semicolon that stands in no string.
fn next_sign(css: &str, from: usize) -> Option<(usize, u8)> {
    next_sign_of(css, from, b"{};")
}

fn next_sign_of(css: &str, from: usize, signs: &[u8]) -> Option<(usize, u8)> {
    let mut quote = None;
    for (at, byte) in css.bytes().enumerate().skip(from) {
        match quote {
            // A string ends with its line (CSS Syntax, section 4.3.5).
            Some(open) if byte == open || byte == b'\n' => quote = None,
            None if matches!(byte, b'"' | b'\'') => quote = Some(byte),
            None if signs.contains(&byte) => return Some((at, byte)),
            Some(_) | None => {}
        }
    }
    None
}

/// Behind so many open blocks.
fn skip_block(css: &str, mut from: usize, mut depth: usize) -> usize {
    while let Some((at, sign)) = next_sign_of(css, from, b"{}") {
        from = at + 1;
        depth = if sign == b'{' { depth + 1 } else { depth - 1 };
        if depth == 0 {
            return from;
        }
    }
    css.len()
}

/// The content of an element whose end tag is looked for, and what follows it.
fn raw<'h>(rest: &'h str, name: &str) -> (&'h str, &'h str) {
    let mut from = 0;
    while let Some(at) = rest.get(from..).and_then(|rest| rest.find("</")).map(|at| from + at) {
        let after = at + 2 + name.len();
        if rest.get(at + 2..after).is_some_and(|end| end.eq_ignore_ascii_case(name)) {
            return (rest.get(..at).unwrap_or_default(), rest.get(after..).unwrap_or_default());
        }
        from = at + 2;
    }
    (rest, "")
}

/// A sheet without comments and the signs that hide it from old browsers, and with escaped letters in the place of their escapes.
fn without_comments(css: &str) -> String {
    let mut out = String::with_capacity(css.len());
    let mut rest = css;
    while let Some((before, comment)) = rest.split_once("/*") {
        out.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    let out = out.replace("<!--", " ").replace("-->", " ");
    if !out.contains('\\') {
        return out;
    }
    let mut plain = String::with_capacity(out.len());
    let mut rest = out.as_str();
    while let Some((before, escaped)) = rest.split_once('\\') {
        plain.push_str(before);
        let digits = escaped.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
        let letter = escaped.get(..digits).and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
        if let Some(letter) = letter.filter(|letter| letter.is_alphanumeric() || *letter == '-') {
            plain.push(letter);
            let after = escaped.get(digits..).unwrap_or_default();
            rest = after.strip_prefix(' ').unwrap_or(after);
        } else {
            plain.push('\\');
            rest = escaped;
        }
    }
    plain.push_str(rest);
    plain
}

/// The properties that decide whether something is seen, and whether its white space is kept.
const RELEVANT: &[&str] = &[
    "display",
    "visibility",
    "content-visibility",
    "opacity",
    "font-size",
    "left",
    "top",
    "right",
    "bottom",
    "inset-inline-start",
    "text-indent",
    "margin-left",
    "margin-top",
    "translate",
    "height",
    "width",
    "max-height",
    "max-width",
    "block-size",
    "inline-size",
    "overflow",
    "clip",
    "clip-path",
    "mask",
    "mask-image",
    "-webkit-mask",
    "-webkit-mask-image",
    "scale",
    "zoom",
    "transform",
    "filter",
    "transition",
    "animation",
    "color",
    "background",
    "background-color",
    "white-space",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn hides(sheet: &str, path: &[(&str, &str, &str)]) -> bool {
        let sheet = Sheet::of(&format!("<head><style>{sheet}</style></head>"));
        let subject = |(name, id, class): &(&'static str, &'static str, &'static str)| Subject { name, id, class };
        let path: Vec<(&'static str, &'static str, &'static str)> =
            path.iter().map(|(name, id, class)| (leak(name), leak(id), leak(class))).collect();
        let mut path = path.iter().map(subject);
        let element = path.next().unwrap();
        merged(sheet.style(element, || path.collect()), "").is_out_of_sight()
    }

    fn leak(text: &str) -> &'static str {
        Box::leak(text.to_owned().into_boxed_str())
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
        ] {
            assert!(!hides(sheet, &[element, ("div", "", "o"), ("body", "", "")]), "{sheet}");
        }
    }

    #[test]
    fn sheets_that_hold_nowhere_are_not_read() {
        for html in [
            "<style media=print>p{display:none}</style>",
            "<!-- <style>p{display:none}</style> -->",
            "<script>'<style>p{display:none}</style>'</script>",
            "<noscript><style>p{display:none}</style></noscript>",
            "<styled>p{display:none}</styled>",
        ] {
            assert!(Sheet::of(html).rules.is_empty(), "{html}");
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
            let sheet = Sheet::of(&format!("<style>{css}</style>"));
            assert!(sheet.rules.len() <= MOST_RULES + MOST_ALIKE);
            let above = vec![Subject { name: "div", id: "", class: "" }; 512];
            for _ in 0..2000 {
                let _ = sheet.style(Subject { name: "p", id: "", class: "x" }, || above.clone());
            }
            assert!(sheet.steps.get() <= MOST_STEPS + 2000 * MOST_ALIKE * MOST_COMPOUNDS, "{}", sheet.steps.get());
        }
    }
}
