//! Tables of Markdown whose header names a column of secrets; tables of pages become such. Documents have tables about passwords too, so words alone are
//! none here.

use super::strength::is_password;
use super::table::{Column, is_secret, kind_of};
use super::{found, head};
use crate::finding::{Finding, floor};

/// Bytes of a header.
const HEADER: usize = 4096;

/// Rows of one table, and bytes of one.
const ROWS: usize = 10_000;
const ROW: usize = 16 * 1024;

/// Where the tables were read to.
#[derive(Debug, Default)]
pub(super) struct Columns {
    read_to: usize,
}

impl Columns {
    /// Finds the secrets below the header in which a name stands at `start..end`, if it is one.
    pub(super) fn findings(&mut self, text: &str, start: usize, end: usize, out: &mut Vec<Finding>) {
        let after = text.get(end..).unwrap_or_default().trim_start_matches([' ', '*', '_', '`']);
        if start < self.read_to || !after.starts_with('|') {
            return;
        }
        let near = floor(text, start.saturating_sub(HEADER));
        let from = text.get(near..start).and_then(|before| before.rfind('\n')).map_or(near, |at| near + at + 1);
        let Some(rest) = text.get(from..) else { return };
        let header = line(rest);
        self.read_to = from + header.len();
        crate::work::read(start - near + header.len().min(HEADER));
        let mut at = from + header.len() + 1;
        let rule = text.get(at..).map_or("", line);
        if !header.trim_start().starts_with('|') || header.len() > HEADER || !is_rule(rule) {
            return;
        }
        let kinds: Vec<Option<Column>> = cells(header).map(|cell| kind_of(bare(cell))).collect();
        at += rule.len() + 1;
        for _ in 0..ROWS {
            let row = text.get(at..).map_or("", line);
            if !row.trim_start().starts_with('|') || row.len() > ROW {
                break;
            }
            crate::work::read(row.len());
            for (cell, kind) in cells(row).zip(&kinds) {
                let value = bare(cell);
                if kind.is_some_and(|kind| !value.contains(' ') && is_secret(value, kind) && is_password(value, head(value))) {
                    let place = value.as_ptr() as usize - text.as_ptr() as usize;
                    out.push(found("table", place, place + value.len(), 0.85));
                }
            }
            at += row.len() + 1;
        }
        self.read_to = at.min(text.len());
    }
}

fn line(rest: &str) -> &str {
    rest.split('\n').next().unwrap_or_default()
}

/// The cells of a row without the bars around it.
fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.trim().trim_start_matches('|').split('|')
}

/// What stands in a cell, without blanks and marks.
fn bare(cell: &str) -> &str {
    cell.trim_matches([' ', '\t', '\r', '`']).trim_matches('*')
}

/// `| --- | :-: |`
fn is_rule(row: &str) -> bool {
    row.contains("--") && row.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\t' | b'\r'))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found_in;

    #[test]
    fn a_column_of_secrets_in_a_table_of_markdown_is_found() {
        let (one, two) = ("q7WxTnc2V8bRy4", "tG4xw8KdZq1nPy");
        for text in [
            format!("| User | Password |\n| --- | --- |\n| ann | {one} |\n| bob | {two} |\n"),
            format!("a\n\n| **Password** | User |\r\n|:-:|---|\r\n| `{one}` | ann |\r\n| {two} | bob |\r\n\r\nb"),
            format!("  | Host | DB password | Port |\n  |---|---|---|\n  | a1 | {one} | 1 |\n  | a2 | {two} | 2 |"),
        ] {
            let found: Vec<_> = found_in(&text).into_iter().map(|(_, value)| value).collect();
            assert_eq!(found, [one, two], "{text}");
        }
        for text in [
            "| Name | Password |\n| --- | --- |\n| type | string |\n| length | at least 12 |\n",
            "| User | Password |\n| ann | q7WxTnc2V8bRy4 |\n",
            "| Field | Token | Note |\n| --- | --- | --- |\n| a | IDENTIFIER | b2c3d4e5f6 |\n",
            "| password |\n| --- |\n",
            "| Form | Password |\n| --- | --- |\n| md5 | plaintext |\n| scram | hashed |\n",
        ] {
            assert_eq!(found_in(text), [], "{text}");
        }
    }
}
