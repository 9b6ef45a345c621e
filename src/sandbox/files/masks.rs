//! Secrets of files where the manifest masks them: large files are masked as they are read.

use std::io::{self, Read};
use std::ops::{Range, RangeInclusive};

use super::content::line_ends;
use super::known::Known;
use crate::filter::masked::{REACH, with_masks, within};
use crate::model::{Code, Failure, Target};

/// The answer where a form was asked for that no mask can stand in.
pub(super) fn no_form(target: &Target, names: &[&'static str]) -> Failure {
    let why = format!("`{target}` holds secrets ({}), which are masked in text and would be shown in this form", held(names));
    let failure = Failure::new(Code::MaskedContent, why).hint("where the file is UTF-8, read it as text, with any `offset` and `limit`");
    Failure(failure.0.rule("filters.secrets"))
}

/// The names of secrets, each once.
pub(super) fn held(names: &[&'static str]) -> String {
    let mut names: Vec<&str> = names.to_vec();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// A secret that was masked in a file, by the lines it is on.
#[derive(Debug)]
pub(super) struct MaskedLines {
    pub name: &'static str,
    pub lines: RangeInclusive<u64>,
}

/// The bytes of a reader with masks in the place of secrets. Each piece is looked through with what is around it, so that the size of a
/// file does not matter and no secret lies between two pieces. Of a binary content there is one zero byte, which says what it is.
#[derive(Debug)]
pub(super) struct MaskedReader<'a, R> {
    inner: R,
    known: &'a Known,
    /// Bytes as they were read; the first `passed` were handed out and are kept as the beginning of what follows.
    raw: Vec<u8>,
    passed: usize,
    /// Masked bytes to hand out, from `at` on.
    ready: Vec<u8>,
    at: usize,
    ended: bool,
    line: u64,
    masked: Vec<MaskedLines>,
    is_binary: bool,
    /// Bytes of a piece, and of what is looked through around it.
    piece: usize,
    reach: usize,
}

/// Bytes of a piece: some times [`REACH`], as what is around a piece is looked through again with the next one.
const PIECE: usize = 8 << 20;

/// Bytes in which a zero byte tells that a file is binary, which ends a search: nothing after them is read or looked through.
const BEGINNING: usize = 64 * 1024;

/// What is kept of the beginning of a secret that is longer than [`REACH`], so that what follows is known to be in it.
const HEAD: usize = 1024;

impl<'a, R: Read> MaskedReader<'a, R> {
    pub(super) fn new(inner: R, known: &'a Known) -> Self {
        Self {
            inner,
            known,
            raw: Vec::new(),
            passed: 0,
            ready: Vec::new(),
            at: 0,
            ended: false,
            line: 1,
            masked: Vec::new(),
            is_binary: false,
            piece: PIECE,
            reach: REACH,
        }
    }

    /// The secrets that were met.
    pub(super) fn into_masked(self) -> Vec<MaskedLines> {
        self.masked
    }

    /// Makes the next piece ready; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        if self.raw.is_empty() {
            self.fill(BEGINNING)?;
            self.is_binary = self.raw.contains(&0);
            if self.is_binary {
                (self.ready, self.at) = (vec![0], 0);
                return Ok(true);
            }
        } else if self.is_binary {
            return Ok(false);
        }
        self.fill(self.passed + self.piece + self.reach)?;
        if self.ended && self.passed == self.raw.len() {
            return Ok(false);
        }
        let secrets = self.known.secrets_of_piece(&self.raw);
        if self.ended && secrets.is_empty() {
            // Handed out as it is, without a copy; nothing comes after it.
            (self.ready, self.at) = (std::mem::take(&mut self.raw), self.passed);
            self.passed = 0;
            return Ok(true);
        }
        let mut cut = if self.ended { self.raw.len() } else { self.raw.len() - self.reach };
        // A piece ends before a secret, not within it.
        if let Some(secret) = secrets.iter().find(|secret| secret.at.start > self.passed && secret.at.start < cut && cut < secret.at.end) {
            cut = secret.at.start;
        }
        let kept = cut.saturating_sub(self.reach);
        // The name before a secret decides about it as its beginning does.
        let open = secrets.iter().find(|secret| secret.at.start < kept + HEAD && cut < secret.at.end);
        let head = open.map_or(0..0, |secret| secret.at.start.saturating_sub(HEAD)..(secret.at.start + HEAD).min(kept));
        let piece = self.raw.get(self.passed..cut).unwrap_or_default();
        let secrets = within(&secrets, self.passed..cut);
        self.ready = with_masks(piece, &secrets).0;
        self.at = 0;
        let mut from = 0;
        let ends = |part: Range<usize>| line_ends(piece.get(part).unwrap_or_default());
        for secret in &secrets {
            let first = self.line + ends(from..secret.at.start);
            self.line = first + ends(secret.at.clone());
            self.masked.push(MaskedLines { name: secret.name, lines: first..=self.line });
            from = secret.at.end;
        }
        self.line += ends(from..piece.len());
        self.raw.drain(head.end..kept);
        self.raw.drain(..head.start);
        self.passed = cut - kept + head.len();
        Ok(!self.ready.is_empty())
    }

    /// Reads until so many bytes are there or the file ends.
    fn fill(&mut self, length: usize) -> io::Result<()> {
        let missing = length.saturating_sub(self.raw.len());
        if !self.ended && missing > 0 {
            self.ended = self.inner.by_ref().take(missing as u64).read_to_end(&mut self.raw)? < missing;
        }
        Ok(())
    }
}

