//! The operator's side of the state folder: questions that wait, answers that were given, who may give them, and the sockets to give them at.

mod failures;
mod lineage;
mod place;
mod queue;
mod seals;
mod secrets;
mod totp;
mod waiting;

pub use lineage::{Lineage, persons};
pub use place::Place;
pub use queue::{Answered, Ask, Say, is_id};
pub use secrets::{Checked, Enrolment, Kind, Operator, enrollable};
pub use totp::{Authenticator, Proven};
