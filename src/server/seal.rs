//! Seals of what a client carries between two calls (2026-07-28): under keys of the state folder, so that any server on it opens what another
//! sealed, and none elsewhere does. A new key every 30 days, without anybody's doing: its number is the date.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rmcp::model::{RequestStateCodec, SealOptions};

use crate::context::ServerContext;

/// The seals of a server. Keys are read when they are needed: questions to people are rare, and a key that was taken away is gone at once.
#[derive(Debug, Clone)]
pub(super) struct Seals(Arc<ServerContext>);

/// The associated data of every seal: states of other purposes or versions do not open.
const PURPOSE: &[u8] = b"toolgate approval 1";

impl Seals {
    /// The seals of a server.
    pub(super) fn of(server: &Arc<ServerContext>) -> Self {
        Self(Arc::clone(server))
    }

    /// Seals a state for as long as `ttl`; nothing when there is no key.
    pub(super) fn seal(&self, state: &[u8], ttl: Duration) -> Option<String> {
        let codec = self.codec().map_err(|fault| tracing::error!(%fault, "the key of request states cannot be read")).ok()?;
        Some(codec.seal_with(state, &SealOptions::new().associated_data(PURPOSE).ttl(ttl)))
    }

    /// Opens a state; nothing when it was not sealed on this state folder, was changed, or is too old.
    pub(super) fn open(&self, sealed: &str) -> Option<Vec<u8>> {
        let codec = self.codec().map_err(|fault| tracing::error!(%fault, "the key of request states cannot be read")).ok()?;
        codec.open_with(sealed, PURPOSE).map_err(|fault| tracing::info!(%fault, "a request state is not one of this server")).ok()
    }

    fn codec(&self) -> io::Result<RequestStateCodec> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let keys = self.0.state().seal_keys(now)?;
        let newest = keys.first().map(|(name, _)| name.clone()).unwrap_or_default();
        RequestStateCodec::new_with_keyring(newest, keys).map_err(io::Error::other)
    }
}
