//! `[clients]`: which caller gets which profile.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::Profile;
use super::fault::Ledger;
use super::form::entries;
use crate::model::{HttpUrl, name};

/// Which caller gets which profile.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Clients {
    /// The profile of a client that starts the server itself and talks over standard input and output. Without this key, or with `none`: no
    /// access.
    pub stdio: Option<String>,
    /// The profile of an HTTP caller without a valid token. Without this key, or with `none`: no access.
    pub http: Option<String>,
    /// Bearer tokens of HTTP callers.
    #[serde(rename = "token")]
    pub tokens: Vec<Token>,
    /// Rules for JSON Web Tokens of HTTP callers. A token that fits two rules with different profiles has no access.
    pub oauth: Vec<OAuth>,
}

/// A bearer token, known by its digest alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Token {
    /// The name of the caller in the log.
    pub name: String,
    /// The SHA-256 of the token, 64 hex digits.
    #[schemars(with = "String", extend("format" = "sha256"))]
    pub sha256: [u8; 32],
    /// The profile of the caller.
    pub profile: String,
}

/// A rule for JSON Web Tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OAuth {
    /// The issuer, exactly as the token has it.
    pub issuer: String,
    /// The audience that the token must name: the address of this server.
    pub audience: String,
    /// The keys of the issuer: an https URL, or a file relative to this one.
    pub jwks: String,
    /// The signature algorithms that are accepted. Without this key, all asymmetric ones.
    #[schemars(extend("items" = entries("algorithm")))]
    pub algorithms: Vec<String>,
    /// Claims that the token must have, each with a text, or with a list of texts that must all be there.
    #[serde(deserialize_with = "claims")]
    #[schemars(with = "BTreeMap<String, Claim>")]
    pub claims: BTreeMap<String, Vec<String>>,
    /// The profile of a caller with such a token.
    pub profile: String,
}

/// One claim or several.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Claim {
    /// One value.
    One(String),
    /// Values that must all be there.
    All(Vec<String>),
}

fn claims<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Vec<String>>, D::Error> {
    let all = |claim| match claim {
        Claim::One(value) => vec![value],
        Claim::All(values) => values,
    };
    BTreeMap::deserialize(deserializer).map(|claims: BTreeMap<_, _>| claims.into_iter().map(|(name, claim)| (name, all(claim))).collect())
}

type Profiles = BTreeMap<String, Profile>;

impl Ledger<'_> {
    pub(super) fn clients(&mut self, clients: &mut Clients, profiles: &Profiles) {
        for (key, profile) in [("clients.stdio", &mut clients.stdio), ("clients.http", &mut clients.http)] {
            profile.take_if(|name| name == "none");
            if let Some(name) = profile.as_deref().filter(|name| !name.is_empty()) {
                self.profile_name(key, name, profiles);
            }
        }
        self.tokens(&clients.tokens, profiles);
        self.oauth(&clients.oauth, profiles);
    }

    /// Checks that a profile is named, and is one of this manifest.
    pub(super) fn profile_name(&mut self, at: &str, name: &str, profiles: &Profiles) {
        self.required(at, name);
        if !name.is_empty() && !profiles.contains_key(name) {
            self.unknown(at, "profile of this manifest", name, profiles.keys().map(String::as_str).chain(["none"]));
        }
    }

    fn tokens(&mut self, tokens: &[Token], profiles: &Profiles) {
        let mut names = BTreeSet::new();
        for (index, token) in tokens.iter().enumerate() {
            let at = format!("clients.token[{index}]");
            self.profile_name(&format!("{at}.profile"), &token.profile, profiles);
            let (key, name) = (format!("{at}.name"), &token.name);
            self.required(&key, name);
            if name.chars().count() > LONGEST_NAME || name.trim() != name {
                self.fault(&key, format!("a name has 1 to {LONGEST_NAME} characters and no blank at its ends"));
            }
            if name.chars().any(name::is_hidden) {
                self.fault(&key, "the name holds characters that are not shown; records could not tell it from another");
            }
            // Two that are drawn alike are one for whoever reads the records.
            if !name.is_empty() && !names.insert(name::nfc(name).into_owned()) {
                self.fault(&key, format!("two tokens are named `{name}`; records could not tell them apart"));
            }
            let key = format!("{at}.sha256");
            if !self.holds(&key) {
                self.fault(&key, "`sha256` is missing");
            } else if token.sha256 != [0; 32] && tokens.iter().take(index).any(|other| other.sha256 == token.sha256) {
                self.fault(&key, "this token is listed twice; a caller gets exactly one profile");
            }
        }
    }

    fn oauth(&mut self, rules: &[OAuth], profiles: &Profiles) {
        for (index, rule) in rules.iter().enumerate() {
            let at = format!("clients.oauth[{index}]");
            let (claims, algorithms, jwks) = (format!("{at}.claims"), format!("{at}.algorithms"), format!("{at}.jwks"));
            if rule.claims.is_empty() && self.holds(&claims) {
                self.fault(&claims, "it names no claim, so every token of the issuer would fit; name claims, or leave the key out");
            }
            for (name, values) in &rule.claims {
                if name.trim().is_empty() {
                    self.fault(&claims, "a claim has a name, and this one has none, so no token could have it");
                } else if values.is_empty() {
                    self.fault(&claims, format!("the claim `{name}` has no value, so every token would have it"));
                }
            }
            if rule.algorithms.is_empty() && self.holds(&algorithms) {
                self.fault(&algorithms, "the list is empty; name algorithms, or leave it out for all that are accepted");
            }
            self.issuer(&format!("{at}.issuer"), &rule.issuer);
            self.required(&format!("{at}.audience"), &rule.audience);
            self.required(&jwks, &rule.jwks);
            self.profile_name(&format!("{at}.profile"), &rule.profile, profiles);
            if rule.jwks.starts_with("https://") {
                if let Err(refusal) = HttpUrl::parse(&rule.jwks) {
                    self.fault(&jwks, refusal.message);
                }
            } else if rule.jwks.contains("://") {
                self.fault(&jwks, "keys are read over https or from a file, for who can change them can forge every caller");
            }
            // A token that fits both has no access, so the later rule would be dead for every caller of the earlier.
            let same = |other: &&OAuth| (&other.issuer, &other.audience, &other.claims) == (&rule.issuer, &rule.audience, &rule.claims);
            if rules.iter().take(index).any(|other| same(&other) && other.profile != rule.profile) {
                self.fault(&at, "two rules fit the same tokens and give different profiles; such a token would have no access");
            }
        }
    }

    /// An issuer is an address (RFC 8414, section 2). An `@` in it could not be told from the one that ends a subject in the name of a caller.
    fn issuer(&mut self, at: &str, text: &str) {
        self.required(at, text);
        let is_issuer = |address: url::Url| {
            let near = match address.host() {
                Some(url::Host::Domain(name)) => name == "localhost",
                Some(url::Host::Ipv4(number)) => number.is_loopback(),
                Some(url::Host::Ipv6(number)) => number.is_loopback(),
                None => false,
            };
            let spoken = address.scheme() == "https" || (address.scheme() == "http" && near);
            spoken && address.has_host() && address.query().is_none() && address.fragment().is_none()
        };
        let whole = !text.contains(char::is_whitespace) && !text.contains('@');
        if !(text.trim().is_empty() || whole && url::Url::parse(text).is_ok_and(is_issuer)) {
            let what = format!("`{}` is no issuer; write the `iss` of its tokens, e.g. `https://id.example.com`", text.escape_debug());
            self.fault(at, what);
        }
    }
}

/// The longest name of a token, in characters.
const LONGEST_NAME: usize = 200;
