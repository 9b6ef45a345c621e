//! Markup to Markdown and to plain text.

use html_to_markdown_rs::ConversionOptions;

use super::align::aligned;
use super::code::Pieces;
use super::count::numbered;
use super::fence::{self, Line};
use super::inline::{self, Part};
use super::spell::LITERAL;
use super::write::DEFINES;

/// Converts markup that this floor wrote itself: no scripts, hidden parts or unsafe links are left in it.
pub(super) fn convert(html: &str, code: &Pieces) -> String {
    code.restored(&safe(&tidy(&definitions(&numbered(&aligned(&converted(html))).replace(LITERAL, "\\")))))
}

/// Markdown of this floor as plain text: no marks, link targets or separators; cells are parted by tabs, and code is as it was.
pub fn to_text(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    // Links may begin on one line and end on another.
    let mut paragraph = String::new();
    for line in fence::lines(markdown) {
        match line {
            Line::Text(line) if !line.trim().is_empty() => {
                bare_line(line, &mut paragraph);
                continue;
            }
            Line::Text(_) => paragraph.push('\n'),
            Line::Fence(_) => {}
            Line::Code(_, code) => {
                unmark(&std::mem::take(&mut paragraph), &mut out);
                out.push_str(code);
                continue;
            }
        }
        unmark(&std::mem::take(&mut paragraph), &mut out);
    }
    unmark(&paragraph, &mut out);
    out
}

/// One line without the marks at its beginning, rows of a table with a tab between their cells.
fn bare_line(line: &str, out: &mut String) {
    let mut bare = line.trim_end();
    while let Some(inner) = bare.trim_start().strip_prefix('>') {
        bare = inner.strip_prefix(' ').unwrap_or(inner);
    }
    if let Some(heading) = bare.strip_prefix('#') {
        bare = heading.trim_start_matches('#').trim_start();
    }
    let is_row = bare.len() > 1 && bare.starts_with('|') && bare.ends_with('|');
    if is_row && bare.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ')) {
        return;
    }
    if is_row {
        let row = bare.strip_prefix('|').and_then(|row| row.strip_suffix('|')).unwrap_or(bare);
        out.push_str(&row.trim().replace(" | ", "\t").replace("\\|", "|"));
    } else {
        out.push_str(bare);
    }
    out.push('\n');
}

/// A paragraph without emphasis, code and link marks.
fn unmark(paragraph: &str, out: &mut String) {
    let parts = inline::parts(paragraph);
    let (mut line, mut links) = (out.len(), 0_usize);
    for (at, part) in parts.iter().enumerate() {
        let beside = |step: fn(usize, usize) -> Option<usize>| step(at, 1).and_then(|at| parts.get(at));
        let is_blank = |part: Option<&Part<'_>>| part.is_none_or(|part| matches!(part, Part::Char(' ' | '\n' | '\t')));
        match part {
            Part::Char('*') if !(is_blank(beside(usize::checked_sub)) && is_blank(beside(usize::checked_add))) => {}
            Part::Char('!') if beside(usize::checked_add) == Some(&Part::Picture) => {}
            Part::Char(c) => {
                out.push(*c);
                line = if *c == '\n' { out.len() } else { line };
            }
            Part::Escaped(c) => {
                // Only what `convert` has put a backslash before; the others are the page's own.
                let begins = || out.get(line..).is_some_and(|before| before.len() < 16 && !before.contains(char::is_alphabetic));
                let ours = match c {
                    '`' | '*' | '_' | '<' | '~' | '\\' => true,
                    '[' | ']' => links > 0,
                    '(' | ':' => beside(usize::checked_sub) == Some(&Part::Char(']')),
                    '>' | '#' | '+' | '-' | '=' | '.' | ')' => begins(),
                    _ => false,
                };
                out.extend((!ours).then_some('\\'));
                out.push(*c);
            }
            Part::Code(_, code) => out.push_str(code),
            Part::Link | Part::Picture => links += 1,
            Part::Target { .. } => links = links.saturating_sub(1),
        }
    }
}
/// JSON, indented by two spaces; keys stay in their order and numbers as they are written. `None` for what is no JSON, or nested over 120 deep.
pub fn pretty_json(text: &str) -> Option<String> {
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut chars = text.chars().filter(|c| !matches!(c, '\r')).peekable();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(c) = chars.next() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            '"' => {
                in_string = true;
                out.push(c);
            }
            '{' | '[' => {
                out.push(c);
                while chars.peek().is_some_and(char::is_ascii_whitespace) {
                    chars.next();
                }
                if matches!(chars.peek(), Some('}' | ']')) {
                    out.extend(chars.next());
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    Some(out)
}

fn converted(html: &str) -> String {
    let mut options = ConversionOptions {
        compact_tables: true,
        extract_metadata: false,
        expand_abbreviations: false,
        include_blockquote_citations: false,
        bullets: "-".to_owned(),
        ..ConversionOptions::default()
    };
    options.preprocessing.enabled = false;
    html_to_markdown_rs::convert(html, options).ok().and_then(|found| found.content).unwrap_or_default()
}

/// Takes the life out of links that the page's own words spell: `[x](javascript:y)` as text of a page is no link of ours, and becomes none.
fn safe(markdown: &str) -> String {
    if !markdown.contains(':') && !markdown.contains('&') {
        return markdown.to_owned();
    }
    let mut out = String::with_capacity(markdown.len());
    for line in markdown.split_inclusive('\n') {
        let mut rest = line;
        while let Some(at) = rest.find(']') {
            let (before, after) = rest.split_at_checked(at + 1).unwrap_or((rest, ""));
            out.push_str(before);
            let target = after.strip_prefix('(').or_else(|| after.strip_prefix(':'));
            if target.is_some_and(|target| !is_harmless(target)) {
                out.push('\\');
            }
            rest = after;
        }
        out.push_str(rest);
    }
    out
}

/// Whether a link's target leads to the web, a mailbox or a telephone, or has no scheme at all. What could be one in disguise (by an entity or a
/// backslash) is none of these.
fn is_harmless(target: &str) -> bool {
    let target = target.trim_start_matches(|c: char| c.is_whitespace() || c.is_control() || c == '<');
    let scheme = target.split(['/', '?', ')', ' ', '>', ']']).next().unwrap_or_default();
    if scheme.contains(['\\', '&']) {
        return !scheme.contains(':') && !scheme.contains("&#") && !scheme.to_ascii_lowercase().contains("&colon");
    }
    let Some((scheme, _)) = scheme.split('#').next().and_then(|scheme| scheme.split_once(':')) else { return true };
    ["http", "https", "mailto", "tel"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

/// Definitions stand under their term, as in `term`, newline, `: definition`; the converter only knows paragraphs.
fn definitions(markdown: &str) -> String {
    let mut parts = markdown.split(DEFINES);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.truncate(out.trim_end().len());
        out.push_str("\n: ");
        out.push_str(part.trim_start());
    }
    out
}

/// No trailing spaces but the two of a line break, no more than one empty line, one final line end.
fn tidy(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut empty = 0;
    for line in markdown.lines() {
        let bare = line.trim_end();
        if bare.is_empty() {
            empty += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(if empty > 0 { "\n\n" } else { "\n" });
        }
        empty = 0;
        out.push_str(bare);
        if line.ends_with("  ") {
            out.push_str("  ");
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}
