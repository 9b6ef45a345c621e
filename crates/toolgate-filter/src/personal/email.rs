//! E-mail addresses of ASCII characters, so that signs and neighbouring scripts stay outside.

use std::sync::LazyLock;

use regex::Regex;

use super::found;
use super::table::Table;
use crate::finding::{Finding, floor};

/// RFC 5321 §4.5.3.1: 64 bytes before the sign, 255 after.
const LOCAL: usize = 64;
const DOMAIN: usize = 255;

static ADDRESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?-u)[A-Za-z0-9%][A-Za-z0-9._%+'-]*@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+(?:[A-Za-z]{2,24}|xn--[A-Za-z0-9-]{2,59})\b").ok()
});
/// `scheme://user@host` and `scheme://user:password@host`.
static IN_URL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"://[^/?\s"<>(,]*$"#).ok());
/// A package with its version.
static VERSION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"@[0-9]+[.x]+[0-9x]").ok());
/// A path on the host, a second sign.
static GOES_ON: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("^(?::[A-Za-z~]|@)").ok());

/// Finds addresses.
pub(super) fn findings(table: &Table, text: &str, out: &mut Vec<Finding>) {
    if !text.contains('@') {
        return;
    }
    for address in ADDRESS.iter().flat_map(|form| form.find_iter(text)) {
        let (local, domain) = address.as_str().split_once('@').unwrap_or_default();
        let is = |regex: &Option<Regex>, text: &str| regex.as_ref().is_some_and(|regex| regex.is_match(text));
        let before = text.get(floor(text, address.start().saturating_sub(160))..address.start()).unwrap_or_default();
        let after = text.get(address.end()..).unwrap_or_default();
        let top = domain.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        let is_address = local.len() <= LOCAL && domain.len() <= DOMAIN && !local.contains("..") && !local.ends_with('.');
        let is_other = local == "git" || table.lists.file_endings.contains(&top) || is(&IN_URL, before) || is(&GOES_ON, after);
        if is_address && !is_other && !is(&VERSION, address.as_str()) {
            out.push(found("EMAIL", "EMAIL", address.start(), address.end(), 0.95));
        }
    }
}
