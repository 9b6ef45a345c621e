//! Floor of `server`.
