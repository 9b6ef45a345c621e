//! Ends of private keys in armour, whose beginnings may not be known: PEM, the SSH2 form of RFC 4716, `PuTTY`'s own.
//!
//! # Source
//! RFC 7468, RFC 1421, RFC 9580 (PEM and its headers), RFC 4716 and what Tectia and `ssh-keygen -e` write (`---- BEGIN SSH2`), `PuTTY`'s manual,
//! appendix "PPK file format".

/// One kind of frame.
struct Frame {
    /// Before the label of a beginning.
    begin: &'static str,
    /// Before the label of an end.
    end: &'static str,
    /// After a label, and before each of the others.
    rule: &'static str,
}

const PEM: Frame = Frame { begin: "-----BEGIN ", end: "-----END ", rule: "-----" };
const SSH2: Frame = Frame { begin: "---- BEGIN ", end: "---- END ", rule: "----" };

/// Before the number of lines that hold a key of `PuTTY`'s.
const LINES: &str = "Private-Lines: ";

/// Before the code of authentication behind these lines.
const CODE: &str = "Private-MAC: ";

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
