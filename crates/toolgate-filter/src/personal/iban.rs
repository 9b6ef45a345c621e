//! International bank account numbers: country, length, MOD 97-10.

use std::sync::LazyLock;

use regex::Regex;

use super::check::mod_97;
use super::found;
use super::table::Table;
use crate::finding::Finding;

/// At least as long as the shortest; a blank or a dash may stand before any character.
static FORM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?-u)\b[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]){11,30}").ok());

/// Finds accounts.
pub(super) fn findings(table: &Table, text: &str, out: &mut Vec<Finding>) {
    for written in FORM.iter().flat_map(|form| form.find_iter(text)) {
        let length = written.as_str().get(..2).and_then(|country| table.lists.iban.get(country)).copied().unwrap_or(usize::MAX);
        // The match may go on with the words after the account.
        let characters: Vec<(usize, u8)> =
            written.as_str().bytes().enumerate().filter(|(_, byte)| byte.is_ascii_alphanumeric()).take(length).collect();
        let Some(&(last, _)) = characters.get(length.saturating_sub(1)) else { continue };
        let end = written.start() + last + 1;
        let bytes: Vec<u8> = characters.into_iter().map(|(_, byte)| byte).collect();
        if mod_97(bytes.iter().skip(4).chain(bytes.iter().take(4))) == 1 && !text.as_bytes().get(end).is_some_and(u8::is_ascii_alphanumeric)
        {
            out.push(found("IBAN", "IBAN", written.start(), end, 0.98));
        }
    }
}
