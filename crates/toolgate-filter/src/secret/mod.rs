//! Credentials: keys that name themselves, keys that their surroundings name, private keys, signed tokens.

mod armour;
mod assigned;
mod columns;
mod command;
mod edge;
mod escaped;
mod files;
mod forms;
mod kept;
mod literal;
mod named_key;
mod placed;
#[cfg(test)]
pub(super) mod samples;
mod signed_url;
mod strength;
mod table;
mod tokens;

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::finding::{Finding, Kind};
pub(super) use armour::{RULE, end_of};
pub use files::REACH;
use strength::{classes, entropy, is_stand_in};
pub(super) use table::{HEADER, Table};
use tokens::{Alphabet, TOKENS};

/// Keywords after the ones of [`TOKENS`].
const SIGNED: &str = "eyJ";
const BOT: &str = ":AA";

/// One pass for everything that a secret may begin with. Names stand in any case; what must stand in its own is compared after the hit.
/// A DFA: it is built once, and reads a byte with one step whatever it has seen.
static AUTOMATON: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let starts = TOKENS
        .iter()
        .map(|token| token.start)
        .chain(armour::STARTS)
        .chain([SIGNED, BOT])
        .chain(files::starts())
        .chain(assigned::names())
        .chain(forms::starts())
        .chain(kept::starts());
    AhoCorasick::builder().match_kind(MatchKind::Standard).kind(Some(AhoCorasickKind::DFA)).ascii_case_insensitive(true).build(starts).ok()
});

/// Finds credentials, also where their characters are written as escapes.
pub(super) fn findings(text: &str, out: &mut Vec<Finding>) {
    written(text, out);
    if let Some(plain) = escaped::Plain::of(text) {
        let mut inside = Vec::new();
        written(&plain.text, &mut inside);
        out.extend(inside.into_iter().map(|finding| {
            let (start, end) = plain.source(finding.start, finding.end);
            Finding { start, end, ..finding }
        }));
    }
}

/// Finds credentials as they stand in a text.
fn written(text: &str, out: &mut Vec<Finding>) {
    let Some(automaton) = AUTOMATON.as_ref() else { return };
    let (mut read_to, mut header_to) = (0, 0);
    let mut reach = assigned::Reach::default();
    let mut runs = Runs::default();
    let mut tables = table::Tables::default();
    let mut columns = columns::Columns::default();
    let mut objects = Vec::new();
    let armours_to = TOKENS.len() + armour::STARTS.len();
    let files_from = armours_to + 2;
    let names_from = files_from + files::starts().count();
    let forms_from = names_from + assigned::names().count();
    let kept_from = forms_from + forms::starts().count();
    for hit in automaton.find_overlapping_iter(text) {
        let number = hit.pattern().as_usize();
        let exactly = |start: &str| text.get(hit.range()) == Some(start);
        if (files_from..names_from).contains(&number) {
            files::findings(text, number - files_from, hit.start(), hit.end(), &mut objects, out);
            continue;
        }
        if let Some(place) = number.checked_sub(kept_from) {
            kept::findings(text, place, hit.start(), hit.end(), out);
            continue;
        }
        if let Some(form) = number.checked_sub(forms_from) {
            out.extend(forms::finding(text, form, hit.start(), hit.end()));
            continue;
        }
        if let Some(name) = number.checked_sub(names_from) {
            tables.findings(text, hit.start(), hit.end(), out);
            columns.findings(text, hit.start(), hit.end(), out);
            if reach.takes(hit.start()) {
                out.extend(assigned::finding(text, name, hit.start(), hit.end(), &mut reach));
            }
            continue;
        }
        let finding = match TOKENS.get(number) {
            Some(token) if !exactly(token.start) || hit.start() < read_to => None,
            Some(token) => self_named(text, token, hit.start(), hit.end(), &mut runs),
            None if number < armours_to && armour::STARTS.iter().any(|start| exactly(start)) => {
                armour::private_key(text, number - TOKENS.len(), hit.start()).filter(|finding| finding.start >= read_to)
            }
            None if exactly(SIGNED) => signed(text, hit.start(), &mut runs, &mut header_to),
            None if exactly(BOT) => bot(text, hit.start()),
            None => None,
        };
        if let Some(finding) = finding {
            read_to = read_to.max(finding.end);
            out.push(finding);
        }
    }
    files::kubernetes(text, &objects, out);
}

