//! toolgate: real tools for language models behind one gate.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod call_log;
pub mod calls;
pub mod cli;
pub mod entry;
pub mod filter;
pub mod gate;
pub mod house;
pub mod pipeline;
pub mod reload;
pub mod sandbox;
pub mod server;
pub mod state;
mod suggest;
pub mod tool;
pub mod tools;

pub use toolgate_audit as audit;
pub use toolgate_policy::{manifest, model, policy};
