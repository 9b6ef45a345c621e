//! A response body, decoded under caps: on the wire, decoded, and the ratio of the two.

use std::io::{self, Write};

use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use crate::model::{Bytes, Code, Failure};

/// Takes the body piece by piece.
#[derive(Debug)]
pub(super) struct Decoder {
    coding: Coding,
    wire: u64,
    wire_limit: u64,
}

/// A body that was read to its end or to the limit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) bytes: Vec<u8>,
    pub(super) truncated: bool,
    pub(super) wire: u64,
}

#[derive(Debug)]
enum Coding {
    Identity(Sink),
    Gzip(Box<MultiGzDecoder<Sink>>),
    /// `deflate` whose first two bytes are still awaited: they tell zlib (RFC 1950) from the bare stream (RFC 1951) some servers send.
    Unknown(Vec<u8>, Sink),
    Zlib(Box<ZlibDecoder<Sink>>),
    Bare(Box<DeflateDecoder<Sink>>),
}

impl Decoder {
    /// A decoder for the value of `Content-Encoding`.
    ///
    /// # Errors
    /// `fetch_failed` for more than one coding (each layer multiplies) and for one that was not asked for.
    pub(super) fn for_coding(codings: &str, limit: Bytes) -> Result<Self, Failure> {
        let sink = Sink { bytes: Vec::new(), limit: limit.as_usize(), ratio_limit: FREE, stop: None };
        let lower = codings.to_ascii_lowercase();
        let mut listed = lower.split(',').map(str::trim).filter(|coding| !coding.is_empty() && *coding != "identity");
        let coding = match (listed.next(), listed.next()) {
            (None, _) => Coding::Identity(sink),
            (Some("gzip" | "x-gzip"), None) => Coding::Gzip(Box::new(MultiGzDecoder::new(sink))),
            (Some("deflate"), None) => Coding::Unknown(Vec::new(), sink),
            (Some(_), Some(_)) => return Err(broken("the response is compressed more than once")),
            (Some(_), None) => return Err(broken("the response is compressed in a way that was not asked for")),
        };
        // Compressed bytes that decode to nothing (empty members) are bounded too.
        Ok(Self { coding, wire: 0, wire_limit: limit.0.saturating_mul(2).saturating_add(1 << 20) })
    }

    /// True when nothing more is wanted.
    pub(super) fn is_full(&self) -> bool {
        self.sink().stop.is_some()
    }

    /// Takes one piece.
    ///
    /// # Errors
    /// `fetch_failed` for broken data, `response_too_large` for a bomb.
    pub(super) fn feed(&mut self, chunk: &[u8]) -> Result<(), Failure> {
        self.wire = self.wire.saturating_add(chunk.len() as u64);
        if self.wire > self.wire_limit {
            return Err(bomb());
        }
        let allowed = usize::try_from(self.wire).unwrap_or(usize::MAX).saturating_mul(RATIO).max(FREE);
        self.sink_mut().ratio_limit = allowed;
        let written = match &mut self.coding {
            Coding::Identity(sink) => {
                sink.ratio_limit = usize::MAX;
                sink.write_all(chunk)
            }
            Coding::Gzip(decoder) => decoder.write_all(chunk),
            Coding::Zlib(decoder) => decoder.write_all(chunk),
            Coding::Bare(decoder) => decoder.write_all(chunk),
            Coding::Unknown(first, _) => {
                first.extend_from_slice(chunk);
                return if first.len() < 2 { Ok(()) } else { self.choose() };
            }
        };
        self.check(written)
    }

    /// Ends the body.
    ///
    /// # Errors
    /// `fetch_failed` when the compressed stream ends early.
    pub(super) fn finish(mut self) -> Result<Read, Failure> {
        if !self.is_full() {
            let ended = match &mut self.coding {
                Coding::Gzip(decoder) if self.wire > 0 => decoder.try_finish(),
                Coding::Zlib(decoder) => decoder.try_finish(),
                Coding::Bare(decoder) => decoder.try_finish(),
                _ => Ok(()),
            };
            self.check(ended)?;
        }
        let wire = self.wire;
        let sink = std::mem::take(self.sink_mut());
        Ok(Read { truncated: sink.stop.is_some(), bytes: sink.bytes, wire })
    }

    fn choose(&mut self) -> Result<(), Failure> {
        let Coding::Unknown(first, sink) = &mut self.coding else { return Ok(()) };
        let (first, sink) = (std::mem::take(first), std::mem::take(sink));
        // RFC 1950 section 2.2: method 8, and the two bytes are a multiple of 31.
        let zlib = matches!(first.as_slice(), [a, b, ..] if a & 0x0f == 8 && u16::from_be_bytes([*a, *b]) % 31 == 0);
        self.coding = if zlib { Coding::Zlib(Box::new(ZlibDecoder::new(sink))) } else { Coding::Bare(Box::new(DeflateDecoder::new(sink))) };
        let written = match &mut self.coding {
            Coding::Zlib(decoder) => decoder.write_all(&first),
            Coding::Bare(decoder) => decoder.write_all(&first),
            _ => Ok(()),
        };
        self.check(written)
    }

