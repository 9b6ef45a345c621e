//! Floor of `filter`.

pub mod reader;
