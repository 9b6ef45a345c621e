//! Floor 3: a judgement becomes a permit here, and nowhere else.

mod admit;
mod answer;
mod asker;
mod asking;
mod change;
mod choices;
mod crowd;
mod door;
mod grants;
mod marks;
mod operator;
mod pending;
mod permit;
mod preview;
mod question;
mod queue;
mod rates;
mod review;
mod settle;
mod sight;
mod taint;
mod wide;

pub use admit::Admitted;
pub use asker::{Asker, Waits};
pub use crowd::Seat;
pub use door::{Door, Gate};
pub use grants::{GrantKey, Grants};
pub use pending::{Bound, Pending, code, hex};
pub use permit::{Permit, Save, Terms};
pub use preview::{Arriving, Counted, Covered, Preview, Texts};
pub use queue::{Place, Queue};
pub use rates::{Meter, Millis, Reservation};
pub use review::Reviewers;
pub use settle::{Brought, Case, Granted, Previewing, Settled};
pub use sight::Sight;
pub use taint::Places;
