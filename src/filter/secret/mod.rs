//! Credentials: keys that name themselves, keys that their surroundings name, private keys, signed tokens.

mod assigned;
mod files;
mod named_key;
mod strength;
mod tokens;

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::finding::{Finding, Kind};
use strength::{classes, entropy, is_stand_in};
use tokens::TOKENS;

/// Keywords after the ones of [`TOKENS`].
const PRIVATE_KEY: &str = "-----BEGIN ";
const SIGNED: &str = "eyJ";
const BOT: &str = ":AA";

/// One pass for everything that a secret may begin with. Names stand in any case; what must stand in its own is compared after the hit.
/// A DFA: it is built once, and reads a byte with one step whatever it has seen.
static AUTOMATON: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let starts = TOKENS.iter().map(|token| token.start).chain([PRIVATE_KEY, SIGNED, BOT]).chain(files::starts()).chain(assigned::names());
    AhoCorasick::builder().match_kind(MatchKind::Standard).kind(Some(AhoCorasickKind::DFA)).ascii_case_insensitive(true).build(starts).ok()
});

/// Finds credentials.
pub(super) fn findings(text: &str, out: &mut Vec<Finding>) {
    let Some(automaton) = AUTOMATON.as_ref() else { return };
    let mut read_to = 0;
    let mut reach = assigned::Reach::default();
    let mut scanned = 0;
    let (files_from, names_from) = (TOKENS.len() + 3, TOKENS.len() + 3 + files::starts().count());
    for hit in automaton.find_overlapping_iter(text) {
        let number = hit.pattern().as_usize();
        let exactly = |start: &str| text.get(hit.range()) == Some(start);
        if (files_from..names_from).contains(&number) {
            files::findings(text, number - files_from, hit.start(), hit.end(), &mut scanned, out);
            continue;
        }
        if let Some(name) = number.checked_sub(names_from) {
            if reach.takes(hit.start()) {
                out.extend(assigned::finding(text, name, hit.start(), hit.end(), &mut reach));
            }
            continue;
        }
        let finding = match TOKENS.get(number) {
            Some(token) if !exactly(token.start) => None,
            Some(token) => self_named(text, token, hit.start(), hit.end()),
            None if number == TOKENS.len() && exactly(PRIVATE_KEY) => {
                private_key(text, hit.start()).filter(|finding| finding.start >= read_to)
            }
            None if exactly(SIGNED) => signed(text, hit.start()),
            None if exactly(BOT) => bot(text, hit.start()),
            None => None,
        };
        if let Some(finding) = finding {
            read_to = read_to.max(finding.end);
            out.push(finding);
        }
    }
}

fn found(sub: &'static str, start: usize, end: usize, score: f32) -> Finding {
    Finding { kind: Kind::Secret, type_: "SECRET", sub, start, end, score }
}

/// A key with a fixed beginning.
fn self_named(text: &str, token: &tokens::Token, start: usize, end: usize) -> Option<Finding> {
    let bytes = text.as_bytes();
    let url = [".com/", ".org/"].iter().any(|host| token.start.contains(host));
    if !url
        && start.checked_sub(1).and_then(|at| bytes.get(at)).is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    {
        return None;
    }
    let rest = bytes.get(end..)?;
    let mut length = rest.iter().take(token.rest.1 + 1).take_while(|byte| token.alphabet.holds(**byte)).count();
    super::work::read(length);
    let body = text.get(end..end + length)?;
    // Full stops and signs of equality at the end belong to the sentence.
    if token.alphabet == tokens::Alphabet::Dotted {
        length = body.trim_end_matches('.').len();
    }
    let body = text.get(end..end + length)?;
    let joined = rest.get(length).is_some_and(u8::is_ascii_alphanumeric);
    // Numbers of a team or an account before a dash are no stand-ins, whatever their digits.
    let drawn_part = if body.starts_with(|c: char| c.is_ascii_digit()) { body.rsplit('-').next().unwrap_or(body) } else { body };
    if length < token.rest.0 || length > token.rest.1 || joined || is_stand_in(drawn_part) || !fits_form(token, body) {
        return None;
    }
    // A key is drawn at random: a word, a name or one letter repeated is not. Hexadecimal has at most 4 bits.
    let drawn = entropy(body) >= if token.alphabet == tokens::Alphabet::Hex { 2.7 } else { 3.0 }
        && (body.bytes().any(|byte| byte.is_ascii_digit()) || length >= 24 && classes(body) >= 2);
    if !drawn {
        return None;
    }
    let start = if token.name == "terraform" { before_dot(text, start) } else { start };
    let start = if url { scheme_of(text, start.saturating_sub(3)).unwrap_or(start) } else { start };
    Some(found(token.name, start, end + length, 0.97))
}

