//! Floor of `cli`.

pub mod extract;
