//! Floor of `model`.
