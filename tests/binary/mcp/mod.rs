//! JSON-RPC by hand against the built binary: what no well-behaved client would send, and what every client must get.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a server that does not answer as it must fails the test")]

mod approvals;
mod attacks;
mod bound;
mod changes;
mod commands;
mod container;
mod cpython;
mod crash;
mod day;
mod elsewhere;
mod ending;
mod eras;
mod first;
mod forms;
mod guarded;
mod hostile;
mod imports;
mod limits;
mod listing;
mod meant;
mod messages;
mod objects;
mod operator;
mod packages;
mod pretenders;
mod programs;
mod python;
mod quick;
mod reload;
mod review;
mod scopes;
pub(crate) mod server;
mod several;
mod shown;
mod strays;
mod struck;
mod suggest;
mod trust;
mod untrusted;
mod usual;
mod views;
mod waiting;
mod watching;

use crate::{edges, home};
