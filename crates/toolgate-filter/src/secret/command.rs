//! Passwords that stand in a command or an address where only its program knows one: `mysql -pPASS`, `sshpass -p PASS`,
//! `redis-cli -a PASS`, `jdbc:oracle:thin:user/PASS@host`, `sqlplus user/PASS@host`.
//!
//! # Source
//! The manuals of `mysql`, `sshpass`, `redis-cli` and `SQL*Plus`; Oracle's "JDBC Developer's Guide", "Data Sources and URLs".

use super::strength::{is_password, is_stand_in};
use super::{found, head};
use crate::finding::{Finding, floor};

/// Bytes of a command that are looked through.
const COMMAND: usize = 512;

/// The value of `-p` in the command that `mysql`, `mariadb` or one of their companions begins, or of `-a` after `redis-cli`.
pub(super) fn option(text: &str, start: usize, end: usize) -> Option<Finding> {
    if starts_inside_word(text, start) {
        return None;
    }
    let program = text.get(start..end)?;
    let rest = text.get(end..floor(text, end + COMMAND))?;
    // The next of its name begins a command of its own.
    let rest = first(rest);
    let rest = rest.get(..rest.find(program).unwrap_or(rest.len()))?;
    crate::work::read(rest.len());
    let after = rest.bytes().position(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'-' | b'_'))?;
    if !rest.get(after..)?.starts_with(' ') {
        return None;
    }
    // In these the value is a word of its own.
    let separate = matches!(program, "sshpass" | "redis-cli");
    let name = if program == "redis-cli" { " -a " } else { " -p" };
    let (at, value) = rest.match_indices(name).find_map(|(at, option)| {
        let written = rest.get(at + option.len()..)?;
        let blanks = if separate { written.len() - written.trim_start_matches(' ').len() } else { 0 };
        let (skip, value) = word(written.get(blanks..)?);
        (!value.is_empty()).then_some((end + at + option.len() + blanks + skip, value))
    })?;
    is_password(value, head(value)).then(|| found("credential", at, at + value.len(), 0.8))
}

/// The password in `user/password@host` after `start..end`: `jdbc:oracle:thin:`, `sqlplus `.
pub(super) fn slashed(text: &str, start: usize, end: usize) -> Option<Finding> {
    let rest = text.get(end..floor(text, end + COMMAND))?;
    let stop = rest.find(['\n', '"', '\'', '`', '<', '>', ';']).unwrap_or(rest.len());
    crate::work::read(stop);
    let rest = rest.get(..stop)?;
    let is_url = text.get(start..end)?.ends_with(':');
    let (skip, written) = if is_url {
        let kind = rest.find(':')?;
        (kind + 1, rest.get(kind + 1..)?)
    } else {
        let words = rest.split(' ').filter(|word| !word.is_empty() && !word.starts_with('-'));
        let word = words.into_iter().next().filter(|_| !starts_inside_word(text, start))?;
        (word.as_ptr() as usize - rest.as_ptr() as usize, word)
    };
    let (log_in, host) = written.split_once('@')?;
    let (user, password) = log_in.split_once('/')?;
    let plain = !user.is_empty() && user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.$#-[]".contains(&byte));
    // `tiger` is the password of Oracle's examples.
    let is_example = ["tiger", "pass", "pwd", "passwd", "pw"].contains(&password.to_ascii_lowercase().as_str());
    let fits = plain
        && password.len() >= 3
        && !password.contains([' ', '{', '}', '(', ')'])
        && !is_example
        && !is_stand_in(head(password))
        && host.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '(' | '['));
    let at = end + skip + user.len() + 1;
    fits.then(|| found("credential", at, at + password.len(), 0.85))
}

/// A line of a shell up to the end of its first command: a semicolon or a bar that stands in no quotes.
pub(super) fn first(text: &str) -> &str {
    let line = text.split('\n').next().unwrap_or_default();
    let mut quote = None;
    let end = line.char_indices().find(|&(_, character)| {
        if let Some(open) = quote {
            quote = quote.filter(|_| character != open);
            return false;
        }
        quote = Some(character).filter(|sign| matches!(sign, '"' | '\''));
        matches!(character, ';' | '|')
    });
    line.get(..end.map_or(line.len(), |(at, _)| at)).unwrap_or_default()
}

