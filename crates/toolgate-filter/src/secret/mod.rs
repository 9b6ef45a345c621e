//! Credentials: keys that name themselves, keys that their surroundings name, private keys, signed tokens.

mod armour;
mod assigned;
mod edge;
mod escaped;
mod named_key;
mod places;
pub(crate) mod rules;
mod strength;
mod words;

use std::sync::LazyLock;

use super::finding::{Finding, Kind};
use super::rule::Keywords;
pub(super) use armour::end_of;
use rules::RULES;

/// The keywords of the rules, behind them the names of each promise, behind these what disguises are made of. Names stand in any case; what must
/// stand in its own is compared after the hit.
static KEYWORDS: LazyLock<Keywords> = LazyLock::new(|| {
    let rules = RULES.iter().map(|rule| rule.source.keywords.as_slice()).chain(assigned::names());
    let disguises = escaped::signs();
    Keywords::new(rules.chain([disguises.as_slice()]).map(|words| words.iter().map(String::as_str)), true)
});

/// Finds credentials, also where their characters are disguised.
pub(super) fn findings(text: &str, out: &mut Vec<Finding>) {
    if written(text, out)
        && let Some(plain) = escaped::Plain::of(text)
    {
        let mut inside = Vec::new();
        written(&plain.text, &mut inside);
        out.extend(inside.into_iter().map(|finding| {
            let (start, end) = plain.source(finding.start, finding.end);
            Finding { start, end, ..finding }
        }));
    }
}

/// Finds credentials as they stand in a text. Says whether some of its characters may be disguised.
fn written(text: &str, out: &mut Vec<Finding>) -> bool {
    let mut is_disguised = false;
    let mut read_to = vec![0; RULES.len()];
    let mut reach = assigned::Reach::default();
    KEYWORDS.each_hit(text, |number, hit, is_exact| {
        if let (Some(rule), Some(read_to)) = (RULES.get(number), read_to.get_mut(number)) {
            if is_exact || rule.any_case {
                out.extend(rule.finding(text, hit, read_to));
            }
        } else if let Some(promise) = assigned::PROMISES.get(number - RULES.len()) {
            if reach.takes(hit.start) {
                out.extend(assigned::finding(text, *promise, hit.start, hit.end, &mut reach));
            }
        } else {
            is_disguised = true;
        }
    });
    is_disguised
}

fn found(sub: &'static str, start: usize, end: usize, score: f32) -> Finding {
    Finding { kind: Kind::Secret, type_: "SECRET", sub, start, end, score }
}

/// The part of a value that decides whether it is one. A long value drawn at random holds every short word somewhere.
fn head(value: &str) -> &str {
    const DECIDES: usize = 128;
    value.get(..super::finding::floor(value, DECIDES)).unwrap_or(value)
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

    #[test]
    fn no_private_key_signed_token_or_named_value_is_too_long() {
        const LENGTH: usize = 1 << 17;
        let body = "q7WxTnc2V8bRyHsJ4kPz".repeat(LENGTH / 20);
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
