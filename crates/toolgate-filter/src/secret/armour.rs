//! Private keys in armour: PEM, the SSH2 form of RFC 4716, `PuTTY`'s own.
//!
//! # Source
//! RFC 7468, RFC 1421, RFC 9580 (PEM and its headers), RFC 4716 and what Tectia and `ssh-keygen -e` write (`---- BEGIN SSH2`), `PuTTY`'s manual,
//! appendix "PPK file format".

use super::found;
use crate::finding::{Finding, floor};

/// One kind of frame.
struct Frame {
    /// Before the label of a beginning.
    begin: &'static str,
    /// Before the label of an end.
    end: &'static str,
    /// After a label, and before each of the others.
    rule: &'static str,
    name: &'static str,
}

const PEM: Frame = Frame { begin: "-----BEGIN ", end: "-----END ", rule: "-----", name: "pem" };
const SSH2: Frame = Frame { begin: "---- BEGIN ", end: "---- END ", rule: "----", name: "ssh2" };

/// What private keys begin with; compared to the letter.
pub(super) const STARTS: [&str; 3] = [PEM.begin, SSH2.begin, LINES];

/// Before the number of lines that hold a key of `PuTTY`'s.
const LINES: &str = "Private-Lines: ";

/// Before the code of authentication behind these lines.
const CODE: &str = "Private-MAC: ";

/// What stands in every frame: a text without it holds no beginning and no end of one.
pub(crate) const RULE: &str = SSH2.rule;

/// The private key that begins at `start` with the beginning of this number.
pub(super) fn private_key(text: &str, number: usize, start: usize) -> Option<Finding> {
    match number {
        0 => framed(text, start, &PEM),
        1 => framed(text, start, &SSH2),
        _ => putty(text, start),
    }
}

/// A private key in a frame, to its end line or, where that is cut off, to the last line of its body.
fn framed(text: &str, start: usize, frame: &Frame) -> Option<Finding> {
    let rest = text.get(start..)?;
    let head = rest.get(..floor(rest, 80))?;
    let label = head.strip_prefix(frame.begin)?.split(frame.rule).next()?;
    // The key that both ends of a tunnel share is called so.
    if !label.contains("PRIVATE KEY") && !label.starts_with("OpenVPN Static key") {
        return None;
    }
    let body_at = frame.begin.len() + label.len() + frame.rule.len();
    let body = rest.get(body_at..)?;
    // The next frame of any kind ends this one: many beginnings without an end are each read to the next one alone.
    let length = body.find(frame.rule).unwrap_or(body.len());
    crate::work::read(length);
    let end = match body.get(length..).and_then(|rest| rest.strip_prefix(frame.end)) {
        // The label of an end line is as short as that of a beginning.
        Some(tail) => {
            let label = tail.get(..floor(tail, 80)).and_then(|tail| tail.find(frame.rule));
            body_at + length + frame.end.len() + label.map_or(0, |label| label + frame.rule.len())
        }
        None => body_at + armour(body.get(..length).unwrap_or_default()),
    };
    // Documents show the frame with nothing, or with words, inside; a key begins soon.
    let inside = body.get(..floor(body, end.saturating_sub(body_at).min(240))).unwrap_or_default();
    is_material(inside).then(|| found(frame.name, start, start + end, 0.99))
}

/// The lines of base64 after `Private-Lines: 14`, and the code of authentication after them, from which a short passphrase can be guessed.
fn putty(text: &str, start: usize) -> Option<Finding> {
    let rest = text.get(start + LINES.len()..)?;
    let digits = rest.bytes().take(4).take_while(u8::is_ascii_digit).count();
    let body_at = start + LINES.len() + digits;
    let body = text.get(body_at..)?;
    if digits == 0 || !body.starts_with(['\n', '\r', '\\']) {
        return None;
    }
    let run = base64_run(body);
    crate::work::read(run);
    let lines = body.get(..run)?;
    // The name of the code is made of letters as well.
    let end = match lines.strip_suffix("Private").map(str::len) {
        Some(at) if body.get(at..).is_some_and(|rest| rest.starts_with(CODE)) => {
            let code = body.get(at + CODE.len()..).unwrap_or_default();
            at + CODE.len() + code.bytes().take_while(u8::is_ascii_hexdigit).count()
        }
        _ => run,
    };
    let blank = body.len() - body.trim_start_matches(['\n', '\r']).len();
    is_material(lines.get(..floor(lines, 240))?).then(|| found("putty", body_at + blank, body_at + end, 0.99))
}