/// The first word of a command line, and how many bytes of quotes stand before it.
fn word(written: &str) -> (usize, &str) {
    let quote = written.chars().next().filter(|sign| matches!(sign, '"' | '\''));
    let inside = quote.map_or(written, |quote| written.strip_prefix(quote).unwrap_or_default());
    let is_end =
        |c: char| quote.map_or_else(|| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ')' | '<' | '>' | '&'), |quote| c == quote);
    (usize::from(quote.is_some()), inside.get(..inside.find(is_end).unwrap_or(inside.len())).unwrap_or_default())
}

fn starts_inside_word(text: &str, start: usize) -> bool {
    let before = start.checked_sub(1).and_then(|at| text.as_bytes().get(at));
    before.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found_in;

    #[test]
    fn passwords_in_commands_and_addresses_are_found() {
        for (text, value) in [
            ("mysql -h db.example -u root -pq7WxTnc2V8 shop < dump.sql", "q7WxTnc2V8"),
            ("$ mysqldump -uroot -p'q7Wx Tnc2' --all-databases > a.sql", "q7Wx Tnc2"),
            ("RUN mariadb-admin -pq7WxTnc2V8 ping", "q7WxTnc2V8"),
            ("/usr/bin/mysql -pq7WxTnc2V8\n", "q7WxTnc2V8"),
            ("mysql -uroot -p\"a;b9xKq7w\"", "a;b9xKq7w"),
            ("mysql -uroot -p'a|b9xKq7w' shop; ls", "a|b9xKq7w"),
            ("mysql -e 'select 1; select 2' -pq7WxTnc2V8 shop", "q7WxTnc2V8"),
            ("sshpass -p q7WxTnc2V8 ssh ann@host.example", "q7WxTnc2V8"),
            ("sshpass -p'q7WxTnc2V8' scp a b:", "q7WxTnc2V8"),
            ("redis-cli -h db.example -a q7WxTnc2V8 ping", "q7WxTnc2V8"),
            ("redis-cli -a 'q7Wx;Tnc2' ping", "q7Wx;Tnc2"),
            ("url = \"jdbc:oracle:thin:app/q7WxTnc2@//db.example:1521/orcl\"", "q7WxTnc2"),
            ("jdbc:oracle:oci8:app/correcthorse@orcl\n", "correcthorse"),
            ("sqlplus -s app/q7WxTnc2@orcl @report.sql", "q7WxTnc2"),
        ] {
            assert_eq!(found_in(text), [("credential", value)], "{text}");
        }
    }

    #[test]
    fn commands_without_a_password_are_left_alone() {
        for text in [
            "mysql -u root -p shop",
            "mysql -u root -p$MYSQL_PWD shop",
            "mysql -uroot -p\"${DB_PASS}\" shop",
            "mysql -uroot -p<password> shop",
            "mysql -uroot -pmypass shop",
            "mysqld --port=3306 -P 3306",
            "mysql; mkdir -p a1b2c3/d4e5",
            "mysql -e 'a;b'; mkdir -p a1b2c3/d4e5",
            "docker run -p8080:8080 mysql",
            "import mysql.connector as m1 -p2x3y4z",
            "sshpass -p \"$PASS\" ssh ann@host",
            "sshpass -f file ssh -p2222 ann@host",
            "redis-cli -a \"$REDIS_PASSWORD_1\" ping",
            "redis-cli -a <password> -p 6379",
            "redis-cli ping; tar -a x7y8z9 b",
            "jdbc:oracle:thin:@//db.example:1521/orcl",
            "jdbc:oracle:thin:scott/tiger@localhost:1521:xe",
            "jdbc:oracle:thin:${user}/${pass}@host",
            "jdbc:oracle:thin:<user>/<password>@host",
            "sqlplus / as sysdba",
            "Use sqlplus and/or an address like a@b.example.",
        ] {
            assert_eq!(found_in(text), [], "{text}");
        }
    }
}
