//! `read`: the content of the file that was judged.

use std::ops::Range;
use std::os::fd::AsFd;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::io::{Errno, pread};

use super::content::{Whole, count_lines, picture, read_whole, why_no_text};
use super::fault::{fault, missing};
use super::masks::no_form;
use super::roots::Roots;
use super::seen::Seen;
use super::stop::Stop;
use crate::filter::masked::{BEGINNING, Before, REACH, Secret, last_frame, secrets_in_any_encoding, with_masks, within};
use crate::gate::{Permit, Terms};
use crate::model::{Bytes, Code, Encoding, Failure, Kind, Opened, ReadFile, Refusal, Target};

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The file.
    pub target: Target,
    /// The content, or the asked lines of it.
    pub content: Content,
    /// Size of the whole file in bytes.
    pub size: u64,
    /// Nanoseconds since 1970 of its last change.
    pub modified_ns: i128,
    /// Digest of the whole file; only where the whole file was read, and nothing in it is masked.
    pub sha256: Option<String>,
    /// Lines of the whole file; only where the whole file was read.
    pub lines: Option<u64>,
    /// First line shown, from 1.
    pub first: u64,
    /// Lines shown, a line cut inside counted.
    pub shown: u64,
    /// The offset to go on with, where there is more.
    pub next: Option<u64>,
    /// Whether the last shown line was longer than the answer may be, so that its end is not shown.
    pub cut_inside: bool,
    /// Names of the secrets that are masked in what is shown; none where the manifest masks none.
    pub masked: Option<Vec<&'static str>>,
}

/// A content as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// UTF-8, every byte as it is in the file.
    Text(String),
    /// Bytes in base64.
    Base64(String),
    /// A picture.
    Image {
        /// Its bytes.
        data: Vec<u8>,
        /// Its media type.
        mime_type: &'static str,
    },
}

impl Roots {
    /// Reads the file the permit names. Whole files are capped by `max_file_size`, answers by `max_answer`: cut after a line
    /// where one fits, else inside a line between two characters.
    ///
    /// # Errors
    /// `not_found`, `is_a_directory`, `not_a_regular_file`, `file_too_large`, `not_text`, `argument_invalid` (an offset past the end),
    /// `masked_content` (base64 or a picture that would show a masked secret), `timeout` (looking for a line in a huge file), `cancelled`.
    pub fn read(&self, permit: Permit<ReadFile>, stop: &Stop) -> Result<Reading, Failure> {
        let (action, opened, terms) = permit.spend();
        let opened = opened.into_iter().next().ok_or_else(|| Failure::new(Code::Internal, "the permit holds no object"))?;
        let file = regular(&opened)?;
        let seen = Seen::of(file).map_err(|errno| fault(errno, &opened.target, "read"))?;
        let partial = action.offset > 1 || action.limit.is_some();
        let mut window = if partial && seen.size > STREAM_ABOVE {
            stream(file, &opened.target, &action, &terms, stop)?
        } else {
            match read_whole(file, seen.size, terms.max_file_size).map_err(|errno| fault(errno, &opened.target, "read"))? {
                Whole::Bytes(bytes) => Window { bytes, start: 1, whole: true, ..Window::default() },
                Whole::TooLarge => return Err(too_large(&opened.target, terms.max_file_size)),
            }
        };
        let mut reading = Reading {
            target: opened.target.clone(),
            content: Content::Text(String::new()),
            size: if window.whole { window.bytes.len() as u64 } else { seen.size },
            modified_ns: seen.identity.mtime_ns,
            sha256: window.whole.then(|| self.known.digest(&window.bytes)),
            lines: window.whole.then(|| count_lines(&window.bytes)),
            first: action.offset,
            shown: 0,
            next: None,
            cut_inside: false,
            masked: None,
        };
        let picture = if action.encoding == Encoding::Utf8 && !partial { picture(&window.bytes) } else { None };
        if terms.manifest.filters.hides_secrets() {
            let is_text = action.encoding == Encoding::Utf8 && picture.is_none();
            self.hide(file, &mut window, &mut reading, is_text, stop)?;
        }
        if let Some(mime_type) = picture {
            reading.content = Content::Image { data: window.bytes, mime_type };
            return Ok(reading);
        }
        reading.show(window, &action, &terms)?;
        Ok(reading)
    }

