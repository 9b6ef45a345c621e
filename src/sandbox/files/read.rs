//! `read`: the content of the file that was judged.

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memchr_iter;
use rustix::io::{Errno, pread};

use super::column::{Bound, Skipped, cut, skip, units};
use super::content::{Content, Form, count_lines, digest, is_binary, read_whole, why_no_text};
use super::fault::{fault, missing};
use super::form::{is_notebook, is_pdf, text_of};
use super::look::single;
use super::masks::{Masked, no_form};
use super::roots::Roots;
use super::stat::Stat;
use super::stop::Stop;
use crate::filter::masked::{REACH, Secret, secrets_in, within};
use crate::gate::Opened;
use crate::gate::{Permit, Terms};
use crate::model::{Bytes, Code, Encoding, Failure, Kind, ReadFile, Refusal, Target};
use toolgate_page::picture;

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
        let opened = single(opened)?;
        let file = regular(&opened)?;
        let failed = |errno| fault(errno, &opened.target, "read");
        let seen = Stat::of(file).map_err(failed)?;
        let mut part = Err(None);
        if is_partial(&action) && seen.size > STREAM_ABOVE && !is_notebook(opened.path()) {
            let mut beginning = [0; 8];
            let length = fill(file, &mut beginning, 0).map_err(failed)?;
            if action.encoding == Encoding::Base64 || !is_pdf(beginning.get(..length).unwrap_or_default()) {
                part = self.read_part(file, &seen, &opened, &action, &terms, stop).map_err(Some);
            }
        }
        match part {
            // The lines of a text in another encoding are found in the whole.
            Err(Some(failure)) if failure.0.code == Code::NotText => {
                self.read_all(file, &seen, &opened, &action, &terms).map_err(|_| failure)
            }
            Err(None) => self.read_all(file, &seen, &opened, &action, &terms),
            Err(Some(failure)) => Err(failure),
            Ok(reading) => Ok(reading),
        }
    }

    /// Reads a whole file, and shows of its text or bytes what the action asks for.
    fn read_all(&self, file: &OwnedFd, seen: &Stat, opened: &Opened, action: &ReadFile, terms: &Terms) -> Result<Reading, Failure> {
        let target = &opened.target;
        let bytes = read_whole(file, seen.size, terms.max_file_size).map_err(|errno| fault(errno, target, "read"))?;
        let bytes = bytes.ok_or_else(|| too_large(target, terms.max_file_size))?;
        let mut reading = Reading {
            size: bytes.len() as u64,
            sha256: Some(digest(&bytes)),
            lines: Some(count_lines(&bytes)),
            ..Reading::new(target, seen, action)
        };
        let is_text = action.encoding == Encoding::Utf8;
        if is_text && is_pdf(&bytes) {
            return Ok(Reading { content: Content::Pdf(bytes), form: Form::Pdf, ..reading });
        }
        let picture = if is_text && !is_partial(action) { picture(&bytes) } else { None };
        let hides = terms.manifest.filters.hides_secrets();
        if hides && (!is_text || picture.is_some()) {
            // A secret that the strings of JSON hold in two parts is one in the cells of a notebook.
            let cells = text_of(opened.path(), &bytes).filter(|(_, form)| *form == Form::Notebook);
            let in_cells = cells.map(|(text, _)| secrets_in(text.as_bytes())).unwrap_or_default();
            let names: Vec<_> = self.known.names(&bytes).into_iter().chain(in_cells.iter().map(|secret| secret.name)).collect();
            if !names.is_empty() {
                return Err(no_form(target, &names));
            }
        }
        reading.masked = hides.then(Vec::new);
        if let Some(mime_type) = picture {
            if reading.size > PICTURE.0 {
                let why = format!("`{target}` is a picture of {}, and {PICTURE} are the most that is shown", Bytes(reading.size));
                let hint = "make a smaller one of it, or read it with encoding `base64` in parts, with `offset` and `limit`";
                return Err(Failure::new(Code::FileTooLarge, why).hint(hint));
            }
            return Ok(Reading { content: Content::Image { data: bytes, mime_type }, ..reading });
        }
        if is_text && let Some((text, form)) = text_of(opened.path(), &bytes) {
            return Reading { form, ..reading }.with_text(text, action, terms);
        }
        if is_text && is_binary(&bytes) {
            return Err(no_text(target, &bytes));
        }
        let secrets = if hides && is_text { self.known.secrets(&bytes) } else { Vec::new() };
        reading.of_content(bytes, &secrets, action, terms)
    }

    /// Reads some lines of a large file, masked by what stands within [`REACH`] of them.
    fn read_part(
        &self,
        file: &OwnedFd,
        seen: &Stat,
        opened: &Opened,
        action: &ReadFile,
        terms: &Terms,
        stop: &Stop,
    ) -> Result<Reading, Failure> {
        let target = &opened.target;
        let window = stream(file, seen.size, target, action, terms, stop)?;
        let mut reading = Reading::new(target, seen, action);
        if !terms.manifest.filters.hides_secrets() {
            return reading.show(window, &[], action, terms);
        }
        reading.masked = Some(Vec::new());
        let (around, part) = window.with_surroundings(file).map_err(|errno| fault(errno, target, "read"))?;
        if action.encoding == Encoding::Utf8 {
            return reading.show(window, &within(&self.known.secrets(&around), part), action, terms);
        }
        let names = self.known.names(&around);
        if names.is_empty() { reading.show(window, &[], action, terms) } else { Err(no_form(target, &names)) }
    }
}

