//! JSON Web Tokens (RFC 7519, RFC 8725): verified by issuer, audience, algorithm list and time, then matched to exactly one profile.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, Validation};
use serde_json::{Map, Value};

use super::keys::Keys;
use crate::audit::is_hidden;
use crate::manifest::OAuth;
use crate::server::strict;

/// What a token came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is valid and opens exactly one profile.
    Fits { principal: String, profile: String },
    /// It is valid and opens none, or more than one.
    FitsNoRule,
    /// It is not valid, in words that name no part of it.
    Invalid(&'static str),
}

/// Clocks of two machines differ; in seconds.
const LEEWAY: u64 = 10;

/// Whether it has the three parts of a signed token.
pub(super) fn looks_like(token: &str) -> bool {
    token.bytes().filter(|byte| *byte == b'.').count() == 2
}

/// Verifies a token against every rule of its issuer.
pub(super) async fn verify(rules: &[OAuth], keys: &Keys, token: &str) -> Verdict {
    let Some((header, claimed)) = unverified(token) else { return Verdict::Invalid("the token cannot be read") };
    if header.contains_key("crit") {
        // An extension that must be understood and is not (RFC 7515 section 4.1.11).
        return Verdict::Invalid("the token needs an extension that is not known here");
    }
    let Some(algorithm) = header.get("alg").and_then(Value::as_str).and_then(algorithm) else {
        return Verdict::Invalid("the token's algorithm is not accepted");
    };
    // Which rules to try is all that the unverified part decides.
    let issuer = claimed.get("iss").and_then(Value::as_str).unwrap_or_default();
    let id = header.get("kid").and_then(Value::as_str);
    let (mut fitting, mut principal, mut valid) = (BTreeSet::new(), None, false);
    let mut why = "the token's issuer is not known";
    for rule in rules.iter().filter(|rule| rule.issuer == issuer) {
        if !rule.algorithms.is_empty() && !rule.algorithms.iter().any(|name| self::algorithm(name) == Some(algorithm)) {
            why = "the token's algorithm is not accepted";
            continue;
        }
        let claims = match checked(rule, keys, token, algorithm, id).await {
            Ok(claims) => claims,
            Err(reason) => {
                why = reason;
                continue;
            }
        };
        valid = true;
        principal = match subject(&claims) {
            Ok(subject) => Some(format!("oauth:{subject}@{issuer}")),
            Err(reason) => return Verdict::Invalid(reason),
        };
        if holds(&rule.claims, &claims) {
            fitting.insert(rule.profile.clone());
        }
    }
    match (fitting.pop_first(), fitting.is_empty(), principal) {
        (Some(profile), true, Some(principal)) => Verdict::Fits { principal, profile },
        _ if valid => Verdict::FitsNoRule,
        _ => Verdict::Invalid(why),
    }
}

async fn checked(
    rule: &OAuth,
    keys: &Keys,
    token: &str,
    algorithm: Algorithm,
    id: Option<&str>,
) -> Result<Map<String, Value>, &'static str> {
    let key = keys.find(&rule.jwks, id, algorithm).await.ok_or("the token's key is not one of its issuer's")?;
    let key = DecodingKey::from_jwk(&key).map_err(|_| "the token's key cannot be used")?;
    let mut validation = Validation::new(algorithm);
    validation.leeway = LEEWAY;
    validation.validate_nbf = true;
    validation.set_audience(&[&rule.audience]);
    validation.set_issuer(&[&rule.issuer]);
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    jsonwebtoken::decode::<Map<String, Value>>(token, &key, &validation).map(|found| found.claims).map_err(|fault| match fault.kind() {
        ErrorKind::ExpiredSignature => "the token has expired",
        ErrorKind::ImmatureSignature => "the token is not valid yet",
        ErrorKind::InvalidAudience => "the token is for another audience",
        ErrorKind::MissingRequiredClaim(_) => "the token lacks exp, iss, aud or sub",
        _ => "the token's signature does not verify",
    })
}

/// Only signatures of which the verifier knows no secret: with a shared one, whoever verifies could forge.
pub(super) fn algorithm(name: &str) -> Option<Algorithm> {
    let known: Option<Algorithm> = name.parse().ok();
    known.filter(|known| matches!(known.family(), AlgorithmFamily::Rsa | AlgorithmFamily::Ec | AlgorithmFamily::Ed))
}

