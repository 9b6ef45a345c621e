//! `read`: the content of the file that was judged.

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::io::{Errno, pread};

use super::column::{Room, Skipped, cut, skip, units};
use super::content::{Content, Form, Whole, count_lines, picture, read_whole, why_no_text};
use super::fault::{fault, missing};
use super::masks::no_form;
use super::roots::Roots;
use super::seen::Seen;
use super::stop::Stop;
use crate::filter::masked::{REACH, Secret, secrets_in, secrets_in_any_encoding, with_masks, within};
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
    /// The column to go on with at that offset, where the last shown line was longer than the answer may be and its end is not shown.
    pub next_column: Option<u64>,
    /// Names of the secrets that are masked in what is shown; none where the manifest masks none.
    pub masked: Option<Vec<&'static str>>,
    /// How the content came to be a text.
    pub form: Form,
}

impl Roots {
    /// Reads the file the permit names. Whole files are capped by `max_file_size`, answers by `max_answer`: cut after a line
    /// where one fits, else inside a line between two characters and not within a mask.
    ///
    /// # Errors
    /// `not_found`, `is_a_directory`, `not_a_regular_file`, `file_too_large`, `not_text`, `argument_invalid` (an offset or a column past the end),
    /// `masked_content` (base64 or a picture that would show a masked secret), `timeout` (looking for a line in a huge file), `cancelled`.
    pub fn read(&self, permit: Permit<ReadFile>, stop: &Stop) -> Result<Reading, Failure> {
        let (action, opened, terms) = permit.spend();
        let opened = opened.into_iter().next().ok_or_else(|| Failure::new(Code::Internal, "the permit holds no object"))?;
        let file = regular(&opened)?;
        let seen = Seen::of(file).map_err(|errno| fault(errno, &opened.target, "read"))?;
        if let Some(reading) = self.by_form(file, &seen, &opened, &action, &terms)? {
            return Ok(reading);
        }
        match self.read_as_it_is(file, &seen, &opened, &action, &terms, stop) {
            Err(failure) if failure.0.code == Code::NotText => self.by_encoding(file, &seen, &opened, &action, &terms)?.ok_or(failure),
            read => read,
        }
    }

    fn read_as_it_is(
        &self,
        file: &OwnedFd,
        seen: &Seen,
        opened: &Opened,
        action: &ReadFile,
        terms: &Terms,
        stop: &Stop,
    ) -> Result<Reading, Failure> {
        let partial = action.offset > 1 || action.limit.is_some() || action.column > 1;
        let mut window = if partial && seen.size > STREAM_ABOVE {
            stream(file, &opened.target, action, terms, stop)?
        } else {
            match read_whole(file, seen.size, terms.max_file_size).map_err(|errno| fault(errno, &opened.target, "read"))? {
                Whole::Bytes(bytes) => Window { bytes, start: 1, whole: true, ..Window::default() },
                Whole::TooLarge => return Err(too_large(&opened.target, terms.max_file_size)),
            }
        };
        let facts = window.whole.then(|| self.known.facts(&window.bytes));
        let mut reading = Reading {
            target: opened.target.clone(),
            content: Content::Text(String::new()),
            size: if window.whole { window.bytes.len() as u64 } else { seen.size },
            modified_ns: seen.identity.mtime_ns,
            lines: facts.as_ref().map(|facts| facts.lines),
            sha256: facts.map(|facts| facts.sha256),
            first: action.offset,
            shown: 0,
            next: None,
            next_column: None,
            masked: None,
            form: Form::Text,
        };
        let picture = if action.encoding == Encoding::Utf8 && !partial { picture(&window.bytes) } else { None };
        let is_text = action.encoding == Encoding::Utf8 && picture.is_none();
        if is_text && is_binary(&window.bytes) {
            return Err(no_text(&opened.target, &window.bytes));
        }
        let secrets = if terms.manifest.filters.hides_secrets() {
            reading.masked = Some(Vec::new());
            self.secrets_of(file, &window, &reading, is_text)?
        } else {
            Vec::new()
        };
        if let Some(mime_type) = picture {
            if reading.size > PICTURE.0 {
                let why = format!("`{}` is a picture of {}, and {PICTURE} are the most that is shown", opened.target, Bytes(reading.size));
                let hint = "make a smaller one of it, or read it with encoding `base64` in parts, with `offset` and `limit`";
                return Err(Failure::new(Code::FileTooLarge, why).hint(hint));
            }
            reading.content = Content::Image { data: window.bytes, mime_type };
            return Ok(reading);
        }
        reading.take(&mut window, action, &secrets)?;
        reading.show(window, action, terms)?;
        Ok(reading)
    }

