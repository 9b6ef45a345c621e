//! `[http]`: how `serve --http` meets its callers.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use smart_default::SmartDefault;

use super::fault::Ledger;
use super::form::entries;

/// How `serve --http` meets its callers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema, SmartDefault)]
#[serde(default)]
pub struct Http {
    /// The address that clients use, e.g. `https://tools.example.com/mcp`, where the server listens on another one. Its host is allowed.
    #[schemars(extend("format" = "public url"))]
    pub public_url: Option<String>,
    /// Further names that are accepted in a request's `Host` header, with or without a port. A server on a loopback address accepts
    /// loopback names.
    #[schemars(extend("items" = entries("host")))]
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may call the server, e.g. `https://app.example.com`. Its own is allowed; on a loopback address, loopback
    /// ones are.
    #[schemars(extend("items" = entries("origin")))]
    pub allowed_origins: Vec<String>,
    /// The SHA-256, as 64 hex digits, of the token with which other machines may read `/metrics`.
    #[serde(rename = "metrics_token_sha256")]
    #[schemars(with = "Option<String>", extend("format" = "sha256"))]
    pub metrics_token: Option<[u8; 32]>,
    /// Most connections at the same time.
    #[schemars(range(min = 1))]
    // A session holds one stream open and calls over others; the bounds stand in that ratio.
    #[default(8192)]
    pub max_connections: u32,
    /// Most sessions at the same time. One caller has at most half of them.
    #[schemars(range(min = 1))]
    #[default(4096)]
    pub max_sessions: u32,
    /// A session ends after this time without a request, e.g. `1h`. A running call or an open question keeps it.
    #[default(Duration::from_hours(1))]
    pub session_idle: Duration,
    /// How long running calls may go on after the server was told to stop, e.g. `5s`.
    #[default(Duration::from_secs(5))]
    pub shutdown: Duration,
}

impl Ledger<'_> {
    pub(super) fn http(&mut self, http: &mut Http) {
        http.public_url.take_if(|url| url.is_empty());
        if http.session_idle.is_zero() {
            self.fault("http.session_idle", "no request would fit in no time");
        }
    }
}
