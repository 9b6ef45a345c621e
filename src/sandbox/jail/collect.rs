//! Keeps the head and the tail of an output stream, whatever its length.

use std::collections::VecDeque;

use rustix::fs::{MemfdFlags, SealFlags};
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;

use super::outcome::NoRun;

/// An output stream as far as it is kept.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Kept {
    /// Keeps at most `most` bytes.
    pub(super) fn new(most: u64) -> Self {
        let half = usize::try_from(most / 2).unwrap_or(usize::MAX / 4);
        Self { half, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    /// Takes the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(head);
        let skip = rest.len().saturating_sub(self.half);
        let rest = rest.get(skip..).unwrap_or_default();
        let over = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend(rest);
    }

    /// The text, and whether it was cut. What is no UTF-8 is replaced.
    pub(super) fn text(self) -> (String, bool) {
        let kept = (self.head.len() + self.tail.len()) as u64;
        let left_out = self.total.saturating_sub(kept);
        let tail = Vec::from(self.tail);
        if left_out == 0 {
            let mut all = self.head;
            all.extend(tail);
            return (String::from_utf8_lossy(&all).into_owned(), false);
        }
        // A character that the cut went through is left out whole.
        let start = tail.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
        let tail = String::from_utf8_lossy(tail.get(start..).unwrap_or_default()).into_owned();
        let head = String::from_utf8_lossy(&self.head);
        let head = head.trim_end_matches(char::REPLACEMENT_CHARACTER);
        (format!("{head}\n[... {left_out} bytes left out ...]\n{tail}"), true)
    }
}

/// A sealed file in memory: what is in it can be read and nothing else.
///
/// # Errors
/// [`NoRun::Fault`].
pub(super) fn sealed(parts: &[&[u8]]) -> Result<OwnedFd, NoRun> {
    let fault = |e: &dyn std::fmt::Display| NoRun::fault("making an input file", e);
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not know the flag that also takes the right to execute away.
    let fd = rustix::fs::memfd_create("input", flags | MemfdFlags::NOEXEC_SEAL)
        .or_else(|_| rustix::fs::memfd_create("input", flags))
        .map_err(|e| fault(&e))?;
    let mut file = std::fs::File::from(fd);
    for part in parts {
        file.write_all(part).map_err(|e| fault(&e))?;
    }
    file.rewind().map_err(|e| fault(&e))?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE).map_err(|e| fault(&e))?;
    Ok(OwnedFd::from(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_kept_whole_in_whatever_pieces_it_comes() {
        let mut kept = Kept::new(10);
        for piece in ["abc", "", "defg", "hij"] {
            kept.take(piece.as_bytes());
        }
        assert_eq!(kept.text(), ("abcdefghij".to_owned(), false));
    }

    #[test]
    fn head_and_tail_remain_of_what_is_too_long() {
        let mut kept = Kept::new(10);
        kept.take(b"0123456789abcdefghij");
        kept.take(b"Z");
        assert_eq!(kept.text(), ("01234\n[... 11 bytes left out ...]\nghijZ".to_owned(), true));
    }

    #[test]
    fn a_character_that_is_cut_leaves_no_half_behind() {
        let mut kept = Kept::new(4);
        kept.take("aéxxxxxé".as_bytes());
        assert_eq!(kept.text().0, "a\n[... 6 bytes left out ...]\né");
    }
}
