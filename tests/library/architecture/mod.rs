//! The sources keep the layout of `docs/architecture.md`: reads each of them and the list of threats, and names what breaks a rule.
//!
//! Each rule is a function from a source to its faults, and each is shown a source that breaks it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a source that cannot be read must fail the test")]

mod costs;
mod links;
mod names;
mod rules;
mod threats;

use std::path::{Path, PathBuf};

/// One source file: its path below `src/` and what it holds.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn syntax(&self) -> syn::File {
        syn::parse_file(&self.text).unwrap_or_else(|fault| panic!("{}: {fault}", self.path))
    }
}

pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below a folder of the repository.
pub(crate) fn sources(folder: &str) -> Vec<Source> {
    let base = repository().join(folder);
    let (mut found, mut left) = (Vec::new(), vec![base.clone()]);
    while let Some(next) = left.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else { continue };
        let paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        for path in paths {
            if path.is_dir() && !skipped(&path) {
                left.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&base).unwrap().to_str().unwrap().to_owned();
                found.push(Source { path: name, text: std::fs::read_to_string(&path).unwrap() });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Folders of installed clients.
fn skipped(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with('.') || name == "node_modules"
}

/// Applies a rule to every source of the root package and of the policy crate.
fn hold(rule: impl Fn(&Source) -> Vec<String>) {
    let mut sources = sources("src");
    sources.extend(self::sources("crates/toolgate-policy/src"));
    assert!(sources.len() > 10, "the sources were not found");
    let faults: Vec<String> = sources.iter().flat_map(rule).collect();
    assert!(faults.is_empty(), "{} fault(s):\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn no_floor_looks_up() {
    hold(rules::looks_up);
}

#[test]
fn no_tool_knows_another() {
    hold(rules::knows_another_tool);
}

#[test]
fn crates_and_system_interfaces_are_named_only_where_they_belong() {
    hold(rules::out_of_place);
}

#[test]
fn pure_floors_have_no_clock_no_chance_and_nothing_asynchronous() {
    hold(rules::impure);
}

#[test]
fn unsafe_code_stands_only_in_the_listed_files() {
    hold(rules::unlisted_unsafe);
    let all: Vec<Source> = ["crates", "src"].into_iter().flat_map(sources).collect();
    let unlisted: Vec<String> = all.iter().flat_map(rules::unlisted_unsafe).collect();
    assert!(unlisted.is_empty(), "{unlisted:?}");
    let decisions = std::fs::read_to_string(repository().join("docs/decisions.md")).unwrap();
    for path in rules::UNSAFE_FILES {
        let source = all.iter().find(|source| source.path == *path).unwrap_or_else(|| panic!("`{path}` is listed and does not exist"));
        for mark in ["SAFETY:", "JUSTIFICATION:"] {
            assert!(source.text.contains(mark), "`{path}` holds unsafe code and no `{mark}`");
        }
        assert!(decisions.contains(path), "docs/decisions.md does not say why `{path}` holds unsafe code");
    }
}

#[test]
fn no_source_is_longer_than_five_hundred_lines() {
    hold(rules::too_long);
    let others: Vec<String> = sources("tests").iter().chain(&sources("crates")).flat_map(rules::too_long).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn every_threat_names_a_test_that_exists() {
    let rows = threats::rows(&std::fs::read_to_string(repository().join("docs/threats.md")).unwrap());
    assert!(rows.len() >= 20, "docs/threats.md has only {} rows", rows.len());
    let known = threats::tests(["src", "tests", "crates"].iter().flat_map(|folder| sources(folder)).collect::<Vec<_>>().iter());
    let faults = threats::without_test(&rows, &known);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_link_of_the_documentation_leads_somewhere() {
    let readme = repository().join("README.md");
    assert_eq!(links::broken(&readme, "[a](docs/none.md) [b](docs/web.md#none) [c](docs/web.md) [d](https://none.example)").len(), 2);
    let docs = std::fs::read_dir(repository().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = docs.chain(["SECURITY.md", "CHANGELOG.md"].map(|name| repository().join(name))).chain([readme]);
    let broken = |page: std::path::PathBuf| links::broken(&page, &std::fs::read_to_string(&page).unwrap());
    let broken: Vec<String> = pages.filter(|page| page.extension().is_some_and(|ending| ending == "md")).flat_map(broken).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_page_of_the_documentation_is_a_chapter_of_the_book() {
    let docs = repository().join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let pages = std::fs::read_dir(docs).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let absent: Vec<String> = pages.filter(|page| page != "SUMMARY.md" && !summary.contains(&format!("({page})"))).collect();
    assert!(absent.is_empty(), "not in docs/SUMMARY.md: {absent:?}");
}

#[test]
#[ignore = "needs mdbook, which ./check --all installs"]
fn the_book_of_the_documentation_is_built_and_its_links_lead_somewhere() {
    let book = tempfile::tempdir().unwrap();
    let built =
        std::process::Command::new("mdbook").arg("build").arg("--dest-dir").arg(book.path()).current_dir(repository()).output().unwrap();
    let log = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success() && !log.contains("WARN") && !log.contains("ERROR"), "{log}");
    let pages = std::fs::read_dir(book.path()).unwrap().map(|entry| entry.unwrap().path());
    let pages: Vec<PathBuf> = pages.filter(|page| page.extension().is_some_and(|ending| ending == "html")).collect();
    assert!(pages.len() > 10, "{pages:?}");
    let broken: Vec<String> = pages.iter().flat_map(|page| links::broken_in_book(page, &std::fs::read_to_string(page).unwrap())).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
