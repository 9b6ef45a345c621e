//! Floor of `cli`.

pub mod lint;
