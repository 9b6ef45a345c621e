//! Texts of the manifest that have a form of their own: the schema names the form, and a text is read where it stands, so that its fault has
//! a place.

use std::net::SocketAddr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::{Value, json};

use super::{
    AllowPattern, DatabaseUrl, DenyPattern, DomainPattern, LaterPattern, MailServer, UpstreamProxy, databases, mail, requirement, units,
};
use crate::model::{Address, Bytes, Scheme};

/// The schema of a list's entries that have this form.
pub(crate) fn entries(form: &str) -> Value {
    json!({"type": "string", "format": form})
}

/// Reads a text of a form: gives what its type is deserialised from.
///
/// # Errors  A sentence for the manifest's list of faults.
pub(super) fn read(form: &str, text: &str) -> Result<Value, String> {
    let checked = match form {
        "duration" => return units::duration(text).map(|time| json!(time)),
        "percent" => return units::percent(text).map(Value::from),
        "sha256" => return digest(text).map(|bytes| json!(bytes)),
        "host" => return host(text).map(Value::from),
        "origin" => return origin(text).map(Value::from),
        "package" => return requirement(text).map(Value::from),
        "secret" => return secret(text).map(Value::from),
        "text or none" if text.is_empty() => Ok(()),
        "text" | "text or none" => nonblank(text),
        "address" => address(text),
        "algorithm" => algorithm(text),
        "module" => module(text),
        "column" => databases::column(text),
        "recipient" => mail::recipient(text),
        "public url" => public_url(text),
        "domain" => DomainPattern::parse(text).map(drop),
        "later pattern" => LaterPattern::parse(text).map(drop),
        form => of_type(form, text),
    };
    checked.map(|()| Value::from(text))
}

macro_rules! forms {
    ($($form:literal $type:ty = $read:expr;)*) => {
        $(
            impl JsonSchema for $type {
                fn schema_name() -> std::borrow::Cow<'static, str> {
                    $form.into()
                }

                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    json_schema!({"type": "string", "format": $form})
                }
            }

            impl<'de> Deserialize<'de> for $type {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    $read(&String::deserialize(deserializer)?).map_err(D::Error::custom)
                }
            }
        )*

        fn of_type(form: &str, text: &str) -> Result<(), String> {
            match form {
                $($form => $read(text).map(drop),)*
                _ => Ok(()),
            }
        }
    };
}

forms! {
    "size" Bytes = Bytes::parse;
    "allow pattern" AllowPattern = AllowPattern::parse;
    "deny pattern" DenyPattern = DenyPattern::parse;
    "domain or address" DomainPattern = DomainPattern::parse_denied;
    "scheme" Scheme = scheme;
    "proxy" UpstreamProxy = UpstreamProxy::parse;
    "database" DatabaseUrl = DatabaseUrl::parse;
    "mail server" MailServer = MailServer::parse;
    "mail address" Address = mail::address;
}

fn scheme(text: &str) -> Result<Scheme, String> {
    Scheme::parse(text).ok_or_else(|| format!("`{text}` is no scheme that is spoken here; write `https` or `http`"))
}

/// A text that is not blank and holds no control character.
fn nonblank(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("this is empty; write a value, or leave the key out".to_owned());
    }
    printable(text)
}

/// A text without control characters. A NUL would end a path or a name early, a line end would begin another record.
pub(super) fn printable(text: &str) -> Result<(), String> {
    if text.chars().any(char::is_control) { Err(format!("`{}` holds a control character", text.escape_debug())) } else { Ok(()) }
}

/// The name of a secret, of `${secret:NAME}`.
fn secret(text: &str) -> Result<&str, String> {
    let name = text.strip_prefix("${secret:").and_then(|rest| rest.strip_suffix('}'));
    name.ok_or_else(|| "a password does not stand in this file; write `${secret:NAME}`, with a secret of [network.secrets]".to_owned())
}

fn address(text: &str) -> Result<(), String> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() != 0 => Ok(()),
        _ => Err(format!("`{text}` is no address with a port; write e.g. `10.1.2.3:8080` or `[fd00::5]:443`, each host by its number")),
    }
}

/// A signature of which the verifier knows no secret: with a shared one, whoever verifies could forge.
fn algorithm(name: &str) -> Result<(), String> {
    const KNOWN: [&str; 9] = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];
    if KNOWN.contains(&name) {
        return Ok(());
    }
    Err(format!("`{}` is no accepted algorithm; those are {}", name.escape_debug(), KNOWN.join(", ")))
}

fn module(text: &str) -> Result<(), String> {
    let is_name =
        |part: &str| part.starts_with(|c: char| c == '_' || c.is_alphabetic()) && part.chars().all(|c| c == '_' || c.is_alphanumeric());
    if text == "*" || text.strip_suffix(".*").unwrap_or(text).split('.').all(is_name) {
        return Ok(());
    }
    Err(format!("`{}` is no name of a module; write e.g. `json` or `os.path`, or `*` for any", text.escape_debug()))
}

/// The whole address of the server; an empty one is none.
fn public_url(text: &str) -> Result<(), String> {
    let is_whole = |url: url::Url| matches!(url.scheme(), "http" | "https") && url.has_host() && url.fragment().is_none();
    if text.is_empty() || url::Url::parse(text).is_ok_and(is_whole) {
        return Ok(());
    }
    Err("write the whole address that clients use, e.g. `https://tools.example.com/mcp`".to_owned())
}

/// 64 hexadecimal digits as bytes.
fn digest(text: &str) -> Result<[u8; 32], String> {
    let pair = |at: usize| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..32).map(pair).collect();
    bytes
        .filter(|_| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit()))
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| "a SHA-256 is 64 hexadecimal digits; `printf %s TOKEN | sha256sum` prints it".to_owned())
}

/// A host with or without a port, as `Host` has it.
fn host(text: &str) -> Result<String, String> {
    let fault = || format!("`{}` is no host; write `tools.example.com` or `tools.example.com:8443`", text.escape_debug());
    let parsed = url::Url::parse(&format!("http://{text}/")).map_err(|_| fault())?;
    let plain = parsed.path() == "/" && parsed.query().is_none() && parsed.username().is_empty() && !text.contains(['/', '*', '@', '#']);
    if plain { Ok(text.to_ascii_lowercase()) } else { Err(fault()) }
}

/// An origin (RFC 6454): scheme, host, port where it is not the scheme's own.
fn origin(text: &str) -> Result<String, String> {
    let fault = || format!("`{}` is no origin; write `https://app.example.com`, without a path", text.escape_debug());
    let parsed = url::Url::parse(text).map_err(|_| fault())?;
    let origin = parsed.origin();
    if !origin.is_tuple() || origin.ascii_serialization() != text.trim_end_matches('/').to_ascii_lowercase() {
        return Err(fault());
    }
    Ok(origin.ascii_serialization())
}
