//! Floor of `manifest`.
