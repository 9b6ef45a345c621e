//! The decision. Pure steps, which a live call and `simulate` both go:
//! [`admit`] → [`Capability::check_arguments`] → the tool's `plan` → [`Capability::screen`] → (the sandbox looks) → [`judge()`].
//!
//! The files speak of the lines of the decision, which `toolgate explain` shows. A call must pass each of them:
//!
//! | line | asks | file |
//! |--:|---|---|
//! | 1–6 | valid manifest, switch, log; profile; tool; counts and budgets; the profile's tools; permissions | `capability.rs`, `window.rs` |
//! | 7 | names and values of arguments | `arguments.rs` |
//! | 8 | each path: its text (`paths.rs`: root, denied, allowed), then what was seen there (`facts.rs`) | `screen.rs` calls the first, `judge.rs` the second |
//! | 9 | each recipient of a mail | `mail.rs` |
//! | 9 | each URL, and each address that its host resolved to | `network.rs`, `address.rs`, `facts.rs` |
//! | 10 | the static check of Python; the kind of an SQL statement | `program.rs`; `database.rs`, `sql.rs` |
//! | 11 | the level: the effect, what runs later, the manifest, reviewers | `effect.rs`, `later.rs`, `judge.rs` |
//! | 12–15 | the mode of that level; a grant; who may be asked; what the answer is worth | `approval.rs`, `scope.rs` |

pub mod address;
mod approval;
pub(crate) mod arguments;
mod capability;
mod database;
pub mod effect;
mod facts;
pub mod folders;
mod judge;
pub mod later;
mod mail;
pub mod network;
pub mod paths;
pub mod program;
pub mod request;
mod scope;
mod screen;
pub mod secret;
#[cfg(feature = "sql")]
mod sql;
mod state;
mod verdict;
pub mod window;
pub mod words;

pub use approval::{is_caller, lasts, mode, remember};
pub use capability::{
    Capability, LimitOf, RateLimit, admit, concurrent_calls, could_use, over_writes, python_network, python_roots, rate_limits,
    rule_of_writes, shows_more, write_per_hour,
};
pub use judge::{grant_of, judge};
pub use program::Program;
pub use scope::{Scope, folder_of, kin, offered, parts};
pub use screen::Screened;
pub use state::{Answer, AnswerChannel, Budgets, Channels, Grant, Response, Review, State};
pub use verdict::Verdict;
pub use window::{Moment, window_of};
