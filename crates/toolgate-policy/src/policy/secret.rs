//! Secrets that a header may name: `${secret:NAME}` stands for a value that only the connector reads, for the hosts the manifest lists. Pure.

use std::collections::BTreeMap;

use crate::manifest::{HeaderSecret, is_secret_name};
use crate::model::{Code, HttpUrl, Refusal};

/// A piece of a header's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// As it stands.
    Text(&'a str),
    /// The secret of this name.
    Secret(&'a str),
}

/// Takes a header's value apart. What only looks like a reference is text.
pub fn pieces(value: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let Some((name, beyond)) = after.split_once('}').filter(|(name, _)| is_secret_name(name)) else { break };
        if !before.is_empty() {
            pieces.push(Piece::Text(before));
        }
        pieces.push(Piece::Secret(name));
        rest = beyond;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

/// Whether a header's value names a secret.
pub fn names_secret(value: &str) -> bool {
    pieces(value).iter().any(|piece| matches!(piece, Piece::Secret(_)))
}

/// Judges what a request's headers name: every secret is known, and may go to this URL.
///
/// # Errors
/// `argument_not_allowed`.
pub fn judge_secrets<'a>(
    secrets: &BTreeMap<String, HeaderSecret>,
    url: &HttpUrl,
    values: impl IntoIterator<Item = &'a String>,
) -> Result<(), Refusal> {
    for piece in values.into_iter().flat_map(|value| pieces(value)) {
        let Piece::Secret(name) = piece else { continue };
        let Some(secret) = secrets.get(name) else {
            let known: Vec<&str> = secrets.iter().filter(|(_, secret)| secret.may_go_to(url)).map(|(name, _)| name.as_str()).collect();
            let hint = if known.is_empty() { "leave the header out".to_owned() } else { format!("for this host: {}", known.join(", ")) };
            return Err(Refusal::new(Code::ArgumentNotAllowed, format!("there is no secret `{name}`")).rule("network.secrets").hint(hint));
        };
        if !secret.may_go_to(url) {
            let message = format!("the secret `{name}` may not be sent to `{}`", url.origin());
            return Err(Refusal::new(Code::ArgumentNotAllowed, message)
                .rule(format!("network.secrets.{name}.hosts"))
                .hint("send it over https to a host the manifest lists for it"));
        }
    }
    Ok(())
}

const OPEN: &str = "${secret:";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::DomainPattern;

    #[test]
    fn references_are_found_and_what_only_looks_like_one_is_text() {
        use Piece::{Secret, Text};
        assert_eq!(pieces("Bearer ${secret:gh}"), [Text("Bearer "), Secret("gh")]);
        assert_eq!(pieces("${secret:a}:${secret:b-1}."), [Secret("a"), Text(":"), Secret("b-1"), Text(".")]);
        for text in ["${secret:}", "${secret:a b}", "${secret:a", "$secret:a", "${SECRET:a}", "plain"] {
            assert_eq!(pieces(text), [Text(text)], "{text}");
            assert!(!names_secret(text));
        }
        assert!(names_secret("x${secret:a}") && pieces("").is_empty());
    }

    #[test]
    fn a_secret_goes_only_to_its_hosts_and_never_in_plain_text_across_the_web() {
        let hosts = ["api.example.com", "*.example.org", "127.0.0.1"].map(|host| DomainPattern::parse_denied(host).unwrap());
        let secret = HeaderSecret { hosts: hosts.to_vec(), ..HeaderSecret::default() };
        let secrets = BTreeMap::from([("gh".to_owned(), secret)]);
        let judged = |url: &str, value: &str| {
            judge_secrets(&secrets, &HttpUrl::parse(url).unwrap(), [&value.to_owned()]).map_err(|refusal| refusal.code)
        };
        for url in ["https://api.example.com/x", "https://a.example.org/", "http://127.0.0.1:8080/", "https://API.example.com./"] {
            assert_eq!(judged(url, "${secret:gh}"), Ok(()), "{url}");
        }
        for url in [
            "http://api.example.com/",
            "https://example.com/",
            "https://x.api.example.com/",
            "https://example.org/",
            "https://api.example.com.evil.example/",
            "http://127.0.0.2/",
        ] {
            assert_eq!(judged(url, "${secret:gh}"), Err(Code::ArgumentNotAllowed), "{url}");
        }
        assert_eq!(judged("https://api.example.com/", "${secret:other}"), Err(Code::ArgumentNotAllowed));
        assert_eq!(judged("https://evil.example/", "${secret}"), Ok(()));
    }
}
