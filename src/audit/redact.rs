//! The form in which arguments may be recorded: secrets as keyed hashes, large and listed ones as length and digest.

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Map, Value};
use sha2::Sha256;

use super::address;
use super::escape;
use super::hex;
use super::settings::Settings;

/// Arguments that are safe to keep. Only a redactor makes one, so nothing else can stand in a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    json: String,
    sha256: String,
}

impl Redacted {
    /// The redacted arguments as compact JSON, exactly as they stand in the record.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// SHA-256 of that JSON, as 64 hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }
}

/// The key of this installation's keyed hashes.
#[derive(Clone)]
pub(crate) struct Secret(Hmac<Sha256>);

impl std::fmt::Debug for Secret {
    /// Shows nothing of the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        // RFC 2104 allows a key of any length, so the construction cannot fail; were it to, an all-zero key still hides the value's form.
        Self(Hmac::new_from_slice(key).unwrap_or_else(|_| Hmac::new(&[0; 64].into())))
    }

    /// The keyed hash that stands for `text` in the log.
    pub(crate) fn keyed(&self, text: &[u8]) -> String {
        let mut key = self.0.clone();
        key.update(text);
        hex::text(&hex::encode(&key.finalize().into_bytes().into()))
    }
}

/// Knows which arguments are secret.
#[derive(Debug)]
pub(crate) struct Redactor {
    hash_args: Vec<String>,
    redact: Vec<Vec<String>>,
}

impl Redactor {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            hash_args: settings.hash_args.iter().map(|name| name.to_lowercase()).collect(),
            redact: settings.redact.iter().map(|name| words(name)).filter(|words| !words.is_empty()).collect(),
        }
    }

    /// The form of `args` that may be recorded. `secret` gives the key where a secret is found; without a key nothing of the secret is kept.
    pub(crate) fn redact<'k>(&self, args: &Map<String, Value>, secret: &dyn Fn() -> Option<&'k Secret>) -> Redacted {
        let mut out = Vec::with_capacity(256);
        self.object(&mut out, args, secret);
        if out.len() > LARGEST {
            let whole = std::mem::take(&mut out);
            digest(&mut out, &whole);
        }
        let sha256 = hex::text(&hex::sha256(&out));
        // The writers above emit nothing but JSON made of `str`s.
        Redacted { json: String::from_utf8_lossy(&out).into_owned(), sha256 }
    }

    fn object<'k>(&self, out: &mut Vec<u8>, map: &Map<String, Value>, secret: &dyn Fn() -> Option<&'k Secret>) {
        escape::object(out, map, |out, key, item| self.item(out, Some(key), item, secret));
    }

    fn item<'k>(&self, out: &mut Vec<u8>, key: Option<&str>, item: &Value, secret: &dyn Fn() -> Option<&'k Secret>) {
        let bytes = || match item {
            Value::String(text) => text.clone().into_bytes(),
            other => {
                let mut json = Vec::new();
                escape::value(&mut json, other);
                json
            }
        };
        if key.is_some_and(|key| self.is_secret(key)) {
            out.extend_from_slice(b"{\"hmac\":\"");
            out.extend_from_slice(secret().map(|secret| secret.keyed(&bytes())).unwrap_or_default().as_bytes());
            out.extend_from_slice(b"\"}");
        } else if key.is_some_and(|key| self.hash_args.iter().any(|name| name.eq_ignore_ascii_case(key))) {
            digest(out, &bytes());
        } else {
            match item {
                Value::String(text) if text.len() > LONG => digest(out, text.as_bytes()),
                Value::String(text) if address::has_parts(text) => {
                    let keyed = |part: &str| secret().map(|secret| secret.keyed(part.as_bytes())).unwrap_or_default();
                    escape::string(out, &address::redact(text, &|name| self.is_secret(name), &keyed));
                }
                Value::Object(map) => self.object(out, map, secret),
                Value::Array(items) => {
                    out.push(b'[');
                    for (place, item) in items.iter().enumerate() {
                        if place > 0 {
                            out.push(b',');
                        }
                        self.item(out, key, item, secret);
                    }
                    out.push(b']');
                }
                other => escape::value(out, other),
            }
        }
    }

    /// A name is secret when a listed one is a run of its words: `X-Access-Token` and `accessToken` match `token`, `max_tokens` does not.
    fn is_secret(&self, key: &str) -> bool {
        if self.redact.is_empty() {
            return false;
        }
        let words = words(key);
        self.redact.iter().any(|listed| words.windows(listed.len()).any(|run| run == listed.as_slice()))
    }
}