/// Keys whose parts have lengths of their own.
fn fits_form(token: &tokens::Token, body: &str) -> bool {
    if token.name != "discord-bot" {
        return true;
    }
    let parts: Vec<usize> = body.split('.').map(str::len).collect();
    matches!(parts.as_slice(), [21..=26, 6, 27..=40])
}

/// Where the word that ends at a dot before `at` begins.
fn before_dot(text: &str, at: usize) -> usize {
    let Some(before) = text.get(..at).and_then(|before| before.strip_suffix('.')) else { return at };
    let length = before.bytes().rev().take(15).take_while(u8::is_ascii_alphanumeric).count();
    if length == 14 { at - 1 - length } else { at }
}

/// Where the scheme before `://` at `at` begins.
fn scheme_of(text: &str, at: usize) -> Option<usize> {
    if !text.get(at..)?.starts_with("://") {
        return None;
    }
    let length = text
        .get(..at)?
        .bytes()
        .rev()
        .take(24)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
        .count();
    (length > 0).then(|| at - length)
}

/// A private key in PEM armour, to its end line or, where that is cut off, to the last line of its body.
fn private_key(text: &str, start: usize) -> Option<Finding> {
    const LONGEST: usize = 16 * 1024;
    let rest = text.get(start..)?;
    let head = rest.get(..super::finding::floor(rest, 80))?;
    let label = head.strip_prefix(PRIVATE_KEY)?.split("-----").next()?;
    if !label.contains("PRIVATE KEY") {
        return None;
    }
    let window = rest.get(..super::finding::floor(rest, LONGEST))?;
    let body_at = PRIVATE_KEY.len() + label.len() + 5;
    let body = window.get(body_at..)?;
    // The next frame of any kind ends this one: many beginnings without an end are read once, not once each.
    let frame = body.find("-----").unwrap_or(body.len());
    super::work::read(frame);
    let end = match body.get(frame..).filter(|rest| rest.starts_with("-----END ")).map(|_| frame) {
        Some(at) => body.get(at + 9..).and_then(|tail| tail.find("-----")).map_or(window.len(), |tail| body_at + at + 9 + tail + 5),
        None => {
            body_at
                + body
                    .bytes()
                    .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\n' | b'\r' | b'\\' | b' '))
                    .count()
        }
    };
    // Documents show the frame with nothing, or with words, inside; a key begins soon.
    let inside = body.get(..super::finding::floor(body, end.saturating_sub(body_at).min(240))).unwrap_or_default();
    let material = inside.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '/' | '=')).map(str::len).max().unwrap_or(0);
    (material >= 24).then(|| found("pem", start, start + end, 0.99))
}

/// A JSON Web Token: header, payload, signature, in base64url.
fn signed(text: &str, start: usize) -> Option<Finding> {
    let bytes = text.as_bytes();
    if start
        .checked_sub(1)
        .and_then(|at| bytes.get(at))
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
    {
        return None;
    }
    let length =
        bytes.get(start..)?.iter().take(8192).take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')).count();
    super::work::read(length);
    let token = text.get(start..start + length)?.trim_end_matches('.');
    let mut parts = token.split('.');
    let (header, payload, signature) = (parts.next()?, parts.next()?, parts.next()?);
    let reads = URL_SAFE_NO_PAD.decode(header).ok().is_some_and(|raw| raw.starts_with(b"{"));
    (reads && payload.len() >= 10 && signature.len() >= 20).then(|| found("jwt", start, start + token.len(), 0.97))
}

