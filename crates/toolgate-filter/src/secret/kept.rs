//! Secrets that stand where a program keeps them: rows of a statement, keys in JSON, jars of cookies, log-ins of `Composer`, `Kaggle` and `FileZilla`,
//! `WordPress` keys, addresses of Go's drivers, pairs of a name and a password.
//!
//! # Source
//! RFC 7517 and 7518 (JSON Web Keys), curl's "The Netscape cookie file format", the documentation of Composer ("Authentication"), Kaggle,
//! `FileZilla`, `WordPress` ("wp-config.php"), Laravel, go-sql-driver and Mailchimp.

use super::strength::{classes, entropy, is_password, is_program_text, is_stand_in};
use super::{edge, found, head};
use crate::finding::{Finding, ceil, floor};

/// What a place begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A private member of a JSON Web Key.
    WebKey,
    /// `define( 'AUTH_KEY', '…' )`
    WordPress,
    /// `APP_KEY=base64:…`
    Laravel,
    /// `"github-oauth": {"host": "…"}`
    Composer,
    /// `{"username": "…", "key": "…"}`
    Kaggle,
    /// `<Pass>…</Pass>`
    Pass,
    /// A line of a jar of cookies.
    Cookie,
    /// `user:password@tcp(host)`
    Driver,
    /// `("user", "password")`
    Pair,
    /// `INSERT INTO t (a, password) VALUES ('b', '…')`
    Insert,
    /// `…-us12`
    Mailchimp,
}

/// The beginnings; matched without regard to ASCII case.
const PLACES: &[(&str, Place)] = &[
    ("\"d\"", Place::WebKey),
    ("\"k\"", Place::WebKey),
    ("\"p\"", Place::WebKey),
    ("\"q\"", Place::WebKey),
    ("\"dp\"", Place::WebKey),
    ("\"dq\"", Place::WebKey),
    ("\"qi\"", Place::WebKey),
    ("auth_key'", Place::WordPress),
    ("logged_in_key'", Place::WordPress),
    ("nonce_key'", Place::WordPress),
    ("auth_salt'", Place::WordPress),
    ("logged_in_salt'", Place::WordPress),
    ("nonce_salt'", Place::WordPress),
    ("app_key=base64:", Place::Laravel),
    ("\"github-oauth\"", Place::Composer),
    ("\"gitlab-oauth\"", Place::Composer),
    ("\"gitlab-token\"", Place::Composer),
    ("\"key\"", Place::Kaggle),
    ("<pass>", Place::Pass),
    ("<pass encoding=\"base64\">", Place::Pass),
    ("\ttrue\t/", Place::Cookie),
    ("\tfalse\t/", Place::Cookie),
    ("@tcp(", Place::Driver),
    ("@unix(", Place::Driver),
    ("auth=(", Place::Pair),
    ("auth = (", Place::Pair),
    (".login(", Place::Pair),
    ("basicauth(", Place::Pair),
    ("insert into ", Place::Insert),
    ("-us", Place::Mailchimp),
];

/// Bytes around a beginning that are looked through.
const REACH: usize = 512;

/// The beginnings, in the order of their numbers.
pub(super) fn starts() -> impl Iterator<Item = &'static str> {
    PLACES.iter().map(|(start, _)| *start)
}