fn found(sub: &'static str, start: usize, end: usize, score: f32) -> Finding {
    Finding { kind: Kind::Secret, type_: "SECRET", sub, start, end, score }
}

/// The last run of characters of each alphabet, so that each is read once however many keys may begin in it.
#[derive(Debug, Default)]
struct Runs([Run; Alphabet::COUNT]);

#[derive(Debug, Default, Clone, Copy)]
struct Run {
    start: usize,
    end: usize,
    /// Its end without the full stops that belong to the sentence.
    bare: usize,
}

impl Runs {
    /// Where the run that `start` lies in ends.
    fn end(&mut self, text: &str, alphabet: Alphabet, start: usize) -> usize {
        let Some(run) = self.0.get_mut(alphabet as usize) else { return start };
        if start < run.start || run.end < start {
            let rest = text.as_bytes().get(start..).unwrap_or_default();
            let length = rest.iter().position(|byte| !alphabet.holds(*byte)).unwrap_or(rest.len());
            super::work::read(length);
            let stops = if matches!(alphabet, Alphabet::Dotted | Alphabet::Signed) {
                rest.iter().take(length).rev().take_while(|byte| **byte == b'.').count()
            } else {
                0
            };
            *run = Run { start, end: start + length, bare: start + length - stops };
        }
        run.bare.max(start)
    }
}

/// A key with a fixed beginning, to the end of its alphabet.
fn self_named(text: &str, token: &tokens::Token, start: usize, end: usize, runs: &mut Runs) -> Option<Finding> {
    let bytes = text.as_bytes();
    let url = [".com/", ".org/"].iter().any(|host| token.start.contains(host));
    let last = runs.end(text, token.alphabet, end);
    let body = text.get(end..last)?;
    let joined = bytes.get(last).is_some_and(u8::is_ascii_alphanumeric);
    if body.len() < token.least
        || joined
        || edge::inside_base64(bytes, token, start)
        || !url && !edge::begins(text, token, start, body)
        || !fits_form(token, body)
    {
        return None;
    }
    // A key is drawn at random: a word, a name or one letter repeated is not. Hexadecimal has at most 4 bits.
    let first = head(body);
    let drawn = entropy(first) >= if token.alphabet == Alphabet::Hex { 2.7 } else { 3.0 }
        && (first.bytes().any(|byte| byte.is_ascii_digit()) || body.len() >= 20 && classes(first) >= 2);
    if !drawn || is_stand_in(without_numbers(first)) {
        return None;
    }
    let start = if token.name == "terraform" { before_dot(text, start) } else { start };
    let start = if url { scheme_of(text, start.saturating_sub(3)).unwrap_or(start) } else { start };
    Some(found(token.name, start, last, 0.97))
}

/// The part of a value that decides whether it is one. A long value drawn at random holds every short word somewhere.
fn head(value: &str) -> &str {
    const DECIDES: usize = 128;
    value.get(..super::finding::floor(value, DECIDES)).unwrap_or(value)
}

/// Without the numbers of a team or an account before a dash or a slash: they are no stand-ins, whatever their digits.
fn without_numbers(mut body: &str) -> &str {
    while let Some((number, rest)) = body.split_once(['-', '/'])
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        body = rest;
    }
    body
}