fn unverified(token: &str) -> Option<(Map<String, Value>, Map<String, Value>)> {
    let mut parts = token.split('.');
    let mut read = || {
        let bytes = URL_SAFE_NO_PAD.decode(parts.next()?).ok()?;
        // Two readings of one token must not be possible.
        match strict::parse(&bytes) {
            Ok((Value::Object(claims), None)) => Some(claims),
            _ => None,
        }
    };
    Some((read()?, read()?))
}

/// Whether every claim of a rule holds: a text is that text, or a list that has it; of several, all.
fn holds(rule: &BTreeMap<String, Vec<String>>, claims: &Map<String, Value>) -> bool {
    rule.iter().all(|(name, wanted)| {
        let has = |value: &String| match claims.get(name) {
            Some(Value::String(text)) => text == value,
            Some(Value::Array(all)) => all.iter().any(|one| one.as_str() == Some(value)),
            Some(Value::Bool(one)) => one.to_string() == *value,
            _ => false,
        };
        wanted.iter().all(has)
    })
}

/// The longest subject, in characters: `OpenID` Connect Core 1.0, section 2, allows no more.
const LONGEST_SUBJECT: usize = 255;

/// The subject as it stands in records and counts. Nothing is cut off or left out: two subjects are never one principal.
fn subject(claims: &Map<String, Value>) -> Result<String, &'static str> {
    let subject = claims.get("sub").and_then(Value::as_str).ok_or("the token's subject is no text")?;
    // U+2800, a Braille pattern without dots, is a letter that shows nothing.
    if subject.chars().all(|letter| letter.is_whitespace() || letter == '\u{2800}') {
        return Err("the token's subject is empty");
    }
    // Two subjects that look the same would be two principals that no person can tell apart.
    if subject.chars().any(is_hidden) {
        return Err("the token's subject holds characters that are not shown");
    }
    if subject.chars().count() > LONGEST_SUBJECT {
        return Err("the token's subject is longer than 255 characters");
    }
    // Injective: different subjects stay different.
    Ok(crate::filter::escape_line(subject).into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(subject: Value) -> Result<String, &'static str> {
        super::subject(&Map::from_iter([("sub".to_owned(), subject)]))
    }

    #[test]
    fn a_subject_is_whole_or_refused_and_two_are_never_one() {
        let long = |end: &str| "x".repeat(254) + end;
        assert_eq!((of(json!(long("a"))), of(json!(long("b")))), (Ok(long("a")), Ok(long("b"))));
        assert_eq!(of(json!("ü".repeat(255))), Ok("ü".repeat(255)));
        for refused in [json!(long("aa")), json!("x".repeat(5000)), json!(""), json!(" \t"), json!(7), json!(["ann"]), Value::Null] {
            assert!(of(refused.clone()).is_err(), "{refused}");
        }
        assert!(super::subject(&Map::new()).is_err());
        // What looks like the shown form of another subject is a subject of its own.
        let shown: BTreeSet<_> = ["ann", "Ann", " ann", "ann\\u{200b}", "ann\\n", "an n", "änn", "an\u{308}n", "安"]
            .into_iter()
            .map(|text| of(json!(text)).unwrap())
            .collect();
        assert_eq!(shown.len(), 9, "{shown:?}");
    }

    #[test]
    fn a_subject_of_which_a_person_would_not_see_a_part_is_refused() {
        for hidden in [
            "\n",
            "\0",
            "\u{85}",
            "\u{ad}",
            "\u{200b}",
            "\u{200d}",
            "\u{202e}",
            "\u{2028}",
            "\u{2066}",
            "\u{3164}",
            "\u{feff}",
            "\u{e0061}",
        ] {
            for text in [hidden.to_owned(), hidden.repeat(20), format!("ann{hidden}"), format!("{hidden}ann"), format!("an{hidden}n")] {
                assert!(of(json!(text)).is_err(), "{text:?}");
            }
        }
        for blank in ["\u{a0}", "\u{2003}\u{2003}", "\u{3000}", "\u{2800}", "\u{2800} \u{2800}"] {
            assert!(of(json!(blank)).is_err(), "{blank:?}");
        }
    }
}
