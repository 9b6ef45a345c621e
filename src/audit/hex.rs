//! Digests as lower-case hexadecimal text.

use sha2::{Digest as _, Sha256};

/// A SHA-256 as 64 lower-case hexadecimal digits.
pub(crate) type Hex = [u8; 64];

/// What stands as `prev` in the first record of a chain.
pub(crate) const NONE: Hex = [b'0'; 64];

/// The SHA-256 of `bytes`.
pub(crate) fn sha256(bytes: &[u8]) -> Hex {
    encode(&Sha256::digest(bytes).into())
}

/// 32 bytes as text.
pub(crate) fn encode(bytes: &[u8; 32]) -> Hex {
    let mut out = NONE;
    for (pair, byte) in out.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
    out
}

const fn digit(four_bits: u8) -> u8 {
    if four_bits < 10 { b'0' + four_bits } else { b'a' + four_bits - 10 }
}

/// Any number of bytes as text.
pub(crate) fn long(bytes: &[u8]) -> String {
    // Not by the formatter: several are made for each call, and it takes a hundred times as long.
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(digit(byte >> 4)));
        text.push(char::from(digit(byte & 15)));
    }
    text
}

/// The digits as text.
pub(crate) fn text(hex: &Hex) -> String {
    String::from_utf8_lossy(hex).into_owned()
}

/// Reads an even number of hexadecimal digits of either case.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(value(*high)? << 4 | value(*low)?)).collect()
}

fn value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_abc_is_the_one_of_fips_180() {
        let digest = text(&sha256(b"abc"));
        assert_eq!(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(encode(&decode(&digest).unwrap().try_into().unwrap()), sha256(b"abc"));
        assert_eq!((decode("abc"), decode("zz")), (None, None));
    }
}
