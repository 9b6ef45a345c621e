//! The form in which arguments may be recorded: secrets as keyed hashes, large and listed ones as length and digest.
//!
//! No list of names knows every argument that holds a secret, so every text goes through the secret filter, names and malformed ones included.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::address;
use crate::audit::{self, Redact};
use crate::filter::masked::secrets_in;
use crate::manifest::AuditRules;
use crate::state::StateDir;

/// How the log of a state folder is kept, as the manifest says.
pub fn settings(rules: &AuditRules, state: &Path) -> audit::Settings {
    audit::Settings { rotate: rules.rotate.0, keep: rules.keep, redact: Some(Arc::new(Redactor::new(rules, state))) }
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
        HEXLOWER.encode(&key.finalize().into_bytes())
    }
}

/// Knows which arguments are secret.
#[derive(Debug)]
pub(crate) struct Redactor {
    hash_args: Vec<String>,
    redact: Vec<Vec<String>>,
    /// Where the key is kept. It is read, or made, when it is first needed.
    state: PathBuf,
    key: OnceLock<Secret>,
}

impl Redactor {
    pub(crate) fn new(settings: &AuditRules, state: &Path) -> Self {
        let mut hash_args: Vec<String> = settings.hash_args.iter().map(|name| name.to_lowercase()).collect();
        let twins: Vec<String> = ALIKE
            .iter()
            .filter(|(name, _)| hash_args.iter().any(|listed| listed == name))
            .flat_map(|(_, alike)| alike.iter().map(|name| (*name).to_owned()))
            .collect();
        hash_args.extend(twins);
        let redact = settings.redact.iter().map(|name| words(name)).filter(|words| !words.is_empty()).collect();
        Self { hash_args, redact, state: state.to_owned(), key: OnceLock::new() }
    }

    fn secret(&self) -> Option<&Secret> {
        if self.key.get().is_none() {
            // A fault is not kept: a full disk may have room the next time. Two threads at once read the same key.
            let key = StateDir::open(&self.state).ok()?.key("audit-hash").ok()?;
            let _ = self.key.set(Secret::new(&key));
        }
        self.key.get()
    }

    fn object(&self, map: &Map<String, Value>) -> Value {
        let name = |key: &String| match key.len() {
            0..=LONG => self.text(None, key).into_owned(),
            length => format!("… ({length} bytes, sha256 {})", HEXLOWER.encode(&Sha256::digest(key))),
        };
        map.iter().map(|(key, item)| (name(key), self.item(Some(key), item))).collect::<Map<_, _>>().into()
    }

    fn item(&self, key: Option<&str>, item: &Value) -> Value {
        let text = || item.as_str().map_or_else(|| Cow::Owned(audit::json(item)), Cow::Borrowed);
        match item {
            // Without a key nothing of a secret is kept.
            _ if key.is_some_and(|key| self.is_secret(key)) => {
                json!({"hmac": self.secret().map(|secret| secret.keyed(text().as_bytes())).unwrap_or_default()})
            }
            _ if key.is_some_and(|key| self.hash_args.iter().any(|name| name.eq_ignore_ascii_case(key))) => digest(&text()),
            Value::String(text) if text.len() > LONG => digest(text),
            Value::String(text) => self.text(key, text).into(),
            Value::Object(map) => self.object(map),
            Value::Array(items) => items.iter().map(|item| self.item(key, item)).collect(),
            other => other.clone(),
        }
    }

    /// A text with each secret as its kind, its length and its keyed hash. `key`: the name before it, by which some secrets are known alone.
    pub(crate) fn text<'t>(&self, key: Option<&str>, text: &'t str) -> Cow<'t, str> {
        let mut found: Vec<(Range<usize>, &str)> = Vec::new();
        if address::has_parts(text) {
            found.extend(address::secrets(text, &|name| self.is_secret(name)).into_iter().map(|at| (at, "")));
        }
        // A secret that begins with another one is found at its longest.
        found.extend(secrets_in(text.as_bytes()).into_iter().map(|one| (one.at, one.name)));
        if let Some(key) = key.filter(|key| !NO_SECRETS.contains(key)) {
            let lead = format!("{key}: ");
            let named = secrets_in(format!("{lead}{text}").as_bytes()).into_iter();
            let within = named.map(|one| (one.at.start.max(lead.len()) - lead.len()..one.at.end.saturating_sub(lead.len()), one.name));
            found.extend(within.filter(|(at, _)| !at.is_empty()));
        }
        if found.is_empty() {
            // A query carries its words in percent signs, and a filter of texts does not read them.
            let decoded = text.contains('%').then(|| address::percent_decoded(text)).flatten();
            let Some(one) = decoded.and_then(|decoded| secrets_in(decoded.as_bytes()).into_iter().next()) else {
                return Cow::Borrowed(text);
            };
            found.push((0..text.len(), one.name));
        }
        found.sort_by_key(|(at, _)| (at.start, std::cmp::Reverse(at.end)));
        let (mut shown, mut done) = (String::new(), 0);
        let mut rest = found.into_iter().peekable();
        while let Some((mut at, name)) = rest.next() {
            let mut is_address = name.is_empty();
            while let Some((next, _)) = rest.next_if(|(next, _)| next.start < at.end) {
                is_address &= next.end <= at.end;
                at.end = at.end.max(next.end);
            }
            let value = text.get(at.clone()).unwrap_or_default();
            let keyed = self.secret().map(|secret| secret.keyed(value.as_bytes())).unwrap_or_default();
            shown.push_str(text.get(done..at.start).unwrap_or_default());
            // Writing to a String cannot fail.
            let _ = if is_address {
                write!(shown, "hmac:{keyed}")
            } else {
                write!(shown, "[{HIDDEN}{name} {} bytes hmac:{keyed}]", value.len())
            };
            done = at.end;
        }
        shown.push_str(text.get(done..).unwrap_or_default());
        Cow::Owned(shown)
    }

    /// A name is secret when a listed one is a run of its words: `X-Access-Token` and `accessToken` match `token`, `max_tokens` does not.
    fn is_secret(&self, key: &str) -> bool {
        let words = words(key);
        let is_in = |listed: &[String]| words.windows(listed.len()).any(|run| run == listed);
        let usual = |listed: &[&str]| words.windows(listed.len()).any(|run| run == listed);
        self.redact.iter().any(|listed| is_in(listed)) || SECRET_NAMES.iter().any(|listed| usual(listed))
    }
}

