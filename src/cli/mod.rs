//! Floor 7, the command line: one file for each command, and the one place that calls them.

pub mod approvals;
pub mod arguments;
pub mod audit;
mod change;
pub mod check;
pub mod decide;
pub mod demo;
pub mod doctor;
pub mod drill;
pub mod environment;
pub mod explain;
pub mod extract;
mod guarded;
mod http;
pub mod init;
pub mod install;
pub mod jsonl;
mod judging;
pub mod lint;
pub mod logs;
mod nearest;
mod packages;
mod policy;
mod run;
pub mod scan;
pub mod schema;
pub mod setup;
pub mod simulate;
pub mod strict_json;
mod text_file;
pub mod watch;
pub mod world;
pub mod world_state;

pub use change::Change;
pub use run::run;