/// Finds the secrets of the place with this number, whose beginning stands at `start..end`.
pub(super) fn findings(text: &str, number: usize, start: usize, end: usize, out: &mut Vec<Finding>) {
    let Some((_, place)) = PLACES.get(number) else { return };
    let Some(rest) = text.get(end..floor(text, end + REACH)) else { return };
    // Each of these reads a value; the reach bounds what it costs.
    let value = match place {
        Place::WebKey => web_key(text, start, rest),
        Place::WordPress => word_press(text, start, rest),
        Place::Laravel => run(rest, is_base64).filter(|value| value.len() >= 40),
        Place::Composer => composer(rest),
        Place::Kaggle => kaggle(text, start, rest),
        Place::Pass => rest.split_once("</").map(|(value, _)| value).filter(|value| value.len() >= 6 && is_drawn(value)),
        Place::Cookie => cookie(rest),
        Place::Pair => pair(rest),
        Place::Driver => return out.extend(driver(text, start)),
        Place::Insert => return rows(text, end, out),
        Place::Mailchimp => return out.extend(mailchimp(text, start, rest)),
    };
    if let Some(value) = value.filter(|value| !value.is_empty() && !is_stand_in(head(value))) {
        crate::work::read(value.len());
        let from = value.as_ptr() as usize - text.as_ptr() as usize;
        out.push(found("credential", from, from + value.len(), 0.85));
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-')
}

/// The run of characters of a kind that a text begins with.
fn run(text: &str, is_one: fn(u8) -> bool) -> Option<&str> {
    text.get(..text.bytes().take_while(|byte| is_one(*byte)).count())
}

/// The string of JSON after a colon.
fn string(rest: &str) -> Option<&str> {
    let inside = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    inside.get(..inside.find(['"', '\n'])?)
}

/// Whether digits and letters both stand in a value, as in what is drawn at random.
fn is_drawn(value: &str) -> bool {
    let first = head(value);
    first.bytes().any(|byte| byte.is_ascii_digit()) && classes(first) >= 2 && entropy(first) >= 2.5 && !is_program_text(first)
}

fn web_key<'t>(text: &'t str, start: usize, rest: &'t str) -> Option<&'t str> {
    /// An RSA key has its modulus before or after; the type stands beside.
    const AROUND: usize = 2048;
    let inside = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let from = inside.as_ptr() as usize - text.as_ptr() as usize;
    let value = run(text.get(from..)?, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))?;
    crate::work::read(value.len());
    if value.len() < 40 || !text.get(from + value.len()..)?.starts_with('"') {
        return None;
    }
    let around = text.get(floor(text, start.saturating_sub(AROUND))..ceil(text, (from + value.len() + AROUND).min(text.len())))?;
    crate::work::read(around.len());
    around.contains("\"kty\"").then_some(value)
}

fn word_press<'t>(text: &'t str, start: usize, rest: &'t str) -> Option<&'t str> {
    let before = text.get(floor(text, start.saturating_sub(32))..start)?;
    let called = before.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '_').strip_suffix('\'')?.trim_end();
    let inside = rest.trim_start_matches(' ').strip_prefix(',')?.trim_start_matches(' ').strip_prefix('\'')?;
    let value = inside.get(..inside.find(['\'', '\n'])?)?;
    (called.ends_with("define(") && value.len() >= 32 && classes(value) >= 2 && entropy(value) >= 3.0).then_some(value)
}

fn composer(rest: &str) -> Option<&str> {
    let inside = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('{')?.trim_start().strip_prefix('"')?;
    let (_, after) = inside.split_once('"')?;
    string(after).filter(|value| value.len() >= 16 && is_drawn(value))
}

fn kaggle<'t>(text: &'t str, start: usize, rest: &'t str) -> Option<&'t str> {
    let before = text.get(floor(text, start.saturating_sub(96))..start)?;
    let beside = before.rsplit('{').next()?.contains("\"username\"");
    string(rest).filter(|value| beside && value.len() == 32 && value.bytes().all(|byte| byte.is_ascii_hexdigit()) && is_drawn(value))
}

fn cookie(rest: &str) -> Option<&str> {
    let line = rest.split(['\n', '\r']).next()?;
    let mut fields = line.split('\t').skip(1);
    let (flag, time, _, value) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let times = !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit());
    (matches!(flag, "TRUE" | "FALSE") && times && value.len() >= 16 && is_drawn(value)).then_some(value)
}

fn pair(rest: &str) -> Option<&str> {
    let quote = |c: &char| matches!(c, '"' | '\'');
    let opened = rest.trim_start();
    let sign = opened.chars().next().filter(quote)?;
    let (user, after) = opened.get(1..)?.split_once(sign)?;
    let inside = after.strip_prefix(',')?.trim_start().strip_prefix(sign)?;
    let value = inside.get(..inside.find([sign, '\n'])?)?;
    let closes = inside.get(value.len() + 1..)?.trim_start().starts_with([')', ',']);
    (closes && user.len() <= 64 && !user.contains(['\n', ' ']) && is_password(value, head(value))).then_some(value)
}

