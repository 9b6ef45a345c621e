//! The form of the log: lines, each sealed by the hash of its own bytes and bound to the one before it.

use std::io::{BufRead, BufReader, Read, Write as _};

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
use sha2::{Digest as _, Sha256};

/// A SHA-256 as 64 lower-case hexadecimal digits.
pub(crate) type Hex = [u8; 64];

/// What stands as `prev` in the first record of a chain.
const NONE: Hex = [b'0'; 64];

fn sha256(bytes: &[u8]) -> Hex {
    let mut digits = NONE;
    HEXLOWER.encode_mut(&Sha256::digest(bytes), &mut digits);
    digits
}

/// Where a record stands: its number and its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// The record's number in its chain, from 1.
    pub seq: u64,
    pub(crate) hash: Hex,
}

impl Receipt {
    /// What the first record of a chain follows.
    pub(crate) const START: Self = Self { seq: 0, hash: NONE };

    /// The record's hash as 64 hexadecimal digits.
    pub fn hash(&self) -> String {
        String::from_utf8_lossy(&self.hash).into_owned()
    }
}

/// Writes a whole line, its end included, and returns its hash. `body` begins with `,"ev":`.
pub(crate) fn write(out: &mut Vec<u8>, seq: u64, now: Timestamp, body: &[u8], prev: &Hex) -> Hex {
    out.clear();
    // Writing to a Vec cannot fail; neither can printing a time stamp to one.
    let _ = write!(out, "{HEAD}{seq},\"ts\":\"");
    let mut time = String::with_capacity(32);
    let _ = PRINTER.print_timestamp(&now, &mut time);
    out.extend_from_slice(time.as_bytes());
    out.push(b'"');
    out.extend_from_slice(body);
    out.extend_from_slice(PREV);
    out.extend_from_slice(prev);
    out.push(b'"');
    let hash = sha256(out);
    out.extend_from_slice(HASH);
    out.extend_from_slice(&hash);
    out.extend_from_slice(b"\"}\n");
    hash
}

/// A line that is what its hash says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sealed<'a> {
    pub(crate) seq: u64,
    pub(crate) prev: &'a [u8],
    pub(crate) hash: Hex,
    /// From `,"ts":"` to before `,"prev"`.
    rest: &'a [u8],
}

impl<'a> Sealed<'a> {
    /// Reads a line without its end. No JSON is parsed: every place that matters is fixed, and the hash covers all other bytes.
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(line: &'a [u8]) -> Result<Self, &'static str> {
        let (signed, digits) = ending(line, HASH, b"\"}").ok_or("it does not end with its hash")?;
        let hash = sha256(signed);
        if hash != *digits {
            return Err("its bytes are not what its hash says");
        }
        let (rest, prev) = ending(signed, PREV, b"\"").ok_or("it does not name the record before it")?;
        let (seq, rest) = after_seq(rest).ok_or("it has no seq")?;
        Ok(Self { seq, prev, hash, rest })
    }

    /// Where it stands.
    pub(crate) const fn receipt(&self) -> Receipt {
        Receipt { seq: self.seq, hash: self.hash }
    }

    /// The part of the line that its record wrote: from `,"ev":` on.
    pub(crate) fn body(&self) -> &'a [u8] {
        quoted(self.rest, TS).map_or(&[], |(_, body)| body)
    }

    /// The field `ev`.
    pub(crate) fn event(&self) -> Option<&'a str> {
        head(self.body()).map(|(event, ..)| event)
    }

    /// The field `ts`.
    pub(crate) fn time(&self) -> Option<Timestamp> {
        quoted(self.rest, TS)?.0?.parse().ok()
    }
}

/// The event that a body begins with, the call right after it, and what follows.
pub(crate) fn head(body: &[u8]) -> Option<(&str, Option<&str>, &[u8])> {
    let (event, rest) = quoted(body, b",\"ev\":\"")?;
    let (call, rest) = quoted(rest, b",\"call\":\"").unwrap_or((None, rest));
    Some((event?, call, rest))
}

/// Splits `bytes` = X + `mark` + 64 digits + `close` into X and the digits.
fn ending<'a>(bytes: &'a [u8], mark: &[u8], close: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let bytes = bytes.strip_suffix(close)?;
    let (rest, digits) = bytes.split_at_checked(bytes.len().checked_sub(64)?)?;
    Some((rest.strip_suffix(mark)?, digits))
}

/// The text between `mark` and the next quote (or `None` where it is no UTF-8), and what follows.
fn quoted<'a>(bytes: &'a [u8], mark: &[u8]) -> Option<(Option<&'a str>, &'a [u8])> {
    let bytes = bytes.strip_prefix(mark)?;
    let end = bytes.iter().position(|byte| *byte == b'"')?;
    let (text, rest) = bytes.split_at_checked(end)?;
    Some((std::str::from_utf8(text).ok(), rest.strip_prefix(b"\"")?))
}

