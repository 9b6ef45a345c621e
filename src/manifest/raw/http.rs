//! `[http]` as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

/// How `serve --http` meets its callers.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::manifest) struct Http {
    /// The address that clients use, e.g. `https://tools.example.com/mcp`, where it is not the one that is listened on; its host is allowed.
    pub(in crate::manifest) public_url: Option<String>,
    /// Further names that a request's `Host` may have, with or without a port. Loopback names are allowed on a loopback address.
    pub(in crate::manifest) allowed_hosts: Option<Vec<String>>,
    /// Origins whose pages may call, e.g. `https://app.example.com`. The server's own and, on a loopback address, loopback ones are allowed.
    pub(in crate::manifest) allowed_origins: Option<Vec<String>>,
    /// The SHA-256 of the token that opens `/metrics` to callers from elsewhere, 64 hex digits.
    pub(in crate::manifest) metrics_token_sha256: Option<String>,
    /// Connections at one time.
    pub(in crate::manifest) max_connections: Option<u32>,
    /// Sessions at one time; one caller has at most half of them.
    pub(in crate::manifest) max_sessions: Option<u32>,
    /// How long a session may do nothing before it is ended, e.g. `1h`. One with a running call or an open question is not idle.
    pub(in crate::manifest) session_idle: Option<String>,
    /// How long running calls may go on after the server was told to stop, e.g. `5s`.
    pub(in crate::manifest) shutdown: Option<String>,
}
