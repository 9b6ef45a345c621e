//! Secrets of files whose form says where they stand: password files, `.netrc`, `.pgpass`, Kubernetes Secrets, Docker's log-ins.
//!
//! # Source
//! crypt(5), shadow(5), netrc(5), htpasswd(1), `PostgreSQL` "The Password File", the Kubernetes API reference (Secret v1),
//! Docker's `config.json`, Microsoft Entra's form of client secrets.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::strength::{entropy, is_stand_in};
use super::{edge, found, head};
use crate::finding::{Finding, ceil, floor};

/// What a file's form begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `name:$id$salt$hash`, `name:{SSHA}…`
    PasswordFile,
    /// `machine HOST login NAME password SECRET`
    Netrc,
    /// `host:port:database:user:password`
    Pgpass,
    /// `kind: Secret` beside `data` and `stringData`
    Kubernetes,
    /// `"auth": "base64 of name:password"`
    Docker,
    /// `abc8Q~…`
    Entra,
}

/// The beginnings; compared to the letter.
const FORMS: &[(&str, Form)] = &[
    (":$", Form::PasswordFile),
    (":!$", Form::PasswordFile),
    (":{SHA}", Form::PasswordFile),
    (":{SSHA", Form::PasswordFile),
    ("machine ", Form::Netrc),
    ("default login ", Form::Netrc),
    (":5432:", Form::Pgpass),
    (":5433:", Form::Pgpass),
    (":6432:", Form::Pgpass),
    (":*:", Form::Pgpass),
    ("kind: Secret", Form::Kubernetes),
    ("\"kind\":\"Secret\"", Form::Kubernetes),
    ("\"kind\": \"Secret\"", Form::Kubernetes),
    ("\"auth\"", Form::Docker),
    ("Q~", Form::Entra),
];

/// The beginnings, in the order of their numbers.
pub(super) fn starts() -> impl Iterator<Item = &'static str> {
    FORMS.iter().map(|(start, _)| *start)
}

/// Finds the secrets of the form with this number, whose beginning stands at `start..end`; Kubernetes Secrets are added to `objects`, to be
/// read by [`kubernetes`] when all are known.
pub(super) fn findings(text: &str, number: usize, start: usize, end: usize, objects: &mut Vec<usize>, out: &mut Vec<Finding>) {
    let Some((beginning, form)) = FORMS.get(number) else { return };
    if text.get(start..end) != Some(beginning) {
        return;
    }
    match form {
        Form::PasswordFile => out.extend(password_file(text, start)),
        Form::Netrc => netrc(text, start, out),
        Form::Pgpass => out.extend(pgpass(text, start)),
        Form::Kubernetes if text.as_bytes().get(end).is_some_and(u8::is_ascii_alphanumeric) => {}
        Form::Kubernetes => objects.push(start),
        Form::Docker => out.extend(docker(text, end)),
        Form::Entra => out.extend(entra(text, start)),
    }
}

/// How many bytes from `at` on are of a kind.
fn count_while(text: &str, at: usize, mut is_one: impl FnMut(u8) -> bool) -> usize {
    let length = text.as_bytes().get(at..).unwrap_or_default().iter().take_while(|byte| is_one(**byte)).count();
    crate::work::read(length);
    length
}

/// The hash after `name:` in a password file.
fn password_file(text: &str, colon: usize) -> Option<Finding> {
    const SCHEMES: &[&str] = &["1", "apr1", "2a", "2b", "2y", "5", "6", "7", "y", "gy", "sha1", "argon2i", "argon2d", "argon2id", "pbkdf2"];
    let named = text.as_bytes().get(colon.checked_sub(1)?).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let start = colon + 1 + usize::from(text.as_bytes().get(colon + 1) == Some(&b'!'));
    let length = count_while(text, start, |byte| byte.is_ascii_alphanumeric() || b"$./=,+-{}".contains(&byte));
    let hash = text.get(start..start + length)?;
    let body = match hash.strip_prefix('$') {
        // Compose files write each dollar sign twice.
        Some(rest) => {
            let (scheme, body) = rest.trim_start_matches('$').split_once('$')?;
            SCHEMES.contains(&scheme).then_some(body)?
        }
        None => hash.split_once('}')?.1,
    };
    (named && body.len() >= 20 && entropy(head(body)) >= 3.0).then(|| found("password-hash", start, start + length, 0.9))
}

