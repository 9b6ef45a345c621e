//! Tables of comma-separated values whose header names a column of secrets: what browsers and password stores export, lists of log-ins.
//!
//! # Source
//! RFC 4180; the exports of Chrome, Firefox, Bitwarden, `LastPass` and `KeePass`.

use std::ops::Range;

use super::strength::{classes, entropy, is_stand_in};
use super::{found, head};
use crate::finding::{Finding, floor};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// Chosen by a person: any word may be one.
    Password,
    /// Made by a machine: long and mixed. A column `token` may as well hold words.
    Key,
}

/// The last word or words of a column's name.
const NAMES: &[(&str, Column)] = &[
    ("password", Column::Password),
    ("passwd", Column::Password),
    ("pwd", Column::Password),
    ("passphrase", Column::Password),
    ("passwort", Column::Password),
    ("kennwort", Column::Password),
    ("contraseña", Column::Password),
    ("senha", Column::Password),
    ("пароль", Column::Password),
    ("密码", Column::Password),
    ("パスワード", Column::Password),
    ("secret", Column::Key),
    ("token", Column::Key),
    ("api_key", Column::Key),
    ("apikey", Column::Key),
    ("access_key", Column::Key),
    ("secret_key", Column::Key),
    ("private_key", Column::Key),
    ("secret_access_key", Column::Key),
];

/// The columns of secrets in a table.
#[derive(Debug)]
pub(crate) struct Table {
    sign: char,
    fields: usize,
    columns: Vec<(usize, Column)>,
}

/// Bytes of a header; a longer line is none.
pub(crate) const HEADER: usize = 4096;

/// Bytes of one row: a quote that is still open then was none.
const ROW: usize = 64 * 1024;

impl Table {
    /// The table whose header is this line, without its end. `None`: it is no header, or names no secret.
    pub(crate) fn of(line: &str) -> Option<Self> {
        let line = line.trim_end_matches('\r').trim_start_matches('\u{feff}');
        if line.len() > HEADER || line.starts_with([' ', '\t']) {
            return None;
        }
        crate::work::read(line.len());
        let sign = line.chars().find(|sign| matches!(sign, ',' | ';' | '\t'))?;
        let (fields, _) = row(line, 0, sign).ok()?;
        let names: Vec<String> = fields.iter().map(|at| name(line.get(at.clone()).unwrap_or_default())).collect::<Option<_>>()?;
        let columns: Vec<_> = names.iter().enumerate().filter_map(|(at, name)| Some((at, kind(name)?))).collect();
        // Only the first column, of the numbers of the rows, has no name.
        let has_names = names.iter().skip(1).all(|name| !name.is_empty());
        (has_names && names.len() > 1 && !columns.is_empty()).then_some(Self { sign, fields: names.len(), columns })
    }

    /// Whether the line below begins as the header does: lines of other files begin alike.
    fn begins_like(&self, line: &str, below: &str) -> bool {
        let first = |line: &str| line.split_once(self.sign).and_then(|(first, _)| name(first.trim().trim_matches('"')));
        first(line).is_some_and(|name| !name.is_empty() && first(below) == Some(name))
    }

    /// Finds the secrets in the rows from `at` on, where a line begins. Gives where they end: at the end of the text, or at an empty line behind
    /// which no row like those before it follows.
    pub(crate) fn rows(&self, text: &str, mut at: usize, out: &mut Vec<Finding>) -> usize {
        // Bytes that may be read for quotes that close nowhere; without them quotes are letters.
        let mut spare = ROW;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let blank = rest.len() - rest.trim_start_matches(['\n', '\r']).len();
            let rest = rest.get(blank..).unwrap_or_default();
            let quoted = if spare > 0 { row(rest, at + blank, self.sign) } else { Err(0) };
            let (fields, length) = quoted.unwrap_or_else(|read| {
                spare = spare.saturating_sub(read.max(1));
                crate::work::read(read);
                line(rest, at + blank, self.sign)
            });
            crate::work::read(length);
            // Prose has a blank behind its commas.
            let is_prose = || fields.iter().skip(1).any(|field| text.get(..field.start).is_some_and(|before| before.ends_with(' ')));
            if blank > 0 && (fields.len() < self.fields || is_prose()) {
                return at;
            }
            // A row may have more fields than the header: an empty one at its end, a comma without quotes.
            if fields.len() >= self.fields {
                let values = self
                    .columns
                    .iter()
                    .filter_map(|(column, kind)| Some((text.get(fields.get(*column)?.clone())?, fields.get(*column)?.start, kind)));
                out.extend(
                    values
                        .filter(|(value, _, kind)| is_secret(value, **kind))
                        .map(|(value, from, _)| found("table", from, from + value.len(), 0.85)),
                );
            }
            at += blank + length;
        }
        at
    }
}

/// Finds tables. Each line is looked at as a header once, and each row is read once.
#[derive(Debug, Default)]
pub(super) struct Tables {
    read_to: usize,
}

