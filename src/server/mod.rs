//! Floor 7: the only code that names rmcp.

mod asker;
mod attend;
mod calls;
mod handler;
pub mod http;
mod message;
mod metrics;
mod operator;
mod resources;
mod sample;
mod seal;
mod stdio;
mod strict;
mod transport;

pub use http::serve as serve_http;
pub use stdio::serve as serve_stdio;
pub(crate) use strict::StrictJson;
