//! The engines that run programs, one file each.

mod bubblewrap;
mod jail;
mod landlock;
mod native;

pub use bubblewrap::Bubblewrap;
pub use landlock::Landlock;
pub use native::Native;
