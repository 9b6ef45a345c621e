//! The gateway against programs that behave and programs that do not, on loopback, with an invented DNS.

mod bounds;
mod judged;
mod world;