/// Whether a part of a file is asked for.
const fn is_partial(action: &ReadFile) -> bool {
    action.offset > 1 || action.limit.is_some() || action.column > 1
}

impl Reading {
    /// The facts of a file, before anything of it is shown.
    fn new(target: &Target, seen: &Stat, action: &ReadFile) -> Self {
        Self {
            target: target.clone(),
            content: Content::Text(String::new()),
            size: seen.size,
            modified_ns: seen.identity.mtime_ns,
            sha256: None,
            lines: None,
            first: action.offset,
            shown: 0,
            next: None,
            next_column: None,
            masked: None,
            form: Form::Text,
        }
    }

    /// Shows of a text that was made of the file what the action asks for.
    ///
    /// # Errors
    /// `argument_invalid` (an offset or a column past the end).
    pub fn with_text(mut self, text: String, action: &ReadFile, terms: &Terms) -> Result<Self, Failure> {
        self.lines = Some(count_lines(text.as_bytes()));
        let hides = terms.manifest.filters.hides_secrets();
        self.masked = hides.then(Vec::new);
        let secrets = if hides { secrets_in(text.as_bytes()) } else { Vec::new() };
        self.of_content(text.into_bytes(), &secrets, action, terms)
    }

    /// Shows of a whole content what the action asks for.
    fn of_content(mut self, content: Vec<u8>, secrets: &[Secret], action: &ReadFile, terms: &Terms) -> Result<Self, Failure> {
        let window = if is_partial(action) {
            let mut start = Start::new(&self.target, action);
            start.find(&content)?;
            let rest = usize::try_from(start.at).ok().and_then(|at| content.get(at..)).unwrap_or_default();
            start.window(rest, terms)?
        } else {
            Window { bytes: content, start: 1, at: 0, more: false }
        };
        if !secrets.is_empty() {
            // The digest of a content that is known but for a short secret would tell the secret.
            self.sha256 = None;
        }
        let at = usize::try_from(window.at).unwrap_or(usize::MAX);
        let secrets = within(secrets, at..at + window.bytes.len());
        self.show(window, &secrets, action, terms)
    }

