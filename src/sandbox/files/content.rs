//! Contents of regular files, capped by the bytes that come and not by the size that is told.

use std::os::fd::AsFd;

use rustix::buffer::spare_capacity;
use rustix::io::{Errno, pread};
use sha2::{Digest, Sha256};

use crate::model::{Bytes, Failure};

/// How a content came to be a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// It is one.
    Text,
    /// It was decoded.
    Decoded {
        /// The encoding's name, e.g. `windows-1252`.
        encoding: &'static str,
        /// Places that are not of the encoding, each shown as U+FFFD.
        broken: usize,
    },
    /// It is the text of a PDF file.
    Pdf,
    /// It is the cells of a notebook.
    Notebook,
}

/// A content as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// UTF-8, every byte as it is in the file.
    Text(String),
    /// Bytes in base64.
    Base64(String),
    /// The bytes of a PDF file, the text of which is still to be read.
    Pdf(Vec<u8>),
    /// A picture.
    Image {
        /// Its bytes.
        data: Vec<u8>,
        /// Its media type.
        mime_type: &'static str,
    },
}

/// Reads a whole file of about `size` bytes in one buffer; none where it is larger than the cap. A file that grows, or tells no size, is read until
/// the cap is passed.
pub(super) fn read_whole(file: impl AsFd, size: u64, cap: Bytes) -> Result<Option<Vec<u8>>, Errno> {
    let cap = cap.as_usize();
    let told = usize::try_from(size).unwrap_or(usize::MAX);
    if told > cap {
        return Ok(None);
    }
    // One byte more than told shows a file that grew.
    let mut bytes = Vec::with_capacity(told.saturating_add(1));
    loop {
        let before = bytes.len();
        match pread(&file, spare_capacity(&mut bytes), before as u64) {
            Ok(0) => return Ok(Some(bytes)),
            // As large as the kernel told, and the read had room for more.
            Ok(_) if before == 0 && bytes.len() == told => return Ok(Some(bytes)),
            Ok(_) if bytes.len() > cap => return Ok(None),
            Ok(_) if bytes.len() == bytes.capacity() => bytes.reserve(64 * 1024),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// The digest of a file of any size, which is not held in memory; none where it cannot be read. `go_on` is asked before each part.
///
/// # Errors
/// What `go_on` says.
pub(super) fn digest_whole(file: impl AsFd, go_on: impl Fn() -> Result<(), Failure>) -> Result<Option<String>, Failure> {
    let (mut hash, mut part, mut at) = (Sha256::new(), vec![0u8; 1 << 20], 0u64);
    loop {
        go_on()?;
        match pread(&file, &mut part[..], at) {
            Ok(0) => return Ok(Some(data_encoding::HEXLOWER.encode(&hash.finalize()))),
            Ok(count) => {
                hash.update(part.get(..count).unwrap_or_default());
                at += count as u64;
            }
            Err(Errno::INTR) => {}
            Err(_) => return Ok(None),
        }
    }
}

/// SHA-256 in lower-case hexadecimal.
pub(super) fn digest(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}

/// Line ends, and the rest after the last as one more line.
pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    line_ends(bytes) + u64::from(bytes.last().is_some_and(|byte| *byte != b'\n'))
}

/// Line ends.
pub(super) fn line_ends(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Whether bytes are no text as they are: a mark of UTF-16, or a zero byte in their beginning.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") || bytes.iter().take(8192).any(|byte| *byte == 0)
}

/// Why bytes are no text, as a clause with the byte where it shows; nothing for text.
pub(super) fn why_no_text(bytes: &[u8]) -> Option<String> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Some("it is UTF-16".to_owned());
    }
    if let Some(at) = bytes.iter().take(8192).position(|byte| *byte == 0) {
        return Some(format!("it is binary (a NUL at byte {at})"));
    }
    std::str::from_utf8(bytes).err().map(|fault| format!("it is not UTF-8 (byte {})", fault.valid_up_to()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_an_editor_shows_them() {
        assert_eq!(["", "a", "a\n", "a\nb", "\n\n"].map(|text| count_lines(text.as_bytes())), [0, 1, 1, 2, 2]);
    }
}