/// `user:password` before `@tcp(`.
fn driver(text: &str, at: usize) -> Option<Finding> {
    let before = text.get(floor(text, at.saturating_sub(REACH / 2))..at)?;
    crate::work::read(before.len());
    let log_in = before.rsplit(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '=' | '/')).next()?;
    let (user, password) = log_in.split_once(':')?;
    let plain = !user.is_empty() && user.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    let named = matches!(password.to_ascii_lowercase().as_str(), "pass" | "pwd" | "passwd" | "secret" | "pw");
    let fits = plain && !named && password.len() >= 4 && !password.contains(['{', '(', '%', '<', '$']) && !is_stand_in(password);
    fits.then(|| found("credential", at - password.len(), at, 0.85))
}

/// The values of a column whose name is that of a secret, in each row of a statement.
fn rows(text: &str, at: usize, out: &mut Vec<Finding>) {
    const ROWS: usize = 4096;
    const NAMES: &[&str] = &["password", "passwd", "passwort", "pwd", "secret", "token", "api_key", "apikey", "password_hash"];
    let Some(rest) = text.get(at..) else { return };
    let head = rest.get(..floor(rest, REACH)).unwrap_or_default();
    let Some((table, columns)) = head.split_once('(') else { return };
    let Some((columns, _)) = columns.split_once(')').filter(|_| !table.contains([';', '\n'])) else { return };
    let names: Vec<String> = columns.split(',').map(|name| name.trim().trim_matches(['`', '"', '[', ']']).to_ascii_lowercase()).collect();
    let secret: Vec<bool> = names.iter().map(|name| NAMES.iter().any(|ending| name.ends_with(ending))).collect();
    if !secret.contains(&true) {
        return;
    }
    let Some(after) = rest.get(table.len() + columns.len() + 2..) else { return };
    let Some(values) = after.trim_start().get(..6).filter(|word| word.eq_ignore_ascii_case("values")) else { return };
    let mut rest = after.trim_start().get(values.len()..).unwrap_or_default();
    for _ in 0..ROWS {
        let Some(row) = rest.trim_start_matches([' ', ',', '\n', '\r', '\t']).strip_prefix('(') else { return };
        let mut fields = row;
        let mut column = 0;
        loop {
            let field = fields.trim_start();
            let (value, left) = match field.strip_prefix('\'') {
                Some(inside) => {
                    let Some(end) = end_of_literal(inside) else { return };
                    (inside.get(..end), inside.get(end + 1..).unwrap_or_default())
                }
                None => (None, field.get(field.find([',', ')', '\'', ';']).unwrap_or(field.len())..).unwrap_or_default()),
            };
            crate::work::read(fields.len() - left.len());
            let is_one = |value: &&str| secret.get(column) == Some(&true) && value.len() >= 6 && is_drawn(value) && !value.contains(' ');
            if let Some(value) = value.filter(is_one).filter(|value| !is_stand_in(super::head(value))) {
                let from = value.as_ptr() as usize - text.as_ptr() as usize;
                out.push(found("credential", from, from + value.len(), 0.8));
            }
            let left = left.trim_start();
            if let Some(next) = left.strip_prefix(',') {
                (fields, column) = (next, column + 1);
            } else if let Some(next) = left.strip_prefix(')') {
                rest = next;
                break;
            } else {
                return;
            }
        }
    }
}

/// Where a literal of SQL ends: two quotes in it are one.
fn end_of_literal(inside: &str) -> Option<usize> {
    let mut quotes = inside.match_indices('\'').map(|(at, _)| at);
    while let Some(at) = quotes.next() {
        if inside.as_bytes().get(at + 1) != Some(&b'\'') {
            return Some(at);
        }
        quotes.next();
    }
    None
}

