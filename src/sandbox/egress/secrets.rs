//! Secrets on the wire: read when a hop is sent, to the hosts they are for, and taken out of whatever comes back.

#![expect(clippy::disallowed_methods, reason = "here the values of secrets are read, from where the manifest says")]

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use super::request::Outgoing;
use crate::model::{Code, Failure};
use crate::policy::network::NetworkRules;
use crate::policy::secret::{HeaderSecret, Piece, SecretSource, names_secret, pieces};

/// The secrets that one request has sent, by name.
#[derive(Default)]
pub(super) struct Sent(BTreeMap<String, String>);

impl fmt::Debug for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Sent {
    /// The headers of a hop with the values in the place of their names. A header whose secret may not go to this hop is left out.
    ///
    /// # Errors
    /// `fetch_failed` for a secret without a value on this machine.
    pub(super) fn fill(&mut self, rules: &NetworkRules, outgoing: &Outgoing) -> Result<Vec<(String, String)>, Failure> {
        let mut filled = Vec::with_capacity(outgoing.headers.len());
        'headers: for (name, value) in &outgoing.headers {
            if !names_secret(value) {
                filled.push((name.clone(), value.clone()));
                continue;
            }
            let mut whole = String::new();
            for piece in pieces(value) {
                match piece {
                    Piece::Text(text) => whole.push_str(text),
                    Piece::Secret(secret) => match rules.secrets.get(secret).filter(|secret| secret.may_go_to(&outgoing.url)) {
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
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a text holds one of them, in any of the forms that services echo.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.forms().iter().any(|(form, _)| text.contains(form.as_str()))
    }

    /// A text with names in the place of values.
    pub(super) fn mask_text(&self, text: &str) -> String {
        self.forms().iter().fold(text.to_owned(), |text, (form, name)| text.replace(form, name))
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
        bytes
    }

    /// What to look for, longest first: the value, as base64, in a URL, and as JSON and HTML write it.
    fn forms(&self) -> Vec<(String, String)> {
        let mut forms = Vec::new();
        for (name, value) in &self.0 {
            let shown = format!("[secret {name}]");
            let encoded: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
            let percent = encoded.replace('+', "%20");
            let json = value.replace('\\', "\\\\").replace('"', "\\\"").replace('/', "\\/");
            let html = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
            let base64 = [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD].map(|engine| engine.encode(value));
            for form in [value.clone(), encoded, percent, json, html].into_iter().chain(base64) {
                if !forms.iter().any(|(known, _)| *known == form) {
                    forms.push((form, shown.clone()));
                }
            }
        }
        forms.sort_by_key(|(form, _)| std::cmp::Reverse(form.len()));
        forms
    }
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
}
