//! Floor of `cli`.
