//! Secrets that a form of their own names: statements and settings whose words stand before a value without a sign (`IDENTIFIED BY '…'`,
//! `requirepass …`), options that only their program knows, keys in base64 around their armour, addresses that start a flow.
//!
//! # Source
//! The manuals of `MySQL`, `PostgreSQL`, Redis, `wpa_supplicant`, OpenSSL (openssl-passphrase-options(1)) and Docker; npm's `.npmrc`; the
//! kubeconfig of Kubernetes; Microsoft's "Workflows" for Teams.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::strength::{entropy, is_password, is_stand_in};
use super::{command, edge, found, head};
use crate::finding::{Finding, floor};

/// How a value stands after a beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// In quotes, after blanks.
    Quoted,
    /// A word, after blanks or in quotes.
    Word,
    /// Right behind it.
    Joined,
    /// Of an option `-p` in the command that begins so.
    Option,
    /// Base64 of a private key in armour.
    Armour,
    /// Base64 of a name and a password.
    LogIn,
    /// The signature of an address of a workflow.
    Flow,
}

/// The beginnings; matched without regard to ASCII case.
const FORMS: &[(&str, Form)] = &[
    ("identified by ", Form::Quoted),
    ("with password ", Form::Quoted),
    ("encrypted password ", Form::Quoted),
    ("requirepass ", Form::Word),
    ("masterauth ", Form::Word),
    ("psk=", Form::Word),
    ("-passin pass:", Form::Joined),
    ("-passout pass:", Form::Joined),
    ("docker login ", Form::Option),
    ("podman login ", Form::Option),
    ("az login ", Form::Option),
    ("LS0tLS1CRUdJTi", Form::Armour),
    ("_auth=", Form::LogIn),
    ("_auth = ", Form::LogIn),
    ("&sig=", Form::Flow),
];

/// The beginnings, in the order of their numbers.
pub(super) fn starts() -> impl Iterator<Item = &'static str> {
    FORMS.iter().map(|(start, _)| *start)
}

/// The secret of the form with this number, whose beginning stands at `start..end`.
pub(super) fn finding(text: &str, number: usize, start: usize, end: usize) -> Option<Finding> {
    let (beginning, form) = FORMS.get(number)?;
    match form {
        Form::Armour if text.get(start..end) == Some(beginning) => armour(text, start),
        Form::Armour => None,
        Form::Flow => flow(text, start, end),
        Form::LogIn => log_in(text, start, end),
        _ if !edge::is_edge(text.as_bytes(), start) => None,
        Form::Option => option(text, end),
        Form::Quoted | Form::Word | Form::Joined => password(text, end, *form),
    }
}

/// Bytes of a command or an address that are looked through.
const REACH: usize = 512;

/// The value at `at`, as a person chooses one.
fn password(text: &str, at: usize, form: Form) -> Option<Finding> {
    let rest = text.get(at..floor(text, at + REACH))?;
    crate::work::read(rest.len().min(REACH));
    let bare = if form == Form::Joined { rest } else { rest.trim_start_matches([' ', '\\']) };
    let quote = bare.chars().next().filter(|sign| matches!(sign, '"' | '\''));
    if form == Form::Quoted && quote.is_none() {
        return None;
    }
    let from = at + rest.len() - bare.len() + usize::from(quote.is_some());
    let value = bare.get(usize::from(quote.is_some())..)?;
    let is_end = |c: char| {
        quote.map_or_else(|| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ';' | '<' | '>' | ','), |quote| c == quote || c == '\n')
    };
    let value = value.get(..value.find(is_end).unwrap_or(value.len()))?.trim_end_matches('\\');
    let first = head(value);
    let is_plain = !first.contains(['(', ')', '{', '}', '[', ']', '<', ' ']);
    (is_plain && is_password(value, first)).then(|| found("credential", from, from + value.len(), 0.8))
}

/// The value of `-p` or `--password` in the rest of a command. With a sign or a name the value of the longer one is found elsewhere.
fn option(text: &str, at: usize) -> Option<Finding> {
    let rest = text.get(at..floor(text, at + REACH))?;
    let rest = command::first(rest);
    let rest = rest.get(..rest.find(" login ").unwrap_or(rest.len()))?;
    crate::work::read(rest.len());
    let option = if rest.starts_with("-p ") { Some(3) } else { rest.find(" -p ").map(|place| place + 4) }?;
    password(text, at + option, Form::Word)
}

/// Base64 of a text that begins a private key; `client-key-data` and `tls.key` have it so.
fn armour(text: &str, start: usize) -> Option<Finding> {
    // One that begins inside a run of base64 would be read with it once more.
    let before = start.checked_sub(1).and_then(|at| text.as_bytes().get(at));
    if !edge::is_edge(text.as_bytes(), start) || before.is_some_and(|byte| matches!(byte, b'+' | b'/')) {
        return None;
    }
    let rest = text.get(start..)?;
    let (first, length) = wrapped(rest);
    crate::work::read(length);
    let first = first.get(..first.len().min(96) & !3)?;
    let begins = STANDARD.decode(first).ok()?;
    let label = begins.strip_prefix(b"-----BEGIN ")?;
    let names = label.windows(11).any(|part| part == b"PRIVATE KEY");
    (names && length >= 80).then(|| found("pem", start, start + length, 0.97))
}