    /// Puts masks in the place of the secrets in a window, wherever in the file they begin and end. What is not sent as text can hold no
    /// masks, so it is not sent at all where it would show one.
    fn hide(&self, file: impl AsFd, window: &mut Window, reading: &mut Reading, is_text: bool, stop: &Stop) -> Result<(), Failure> {
        reading.masked = Some(Vec::new());
        let target = &reading.target;
        let refused = |names: Vec<&'static str>| if names.is_empty() { Ok(()) } else { Err(no_form(target, &names)) };
        let secrets = match &reading.sha256 {
            Some(sha256) if is_text => self.known.secrets(&window.bytes, sha256),
            Some(sha256) => return refused(self.known.names(&window.bytes, sha256)),
            None => {
                let (around, part, from) = window.with_surroundings(&file).map_err(|errno| fault(errno, target, "read"))?;
                let before = before(&file, around.get(..part.start).unwrap_or_default(), from, stop, target)?;
                let secrets = before.secrets_in(&around);
                if !is_text {
                    let names = secrets.into_iter().map(|secret| secret.name);
                    return refused(names.chain(secrets_in_any_encoding(&around)).collect());
                }
                within(&secrets, part)
            }
        };
        if !secrets.is_empty() {
            // The digest of a content that is known but for a short secret would tell the secret.
            reading.sha256 = None;
            window.put_masks(&secrets);
        }
        Ok(())
    }
}

impl Reading {
    fn show(&mut self, window: Window, action: &ReadFile, terms: &Terms) -> Result<(), Failure> {
        let Window { bytes, start, more, whole, masks, .. } = window;
        // Base64 is a third longer than what it holds.
        let room = match action.encoding {
            Encoding::Utf8 => terms.max_answer.as_usize(),
            Encoding::Base64 => terms.max_answer.as_usize() / 4 * 3,
        };
        let asked = lines_of(&bytes, action.offset - start, action.limit);
        if asked.is_empty() && action.offset > 1 {
            let last = if whole { count_lines(&bytes) } else { start - 1 };
            return Err(Failure::new(
                Code::ArgumentInvalid,
                format!("`{}` has {last} lines; line {} is past its end", self.target, action.offset),
            ));
        }
        let slice = bytes.get(asked.clone()).unwrap_or_default();
        let kept = cut(slice, room, action.encoding == Encoding::Utf8);
        let shown = slice.get(..kept).unwrap_or_default();
        self.shown = match self.lines {
            Some(lines) if shown.len() == bytes.len() => lines,
            _ => count_lines(shown),
        };
        self.cut_inside = kept < slice.len() && !shown.ends_with(b"\n");
        let end = asked.start + kept;
        if let Some(masked) = &mut self.masked {
            let shown = masks.iter().filter(|(at, _)| at.start < end && asked.start < at.end);
            masked.extend(shown.map(|(_, name)| name));
        }
        // The rest of a line that was cut inside has no number to go on from; the line after it has.
        let after = if self.cut_inside { lines_of(bytes.get(end..).unwrap_or_default(), 1, None).start + end } else { end };
        self.next = (more || after < bytes.len()).then_some(action.offset + self.shown);
        self.content = match action.encoding {
            Encoding::Base64 => Content::Base64(STANDARD.encode(shown)),
            Encoding::Utf8 => {
                if is_binary(&bytes) {
                    return Err(no_text(&self.target, &bytes));
                }
                if asked == (0..bytes.len()) && kept == bytes.len() {
                    Content::Text(String::from_utf8(bytes).map_err(|fault| no_text(&self.target, fault.as_bytes()))?)
                } else {
                    Content::Text(std::str::from_utf8(shown).map_err(|_| no_text(&self.target, shown))?.to_owned())
                }
            }
        };
        Ok(())
    }
}

