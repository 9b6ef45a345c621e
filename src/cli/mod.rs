//! Floor 7, the command line: one file for each command, and the one place that calls them.

pub mod approvals;
pub mod audit;
mod change;
pub mod check;
pub mod decide;
pub mod demo;
pub mod doctor;
pub mod environment;
pub mod explain;
pub mod extract;
mod guarded;
mod http;
pub mod init;
pub mod install;
pub mod jsonl;
pub mod layout;
pub mod lint;
pub mod logs;
pub mod lookup;
mod nearest;
mod packages;
mod python;
mod rule_files;
mod run;
pub mod scan;
mod serve;
pub mod setup;
pub mod simulate;
mod switch;
mod text_file;
mod trust;
mod watch;
pub mod world;
pub mod world_state;

pub use change::Change;
pub use run::{End, Fault, Report, run};
