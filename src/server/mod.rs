//! Floor 7: the only code that names rmcp.

mod asker;
mod attend;
mod handler;
mod operator;
mod outbox;
mod sample;
mod stdio;
mod strict;
mod transport;

pub use stdio::serve as serve_stdio;
