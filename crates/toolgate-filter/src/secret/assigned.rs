//! Secrets that only their names show: `password = …`, `"api_key": "…"`.

use std::ops::Range;

use super::named_key::{is_drawn, names_a_credential, names_a_service};
use super::strength::{classes, entropy, is_program_text, is_stand_in};
use super::words::WORDS;
use super::{found, head, literal, placed};
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

/// `name = value`, `"name": "value"`, `name is value`, `名:值`.
pub(super) fn finding(text: &str, promise: Promise, start: usize, end: usize, reach: &mut Reach) -> Option<Finding> {
    let name_start = name_start(text, start);
    let name = name_start..end;
    // What reads like a type or a field beside the name may be its value, so each place is judged until one holds a secret.
    let judged = |place: Option<(usize, bool)>, reach: &mut Reach| assigned(text, name.clone(), place?, promise, reach);
    judged(placed::value(text, name_start, end), reach)
        .or_else(|| judged(after_sign(text, end), reach))
        .or_else(|| judged(in_block(text, name_start, end), reach))
        .or_else(|| judged(after_other_sign(text, name_start, end), reach))
        .or_else(|| judged(literal::value(text, name_start, end), reach))
}

/// The value at this place, which a quote opened or not, if it is a secret.
fn assigned(text: &str, name: Range<usize>, place: (usize, bool), promise: Promise, reach: &mut Reach) -> Option<Finding> {
    let (name_start, end) = (name.start, name.end);
    let (value_at_, quoted_by_sign) = place;
    let parameter = promise == Promise::Password && is_parameter(text, name_start);
    // A parameter ends at the next one.
    let next = text
        .get(value_at_..)
        .filter(|_| parameter)
        .and_then(|rest| rest.find(|c: char| c.is_whitespace() || matches!(c, '&' | ';' | '"' | '\'' | '`' | '<' | '>' | ',' | '|')));
    let until = next.map_or(text, |next| text.get(..value_at_ + next).unwrap_or(text));
    let value = value_at(until, value_at_, promise == Promise::Password)?;
    reach.to = reach.to.max(value.1);
    let token = head(text.get(value.0..value.1)?);
    if is_stand_in(token) {
        return None;
    }
    let quoted = quoted_by_sign || text.as_bytes().get(value.0.wrapping_sub(1)).is_some_and(|byte| matches!(byte, b'"' | b'\'' | b'`'));
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

/// As [`after_sign`] where a tag, a space, a comma or a bracket stands between them: `<name>value</name>`, `--name value`, `ENV NAME value`,
/// `define('NAME', 'value')`, `setName("value")`.
fn after_other_sign(text: &str, name_start: usize, end: usize) -> Option<(usize, bool)> {
    let (before, rest) = (text.get(..name_start)?, text.get(end..)?);
    if before.ends_with('<') && rest.starts_with('>') {
        let closes = rest.find('<').is_some_and(|at| rest.get(at..).is_some_and(|tag| tag.starts_with("</")));
        return closes.then_some((end + 1, false));
    }
    let option = text.get(name_start..end)?.starts_with("--") || before.ends_with("ENV ");
    if option && rest.starts_with(' ') && !rest.starts_with(" -") {
        let quote = rest.get(1..)?.starts_with(['"', '\'']);
        return Some((end + 1 + usize::from(quote), quote));
    }
    let is_setter = || ["set", "with"].iter().any(|verb| text.get(name_start..).is_some_and(|name| name.starts_with(verb)));
    if let Some(call) = rest.strip_prefix('(').filter(|call| call.starts_with(['"', '\'']) && is_setter()) {
        // Of several arguments the first may be something else.
        let literal = call.get(1..)?;
        let quote = call.chars().next()?;
        let length = literal.find(|c: char| c == quote || c.is_whitespace())?;
        return literal.get(length..)?.strip_prefix(quote)?.starts_with(')').then_some((end + 2, true));
    }
    let quote = before.chars().next_back().filter(|sign| matches!(sign, '"' | '\''))?;
    let value = rest.strip_prefix(quote)?.strip_prefix(',')?.trim_start_matches(' ').strip_prefix(quote)?;
    let marked = before.strip_suffix(quote)?.ends_with('(') && classes(head(value.split(quote).next()?)) >= 3;
    marked.then(|| (text.len() - value.len(), true))
}

/// The first line of a block of YAML: `name: |` or `name: >-`, and the text further in on the next line.
fn in_block(text: &str, name_start: usize, end: usize) -> Option<(usize, bool)> {
    let rest = text.get(end..)?;
    let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest).strip_prefix(':')?.trim_start_matches(' ').strip_prefix(['|', '>'])?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | ' ' | '\r')).strip_prefix('\n')?;
    let line = text.get(..name_start)?.rsplit('\n').next()?;
    let value = rest.trim_start_matches(' ');
    let is_further_in = rest.len() - value.len() > line.len() - line.trim_start_matches([' ', '-']).len();
    // A sentence is no secret: the line holds one word.
    let is_one_word = value.lines().next().is_some_and(|line| !line.is_empty() && !line.trim_end().contains(' '));
    (is_further_in && is_one_word).then(|| (text.len() - value.len(), false))
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

/// Steps over what stands between a name and its value. Gives where the value starts, and whether a quote opened it.
fn after_sign(text: &str, end: usize) -> Option<(usize, bool)> {
    let rest = text.get(end..)?;
    let mut sign = false;
    let mut quote = false;
    for (at, character) in rest.char_indices().take(16) {
        match character {
            '"' | '\'' | '`' if !sign => {}
            '"' | '\'' | '`' => {
                quote = true;
                return Some((end + at + 1, quote));
            }
            ' ' | '\t' | '>' | '\\' if sign => {}
            ' ' | '\t' | '\\' | ']' | ')' => {}
            ':' | '=' | '：' | '是' | '为' | '為' => sign = true,
            '%' if !sign && rest.get(at + 1..at + 3).is_some_and(|code| matches!(code, "3D" | "3d" | "3A" | "3a")) => {
                return Some((end + at + 3, false));
            }
            _ if sign => return Some((end + at, quote)),
            'i' if rest.get(at..).is_some_and(|word| word.starts_with("is ") || word.starts_with("is:")) => {
                let after = end + at + 3;
                let opened = text.as_bytes().get(after).is_some_and(|byte| matches!(byte, b'"' | b'\'' | b'`'));
                return Some((after + usize::from(opened), opened));
            }
            _ => return None,
        }
    }
    None
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
