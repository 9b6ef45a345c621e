//! What the bytes of an answer are: by what they begin with, and where that says nothing by what their sender calls them.

/// What can be done with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A page: HTML or XHTML.
    Html,
    /// RSS, Atom or a JSON feed.
    Feed,
    /// A PDF file.
    Pdf,
    /// JSON that is no feed.
    Json,
    /// Any other text; SVG and XML too.
    Text,
    /// A picture that models can see, by its media type.
    Picture(&'static str),
    /// Nothing that can be shown.
    Binary,
}

/// Tells what `body` is. A sender that calls its bytes a picture or text does not make them one.
pub fn kind_of(content_type: Option<&str>, body: &[u8]) -> Kind {
    let named = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if let Some(mime_type) = picture(body) {
        return Kind::Picture(mime_type);
    }
    // ISO 32000-2 section 7.5.2 has the header first; readers accept it among the first KiB, some producers rely on it.
    let header = body.get(..1024).unwrap_or(body).windows(5).position(|five| five == b"%PDF-");
    if header == Some(0) || (named == "application/pdf" && header.is_some()) {
        return Kind::Pdf;
    }
    if is_binary(&named, body) {
        return Kind::Binary;
    }
    let head: String = body.iter().take(512).map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    let head = head.trim_start_matches(|c: char| !c.is_ascii() || c.is_ascii_whitespace());
    match named.as_str() {
        "text/html" | "application/xhtml+xml" => Kind::Html,
        "application/rss+xml" | "application/atom+xml" | "application/rdf+xml" | "application/feed+json" => Kind::Feed,
        "image/svg+xml" => Kind::Text,
        _ if named.ends_with("xml") => {
            // Past the declaration and what may stand before the first element.
            let root = head.split('<').map(|tag| tag.split(|c: char| c.is_ascii_whitespace() || c == '>').next().unwrap_or_default());
            match root.into_iter().find(|name| !name.is_empty() && !name.starts_with(['?', '!'])) {
                Some("rss" | "feed" | "rdf:rdf") => Kind::Feed,
                Some("html") => Kind::Html,
                _ => Kind::Text,
            }
        }
        _ if named.ends_with("json") => {
            if head.contains("https://jsonfeed.org/version/") || head.contains("https:\\/\\/jsonfeed.org\\/version\\/") {
                Kind::Feed
            } else {
                Kind::Json
            }
        }
        "" | "text/plain" if head.starts_with("<!doctype html") || head.starts_with("<html") => Kind::Html,
        _ => Kind::Text,
    }
}

/// The media type of a picture that models can see, by its first bytes.
pub fn picture(body: &[u8]) -> Option<&'static str> {
    let is_webp = body.starts_with(b"RIFF") && body.get(8..12) == Some(b"WEBP");
    let known = SIGNATURES.iter().find(|(signature, _)| body.starts_with(signature));
    known.map(|(_, mime_type)| *mime_type).or(is_webp.then_some("image/webp"))
}

/// What is no text by its name, or by a NUL among its first bytes.
fn is_binary(named: &str, body: &[u8]) -> bool {
    let text = named.is_empty()
        || named.starts_with("text/")
        || ["json", "xml", "javascript", "ecmascript", "yaml", "toml", "x-www-form-urlencoded", "x-ndjson", "sql", "graphql"]
            .iter()
            .any(|part| named.ends_with(part));
    let utf16 = body.starts_with(b"\xff\xfe") || body.starts_with(b"\xfe\xff");
    let utf16_named = || named.starts_with("text/") && body.iter().take(64).filter(|byte| **byte == 0).count() >= 24;
    !text || (!utf16 && !utf16_named() && body.iter().take(1024).any(|byte| *byte == 0))
}

/// Pictures that models can see, by their first bytes (WHATWG MIME Sniffing, section 6.1); WebP stands apart.
const SIGNATURES: [(&[u8], &str); 4] =
    [(b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF87a", "image/gif"), (b"GIF89a", "image/gif")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_what_they_are_whatever_their_sender_calls_them() {
        let rows: [(&str, &[u8], Kind); 22] = [
            ("image/png", b"\x89PNG\r\n\x1a\n..", Kind::Picture("image/png")),
            ("text/html", b"GIF89a", Kind::Picture("image/gif")),
            ("image/jpeg", b"RIFF\0\0\0\0WEBPVP8 ", Kind::Picture("image/webp")),
            ("image/png", b"<svg onload=x>", Kind::Binary),
            ("image/png", b"no picture", Kind::Binary),
            ("image/svg+xml", b"<svg>", Kind::Text),
            ("application/pdf", b"\n%PDF-1.7", Kind::Pdf),
            ("application/octet-stream", b"%PDF-1.4", Kind::Pdf),
            ("application/pdf", b"no pdf", Kind::Binary),
            ("text/html; charset=utf-8", b"<p>", Kind::Html),
            ("", b"\n<!DOCTYPE HTML>", Kind::Html),
            ("text/plain", b"<!doctype x", Kind::Text),
            ("application/xml", b"<?xml version='1.0'?><!-- x --><rss version='2.0'>", Kind::Feed),
            ("text/xml", b"\xef\xbb\xbf<feed xmlns='http://www.w3.org/2005/Atom'>", Kind::Feed),
            ("application/xml", b"<sitemap>", Kind::Text),
            ("application/xml", b"<?xml version='1.0'?><!DOCTYPE html><html>", Kind::Html),
            ("application/json", b"{\"version\":\"https://jsonfeed.org/version/1.1\"}", Kind::Feed),
            ("application/problem+json", b"{}", Kind::Json),
            ("text/plain", b"a\0b", Kind::Binary),
            ("text/plain; charset=utf-16le", b"\xff\xfea\0", Kind::Text),
            ("application/zip", b"PK", Kind::Binary),
            ("application/atom+xml", b"<feed>", Kind::Feed),
        ];
        for (named, body, kind) in rows {
            assert_eq!(kind_of(Some(named), body), kind, "{named} {}", String::from_utf8_lossy(body));
        }
        assert_eq!(kind_of(None, b"text"), Kind::Text);
    }
}
