//! Floor 7: one file for each command, and what they share.

pub mod check;
pub mod decide;
pub mod simulate;
pub mod strict_json;
pub mod world;
pub mod world_state;
