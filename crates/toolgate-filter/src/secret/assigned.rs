//! Secrets that only their names show: `password = …`, `"api_key": "…"`.

use std::ops::Range;

use super::named_key::{is_drawn, names_a_credential, names_a_service};
use super::strength::{classes, entropy, is_program_text, is_stand_in};
use super::words::{WORDS, is_no_key};
use super::{found, head, places};
use crate::finding::{Finding, floor};

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
    // A parameter of an address ends at the next one.
    let is_parameter = text.get(..name_start)?.ends_with(['?', '&']);
    let value = value_at(text, from, promise == Promise::Password && !is_parameter)?;
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
            let ordinary =
                is_program_text(token) && !((quoted || is_parameter) && mixed && !token.contains(['(', '<', '[', '{', ':', '/', '.']));
            token.len() >= 6 && !ordinary && (mixed || (signs && classes(token) >= 2)) && entropy(token) >= 2.3
        }
        Promise::NamedKey => {
            let (name, rest) = (text.get(name_start..end)?, text.get(end..)?);
            let line = text.get(value.1..)?.starts_with(['\n', '\r']) || value.1 == text.len();
            // A setting in YAML, which ends its line; in program text a name of that form does not stand before a colon.
            let setting = rest.starts_with(": ") && name.contains(['_', '-']) && line;
            is_drawn(token)
                && (names_a_credential(name) && (quoted || rest.starts_with('=') || setting)
                    || rest.starts_with('=') && (is_parameter && name.len() == 3 || names_a_service(name)))
        }
        Promise::Key => {
            let long = token.len() >= 16 && entropy(token) >= 3.0;
            let marked = token.len() >= 12 && quoted && classes(token) >= 3 && entropy(token) >= 3.2;
            let name = text.get(floor(text, name_start.saturating_sub(64))..end)?;
            mixed && (long || marked) && !is_program_text(token) && !is_no_key(name, token)
        }
    };
    if !fits {
        return None;
    }
    let name = text.get(name_start..end).unwrap_or_default().to_ascii_lowercase();
    let sub = if name.contains("aws") && value.1 - value.0 == 40 { "aws-secret" } else { "credential" };
    Some(found(sub, value.0, value.1, if quoted { 0.85 } else { 0.75 }))
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
