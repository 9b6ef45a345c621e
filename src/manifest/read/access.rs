//! Who may what: clients, profiles, tools, tests.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Number, Value};

use super::super::{ArgumentRule, Bounds, Clients, NamePattern, OAuth, Profile, Remember, Root, Test, Token, ToolRules, raw};
use super::Reader;
use crate::model::{Code, Flags, HttpUrl, Level, name};

type Profiles = BTreeMap<String, Profile>;

impl Reader<'_, '_> {
    pub(super) fn clients(&mut self, written: raw::Clients, profiles: &Profiles) -> Clients {
        let stdio = self.profile_or_none("clients.stdio", written.stdio, profiles);
        let http = self.profile_or_none("clients.http", written.http, profiles);
        let tokens = self.tokens(written.token.unwrap_or_default(), profiles);
        let oauth = self.oauth(written.oauth.unwrap_or_default(), profiles);
        Clients { stdio, http, tokens, oauth }
    }

    fn profile_or_none(&mut self, at: &str, name: Option<String>, profiles: &Profiles) -> Option<String> {
        let name = name.filter(|name| name != "none")?;
        self.profile_name(at, &name, profiles);
        Some(name)
    }

    fn profile_name(&mut self, at: &str, name: &str, profiles: &Profiles) {
        if !name.is_empty() && !profiles.contains_key(name) {
            self.unknown(at, "profile of this manifest", name, profiles.keys().map(String::as_str).chain(["none"]));
        }
    }

    fn tokens(&mut self, written: Vec<raw::Token>, profiles: &Profiles) -> Vec<Token> {
        let (mut tokens, mut names) = (Vec::<Token>::new(), BTreeSet::new());
        for (index, token) in written.into_iter().enumerate() {
            let at = format!("clients.token[{index}]");
            let name = self.required(&format!("{at}.name"), token.name);
            let profile = self.required(&format!("{at}.profile"), token.profile);
            self.profile_name(&format!("{at}.profile"), &profile, profiles);
            if name.chars().count() > LONGEST_NAME || name.trim() != name {
                self.fault(&format!("{at}.name"), format!("a name has 1 to {LONGEST_NAME} characters and no blank at its ends"));
            }
            if name.chars().any(name::is_hidden) {
                self.fault(&format!("{at}.name"), "the name holds characters that are not shown; records could not tell it from another");
            }
            // Two that are drawn alike are one for whoever reads the records.
            if !name.is_empty() && !names.insert(name::nfc(&name).into_owned()) {
                self.fault(&format!("{at}.name"), format!("two tokens are named `{name}`; records could not tell them apart"));
            }
            let key = format!("{at}.sha256");
            let text = self.required(&key, token.sha256);
            let Some(sha256) = digest(&text) else {
                if !text.is_empty() {
                    self.fault(&key, "a SHA-256 is 64 hexadecimal digits; `printf %s TOKEN | sha256sum` prints it");
                }
                continue;
            };
            if tokens.iter().any(|other| other.sha256 == sha256) {
                self.fault(&key, "this token is listed twice; a caller gets exactly one profile");
            }
            tokens.push(Token { name, sha256, profile });
        }
        tokens
    }

