//! Floor 3: a judgement becomes a permit here, and nowhere else.
//!
//! | a call | files |
//! |---|---|
//! | is counted and admitted | `admit.rs`; `counts.rs` counts, `rates.rs` reserves budgets |
//! | is judged, and a person is asked where the judgement says so | `resolve.rs`; `world.rs` is how the gate looks at the machine |
//! | is put as a question: its words, the change it shows, the answers it offers | `question.rs`; `change.rs`, `preview.rs`, `choices.rs` |
//! | waits for the client of the call (`server/asker.rs` sends the question) | `asking.rs`, `asker.rs` (the trait), `open.rs` (how many wait) |
//! | waits for an operator | `operator.rs` |
//! | is answered | `pending.rs` (what the yes is bound to), `answer.rs` (what it is worth), `grants.rs` (for how long) |
//! | gets its permit, with the targets as they were opened | `permit.rs`, `opened.rs` |
//! | took in or changes what came from outside | `taint.rs`, `marks.rs` |
//! | waits for calls that change the same file; for reviewers | `queue.rs`; `review.rs` |

mod admit;
mod answer;
mod asker;
mod asking;
mod change;
mod choices;
mod counts;
mod grants;
mod marks;
mod open;
mod opened;
mod operator;
mod pending;
mod permit;
mod preview;
mod question;
mod queue;
mod rates;
mod resolve;
mod review;
mod shared;
mod taint;
mod world;

pub use admit::Admitted;
pub use asker::{Asker, Waits};
pub use counts::{Ask, Counted, Counts, Window};
pub use grants::{GrantKey, Grants, Subject};
pub use opened::{Opened, Seen};
pub use pending::{Bound, Pending, code, hex};
pub use permit::{Permit, Save, Terms};
pub use preview::{Preview, Texts};
pub use queue::{Queue, QueueEntry};
pub use rates::{Meter, Millis, Reservation};
pub(crate) use resolve::{Case, Granted, Repeat, Resolution};
pub use shared::{CallGate, Gate};
pub use taint::Places;
pub(crate) use world::World;
