//! What a caller may say in a request beside its URL: methods and headers. Pure.

use crate::model::{Code, HttpUrl, Refusal, word_enum};

word_enum! {
    /// The methods a request may have.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Method {
        /// Reads.
        Get = "GET",
        /// Reads the headers alone.
        Head = "HEAD",
        /// Sends.
        Post = "POST",
        /// Replaces.
        Put = "PUT",
        /// Changes.
        Patch = "PATCH",
        /// Deletes.
        Delete = "DELETE",
    }
}

impl Method {
    /// True for GET and HEAD, which change nothing (RFC 9110, section 9.2.1).
    pub const fn is_read(self) -> bool {
        matches!(self, Self::Get | Self::Head)
    }
}

/// Bytes of a request as it goes out, from what a caller says of it: its URL, headers and body, and what is added to each request. No less than
/// is sent, but for secrets and for what a site asked to be sent back to it.
pub fn size<'a>(url: &str, headers: impl Iterator<Item = (&'a str, &'a str)>, body: &str) -> u64 {
    // Percent-encoding makes a URL longer.
    let url = HttpUrl::parse(url).map_or(url.len(), |url| url.as_str().len());
    let headers: usize = headers.map(|(name, value)| name.len() + value.len() + LINE).sum();
    (ADDED + url + headers + body.len()) as u64
}

/// What is added to each request: method and version, the names of `Host` and `Content-Length`, `Accept`, `Accept-Encoding`, `User-Agent`.
const ADDED: usize = 256;
/// Of each header besides its name and value: colon, space, end of line.
const LINE: usize = 4;

/// Judges one header a caller wants to send. Only listed names pass: framing, hop-by-hop, proxy, cookie and cloud metadata headers are ours or nobody's.
///
/// # Errors
/// `argument_not_allowed` for a name that is not listed, `argument_invalid` for a value over 8 KiB or with a control character.
pub fn judge_header(name: &str, value: &str) -> Result<(), Refusal> {
    let lower = name.to_ascii_lowercase();
    if !ALLOWED.contains(&lower.as_str()) {
        let shown: String = name.chars().filter(char::is_ascii_graphic).take(64).collect();
        return Err(Refusal::new(Code::ArgumentNotAllowed, format!("the header `{shown}` may not be set"))
            .hint(format!("headers that may be set: {}", ALLOWED.join(", "))));
    }
    // RFC 9110 section 5.5: a field value has no CR, LF or NUL; other controls have no use either.
    if value.len() > 8 * 1024 || value.chars().any(|c| c.is_control() && c != '\t') {
        return Err(Refusal::new(
            Code::ArgumentInvalid,
            format!("the value of the header `{lower}` is too long or has control characters"),
        ));
    }
    Ok(())
}

const ALLOWED: [&str; 16] = [
    "accept",
    "accept-language",
    "authorization",
    "cache-control",
    "content-language",
    "content-type",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-unmodified-since",
    "prefer",
    "range",
    "user-agent",
    "x-api-key",
    "x-github-api-version",
    "x-requested-with",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_headers_without_controls_are_sent() {
        let code = |name: &str, value: &str| judge_header(name, value).map_err(|refusal| refusal.code);
        assert_eq!(code("Accept-Language", "de, en;q=0.5"), Ok(()));
        for name in [
            "Host",
            "Connection",
            "Content-Length",
            "Transfer-Encoding",
            "Proxy-Authorization",
            "Cookie",
            "Metadata-Flavor",
            "X-aws-ec2-metadata-token",
            "X-Forwarded-For",
            "",
            "accept ",
        ] {
            assert_eq!(code(name, "x"), Err(Code::ArgumentNotAllowed), "{name}");
        }
        assert_eq!(code("accept", "a\r\nHost: b"), Err(Code::ArgumentInvalid));
    }

    #[test]
    fn methods_are_read_exactly() {
        assert_eq!(Method::parse("GET"), Some(Method::Get));
        assert_eq!(["get", "CONNECT", "TRACE", "PURGE", ""].map(Method::parse), [None; 5]);
    }
}
