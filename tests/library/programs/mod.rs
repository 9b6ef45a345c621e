//! The walls around programs: every attack over every backend, as root and as an ordinary user.

mod backends;
mod gateway;
