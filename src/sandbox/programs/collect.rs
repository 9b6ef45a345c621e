//! Keeps the head and the tail of an output stream, whatever its length.

use std::collections::VecDeque;

use rustix::fs::{MemfdFlags, SealFlags};
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;

use super::outcome::NoRun;
use crate::filter::cut;

/// An output stream as far as it is kept: what is shown of it, and some more on both sides of the cut, by which secrets are known.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    /// Whether the last part did not reach the listener.
    pub(super) missed: bool,
}

impl Kept {
    /// At most `most` bytes are shown.
    pub(super) fn new(most: u64) -> Self {
        let half = usize::try_from(most / 2).unwrap_or(usize::MAX / 4);
        Self { half, head: Vec::new(), tail: VecDeque::new(), total: 0, missed: false }
    }

    /// Bytes that are kept of each end.
    fn most(&self) -> usize {
        self.half.saturating_add(cut::BEYOND)
    }

    /// Takes the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let most = self.most();
        let room = most.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(head);
        let skip = rest.len().saturating_sub(most);
        let rest = rest.get(skip..).unwrap_or_default();
        let over = (self.tail.len() + rest.len()).saturating_sub(most);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend(rest);
    }

    /// The text, and whether it was cut. What is no UTF-8 is replaced. No secret, no word of ordinary length and no character is cut through: it is
    /// left out whole.
    pub(super) fn text(self) -> (String, bool) {
        let (half, total) = (self.half, self.total);
        let is_whole = (self.head.len() + self.tail.len()) as u64 == total;
        let (mut head, mut tail) = (self.head, Vec::from(self.tail));
        if is_whole {
            head.append(&mut tail);
            if total <= (half as u64).saturating_mul(2) {
                return (String::from_utf8_lossy(&head).into_owned(), false);
            }
            tail.clone_from(&head);
        }
        let head = head.get(..cut::before(&head, half)).unwrap_or_default();
        let tail = tail.get(cut::after(&tail, tail.len().saturating_sub(half))..).unwrap_or_default();
        let left_out = total.saturating_sub((head.len() + tail.len()) as u64);
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        (format!("{head}\n[... {left_out} bytes left out ...]\n{tail}"), true)
    }
}

/// A sealed file in memory: what is in it can be read and nothing else.
///
/// # Errors
/// [`NoRun::Fault`].
pub(in crate::sandbox) fn sealed(parts: &[&[u8]]) -> Result<OwnedFd, NoRun> {
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
        kept.take(b"0123 6789abcdef hij");
        kept.take(b"Z");
        assert_eq!(kept.text(), ("0123 \n[... 10 bytes left out ...]\n hijZ".to_owned(), true));
    }

    #[test]
    fn a_character_that_is_cut_leaves_no_half_behind() {
        let mut kept = Kept::new(604);
        kept.take(format!("{}é{}é{}", "a".repeat(301), "x".repeat(50_000), "b".repeat(301)).as_bytes());
        assert_eq!(kept.text().0, format!("{}\n[... 50004 bytes left out ...]\n{}", "a".repeat(301), "b".repeat(301)));
    }

    #[test]
    fn a_secret_at_the_cut_is_on_neither_side_of_it_however_much_is_left_out_and_in_whatever_pieces_it_comes() {
        let key = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7x9zQ\n".repeat(60);
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----");
        for secret in [key, &pem] {
            for between in [0, 100, cut::BEYOND, 4 * cut::BEYOND] {
                for inside in [1, 20, secret.len() / 2, secret.len() - 1] {
                    let (before, after) = ("a ".repeat(500), " b".repeat(500));
                    let most = 2 * (before.len() + inside);
                    let text = format!("{before}{secret} {} {secret}{after}", "- ".repeat(between));
                    for piece in [7, text.len()] {
                        let mut kept = Kept::new(most as u64);
                        text.as_bytes().chunks(piece).for_each(|part| kept.take(part));
                        let (shown, is_cut) = kept.text();
                        if !is_cut {
                            continue;
                        }
                        let (head, tail) = shown.split_once("\n[... ").unwrap();
                        assert!(head.trim_end() == before.trim_end() && tail.ends_with(&after), "{inside} {between}: {shown}");
                        let half = |text: &str| ["ghp_", "MIIE", "q7R8", "x9zQ", "-----"].iter().any(|part| text.contains(part));
                        assert!(!half(head) && !half(tail), "{inside} {between}: {shown}");
                    }
                }
            }
        }
    }
}
