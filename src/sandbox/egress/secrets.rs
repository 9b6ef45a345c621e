//! Secrets on the wire: read when a hop is sent, to the hosts they are for, and taken out of whatever comes back.

#![expect(clippy::disallowed_methods, reason = "here the values of secrets are read, from where the manifest says")]

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use super::echo;
use crate::model::{Code, Failure, HttpUrl};
use crate::policy::network::NetworkRules;
use crate::policy::secret::{HeaderSecret, Piece, SecretSource, names_secret, pieces};

/// The secrets that one request has sent, by name.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Sent(BTreeMap<String, String>);

impl fmt::Debug for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Sent {
    /// The headers of a hop to `url` with the values in the place of their names. A header whose secret may not go to this hop is left out.
    ///
    /// # Errors
    /// `fetch_failed` for a secret without a value on this machine.
    pub(super) fn fill(
        &mut self,
        rules: &NetworkRules,
        headers: &[(String, String)],
        url: &HttpUrl,
    ) -> Result<Vec<(String, String)>, Failure> {
        let mut filled = Vec::with_capacity(headers.len());
        'headers: for (name, value) in headers {
            if !names_secret(value) {
                filled.push((name.clone(), value.clone()));
                continue;
            }
            let mut whole = String::new();
            for piece in pieces(value) {
                match piece {
                    Piece::Text(text) => whole.push_str(text),
                    Piece::Secret(secret) => match rules.secrets.get(secret).filter(|secret| secret.may_go_to(url)) {
                        Some(found) => whole.push_str(self.value(secret, found)?),
                        None => continue 'headers,
                    },
                }
            }
            filled.push((name.clone(), whole));
        }
        Ok(filled)
    }

    fn value(&mut self, name: &str, secret: &HeaderSecret) -> Result<&str, Failure> {
        if !self.0.contains_key(name) {
            let read = match &secret.source {
                SecretSource::Env(variable) => std::env::var(variable).ok(),
                SecretSource::File(path) => std::fs::read_to_string(path).ok(),
            };
            let value = read.map(|value| value.trim_end_matches(['\r', '\n']).to_owned());
            let value = value.filter(|value| !value.is_empty() && value.len() <= 8192 && !value.chars().any(char::is_control));
            let value = value.ok_or_else(|| {
                Failure::new(Code::FetchFailed, format!("the secret `{name}` has no value on this server"))
                    .hint("the operator sets it where `network.secrets` says")
            })?;
            self.0.insert(name.to_owned(), value);
        }
        Ok(self.0.get(name).map_or("", String::as_str))
    }

    /// True when no secret was sent.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a text holds one of them, in any of the forms that services echo.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.mask_text(text) != text
    }

    /// A text with names in the place of values: what the model gets, after a page was decoded and made a text.
    pub fn mask_text(&self, text: &str) -> String {
        let text = self.forms().iter().fold(text.to_owned(), |text, (form, name)| text.replace(form, name));
        self.0.iter().fold(text, |text, (name, value)| match echo::masked(text.as_bytes(), value, &shown(name)) {
            Some(masked) => String::from_utf8_lossy(&masked).into_owned(),
            None => text,
        })
    }

    /// Bytes with names in the place of values.
    pub(super) fn mask(&self, bytes: Vec<u8>) -> Vec<u8> {
        let mut bytes = bytes;
        for (form, name) in self.forms() {
            let form = form.as_bytes();
            if !bytes.windows(form.len()).any(|window| window == form) {
                continue;
            }
            let mut masked = Vec::with_capacity(bytes.len());
            let mut rest = bytes.as_slice();
            while let Some(at) = rest.windows(form.len()).position(|window| window == form) {
                let (before, after) = rest.split_at_checked(at).unwrap_or((rest, &[]));
                masked.extend_from_slice(before);
                masked.extend_from_slice(name.as_bytes());
                rest = after.get(form.len()..).unwrap_or_default();
            }
            masked.extend_from_slice(rest);
            bytes = masked;
        }
        for (name, value) in &self.0 {
            bytes = echo::masked(&bytes, value, &shown(name)).unwrap_or(bytes);
        }
        bytes
    }

    /// What to look for, longest first: the value, as base64 and hexadecimal, in a URL, and as JSON and HTML write it.
    fn forms(&self) -> Vec<(String, String)> {
        let mut forms = Vec::new();
        for (name, value) in &self.0 {
            let shown = shown(name);
            let encoded: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
            let percent = encoded.replace('+', "%20");
            let json = value.replace('\\', "\\\\").replace('"', "\\\"").replace('/', "\\/");
            let html = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
            let base64 = [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD].map(|engine| engine.encode(value));
            let hex = value.bytes().fold(String::new(), |mut hex, byte| {
                // Writing to a String cannot fail.
                let _ = write!(hex, "{byte:02x}");
                hex
            });
            let upper = hex.to_ascii_uppercase();
            for form in [value.clone(), encoded, percent, json, html, hex, upper].into_iter().chain(base64).chain(within_base64(value)) {
                if !forms.iter().any(|(known, _)| *known == form) {
                    forms.push((form, shown.clone()));
                }
            }
        }
        forms.sort_by_key(|(form, _)| std::cmp::Reverse(form.len()));
        forms
    }
}