/// The judged regular file, open for reading.
pub(super) fn regular(opened: &Opened) -> Result<&std::os::fd::OwnedFd, Failure> {
    let target = &opened.target;
    match (opened.fact.kind, &opened.object) {
        (Kind::File, Some(file)) => Ok(file),
        (Kind::Absent, _) => Err(missing(target)),
        (Kind::Directory, _) => Err(Failure::new(Code::IsADirectory, format!("`{target}` is a folder")).hint("use list_directory")),
        _ => Err(Failure::new(Code::NotARegularFile, format!("`{target}` is no regular file"))),
    }
}

pub(super) fn too_large(target: &Target, most: Bytes) -> Failure {
    let refusal = Refusal::new(Code::FileTooLarge, format!("`{target}` is larger than {most}"));
    Failure(refusal.rule("files.max_file_size"))
}

/// Bytes of a file from the beginning of line `start` on.
#[derive(Default)]
struct Window {
    bytes: Vec<u8>,
    start: u64,
    /// Where in the file they begin.
    at: u64,
    /// They are the whole file.
    whole: bool,
    /// The file goes on after them.
    more: bool,
    /// The masks among them.
    masks: Vec<(Range<usize>, &'static str)>,
}

impl Window {
    /// The same bytes with so many before and after them as decide what in them is a secret, where the window is among them, and where in the
    /// file they begin.
    fn with_surroundings(&self, file: impl AsFd) -> Result<(Vec<u8>, Range<usize>, u64), Errno> {
        // A multiple of four, so that wide characters begin where they do in the file.
        let from = self.at.saturating_sub(REACH as u64) & !3;
        let before = usize::try_from(self.at - from).unwrap_or_default();
        let mut around = vec![0; before];
        fill(&file, &mut around, from)?;
        around.extend_from_slice(&self.bytes);
        let part = before..around.len();
        let mut after = vec![0; REACH];
        let read = fill(&file, &mut after, self.at + self.bytes.len() as u64)?;
        around.extend_from_slice(after.get(..read).unwrap_or_default());
        Ok((around, part, from))
    }

