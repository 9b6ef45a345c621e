//! Floor 0: the state folder, and what the servers that name the same one share: grants, marks of untrusted files, questions to operators, the
//! operators and their passphrases, suspensions, the kill switch.

mod facts;
mod files;
mod folder;
mod operator_socket;
mod queue;
mod seals;
mod secrets;
mod store;
mod ticks;

pub use folder::{Kept, StateDir, StateFault, random, token};
pub use operator_socket::OperatorSocket;
pub use queue::{Answered, Ask, Say, is_id, persons};
pub use secrets::{Checked, Operator};
pub use store::{Store, of_session};
pub use ticks::{Millis, Tick, Ticks};