/// A bot's token: its number, a colon, 35 characters that begin with `AA`.
fn bot(text: &str, colon: usize) -> Option<Finding> {
    let bytes = text.as_bytes();
    let digits = text.get(..colon)?.bytes().rev().take(12).take_while(u8::is_ascii_digit).count();
    let start = colon.checked_sub(digits)?;
    let joined = start
        .checked_sub(1)
        .and_then(|at| bytes.get(at))
        .is_some_and(|byte| byte.is_ascii_alphanumeric() && !text.get(..start).is_some_and(|before| before.ends_with("bot")));
    let length =
        bytes.get(colon + 1..)?.iter().take(40).take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')).count();
    let body = text.get(colon + 1..colon + 1 + length)?;
    ((8..=10).contains(&digits) && !joined && (33..=36).contains(&length) && !is_stand_in(body) && entropy(body) >= 3.5)
        .then(|| found("telegram", start, colon + 1 + length, 0.95))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(super) fn found_in(text: &str) -> Vec<(&'static str, &str)> {
        let mut out = Vec::new();
        findings(text, &mut out);
        crate::filter::finding::without_overlaps(out).iter().map(|f| (f.sub, text.get(f.start..f.end).unwrap())).collect()
    }

    #[test]
    fn keys_are_found_by_form_or_by_surroundings() {
        for (text, sub, value) in [
            ("id AKIAQ7ZT3N5WXK2VPLMR.", "aws-access-key", "AKIAQ7ZT3N5WXK2VPLMR"),
            ("ghp_Zk3Vq8Rw1Tn6Yb4Xc9Mf2Ld7Hs5Jg0Pa3EuQ", "github-pat", "ghp_Zk3Vq8Rw1Tn6Yb4Xc9Mf2Ld7Hs5Jg0Pa3EuQ"),
            ("redis://:n4Vw8Kq2Zt@cache:6379", "credential", "n4Vw8Kq2Zt"),
            ("DB_PASSWORD=tG4#xw8Kd!Zq1nPy", "credential", "tG4#xw8Kd!Zq1nPy"),
            ("\"client_secret\": \"q7Wxnc2V8bRyHsJ4\"", "credential", "q7Wxnc2V8bRyHsJ4"),
            ("密码：q7Wxnc2V8b", "credential", "q7Wxnc2V8b"),
            ("const mapsKey = \"q7WxTnc2V8bRy4HsJ5\";", "credential", "q7WxTnc2V8bRy4HsJ5"),
            ("WEATHER_KEY=b9f3c27e4a1d8f60b7e52c9a13d4f8e6", "credential", "b9f3c27e4a1d8f60b7e52c9a13d4f8e6"),
            ("https://q7WxTnc2V8bRy4HsJ5mm:x-oauth-basic@git.example/a", "credential", "q7WxTnc2V8bRy4HsJ5mm"),
            ("https://q7WxTnc2V8bRy4HsJ5mm@git.example/a", "credential", "q7WxTnc2V8bRy4HsJ5mm"),
            (
                "https://a.webhook.office.com/webhookb2/7f3c27e4-a1d8-4f60-b7e5-2c9a13d4f8e6@1a2b3c4d/IncomingWebhook/9f3c27e4a1d8f60b",
                "teams-webhook",
                "webhook.office.com/webhookb2/7f3c27e4-a1d8-4f60-b7e5-2c9a13d4f8e6@1a2b3c4d/IncomingWebhook/9f3c27e4a1d8f60b",
            ),
            (
                "fm1r_lJPECAAAAAAAAkrVxBC7q2WxTnc2V8bRy4HsJ5mm+q7WxTnc2V8bRy4HsJ5mmlJ==",
                "fly",
                "fm1r_lJPECAAAAAAAAkrVxBC7q2WxTnc2V8bRy4HsJ5mm+q7WxTnc2V8bRy4HsJ5mmlJ==",
            ),
            (
                "EAAAl0QW8xZ2kR7nT5yB3cV9mL1pS4dF6gH8jK0qW2eR4tY6uI8oP0aS2dF4",
                "square",
                "EAAAl0QW8xZ2kR7nT5yB3cV9mL1pS4dF6gH8jK0qW2eR4tY6uI8oP0aS2dF4",
            ),
            ("Authorization: Basic dXNlcjpxN1d4bmMyVg==", "credential", "dXNlcjpxN1d4bmMyVg=="),
        ] {
            assert_eq!(found_in(text), [(sub, value)], "{text}");
        }
    }

    #[test]
    fn a_long_value_is_found_whole() {
        let value = "q7WxTnc2V8bRyHsJ4kPz".repeat(200);
        for text in [format!("client_secret = {value}\n"), format!("Authorization: Bearer {value} x")] {
            assert_eq!(found_in(&text), [("credential", value.as_str())]);
        }
    }

    #[test]
    fn stand_ins_code_and_public_values_are_left_alone() {
        for text in [
            "API_KEY=YOUR_API_KEY_HERE",
            "password: ********",
            "token: ${TOKEN}",
            "let token = self.next_token();",
            "password = get_password(user)",
            "AKIAIOSFODNN7EXAMPLE",
            "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "Authorization: Bearer <token>",
            "The password must have 12 characters.",
            "https://example.org:8080/a@b",
            "secret: String,",
            "input Login { email: String!, password: String! }",
            "WWW-Authenticate: Bearer resource_metadata=\"https://a.example/.well-known/x\"",
            "Authorization: Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9...",
            "curl -u http://localhost:8080/a1b2",
            "const primaryKey = \"q7WxTnc2V8bRy4HsJ5\"",
            "public_key: b9fKq27xZt4Lw8Rn1Yc6Vd3M",
            "cacheKey = \"user_profile_v2_settings_2024\"",
            "monkey = \"q7WxTnc2V8bRy4HsJ5\"",
            "https://ann@git.example/a",
        ] {
            assert_eq!(found_in(text), [], "{text}");
        }
    }
}
