//! Ends of private keys in armour, whose beginnings may not be known.

use std::sync::LazyLock;

use regex::Regex;

/// The end line of a frame (RFC 7468, RFC 4716), and the code of authentication at the end of a key of `PuTTY`'s.
static END: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new("-----END [^\n-]*PRIVATE KEY[^\n-]*(?:-----)?|---- END [^\n-]*PRIVATE KEY[^\n-]*(?:----)?|Private-MAC: [0-9a-f]*").ok()
});

/// Where the first private key of a text ends, if its beginning is not there.
pub(crate) fn end_of(text: &str) -> Option<usize> {
    const BEGINNINGS: [&str; 3] = ["-----BEGIN ", "---- BEGIN ", "Private-Lines: "];
    let end = END.as_ref()?.find(text)?;
    let before = text.get(..end.start())?;
    (!BEGINNINGS.iter().any(|beginning| before.contains(beginning))).then_some(end.end())
}
