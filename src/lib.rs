//! toolgate: real tools for language models behind one gate.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

// The modules, lowest floor first. A module uses its own floor and lower ones; `tests/library/architecture` fails otherwise. The crates below `crates/`
// need nothing of the gate: toolgate-jail (runs programs in a sandbox), toolgate-pycheck (checks Python), toolgate-filter (finds secrets and
// instructions in texts), toolgate-page (reads pages and PDF files), toolgate-audit and toolgate-policy. docs/architecture.md has a map.

// 0: the state folder, and what the servers on it share: grants, questions to operators, suspensions, the emergency stop.
pub mod state;
// 0: the records of the audit log, their chain, recovery and verification (crates/toolgate-audit).
pub use toolgate_audit as audit;
// 0 and 1 (crates/toolgate-policy). model: actions, paths, addresses and refusals. manifest: `tools.toml` as types. policy: the decision on an action,
// without input, output or clock.
pub use toolgate_policy::{manifest, model, policy};

// 1: masks, marks or denies secrets, personal data and instructions in arguments and answers.
pub mod filter;
// 2: the record of one call, and the form in which its arguments may be recorded.
pub mod entry;
// 3: counts, questions to people, grants, taint. It makes the permit, without which nothing acts.
pub mod gate;
// 4: what acts, with a permit: files, web, programs, pages.
pub mod sandbox;
// 5: the trait of a tool.
pub mod tool;

// 6: what the calls of one server share.
pub mod context;
// 6: the way of one call, from its arguments to its reply.
pub mod pipeline;
// 6: a call of several parts, such as `read_files`.
pub mod calls;
// 6: takes a changed manifest; writes the log line of a call; finds near names of unknown ones.
mod call_log;
pub mod reload;
mod suggest;

// 7: one file for each command; MCP over stdio and HTTP; one file for each tool.
pub mod cli;
pub mod server;
pub mod tools;
