//! The decision. Pure steps in the order of the contract, which a live call and `simulate` both go:
//! [`admit`] → [`Capability::check_arguments`] → the tool's `plan` → [`Capability::screen`] → (the sandbox looks) → [`judge()`].

pub mod address;
mod approval;
pub(crate) mod arguments;
mod capability;
pub mod effect;
mod facts;
pub mod folders;
mod judge;
pub mod later;
pub mod network;
pub mod paths;
pub mod program;
pub mod proxy;
pub mod readers;
pub mod request;
mod scope;
mod screen;
pub mod secret;
mod state;
mod verdict;
pub mod window;
pub mod words;

pub use approval::{is_caller, lasts, mode, remember};
pub use capability::{
    Capability, LimitOf, RateLimit, admit, concurrent_calls, could_use, over_writes, python_network, python_roots, rate_limits,
    rule_of_writes, write_per_hour,
};
pub use judge::{grant_of, judge};
pub use program::Program;
pub use scope::{Scope, folder_of, kin, offered, parts};
pub use screen::Screened;
pub use state::{Answer, AnswerChannel, Budgets, Channels, Grant, Response, Review, State};
pub use verdict::{Decision, Verdict};
pub use window::{Moment, window_of};
