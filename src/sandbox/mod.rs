//! Floor of `sandbox`.

pub mod jail;
