//! Floor 3: a judgement becomes a permit here, and nowhere else.

mod permit;
mod question;
mod rates;

pub use permit::{Permit, Terms};
pub use question::Preview;
pub use rates::{Budget, Millis, Rates};
