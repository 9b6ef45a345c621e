//! JSON's escapes of a long text, in blocks that the compiler makes vector instructions of.

/// Bytes that are looked at together: one bit for each in a word.
const BLOCK: usize = 64;

/// Appends a text as it stands between the quotation marks of a JSON string (RFC 8259, section 7), byte for byte as `serde_json` writes it.
pub(super) fn escape(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    // What is before it has been written.
    let mut from = 0;
    let mut one = |at: usize, byte: u8| {
        out.extend_from_slice(bytes.get(from..at).unwrap_or_default());
        push(out, byte);
        from = at + 1;
    };
    for (number, block) in blocks.iter().enumerate() {
        let mut left = escaped(block);
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            one(number * BLOCK + at, block.get(at).copied().unwrap_or_default());
            left &= left - 1;
        }
    }
    for (at, byte) in (bytes.len() - rest.len()..).zip(rest) {
        if flag(*byte) == 1 {
            one(at, *byte);
        }
    }
    out.extend_from_slice(bytes.get(from..).unwrap_or_default());
}

/// A JSON text without characters that some clients take for the end of a line: U+2028, U+2029 and U+0085 are escaped.
pub(super) fn in_one_line(json: Vec<u8>) -> Vec<u8> {
    // Their first bytes; without a branch in a block, as above.
    let may_begin = |byte: &u8| *byte == 0xe2 || *byte == 0xc2;
    if !json.chunks(BLOCK).any(|block| block.iter().fold(false, |found, byte| found | may_begin(byte))) {
        return json;
    }
    match String::from_utf8(json) {
        Ok(text) => text.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029").replace('\u{85}', "\\u0085").into_bytes(),
        Err(fault) => fault.into_bytes(),
    }
}

/// Which bytes of a block are escaped: the first byte is the lowest bit.
#[inline]
fn escaped(block: &[u8; BLOCK]) -> u64 {
    /// Times eight bytes of 0 or 1, it has those eight bits, the first byte's lowest, at its top.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let flags = block.map(flag);
    let eights = flags.as_chunks::<8>().0.iter().map(|eight| u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56);
    eights.enumerate().fold(0, |bits, (number, eight)| bits | eight << (8 * number))
}

/// 1 for a byte that is escaped, else 0.
#[inline]
fn flag(byte: u8) -> u8 {
    // Without a branch, which would keep the compiler from vector instructions.
    u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\')
}

/// Appends what stands for a byte that is escaped.
fn push(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        _ => {
            let digit = |value: u8| if value < 10 { b'0' + value } else { b'a' + value - 10 };
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 0xf)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn between_marks(text: &str) -> Vec<u8> {
        let whole = serde_json::to_vec(text).unwrap();
        whole[1..whole.len() - 1].to_vec()
    }

    #[test]
    fn every_byte_is_escaped_alike_at_every_place_of_a_block() {
        for character in (0..=0x7f_u8).map(char::from).chain(['é', '\u{2028}', '€', '\u{1f600}']) {
            for before in 0..=2 * BLOCK {
                let text = format!("{}{character}{}", "x".repeat(before), "y".repeat(BLOCK));
                let mut out = Vec::new();
                escape(&text, &mut out);
                assert_eq!(out, between_marks(&text), "{character:?} after {before}");
            }
        }
    }

    #[test]
    fn what_ends_a_line_for_some_readers_is_escaped() {
        let text = "a\u{2028}b\u{2029}c\u{85}d\u{a0}\u{201c}e";
        let json = in_one_line(serde_json::to_vec(text).unwrap());
        assert_eq!(String::from_utf8_lossy(&json), "\"a\\u2028b\\u2029c\\u0085d\u{a0}\u{201c}e\"");
        assert_eq!(serde_json::from_slice::<String>(&json).unwrap(), text);
    }

    proptest! {
        #[test]
        fn a_text_is_escaped_as_serde_json_does_it_and_read_back_the_same(
            parts in prop::collection::vec(prop_oneof![any::<String>(), "[ -~]{0,200}", "[\u{0}-\u{1f}\"\\\\]{1,80}"], 0..8),
            already in "[a-z]{0,9}",
        ) {
            let text = parts.concat();
            let mut out = already.clone().into_bytes();
            escape(&text, &mut out);
            prop_assert_eq!(&out, &[already.as_bytes(), &between_marks(&text)].concat());
            let string = [b"\"", &out[already.len()..], b"\""].concat();
            prop_assert_eq!(serde_json::from_slice::<String>(&string).unwrap(), text);
        }
    }
}
