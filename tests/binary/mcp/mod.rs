//! JSON-RPC by hand against the built binary: what no well-behaved client would send, and what every client must get.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a server that does not answer as it must fails the test")]

mod approvals;
mod attacks;
mod automatic_answers;
mod bound_approvals;
mod command_line;
mod commands;
mod composite_calls;
mod container;
mod cpython;
mod crash;
#[cfg(feature = "sqlite")]
mod databases;
mod eras;
mod file_formats;
mod first_call;
mod first_session;
mod hostile_input;
mod imports;
mod json_output;
mod killed_mid_call;
mod limits;
mod listing;
#[cfg(feature = "mail")]
mod mail;
mod messages;
mod multi_file_changes;
mod near_names;
mod operator;
mod ordinary_use;
mod packages;
mod past_attacks;
mod program_view;
mod programs;
mod protected_files;
mod python;
mod question_texts;
mod reload;
mod review;
mod robots;
mod scopes;
pub(crate) mod server;
mod shutdown;
mod suggest;
mod taint;
mod trust;
mod waiting;
mod watching;

use crate::{edges, home};
