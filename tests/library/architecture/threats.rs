//! docs/threats.md: a table of attacks, each with the test that shows it refused.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use syn::visit::{self, Visit};

use super::Source;

/// One row: the attack as written, and the tests its last cell names.
pub(crate) struct Row {
    pub(crate) attack: String,
    pub(crate) tests: Vec<String>,
}

/// The rows of every table whose last column is headed `Test`.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    let (mut rows, mut within) = (Vec::new(), false);
    let is_rule = |line: &str| line.starts_with('|') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '));
    let mut above = "";
    for (line, below) in text.lines().zip(text.lines().skip(1).chain([""])) {
        // Rows behind an empty line belong to the table above it: they have no head of their own.
        within |= !above.starts_with('|') && line.starts_with('|') && !is_rule(below);
        above = line;
        // A `\|` is no end of a cell.
        let line = line.replace("\\|", "\u{1}");
        let Some(cells) = line.strip_prefix('|') else {
            within = false;
            continue;
        };
        let cells: Vec<&str> = cells.trim_end().trim_end_matches('|').split('|').map(str::trim).collect();
        let Some(last) = cells.last() else { continue };
        if last.eq_ignore_ascii_case("test") {
            within = true;
        } else if within && !last.chars().all(|c| matches!(c, '-' | ':')) {
            let tests = last.split('`').skip(1).step_by(2).map(|name| name.rsplit("::").next().unwrap_or(name).to_owned()).collect();
            rows.push(Row { attack: (*cells.first().unwrap_or(&"")).to_owned(), tests });
        }
    }
    rows
}

/// The names of all test functions, property tests and trials in these sources, and of structs whose documentation shows what must not compile.
pub(crate) fn tests<'a>(sources: impl Iterator<Item = &'a Source>) -> BTreeSet<String> {
    let mut tests = Tests(BTreeSet::new());
    for source in sources {
        tests.visit_file(&source.syntax());
    }
    tests.0
}

struct Tests(BTreeSet<String>);

impl<'ast> Visit<'ast> for Tests {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let is_test = |attribute: &syn::Attribute| attribute.path().segments.last().is_some_and(|segment| segment.ident == "test");
        if item.attrs.iter().any(is_test) {
            self.0.insert(item.sig.ident.to_string());
        }
        visit::visit_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let is_refused = |attribute: &syn::Attribute| match &attribute.meta {
            syn::Meta::NameValue(doc) if doc.path.is_ident("doc") => {
                matches!(&doc.value, syn::Expr::Lit(literal) if matches!(&literal.lit, syn::Lit::Str(line) if line.value().contains("```compile_fail")))
            }
            _ => false,
        };
        if item.attrs.iter().any(is_refused) {
            self.0.insert(item.ident.to_string());
        }
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        if item.path.is_ident("proptest") || item.path.is_ident("scenarios") {
            let words = item.tokens.to_string().replace("#[", "# [").replace("[ test ]", "[test]");
            let names = FUNCTION
                .captures_iter(&words)
                .filter_map(|found| found.iter().skip(1).flatten().next().map(|name| name.as_str().to_owned()));
            self.0.extend(names);
        }
        visit::visit_macro(self, item);
    }
}

/// A test as the tokens of a macro are printed.
static FUNCTION: LazyLock<regex::Regex> = LazyLock::new(|| regex::Regex::new(r"# \[test\](?:.|\n)*?fn (\w+)|scenario (\w+)").unwrap());

/// Rows without a test, or with one that is nowhere.
pub(crate) fn without_test(rows: &[Row], known: &BTreeSet<String>) -> Vec<String> {
    let mut faults = Vec::new();
    for Row { attack, tests } in rows {
        if tests.is_empty() {
            faults.push(format!("`{attack}` names no test"));
        }
        faults
            .extend(tests.iter().filter(|test| !known.contains(*test)).map(|test| format!("`{attack}` names `{test}`, which is no test")));
    }
    faults
}

#[test]
fn a_threat_without_a_test_or_with_an_unknown_one_is_found() {
    let text = "| Attack | Answer | Test |\n|---|---|---|\n| a `\\|` b | no | `tests/x.rs::known` |\n| c | no | `gone`, `known` |\n| d | no | later |\n\n| e | no | `lost` |\n\n| Other | Table |\n|---|---|\n| x | y |\n";
    let known =
        [Source { path: "x.rs".into(), text: "#[test] fn known() {} fn gone() {} proptest! { #[test] fn property(x in 0..1) {} } /// ```compile_fail\n/// ```\nstruct Token; /// ```\nstruct Plain;".into() }];
    let known = tests(known.iter());
    assert_eq!(known.iter().collect::<Vec<_>>(), ["Token", "known", "property"]);
    let rows = rows(text);
    assert_eq!(rows.len(), 4);
    assert_eq!(
        without_test(&rows, &known),
        ["`c` names `gone`, which is no test", "`d` names no test", "`e` names `lost`, which is no test"]
    );
}
