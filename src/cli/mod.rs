//! Floor 7: one file for each command, and what they share.

mod change;
pub mod check;
pub mod decide;
pub mod explain;
mod nearest;
pub mod schema;
pub mod simulate;
pub mod strict_json;
pub mod world;
pub mod world_state;

pub use change::Change;
//! Floor of `cli`.

pub mod lint;
