//! Floor 3: a judgement becomes a permit here, and nowhere else.

mod permit;

pub use permit::{Permit, Terms};
