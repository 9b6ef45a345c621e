//! E-mail addresses: read outwards from the `@`, ASCII only, so that signs and neighbouring scripts stay outside.

use crate::finding::Finding;

/// RFC 5321 §4.5.3.1: 64 bytes before the sign, 255 after.
const LOCAL: usize = 64;
const DOMAIN: usize = 255;

/// Endings of files, which a name like `logo@2x.png` has instead of a top-level domain.
const FILES: &[&str] = &[
    "png",
    "jpg",
    "jpeg",
    "gif",
    "svg",
    "webp",
    "js",
    "mjs",
    "css",
    "html",
    "htm",
    "json",
    "txt",
    "md",
    "xml",
    "yml",
    "yaml",
    "toml",
    "lock",
    "pdf",
    "exe",
    "dll",
    "tar",
    "gz",
    "rs",
    "py",
    "ts",
    "tsx",
    "jsx",
    "go",
    "java",
    "cpp",
    "local",
    "localhost",
    "internal",
    "invalid",
    "class",
    "jar",
    "ico",
    "woff",
    "ttf",
    "mp4",
    "so",
    "target",
    "service",
];

/// Finds addresses.
pub(super) fn findings(text: &str, out: &mut Vec<Finding>) {
    let bytes = text.as_bytes();
    let mut free_from = 0;
    for (at, _) in text.match_indices('@') {
        let local = bytes.get(free_from..at).unwrap_or_default().iter().rev().take(LOCAL + 1).take_while(|byte| is_local(**byte)).count();
        let start = at - local;
        let local = text.get(start..at).unwrap_or_default();
        let trimmed = local.trim_start_matches(['.', '-', '\'', '+', '/', '=', '*', '_']);
        let start = start + (local.len() - trimmed.len());
        let domain = domain_length(bytes.get(at + 1..).unwrap_or_default());
        let end = at + 1 + domain;
        if trimmed.is_empty()
            || trimmed.len() > LOCAL
            || trimmed.ends_with('.')
            || trimmed.contains("..")
            || domain == 0
            || is_other(text, start, at, end)
        {
            continue;
        }
        free_from = end;
        out.push(super::found("EMAIL", "EMAIL", start, end, 0.95));
    }
}

const fn is_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-' | b'\'')
}

/// Bytes of the domain after the sign: labels with at least one dot and a top level of letters.
fn domain_length(rest: &[u8]) -> usize {
    let mut length = rest.iter().take(DOMAIN).take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')).count();
    loop {
        let domain = rest.get(..length).unwrap_or_default();
        let text = std::str::from_utf8(domain).unwrap_or_default().trim_end_matches(['.', '-']);
        length = text.len();
        let Some((before, top)) = text.rsplit_once('.') else { return 0 };
        let labels =
            before.split('.').all(|label| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.len() <= 63);
        let known = (2..=24).contains(&top.len())
            && (top.bytes().all(|byte| byte.is_ascii_alphabetic()) || top.starts_with("xn--"))
            && !FILES.iter().any(|file| top.eq_ignore_ascii_case(file));
        if labels && known {
            return length;
        }
        // `a@b.com.123`: the address may end before what is no domain; never for a file's ending.
        if before.contains('.') && top.bytes().all(|byte| byte.is_ascii_digit()) {
            length = before.len();
            continue;
        }
        return 0;
    }
}

/// A remote repository, a password in a URL, a digest, a package with its version.
fn is_other(text: &str, start: usize, at: usize, end: usize) -> bool {
    let local = text.get(start..at).unwrap_or_default();
    let next = text.as_bytes().get(end).copied().unwrap_or(b' ');
    let path = next == b':' && text.as_bytes().get(end + 1).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'~');
    let remote = local == "git" || path && !text.get(start..end).is_some_and(|address| address.contains('+'));
    // `scheme://user:password@host` and `scheme://user@host`.
    let before = text.get(crate::finding::floor(text, start.saturating_sub(160))..start).unwrap_or_default();
    let token = before.rsplit(|c: char| c.is_whitespace() || matches!(c, '"' | '<' | '>' | '(' | ',')).next().unwrap_or_default();
    let in_url = token.rfind("://").is_some_and(|scheme| !token.get(scheme + 3..).is_some_and(|rest| rest.contains(['/', '?'])));
    let version = text.as_bytes().get(at + 1).is_some_and(u8::is_ascii_digit)
        && text
            .get(at + 1..end)
            .is_some_and(|domain| domain.bytes().take_while(|byte| *byte != b'.').all(|byte| byte.is_ascii_digit() || byte == b'x'));
    remote || in_url || version || next == b'@'
}
