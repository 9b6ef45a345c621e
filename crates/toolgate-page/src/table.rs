//! A table of data, as Markdown or as lines with tabs.

use super::Format;
use super::dom::{Element, Id};

/// The rows of a table that is being read.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) id: Id,
    /// Each cell with the line that gives its alignment.
    rows: Vec<Vec<(String, Option<&'static str>)>>,
    /// The rows that each column is still covered for by a cell above.
    covered: Vec<usize>,
}

impl Table {
    pub(super) fn new(id: Id) -> Self {
        Self { id, rows: Vec::new(), covered: Vec::new() }
    }

    pub(super) fn begin_row(&mut self) {
        self.end_row();
        self.rows.push(Vec::new());
    }

    /// Adds a cell behind those that reach down into its row, and empty ones for the further columns it covers.
    pub(super) fn cell(&mut self, text: &str, element: &Element) {
        self.skip_covered();
        let span = |name: &str| element.attribute(name).and_then(|span| span.trim().parse().ok()).unwrap_or(1).clamp(1, MOST_SPANNED);
        let (columns, down) = (span("colspan"), span("rowspan") - 1);
        let Some(row) = self.rows.last_mut() else { return };
        let from = row.len();
        row.push((text.replace('|', "\\|"), alignment(element)));
        row.resize(from + columns, (String::new(), None));
        if self.covered.len() < row.len() {
            self.covered.resize(row.len(), 0);
        }
        self.covered.iter_mut().skip(from).take(columns).for_each(|covered| *covered = down);
    }

    fn skip_covered(&mut self) {
        let Some(row) = self.rows.last_mut() else { return };
        while let Some(covered) = self.covered.get_mut(row.len()).filter(|covered| **covered > 0) {
            *covered -= 1;
            row.push((String::new(), None));
        }
    }

    fn end_row(&mut self) {
        self.skip_covered();
        let length = self.rows.last().map_or(0, Vec::len);
        self.covered.iter_mut().skip(length).for_each(|covered| *covered = covered.saturating_sub(1));
    }

    /// The first row is the head, as wide as the widest; its alignment holds, else that of the second.
    pub(super) fn written(mut self, format: Format) -> String {
        self.end_row();
        self.rows.retain(|row| row.iter().any(|(text, _)| !text.is_empty()));
        let width = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        for (at, row) in self.rows.iter().enumerate() {
            if format == Format::Text {
                lines.push(row.iter().map(|(text, _)| text.replace("\\|", "|")).collect::<Vec<_>>().join("\t"));
                continue;
            }
            let cells = row.iter().map(|(text, _)| if text.is_empty() { " |".to_owned() } else { format!(" {text} |") });
            let missing = if at == 0 { width - row.len() } else { 0 };
            lines.push(format!("|{}{}", cells.collect::<String>(), " |".repeat(missing)));
            if at == 0 {
                let side = |row: usize, column: usize| self.rows.get(row).and_then(|row| row.get(column)?.1);
                let rules = (0..width).map(|column| side(0, column).or_else(|| side(1, column)).unwrap_or(" --- |"));
                lines.push(format!("|{}", rules.collect::<String>()));
            }
        }
        lines.join("\n")
    }
}

/// How a cell is aligned, by its attribute, its style or the classes that frameworks give.
fn alignment(cell: &Element) -> Option<&'static str> {
    let value = |name: &str| cell.attribute(name).unwrap_or_default().to_ascii_lowercase();
    let (own, class) = (value("align"), value("class"));
    let style = value("style").replace(' ', "");
    [("left", " :--- |"), ("center", " :---: |"), ("right", " ---: |")].into_iter().find_map(|(side, rule)| {
        let is_class =
            |class: &str| class.strip_suffix(side).is_some_and(|start| matches!(start, "text-" | "text-align-" | "has-text-align-"));
        let is = own.trim() == side || style.contains(&format!("text-align:{side}")) || class.split_ascii_whitespace().any(is_class);
        is.then_some(rule)
    })
}

/// Rows and columns that one cell covers.
const MOST_SPANNED: usize = 64;
