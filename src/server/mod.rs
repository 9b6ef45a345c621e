//! Floor 7: the only code that names rmcp.

mod asker;
mod attend;
mod handler;
pub mod http;
mod metrics;
mod operator;
mod outbox;
mod resources;
mod sample;
mod stdio;
mod strict;
mod transport;

pub use http::serve as serve_http;
pub use stdio::serve as serve_stdio;
