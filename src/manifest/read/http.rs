//! `[http]`: addresses that parse, digests that are digests, bounds above nothing.

use std::time::Duration;

use super::super::{Http, raw};
use super::Reader;
use super::access::digest;

impl Reader<'_, '_> {
    pub(super) fn http(&mut self, written: raw::Http) -> Http {
        let mut http = Http::default();
        if let Some(text) = written.public_url.filter(|text| !text.is_empty()) {
            match url::Url::parse(&text) {
                Ok(parsed) if matches!(parsed.scheme(), "http" | "https") && parsed.has_host() && parsed.fragment().is_none() => {
                    http.public_url = Some(text);
                }
                _ => self.fault("http.public_url", "write the whole address that clients use, e.g. `https://tools.example.com/mcp`"),
            }
        }
        http.allowed_hosts = self.list("http.allowed_hosts", &written.allowed_hosts.unwrap_or_default(), host);
        http.allowed_origins = self.list("http.allowed_origins", &written.allowed_origins.unwrap_or_default(), origin);
        if let Some(text) = written.metrics_token_sha256 {
            http.metrics_token = digest(&text);
            if http.metrics_token.is_none() {
                self.fault("http.metrics_token_sha256", "a SHA-256 is 64 hexadecimal digits; `printf %s TOKEN | sha256sum` prints it");
            }
        }
        for (key, given, bound) in [
            ("max_connections", written.max_connections, &mut http.max_connections),
            ("max_sessions", written.max_sessions, &mut http.max_sessions),
        ] {
            match given {
                Some(0) => self.fault(&format!("http.{key}"), "0 would refuse everybody; leave `--http` out instead"),
                Some(given) => *bound = given,
                None => {}
            }
        }
        for (key, given, bound) in
            [("session_idle", written.session_idle, &mut http.session_idle), ("shutdown", written.shutdown, &mut http.shutdown)]
        {
            let at = format!("http.{key}");
            match self.time(&at, given.as_ref()) {
                Some(Duration::ZERO) if key != "shutdown" => self.fault(&at, "no request would fit in no time"),
                Some(given) => *bound = given,
                None => {}
            }
        }
        http
    }
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