impl Redact for Redactor {
    fn arguments(&self, arguments: &Map<String, Value>) -> Value {
        let redacted = self.object(arguments);
        let json = audit::json(&redacted);
        if json.len() > LARGEST { digest(&json) } else { redacted }
    }

    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.text(None, text)
    }
}

/// The length in bytes and the digest of a text.
fn digest(text: &str) -> Value {
    json!({"len": text.len(), "sha256": HEXLOWER.encode(&Sha256::digest(text))})
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

/// How the mark begins that stands for a secret in the middle of a text.
const HIDDEN: &str = "secret:";

/// Names that say of any value that it is a secret, beside those that the manifest lists, as runs of words: a weak value has no form of its own.
const SECRET_NAMES: [&[&str]; 11] = [
    &["api", "key"],
    &["apikey"],
    &["access", "key"],
    &["private", "key"],
    &["secret"],
    &["passphrase"],
    &["passwd"],
    &["credential"],
    &["credentials"],
    &["cookie"],
    &["signature"],
];

/// Arguments that are what a listed one is: texts of files, and what a program is given.
const ALIKE: [(&str, &[&str]); 2] = [("content", &["new_text", "old_text"]), ("code", &["stdin"])];

/// Arguments whose names say of no value that it is a secret. A second pass looks at every other value with its name before it.
const NO_SECRETS: [&str; 12] = ["path", "paths", "from", "to", "url", "urls", "query", "method", "session", "encoding", "save_to", "glob"];

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
        let redactor = Redactor { key: Secret::new(&[7; 32]).into(), ..Redactor::new(&AuditRules::default(), Path::new("")) };
        redactor.arguments(args.as_object().unwrap())
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
        for name in
            ["token", "Authorization", "access_token", "X-Auth-Token", "authToken", "PASSWORD", "db.password", "X-API-Key", "client_secret"]
        {
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
    fn every_text_goes_through_the_secret_filter_whatever_its_name() {
        let key = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6");
        let credential = "Xk29vbQ7LmPz4TwRs8Yd";
        for args in [
            json!({"path": format!("project/{key}/a")}),
            json!({"paths": ["project/a", format!("project/{key}")]}),
            json!({"query": key}),
            json!({"query": format!("password = \"{credential}\"")}),
            json!({"url": format!("https://a.example/t?x={key}")}),
            json!({"url": format!("https://a.example/t?api_key={credential}")}),
            json!({"url": format!("https://a.example/t#{key}")}),
            json!({"url": format!("https://a.example/t?x={}", key.replace('_', "%5F"))}),
            json!({"urls": [format!("https://a.example/t?x={key}")]}),
            json!({"headers": {"X-Api-Key": credential}}),
            json!({"headers": {"Cookie": format!("id={credential}")}}),
            json!({"url": format!("https://a.example/t?apiKey={credential}&page=2")}),
            json!({"headers": {"Accept": key}}),
            json!({"nonsense": format!("password={credential}")}),
            json!({key.clone(): 1}),
            json!({"path": {"deep": [key]}}),
            json!({"edits": [{"path": "project/a", "old_text": credential, "new_text": credential}]}),
            json!({"stdin": credential}),
        ] {
            let line = redacted(&args).to_string();
            assert!(!line.contains(&key) && !line.contains(credential) && !line.contains("%5F"), "{line}");
        }
        let line = redacted(&json!({"path": format!("project/{key}/a")}));
        let keyed = Secret::new(&[7; 32]).keyed(key.as_bytes());
        let shown = line["path"].as_str().unwrap();
        assert!(shown.starts_with("project/[secret:") && shown.ends_with(&format!(" 40 bytes hmac:{keyed}]/a")), "{shown}");
        for plain in ["project/src/a.rs", "https://a.example/p?page=2&q=rust", "fn main", "100%"] {
            assert_eq!(redacted(&json!({"query": plain})), json!({"query": plain}));
        }
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