/// The passwords of one `machine` of a `.netrc`.
fn netrc(text: &str, start: usize, out: &mut Vec<Finding>) {
    const WORDS: usize = 10;
    let Some(entry) = text.get(start..) else { return };
    let mut words = entry.split_ascii_whitespace().take(WORDS).peekable();
    if words.next() == Some("machine") && !words.next().is_some_and(|host| host.contains('.') || host == "localhost") {
        return;
    }
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        crate::work::read(key.len() + value.len());
        match key {
            "password" if !is_stand_in(head(value)) => {
                let from = value.as_ptr() as usize - text.as_ptr() as usize;
                out.push(found("netrc", from, from + value.len(), 0.9));
            }
            "login" | "account" | "password" => {}
            _ => return,
        }
    }
}

/// The fifth field of a line of a `.pgpass`.
fn pgpass(text: &str, at: usize) -> Option<Finding> {
    /// Bytes of the four fields before it.
    const LONGEST: usize = 256;
    let before = text.get(floor(text, at.saturating_sub(LONGEST))..at)?;
    let from = at - before.len() + before.rfind('\n').map_or(0, |line| line + 1);
    let line = text.get(from..ceil(text, from + 2 * LONGEST))?.lines().next()?;
    crate::work::read(line.len());
    let mut fields = Vec::with_capacity(4);
    let (mut begin, mut escaped) = (0, false);
    for (place, byte) in line.bytes().enumerate() {
        if byte == b':' && !escaped {
            fields.push(line.get(begin..place)?);
            begin = place + 1;
            if fields.len() == 4 {
                break;
            }
        }
        escaped = byte == b'\\' && !escaped;
    }
    let &[host, port, database, user] = fields.as_slice() else { return None };
    let word = |field: &str| {
        field == "*" || !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-/$@".contains(&byte))
    };
    let plain = word(host) && word(database) && word(user) && (port == "*" || port.bytes().all(|byte| byte.is_ascii_digit()));
    let named = user.bytes().any(|byte| byte.is_ascii_alphabetic());
    if !plain || !named {
        return None;
    }
    let (mut escaped, password_at) = (false, from + begin);
    let length = count_while(text, password_at, |byte| {
        let goes_on = !matches!(byte, b'\n' | b'\r' | b' ' | b'*') && (byte != b':' || escaped);
        escaped = byte == b'\\' && !escaped;
        goes_on
    });
    let ended = text.as_bytes().get(password_at + length).is_none_or(|byte| matches!(byte, b'\n' | b'\r'));
    let fits = ended && length >= 4 && !is_stand_in(head(text.get(password_at..password_at + length)?));
    fits.then(|| found("pgpass", password_at, password_at + length, 0.85))
}

/// How far from its `kind` the values of a Kubernetes Secret may stand, in bytes: the largest has 1 MiB of them, in base64 a third more.
const OBJECT: usize = 3 << 19;

/// How far before and after a place stands what decides whether a secret is there: the `kind` of a value, and the `data` before the `kind`.
pub const REACH: usize = 2 * OBJECT;

/// The values of the Kubernetes Secrets whose kinds stand at `kinds`, wherever in the objects they stand. Each part of the text is read once.
pub(super) fn kubernetes(text: &str, kinds: &[usize], out: &mut Vec<Finding>) {
    let extended = |part: Range<usize>, to: usize| match text.get(part.end..to).and_then(|more| more.find("\n---")) {
        Some(separator) => (part.start..part.end + separator, true),
        None => (part.start..to, false),
    };
    // The part in which values are looked for, and whether its document ends there.
    let (mut part, mut is_ended) = (0..0, true);
    for &kind in kinds {
        let to = ceil(text, kind + OBJECT);
        if !is_ended && kind.saturating_sub(OBJECT) <= part.end {
            (part, is_ended) = extended(part, to);
        }
        if kind >= part.end {
            read_object(text, &part, out);
            let from = floor(text, kind.saturating_sub(OBJECT).max(part.end));
            let from = text.get(from..kind).and_then(|before| before.rfind("\n---")).map_or(from, |at| from + at);
            (part, is_ended) = extended(from..kind, to);
        }
    }
    read_object(text, &part, out);
}

