//! Who calls: tokens of the manifest, signed tokens of an issuer, and what opens nothing.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use crate::http::home::{Home, Policy};
use crate::http::server::HttpServer;
use crate::http::wire::{Caller, hello, request};
use crate::http::{NOTES, house, token};

pub(crate) const ISSUER: &str = "https://id.example";
pub(crate) const AUDIENCE: &str = "https://tools.example/mcp";

/// An issuer with one key.
pub(crate) struct Issuer {
    key: EncodingKey,
    public: Vec<u8>,
}

impl Issuer {
    pub(crate) fn new() -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        let secret = pair.to_pkcs8v1().unwrap();
        Self { key: EncodingKey::from_ec_der(secret.as_ref()), public: pair.public_key().as_ref().to_vec() }
    }

    pub(crate) fn keys(&self, id: &str) -> Value {
        let part = |range: std::ops::Range<usize>| URL_SAFE_NO_PAD.encode(&self.public[range]);
        json!({"keys": [
            {"kty": "unknown-kind", "kid": "z"},
            {"kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "alg": "ES256", "x": part(1..33), "y": part(33..65)},
        ]})
    }

    pub(crate) fn sign(&self, id: &str, claims: &Value) -> String {
        let header = Header { kid: Some(id.to_owned()), ..Header::new(Algorithm::ES256) };
        jsonwebtoken::encode(&header, claims, &self.key).unwrap()
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

pub(crate) fn claims(changes: &Value) -> Value {
    let mut claims = json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": now() + 300, "groups": ["staff", "developers"]});
    for (name, value) in changes.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

fn with_issuer(issuer: &Issuer) -> Home {
    let rule = |claim: &str, profile: &str| {
        format!(
            "[[clients.oauth]]\nissuer = \"{ISSUER}\"\naudience = \"{AUDIENCE}\"\njwks = \"keys.json\"\nalgorithms = [\"ES256\"]\nclaims = {{ \
             groups = \"{claim}\" }}\nprofile = \"{profile}\"\n"
        )
    };
    let reader = "[profiles.reader]\npermissions = [\"READONLY\"]\nallowed_tools = [\"read_file\"]\n";
    let home = house(Policy::default(), &[rule("developers", "all"), rule("readers", "reader"), reader.to_owned()].concat());
    let text = std::fs::read_to_string(home.manifest()).unwrap().replace("http = \"all\"", "http = \"none\"");
    std::fs::write(home.manifest(), text).unwrap();
    std::fs::write(home.path("keys.json"), issuer.keys("k1").to_string()).unwrap();
    home
}

#[test]
fn a_token_of_the_manifest_opens_its_profile_and_another_opens_nothing() {
    let home = house(Policy::default(), &token("ci", "secret-one"));
    let server = HttpServer::start(&home);
    let caller = |token| Caller { address: &server.address, token };
    let stored = crate::http::digest("secret-one");
    for bad in ["secret-two", "secret-on", "secret-one2", &stored] {
        let answer = caller(Some(bad)).post(&[], &hello().to_string());
        assert_eq!(answer.status, 401, "{bad}: {answer:?}");
        let challenge = answer.header("www-authenticate").unwrap();
        assert!(challenge.starts_with("Bearer ") && challenge.contains("error=\"invalid_token\""), "{challenge}");
        assert!(challenge.contains("resource_metadata=\"http://localhost/.well-known/oauth-protected-resource/mcp\""), "{challenge}");
        assert!(!challenge.contains(bad) && !answer.body.contains(bad), "{answer:?}");
    }
    let answer = caller(Some("secret-one")).call("read_file", &json!({"path": "project/notes.txt"}));
    assert_eq!(answer.message()["result"]["content"][0]["text"], NOTES, "{answer:?}");
    let record = home.told("call.finished", "read_file").remove(0);
    assert_eq!((&record["principal"], &record["profile"]), (&json!("token:ci"), &json!("all")));
    let errors = server.stop();
    let log: String = home.records().iter().map(ToString::to_string).collect();
    assert!(!errors.contains("secret-one") && !log.contains("secret-one"), "a token stands in a record");
}

#[test]
fn nobody_in_particular_has_no_access_where_the_manifest_says_none() {
    let home = with_issuer(&Issuer::new());
    let server = HttpServer::start(&home);
    let answer = Caller { address: &server.address, token: None }.post(&[], &hello().to_string());
    assert_eq!(answer.status, 401, "{answer:?}");
    assert_eq!(request(&server.address, "GET", "/sse", &[], b"").status, 401);
    assert_eq!(request(&server.address, "POST", "/messages?sessionId=x", &[], b"{}").status, 401);
    let metadata = request(&server.address, "GET", "/.well-known/oauth-protected-resource/mcp", &[], b"");
    let metadata: Value = serde_json::from_str(&metadata.body).unwrap();
    assert_eq!(metadata["resource"], AUDIENCE);
    assert_eq!(metadata["authorization_servers"], json!([ISSUER]));
}

#[test]
fn a_signed_token_opens_the_one_profile_its_claims_fit() {
    let issuer = Issuer::new();
    let home = with_issuer(&issuer);
    let server = HttpServer::start(&home);
    let good = issuer.sign("k1", &claims(&json!({})));
    let caller = Caller { address: &server.address, token: Some(&good) };
    let answer = caller.call("read_file", &json!({"path": "project/notes.txt"}));
    assert_eq!(answer.message()["result"]["content"][0]["text"], NOTES, "{answer:?}");
    let record = home.told("call.finished", "read_file").remove(0);
    assert_eq!((&record["principal"], &record["profile"]), (&json!(format!("oauth:ada@{ISSUER}")), &json!("all")));
    // What is listed depends on the caller alone.
    let reading = issuer.sign("k1", &claims(&json!({"groups": "readers", "sub": "bob"})));
    let listed = |token: &str| {
        let caller = Caller { address: &server.address, token: Some(token) };
        let answer = caller.post(
            &[("mcp-protocol-version", crate::http::wire::MODERN), ("mcp-method", "tools/list")],
            &crate::http::wire::message("tools/list", &json!({})).to_string(),
        );
        answer.message()["result"].clone()
    };
    assert_eq!(listed(&reading)["tools"].as_array().unwrap().len(), 1);
    assert!(listed(&good)["tools"].as_array().unwrap().len() > 5);
    assert_eq!(listed(&reading)["cacheScope"], "private");
}

#[test]
fn a_token_that_is_expired_forged_or_for_another_opens_nothing() {
    let (issuer, stranger) = (Issuer::new(), Issuer::new());
    let home = with_issuer(&issuer);
    let server = HttpServer::start(&home);
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let good = claims(&json!({}));
    let unsigned = format!("{}.{}.", part(&json!({"alg": "none", "typ": "JWT"})), part(&good));
    let shared = {
        // The public key as a shared secret: RFC 8725 section 2.1.
        let header = Header { kid: Some("k1".into()), ..Header::new(Algorithm::HS256) };
        jsonwebtoken::encode(&header, &good, &EncodingKey::from_secret(&issuer.public)).unwrap()
    };
    let signed = issuer.sign("k1", &good);
    let (head, rest) = signed.split_once('.').unwrap();
    let (_, signature) = rest.split_once('.').unwrap();
    let changed = format!("{head}.{}.{signature}", part(&claims(&json!({"sub": "root"}))));
    let critical = {
        let header = part(&json!({"alg": "ES256", "kid": "k1", "crit": ["x"], "x": 1}));
        format!("{header}.{}.{signature}", part(&good))
    };
    for (what, token) in [
        ("expired", issuer.sign("k1", &claims(&json!({"exp": now() - 60})))),
        ("without an end", issuer.sign("k1", &claims(&json!({"exp": null})))),
        ("not yet valid", issuer.sign("k1", &claims(&json!({"nbf": now() + 600})))),
        ("for another audience", issuer.sign("k1", &claims(&json!({"aud": "https://other.example/mcp"})))),
        ("for nobody", issuer.sign("k1", &claims(&json!({"aud": null})))),
        ("of another issuer", issuer.sign("k1", &claims(&json!({"iss": "https://id.evil"})))),
        ("of no subject", issuer.sign("k1", &claims(&json!({"sub": null})))),
        ("of an empty subject", issuer.sign("k1", &claims(&json!({"sub": ""})))),
        ("of a blank subject", issuer.sign("k1", &claims(&json!({"sub": " "})))),
        ("of a subject that is no text", issuer.sign("k1", &claims(&json!({"sub": 7})))),
        ("of a subject that would be cut", issuer.sign("k1", &claims(&json!({"sub": "x".repeat(256)})))),
        ("signed by a stranger", stranger.sign("k1", &good)),
        ("of an unknown key", issuer.sign("k2", &good)),
        ("unsigned", unsigned),
        ("signed with the public key", shared),
        ("changed", changed),
        ("with an unknown extension", critical),
    ] {
        let answer = Caller { address: &server.address, token: Some(&token) }.post(&[], &hello().to_string());
        assert_eq!(answer.status, 401, "{what}: {answer:?}");
        assert!(answer.header("www-authenticate").unwrap().contains("invalid_token"), "{what}");
    }
    for (what, token) in [
        ("fits no rule", issuer.sign("k1", &claims(&json!({"groups": ["sales"]})))),
        ("fits two", issuer.sign("k1", &claims(&json!({"groups": ["readers", "developers"]})))),
    ] {
        let answer = Caller { address: &server.address, token: Some(&token) }.post(&[], &hello().to_string());
        assert_eq!(answer.status, 403, "{what}: {answer:?}");
        assert!(answer.header("www-authenticate").unwrap().contains("insufficient_scope"), "{what}");
    }
    assert_eq!(Caller { address: &server.address, token: Some(&signed) }.post(&[], &hello().to_string()).status, 200);
}

#[test]
fn a_session_of_another_caller_is_not_there() {
    let home = house(Policy::default(), &[token("ada", "secret-ada"), token("bob", "secret-bob")].concat());
    let server = HttpServer::start(&home);
    let (ada, bob) =
        (Caller { address: &server.address, token: Some("secret-ada") }, Caller { address: &server.address, token: Some("secret-bob") });
    let session = ada.begin();
    let read = json!({"path": "project/notes.txt"});
    for other in [bob, Caller { address: &server.address, token: None }] {
        assert_eq!(other.call_in(&session, 1, "read_file", &read).status, 404);
        let bearer = format!("Bearer {}", other.token.unwrap_or_default());
        let own: Vec<(&str, &str)> = if other.token.is_some() { vec![("authorization", bearer.as_str())] } else { Vec::new() };
        let headers = |more: &'static [(&str, &str)]| [own.clone(), more.to_vec(), vec![("mcp-session-id", session.as_str())]].concat();
        assert_eq!(request(&server.address, "DELETE", "/mcp", &headers(&[]), b"").status, 404);
        assert_eq!(request(&server.address, "GET", "/mcp", &headers(&[("accept", "text/event-stream")]), b"").status, 404);
    }
    assert_eq!(ada.call_in("guessed", 1, "read_file", &read).status, 404);
    let answer = ada.call_in(&session, 2, "read_file", &read);
    assert_eq!(answer.message()["result"]["content"][0]["text"], NOTES, "{answer:?}");
}

#[test]
fn two_subjects_with_equal_beginnings_are_two_callers() {
    let issuer = Issuer::new();
    let home = with_issuer(&issuer);
    let server = HttpServer::start(&home);
    let subject = |end: char| "x".repeat(200) + &end.to_string();
    for end in ['a', 'b'] {
        let token = issuer.sign("k1", &claims(&json!({"sub": subject(end)})));
        let caller = Caller { address: &server.address, token: Some(&token) };
        let answer = caller.call("read_file", &json!({"path": "project/notes.txt"}));
        assert_eq!(answer.message()["result"]["content"][0]["text"], NOTES, "{answer:?}");
    }
    let principals: Vec<Value> = home.told("call.finished", "read_file").into_iter().map(|record| record["principal"].clone()).collect();
    assert_eq!(principals, ['a', 'b'].map(|end| json!(format!("oauth:{}@{ISSUER}", subject(end)))));
}
