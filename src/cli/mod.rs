//! The command line: one file per command, and the one place that calls them.

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
