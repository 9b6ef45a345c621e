//! Reads what the program's process says of itself over the report descriptor. All of it may be forged, endless or broken: it is read once, in
//! the pieces in which it comes, and what is too long is passed over.

use super::outcome::Picture;
use super::picture;
use crate::filter::cut;

/// The exception that ended the program, as the interpreter reported it. The program could forge it; it then lies about itself alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Raised {
    /// The exception's class.
    pub(super) class: String,
    /// Its `errno`.
    pub(super) errno: Option<i32>,
    /// Its text, shortened.
    pub(super) message: String,
    /// Whether a process was to be started by what failed.
    pub(super) starts: bool,
    /// How many threads there were.
    pub(super) threads: u64,
}

/// What came over the report descriptor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// The exception.
    pub(super) raised: Option<Raised>,
    /// Pictures.
    pub(super) pictures: Vec<Picture>,
    /// How many pictures it told of, those among them that are not shown: too many, too large, or none by their bytes.
    pub(super) told: usize,
    /// What the prelude's watch noted.
    pub(super) events: Vec<String>,
    /// In a session: the call is over with this number, and the session goes on.
    pub(super) done: Option<i32>,
}

/// Events that are kept of one program, and bytes of each: the program can write them itself.
const MOST_EVENTS: usize = 100;
const LONGEST_EVENT: usize = 512;
/// The longest record that is no picture.
const LONGEST: usize = 64 * 1024;
/// The longest first line of a record.
const LONGEST_HEAD: usize = 32;
/// A report of more bytes than this is a flood: eight pictures are a fraction of it.
pub(super) const FLOOD: u64 = 256 * 1024 * 1024;

/// A report as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Reading {
    report: Report,
    /// The beginning of a record that is not whole yet.
    rest: Vec<u8>,
    /// So many bytes there have to be before there is more to be read in them.
    enough: usize,
    /// So many bytes to come belong to a record that is too long.
    pass_over: usize,
    /// What came made no sense: there is no telling where the next record begins.
    broken: bool,
    bytes: u64,
}

impl Reading {
    /// Takes the next bytes; whether they are a flood by now.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> bool {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        let skipped = self.pass_over.min(bytes.len());
        self.pass_over -= skipped;
        bytes = bytes.get(skipped..).unwrap_or_default();
        if !self.broken && !bytes.is_empty() {
            self.rest.extend_from_slice(bytes);
            if self.rest.len() >= self.enough {
                let held = std::mem::take(&mut self.rest);
                let read = self.read(&held);
                self.rest = held;
                self.rest.drain(..read.min(self.rest.len()));
            }
        }
        self.bytes > FLOOD
    }

    /// The number with which the program has said that its call is over.
    pub(super) fn done(&self) -> Option<i32> {
        self.report.done
    }

    /// What there is of it.
    pub(super) fn end(self) -> Report {
        self.report
    }

    /// Reads every whole record; how many bytes need not be held any more.
    fn read(&mut self, held: &[u8]) -> usize {
        let mut left = held;
        self.enough = 0;
        loop {
            let Some(line) = left.iter().take(LONGEST_HEAD).position(|byte| *byte == b'\n') else {
                self.broken = left.len() >= LONGEST_HEAD;
                break;
            };
            let Some((kind, length, after)) = head(left, line) else {
                self.broken = true;
                break;
            };
            if length > if kind == b"image" { picture::MOST_BYTES } else { LONGEST } {
                self.report.told += usize::from(kind == b"image");
                self.pass_over = length.saturating_sub(after.len());
                left = after.get(length..).unwrap_or_default();
                continue;
            }
            let Some((payload, next)) = after.split_at_checked(length) else {
                self.enough = line + 1 + length;
                break;
            };
            self.note(kind, payload);
            left = next;
        }
        if self.broken { held.len() } else { held.len() - left.len() }
    }

    fn note(&mut self, kind: &[u8], payload: &[u8]) {
        let report = &mut self.report;
        report.told += usize::from(kind == b"image");
        match kind {
            b"error" => report.raised = Some(raised(&String::from_utf8_lossy(payload))),
            b"done" => report.done = done(&String::from_utf8_lossy(payload)),
            b"event" if report.events.len() < MOST_EVENTS => {
                let shown = payload.get(..cut::before(payload, LONGEST_EVENT)).unwrap_or_default();
                report.events.push(String::from_utf8_lossy(shown).into_owned());
            }
            b"image" if report.pictures.len() < picture::MOST && picture::is_shown("image/png", payload) => {
                report.pictures.push(Picture { mime_type: "image/png".to_owned(), bytes: payload.to_vec() });
            }
            _ => {}
        }
    }
}

