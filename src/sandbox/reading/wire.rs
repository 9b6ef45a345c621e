//! What the server and a reader say to each other, over a socket: a job with its bytes, and its answer, page by page where it has
//! pages.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use toolgate_page::{Article, Format, Mode};

/// What is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A page in HTML or XHTML.
    Html,
    /// RSS, Atom or a JSON feed.
    Feed,
    /// A PDF file.
    Pdf,
}

/// One job, beside the bytes it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// What the bytes are.
    pub source: Source,
    /// How much of a page is wanted.
    pub mode: Mode,
    /// The form in which it is written.
    pub format: Format,
    /// `Content-Type` as sent, for its charset.
    pub content_type: Option<String>,
    /// The address that relative links start from.
    pub base: Option<String>,
}

/// What a reader answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answer {
    /// The content, or why there is none.
    pub(super) read: Result<Article, String>,
    /// It is one page of a file, and another answer follows.
    pub(super) more: bool,
}

/// In the place of an answer's length: the reader ended without one. The nursery says so.
pub(super) const ENDED: u64 = u64::MAX;
/// The same: it could not put up its walls, and has read nothing.
pub(super) const UNWALLED: u64 = u64::MAX - 1;

/// Bytes of a job's facts; of what it is about; of an answer.
pub(super) const MOST_FACTS: u32 = 64 * 1024;
pub(super) const MOST_BYTES: u64 = 256 << 20;
pub(super) const MOST_ANSWER: u64 = 128 << 20;

/// The head of a job: two lengths and its facts.
pub(super) fn head(job: &Job, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let facts = serde_json::to_vec(job)?;
    let length = u32::try_from(facts.len()).ok().filter(|length| *length <= MOST_FACTS);
    let length = length.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut head = Vec::with_capacity(facts.len() + 12);
    head.extend_from_slice(&length.to_le_bytes());
    head.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    head.extend_from_slice(&facts);
    Ok(head)
}

/// The next job; none when the server has closed its end.
pub(super) fn take(input: &mut impl Read) -> io::Result<Option<(Job, Vec<u8>)>> {
    let (mut facts, mut length) = ([0; 4], [0; 8]);
    match input.read_exact(&mut facts) {
        Err(end) if end.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    input.read_exact(&mut length)?;
    let (facts, length) = (u32::from_le_bytes(facts), u64::from_le_bytes(length));
    if facts > MOST_FACTS || length > MOST_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = Vec::new();
    input.take(u64::from(facts)).read_to_end(&mut text)?;
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((serde_json::from_slice(&text)?, bytes)))
}

/// Sends an answer.
pub(super) fn give(output: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let text = serde_json::to_vec(answer)?;
    output.write_all(&(text.len() as u64).to_le_bytes())?;
    output.write_all(&text)?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_comes_over_as_it_was_and_a_broken_one_does_not() {
        let job = Job {
            source: Source::Pdf,
            mode: Mode::Page,
            format: Format::Text,
            content_type: Some("application/pdf".to_owned()),
            base: None,
        };
        let mut sent = head(&job, b"bytes").unwrap();
        sent.extend_from_slice(b"bytes");
        assert_eq!(take(&mut sent.as_slice()).unwrap(), Some((job, b"bytes".to_vec())));
        assert_eq!(take(&mut [].as_slice()).unwrap(), None);
        sent.pop();
        assert!(take(&mut sent.as_slice()).is_err());
        let huge = [u32::MAX.to_le_bytes().as_slice(), &[0; 8]].concat();
        assert!(take(&mut huge.as_slice()).is_err());
    }
}
