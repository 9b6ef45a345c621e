//! The links of the documentation: each relative one leads to a file of the repository, and to a heading where it names one.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

/// The links of a page that lead nowhere.
pub(crate) fn broken(page: &Path, text: &str) -> Vec<String> {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let links = link.captures_iter(text).map(|found| found[1].to_owned()).filter(|to| !to.contains("://") && !to.starts_with("mailto:"));
    links.filter(|to| !leads_somewhere(page, to)).map(|to| format!("{}: {to}", page.display())).collect()
}

fn leads_somewhere(page: &Path, to: &str) -> bool {
    let (path, heading) = to.split_once('#').unwrap_or((to, ""));
    let target = if path.is_empty() { page.to_owned() } else { page.parent().unwrap().join(path) };
    target.exists() && (heading.is_empty() || headings(&std::fs::read_to_string(target).unwrap_or_default()).contains(heading))
}

/// The links of a page of the built book that lead nowhere.
pub(crate) fn broken_in_book(page: &Path, html: &str) -> Vec<String> {
    let link = Regex::new(r#"href="([^"]+)""#).unwrap();
    let links = link.captures_iter(html).map(|found| found[1].to_owned()).filter(|to| !to.contains("://"));
    let leads_somewhere = |to: &String| {
        let (path, id) = to.split_once('#').unwrap_or((to, ""));
        let target = if path.is_empty() { page.to_owned() } else { page.parent().unwrap().join(path) };
        target.exists() && (id.is_empty() || std::fs::read_to_string(target).unwrap_or_default().contains(&format!("id=\"{id}\"")))
    };
    links.filter(|to| !leads_somewhere(to)).map(|to| format!("{}: {to}", page.display())).collect()
}

/// The names of a page's headings, as renderers of Markdown give them: lower case, without punctuation, with hyphens for blanks.
fn headings(text: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let kept = line.trim_start_matches('#').trim().to_lowercase();
        kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')).map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    text.lines().filter(|line| line.starts_with('#')).map(name).collect()
}