/// The kind and the length of a record whose first line ends at `line`, and what comes after that.
fn head(bytes: &[u8], line: usize) -> Option<(&[u8], usize, &[u8])> {
    let (head, rest) = bytes.split_at_checked(line)?;
    let space = head.iter().position(|byte| *byte == b' ')?;
    let (kind, length) = head.split_at_checked(space)?;
    let length: usize = std::str::from_utf8(length.get(1..)?).ok()?.parse().ok()?;
    Some((kind, length, rest.get(1..)?))
}

/// The number with which a program in a session would have left.
fn done(text: &str) -> Option<i32> {
    text.parse::<u8>().ok().map(i32::from)
}

fn raised(text: &str) -> Raised {
    let mut lines = text.splitn(4, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (class, errno, third) = (next().to_owned(), next().parse().ok(), next());
    Raised { class, errno, starts: third == "start", threads: third.parse().unwrap_or(0), message: next().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Report {
        let mut reading = Reading::default();
        for piece in pieces {
            assert!(!reading.take(piece), "no flood");
        }
        reading.end()
    }

    #[test]
    fn a_report_is_read_as_far_as_it_makes_sense() {
        let (class, message) = ("OSError".to_owned(), "no space".to_owned());
        let raised = Raised { class, errno: Some(28), starts: false, threads: 3, message };
        let report = read(&[b"error 21\nOSError\n28\n3\nno space!image 3\nxyzbogus and more that is no record at all"]);
        assert_eq!(report.raised.map(|r| Raised { message: r.message.replace('!', ""), ..r }), Some(raised));
        assert_eq!(read(&[b"error 99999999999999999999\n"]), Report::default());
        assert_eq!(read(&[b"\xff\xff\xff"]), Report::default());
    }

    #[test]
    fn a_report_that_comes_byte_by_byte_is_the_same() {
        let whole = b"event 3\nabcimage 2\nxxerror 8\nE\n5\n2\nabdone 1\n7";
        let pieces: Vec<&[u8]> = whole.chunks(1).collect();
        let report = read(&pieces);
        assert_eq!(report, read(&[whole]));
        assert_eq!((report.events, report.done), (vec!["abc".to_owned()], Some(7)));
    }

    #[test]
    fn what_is_too_long_is_passed_over_and_what_comes_after_it_is_read() {
        let large = vec![b'x'; picture::MOST_BYTES + 1];
        let head = format!("image {}\n", large.len());
        let after = b"done 1\n1".as_slice();
        let (first, second) = large.split_at(1000);
        assert!(read(&[head.as_bytes(), &large, after]).done.is_some(), "in pieces of its own");
        assert!(read(&[&[head.as_bytes(), first].concat(), &[second, after].concat()]).done.is_some(), "across the pieces");
        assert!(read(&[&[head.as_bytes(), &large, after].concat()]).done.is_some(), "in one piece");
        assert_eq!(read(&[head.as_bytes(), &large, after]).pictures, []);
        // One that is announced and never comes keeps nothing.
        let mut reading = Reading::default();
        reading.take(format!("error {}\n", usize::MAX).as_bytes());
        assert!(!reading.take(&large) && reading.rest.is_empty() && reading.done().is_none());
    }

    #[test]
    fn every_picture_that_is_told_of_is_counted_whether_it_is_kept_or_not() {
        let picture = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01";
        let record = |bytes: &[u8]| [format!("image {}\n", bytes.len()).as_bytes(), bytes].concat();
        let large = vec![b'x'; picture::MOST_BYTES + 1];
        let pieces = [record(picture).repeat(picture::MOST + 1), record(b""), record(b"no picture"), record(&large), record(picture)];
        let report = read(&[&pieces.concat()]);
        assert_eq!((report.pictures.len(), report.told), (picture::MOST, picture::MOST + 5));
    }

    #[test]
    fn a_report_without_end_is_a_flood() {
        let mut reading = Reading::default();
        let many = b"x 0\n".repeat(1 << 18);
        let taken = (0..=FLOOD).position(|_| reading.take(&many)).unwrap() as u64;
        assert_eq!((taken, reading.rest.len()), (FLOOD / many.len() as u64, 0));
    }
}
