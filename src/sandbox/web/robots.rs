//! `robots.txt` (RFC 9309): what a site asks of programs that read it on their own.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Denied;
use crate::model::{Code, HttpUrl, Refusal};

/// The rules of one site that are meant for us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Robots {
    rules: Vec<Rule>,
    reachable: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    allow: bool,
    pattern: String,
}

impl Robots {
    /// A site without rules.
    pub(super) fn open() -> Self {
        Self { rules: Vec::new(), reachable: true }
    }

    /// A site whose rules cannot be read.
    pub(super) fn closed() -> Self {
        Self { rules: vec![Rule { allow: false, pattern: "/".to_owned() }], reachable: false }
    }

    /// Reads the groups for our name, or else those for `*`; groups of one name add up (RFC 9309, section 2.2.1).
    pub(super) fn parse(text: &str) -> Self {
        let (mut ours, mut everyone) = (Vec::new(), Vec::new());
        let (mut named, mut starred, mut in_rules, mut seen_us) = (false, false, false, false);
        for line in text.trim_start_matches('\u{feff}').lines().take(MAX_LINES) {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = line.split_once(':') else { continue };
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            match key.as_str() {
                "user-agent" => {
                    if in_rules {
                        (named, starred, in_rules) = (false, false, false);
                    }
                    starred |= value == "*";
                    named |= value.split('/').next().is_some_and(|product| product.eq_ignore_ascii_case(PRODUCT));
                    seen_us |= named;
                }
                "allow" | "disallow" => {
                    in_rules = true;
                    if value.is_empty() {
                        continue;
                    }
                    let rule = Rule { allow: key == "allow", pattern: normal(value) };
                    if named {
                        ours.push(rule);
                    } else if starred {
                        everyone.push(rule);
                    }
                }
                _ => {}
            }
        }
        Self { rules: if seen_us { ours } else { everyone }, reachable: true }
    }

    /// The longest matching rule decides, `allow` on a tie; `/robots.txt` itself is always allowed.
    pub(super) fn judge(&self, url: &HttpUrl) -> Result<(), Denied> {
        let target = normal(&url.target());
        let matching = self.rules.iter().filter(|rule| matches(&rule.pattern, &target));
        let decides = matching.max_by_key(|rule| (rule.pattern.len(), rule.allow));
        if target == "/robots.txt" || decides.is_none_or(|rule| rule.allow) {
            return Ok(());
        }
        let (message, hint) = if self.reachable {
            (format!("the site `{}` asks programs not to read this page", url.origin()), "read another page, or ask the person to open it")
        } else {
            (format!("the robots.txt of `{}` cannot be read, so no page of it is read", url.origin()), "try again later")
        };
        Err(Refusal::new(Code::RobotsDisallowed, message).rule("network.robots").hint(hint).into())
    }
}

/// What was read of sites, for an hour, for at most 64 of them.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<HashMap<String, (Instant, Arc<Robots>)>>);

impl Cache {
    pub(super) fn get(&self, url: &HttpUrl) -> Option<Arc<Robots>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&url.origin()).filter(|(since, _)| since.elapsed() < FRESH).map(|(_, robots)| Arc::clone(robots))
    }

    pub(super) fn put(&self, url: &HttpUrl, robots: &Arc<Robots>) {
        if !robots.reachable {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_SITES {
            known.clear();
        }
        known.insert(url.origin(), (Instant::now(), Arc::clone(robots)));
    }
}

/// Percent-encoding in one form, so that `%7E` and `~`, `%2a` and `%2A` compare as RFC 9309 section 2.2.2 asks.
fn normal(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let decoded = match (byte, ahead.next().and_then(hex), ahead.next().and_then(hex)) {
            (b'%', Some(high), Some(low)) => Some(high * 16 + low),
            _ => None,
        };
        match decoded {
            Some(plain) => {
                bytes = ahead;
                if plain.is_ascii_alphanumeric() || matches!(plain, b'-' | b'.' | b'_' | b'~') {
                    normal.push(char::from(plain));
                } else {
                    let _ = write!(normal, "%{plain:02X}");
                }
            }
            None if byte.is_ascii() => normal.push(char::from(byte)),
            None => {
                let _ = write!(normal, "%{byte:02X}");
            }
        }
    }
    normal
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// `*` is any run, a final `$` the end; everything else is a prefix. Greedy from left to right, so linear in pattern parts.
fn matches(pattern: &str, target: &str) -> bool {
    let (pattern, to_end) = pattern.strip_suffix('$').map_or((pattern, false), |pattern| (pattern, true));
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| target.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return !to_end || rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() && to_end {
            return rest.ends_with(part);
        }
        let Some((_, after)) = (if part.is_empty() { Some(("", rest)) } else { rest.split_once(part) }) else { return false };
        rest = after;
    }
    true
}

/// The name sites know us by.
const PRODUCT: &str = "toolgate";

const FRESH: Duration = Duration::from_hours(1);
const MAX_SITES: usize = 64;
const MAX_LINES: usize = 20_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(robots: &Robots, target: &str) -> bool {
        robots.judge(&HttpUrl::parse(&format!("https://a.example{target}")).unwrap()).is_ok()
    }

    #[test]
    fn the_longest_rule_decides_and_allow_wins_a_tie() {
        let robots = Robots::parse(
            "User-agent: *\nDisallow: /a # no\nAllow: /a/b\nDisallow: /*.gif$\nDisallow: /tie\nAllow: /tie\nDisallow: /q?x=*&y\n",
        );
        let targets = ["/", "/a", "/abc", "/a/b/c", "/x.gif", "/x.gif?1", "/tie", "/q?x=1", "/q?x=1&y=2", "/robots.txt"];
        assert_eq!(targets.map(|target| allowed(&robots, target)), [true, false, false, true, false, true, true, true, false, true]);
    }

    #[test]
    fn a_group_of_our_own_name_replaces_the_group_for_all() {
        let robots = Robots::parse(
            "user-agent: other\nuser-agent: ToolGate/1.0\ndisallow: /x\n\nuser-agent: *\ndisallow: /\n\nuser-agent: toolgate\ndisallow: /y",
        );
        assert_eq!(["/", "/x", "/y"].map(|target| allowed(&robots, target)), [true, false, false]);
        assert!(allowed(&Robots::parse("user-agent: *\ndisallow:"), "/"));
        assert!(!allowed(&Robots::closed(), "/") && allowed(&Robots::open(), "/"));
    }

    #[test]
    fn escapes_compare_in_one_form() {
        let robots = Robots::parse("user-agent: *\ndisallow: /%7ejoe\ndisallow: /caf%c3%a9\ndisallow: /ü");
        assert_eq!(["/~joe", "/café", "/%c3%bc", "/joe"].map(|target| allowed(&robots, target)), [false, false, false, true]);
    }
}