/// The values of `data` and `stringData`, in YAML or JSON.
fn read_object(text: &str, part: &Range<usize>, out: &mut Vec<Finding>) {
    let Some(object) = text.get(part.clone()) else { return };
    crate::work::read(object.len());
    yaml_values(object, part.start, out);
    json_values(object, part.start, out);
}

/// The values below `data:` and `stringData:` in YAML, block scalars line by line.
fn yaml_values(object: &str, offset: usize, out: &mut Vec<Finding>) {
    let mut section: Option<(usize, bool)> = None;
    let mut scalar: Option<usize> = None;
    let mut at = 0;
    for line in object.split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let content = line.trim();
        if content.is_empty() {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let place = offset + begin + indent;
        if let Some((outer, encoded)) = section.filter(|(outer, _)| indent > *outer) {
            if scalar.is_some_and(|key| indent > key) {
                out.extend(value(content, place, false));
                continue;
            }
            scalar = None;
            let Some((key, rest)) = content.split_once(':') else {
                // A plain value goes on in the next line; a comment or an item of a list is none.
                if !content.starts_with(['#', '-']) {
                    out.extend(value(content, place, encoded));
                }
                continue;
            };
            let word = rest.trim();
            if word.starts_with(['|', '>']) {
                scalar = Some(indent);
            } else {
                let from = place + key.len() + 1 + (rest.len() - rest.trim_start().len());
                out.extend(value(word, from, encoded));
            }
            section = Some((outer, encoded));
            continue;
        }
        scalar = None;
        section = match content {
            "data:" => Some((indent, true)),
            "stringData:" => Some((indent, false)),
            _ => None,
        };
    }
}

/// The values of the objects `"data"` and `"stringData"` in JSON.
fn json_values(object: &str, offset: usize, out: &mut Vec<Finding>) {
    for (name, encoded) in [("\"data\"", true), ("\"stringData\"", false)] {
        for (at, _) in object.match_indices(name) {
            let Some(mut left) = after(object.get(at + name.len()..), ':').and_then(|rest| after(Some(rest), '{')) else { continue };
            while let Some((_, rest)) = quoted(left) {
                let Some((content, rest)) = after(Some(rest), ':').and_then(quoted) else { break };
                out.extend(value(content, offset + (content.as_ptr() as usize - object.as_ptr() as usize), encoded));
                let Some(rest) = after(Some(rest), ',') else { break };
                left = rest;
            }
        }
    }
}

/// What follows a sign, with blanks before it.
fn after(text: Option<&str>, sign: char) -> Option<&str> {
    text?.trim_start().strip_prefix(sign)
}

/// The inside of the JSON string that `text` begins with, as it is written, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let inside = text.trim_start().strip_prefix('"')?;
    let mut escaped = false;
    let end = inside.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })?;
    Some((inside.get(..end)?, inside.get(end + 1..)?))
}

/// One value of a Kubernetes Secret, without its quotes; what is `encoded` must be base64.
fn value(written: &str, at: usize, encoded: bool) -> Option<Finding> {
    let inside = written.trim_matches(['"', '\'']);
    let from = at + written.find(inside)?;
    let fits = inside.len() >= 4
        && !is_stand_in(head(inside))
        && !inside.starts_with("ENC[")
        && (!encoded || STANDARD.decode(inside).is_ok_and(|raw| !raw.is_empty()));
    fits.then(|| found("kubernetes", from, from + inside.len(), 0.9))
}

/// `"auth": "…"` whose base64 holds a name and a password.
fn docker(text: &str, end: usize) -> Option<Finding> {
    let rest = after(text.get(end..), ':')?;
    let (value, _) = quoted(rest)?;
    crate::work::read(value.len());
    let raw = STANDARD.decode(value).ok()?;
    let colon = raw.iter().position(|byte| *byte == b':')?;
    let fits = colon > 0 && raw.len() > colon + 3 && raw.iter().all(u8::is_ascii_graphic);
    let from = value.as_ptr() as usize - text.as_ptr() as usize;
    fits.then(|| found("docker-auth", from, from + value.len(), 0.95))
}

