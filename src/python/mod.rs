//! Floor of `python`.
