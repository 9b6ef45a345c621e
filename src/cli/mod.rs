//! Floor of `cli`.

pub mod doctor;