    fn oauth(&mut self, written: Vec<raw::OAuth>, profiles: &Profiles) -> Vec<OAuth> {
        let mut rules = Vec::<OAuth>::new();
        for (index, rule) in written.into_iter().enumerate() {
            let at = format!("clients.oauth[{index}]");
            if rule.claims.as_ref().is_some_and(BTreeMap::is_empty) {
                self.fault(
                    &format!("{at}.claims"),
                    "it names no claim, so every token of the issuer would fit; name claims, or leave the key out",
                );
            }
            let claims = rule.claims.unwrap_or_default().into_iter().map(|(name, claim)| match claim {
                raw::Claim::One(value) => (name, vec![value]),
                raw::Claim::All(values) => (name, values),
            });
            let claims: BTreeMap<String, Vec<String>> = claims.collect();
            for (name, values) in &claims {
                if name.trim().is_empty() {
                    self.fault(&format!("{at}.claims"), "a claim has a name, and this one has none, so no token could have it");
                } else if values.is_empty() {
                    self.fault(&format!("{at}.claims"), format!("the claim `{name}` has no value, so every token would have it"));
                }
            }
            if rule.algorithms.as_ref().is_some_and(Vec::is_empty) {
                self.fault(&format!("{at}.algorithms"), "the list is empty; name algorithms, or leave it out for all that are accepted");
            }
            let rule = OAuth {
                issuer: self.issuer(&format!("{at}.issuer"), rule.issuer),
                audience: self.required(&format!("{at}.audience"), rule.audience),
                jwks: self.required(&format!("{at}.jwks"), rule.jwks),
                algorithms: self.list(&format!("{at}.algorithms"), &rule.algorithms.unwrap_or_default(), algorithm),
                claims,
                profile: self.required(&format!("{at}.profile"), rule.profile),
            };
            self.profile_name(&format!("{at}.profile"), &rule.profile, profiles);
            let jwks = format!("{at}.jwks");
            if rule.jwks.starts_with("https://") {
                if let Err(refusal) = HttpUrl::parse(&rule.jwks) {
                    self.fault(&jwks, refusal.message);
                }
            } else if rule.jwks.contains("://") {
                self.fault(&jwks, "keys are read over https or from a file, for who can change them can forge every caller");
            }
            // A token that fits both has no access, so the later rule would be dead for every caller of the earlier.
            let same = |other: &&OAuth| (&other.issuer, &other.audience, &other.claims) == (&rule.issuer, &rule.audience, &rule.claims);
            if rules.iter().any(|other| same(&other) && other.profile != rule.profile) {
                self.fault(&at, "two rules fit the same tokens and give different profiles; such a token would have no access");
            }
            rules.push(rule);
        }
        rules
    }

