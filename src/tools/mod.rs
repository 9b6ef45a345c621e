//! Floor of `tools`.