    fn check(&self, written: io::Result<()>) -> Result<(), Failure> {
        match (self.sink().stop, written) {
            (Some(Stop::Ratio), _) => Err(bomb()),
            (Some(Stop::Limit), _) | (None, Ok(())) => Ok(()),
            (None, Err(_)) => Err(broken("the response's compressed body is broken")),
        }
    }

    fn sink(&self) -> &Sink {
        match &self.coding {
            Coding::Identity(sink) | Coding::Unknown(_, sink) => sink,
            Coding::Gzip(decoder) => decoder.get_ref(),
            Coding::Zlib(decoder) => decoder.get_ref(),
            Coding::Bare(decoder) => decoder.get_ref(),
        }
    }

    fn sink_mut(&mut self) -> &mut Sink {
        match &mut self.coding {
            Coding::Identity(sink) | Coding::Unknown(_, sink) => sink,
            Coding::Gzip(decoder) => decoder.get_mut(),
            Coding::Zlib(decoder) => decoder.get_mut(),
            Coding::Bare(decoder) => decoder.get_mut(),
        }
    }
}

/// Where decoded bytes go: never past its limits, so that a decoder stops in the middle of a chunk.
#[derive(Debug, Default)]
struct Sink {
    bytes: Vec<u8>,
    limit: usize,
    ratio_limit: usize,
    stop: Option<Stop>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Limit,
    Ratio,
}

impl Write for Sink {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let room = self.limit.saturating_sub(self.bytes.len());
        let (fits, rest) = piece.split_at_checked(room).unwrap_or((piece, &[]));
        self.bytes.extend_from_slice(fits);
        if !rest.is_empty() {
            self.stop = Some(Stop::Limit);
        } else if self.bytes.len() > self.ratio_limit {
            self.stop = Some(Stop::Ratio);
        }
        if self.stop.is_some() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(piece.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn bomb() -> Failure {
    Failure::new(Code::ResponseTooLarge, "the response is a decompression bomb: it grows more than a hundredfold")
}

fn broken(message: &str) -> Failure {
    Failure::new(Code::FetchFailed, message)
}

/// Decoded bytes per byte on the wire that are believed; text reaches 20, deflate's own limit is 1032.
const RATIO: usize = 100;

/// Decoded bytes below which the ratio is not looked at: small pages of repeated text are no bombs.
const FREE: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn decode(coding: &str, limit: Bytes, wire: &[u8], step: usize) -> Result<Read, Code> {
        let mut decoder = Decoder::for_coding(coding, limit).map_err(|failure| failure.0.code)?;
        for chunk in wire.chunks(step) {
            if decoder.is_full() {
                break;
            }
            decoder.feed(chunk).map_err(|failure| failure.0.code)?;
        }
        decoder.finish().map_err(|failure| failure.0.code)
    }

    #[test]
    fn every_coding_we_ask_for_gives_the_text_back_in_any_chunks() {
        let text = b"one page of text, one page of text";
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        let mut bare = DeflateEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(text).unwrap();
        bare.write_all(text).unwrap();
        let wires = [("", text.to_vec()), ("gzip", gzip(text)), ("deflate", zlib.finish().unwrap()), ("Deflate", bare.finish().unwrap())];
        for (coding, wire) in wires {
            for step in [1, 2, 7, 1000] {
                let read = decode(coding, Bytes::kib(1), &wire, step);
                assert_eq!(read, Ok(Read { bytes: text.to_vec(), truncated: false, wire: wire.len() as u64 }), "{coding} {step}");
            }
        }
    }

    #[test]
    fn a_body_over_the_limit_is_cut_exactly_there() {
        for coding in ["", "gzip"] {
            let wire = if coding.is_empty() { vec![b'a'; 5000] } else { gzip(&[b'a'; 5000]) };
            let read = decode(coding, Bytes(4096), &wire, 100).unwrap();
            assert_eq!((read.bytes.len(), read.truncated), (4096, true));
            let whole = decode(coding, Bytes(5000), &wire, 100).unwrap();
            assert_eq!((whole.bytes.len(), whole.truncated), (5000, false));
        }
    }

    #[test]
    fn a_bomb_ends_at_a_hundredfold_and_not_at_its_full_size() {
        assert_eq!(decode("gzip", Bytes::mib(200), &gzip(&vec![0; 50 << 20]), 4096), Err(Code::ResponseTooLarge));
        let empty_members: Vec<u8> = gzip(b"").repeat(200_000);
        assert_eq!(decode("gzip", Bytes::kib(1), &empty_members, 4096), Err(Code::ResponseTooLarge));
    }

    #[test]
    fn broken_double_and_unknown_codings_are_refused() {
        let wire = gzip(b"text");
        for coding in ["gzip, gzip", "gzip,deflate", "br", "zstd", "gzip, zstd", "compress"] {
            assert_eq!(decode(coding, Bytes::kib(1), &wire, 100), Err(Code::FetchFailed), "{coding}");
        }
        let half = wire.split_at(wire.len() / 2).0.to_vec();
        assert_eq!(decode("gzip", Bytes::kib(1), &half, 100), Err(Code::FetchFailed));
        assert_eq!(decode("gzip", Bytes::kib(1), b"no gzip at all", 100), Err(Code::FetchFailed));
    }
}