    /// The secrets in a window, wherever in the file they begin and end. What is not sent as text can hold no masks, so it is not sent at all where
    /// it would show one.
    fn secrets_of(&self, file: impl AsFd, window: &Window, reading: &Reading, is_text: bool) -> Result<Vec<Secret>, Failure> {
        let target = &reading.target;
        let refused = |names: Vec<&'static str>| if names.is_empty() { Ok(Vec::new()) } else { Err(no_form(target, &names)) };
        match &reading.sha256 {
            Some(sha256) if is_text => Ok(self.known.secrets(&window.bytes, sha256)),
            Some(sha256) => refused(self.known.names(&window.bytes, sha256)),
            None => {
                let (around, part) = window.with_surroundings(&file).map_err(|errno| fault(errno, target, "read"))?;
                let secrets = secrets_in(&around);
                if !is_text {
                    let names = secrets.into_iter().map(|secret| secret.name);
                    return refused(names.chain(secrets_in_any_encoding(&around)).collect());
                }
                Ok(within(&secrets, part))
            }
        }
    }
}

impl Reading {
    /// The facts of a whole file, before any of it is shown.
    pub(super) fn of_whole(target: &Target, seen: &Seen, size: u64, sha256: String, action: &ReadFile) -> Self {
        Self {
            target: target.clone(),
            content: Content::Text(String::new()),
            size,
            modified_ns: seen.identity.mtime_ns,
            sha256: Some(sha256),
            lines: None,
            first: action.offset,
            shown: 0,
            next: None,
            next_column: None,
            masked: None,
            form: Form::Text,
        }
    }

    /// Lets a window begin where the answer does, with masks in the place of its secrets.
    pub(super) fn take(&mut self, window: &mut Window, action: &ReadFile, secrets: &[Secret]) -> Result<(), Failure> {
        let from = window.beginning(self, action)?;
        if from > 0 {
            window.bytes.drain(..from);
            window.start = action.offset;
        }
        if !secrets.is_empty() {
            // The digest of a content that is known but for a short secret would tell the secret.
            self.sha256 = None;
            let shown = if from > 0 { within(secrets, from..from + window.bytes.len()) } else { secrets.to_vec() };
            window.put_masks(&shown, action.encoding == Encoding::Utf8);
        }
        Ok(())
    }

    pub(super) fn show(&mut self, window: Window, action: &ReadFile, terms: &Terms) -> Result<(), Failure> {
        let Window { mut bytes, start, more, masks, .. } = window;
        let is_text = action.encoding == Encoding::Utf8;
        let room = Room {
            // Base64 is a third longer than what it holds.
            bytes: if is_text { terms.max_answer.as_usize() } else { terms.max_answer.as_usize() / 4 * 3 },
            per_line: if action.line_numbers { PREFIX } else { 0 },
            is_text,
        };
        if bytes.is_empty() && action.offset > 1 {
            return Err(past_end(&self.target, self.lines.unwrap_or(start - 1), action.offset));
        }
        if more && is_text {
            // A window may end between the bytes of a character.
            let whole = std::str::from_utf8(&bytes).err().filter(|fault| fault.error_len().is_none()).map(|fault| fault.valid_up_to());
            bytes.truncate(whole.unwrap_or(bytes.len()));
        }
        if more && let Some(last) = bytes.iter().rposition(|byte| *byte == b'\n') {
            // Its last line goes on after it, also where masks made it so short that all of it fits.
            bytes.truncate(last + 1);
        }
        let asked = lines_of(&bytes, 0, action.limit).end;
        let slice = bytes.get(..asked).unwrap_or_default();
        let end = cut(slice, room, masks.iter().map(|mask| &mask.at));
        let shown = slice.get(..end).unwrap_or_default();
        self.shown = match self.lines {
            Some(lines) if action.offset == 1 && action.column == 1 && end == bytes.len() => lines,
            _ => count_lines(shown),
        };
        let shown_masks = || masks.iter().filter(|mask| mask.at.start < end);
        if let Some(masked) = &mut self.masked {
            masked.extend(shown_masks().map(|mask| mask.name));
        }
        if (end < slice.len() || more) && !shown.ends_with(b"\n") {
            // An answer ends inside a line where not even its first line fits.
            let hidden: u64 = shown_masks().map(|mask| mask.hides).sum();
            let masks: u64 = shown_masks().map(|mask| mask.at.len() as u64).sum();
            self.next_column = Some(action.column + units(shown, is_text) + hidden - masks);
            self.next = Some(action.offset);
        } else {
            self.next = (more || end < bytes.len()).then_some(action.offset + self.shown);
        }
        self.content = if !is_text {
            Content::Base64(STANDARD.encode(shown))
        } else if end == bytes.len() {
            Content::Text(String::from_utf8(bytes).map_err(|fault| no_text(&self.target, fault.as_bytes()))?)
        } else {
            Content::Text(std::str::from_utf8(shown).map_err(|_| no_text(&self.target, shown))?.to_owned())
        };
        Ok(())
    }
}