/// The `seq` a line begins with, and what follows it.
fn after_seq(line: &[u8]) -> Option<(u64, &[u8])> {
    let line = line.strip_prefix(HEAD.as_bytes())?;
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = line.split_at_checked(digits)?;
    if digits.first() == Some(&b'0') {
        return None;
    }
    Some((std::str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

const HEAD: &str = "{\"v\":1,\"seq\":";
const TS: &[u8] = b",\"ts\":\"";
const PREV: &[u8] = b",\"prev\":\"";
const HASH: &[u8] = b",\"hash\":\"";
static PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(6));

/// How far a file is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scanned {
    /// The first record's number.
    pub(crate) first: Option<u64>,
    /// The last record that follows from its predecessors.
    pub(crate) last: Receipt,
    /// How many records do.
    pub(crate) records: u64,
    /// Where the last of them ends, in bytes from the beginning.
    pub(crate) good: u64,
    /// What comes after it.
    pub(crate) rest: Rest,
}

/// What follows the last good record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing.
    Nothing,
    /// The next record, whole but for its line end.
    Unended(Receipt),
    /// A part of a line, without a line end.
    Part,
    /// A line that is not the next record, and why.
    Wrong(&'static str),
    /// The system would not give any more.
    Unreadable,
}

/// Reads records from `file` up to the first line whose hash does not follow from the one before. `visit` is called with each record, also with a
/// last one whose line end is missing.
/// `before`: the record the first one must follow; `None` takes any.
pub(crate) fn scan(file: impl Read, before: Option<Receipt>, mut visit: impl FnMut(&Sealed<'_>, &[u8])) -> Scanned {
    let mut lines = Lines::new(file);
    let mut expected = before;
    let mut scanned = Scanned { first: None, last: before.unwrap_or(Receipt::START), records: 0, good: 0, rest: Rest::Nothing };
    loop {
        let line = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => return scanned,
            Err(_) => return Scanned { rest: Rest::Unreadable, ..scanned },
        };
        let sealed = Sealed::read(line.bytes).and_then(|sealed| follows(expected, &sealed).map(|()| sealed));
        let sealed = match (sealed, line.ended) {
            (Ok(sealed), true) => sealed,
            (Ok(sealed), false) => {
                visit(&sealed, line.bytes);
                return Scanned { rest: Rest::Unended(sealed.receipt()), ..scanned };
            }
            (Err(_), false) => return Scanned { rest: Rest::Part, ..scanned },
            (Err(why), true) => return Scanned { rest: Rest::Wrong(why), ..scanned },
        };
        scanned.first.get_or_insert(sealed.seq);
        scanned.last = sealed.receipt();
        scanned.records = scanned.records.saturating_add(1);
        scanned.good = scanned.good.saturating_add(line.length);
        expected = Some(scanned.last);
        visit(&sealed, line.bytes);
    }
}

fn follows(before: Option<Receipt>, sealed: &Sealed<'_>) -> Result<(), &'static str> {
    let Some(before) = before else { return Ok(()) };
    if Some(sealed.seq) != before.seq.checked_add(1) {
        return Err("a record is missing, doubled or out of order before it");
    }
    if sealed.prev != before.hash {
        return Err("it does not follow from the record before it, which was changed or replaced");
    }
    Ok(())
}

/// The lines of a file, one at a time in one buffer.
pub(crate) struct Lines<R> {
    file: BufReader<R>,
    buffer: Vec<u8>,
}

/// One line.
pub(crate) struct Line<'a> {
    /// Without its end.
    pub(crate) bytes: &'a [u8],
    /// With its end.
    pub(crate) length: u64,
    pub(crate) ended: bool,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(file: R) -> Self {
        Self { file: BufReader::with_capacity(256 * 1024, file), buffer: Vec::with_capacity(4096) }
    }

    /// The next line; a longer one than any record comes in pieces without an end.
    pub(crate) fn next(&mut self) -> std::io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let length = self.file.by_ref().take(LONGEST).read_until(b'\n', &mut self.buffer)?;
        if length == 0 {
            return Ok(None);
        }
        let (bytes, ended) = self.buffer.strip_suffix(b"\n").map_or((self.buffer.as_slice(), false), |line| (line, true));
        Ok(Some(Line { bytes, length: u64::try_from(length).unwrap_or(u64::MAX), ended }))
    }
}

/// No record is longer, so that a file without line ends cannot exhaust memory.
const LONGEST: u64 = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn line(body: &str) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, 7, Timestamp::UNIX_EPOCH, body.as_bytes(), &NONE);
        out.pop();
        out
    }

    #[test]
    fn a_line_reads_back_as_what_was_written() {
        let line = line(r#","ev":"call.started","call":"c1","args":{"a":1}"#);
        let sealed = Sealed::read(&line).unwrap();
        assert_eq!(
            (sealed.seq, head(sealed.body()), sealed.prev),
            (7, Some(("call.started", Some("c1"), br#","args":{"a":1}"#.as_slice())), NONE.as_slice())
        );
        assert!(sealed.rest.starts_with(br#","ts":"1970-01-01T00:00:00.000000Z""#) && sealed.time() == Some(Timestamp::UNIX_EPOCH));
    }

    #[test]
    fn a_hash_forged_inside_the_arguments_is_not_taken_for_the_record_s_own() {
        let forged = format!(r#","ev":"call.started","args":{{"a":1,"hash":"{}"}}"#, "0".repeat(64));
        let mut line = line(&forged);
        assert!(Sealed::read(&line).is_ok());
        let end = line.len() - 75;
        line.truncate(end);
        assert_eq!(Sealed::read(&line), Err("it does not end with its hash"));
    }

    #[test]
    fn a_changed_byte_anywhere_is_noticed() {
        let line = line(r#","ev":"call.started""#);
        for place in 0..line.len() {
            let mut bent = line.clone();
            bent[place] ^= 1;
            assert!(Sealed::read(&bent).is_err(), "{place}");
        }
    }
}
