//! Floor of `sandbox`.
