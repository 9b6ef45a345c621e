//! Files: roots held as directory handles, and everything below them reached through descriptors, never through a path
//! that was judged before.

mod below;
mod content;
mod edit;
mod fault;
mod list;
mod look;
mod passages;
mod pattern;
mod protect;
mod read;
mod replace;
mod resolve;
mod roots;
mod seen;
mod session;
mod stop;
mod write;

pub use edit::Edited;
pub use list::{Judge, Listed, Listing};
pub use look::Links;
pub use pattern::{Pattern, line_matcher};
pub use read::{Content, Reading};
pub use roots::{Place, Quota, Roots, Where};
pub use session::SessionFolders;
pub use stop::Stop;
pub use write::Written;