    /// An issuer is an address (RFC 8414, section 2). An `@` in it could not be told from the one that ends a subject in the name of a caller.
    fn issuer(&mut self, at: &str, text: Option<String>) -> String {
        let text = self.required(at, text);
        let is_issuer = |address: &url::Url| {
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
        let fits = whole && url::Url::parse(&text).as_ref().is_ok_and(is_issuer);
        if !fits && !text.trim().is_empty() {
            let what = format!("`{}` is no issuer; write the `iss` of its tokens, e.g. `https://id.example.com`", text.escape_debug());
            self.fault(at, what);
        }
        text
    }

    pub(super) fn profiles(&mut self, written: BTreeMap<String, raw::Profile>, roots: &BTreeMap<String, Root>) -> Profiles {
        let mut profiles = BTreeMap::new();
        for (name, profile) in written {
            let at = format!("profiles.{name}");
            if name.trim().is_empty() || !self.printable(&at, &name) {
                self.fault(&at, "the name of a profile is not empty and holds no control character");
            }
            if name == "none" {
                self.fault(&at, "`none` means no access in `[clients]` and cannot be the name of a profile");
            }
            let names = profile.permissions.unwrap_or_default();
            let flags = names.iter().filter_map(|name| Flags::parse(name)).fold(Flags::NONE, Flags::union);
            let allowed_tools = self.tool_patterns(&format!("{at}.allowed_tools"), profile.allowed_tools);
            let denied_tools = self.tool_patterns(&format!("{at}.denied_tools"), profile.denied_tools);
            if let Some(given) = &profile.roots {
                for (index, root) in given.iter().enumerate().filter(|(_, root)| !roots.contains_key(*root)) {
                    self.unknown(&format!("{at}.roots[{index}]"), "root of this manifest", root, roots.keys().map(String::as_str));
                }
            }
            let bounds = Bounds {
                rate_per_minute: profile.rate_limit_per_minute,
                rate_per_hour: profile.rate_limit_per_hour,
                max_file_size: self.bytes(&format!("{at}.max_file_size"), profile.max_file_size.as_ref()),
                max_answer: self.bytes(&format!("{at}.max_answer"), profile.max_answer.as_ref()),
                timeout: self.time(&format!("{at}.timeout"), profile.timeout.as_ref()),
                write_per_hour: self.bytes(&format!("{at}.write_per_hour"), profile.write_per_hour.as_ref()),
                egress_per_hour: self.bytes(&format!("{at}.egress_per_hour"), profile.egress_per_hour.as_ref()),
                cpu_per_hour: self.time(&format!("{at}.cpu_per_hour"), profile.cpu_per_hour.as_ref()),
                concurrent_calls: profile.concurrent_calls,
            };
            profiles.insert(name, Profile { permissions: flags, allowed_tools, denied_tools, roots: profile.roots, bounds });
        }
        profiles
    }

    /// A pattern that matches no tool could never do anything: a slip of the pen.
    fn tool_patterns(&mut self, at: &str, written: Option<Vec<String>>) -> Vec<NamePattern> {
        let mut patterns = Vec::new();
        for (index, text) in written.unwrap_or_default().into_iter().enumerate() {
            let pattern = NamePattern::new(text.clone());
            if !self.specs.iter().any(|spec| pattern.matches(spec.name)) {
                let at = format!("{at}[{index}]");
                let known = self.tool_names();
                let near = crate::model::nearest(&text, known);
                self.ledger.fault_near(&at, format!("`{}` matches no tool", text.escape_debug()), near);
            }
            patterns.push(pattern);
        }
        patterns
    }

    pub(super) fn tools(&mut self, written: BTreeMap<String, raw::Tool>) -> BTreeMap<String, ToolRules> {
        let mut tools = BTreeMap::new();
        for (name, tool) in written {
            let at = format!("tools.{name}");
            let Some(spec) = self.spec(&name).copied() else {
                let known = self.tool_names();
                self.unknown(&at, "tool", &name, known);
                continue;
            };
            let mut arguments = BTreeMap::new();
            for (argument, rule) in tool.allowed_arguments.unwrap_or_default() {
                let at = format!("{at}.allowed_arguments.{argument}");
                if !spec.arguments.iter().any(|known| known.name == argument) {
                    let kind = format!("argument of `{name}`");
                    self.unknown(&at, &kind, &argument, spec.arguments.iter().map(|known| known.name));
                    continue;
                }
                if let Some(rule) = self.argument_rule(&at, rule) {
                    arguments.insert(argument, rule);
                }
            }
            if tool.remember == Some(raw::Remember::Envelope) && name != "run_python" {
                self.fault(&format!("{at}.remember"), "only `run_python` has an envelope; write `session` or `off`");
            }
            let rules = ToolRules {
                level: tool.level.and_then(Level::from_number),
                remember: tool.remember.map(remember),
                arguments,
                only_listed: tool.only_listed.unwrap_or(false),
                bounds: Bounds {
                    rate_per_minute: tool.rate_limit_per_minute,
                    rate_per_hour: tool.rate_limit_per_hour,
                    max_file_size: self.bytes(&format!("{at}.max_file_size"), tool.max_file_size.as_ref()),
                    max_answer: self.bytes(&format!("{at}.max_answer"), tool.max_answer.as_ref()),
                    timeout: self.time(&format!("{at}.timeout"), tool.timeout.as_ref()),
                    ..Bounds::default()
                },
            };
            tools.insert(name, rules);
        }
        tools
    }

    fn argument_rule(&mut self, at: &str, rule: raw::ArgumentRule) -> Option<ArgumentRule> {
        let bounds = match rule {
            raw::ArgumentRule::Listed(values) if values.is_empty() => {
                self.fault(at, "the list is empty, so every call would be refused; deny the tool instead");
                return None;
            }
            raw::ArgumentRule::Listed(values) => return Some(ArgumentRule::Listed(values)),
            raw::ArgumentRule::Bounded(bounds) => bounds,
        };
        let crossed = |min: Option<f64>, max: Option<f64>| matches!((min, max), (Some(min), Some(max)) if min > max);
        let f64_of = |number: &Option<Number>| number.as_ref().and_then(Number::as_f64);
        let numbers = bounds.min.is_some() || bounds.max.is_some();
        let lengths = bounds.min_length.is_some() || bounds.max_length.is_some();
        let lengths_crossed = matches!((bounds.min_length, bounds.max_length), (Some(min), Some(max)) if min > max);
        if numbers == lengths {
            self.fault(at, "write `min` and `max` for a number, or `min_length` and `max_length` for a text");
            None
        } else if crossed(f64_of(&bounds.min), f64_of(&bounds.max)) || lengths_crossed {
            self.fault(at, "the least is greater than the most, so every call would be refused");
            None
        } else if numbers {
            Some(ArgumentRule::Range { min: bounds.min, max: bounds.max })
        } else {
            Some(ArgumentRule::Length { min: bounds.min_length, max: bounds.max_length })
        }
    }

    pub(super) fn tests(&mut self, written: Vec<raw::Test>, profiles: &Profiles, roots: &BTreeMap<String, Root>) -> Vec<Test> {
        let mut tests = Vec::new();
        for (index, test) in written.into_iter().enumerate() {
            let at = format!("test[{index}]");
            let profile = self.required(&format!("{at}.profile"), test.profile);
            self.profile_name(&format!("{at}.profile"), &profile, profiles);
            let call = test.call.unwrap_or_default();
            let key = format!("{at}.call.tool");
            let tool = self.required(&key, call.tool);
            if !tool.is_empty() && self.spec(&tool).is_none() {
                let known = self.tool_names();
                self.unknown(&key, "tool", &tool, known);
            }
            if test.reason.as_deref() != Some(Code::PathOutsideRoots.as_str()) {
                self.roots_of_paths(&format!("{at}.call.args"), call.args.as_ref(), roots);
            }
            if test.expect.is_none() && !self.ledger.spans.holds(&format!("{at}.expect")) {
                self.fault(&format!("{at}.expect"), "`expect` is missing; write `allow`, `ask` or `deny`");
            }
            if let Some(reason) = test.reason.as_deref().filter(|reason| Code::parse(reason).is_none()) {
                self.unknown(&format!("{at}.reason"), "code", reason, Code::ALL.iter().map(|code| code.as_str()));
            }
            let expect = match test.expect {
                Some(raw::Expect::Allow) => "allow",
                Some(raw::Expect::Ask) => "ask",
                _ => "deny",
            };
            tests.push(Test {
                name: test.name,
                profile,
                tool,
                args: call.args.unwrap_or_default(),
                expect: expect.to_owned(),
                reason: test.reason,
                level: test.level,
                state: test.state.map(Value::Object),
            });
        }
        tests
    }

    /// A test whose path is in a root that is nearly one of the manifest's is refused for another reason than it was written for.
    fn roots_of_paths(&mut self, at: &str, args: Option<&serde_json::Map<String, Value>>, roots: &BTreeMap<String, Root>) {
        for name in PATHS {
            let value = args.and_then(|args| args.get(name));
            let listed = value.and_then(Value::as_array).into_iter().flatten();
            for path in value.into_iter().chain(listed).filter_map(Value::as_str) {
                let root = path.split('/').next().unwrap_or_default();
                let near = crate::model::nearest(root, roots.keys().map(String::as_str));
                if !root.is_empty() && !roots.contains_key(root) && near.is_some() {
                    let what = format!(
                        "`{}` is no root of this manifest; where that is meant, write `reason = \"path_outside_roots\"`",
                        root.escape_debug()
                    );
                    self.ledger.fault_near(&format!("{at}.{name}"), what, near);
                }
            }
        }
    }
}

/// The arguments that hold paths.
const PATHS: [&str; 5] = ["path", "paths", "from", "to", "save_to"];

pub(super) fn remember(written: raw::Remember) -> Remember {
    match written {
        raw::Remember::Session => Remember::Session,
        raw::Remember::Envelope => Remember::Envelope,
        raw::Remember::Off => Remember::Off,
    }
}

/// The longest name of a token, in characters.
const LONGEST_NAME: usize = 200;

/// A signature of which the verifier knows no secret: with a shared one, whoever verifies could forge.
fn algorithm(name: &str) -> Result<String, String> {
    const KNOWN: [&str; 9] = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];
    if KNOWN.contains(&name) {
        return Ok(name.to_owned());
    }
    Err(format!("`{}` is no accepted algorithm; those are {}", name.escape_debug(), KNOWN.join(", ")))
}

/// 64 hexadecimal digits as bytes.
pub(super) fn digest(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0_u8; 32];
    if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}
