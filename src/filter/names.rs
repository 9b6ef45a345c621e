//! Short texts from outside that stand alone in one line: names of files, titles, notes of a running program.

use std::borrow::Cow;

use super::treatment::{Count, Scope, clean, instructs};
use crate::manifest::Filters;
use crate::model::{HttpUrl, Refusal, name};

/// Bytes of a name that are shown: a path that a call may give has at most as many.
pub(super) const LONGEST_NAME: usize = 4096;

/// What stands in place of a name that reads as instructions: some clients show names where no mark stands around them.
const LEFT_OUT: &str = "[left out: it reads as instructions]";

/// A name as one line of bounded length, with what was found in it.
/// # Errors  As [`clean`].
pub(super) fn shown(text: &str, settings: &Filters, scope: Scope<'_>) -> Result<(String, Vec<Count>), Refusal> {
    let cleaned = clean(text, settings, scope)?;
    let shown = if instructs(&cleaned.found) { LEFT_OUT.to_owned() } else { one_line(&cleaned.text) };
    Ok((shown, cleaned.found))
}

/// The address that a page came from. The words of an address are joined by signs; one that reads as instructions is shown by its host.
/// # Errors  As [`clean`].
pub(super) fn shown_address(text: &str, settings: &Filters) -> Result<(String, Vec<Count>), Refusal> {
    let words = clean(&text.replace(['-', '_', '+'], " "), settings, Scope::Untrusted)?.found;
    match HttpUrl::parse(text) {
        Ok(address) if instructs(&words) => Ok((format!("{}/{LEFT_OUT}", address.origin()), words)),
        _ => shown(text, settings, Scope::Untrusted),
    }
}

/// The text in one line, cut where it is too long. A name that a call can give back stays as it is.
pub(super) fn one_line(text: &str) -> String {
    let mut line = if name::refused(text).is_none() { text.to_owned() } else { super::escape_line(text).into_owned() };
    if line.len() > LONGEST_NAME {
        line.truncate(line.floor_char_boundary(LONGEST_NAME));
        line.push('…');
    }
    line
}

/// What may be shown of a text that is still coming, line by line: nothing that the whole of it would not show. Empty where the manifest denies it.
pub fn glimpse(text: &str, settings: &Filters) -> String {
    // The beginning of a private key is no secret to the filter before its end has come.
    let open = text.rfind("-----BEGIN").filter(|at| !text.get(*at..).unwrap_or_default().contains("-----END"));
    let text = text.get(..open.unwrap_or(text.len())).unwrap_or_default();
    match clean(text, settings, Scope::Untrusted) {
        Ok(cleaned) if instructs(&cleaned.found) => LEFT_OUT.to_owned(),
        Ok(cleaned) => super::escape(&cleaned.text).into_owned(),
        Err(_) => String::new(),
    }
}

/// Whether a name can stand in an answer as it is: the filters find nothing in it, and no character of it is escaped.
pub fn is_clean_name(name: &str, settings: &Filters) -> bool {
    let is_plain = matches!(super::escape_line(name), Cow::Borrowed(_));
    is_plain && clean(name, settings, Scope::Untrusted).is_ok_and(|cleaned| cleaned.found.is_empty())
}