/// What stands in the place of a value.
fn shown(name: &str) -> String {
    format!("[secret {name}]")
}

/// What base64 of a longer text has of a value, wherever the value begins in it: without the characters that hold bits of what is beside it.
fn within_base64(value: &str) -> Vec<String> {
    /// Fewer characters are in every text.
    const LEAST: usize = 12;
    let forms = [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD].into_iter().flat_map(|engine| {
        (0..3).map(move |before| {
            let whole = engine.encode([vec![0; before].as_slice(), value.as_bytes()].concat());
            let (first, last) = ((before * 8).div_ceil(6), (before + value.len()) * 8 / 6);
            whole.get(first..last).unwrap_or_default().to_owned()
        })
    });
    forms.filter(|form| form.len() >= LEAST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_masked_in_every_form_it_is_echoed_in() {
        let sent = Sent(BTreeMap::from([("gh".to_owned(), "k&y/\"1\"".to_owned())]));
        for (echo, masked) in [
            ("a k&y/\"1\" b", "a [secret gh] b"),
            ("{\"h\":\"k&y\\/\\\"1\\\"\"}", "{\"h\":\"[secret gh]\"}"),
            ("<p>k&amp;y/&quot;1&quot;", "<p>[secret gh]"),
            ("?t=k%26y%2F%221%22&", "?t=[secret gh]&"),
            ("ayZ5LyIxIg==", "[secret gh]"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(String::from_utf8(sent.mask(echo.as_bytes().to_vec())).unwrap(), masked);
            assert_eq!((sent.mask_text(echo).as_str(), sent.is_in(echo)), (masked, masked != "nothing"));
        }
        assert_eq!(format!("{sent:?}"), "{\"gh\"}");
    }

    #[test]
    fn what_was_sent_is_masked_inside_of_base64_and_between_tags() {
        let value = "kP9sVx2LmQ7wT4vRnB3yHz8J";
        let sent = Sent(BTreeMap::from([("gh".to_owned(), value.to_owned())]));
        for before in ["", "x", "xy", "Bearer ", "a:"] {
            let shown = sent.mask_text(&STANDARD.encode(format!("{before}{value}|")));
            assert!(shown.contains("[secret gh]") && shown.len() < 36, "{before}: {shown}");
        }
        for echo in
            ["kP9sVx2LmQ7w<b>T4vRnB3yHz8J</b>", "k&#80;9sVx2LmQ7w T4vRnB3yHz8J", "6b5039735678324c6d51377754347652 6e42337948 7a384a"]
        {
            let shown = String::from_utf8(sent.mask(echo.as_bytes().to_vec())).unwrap();
            assert_eq!(shown.contains("[secret gh]"), !echo.starts_with('6'), "{shown}");
            assert_eq!(sent.is_in(echo), !echo.starts_with('6'));
        }
    }
}
