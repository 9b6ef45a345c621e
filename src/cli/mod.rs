//! Floor of `cli`.

pub mod scan;
