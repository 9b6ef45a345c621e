#![doc = include_str!("../README.md")]

mod chain;
mod commit;
mod escape;
#[cfg(test)]
mod failing_tests;
mod fault;
mod file;
mod filter;
mod network;
mod read;
mod record;
mod recover;
mod settings;
mod tally;
mod under_way;
mod verify;
mod writer;

pub use chain::Receipt;
pub use escape::{is_hidden, json, plain};
pub use fault::Fault;
pub use filter::{Filter, FilterFault};
pub use network::{Network, Request as NetworkRequest, bare as bare_url, connection};
pub use read::{Records, Stored};
pub use record::{Client, Event, Record};
pub use settings::{Redact, Redacted, Settings, Sync};
pub use tally::{Approvals, Tally};
pub use verify::{Broken, End, FileReport, Report, head, verify};
pub use writer::{Clock, Log};
