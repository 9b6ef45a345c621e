//! Signatures of addresses. An address with such a signature is enough to fetch until it expires.
//!
//! # Source
//! The documentation of Azure Storage (shared access signatures), of `CloudFront` (signed URLs and cookies), of Amazon S3 (query string
//! authentication, version 2) and of Cloud Storage (signed URLs, version 2).

use super::strength::{classes, entropy};
use super::{found, head};
use crate::finding::{Finding, ceil, floor};

/// `sig=…` of an address that is signed with an account's key: 32 bytes in base64, percent-encoded, beside its other parameters.
pub(super) fn azure(text: &str, start: usize, end: usize) -> Option<Finding> {
    let rest = text.get(end..)?.strip_prefix('=')?;
    let value = value(rest);
    let fits = is_parameter(text, start)
        && value.len() >= 44
        && (value.ends_with("%3D") || value.ends_with("%3d") || value.ends_with('='))
        && entropy(head(value)) >= 4.0;
    fits.then(|| found("azure-sas", end + 1, end + 1 + value.len(), 0.85))
}

/// `Signature=…` beside what such an address also has, and `CloudFront-Signature` in a cookie.
pub(super) fn other(text: &str, start: usize, end: usize) -> Option<Finding> {
    /// Bytes around the value in which the other parameters are looked for: a policy is as long as a few of them.
    const AROUND: usize = 512;
    const BESIDE: &[&str] = &["Key-Pair-Id=", "Expires=", "Policy=", "AWSAccessKeyId=", "GoogleAccessId="];
    let rest = text.get(end..)?.strip_prefix('=')?;
    let value = value(rest);
    let cookie = text.get(..start)?.ends_with("CloudFront-");
    if value.len() < 27 || !cookie && !is_parameter(text, start) || classes(head(value)) < 3 || entropy(head(value)) < 3.8 {
        return None;
    }
    let to = end + 1 + value.len();
    let blank = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>');
    let before = text.get(floor(text, start.saturating_sub(AROUND))..start)?;
    let after = text.get(to..ceil(text, to + AROUND))?;
    crate::work::read(before.len() + after.len());
    let before = before.rsplit(blank).next().unwrap_or_default();
    let after = after.split(blank).next().unwrap_or_default();
    let fits = cookie || BESIDE.iter().any(|name| before.contains(name) || after.contains(name));
    fits.then(|| found("signed-url", end + 1, to, 0.85))
}

/// Base64 of any alphabet, percent-encoded or not.
fn value(rest: &str) -> &str {
    let is_one = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'%' | b'+' | b'/' | b'=' | b'~' | b'-' | b'_');
    let length = rest.bytes().take_while(is_one).count();
    crate::work::read(length);
    rest.get(..length).unwrap_or_default()
}

/// Whether a name that begins at `start` is that of a parameter.
fn is_parameter(text: &str, start: usize) -> bool {
    let before = start.checked_sub(1).and_then(|at| text.as_bytes().get(at));
    before.is_none_or(|byte| matches!(byte, b'&' | b'?' | b' ' | b';' | b'"'))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found_in;

    const SIGNED: &str = "Xn7Zt4Lw8Rn1Yc6Vd3Mq7WxTnc2V8bRy4HsJ5mmKq2Zt9fD6~bTnWk8dQ2vYx5Zc1Lp-4Gm7Hs3Jr6Pa~9Ew2Iu5Oy8Tb1Nk4Vd7Xq0Zc3~_";

    #[test]
    fn signatures_of_addresses_are_found_beside_their_parameters() {
        for (text, value) in [
            (format!("https://d111.cloudfront.net/a.mp4?Expires=1795000000&Signature={SIGNED}&Key-Pair-Id=APKAJ"), SIGNED),
            (format!("<a href=\"/a?Policy=eyJT&amp;Signature={SIGNED}&amp;Key-Pair-Id=K2\">"), SIGNED),
            (format!("Set-Cookie: CloudFront-Signature={SIGNED}; Secure"), SIGNED),
            (
                "https://b.s3.amazonaws.com/k?AWSAccessKeyId=x&Expires=1&Signature=vjbyPxybdZaNmGa%2ByT272YEAiv4%3D".to_owned(),
                "vjbyPxybdZaNmGa%2ByT272YEAiv4%3D",
            ),
        ] {
            assert_eq!(found_in(&text), [("signed-url", value)], "{text}");
        }
    }

    #[test]
    fn other_signatures_are_left_alone() {
        for text in [
            format!("signature={SIGNED}\n"),
            format!("const signature = \"{SIGNED}\";"),
            "?Expires=1&Signature=<signature>&Key-Pair-Id=K".to_owned(),
            "?Expires=1&Signature=SIGNATURE_OF_THE_POLICY_STATEMENT&Key-Pair-Id=K".to_owned(),
            "fn check(Signature=None, Expires=0)".to_owned(),
        ] {
            assert_eq!(found_in(&text), [], "{text}");
        }
    }
}
