//! Floor of `cli`.

pub mod audit;
