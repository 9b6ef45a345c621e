//! Floor 0: the words of the house. No I/O, no clock, no async.

mod bytes;
mod refusal;

pub use bytes::Bytes;
pub use refusal::{Code, Refusal};
