//! Secrets that only their names show: `password = …`, `"api_key": "…"`.

use std::ops::Range;

use super::named_key::{is_drawn, names_a_credential, names_a_service};
use super::strength::{classes, entropy, is_program_text, is_stand_in};
use super::words::WORDS;
use super::{found, head, places};
use crate::finding::Finding;

/// What a name promises about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Promise {
    /// Chosen by a person: may be short.
    Password,
    /// Made by a machine: long and mixed.
    Key,
    /// The key of something the name says: `vendorKey`, `WEATHER_KEY`. Lookup keys are named alike.
    NamedKey,
}

/// Every promise, in the order of [`names`].
pub(super) const PROMISES: [Promise; 3] = [Promise::Password, Promise::Key, Promise::NamedKey];

/// The names of each promise, as they end.
pub(super) fn names() -> [&'static [String]; PROMISES.len()] {
    [&WORDS.names.password, &WORDS.names.key, &WORDS.names.named_key]
}

/// How far values were read, and how many names stood inside them.
#[derive(Debug, Default)]
pub(super) struct Reach {
    to: usize,
    inside: usize,
}

impl Reach {
    /// Names that are looked into inside the value of another: `secret: token=…`. A value of nothing but names is not read once for each.
    const MOST_INSIDE: usize = 4;

    /// Whether the name at `start` is looked into.
    pub(super) fn takes(&mut self, start: usize) -> bool {
        self.inside = if start < self.to { self.inside + 1 } else { 0 };
        self.inside <= Self::MOST_INSIDE
    }
}

/// Whether digits and letters both stand in a value.
fn is_mixed(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit()) && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// The secret that the name ending with the keyword at `start..end` assigns.
pub(super) fn finding(text: &str, promise: Promise, start: usize, end: usize, reach: &mut Reach) -> Option<Finding> {
    let name = name_start(text, start)..end;
    places::values(text, start, end).find_map(|value| assigned(text, name.clone(), value, promise, reach))
}

/// The value that begins at `from`, if it is a secret.
fn assigned(text: &str, name: Range<usize>, from: usize, promise: Promise, reach: &mut Reach) -> Option<Finding> {
    let (name_start, end) = (name.start, name.end);
    let parameter = promise == Promise::Password && is_parameter(text, name_start);
    // A parameter ends at the next one.
    let next = text
        .get(from..)
        .filter(|_| parameter)
        .and_then(|rest| rest.find(|c: char| c.is_whitespace() || matches!(c, '&' | ';' | '"' | '\'' | '`' | '<' | '>' | ',' | '|')));
    let until = next.map_or(text, |next| text.get(..from + next).unwrap_or(text));
    let value = value_at(until, from, promise == Promise::Password)?;
    reach.to = reach.to.max(value.1);
    let token = head(text.get(value.0..value.1)?);
    if is_stand_in(token) {
        return None;
    }
    let quoted = text.as_bytes().get(value.0.wrapping_sub(1)).is_some_and(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let mixed = is_mixed(token);
    let signs = token.bytes().any(|byte| matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'?' | b'~'));
    let fits = match promise {
        Promise::Password => {
            let ordinary = is_program_text(token) && !(quoted && mixed && !token.contains(['(', '<', '[', '{', ':', '/', '.']));
            let short = parameter && mixed && token.len() >= 4 && token.bytes().all(|byte| byte.is_ascii_alphanumeric());
            short || token.len() >= 6 && !ordinary && !is_type(token) && (mixed || (signs && classes(token) >= 2)) && entropy(token) >= 2.3
        }
        Promise::NamedKey => {
            let (name, rest) = (text.get(name_start..end)?, text.get(end..)?);
            let parameter = name.len() == 3 && text.get(..name_start)?.ends_with(['?', '&']);
            let line = text.get(value.1..)?.starts_with(['\n', '\r']) || value.1 == text.len();
            // A setting in YAML, which ends its line; in program text a name of that form does not stand before a colon.
            let setting = rest.starts_with(": ") && name.contains(['_', '-']) && line;
            is_drawn(token)
                && (names_a_credential(name) && (quoted || rest.starts_with('=') || setting)
                    || rest.starts_with('=') && (parameter || names_a_service(name)))
        }
        Promise::Key => {
            let long = token.len() >= 16 && entropy(token) >= 3.0;
            let marked = token.len() >= 12 && quoted && classes(token) >= 3 && entropy(token) >= 3.2;
            mixed
                && (long || marked)
                && !is_program_text(token)
                && !is_member(token)
                && !is_type_of_key(token)
                && !is_uuid_or_digest_of_something(text, name_start, token)
        }
    };
    if !fits {
        return None;
    }
    let name = text.get(name_start..end).unwrap_or_default().to_ascii_lowercase();
    let sub = if name.contains("aws") && value.1 - value.0 == 40 { "aws-secret" } else { "credential" };
    Some(found(sub, value.0, value.1, if quoted { 0.85 } else { 0.75 }))
}

/// Whether a name is that of a parameter in the address of a database: what follows is a value, and no program text.
fn is_parameter(text: &str, name_start: usize) -> bool {
    const REACH: usize = 160;
    let before = text.get(crate::finding::floor(text, name_start.saturating_sub(REACH))..name_start).unwrap_or_default();
    let address = before.rsplit(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).next().unwrap_or_default();
    crate::work::read(before.len());
    before.ends_with(['?', '&', ';']) && address.contains("jdbc:")
}

