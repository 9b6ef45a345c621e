//! Files: roots held as directory handles, and everything below them reached through descriptors, never through a path
//! that was judged before.

mod above;
mod ancestors;
mod arriving;
mod below;
mod carry;
mod column;
mod content;
mod copy;
pub(in crate::sandbox) mod covered;
mod derived;
mod document;
mod edit;
mod encoding;
mod fault;
mod folder;
mod form;
mod ignored;
mod known;
mod leaks;
mod leftovers;
mod list;
mod look;
mod masks;
mod modules;
mod near;
mod notebook;
mod passages;
mod pattern;
pub(super) mod preview;
mod protect;
mod read;
mod rename;
mod replace;
mod repository;
mod resolve;
mod room;
mod roots;
mod search;
mod seen;
mod session;
mod several;
mod stop;
mod write;

#[cfg(test)]
mod tests;

pub use content::{Content, Form};
pub use edit::Edited;
pub use folder::{ContentInfo, Info};
pub use list::{Judge, Listed, Listing};
pub use near::Near;
pub use pattern::{Pattern, line_matcher};
pub(super) use protect::Hidden;
pub use read::Reading;
pub use rename::Moved;
pub(super) use room::{LOOK, When};
pub use roots::{Place, Roots, Where};
pub use search::{Ended, Found, Match, MatchedLine};
pub use session::{SessionFolders, disk_of_sessions};
pub use stop::Stop;
pub use write::Written;
