//! International bank account numbers: country, length, grouping, MOD 97-10.

use super::check::mod_97;
use crate::finding::Finding;

/// Total length per country.
///
/// # Source
/// SWIFT's IBAN registry (ISO 13616).
const LENGTHS: &[(&[u8; 2], usize)] = &[
    (b"AD", 24),
    (b"AE", 23),
    (b"AL", 28),
    (b"AT", 20),
    (b"AZ", 28),
    (b"BA", 20),
    (b"BE", 16),
    (b"BG", 22),
    (b"BH", 22),
    (b"BR", 29),
    (b"BY", 28),
    (b"CH", 21),
    (b"CR", 22),
    (b"CY", 28),
    (b"CZ", 24),
    (b"DE", 22),
    (b"DK", 18),
    (b"DO", 28),
    (b"EE", 20),
    (b"EG", 29),
    (b"ES", 24),
    (b"FI", 18),
    (b"FO", 18),
    (b"FR", 27),
    (b"GB", 22),
    (b"GE", 22),
    (b"GI", 23),
    (b"GL", 18),
    (b"GR", 27),
    (b"GT", 28),
    (b"HR", 21),
    (b"HU", 28),
    (b"IE", 22),
    (b"IL", 23),
    (b"IQ", 23),
    (b"IS", 26),
    (b"IT", 27),
    (b"JO", 30),
    (b"KW", 30),
    (b"KZ", 20),
    (b"LB", 28),
    (b"LC", 32),
    (b"LI", 21),
    (b"LT", 20),
    (b"LU", 20),
    (b"LV", 21),
    (b"LY", 25),
    (b"MC", 27),
    (b"MD", 24),
    (b"ME", 22),
    (b"MK", 19),
    (b"MR", 27),
    (b"MT", 31),
    (b"MU", 30),
    (b"NL", 18),
    (b"NO", 15),
    (b"PK", 24),
    (b"PL", 28),
    (b"PS", 29),
    (b"PT", 25),
    (b"QA", 29),
    (b"RO", 24),
    (b"RS", 22),
    (b"SA", 24),
    (b"SC", 31),
    (b"SE", 24),
    (b"SI", 19),
    (b"SK", 24),
    (b"SM", 27),
    (b"ST", 25),
    (b"SV", 28),
    (b"TL", 23),
    (b"TN", 24),
    (b"TR", 26),
    (b"UA", 29),
    (b"VA", 22),
    (b"VG", 24),
    (b"XK", 20),
];

/// Finds accounts.
pub(super) fn findings(text: &str, out: &mut Vec<Finding>) {
    let bytes = text.as_bytes();
    let mut free_from = 0;
    for (at, window) in bytes.windows(4).enumerate() {
        let [a, b, c, d] = *window else { continue };
        if !(a.is_ascii_uppercase() && b.is_ascii_uppercase() && c.is_ascii_digit() && d.is_ascii_digit()) || at < free_from {
            continue;
        }
        if at.checked_sub(1).and_then(|before| bytes.get(before)).is_some_and(u8::is_ascii_alphanumeric) {
            continue;
        }
        let Some((_, length)) = LENGTHS.iter().find(|(country, _)| **country == [a, b]) else { continue };
        if let Some(end) = account(bytes, at, *length) {
            free_from = end;
            out.push(super::found("IBAN", "IBAN", at, end, 0.98));
        }
    }
}

/// Where the account that starts at `start` ends, when it is one.
fn account(bytes: &[u8], start: usize, length: usize) -> Option<usize> {
    let mut characters = Vec::with_capacity(length);
    let mut end = start;
    // Blanks or dashes may stand after every fourth character.
    while characters.len() < length {
        let byte = *bytes.get(end)?;
        if byte.is_ascii_uppercase() || byte.is_ascii_digit() {
            characters.push(byte);
        } else if !(matches!(byte, b' ' | b'-') && characters.len() % 4 == 0) {
            return None;
        }
        end += 1;
    }
    let joined = bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
    let (head, tail) = characters.split_at_checked(4)?;
    (!joined && mod_97(tail.iter().chain(head).copied()) == 1).then_some(end)
}
