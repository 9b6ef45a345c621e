//! Floor 1: `tools.toml` as types.

/// The manifest.
#[derive(Debug)]
pub struct Manifest {}
