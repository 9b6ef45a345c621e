//! Floor 2: the log, and the state folder it lies in. A record is in the kernel, or on disk, before what it announces happens; each follows from the
//! one before it by its hash.

mod address;
mod chain;
mod commit;
mod entry;
mod escape;
mod facts;
#[cfg(test)]
mod failing;
mod fault;
mod file;
mod filter;
pub(crate) mod hex;
mod network;
mod operator;
mod read;
mod record;
mod recover;
mod redact;
mod settings;
mod state;
pub mod store;
mod tally;
mod under_way;
mod verify;
mod writer;

pub use chain::Receipt;
pub use entry::{Answer, Decision, Entry, Reply, Status};
pub use escape::{is_hidden, json, plain};
pub use fault::Fault;
pub use filter::{Filter, FilterFault};
pub use network::{Network, Request as NetworkRequest, bare as bare_url, connection};
pub use operator::{Answered, Ask, Checked, Operator, Place, Say, is_id, persons};
pub use read::{Records, Stored};
pub use record::{Client, Event, Record};
pub use redact::Redacted;
pub use settings::{Durability, Reach, Settings, Sync};
pub use state::{Kept, StateDir, StateFault, random, token};
pub use tally::{Approvals, Tally};
pub use verify::{Broken, End, FileReport, Report, head, verify};
pub use writer::{Clock, Log};
