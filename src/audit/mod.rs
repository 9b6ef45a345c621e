//! Floor of `audit`.