    /// Shows a window as far as an answer holds it, with masks in the place of its secrets.
    fn show(mut self, window: Window, secrets: &[Secret], action: &ReadFile, terms: &Terms) -> Result<Self, Failure> {
        let Window { bytes, start, more, .. } = window;
        let Masked { mut bytes, masks } = Masked::new(bytes, secrets);
        let is_text = action.encoding == Encoding::Utf8;
        let bound = Bound {
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
        let end = cut(&bytes, bound, masks.iter().map(|mask| &mask.at));
        let shown = bytes.get(..end).unwrap_or_default();
        self.shown = count_lines(shown);
        let shown_masks = || masks.iter().filter(|mask| mask.at.start < end);
        if let Some(masked) = &mut self.masked {
            masked.extend(shown_masks().map(|mask| mask.name));
        }
        if (end < bytes.len() || more) && !shown.ends_with(b"\n") {
            // An answer ends inside a line where not even its first line fits.
            let hidden: u64 = shown_masks().map(|mask| units(&mask.hidden, is_text)).sum();
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
        Ok(self)
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

/// The content of the judged regular file.
///
/// # Errors
/// `file_too_large` above `most`, and as [`regular`].
pub(in crate::sandbox) fn read_judged(opened: &Opened, most: Bytes) -> Result<Vec<u8>, Failure> {
    let target = &opened.target;
    let bytes = read_whole(regular(opened)?, opened.fact.size, most).map_err(|errno| fault(errno, target, "read"))?;
    bytes.ok_or_else(|| too_large(target, most))
}

pub(super) fn too_large(target: &Target, most: Bytes) -> Failure {
    let refusal = Refusal::new(Code::FileTooLarge, format!("`{target}` is larger than {most}"));
    Failure(refusal.rule("files.max_file_size"))
}

/// Bytes of a content from the asked line and column on.
struct Window {
    bytes: Vec<u8>,
    /// The line that they begin in, from 1.
    start: u64,
    /// Where in the content they begin.
    at: u64,
    /// The content goes on after them.
    more: bool,
}

/// Bytes that are kept for the number before each line.
const PREFIX: usize = 8;

impl Window {
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

/// The place where the asked line and column begin, looked for in a content that comes in pieces.
struct Start<'a> {
    target: &'a Target,
    action: &'a ReadFile,
    /// Bytes before it, as far as was looked.
    at: u64,
    /// The line that was reached, from 1.
    line: u64,
    /// Columns of the asked line that are still to be skipped.
    columns: u64,
}

impl<'a> Start<'a> {
    fn new(target: &'a Target, action: &'a ReadFile) -> Self {
        Self { target, action, at: 0, line: 1, columns: action.column - 1 }
    }

    /// Looks through the next piece, and says whether the place is in it.
    fn find(&mut self, piece: &[u8]) -> Result<bool, Failure> {
        let wanted = usize::try_from(self.action.offset.saturating_sub(self.line)).unwrap_or(usize::MAX);
        let mut from = 0;
        for end in memchr_iter(b'\n', piece).take(wanted) {
            self.line += 1;
            from = end + 1;
        }
        let rest = if self.line < self.action.offset { &[] } else { piece.get(from..).unwrap_or_default() };
        match skip(rest, &mut self.columns, self.action.encoding == Encoding::Utf8) {
            Skipped::To(at) => self.at += (from + at) as u64,
            Skipped::PastEnd => return Err(past_line(self.target, self.action)),
            Skipped::Further => {
                self.at += piece.len() as u64;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The window that begins here: as many lines as are asked for, and little more than an answer holds. `rest`: the content from here on, or a part
    /// of it that is longer than that.
    fn window(self, rest: &[u8], terms: &Terms) -> Result<Window, Failure> {
        if rest.is_empty() && self.action.column > 1 && self.line == self.action.offset {
            return Err(past_line(self.target, self.action));
        }
        let last = self.action.limit.and_then(|limit| memchr_iter(b'\n', rest).nth(usize::try_from(limit).ok()?.checked_sub(1)?));
        let end = last.map_or(rest.len(), |last| last + 1).min(longest(terms));
        Ok(Window { bytes: rest.get(..end).unwrap_or_default().to_vec(), start: self.line, at: self.at, more: end < rest.len() })
    }
}

/// Bytes of a window: a character more than an answer holds.
fn longest(terms: &Terms) -> usize {
    terms.max_answer.as_usize().saturating_add(5)
}

/// Reads a window of lines without what is before and after it in memory.
fn stream(file: impl AsFd, size: u64, target: &Target, action: &ReadFile, terms: &Terms, stop: &Stop) -> Result<Window, Failure> {
    let read = |buffer: &mut [u8], at| fill(&file, buffer, at).map_err(|errno| fault(errno, target, "read"));
    let (mut start, mut buffer, mut at) = (Start::new(target, action), vec![0u8; 256 * 1024], 0u64);
    loop {
        stop.check()?;
        if stop.is_late() {
            let failure = Failure::new(Code::Timeout, format!("the time was up before line {} of `{target}` was found", action.offset));
            return Err(failure.hint("use search_files to find the place"));
        }
        let count = read(&mut buffer, at)?;
        let piece = buffer.get(..count).unwrap_or_default();
        if at == 0 && action.encoding == Encoding::Utf8 && is_binary(piece) {
            return Err(no_text(target, piece));
        }
        at += count as u64;
        if piece.is_empty() || start.find(piece)? {
            break;
        }
    }
    let left = usize::try_from(size.saturating_sub(start.at)).unwrap_or(usize::MAX);
    let mut rest = vec![0; left.min(longest(terms).saturating_add(1))];
    let count = read(&mut rest, start.at)?;
    start.window(rest.get(..count).unwrap_or_default(), terms)
}

fn no_text(target: &Target, bytes: &[u8]) -> Failure {
    let why = why_no_text(bytes).unwrap_or_else(|| "it is not UTF-8".to_owned());
    Failure::new(Code::NotText, format!("`{target}` is no text that can be read: {why}")).hint("read it with encoding `base64`")
}

/// The largest picture that comes back as an image; it does not count against `max_answer`, which is of texts.
const PICTURE: Bytes = Bytes::mib(4);
/// Files above this size are not read whole for a few of their lines.
const STREAM_ABOVE: u64 = 1 << 20;
