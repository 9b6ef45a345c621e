//! Secrets inside an address: who calls, before `@`, and what a query or fragment names like a secret argument.

use std::ops::Range;

/// Whether `text` is an address with parts that may be secret.
pub(crate) fn has_parts(text: &str) -> bool {
    text.split_once("://")
        .is_some_and(|(scheme, rest)| scheme.chars().all(|letter| letter.is_ascii_alphanumeric()) && rest.contains(['@', '?', '#']))
}

/// Where the secrets of `text` stand, in bytes, in order. Only the places of `@`, `?`, `#`, `&`, `;` and `=` matter, so that a malformed address,
/// which is refused and recorded, tells no more than a good one.
pub(crate) fn secrets(text: &str, is_secret: &dyn Fn(&str) -> bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let Some((scheme, rest)) = text.split_once("://") else { return found };
    let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let mut at = scheme.len() + "://".len();
    if let Some((user, _)) = authority.rsplit_once('@') {
        // A name alone may be a token as well.
        found.push(at..at + user.len());
    }
    at += authority.len();
    for part in path.split_inclusive(['?', '#', '&', ';']) {
        let pair = part.strip_suffix(['?', '#', '&', ';']).unwrap_or(part);
        if let Some((name, value)) = pair.split_once('=')
            && is_secret(&decoded(name))
        {
            let start = at + name.len() + 1;
            found.push(start..start + value.len());
        }
        at += part.len();
    }
    found
}

/// The text with its percent escapes read once; none where that changes nothing.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    // `form_urlencoded` reads `&` and `=` as separators; the text is one value here.
    let one = text.replace('&', "%26").replace('=', "%3D");
    decoded_pair(&one).filter(|decoded| decoded != text)
}

fn decoded_pair(text: &str) -> Option<String> {
    url::form_urlencoded::parse(text.as_bytes()).next().map(|(name, _)| name.into_owned())
}

/// A name with its percent escapes read: `to%6ben` names a token as well.
fn decoded(name: &str) -> String {
    url::form_urlencoded::parse(name.as_bytes()).map(|(name, _)| name.into_owned()).collect()
}
