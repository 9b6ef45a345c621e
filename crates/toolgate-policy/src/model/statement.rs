//! Statements for databases: what they do.

use super::{Level, word_enum};

word_enum! {
    /// What a statement does to a database. A later one can do more.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum StatementKind {
        /// Reads.
        Read = "read",
        /// Adds rows.
        Insert = "insert",
        /// Changes rows that are there.
        Update = "update",
        /// Removes rows.
        Delete = "delete",
        /// Makes, changes or removes tables and the like.
        Define = "define",
    }
}

impl StatementKind {
    /// The level of a call that runs such a statement.
    pub const fn level(self) -> Level {
        match self {
            Self::Read => Level::Read,
            Self::Insert => Level::Create,
            Self::Update => Level::Change,
            Self::Delete | Self::Define => Level::Destroy,
        }
    }
}

/// What the text of a statement says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// The tables that it names.
    pub tables: Vec<String>,
}