impl Tables {
    /// Finds the secrets of the table in whose header a name stands at `start..end`, if it is one.
    pub(super) fn findings(&mut self, text: &str, start: usize, end: usize, out: &mut Vec<Finding>) {
        let is_edge = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b',' | b';' | b'\t' | b'"' | b'\n' | b'\r'));
        if start < self.read_to || !is_edge(text.as_bytes().get(end)) {
            return;
        }
        let from = text
            .get(floor(text, start.saturating_sub(HEADER))..start)
            .and_then(|before| Some(start - before.len() + before.rfind('\n')? + 1));
        let from = from.or_else(|| (start <= HEADER).then_some(0));
        let line = from.and_then(|from| text.get(from..)?.split('\n').next());
        let (Some(from), Some(line)) = (from, line) else { return };
        self.read_to = from + line.len();
        let below = text.get(from + line.len() + 1..).and_then(|below| below.get(..floor(below, HEADER)));
        if let Some(table) = Table::of(line).filter(|table| !below.is_some_and(|below| table.begins_like(line, below))) {
            self.read_to = table.rows(text, from + line.len() + 1, out);
        }
    }
}

/// The places of the fields of a row, and how long it is with its end.
type Row = (Vec<Range<usize>>, usize);

/// The row that `rest` begins with. `offset` is added to its places.
///
/// # Errors
/// A quote is open where the row would be longer than [`ROW`] or the text ends, or has something other than an end of its field behind the one that closes
/// it: it was no quote. So many bytes were read.
fn row(rest: &str, offset: usize, sign: char) -> Result<Row, usize> {
    let mut fields = Vec::new();
    let (mut begin, mut quoted) = (0, false);
    let mut characters = rest.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if at >= ROW {
            return Err(at);
        }
        match character {
            // Two of them inside are one that is meant.
            '"' if quoted && characters.next_if(|(_, next)| *next == '"').is_some() => {}
            '"' if quoted => {
                let ends = |next: char| next == sign || matches!(next, '\n' | '\r' | ' ' | '\t');
                if characters.peek().is_some_and(|(_, next)| !ends(*next)) {
                    return Err(at);
                }
                quoted = false;
            }
            // A quote opens a field at its beginning alone.
            '"' => quoted = rest.get(begin..at).is_some_and(|before| before.trim().is_empty()),
            _ if quoted => {}
            '\n' => {
                fields.push(field(rest, begin..at, offset));
                return Ok((fields, at + 1));
            }
            _ if character == sign => {
                fields.push(field(rest, begin..at, offset));
                begin = at + character.len_utf8();
            }
            _ => {}
        }
    }
    if quoted {
        return Err(rest.len());
    }
    fields.push(field(rest, begin..rest.len(), offset));
    Ok((fields, rest.len()))
}

/// The first line of `rest` as a row in which a quote is an ordinary character.
fn line(rest: &str, offset: usize, sign: char) -> Row {
    let length = rest.find('\n').map_or(rest.len(), |end| end + 1);
    let mut begin = 0;
    let written = rest.get(..length).unwrap_or_default().trim_end_matches('\n').split(sign);
    let fields = written.map(|part| {
        let at = begin..begin + part.len();
        begin = at.end + sign.len_utf8();
        field(rest, at, offset)
    });
    (fields.collect(), length)
}

/// A field without its blanks and quotes.
fn field(rest: &str, at: Range<usize>, offset: usize) -> Range<usize> {
    let written = rest.get(at.clone()).unwrap_or_default();
    let inside = written.trim();
    let from = offset + at.start + (written.len() - written.trim_start().len());
    match inside.strip_prefix('"').and_then(|inside| inside.strip_suffix('"')) {
        Some(bare) => from + 1..from + 1 + bare.len(),
        None => from..from + inside.len(),
    }
}

/// A column's name as words; `None` where it is no name. An empty one is the name of a column without one.
fn name(field: &str) -> Option<String> {
    const WORDS: usize = 4;
    let fits = field.len() <= 64
        && (field.is_empty() || field.starts_with(char::is_alphabetic))
        && field.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ' | '.' | '/' | '#'))
        && field.split(' ').count() <= WORDS;
    fits.then(|| field.to_lowercase().replace([' ', '-', '.'], "_"))
}

/// What a column with this name as words holds.
fn kind(name: &str) -> Option<Column> {
    NAMES.iter().find(|(word, _)| is_named(name, word)).map(|(_, column)| *column)
}

/// What a column with this header holds.
pub(super) fn kind_of(header: &str) -> Option<Column> {
    kind(&name(header)?)
}

/// Whether a name ends with this word: `login_password`, `dbPassword` and `password`, not `passwords` or `password_changed`.
fn is_named(name: &str, word: &str) -> bool {
    const OTHERS: &[&str] = &["next_", "page_", "csrf_", "public_", "type_"];
    name.strip_suffix(word).is_some_and(|before| !OTHERS.iter().any(|other| before.ends_with(other)))
}

