//! The text that a reading shows of a file whose bytes are not that text: a search looks through the same.

use std::os::fd::OwnedFd;

use super::content::{Whole, read_whole};
use super::encoding;
use super::notebook;
use crate::model::{Bytes, RelPath};

/// The cells of a notebook; none where the file is read as it is.
///
/// # Errors
/// It is larger than what is read whole, or cannot be read.
pub(super) fn by_form(file: &OwnedFd, path: &RelPath, size: u64, most: Bytes) -> Result<Option<String>, ()> {
    if !is_notebook(path) {
        return Ok(None);
    }
    match read_whole(file, size, most) {
        Ok(Whole::Bytes(bytes)) => Ok(notebook::cells(&bytes)),
        Ok(Whole::TooLarge) | Err(_) => Err(()),
    }
}

/// Whether a file is read as its cells, by its name.
pub(super) fn is_notebook(path: &RelPath) -> bool {
    let name = path.segments().last().map(String::as_str).unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("ipynb"))
}

/// The text of a file that is no UTF-8, in the encoding it is sure to have. `has_zero`: it holds a zero byte, as texts of wide characters do.
pub(super) fn in_its_encoding(file: &OwnedFd, has_zero: bool, size: u64, most: Bytes) -> Option<String> {
    if has_zero {
        let mut beginning = [0; BEGINNING];
        let length = rustix::io::pread(file, &mut beginning[..], 0).ok()?;
        if !encoding::may_be_wide(beginning.get(..length)?) {
            return None;
        }
    }
    match read_whole(file, size, most) {
        Ok(Whole::Bytes(bytes)) => encoding::decoded(&bytes).map(|decoded| decoded.text),
        Ok(Whole::TooLarge) | Err(_) => None,
    }
}

/// Bytes that tell whether the rest is worth reading; an even number.
const BEGINNING: usize = 4096;

/// Whether bytes that come in pieces are UTF-8.
#[derive(Debug, Default)]
pub(super) struct Utf8 {
    /// The beginning of a character that a piece ended in.
    open: Vec<u8>,
    broken: bool,
}

impl Utf8 {
    /// Takes in the next piece.
    pub(super) fn feed(&mut self, piece: &[u8]) {
        if self.broken {
            return;
        }
        let whole;
        let bytes = if self.open.is_empty() {
            piece
        } else {
            whole = [std::mem::take(&mut self.open).as_slice(), piece].concat();
            whole.as_slice()
        };
        match std::str::from_utf8(bytes) {
            Ok(_) => {}
            Err(fault) if fault.error_len().is_none() => self.open = bytes.get(fault.valid_up_to()..).unwrap_or_default().to_vec(),
            Err(_) => self.broken = true,
        }
    }

    /// Whether all of it was.
    pub(super) fn holds(&self) -> bool {
        !self.broken && self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_between_two_pieces_is_whole_and_one_that_is_cut_is_none() {
        let text = "Grüße aus 東京 🍎".as_bytes();
        for length in 1..=text.len() {
            let mut utf8 = Utf8::default();
            text.chunks(length).for_each(|piece| utf8.feed(piece));
            assert!(utf8.holds(), "{length}");
            utf8.feed(b"\xe9 la");
            assert!(!utf8.holds(), "{length}");
        }
        let mut utf8 = Utf8::default();
        utf8.feed(&text[..text.len() - 1]);
        assert!(!utf8.holds());
    }
}
