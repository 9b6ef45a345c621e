//! The command line: one file per command, and the one place that calls them.
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

pub mod arguments;
pub mod audit;
pub mod demo;
pub mod doctor;
pub mod init;
pub mod install;
pub mod lint;
mod run;
pub mod setup;

pub use run::run;
pub mod scan;
