//! Floor of `policy`.