pub(super) fn is_secret(value: &str, column: Column) -> bool {
    const WORDS: &[&str] =
        &["true", "false", "none", "null", "yes", "no", "required", "optional", "string", "varchar", "text", "hash", "encrypted", "hidden"];
    let first = head(value);
    let mixed = first.bytes().any(|byte| byte.is_ascii_digit()) && first.bytes().any(|byte| byte.is_ascii_alphabetic());
    !is_stand_in(first)
        && match column {
            Column::Password => value.len() >= 4 && !WORDS.contains(&value.to_lowercase().as_str()),
            Column::Key => {
                mixed && value.len() >= 16 && !value.contains([' ', '/', '(']) && entropy(first) >= 3.0
                    || mixed && value.len() >= 12 && classes(first) >= 4
            }
        }
}

#[cfg(test)]
mod tests {
    use super::super::tests::found_in;

    #[test]
    fn columns_of_secrets_are_found_whatever_stands_in_the_others() {
        for (text, values) in [
            (
                "name,url,username,password,note\nsite,https://a.example/,ann,hunter2,\nother,https://b.example/,bob,correct horse,\"two\nlines\"\n",
                vec!["hunter2", "correct horse"],
            ),
            ("\"url\",\"username\",\"password\"\n\"https://a.example\",\"ann\",\"q7W,\"\"x\"\n", vec!["q7W,\"\"x"]),
            ("\u{feff}Title;Login;Passwort\r\nBank;ann;geheim99\r\n", vec!["geheim99"]),
            ("id\tname\tapi_key\n1\tmaps\tq7WxTnc2V8bRy4HsJ5\n", vec!["q7WxTnc2V8bRy4HsJ5"]),
            ("user,password_hint,db password\nann,the dog,rex1999\n", vec!["rex1999"]),
            ("login,password\nann,hunter2\nlogin,rex1999\nbob,tiger77\n", vec!["hunter2", "rex1999", "tiger77"]),
            ("user,notes,password\nann,\"a\nb\",hunter2\n\nThe end, of it, there\n", vec!["hunter2"]),
            ("site,user,password\na,\"b,Secr3tOne9\nc,d,Secr3tTwo9\n", vec!["Secr3tOne9", "Secr3tTwo9"]),
            (
                "site,user,password\na,\"b,Secr3tOne9\nc,\"d,Secr3tTwo9\ne,\"f\",Secr3tSix9\n",
                vec!["Secr3tOne9", "Secr3tTwo9", "Secr3tSix9"],
            ),
            (",user,password\n0,ann,q7WxTnc2V8bR\n1,bob,rex1999\n", vec!["q7WxTnc2V8bR", "rex1999"]),
            ("\"\",\"user\",\"password\"\n\"1\",\"ann\",\"q7WxTnc2V8bR\"\n", vec!["q7WxTnc2V8bR"]),
            ("user,password\nann,hunter2,\nbob,rex1999,extra\n", vec!["hunter2", "rex1999"]),
            ("site,user,password\na,b,Secr3tOne9\n\nc,d,Secr3tTwo9\r\n\r\ne,f,Secr3tSix9", vec!["Secr3tOne9", "Secr3tTwo9", "Secr3tSix9"]),
        ] {
            let found = found_in(text);
            assert_eq!(found.iter().map(|(_, value)| *value).collect::<Vec<_>>(), values, "{text}");
            assert!(found.iter().all(|(sub, _)| *sub == "table"), "{found:?}");
        }
    }

    #[test]
    fn a_stray_quote_hides_no_row_however_far_the_table_goes() {
        let rows: String = (0..5000).fold(String::new(), |rows, n| rows + "site,ann,Secr3t" + &n.to_string() + "x\n");
        let text = format!("site,user,password\na,\"b,Secr3tOne9\n{rows}");
        assert_eq!(found_in(&text).len(), 5001);
    }

    #[test]
    fn other_tables_prose_and_code_are_left_alone() {
        for text in [
            "token,lemma,count\nrunning,run,12\n1990s,1990s,3\n",
            "name,password\nann,<password>\nbob,changeme\n",
            "option,secret,default\nport,false,8080\n",
            "user, password = credentials()\nuser, other = ann, hunter99\n",
            "  user, password\n  ann, hunter99\n",
            "Enter the user name, the account number and also the new password, please,\nthen go on, and on, and on, again4,\n",
            "def log_in(user, password):\n    return a1b2, c3d4\n",
            "feature,password_changed\nann,yesterday1\n",
            "syn keyword\tpfService\tkpasswd\nsyn keyword\tpfService\tkrb524\nsyn keyword\tpfService\tldap\n",
            "id,next_token\n1,q7WxTnc2V8bRy4HsJ5\n",
            "syn keyword smclWord pwd\t\t\tcontained\nsyn keyword smclWord dirsep\t\t\tcontained\n",
        ] {
            assert_eq!(found_in(text), [], "{text}");
        }
    }
}
