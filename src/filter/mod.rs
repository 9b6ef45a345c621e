//! Floor of `filter`.