impl<R: Read> Read for MaskedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.ready.len() && !self.advance()? {
            return Ok(0);
        }
        let count = self.ready.get(self.at..).unwrap_or_default().read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::masked::secrets_in;

    const KEY: &str = "AKIAQ7ZT3N5WXK2VPLMR";
    /// So small that a secret may be longer.
    const PIECE: usize = 64 * 1024;

    fn pem(lines: usize) -> String {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n".repeat(lines);
        format!("-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\n")
    }

    fn masked(content: &[u8]) -> (Vec<u8>, Vec<(&'static str, RangeInclusive<u64>)>) {
        let known = Known::default();
        let mut reader = MaskedReader { piece: PIECE, reach: PIECE, ..MaskedReader::new(content, &known) };
        let mut out = Vec::new();
        reader.read_to_end(&mut out).unwrap();
        (out, reader.masked.into_iter().map(|secret| (secret.name, secret.lines)).collect())
    }

    #[test]
    fn a_secret_between_two_pieces_is_masked_as_anywhere_else() {
        let pem = pem(60);
        for secret in [KEY, pem.trim_end()] {
            for before in [secret.len() - 1, secret.len() / 2, 1, 0] {
                let length = PIECE - before;
                let filler = format!("{}{}\n", "x y\n".repeat((length - 1) / 4), " ".repeat((length - 1) % 4));
                let content = format!("{filler}{secret}\n{filler}{secret}\nend\n");
                let whole = with_masks(content.as_bytes(), &secrets_in(content.as_bytes())).0;
                let (out, lines) = masked(content.as_bytes());
                assert!(out == whole, "{before} bytes before the end of the piece");
                let (first, long) = (filler.lines().count() as u64 + 1, secret.lines().count() as u64 - 1);
                let second = first + long + 1 + filler.lines().count() as u64;
                assert_eq!(lines.into_iter().map(|(_, lines)| lines).collect::<Vec<_>>(), [first..=first + long, second..=second + long]);
            }
        }
    }

    #[test]
    fn what_holds_no_secret_comes_as_it_is() {
        let content: Vec<u8> = (1..=250_u8).cycle().take(3 * PIECE + 17).collect();
        assert!(masked(&content) == (content.clone(), Vec::new()));
        assert_eq!(masked(b""), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_secret_longer_than_a_piece_and_what_is_around_it_is_masked_whole() {
        const LENGTH: usize = 5 * PIECE;
        let pem = pem(LENGTH / 65);
        let run = "q7WxTnc2V8bRyHsJ4kPz".repeat(LENGTH / 20);
        for secret in [pem.trim_end(), &format!("xoxb-{run}"), &format!("api_token = {run}")] {
            let filler = "x y\n".repeat(PIECE / 5);
            let content = format!("{filler}{secret}\n{filler}end\n");
            let (out, lines) = masked(content.as_bytes());
            let shown = String::from_utf8(out).unwrap();
            let body = |from: usize| secret.get(from..from + 8).unwrap();
            assert!((64..secret.len() - 64).step_by(101).all(|at| !shown.contains(body(at))), "{}", secret.get(..20).unwrap());
            assert_eq!(shown.lines().count(), content.lines().count());
            let first = filler.lines().count() as u64 + 1;
            let last = first + secret.lines().count() as u64 - 1;
            assert_eq!((*lines[0].1.start(), *lines[lines.len() - 1].1.end()), (first, last));
            assert!(shown.ends_with(&format!("]\n{filler}end\n")));
        }
    }

    #[test]
    fn of_a_binary_content_there_is_one_zero_byte() {
        let content = format!("{KEY}\n\0{}", "x".repeat(3 * PIECE));
        let known = Known::default();
        let mut out = Vec::new();
        MaskedReader::new(content.as_bytes(), &known).read_to_end(&mut out).unwrap();
        assert_eq!(out, b"\0");
    }
}
