//! Secrets inside an address: who calls, before `@`, and what a query or fragment names like a secret argument.

/// Whether `text` is an address with parts that may be secret.
pub(crate) fn has_parts(text: &str) -> bool {
    text.split_once("://")
        .is_some_and(|(scheme, rest)| scheme.chars().all(|letter| letter.is_ascii_alphanumeric()) && rest.contains(['@', '?', '#']))
}

/// `text` with each secret as `hmac:` and its keyed hash. Only the places of `@`, `?`, `#`, `&`, `;` and `=` matter, so that a malformed address, which
/// is refused and recorded, tells no more than a good one.
pub(crate) fn redact(text: &str, is_secret: &dyn Fn(&str) -> bool, keyed: &dyn Fn(&str) -> String) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let mut shown = format!("{scheme}://");
    match authority.rsplit_once('@') {
        // A name alone may be a token as well.
        Some((user, host)) => shown.extend(["hmac:", &keyed(user), "@", host]),
        None => shown.push_str(authority),
    }
    for part in path.split_inclusive(['?', '#', '&', ';']) {
        let (pair, mark) = match part.char_indices().next_back() {
            Some((at, '?' | '#' | '&' | ';')) => part.split_at_checked(at).unwrap_or((part, "")),
            _ => (part, ""),
        };
        match pair.split_once('=') {
            Some((name, value)) if is_secret(&decoded(name)) => shown.extend([name, "=hmac:", &keyed(value)]),
            _ => shown.push_str(pair),
        }
        shown.push_str(mark);
    }
    shown
}

/// A name with its percent escapes read: `to%6ben` names a token as well.
fn decoded(name: &str) -> String {
    url::form_urlencoded::parse(name.as_bytes()).map(|(name, _)| name.into_owned()).collect()
}