/// A client secret of Microsoft Entra: three characters, a digit, `Q~`, 31 more or some.
fn entra(text: &str, at: usize) -> Option<Finding> {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'~' | b'.' | b'-');
    let start = at.checked_sub(4)?;
    let first = text.as_bytes().get(start..at)?;
    // A `-` before it may as well be the mark of a removed line, or the end of an option.
    let alone = edge::is_edge(text.as_bytes(), start) && !text.get(..start).is_some_and(|before| before.ends_with(['_', '~', '.']));
    if !alone || !first.iter().all(|byte| word(*byte)) || !first.last().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let length = count_while(text, at + 2, word);
    let body = text.get(at + 2..at + 2 + length)?;
    (length >= 31 && entropy(head(body)) >= 3.5).then(|| found("azure-ad", start, at + 2 + length, 0.95))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found_in;

    #[test]
    fn secrets_of_known_files_are_found_where_their_form_says() {
        for (text, sub, value) in [
            ("bob:$apr1$kJ8sLq2W$Vh7nR3tYx9Zc5Bm1Kd4Gf/\n", "password-hash", "$apr1$kJ8sLq2W$Vh7nR3tYx9Zc5Bm1Kd4Gf/"),
            (
                "- \"bob:$$2y$$05$$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT\"",
                "password-hash",
                "$$2y$$05$$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT",
            ),
            ("root:!$6$Lq8vXk2n$9aVh7nR3tYx9Zc5Bm1Kd:19000:0::::", "password-hash", "$6$Lq8vXk2n$9aVh7nR3tYx9Zc5Bm1Kd"),
            ("ann:{SSHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", "password-hash", "{SSHA}5en6G6MezRroT3XKqkdPOmY/BfQ="),
            ("machine api.example.com\n  login bob\n  password hunter hunter", "netrc", "hunter"),
            ("db.example.com:5432:app:bob:q7Wx\\:nc2V", "pgpass", "q7Wx\\:nc2V"),
            ("*:*:*:bob:correcthorse", "pgpass", "correcthorse"),
            ("data:\n  a: bm9ib2R5IGtub3dz\nkind: Secret\ntype: Opaque\n", "kubernetes", "bm9ib2R5IGtub3dz"),
            ("kind: Secret\nstringData:\n  conf: |\n    line1x9\nmetadata:\n  name: shown\n", "kubernetes", "line1x9"),
            (r#"{"kind": "Secret", "data": {"a": "bm9ib2R5IGtub3dz"}, "metadata": {"name": "shown"}}"#, "kubernetes", "bm9ib2R5IGtub3dz"),
            (r#"{"auths":{"r.example":{"auth":"Ym9iOnE3V3hUbmMyVjhi"}}}"#, "docker-auth", "Ym9iOnE3V3hUbmMyVjhi"),
            ("id aB78Q~q7WxTnc2V8bRy4HsJ5mmq7WxTnc2V8bR.", "azure-ad", "aB78Q~q7WxTnc2V8bRy4HsJ5mmq7WxTnc2V8bR."),
        ] {
            assert_eq!(found_in(text), [(sub, value)], "{text}");
        }
    }

    #[test]
    fn what_only_begins_like_a_known_file_is_left_alone() {
        for text in [
            "PATH:$HOME/bin:$(pwd)/deeper/and/deeper",
            "The machine learning password strength estimator.",
            "cpe:2.3:a:vendor:product:*:*:*:*:*:*:*",
            "ports: 0.0.0.0:5432:5432",
            "localhost:5432:app:bob:*",
            "kind: SecretProviderClass\ndata:\n  a: bm9ib2R5IGtub3dz\n",
            "kind: ConfigMap\ndata:\n  greeting: bm9ib2R5IGtub3dz\n",
            "kind: Secret\ndata:\n  a: <base64>\n---\nkind: ConfigMap\ndata:\n  a: bm9ib2R5IGtub3dz\n",
            r#"{"auth": "basic", "auth": "required"}"#,
            "In chapter 7 of FAQ~about the ordinary course of events",
        ] {
            assert_eq!(found_in(text), [], "{text}");
        }
    }
}
