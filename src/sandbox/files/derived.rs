//! Texts that are made of a file's bytes: decoded, or of another form. They are cut, numbered and masked as the text of any file; size and digest
//! stay those of the file.

use super::content::{Content, Form, Whole, count_lines, read_whole};
use super::encoding;
use super::fault::fault;
use super::form::is_notebook;
use super::masks::no_form;
use super::notebook;
use super::read::{Reading, Window, too_large};
use super::roots::Roots;
use super::seen::Seen;
use crate::filter::masked::secrets_in;
use crate::gate::Terms;
use crate::model::{Encoding, Failure, Opened, ReadFile};

impl Roots {
    /// A file that is read by its form and not as it is: a PDF file, whose bytes are given, or a notebook. None for every other. Base64 of a
    /// notebook is refused where a secret is in its cells.
    pub(super) fn by_form(
        &self,
        file: &std::os::fd::OwnedFd,
        seen: &Seen,
        opened: &Opened,
        action: &ReadFile,
        terms: &Terms,
    ) -> Result<Option<Reading>, Failure> {
        let target = &opened.target;
        let is_notebook = is_notebook(&target.path);
        let mut head = [0; PDF.len()];
        let length = rustix::io::pread(file, &mut head[..], 0).map_err(|errno| fault(errno, target, "read"))?;
        let is_pdf = length == PDF.len() && head == *PDF;
        let is_text = action.encoding == Encoding::Utf8;
        let hides = terms.manifest.filters.hides_secrets();
        if !(is_notebook && (is_text || hides) || is_pdf && is_text) {
            return Ok(None);
        }
        let bytes = match read_whole(file, seen.size, terms.max_file_size).map_err(|errno| fault(errno, target, "read"))? {
            Whole::Bytes(bytes) => bytes,
            Whole::TooLarge => return Err(too_large(target, terms.max_file_size)),
        };
        if !is_text {
            // A secret that the strings of JSON hold in two parts is one in its cells.
            let secrets = notebook::cells(&bytes).map(|text| secrets_in(text.as_bytes())).unwrap_or_default();
            let names: Vec<&'static str> = secrets.iter().map(|secret| secret.name).collect();
            return if names.is_empty() { Ok(None) } else { Err(no_form(target, &names)) };
        }
        let reading = Reading::of_whole(target, seen, bytes.len() as u64, self.known.facts(&bytes).sha256, action);
        if is_pdf {
            return Ok(Some(Reading { content: Content::Pdf(bytes), form: Form::Pdf, ..reading }));
        }
        let text = notebook::cells(&bytes);
        text.map(|text| Reading { form: Form::Notebook, ..reading }.with_text(text, action, terms)).transpose()
    }

    /// A file that is no UTF-8, read in the encoding it is sure to have. None where there is none.
    pub(super) fn by_encoding(
        &self,
        file: &std::os::fd::OwnedFd,
        seen: &Seen,
        opened: &Opened,
        action: &ReadFile,
        terms: &Terms,
    ) -> Result<Option<Reading>, Failure> {
        let whole = read_whole(file, seen.size, terms.max_file_size).map_err(|errno| fault(errno, &opened.target, "read"))?;
        let Whole::Bytes(bytes) = whole else { return Ok(None) };
        let Some(decoded) = encoding::decoded(&bytes) else { return Ok(None) };
        let form = Form::Decoded { encoding: decoded.encoding, broken: decoded.broken };
        let reading =
            Reading { form, ..Reading::of_whole(&opened.target, seen, bytes.len() as u64, self.known.facts(&bytes).sha256, action) };
        reading.with_text(decoded.text, action, terms).map(Some)
    }
}

impl Reading {
    /// Shows of a text that was made of the file what the action asks for.
    ///
    /// # Errors
    /// `argument_invalid` (an offset or a column past the end).
    pub fn with_text(mut self, text: String, action: &ReadFile, terms: &Terms) -> Result<Self, Failure> {
        self.lines = Some(count_lines(text.as_bytes()));
        let mut secrets = Vec::new();
        if terms.manifest.filters.hides_secrets() {
            // What is known of the file's bytes says nothing of this text.
            secrets = secrets_in(text.as_bytes());
            self.masked = Some(Vec::new());
        }
        let mut window = Window::of_text(text);
        self.take(&mut window, action, &secrets)?;
        self.show(window, action, terms)?;
        Ok(self)
    }
}

/// What a PDF file begins with (ISO 32000-2, section 7.5.2).
const PDF: &[u8; 5] = b"%PDF-";
