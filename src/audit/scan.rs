//! Reading a file of the log from its beginning, as long as each record follows from the one before it.

use std::io::{BufRead, BufReader, Read};

use super::chain::Receipt;
use super::hex;
use super::line::Sealed;

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

/// Reads from `file` until the first line that does not follow; `visit` sees every record that does, also one whose line end is missing.
/// `before`: the record the first one must follow; `None` takes any.
pub(crate) fn scan(file: impl Read, before: Option<Receipt>, mut visit: impl FnMut(&Sealed<'_>, &[u8])) -> Scanned {
    let mut lines = Lines::new(file);
    let mut expected = before;
    let mut scanned = Scanned { first: None, last: before.unwrap_or(Receipt::new(0, hex::NONE)), records: 0, good: 0, rest: Rest::Nothing };
    loop {
        let line = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => return scanned,
            Err(_) => return Scanned { rest: Rest::Unreadable, ..scanned },
        };
        let sealed = Sealed::read(line.bytes).map_err(|fault| fault.why).and_then(|sealed| follows(expected, &sealed).map(|()| sealed));
        let sealed = match (sealed, line.ended) {
            (Ok(sealed), true) => sealed,
            (Ok(sealed), false) => {
                visit(&sealed, line.bytes);
                return Scanned { rest: Rest::Unended(Receipt::new(sealed.seq, sealed.hash)), ..scanned };
            }
            (Err(_), false) => return Scanned { rest: Rest::Part, ..scanned },
            (Err(why), true) => return Scanned { rest: Rest::Wrong(why), ..scanned },
        };
        scanned.first.get_or_insert(sealed.seq);
        scanned.last = Receipt::new(sealed.seq, sealed.hash);
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
    if sealed.prev != before.digits() {
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
