//! The alignment of a table's columns: the converter knows none, so cells carry a mark through it.

use super::dom::Element;

/// The mark of a cell that is aligned; no page can hold one (see `is_mark`).
pub(super) fn mark_of(cell: &Element) -> Option<char> {
    let style = cell.attribute("style").unwrap_or_default();
    let styled =
        style.split(';').filter_map(|rule| rule.split_once(':')).filter(|(name, _)| name.trim().eq_ignore_ascii_case("text-align"));
    let named = styled.map(|(_, value)| value.trim().trim_end_matches("!important").trim_end()).next_back().or(cell.attribute("align"));
    let class = || {
        cell.attribute("class").unwrap_or_default().split_ascii_whitespace().find_map(|class| {
            let side =
                class.strip_prefix("has-text-align-").or_else(|| class.strip_prefix("text-align-")).or_else(|| class.strip_prefix("text-"));
            side.filter(|side| side_of(side).is_some())
        })
    };
    named.or_else(class).and_then(side_of)
}

fn side_of(name: &str) -> Option<char> {
    Some(match name.trim().to_ascii_lowercase().as_str() {
        "left" | "start" => LEFT,
        "center" | "middle" => CENTER,
        "right" | "end" => RIGHT,
        _ => return None,
    })
}

/// Puts the alignment of marked cells into the line below the head of their table, and takes the marks out.
pub(super) fn aligned(markdown: &str) -> String {
    if !markdown.contains([LEFT, CENTER, RIGHT]) {
        return markdown.to_owned();
    }
    let lines: Vec<&str> = markdown.lines().collect();
    let mut out = String::with_capacity(markdown.len());
    for (at, line) in lines.iter().enumerate() {
        let head = at.checked_sub(1).and_then(|above| lines.get(above)).filter(|_| is_separator(line));
        if let Some(head) = head {
            separator(line, head, lines.get(at + 1).copied().unwrap_or_default(), &mut out);
        } else {
            let bare: String = line.chars().filter(|c| !matches!(*c, LEFT | CENTER | RIGHT)).collect();
            // A cell of nothing but its mark is an empty one.
            out.push_str(&if line.trim_end().ends_with('|') { bare.replace("|  |", "| |").replace("|  |", "| |") } else { bare });
        }
        out.push('\n');
    }
    out
}

fn is_separator(line: &str) -> bool {
    let row = line.trim_start_matches([' ', '>']);
    row.len() > 4 && row.starts_with("| ---") && row.chars().all(|c| matches!(c, '|' | '-' | ' '))
}

/// The line below a head: the head's own alignment holds, else that of the first row.
fn separator(line: &str, head: &str, first: &str, out: &mut String) {
    let start = line.find('|').unwrap_or(0);
    out.push_str(line.get(..start).unwrap_or_default());
    let (head, first) = (sides(head), sides(first));
    let columns = line.matches("---").count();
    for column in 0..columns {
        let side = |row: &[Option<char>]| row.get(column).copied().flatten();
        out.push_str(match side(&head).or_else(|| side(&first)) {
            Some(LEFT) => "| :--- ",
            Some(CENTER) => "| :---: ",
            Some(RIGHT) => "| ---: ",
            _ => "| --- ",
        });
    }
    out.push('|');
}

/// The mark of each cell of a row.
fn sides(row: &str) -> Vec<Option<char>> {
    let mut sides = Vec::new();
    let mut before = ' ';
    for c in row.chars() {
        match c {
            '|' if before != '\\' => sides.push(None),
            LEFT | CENTER | RIGHT => {
                if let Some(side) = sides.last_mut() {
                    side.get_or_insert(c);
                }
            }
            _ => {}
        }
        before = c;
    }
    sides
}

const LEFT: char = '\u{10fff9}';
const CENTER: char = '\u{10fffa}';
const RIGHT: char = '\u{10fffb}';
