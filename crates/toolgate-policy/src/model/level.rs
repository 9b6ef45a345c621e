//! How much a call can do to the world.

use serde::{Deserialize, Serialize};

/// The approval level of a call. It comes from the effect, never from the tool's name; a manifest may raise it, never lower it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(into = "u8", try_from = "u8")]
#[schemars(extend("maximum" = 4))]
pub enum Level {
    /// Reads, GET.
    #[default]
    Read,
    /// Creates something new, or runs code that can write only to its own scratch.
    Create,
    /// Changes what exists, or runs code that sees a persistent writable root.
    Change,
    /// Deletes, overwrites by a move, moves into scratch that ends with the session, changes what runs later, or sends (POST, a body, network inside Python).
    Destroy,
    /// Changes the system.
    System,
}

impl Level {
    /// All levels, lowest first.
    pub const ALL: [Level; 5] = [Level::Read, Level::Create, Level::Change, Level::Destroy, Level::System];

    /// The level with this number, 0 to 4.
    pub fn from_number(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// The next higher level; [`Level::System`] stays.
    #[must_use]
    pub fn raised(self) -> Self {
        Self::from_number(u64::from(u8::from(self)) + 1).unwrap_or(Level::System)
    }
}

impl From<Level> for u8 {
    fn from(level: Level) -> u8 {
        level as u8
    }
}

impl TryFrom<u8> for Level {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        Self::from_number(u64::from(number)).ok_or("a level is 0 to 4")
    }
}