/// Writes `{"len":…,"sha256":…}`; the length is in bytes.
fn digest(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(format!("{{\"len\":{},\"sha256\":\"{}\"}}", bytes.len(), hex::text(&hex::sha256(bytes))).as_bytes());
}

/// The words of a name in lower case, cut at anything that is no letter or digit and where a capital follows a small letter.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && after_small) {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        after_small = letter.is_lowercase() || letter.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Strings longer than this are stored as length and digest whatever their name: a path has at most 4096 bytes and stays readable.
const LONG: usize = 4096;

/// When all arguments together are longer than this in their redacted form, they are stored as one length and digest. A quarter of the longest line.
const LARGEST: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn redacted(args: &Value) -> Value {
        let secret = Secret::new(&[7; 32]);
        let redacted = Redactor::new(&Settings::default()).redact(args.as_object().unwrap(), &|| Some(&secret));
        assert_eq!(redacted.sha256(), hex::text(&hex::sha256(redacted.json().as_bytes())));
        serde_json::from_str(redacted.json()).unwrap()
    }

    #[test]
    fn listed_arguments_become_length_and_digest_and_others_stay() {
        let digest = json!({"len": 3, "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"});
        assert_eq!(
            redacted(&json!({"path": "project/a.txt", "content": "abc", "n": 1})),
            json!({"path": "project/a.txt", "content": digest, "n": 1})
        );
        assert_eq!(redacted(&json!({"Code": "abc"})), json!({"Code": digest}));
        assert_eq!(redacted(&json!({"edits": [{"body": "abc"}]})), json!({"edits": [{"body": digest}]}));
    }

    #[test]
    fn a_long_string_becomes_length_and_digest_whatever_its_name() {
        let long = "x".repeat(4097);
        assert_eq!(redacted(&json!({"url": long}))["url"]["len"], json!(4097));
        let path = "x".repeat(4096);
        assert_eq!(redacted(&json!({"path": path})), json!({"path": path}));
    }

    #[test]
    fn many_short_arguments_cannot_make_a_line_too_long() {
        let many: Map<String, Value> = (0..20_000).map(|number| (format!("k{number}"), json!("v"))).collect();
        let whole = redacted(&Value::Object(many));
        assert_eq!(whole.as_object().unwrap().keys().collect::<Vec<_>>(), ["len", "sha256"]);
    }

    #[test]
    fn secret_names_are_found_by_word_at_any_depth_and_tell_nothing_of_the_value() {
        let secret = "canary-123";
        for name in ["token", "Authorization", "access_token", "X-Auth-Token", "authToken", "PASSWORD", "db.password"] {
            let line = redacted(&json!({"headers": {name: secret}, "list": [{name: [secret, {"a": secret}]}]})).to_string();
            assert!(!line.contains(secret), "{name}: {line}");
        }
        for name in ["max_tokens", "author", "path", "passwords_file"] {
            assert_eq!(redacted(&json!({name: "seen"})), json!({name: "seen"}));
        }
    }

    #[test]
    fn an_address_keeps_its_form_and_loses_its_secrets() {
        let hmac = Secret::new(&[7; 32]).keyed(b"canary-123");
        let shown = |url: &str| redacted(&json!({"url": url}))["url"].as_str().unwrap().to_owned();
        assert_eq!(
            shown("https://a.example/p?page=2&access_token=canary-123#top"),
            format!("https://a.example/p?page=2&access_token=hmac:{hmac}#top")
        );
        assert_eq!(shown("HTTPS://canary-123@a.example/"), format!("HTTPS://hmac:{hmac}@a.example/"));
        assert_eq!(shown("https://a.example/?to%6ben=canary-123"), format!("https://a.example/?to%6ben=hmac:{hmac}"));
        assert_eq!(shown("https://a.example/#token=canary-123"), format!("https://a.example/#token=hmac:{hmac}"));
        assert_eq!(shown("https://a.example/p?page=2"), "https://a.example/p?page=2");
        assert_eq!(redacted(&json!({"query": "a?b=token@x"})), json!({"query": "a?b=token@x"}));
    }

    #[test]
    fn the_keyed_hash_depends_on_the_installation_s_key() {
        let of = |key: u8| Secret::new(&[key; 32]).keyed(b"secret");
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_eq!(redacted(&json!({"token": "secret"})), json!({"token": {"hmac": of(7)}}));
    }

    proptest! {
        #[test]
        fn no_secret_survives_whatever_it_looks_like(secret in "[A-Za-z0-9 \\u{200b}/+=-]{12,40}", depth in 0_usize..5) {
            let mut args = json!({"token": secret});
            for _ in 0..depth {
                args = json!({"nested": [args]});
            }
            let line = redacted(&args).to_string();
            prop_assert!(!line.contains(&secret));
        }
    }
}
