//! Floor 7: the only code that names rmcp.

mod asker;
mod handler;
mod outbox;
mod stdio;
mod strict;
mod transport;

pub use stdio::serve as serve_stdio;
