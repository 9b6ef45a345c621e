//! Databases: one statement, or the list of tables, for a permit.

#[cfg(feature = "sqlite")]
mod beneath;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod tests;

use crate::model::{Code, Failure, Refusal};

/// What a statement gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// The names of the columns; none for a statement without rows.
    pub columns: Vec<String>,
    /// The first rows.
    pub rows: Vec<Vec<Cell>>,
    /// How many rows there are, as far as they were counted.
    pub count: u64,
    /// Whether there are more than were counted.
    pub is_cut: bool,
    /// How many rows were changed, by the statement and by triggers; none for one that reads.
    pub changed: Option<u64>,
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// No value.
    Null,
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// A text, cut after [`LONGEST_TEXT`] characters.
    Text(String),
    /// Bytes, of which only the number is shown.
    Bytes(usize),
}

/// Most characters of a cell. A statement can show the rest with `substr`.
pub const LONGEST_TEXT: usize = 4_000;

/// Rows beyond those of the answer are counted up to this number.
const MOST_COUNTED: u64 = 100_000;

/// Columns of tables that are listed where the call does not say.
const MOST_COLUMNS: u64 = 1_000;

const WITHOUT_SQL: &str = "a call without `sql` lists the tables and their columns";

/// The refusal of a statement that is undone.
fn too_many(database: &str, changed: u64, most: u64) -> Failure {
    let what = format!("the statement would have changed {changed} rows; {most} are the most, and nothing was changed");
    let refusal = Refusal::new(Code::TooManyChanges, what).rule(format!("databases.{database}.max_changes"));
    Failure(refusal.hint("change fewer rows with each statement"))
}

impl Cell {
    /// A text, cut after [`LONGEST_TEXT`] characters.
    fn text(text: &str) -> Self {
        match text.char_indices().nth(LONGEST_TEXT) {
            Some((end, _)) => Self::Text(format!("{}…", text.get(..end).unwrap_or_default())),
            None => Self::Text(text.to_owned()),
        }
    }

    /// Bytes that it takes in an answer, roughly.
    fn size(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            _ => 8,
        }
    }
}

impl Answer {
    /// Takes a row where there is room for it: of `most` rows, and of the bytes that are left in `room`. Gives whether to go on counting.
    fn take(&mut self, row: impl FnOnce() -> Vec<Cell>, most: u64, room: &mut u64) -> bool {
        self.count += 1;
        if self.count == self.rows.len() as u64 + 1 && self.count <= most {
            let row = row();
            let size = row.iter().fold(0, |sum: u64, cell| sum.saturating_add(cell.size()));
            if size <= *room {
                *room -= size;
                self.rows.push(row);
            }
        }
        self.is_cut = self.count >= MOST_COUNTED;
        !self.is_cut
    }
}
