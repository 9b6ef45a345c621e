//! Floor 1, `filter`: what untrusted text may not do to a reader. Values in, values out: no I/O, no clock.

mod escape;
mod filtered;

pub use escape::{escape, escape_line, is_shown_as_is};
pub use filtered::{Filtered, Parts};
