//! Secrets on the wire: read when a hop is sent, to the hosts they are for, and taken out of whatever comes back.

#![expect(clippy::disallowed_methods, reason = "here the values of secrets are read, from where the manifest says")]

use std::collections::BTreeMap;
use std::fmt;

use crate::manifest::{HeaderSecret, NetworkRules};
use crate::model::{Code, Failure, HttpUrl};
use crate::policy::secret::{Piece, names_secret, pieces};

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

    /// The value of a secret.
    ///
    /// # Errors
    /// `fetch_failed` where it has none on this machine.
    pub(in crate::sandbox) fn value(&mut self, name: &str, secret: &HeaderSecret) -> Result<&str, Failure> {
        if !self.0.contains_key(name) {
            let read = match (&secret.env, &secret.file) {
                (Some(variable), _) => std::env::var(variable).ok(),
                (None, file) => file.as_ref().and_then(|file| std::fs::read_to_string(file).ok()),
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

    /// Whether a text holds one of them.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.0.values().any(|value| text.contains(value))
    }

    /// A text with names in the place of values: what the model gets, after a page was decoded and made a text.
    pub fn mask_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.mask(text.as_bytes())).into_owned()
    }

    /// Bytes with names in the place of values, each as it was sent. Other spellings of a value are not looked for.
    pub(super) fn mask(&self, bytes: &[u8]) -> Vec<u8> {
        let mut masked = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            let here = self.0.iter().filter(|(_, value)| rest.starts_with(value.as_bytes()));
            // One value may be the beginning of another.
            if let Some((name, value)) = here.max_by_key(|(_, value)| value.len()) {
                masked.extend_from_slice(format!("[secret {name}]").as_bytes());
                rest = rest.get(value.len()..).unwrap_or_default();
            } else {
                masked.push(*first);
                rest = after;
            }
        }
        masked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_masked_where_it_comes_back_as_it_is() {
        let sent = Sent([("gh", "k&y/\"1\""), ("long", "k&y/\"1\"2")].map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        for (echo, masked) in [
            ("a k&y/\"1\" b", "a [secret gh] b"),
            ("k&y/\"1\"2k&y/\"1\"", "[secret long][secret gh]"),
            ("é k&y/\"1", "é k&y/\"1"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(String::from_utf8(sent.mask(echo.as_bytes())).unwrap(), masked);
            assert_eq!((sent.mask_text(echo).as_str(), sent.is_in(echo)), (masked, masked != echo));
        }
        assert_eq!(format!("{sent:?}"), "{\"gh\", \"long\"}");
    }
}
