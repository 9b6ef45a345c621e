//! toolgate: real tools for language models behind one gate.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

// From the floor up; a module uses its own floor and those below it. What needs nothing of the gate is a crate of its own: toolgate-jail (walls and
// limits of programs), toolgate-pycheck, toolgate-filter (finds and masks) and toolgate-page. docs/architecture.md has the files to open first.

// 0: the state folder, and what the servers on it share: grants, operators' questions, suspensions, the kill switch.
pub mod state;
// 0: the records of the log, their chain, recovery and verification (crates/toolgate-audit).
pub use toolgate_audit as audit;
// 0 and 1: the words, `tools.toml` as types, and the pure decision: where a path, an address or a program is judged (crates/toolgate-policy).
pub use toolgate_policy::{manifest, model, policy};

// 1: what is done about secrets, personal data and instructions in arguments and answers.
pub mod filter;
// 2: one call in the log, and how its arguments are redacted.
pub mod entry;
// 3: counts, questions to people, grants, taint; makes the permit without which nothing acts.
pub mod gate;
// 4: what acts, by a permit alone: files, web, programs in jails, readers of pages.
pub mod sandbox;
// 5: what a tool is.
pub mod tool;

// 6: what the calls of one server share.
pub mod context;
// 6: the way of one call, top to bottom.
pub mod pipeline;
// 6: a call that consists of several.
pub mod calls;
// 6: taking a changed manifest; log lines of a call; hints for names that were not found.
mod call_log;
pub mod reload;
mod suggest;

// 7: one file a tool; MCP over stdio and HTTP; one file a command.
pub mod cli;
pub mod server;
pub mod tools;
