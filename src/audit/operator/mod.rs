//! The operator's side of the state folder: questions that wait, answers that were given, who may give them, and the sockets to give them at.

mod failures;
mod place;
mod queue;
mod seals;
mod secrets;
mod waiting;

pub use place::Place;
pub use queue::{Answered, Ask, Say, is_id, persons};
pub use secrets::{Checked, Operator};
