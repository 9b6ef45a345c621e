//! Floor of `cli`.

pub mod audit;
pub mod doctor;
pub mod lint;