    fn put_masks(&mut self, secrets: &[Secret]) {
        let (bytes, at) = with_masks(&self.bytes, secrets);
        self.masks = at.into_iter().zip(secrets.iter().map(|secret| secret.name)).collect();
        self.bytes = bytes;
    }
}

/// What stands before `from` in a file and decides what is a secret after it: the header of a table, and the beginning of a key that is longer than
/// what is around the window. `near`: the bytes between `from` and the window.
fn before(file: impl AsFd, near: &[u8], from: u64, stop: &Stop, target: &Target) -> Result<Before, Failure> {
    if from == 0 {
        return Ok(Before::default());
    }
    let part = |start: u64, length: u64| {
        let mut part = vec![0; usize::try_from(length).unwrap_or_default()];
        let read = fill(&file, &mut part, start).map_err(|errno| fault(errno, target, "read"))?;
        part.truncate(read);
        Ok::<_, Failure>(part)
    };
    let before = Before::of(&part(0, BEGINNING as u64)?);
    let mut to = if last_frame(near).is_some() { 0 } else { from };
    while to > 0 {
        stop.check()?;
        if stop.is_late() {
            let why = format!("the time was up before it was known whether a secret before this place of `{target}` reaches into it");
            return Err(Failure::new(Code::Timeout, why).hint("read the file from its beginning, or use search_files"));
        }
        let start = to.saturating_sub(PIECE);
        if let Some(at) = last_frame(&part(start, to - start)?) {
            let frame = start + at as u64;
            let begins = frame.saturating_sub(HEAD);
            return Ok(before.with_open(part(begins, (frame + HEAD).min(from) - begins)?));
        }
        // A frame may lie between two pieces.
        to = if start == 0 { 0 } else { start + OVERLAP };
    }
    Ok(before)
}

/// Bytes that are looked through at a time, and how many of them again with the next.
const PIECE: u64 = 256 * 1024;
const OVERLAP: u64 = 8;

/// What is kept around a frame: its label, and enough of what comes after it to know a key.
const HEAD: u64 = 1024;

/// Reads until the buffer is full or the file ends, and gives how much was read.
fn fill(file: impl AsFd, buffer: &mut [u8], at: u64) -> Result<usize, Errno> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match pread(&file, rest, at + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(filled)
}

/// Reads a window of lines without what is before and after it in memory.
fn stream(file: impl AsFd, target: &Target, action: &ReadFile, terms: &Terms, stop: &Stop) -> Result<Window, Failure> {
    let room = terms.max_answer.as_usize().saturating_add(4);
    let (mut buffer, mut at) = (vec![0u8; 256 * 1024], 0u64);
    let mut window = Window { start: 1, ..Window::default() };
    let mut lines = 0;
    loop {
        stop.check()?;
        if stop.is_late() {
            let failure = Failure::new(Code::Timeout, format!("the time was up before line {} of `{target}` was found", action.offset));
            return Err(failure.hint("use search_files to find the place"));
        }
        let count = match pread(&file, &mut buffer[..], at) {
            Ok(0) => return Ok(window),
            Err(Errno::INTR) => continue,
            answer => answer.map_err(|errno| fault(errno, target, "read"))?,
        };
        let mut rest = buffer.get(..count).unwrap_or_default();
        if at == 0 && action.encoding == Encoding::Utf8 && is_binary(rest) {
            return Err(no_text(target, rest));
        }
        at += count as u64;
        while window.start < action.offset {
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                rest = &[];
                break;
            };
            window.start += 1;
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        if window.bytes.is_empty() {
            window.at = at - rest.len() as u64;
        }
        for line in rest.split_inclusive(|byte| *byte == b'\n') {
            if action.limit.is_some_and(|limit| lines >= limit) || window.bytes.len() > room {
                window.more = true;
                return Ok(window);
            }
            let fitting = line.len().min(room.saturating_add(1).saturating_sub(window.bytes.len()));
            window.bytes.extend_from_slice(line.get(..fitting).unwrap_or_default());
            lines += u64::from(line.ends_with(b"\n"));
        }
    }
}

/// The bytes of `limit` lines after `skip` lines.
fn lines_of(bytes: &[u8], skip: u64, limit: Option<u64>) -> Range<usize> {
    let end_of = |from: usize, count: u64| {
        let mut at = from;
        for _ in 0..count {
            match bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n')) {
                Some(end) => at += end + 1,
                None => return bytes.len(),
            }
        }
        at
    };
    let start = end_of(0, skip);
    start..limit.map_or(bytes.len(), |limit| end_of(start, limit))
}

/// How many bytes fit into `room`: up to the end of a line where one fits, else up to the end of a character.
fn cut(bytes: &[u8], room: usize, text: bool) -> usize {
    let Some(fitting) = bytes.get(..room).filter(|_| bytes.len() > room) else { return bytes.len() };
    match fitting.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => end + 1,
        None if text => (0..=room).rev().find(|at| bytes.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80)).unwrap_or(room),
        None => room,
    }
}

fn no_text(target: &Target, bytes: &[u8]) -> Failure {
    let why = why_no_text(bytes).unwrap_or_else(|| "it is not UTF-8".to_owned());
    Failure::new(Code::NotText, format!("`{target}` is no text: {why}")).hint("read it with encoding `base64`")
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8192).any(|byte| *byte == 0)
}

/// Files above this size are not read whole for a few of their lines.
const STREAM_ABOVE: u64 = 1 << 20;
