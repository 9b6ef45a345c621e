//! Files: roots held as directory handles, and everything below them reached through descriptors, never through a path
//! that was judged before.
//!
//! `roots` opens the roots, and `look` opens what a call names before it is judged. Each verb spends a permit on what was opened: `read`, `list`,
//! `search`, `write`, `edit`, `edit_files`, `copy`, `rename` (move and delete), `folder` (create and info). Below them: `resolve` goes from a handle to an
//! object, `walk` through what may be seen below a folder, `replace` puts a content in its place, `transfer` moves to another root, `masks` hides secrets.

mod below;
mod column;
mod content;
mod copy;
mod edit;
mod edit_files;
mod encoding;
mod fault;
mod folder;
mod form;
mod ignored;
mod known;
mod leaks;
mod list;
mod look;
mod masks;
mod modules;
mod notebook;
mod passages;
mod pattern;
mod preview;
mod protect;
mod quota;
mod read;
mod rename;
mod replace;
mod repository;
mod resolve;
mod roots;
mod search;
mod session;
mod stat;
mod stop;
mod suggest;
mod temporary;
mod transfer;
mod walk;
mod write;

#[cfg(test)]
mod tests;

pub use content::{Content, Form};
pub use edit::Edited;
pub use folder::{ContentInfo, Info};
pub use list::{Listed, Listing};
#[cfg(feature = "sqlite")]
pub(super) use look::single;
pub use pattern::{Pattern, line_matcher};
pub(super) use preview::preview;
pub(super) use protect::Hidden;
pub use read::Reading;
#[cfg(feature = "mail")]
pub(super) use read::read_judged;
pub use rename::Moved;
pub use roots::{Location, RootConfig, Roots};
pub use search::{Ended, Found, Match, MatchedLine};
pub use session::{SessionFolders, disk_of_sessions};
pub(super) use stat::{Stat, kind_of};
pub use stop::Stop;
pub use suggest::Near;
pub use walk::Judge;
pub use write::Written;