fn past_end(target: &Target, last: u64, line: u64) -> Failure {
    Failure::new(Code::ArgumentInvalid, format!("`{target}` has {last} lines; line {line} is past its end"))
}

fn past_line(target: &Target, action: &ReadFile) -> Failure {
    let (line, column) = (action.offset, action.column);
    Failure::new(Code::ArgumentInvalid, format!("line {line} of `{target}` ends before column {column}"))
}

/// The judged regular file, open for reading.
pub(super) fn regular(opened: &Opened) -> Result<&OwnedFd, Failure> {
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
pub(super) struct Window {
    bytes: Vec<u8>,
    start: u64,
    /// Where in the file they begin.
    at: u64,
    /// They are the whole file.
    whole: bool,
    /// The file goes on after them.
    more: bool,
    /// The masks among them.
    masks: Vec<Mask>,
}

/// A mask in a window.
struct Mask {
    name: &'static str,
    at: Range<usize>,
    /// How many columns what it hides fills.
    hides: u64,
}

/// Bytes that are kept for the number before each line.
const PREFIX: usize = 8;

impl Window {
    /// A whole text.
    pub(super) fn of_text(text: String) -> Self {
        Self { bytes: text.into_bytes(), start: 1, whole: true, ..Self::default() }
    }

    /// The same bytes with so many before and after them as decide what in them is a secret, and where the window is among
    /// them.
    fn with_surroundings(&self, file: impl AsFd) -> Result<(Vec<u8>, Range<usize>), Errno> {
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
        Ok((around, part))
    }

    /// Where in a whole file the asked line and column begin. A part of a file was read from there on.
    fn beginning(&self, reading: &Reading, action: &ReadFile) -> Result<usize, Failure> {
        if !self.whole {
            return Ok(0);
        }
        let line = lines_of(&self.bytes, action.offset - 1, None).start;
        if line == self.bytes.len() && action.offset > 1 {
            return Err(past_end(&reading.target, reading.lines.unwrap_or_default(), action.offset));
        }
        if action.column == 1 {
            return Ok(line);
        }
        let mut left = action.column - 1;
        match skip(self.bytes.get(line..).unwrap_or_default(), &mut left, action.encoding == Encoding::Utf8) {
            Skipped::To(at) => Ok(line + at),
            Skipped::PastEnd | Skipped::Further => Err(past_line(&reading.target, action)),
        }
    }

    fn put_masks(&mut self, secrets: &[Secret], is_text: bool) {
        let (bytes, places) = with_masks(&self.bytes, secrets);
        let mask = |(secret, at): (&Secret, Range<usize>)| {
            let hides = units(self.bytes.get(secret.at.clone()).unwrap_or_default(), is_text);
            Mask { name: secret.name, at, hides }
        };
        self.masks = secrets.iter().zip(places).map(mask).collect();
        self.bytes = bytes;
    }
}

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
    let (mut lines, mut left) = (0, Some(action.column - 1).filter(|left| *left > 0));
    loop {
        stop.check()?;
        if stop.is_late() {
            let failure = Failure::new(Code::Timeout, format!("the time was up before line {} of `{target}` was found", action.offset));
            return Err(failure.hint("use search_files to find the place"));
        }
        let count = match pread(&file, &mut buffer[..], at) {
            Ok(0) if left.is_some() && window.start == action.offset => return Err(past_line(target, action)),
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
        if let Some(skipped) = left.as_mut().filter(|_| window.start == action.offset) {
            match skip(rest, skipped, action.encoding == Encoding::Utf8) {
                Skipped::To(at) => {
                    rest = rest.get(at..).unwrap_or_default();
                    left = None;
                }
                Skipped::PastEnd => return Err(past_line(target, action)),
                Skipped::Further => rest = &[],
            }
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

fn no_text(target: &Target, bytes: &[u8]) -> Failure {
    let why = why_no_text(bytes).unwrap_or_else(|| "it is not UTF-8".to_owned());
    Failure::new(Code::NotText, format!("`{target}` is no text that can be read: {why}")).hint("read it with encoding `base64`")
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") || bytes.iter().take(8192).any(|byte| *byte == 0)
}

/// The largest picture that comes back as an image; it does not count against `max_answer`, which is of texts.
const PICTURE: Bytes = Bytes::mib(4);
/// Files above this size are not read whole for a few of their lines.
const STREAM_ABOVE: u64 = 1 << 20;
