//! Floor 3: a judgement becomes a permit here, and nowhere else.

mod admit;
mod asker;
mod door;
mod grants;
mod pending;
mod permit;
mod question;
mod rates;
mod settle;
mod taint;

pub use admit::Admitted;
pub use asker::Asker;
pub use door::{Door, Gate};
pub use grants::{GrantKey, Grants};
pub use pending::{Bound, Pending, code, hex};
pub use permit::{Permit, Save, Terms};
pub use question::Preview;
pub use rates::{Meter, Millis, Reservation};
pub use settle::{Case, Granted, Settled};