/// 32 hexadecimal digits before the name of a data centre.
fn mailchimp(text: &str, at: usize, rest: &str) -> Option<Finding> {
    let start = at.checked_sub(32)?;
    let key = text.get(start..at)?;
    let digits = rest.bytes().take(3).take_while(u8::is_ascii_digit).count();
    let ends = rest.get(digits..)?.bytes().next().is_none_or(|byte| !byte.is_ascii_alphanumeric());
    let hexadecimal = key.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let fits = hexadecimal && (1..=2).contains(&digits) && ends && edge::is_edge(text.as_bytes(), start) && is_drawn(key);
    fits.then(|| found("mailchimp", start, at + 3 + digits, 0.9))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found_in;

    const VALUE: &str = "q7WxTnc2V8bRy4HsJ5mm";
    const KEY: &str = "bg1d2B21FSF9x1gLyLua9yOqAN9eFIHygFgzQgFUBZG";
    const HEX: &str = "9b3c27e4a1d8f60b7e52c9a13d4f8e6b";

    #[test]
    fn secrets_are_found_where_programs_keep_them() {
        for (text, value) in [
            (format!("{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qY\",\"d\":\"{KEY}\"}}"), KEY),
            (format!("{{\n \"k\": \"{KEY}\",\n \"kty\": \"oct\"\n}}"), KEY),
            (format!("define( 'SECURE_AUTH_KEY',  '{KEY} a}}#' );"), &format!("{KEY} a}}#")),
            (format!("define('NONCE_SALT', '{KEY}');"), KEY),
            (format!("APP_KEY=base64:{KEY}=\n"), &format!("{KEY}=")),
            (format!("{{\"github-oauth\": {{\n \"github.com\": \"{VALUE}\"}}}}"), VALUE),
            (format!("{{\"username\":\"ann\",\"key\":\"{HEX}\"}}"), HEX),
            (format!("<User>ann</User><Pass encoding=\"base64\">{VALUE}</Pass>"), VALUE),
            (format!(".x.com\tTRUE\t/\tTRUE\t1799999999\tuser_session\t{VALUE}\n"), VALUE),
            (format!("dsn := \"root:{VALUE}@tcp(db:3306)/app\""), VALUE),
            (format!("requests.get(url, auth=('admin', '{VALUE}'))"), VALUE),
            (format!("server.login(\"bob@x.com\", \"{VALUE}\")"), VALUE),
            (format!("INSERT INTO users (id, name, password) VALUES (1, 'bo''b', '{VALUE}');"), VALUE),
            (format!("insert into `users` (`password`, `name`)\nvalues\n ('', 'a'),\n ('{VALUE}', 'b')"), VALUE),
        ] {
            assert_eq!(found_in(&text), [("credential", value)], "{text}");
        }
        assert_eq!(found_in(&format!("mailchimp {HEX}-us12\n")), [("mailchimp", format!("{HEX}-us12").as_str())]);
    }

    #[test]
    fn what_only_begins_like_such_a_place_is_left_alone() {
        for text in [
            format!("{{\"kty\":\"RSA\",\"n\":\"{KEY}\",\"e\":\"AQAB\"}}"),
            format!("{{\"d\":\"{KEY}\"}}"),
            "define( 'AUTH_KEY', 'put your unique phrase here' );".to_owned(),
            "APP_KEY=base64:\n".to_owned(),
            "{\"github-oauth\": {\"github.com\": \"YOUR_TOKEN_HERE_1234\"}}".to_owned(),
            format!("{{\"name\":\"ann\",\"key\":\"{HEX}\"}}"),
            "<Pass>first</Pass>".to_owned(),
            ".x.com\tTRUE\t/\tTRUE\t1799999999\tlang\ten\n".to_owned(),
            "a\tTRUE\t/b\tc\td\te\tf1f2f3f4f5f6f7f8f9\n".to_owned(),
            "fmt.Sprintf(\"%s:%s@tcp(%s)/app\", u, p, h)".to_owned(),
            "user:password@tcp(localhost:5555)/dbname".to_owned(),
            "auth=('user', 'pass')".to_owned(),
            "auth=(\"user\", os.environ[\"PW1\"])".to_owned(),
            "s.login('user', 'password1')".to_owned(),
            "INSERT INTO users (id, name) VALUES (1, 'q7WxTnc2V8bR');".to_owned(),
            "INSERT INTO users (password) VALUES ('?');".to_owned(),
            "INSERT INTO users (password) VALUES (crypt('q7WxTnc2V8bR', gen_salt('bf')));".to_owned(),
            "insert into the (first password) slot a1b2c3d4".to_owned(),
            format!("file-{HEX}-user"),
            format!("{HEX}-us-east-1"),
        ] {
            assert_eq!(found_in(&text), [], "{text}");
        }
    }
}
