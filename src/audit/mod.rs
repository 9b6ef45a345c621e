//! Floor 2: the log and the state folder that every server of a user shares.

mod state;

pub use state::{StateDir, StateFault, random, token};
