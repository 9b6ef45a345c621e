//! `[http]`: how `serve --http` meets its callers.

use std::time::Duration;

/// The settings of the HTTP endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Http {
    /// The canonical address, where it is not the one that is listened on.
    pub public_url: Option<String>,
    /// Further names a `Host` may have, lower case, with or without a port.
    pub allowed_hosts: Vec<String>,
    /// Origins whose pages may call, lower case: `scheme://host` or `scheme://host:port`.
    pub allowed_origins: Vec<String>,
    /// Digest of the token that opens `/metrics` from elsewhere.
    pub metrics_token: Option<[u8; 32]>,
    /// Connections at one time, over all callers.
    pub max_connections: u32,
    /// Sessions at one time, over all callers; one caller has at most half of them.
    pub max_sessions: u32,
    /// A session that did nothing for this long ends.
    pub session_idle: Duration,
    /// What running calls have left once the server was told to stop.
    pub shutdown: Duration,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            public_url: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            metrics_token: None,
            // A session holds one stream open and calls over others; the bounds stand in that ratio.
            max_connections: 8192,
            max_sessions: 4096,
            session_idle: Duration::from_hours(1),
            shutdown: Duration::from_secs(5),
        }
    }
}