/// Keys whose parts have lengths of their own.
fn fits_form(token: &tokens::Token, body: &str) -> bool {
    let (begins, least): (fn(&[usize]) -> bool, usize) = match token.name {
        "discord-bot" => (|lengths| matches!(lengths, [21..=26, 6]), 27),
        "airtable" => (|lengths| matches!(lengths, [14]), 64),
        // After the number of the interface.
        "discord-webhook" if token.start.ends_with("/v") => {
            let rest = body.trim_start_matches(|c: char| c.is_ascii_digit());
            return rest.len() < body.len() && rest.starts_with("/webhooks/");
        }
        _ => return true,
    };
    let parts = if token.name == "airtable" { 1 } else { 2 };
    let lengths: Vec<usize> = head(body).split('.').take(parts).map(str::len).collect();
    let mut rest = body.splitn(parts + 2, '.').skip(parts);
    begins(&lengths) && rest.next().is_some_and(|last| last.len() >= least) && rest.next().is_none()
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

/// A JSON Web Token: header, payload, signature, in base64url. `read_to` is where the last header that was looked at ends: one that begins
/// inside it has the same payload and signature.
fn signed(text: &str, start: usize, runs: &mut Runs, read_to: &mut usize) -> Option<Finding> {
    if start < *read_to || !edge::is_edge(text.as_bytes(), start) {
        return None;
    }
    let token = text.get(start..runs.end(text, Alphabet::Signed, start + SIGNED.len()))?;
    let mut parts = token.splitn(3, '.');
    let header = parts.next()?;
    super::work::read(header.len());
    *read_to = start + header.len();
    let (payload, signature) = (parts.next()?, parts.next()?.split('.').next()?);
    let whole_groups = header.get(..header.len().min(64) & !3)?;
    let reads = URL_SAFE_NO_PAD.decode(whole_groups).ok().is_some_and(|raw| raw.starts_with(b"{"));
    (reads && payload.len() >= 10 && signature.len() >= 20).then(|| found("jwt", start, start + token.len(), 0.97))
}

/// A bot's token: its number, a colon, 35 characters or more that begin with `AA`.
fn bot(text: &str, colon: usize) -> Option<Finding> {
    let bytes = text.as_bytes();
    let digits = text.get(..colon)?.bytes().rev().take(12).take_while(u8::is_ascii_digit).count();
    let start = colon.checked_sub(digits)?;
    let joined = !edge::is_edge(bytes, start) && !text.get(..start).is_some_and(|before| before.ends_with("bot"));
    let length = bytes.get(colon + 1..)?.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')).count();
    super::work::read(length);
    let body = text.get(colon + 1..colon + 1 + length)?;
    ((8..=10).contains(&digits) && !joined && length >= 33 && !is_stand_in(head(body)) && entropy(head(body)) >= 3.5)
        .then(|| found("telegram", start, colon + 1 + length, 0.95))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(super) fn found_in(text: &str) -> Vec<(&'static str, &str)> {
        let mut out = Vec::new();
        findings(text, &mut out);
        crate::finding::without_overlaps(out).iter().map(|f| (f.sub, text.get(f.start..f.end).unwrap())).collect()
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
                "https://ptb.discord.com/api/v10/webhooks/1143226718830112345/q7WxTnc2V8bRy4HsJ5mmKq2Zt9fD6bTnWk8dQ2vYx5Zc1Lp4Gm7Hs3Jr6Pa9Ew2Iu5Oy8Tb1N",
                "discord-webhook",
                "discord.com/api/v10/webhooks/1143226718830112345/q7WxTnc2V8bRy4HsJ5mmKq2Zt9fD6bTnWk8dQ2vYx5Zc1Lp4Gm7Hs3Jr6Pa9Ew2Iu5Oy8Tb1N",
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
            ("authorization: basic dXNlcjpxN1d4bmMyVg", "credential", "dXNlcjpxN1d4bmMyVg"),
            ("Authorization: token q7WxTnc2V8bRy4HsJ5mm", "credential", "q7WxTnc2V8bRy4HsJ5mm"),
            ("SECRET_KEY_BASE=b9f3c27e4a1d8f60b7e52c9a13d4f8e6", "credential", "b9f3c27e4a1d8f60b7e52c9a13d4f8e6"),
            ("vendor-key: q7WxTnc2V8bRy4HsJ5mm\n", "credential", "q7WxTnc2V8bRy4HsJ5mm"),
            ("  MAPBOX_KEY: q7WxTnc2V8bRy4HsJ5mm", "credential", "q7WxTnc2V8bRy4HsJ5mm"),
            ("vendorkey=q7WxTnc2V8bRy4HsJ5mm", "credential", "q7WxTnc2V8bRy4HsJ5mm"),
            ("https://a.example/v1?key=q7WxTnc2V8bRy4HsJ5mm&q=a", "credential", "q7WxTnc2V8bRy4HsJ5mm"),
            ("next=%2Fa%3Ftoken%3Dghp_Zk3Vq8Rw1Tn6Yb4Xc9Mf2Ld7Hs5Jg0Pa3EuQ", "github-pat", "ghp_Zk3Vq8Rw1Tn6Yb4Xc9Mf2Ld7Hs5Jg0Pa3EuQ"),
            ("body=password%3Dq7WxTnc2V8", "credential", "q7WxTnc2V8"),
            ("<username>ann</username><password>q7WxTnc2V8</password>", "credential", "q7WxTnc2V8"),
            ("PresharedKey = /UwcSPg38hW/D9Y3tcS1FOV0K1wuURMbS0sesJEP5ak=", "credential", "/UwcSPg38hW/D9Y3tcS1FOV0K1wuURMbS0sesJEP5ak="),
            ("//r.example/:_auth=YW5uOnE3V3hUbmMyVjg=", "credential", "YW5uOnE3V3hUbmMyVjg="),
            ("tool --password q7WxTnc2V8 run", "credential", "q7WxTnc2V8"),
            ("ENV DB_PASSWORD q7WxTnc2V8\n", "credential", "q7WxTnc2V8"),
            ("define('DB_PASSWORD', 'q7WxTnc2V8');", "credential", "q7WxTnc2V8"),
            ("config.setPassword(\"q7WxTnc2V8\");", "credential", "q7WxTnc2V8"),
            (".with_token('q7WxTnc2V8bRy4HsJ5mm')", "credential", "q7WxTnc2V8bRy4HsJ5mm"),
            ("o?X-Goog-Signature=b9f3c27e4a1d8f60b7e52c9a13d4f8e6", "credential", "b9f3c27e4a1d8f60b7e52c9a13d4f8e6"),
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

    /// Characters of an alphabet that no two runs of the same length share.
    fn drawn(alphabet: Alphabet, length: usize) -> String {
        let signs: &[u8] = match alphabet {
            Alphabet::Hex => b"0123456789abcdef",
            Alphabet::Upper => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
            _ => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        };
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(signs[usize::try_from(state >> 33).unwrap() % signs.len()])
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn no_key_is_too_long_to_be_found_whole() {
        for token in TOKENS {
            for length in [token.least, token.least + 1, 300, 5_344] {
                let body = match token.name {
                    "discord-bot" => {
                        format!("{}.{}.{}", drawn(token.alphabet, 24), drawn(token.alphabet, 6), drawn(token.alphabet, length))
                    }
                    "airtable" => format!("{}.{}", drawn(token.alphabet, 14), drawn(token.alphabet, length)),
                    "discord-webhook" if token.start.ends_with("/v") => format!("10/webhooks/1/{}", drawn(token.alphabet, length)),
                    _ => drawn(token.alphabet, length.max(token.least)),
                };
                let key = format!("{}{body}", token.start);
                let text = format!("a line\nkey {key}\nanother");
                let found = found_in(&text);
                assert!(
                    found.iter().any(|(_, value)| value.ends_with(&key)) && found.len() == 1,
                    "{} {length}: {}",
                    token.name,
                    found.len()
                );
            }
        }
    }

    #[test]
    fn no_private_key_signed_token_or_named_value_is_too_long() {
        const LENGTH: usize = 1 << 17;
        let body = drawn(Alphabet::Alnum, LENGTH);
        let lines = body.as_bytes().chunks(64).map(|line| format!("{}\n", String::from_utf8_lossy(line))).collect::<Vec<_>>().concat();
        for (text, sub) in [
            (format!("-----BEGIN PRIVATE KEY-----\n{lines}-----END PRIVATE KEY-----"), "pem"),
            (format!("-----BEGIN PRIVATE KEY-----\n{}", lines.trim_end()), "pem"),
            (
                format!("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,9F3C27E4\n\n{}", lines.trim_end()),
                "pem",
            ),
            (format!("eyJhbGciOiJSUzI1NiJ9.{body}.q7WxTnc2V8bRy4HsJ5mm"), "jwt"),
            (format!("eyJhbGciOiJSUzI1NiJ9.q7WxTnc2V8bRy4HsJ5mm.{body}"), "jwt"),
            (format!("eyJ4NWMiOiJ{}.q7WxTnc2V8bRy4HsJ5mm.{body}", body.get(..20_000).unwrap()), "jwt"),
            (format!("xoxb-{body}"), "slack-bot"),
        ] {
            assert!(found_in(&text) == [(sub, text.as_str())], "{sub}: {}", text.get(..80).unwrap());
        }
        for (before, after) in [
            ("client_secret = ", "\n"),
            ("Authorization: Bearer ", "\n"),
            ("mongodb://ann:", "@db.example/app"),
            ("db_password='", "'"),
            ("machine api.example.com login ann password ", "\n"),
            ("db.example.com:5432:app:ann:", "\n"),
            ("kind: Secret\nstringData:\n  a: ", "\n"),
            ("{\"auths\":{\"r.example\":{\"auth\":\"QVdTOmV5", "\"}}}"),
        ] {
            // A name and a password in base64 are a name and a password.
            let value = if before.contains("auths") { "QUJD".repeat(LENGTH / 4) } else { body.clone() };
            let text = format!("{before}{value}{after}");
            let found = found_in(&text);
            assert!(
                found.len() == 1 && found[0].1.ends_with(&value),
                "{before}: {:?}",
                found.iter().map(|(sub, _)| sub).collect::<Vec<_>>()
            );
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
            "private_key = Ed25519PrivateKey.generate()",
            "private_key = Ed25519PrivateKey.generate",
            "private_key: Ed25519PrivateKey,",
            "def f(private_key: X25519PrivateKey) -> bytes:",
            "    private_key: PKCS7PrivateKeyTypes,",
            "\"AWS::IAM::AccessKey\": \"62d91b17309e76c8\",",
            "monkey=q7WxTnc2V8bRy4HsJ5mm",
            "cachekey=q7WxTnc2V8bRy4HsJ5mm",
            "{ sort_key: q7WxTnc2V8bRy4HsJ5mm, a: 1 }",
            "?key=user_profile_v2_settings_2024",
            "columns = (\"password\", \"address1\")",
            "setPassword(\"Enter your 1st password\")",
            "user.setPassword(readPassword2(\"line_2\"))",
            "user.setPassword('tiger7a', user)",
            "getPassword(\"tG4xw8KdZq1nPy\")",
            "Use --password to give it.",
            "https://discord.com/api/v10/channels/1143226718830112345/messages/1143226718830112399/reactions/q7WxTnc2V8bRy4HsJ5mm/a1",
            "POST https://discord.com/api/v10/webhooks/{webhook.id}/{webhook.token}",
            "<password>changeme</password>",
        ] {
            assert_eq!(found_in(text), [], "{text}");
        }
    }
}