/// Where the first private key of a text ends, if its beginning is not there.
pub(crate) fn end_of(text: &str) -> Option<usize> {
    let framed = |frame: &Frame| {
        let (at, _) = text.match_indices(frame.end).find(|(at, _)| {
            let name = text.get(at + frame.end.len()..).unwrap_or_default().lines().next().unwrap_or_default();
            name.split(frame.rule).next().is_some_and(|name| name.contains("PRIVATE KEY"))
        })?;
        let rest = text.get(at + frame.end.len()..)?;
        let end = at + frame.end.len() + rest.find(frame.rule).map_or(rest.len(), |rule| rule + frame.rule.len());
        (!text.get(..at)?.contains(frame.begin)).then_some(end)
    };
    let putty = || {
        let (before, code) = text.split_once(CODE)?;
        let digits = code.bytes().take_while(u8::is_ascii_hexdigit).count();
        (!before.contains(LINES)).then_some(text.len() - code.len() + digits)
    };
    [framed(&PEM), framed(&SSH2), putty()].into_iter().flatten().min()
}

/// Whether a beginning of a body holds what a key is made of.
fn is_material(inside: &str) -> bool {
    let words = inside.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '/' | '='));
    words.map(str::len).max().unwrap_or(0) >= 24
}

/// The length of a body in armour whose end is missing: some headers, then base64, also with written line ends.
fn armour(body: &str) -> usize {
    const HEADERS: usize = 8;
    let mut at = 0;
    for line in body.split_inclusive('\n').take(HEADERS) {
        let named = line.split_once(": ").is_some_and(|(name, _)| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
        if !named && !line.trim().is_empty() {
            break;
        }
        at += line.len();
    }
    at + base64_run(body.get(at..).unwrap_or_default())
}

/// How many bytes of base64 a text begins with, its line ends with them, also written ones.
fn base64_run(text: &str) -> usize {
    text.bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\n' | b'\r' | b'\\' | b' '))
        .count()
}

#[cfg(test)]
mod tests {
    use super::super::tests::found_in;

    const LINE: &str = "AAAAgQCm7Zt4Lw8Rn1Yc6Vd3Mq7WxTnc2V8bRy4HsJ5mm";

    #[test]
    fn keys_in_every_armour_are_found_to_their_end() {
        let ssh2 = format!(
            "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: \"[1024-bit rsa, ann@example.org]\"\nP2/56wAAAi4AAAA3{LINE}\n{LINE}=\n---- END SSH2 ENCRYPTED PRIVATE KEY ----"
        );
        let putty = format!("{LINE}\n{LINE}=\nPrivate-MAC: 8d3f1b6c2a9e4d7f5b0c1e8a6d2f4b9c7e3a5d10");
        let file = format!(
            "PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nComment: ann\nPublic-Lines: 2\nAAAAB3NzaC1yc2EAAAADAQABAAAAgQC\nabc=\nPrivate-Lines: 2\n{putty}\n"
        );
        let in_json = format!("{{\"ppk\": \"Private-Lines: 1\\n{LINE}\\nPrivate-MAC: 8d3f1b6c\"}}");
        for (text, sub, value) in [
            (format!("a\n{ssh2}\nb"), "ssh2", ssh2.as_str()),
            (file, "putty", &putty),
            (format!("Private-Lines: 2\r\n{LINE}\r\n{LINE}\r\n"), "putty", &format!("{LINE}\r\n{LINE}\r\n")),
            (in_json, "putty", &format!("\\n{LINE}\\nPrivate-MAC: 8d3f1b6c")),
        ] {
            assert_eq!(found_in(&text), [(sub, value)], "{text}");
        }
        let shared = "-----BEGIN OpenVPN Static key V1-----\n9b3c27e4a1d8f60b7e52c9a13d4f8e6b\n9b3c27e4a1d8f60b7e52c9a13d4f8e6b\n-----END OpenVPN Static key V1-----";
        assert_eq!(found_in(shared), [("pem", shared)]);
        let cut = ssh2.rsplit_once('\n').unwrap().0;
        assert_eq!(found_in(cut), [("ssh2", cut)]);
    }

    #[test]
    fn public_keys_rules_and_words_about_keys_are_left_alone() {
        for text in [
            format!("---- BEGIN SSH2 PUBLIC KEY ----\nComment: \"ann\"\n{LINE}\n---- END SSH2 PUBLIC KEY ----"),
            format!("Public-Lines: 2\n{LINE}\n"),
            "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n...\n---- END SSH2 ENCRYPTED PRIVATE KEY ----".to_owned(),
            "Private-Lines: the number of lines of the private part".to_owned(),
            "Private-Lines: 14\n\nThe lines that follow hold the private part of the key.".to_owned(),
            "---- BEGIN OF THE CHAPTER ABOUT A PRIVATE KEY ----\nIt is not to be shown.".to_owned(),
        ] {
            assert_eq!(found_in(&text), [], "{text}");
        }
    }
}
