//! The coding of a response body, undone under caps: on the bytes it gives, and on how many they are for each byte on the wire.

use std::io::Read;

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use crate::model::{Bytes, Code, Failure};

/// How a body is written on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
    Deflate,
}

impl Coding {
    /// Reads the value of `Content-Encoding`.
    ///
    /// # Errors
    /// `fetch_failed` for more than one coding (each layer multiplies) and for one that was not asked for.
    pub(super) fn parse(codings: &str) -> Result<Self, Failure> {
        let lower = codings.to_ascii_lowercase();
        let mut listed = lower.split(',').map(str::trim).filter(|coding| !coding.is_empty() && *coding != "identity");
        match (listed.next(), listed.next()) {
            (None, _) => Ok(Self::Identity),
            (Some("gzip" | "x-gzip"), None) => Ok(Self::Gzip),
            (Some("deflate"), None) => Ok(Self::Deflate),
            (Some(_), Some(_)) => Err(broken("the response is compressed more than once")),
            (Some(_), None) => Err(broken("the response is compressed in a way that was not asked for")),
        }
    }

    /// Bytes on the wire after which nothing more is read for a body of at most `limit` bytes. Compressed bytes that decode to nothing (empty
    /// members) are bounded too.
    pub(super) const fn wire_limit(self, limit: Bytes) -> u64 {
        match self {
            Self::Identity => limit.0,
            Self::Gzip | Self::Deflate => limit.0.saturating_mul(2).saturating_add(1 << 20),
        }
    }

    /// The body, and whether it is cut at `limit` bytes. `wire`: its bytes, from the first; `is_whole`: to the last.
    ///
    /// # Errors
    /// `fetch_failed` for broken data, `response_too_large` for a bomb.
    pub(super) fn decode(self, wire: Vec<u8>, is_whole: bool, limit: Bytes) -> Result<(Vec<u8>, bool), Failure> {
        let (limit, mut rest) = (limit.as_usize(), wire.as_slice());
        let mut bytes = Vec::new();
        let believed = |wire: usize| wire.saturating_mul(RATIO).max(FREE);
        // One byte more tells a body that is too long from one that just fits.
        let most = limit.min(believed(wire.len())) as u64 + 1;
        let decoded = match self {
            Self::Identity => {
                bytes = wire;
                let is_cut = !is_whole || bytes.len() > limit;
                bytes.truncate(limit);
                return Ok((bytes, is_cut));
            }
            _ if wire.is_empty() => Ok(0),
            Self::Gzip => MultiGzDecoder::new(&mut rest).take(most).read_to_end(&mut bytes),
            Self::Deflate if is_zlib(&wire) => ZlibDecoder::new(&mut rest).take(most).read_to_end(&mut bytes),
            Self::Deflate => DeflateDecoder::new(&mut rest).take(most).read_to_end(&mut bytes),
        };
        let is_cut = bytes.len() > limit || !is_whole;
        if bytes.len() > believed(wire.len() - rest.len()) || (bytes.is_empty() && !is_whole) {
            return Err(Failure::new(
                Code::ResponseTooLarge,
                "the response unpacks to more than a hundred times its size (a decompression bomb)",
            ));
        }
        if decoded.is_err() && !is_cut {
            return Err(broken("the response's compressed body is broken"));
        }
        bytes.truncate(limit);
        Ok((bytes, is_cut))
    }
}

/// Whether `deflate` is zlib (RFC 1950, section 2.2: method 8, and the first two bytes are a multiple of 31) and not the bare stream (RFC 1951)
/// that some servers send.
fn is_zlib(wire: &[u8]) -> bool {
    matches!(wire, [a, b, ..] if a & 0x0f == 8 && u16::from_be_bytes([*a, *b]) % 31 == 0)
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
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn decode(coding: &str, limit: Bytes, wire: &[u8]) -> Result<(Vec<u8>, bool), Code> {
        let coding = Coding::parse(coding).map_err(|failure| failure.0.code)?;
        let most = usize::try_from(coding.wire_limit(limit)).unwrap().min(wire.len());
        coding.decode(wire[..most].to_vec(), most == wire.len(), limit).map_err(|failure| failure.0.code)
    }

    #[test]
    fn every_coding_we_ask_for_gives_the_text_back() {
        let text = b"one page of text, one page of text";
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        let mut bare = DeflateEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(text).unwrap();
        bare.write_all(text).unwrap();
        let wires = [("", text.to_vec()), ("gzip", gzip(text)), ("deflate", zlib.finish().unwrap()), ("Deflate", bare.finish().unwrap())];
        for (coding, wire) in wires {
            assert_eq!(decode(coding, Bytes::kib(1), &wire), Ok((text.to_vec(), false)), "{coding}");
            assert_eq!(decode(coding, Bytes::kib(1), b""), Ok((Vec::new(), false)), "{coding}");
        }
    }

    #[test]
    fn a_body_over_the_limit_is_cut_exactly_there() {
        for coding in ["", "gzip"] {
            let wire = if coding.is_empty() { vec![b'a'; 5000] } else { gzip(&[b'a'; 5000]) };
            assert_eq!(decode(coding, Bytes(4096), &wire), Ok((vec![b'a'; 4096], true)));
            assert_eq!(decode(coding, Bytes(5000), &wire), Ok((vec![b'a'; 5000], false)));
        }
    }

    #[test]
    fn a_bomb_ends_at_a_hundredfold_and_not_at_its_full_size() {
        assert_eq!(decode("gzip", Bytes::mib(200), &gzip(&vec![0; 50 << 20])), Err(Code::ResponseTooLarge));
        let empty_members: Vec<u8> = gzip(b"").repeat(200_000);
        assert_eq!(decode("gzip", Bytes::kib(1), &empty_members), Err(Code::ResponseTooLarge));
    }

    #[test]
    fn broken_double_and_unknown_codings_are_refused() {
        let wire = gzip(b"text");
        for coding in ["gzip, gzip", "gzip,deflate", "br", "zstd", "gzip, zstd", "compress"] {
            assert_eq!(decode(coding, Bytes::kib(1), &wire), Err(Code::FetchFailed), "{coding}");
        }
        let half = wire.split_at(wire.len() / 2).0.to_vec();
        assert_eq!(decode("gzip", Bytes::kib(1), &half), Err(Code::FetchFailed));
        assert_eq!(decode("gzip", Bytes::kib(1), b"no gzip at all"), Err(Code::FetchFailed));
    }
}