/// `Ed25519PrivateKey.generate`, `module.X25519PrivateKey`: names joined by stops, the first or the last of them a plain word.
fn is_member(token: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let is_word = |part: &str| part.len() >= 3 && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let ends = token.split_once('.').zip(token.rsplit_once('.'));
    ends.is_some_and(|((first, _), (_, last))| (is_word(first) || is_word(last)) && token.split('.').all(is_name))
}

/// GraphQL's types of values that must be there.
fn is_type(token: &str) -> bool {
    matches!(token, "String!" | "Int!" | "Float!" | "Boolean!" | "ID!")
}

/// A next-page token or a csrf name is not a credential worth masking.
fn is_uuid_or_digest_of_something(text: &str, name_start: usize, token: &str) -> bool {
    let name = text.get(name_start..).unwrap_or_default().trim_start_matches('-');
    let harmless = ["page", "continuation", "csrf", "xsrf", "cancellation", "public", "client-token", "client-request"];
    let word: String = name.chars().take(24).collect::<String>().to_ascii_lowercase();
    // `NEXTAUTH_SECRET` is one of a library that is called so.
    let next = word.starts_with("next") && !["nextauth", "next_auth", "next-auth"].iter().any(|start| word.starts_with(start));
    next || is_resource(text, name_start)
        || harmless.iter().any(|start| word.starts_with(start))
        || token.starts_with("sha256:")
        || token.starts_with("sha512-")
}

/// Whether a name is the last part of the type of a resource: `"AWS::IAM::AccessKey"`.
fn is_resource(text: &str, name_start: usize) -> bool {
    let before = text.get(crate::finding::floor(text, name_start.saturating_sub(64))..name_start).unwrap_or_default();
    let path = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == ':');
    before.ends_with("::") && path.ends_with(['"', '\''])
}

/// `Ed25519PrivateKey`, `PKCS7PrivateKeyTypes`: the name of a type, with the number of a standard in it.
fn is_type_of_key(token: &str) -> bool {
    const KINDS: &[&str] = &["PrivateKey", "PublicKey", "SecretKey", "SymmetricKey"];
    let numbers = token.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty()).count();
    token.len() <= 40
        && numbers <= 1
        && token.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && KINDS.iter().any(|kind| token.contains(kind))
}

/// Where the name that ends with the keyword begins.
fn name_start(text: &str, start: usize) -> usize {
    let before = text.get(..start).unwrap_or_default();
    let back = before.bytes().rev().take(48).take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')).count();
    start - back
}

/// The value from `start`: to the closing quote when a quote opened it, else to a blank or a closing sign.
fn value_at(text: &str, start: usize, signs: bool) -> Option<(usize, usize)> {
    let rest = text.get(start..)?;
    let opened = start.checked_sub(1).and_then(|at| text.as_bytes().get(at)).copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let length = rest
        .char_indices()
        .find(|&(_, character)| match opened {
            Some(quote) => character == char::from(quote) || matches!(character, '\n' | '\r' | ' '),
            None => {
                character.is_whitespace()
                    || !character.is_ascii()
                    || matches!(character, '"' | '\'' | '`' | ';' | ',' | '<' | '>' | '|')
                    || (!signs && matches!(character, '&' | ')' | '}' | ']' | '(' | '{' | '['))
            }
        })
        .map_or(rest.len(), |(at, _)| at);
    crate::work::read(length);
    let value = rest.get(..length)?;
    let value = if opened.is_none() { value.trim_end_matches(['.', ':', '?', ')', ']', '}']) } else { value };
    (!value.is_empty()).then_some((start, start + value.len()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found_in;

    #[test]
    fn the_block_of_a_yaml_key_is_its_value_and_sentences_are_none() {
        for (text, secret) in [
            ("db:\n  password: |\n    tG4#xw8Kd!Zq1nPy\n  port: 1\n", "tG4#xw8Kd!Zq1nPy"),
            ("password: >-\n  tG4#xw8Kd!Zq1nPy", "tG4#xw8Kd!Zq1nPy"),
            ("- api_key: |2-\r\n    q7WxTnc2V8bRy4HsJ5\r\n", "q7WxTnc2V8bRy4HsJ5"),
            ("\"secret\": |+\n    q7WxTnc2V8bRy4HsJ5\n", "q7WxTnc2V8bRy4HsJ5"),
        ] {
            assert_eq!(found_in(text), [("credential", secret)], "{text}");
        }
        for text in [
            "password: |\n  Enter your new password4 here\n",
            "  password: |\nhunter2!x9\n",
            "token: string | null\n  q7WxTnc2V8bRy4HsJ5\n",
        ] {
            assert_eq!(found_in(text), [], "{text}");
        }
    }

    #[test]
    fn a_uuid_is_a_secret_under_a_name_of_one_and_an_id_under_others() {
        const UUID: &str = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
        for name in ["API_KEY=", "api_key: ", "x-api-key: ", "HEROKU_API_KEY=", "auth_token = "] {
            assert_eq!(found_in(&format!("{name}{UUID}")), [("credential", UUID)], "{name}");
        }
        for name in ["id: ", "primary_key = ", "request=", "serviceKey: "] {
            assert_eq!(found_in(&format!("{name}{UUID}")), [], "{name}");
        }
    }
}