/// The first line of base64, and the length of all its lines: those of one length, indented or not, and a last one that may be shorter.
fn wrapped(rest: &str) -> (&str, usize) {
    const LEAST: usize = 40;
    let run = |text: &str| text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')).count();
    let width = run(rest);
    let first = rest.get(..width).unwrap_or_default();
    let (mut length, mut last) = (width, width);
    while width >= LEAST && last == width && !rest.get(..length).is_some_and(|run| run.ends_with('=')) {
        let after = rest.get(length..).unwrap_or_default();
        let Some(below) = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n')) else { break };
        let line = below.trim_start_matches([' ', '\t']);
        last = run(line);
        let is_whole = line.get(last..).is_some_and(|end| end.is_empty() || end.starts_with(['\n', '\r', '"', '\'']));
        if last == 0 || last > width || !is_whole {
            break;
        }
        length = rest.len() - line.len() + last;
    }
    (first, length)
}

/// `_auth=` of an `.npmrc`: base64 of a name, a colon and a password.
fn log_in(text: &str, start: usize, end: usize) -> Option<Finding> {
    let before = start.checked_sub(1).and_then(|at| text.as_bytes().get(at));
    let rest = text.get(end..)?;
    let quoted = usize::from(rest.starts_with('"'));
    let rest = rest.get(quoted..)?;
    let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')).count();
    crate::work::read(length);
    let value = rest.get(..length)?;
    let raw = STANDARD.decode(value).ok()?;
    let colon = raw.iter().position(|byte| *byte == b':')?;
    let fits = before.is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''))
        && colon > 0
        && raw.len() > colon + 3
        && raw.iter().all(u8::is_ascii_graphic)
        && !is_stand_in(head(value));
    fits.then(|| found("credential", end + quoted, end + quoted + length, 0.9))
}

/// The signature in an address that starts a workflow. The address alone starts the flow.
fn flow(text: &str, start: usize, end: usize) -> Option<Finding> {
    const HOSTS: &[&str] = &[".logic.azure.com", ".powerplatform.com", ".powerautomate.com"];
    let rest = text.get(end..)?;
    let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')).count();
    crate::work::read(length);
    let before = text.get(floor(text, start.saturating_sub(REACH))..start)?;
    let address = before.rsplit(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>')).next()?;
    crate::work::read(before.len());
    let value = rest.get(..length)?;
    let fits = length >= 32 && HOSTS.iter().any(|host| address.contains(host)) && entropy(head(value)) >= 3.5;
    fits.then(|| found("workflow", end, end + length, 0.9))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found_in;
    use super::*;

    #[test]
    fn secrets_of_statements_settings_options_and_flows_are_found() {
        let value = "q7WxTnc2V8bRy4HsJ5mm";
        for (before, after) in [
            ("CREATE USER 'a'@'%' IDENTIFIED BY '", "';"),
            ("alter user ann with password '", "';"),
            ("requirepass ", "\n"),
            ("requirepass \"", "\"\n"),
            ("masterauth ", "\n"),
            ("    psk=\"", "\"\n"),
            ("openssl rsa -in a.key -passin pass:", " -out b"),
            ("docker login -u me -p ", " r.example"),
            ("docker login -p '", "' -u me"),
            ("docker login -u 'a|b' -p ", " r.example"),
            ("echo; podman login r.example -u me -p ", "\n"),
        ] {
            assert_eq!(found_in(&format!("{before}{value}{after}")), [("credential", value)], "{before}");
        }
        let signature = "q7WxTnc2V8bRy4HsJ5mmq7WxTnc2V8bRy4HsJ5mm_-a";
        let hook = format!(
            "https://prod-1.westeurope.logic.azure.com:443/workflows/9f3c27e4/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers&sv=1.0&sig={signature}"
        );
        assert_eq!(found_in(&hook), [("workflow", signature)]);
        assert_eq!(found_in("_auth=YW5uOnE3V3hUbmMyVjg=\n"), [("credential", "YW5uOnE3V3hUbmMyVjg=")]);
        let key = STANDARD.encode(format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n", value.repeat(8)));
        assert_eq!(found_in(&format!("    client-key-data: {key}\n")), [("pem", key.as_str())]);
        for (width, end) in [(76, "\n"), (64, "\r\n    ")] {
            let lines: Vec<&str> = key.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
            let lines = lines.join(end);
            assert_eq!(found_in(&format!("  tls.key: |\n    {lines}\nkind: Secret\n")), [("pem", lines.as_str())]);
        }
    }

    #[test]
    fn what_only_reads_like_such_a_form_is_left_alone() {
        let certificate = STANDARD.encode(format!("-----BEGIN CERTIFICATE-----\n{}\n", "q7WxTnc2V8bRy4HsJ5mm".repeat(8)));
        for text in [
            "IDENTIFIED BY '<password>'",
            "IDENTIFIED BY 'password'",
            "The user is identified by a number such as 7x9y2z1.",
            "requirepass ${REDIS_PASSWORD_1}",
            "# requirepass foobared",
            "psk=\"changeme123456789\"",
            "openssl -passin pass:$PASS1234",
            "docker login -u me --password-stdin",
            "docker login -p $TOKEN_2024",
            "docker run -p 8080:80 image1",
            "_auth=none",
            "user_auth=YW5uOnE3V3hUbmMyVjg=",
            "https://a.example/?b=1&sig=q7WxTnc2V8bRy4HsJ5mmq7WxTnc2V8bRy4HsJ5mm_-a",
            &format!("certificate-authority-data: {certificate}"),
        ] {
            assert_eq!(found_in(text), [], "{text}");
        }
    }
}
