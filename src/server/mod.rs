//! Floor 7: the only code that names rmcp.

mod strict;
mod transport;
