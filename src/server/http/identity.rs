//! Who calls: a bearer token known by its digest, a verified JSON Web Token, or, on this machine alone, nobody in particular.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest, Sha256};

use super::jwt::{self, Verdict};
use super::keys::Keys;
use crate::manifest::Manifest;

/// An authenticated caller and the one profile it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) principal: String,
    pub(super) profile: String,
}

/// Why a request has no caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// It brings no token, and one is asked for.
    Missing,
    /// Its token is not valid. Which of the reasons it was goes to the log of the operator only where it tells an attacker nothing.
    Invalid(&'static str),
    /// Its token is valid and opens no profile, or more than one.
    Forbidden,
}

/// The longest token that is looked at, in bytes.
const LONGEST: usize = 16 << 10;

/// Finds out who calls. `is_local`: whether callers without a token may have the profile of `[clients] http`.
/// # Errors  Why nobody.
pub(super) async fn identify(manifest: &Manifest, keys: &Keys, headers: &HeaderMap, is_local: bool) -> Result<Identity, Unknown> {
    let Some(token) = bearer(headers)? else {
        let profile = manifest.clients.http.clone().filter(|_| is_local).ok_or(Unknown::Missing)?;
        return Ok(Identity { principal: "anonymous".to_owned(), profile });
    };
    if let Some(known) = static_token(manifest, token) {
        return Ok(known);
    }
    if manifest.clients.oauth.is_empty() || !jwt::looks_like(token) {
        return Err(Unknown::Invalid("the token is not known"));
    }
    match jwt::verify(&manifest.clients.oauth, keys, token).await {
        Verdict::Fits { principal, profile } => Ok(Identity { principal, profile }),
        Verdict::FitsNoRule => Err(Unknown::Forbidden),
        Verdict::Invalid(why) => Err(Unknown::Invalid(why)),
    }
}

/// The bearer token of a request. A request that means to prove who it is and does it badly is never taken for an anonymous one.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Unknown> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let value = match (all.next(), all.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value.to_str().map_err(|_| Unknown::Invalid("the Authorization header is no text"))?,
        _ => return Err(Unknown::Invalid("there are two Authorization headers")),
    };
    let fault = Unknown::Invalid("the Authorization header is not `Bearer TOKEN`");
    let (scheme, token) = value.split_once(' ').ok_or(fault)?;
    let token = token.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() || token.contains(' ') || token.len() > LONGEST {
        return Err(fault);
    }
    Ok(Some(token))
}

/// Whether a request brings the token of this digest.
pub(super) fn brings(headers: &HeaderMap, digest: &[u8; 32]) -> bool {
    let Ok(Some(token)) = bearer(headers) else { return false };
    verify_slices_are_equal(&Sha256::digest(token.as_bytes()), digest).is_ok()
}

/// The caller of a stored token. Every stored digest is compared, in constant time, wherever the first fits.
fn static_token(manifest: &Manifest, token: &str) -> Option<Identity> {
    let digest = Sha256::digest(token.as_bytes());
    let mut found = None;
    for known in &manifest.clients.tokens {
        if verify_slices_are_equal(&digest, &known.sha256).is_ok() {
            found = Some(known);
        }
    }
    found.map(|known| Identity { principal: format!("token:{}", known.name), profile: known.profile.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Clients, Token};

    fn manifest(http: Option<&str>) -> Manifest {
        let tokens = vec![Token { name: "ci".into(), sha256: Sha256::digest(b"right").into(), profile: "standard".into() }];
        Manifest { clients: Clients { http: http.map(str::to_owned), tokens, ..Clients::default() }, ..Manifest::default() }
    }

    async fn ask(http: Option<&str>, authorization: &[&str], is_local: bool) -> Result<Identity, Unknown> {
        let mut headers = HeaderMap::new();
        for value in authorization {
            headers.append(AUTHORIZATION, value.parse().unwrap());
        }
        identify(&manifest(http), &Keys::none(), &headers, is_local).await
    }

    #[tokio::test]
    async fn a_token_is_known_by_its_digest() {
        let ci = Identity { principal: "token:ci".into(), profile: "standard".into() };
        assert_eq!(ask(None, &["Bearer right"], false).await, Ok(ci.clone()));
        assert_eq!(ask(None, &["bearer right"], true).await, Ok(ci));
        for wrong in ["Bearer wrong", "Bearer righ", "Bearer right2", "Bearer a.b.c"] {
            assert_eq!(ask(None, &[wrong], false).await, Err(Unknown::Invalid("the token is not known")), "{wrong}");
        }
        let digest = format!("Bearer {}", crate::gate::hex(&Sha256::digest(b"right")));
        assert!(ask(None, &[&digest], false).await.is_err(), "what the manifest stores opens nothing");
    }

    #[tokio::test]
    async fn nobody_in_particular_comes_in_from_this_machine_alone_and_where_the_manifest_says_so() {
        let anonymous = Identity { principal: "anonymous".into(), profile: "readonly".into() };
        assert_eq!(ask(Some("readonly"), &[], true).await, Ok(anonymous));
        assert_eq!(ask(Some("readonly"), &[], false).await, Err(Unknown::Missing));
        assert_eq!(ask(None, &[], true).await, Err(Unknown::Missing));
    }

    #[tokio::test]
    async fn a_bad_proof_is_never_taken_for_none() {
        for headers in [&["Basic cmlnaHQ="][..], &["Bearer"], &["Bearer "], &["Bearer right right"], &["Bearer right", "Bearer right"]] {
            assert!(matches!(ask(Some("readonly"), headers, true).await, Err(Unknown::Invalid(_))), "{headers:?}");
        }
    }
}
