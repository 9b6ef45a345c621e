//! Fenced code in Markdown of this floor: how it is written, and how it is told from the text around it.

/// One line of Markdown.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A line of text.
    Text(&'a str),
    /// The line that begins or ends a block of code.
    Fence(&'a str),
    /// A line of code: as it is written, and without the marks of the quotes and lists around it.
    Code(&'a str, &'a str),
}

/// The lines of a text in Markdown, each with its line end.
pub(super) fn lines(markdown: &str) -> impl Iterator<Item = Line<'_>> {
    // The fence of the open block, and what stands before each of its lines.
    let mut open: Option<(&str, String)> = None;
    markdown.split_inclusive('\n').map(move |line| {
        if let Some((fence, inner)) = &open {
            let bare = line.strip_prefix(inner.as_str()).or_else(|| line.strip_prefix(inner.trim_end())).unwrap_or(line);
            if bare.trim_end() == *fence {
                open = None;
                return Line::Fence(line);
            }
            return Line::Code(line, bare);
        }
        let (before, rest) = line.split_at_checked(containers(line)).unwrap_or((line, ""));
        let fence = rest.get(..rest.len() - rest.trim_start_matches('`').len()).unwrap_or_default();
        if fence.len() < 3 || rest.get(fence.len()..).unwrap_or_default().contains('`') {
            return Line::Text(line);
        }
        open = Some((fence, continuation(before)));
        Line::Fence(line)
    })
}

/// Writes `text` as a block of code, the first line of which stands where `out` ends and the others behind `inner`. The fence is longer than
/// every run of backticks in the text. No line end stands behind the block.
pub(super) fn write(text: &str, language: &str, inner: &str, out: &mut String) {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    // CommonMark 0.31, section 2.1: a carriage return alone ends a line too.
    let lines = || text.split_inclusive(['\n', '\r']);
    // In deep quotes the marks of every line would be many times the code; there it stands behind them.
    let inner = if inner.len().saturating_mul(lines().count()) > MOST_MARKS { "" } else { inner };
    if inner.is_empty() && !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&fence);
    out.push_str(language);
    out.push('\n');
    for line in lines() {
        out.push_str(if line == "\n" { inner.trim_end() } else { inner });
        out.push_str(line);
    }
    if !text.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(inner);
    out.push_str(&fence);
}

/// How many bytes at the beginning of a line are the marks of quotes and lists.
pub(super) fn containers(line: &str) -> usize {
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches(' ');
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let numbered = || rest.get(digits..).and_then(|rest| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")));
        let after = if (1..=9).contains(&digits) { numbered() } else { rest.strip_prefix('>').or_else(|| rest.strip_prefix("- ")) };
        match after {
            Some(after) => rest = after,
            None => return line.len() - rest.len(),
        }
    }
}

/// What stands before the further lines of a block that begins behind these marks: quotes go on, and lists are indented.
pub(super) fn continuation(marks: &str) -> String {
    marks.chars().map(|c| if c == '>' { '>' } else { ' ' }).collect()
}

/// Bytes of marks before the lines of one block of code.
const MOST_MARKS: usize = 4 << 20;
