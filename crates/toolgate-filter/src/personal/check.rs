//! Check digits, by the published rules of each scheme.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A weighted sum of characters; `rows.toml` says what each field means.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sum {
    modulo: u32,
    #[serde(default)]
    rest: u32,
    weights: Vec<u32>,
    #[serde(default)]
    table: Option<String>,
    #[serde(default)]
    values: BTreeMap<char, u32>,
}

/// A check by name.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Check {
    /// Luhn's sum (ISO/IEC 7812-1): cards, Swedish and Canadian numbers.
    Luhn,
    /// Verhoeff's dihedral check: Aadhaar.
    Verhoeff,
    /// ISO/IEC 7064 MOD 11,10: the German tax number.
    #[serde(rename = "iso7064_11_10")]
    Iso7064Mod11And10,
    /// The last letter of the Italian number, computed from the others.
    CodiceFiscale,
    /// Not all characters are the same.
    Varied,
    /// Not a row of years in fours, as in a copyright line.
    NotYears,
    /// Not the digits in their order, as in examples.
    NotSample,
    /// `800-900-1000`: groups of 3, 3 and 4 that all end in two zeros are counts.
    NotRound,
}

impl Sum {
    /// Whether the sum over characters, digits and capitals of ASCII, is what it must be.
    pub(super) fn holds(&self, characters: &[u8]) -> bool {
        let value = |byte: u8| {
            if byte.is_ascii_digit() { u32::from(byte - b'0') } else { self.values.get(&char::from(byte)).copied().unwrap_or(0) }
        };
        let rest = characters.iter().zip(&self.weights).map(|(byte, weight)| value(*byte) * weight).sum::<u32>() % self.modulo.max(1);
        match &self.table {
            Some(table) => usize::try_from(rest).is_ok_and(|rest| table.as_bytes().get(rest) == characters.get(self.weights.len())),
            None => rest == self.rest,
        }
    }
}

impl Check {
    /// Whether it holds for characters: digits and capitals of ASCII.
    pub(super) fn holds(self, characters: &[u8]) -> bool {
        let mut digits = characters.iter().map(|byte| u32::from(byte.saturating_sub(b'0')));
        match self {
            Self::Luhn => luhn(digits.rev()).is_multiple_of(10),
            Self::Verhoeff => verhoeff(digits.rev()) == 0,
            Self::Iso7064Mod11And10 => {
                let product = digits.clone().take(10).fold(10, |product, digit| {
                    let sum = (digit + product) % 10;
                    (if sum == 0 { 10 } else { sum }) * 2 % 11
                });
                digits.next_back() == Some((11 - product) % 10)
            }
            Self::CodiceFiscale => codice_fiscale(characters),
            Self::Varied => characters.iter().any(|byte| Some(byte) != characters.first()),
            Self::NotSample => characters != b"123456789",
            Self::NotYears => !characters.chunks(4).all(|year| year.starts_with(b"19") || year.starts_with(b"20")),
            Self::NotRound => ![3, 6, 10].iter().all(|end| characters.get(..*end).is_some_and(|group| group.ends_with(b"00"))),
        }
    }
}

/// Sum of digits from the last to the first, every second one doubled.
fn luhn(digits: impl Iterator<Item = u32>) -> u32 {
    let value = |(place, digit): (usize, u32)| if place % 2 == 0 { digit } else { digit * 2 / 10 + digit * 2 % 10 };
    digits.enumerate().map(value).sum()
}

/// Product in the dihedral group of order ten of digits from the last to the first, each permuted by its place.
fn verhoeff(digits: impl Iterator<Item = u32>) -> u32 {
    const PERMUTATION: [u32; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let permuted = |digit: u32| usize::try_from(digit).ok().and_then(|digit| PERMUTATION.get(digit)).copied().unwrap_or(0);
    digits.enumerate().fold(0, |a, (place, digit)| {
        let b = (0..place % 8).fold(digit, |digit, _| permuted(digit));
        match (a < 5, b < 5) {
            (true, true) => (a + b) % 5,
            (true, false) => (a + b - 5) % 5 + 5,
            (false, true) => (a - b) % 5 + 5,
            (false, false) => (a + 5 - b) % 5,
        }
    })
}

fn codice_fiscale(characters: &[u8]) -> bool {
    const ODD: [u32; 26] = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    let value = |(place, byte): (usize, &u8)| {
        let rank = if byte.is_ascii_digit() { byte - b'0' } else { byte.saturating_sub(b'A') };
        if place % 2 == 0 { ODD.get(usize::from(rank)).copied().unwrap_or(0) } else { u32::from(rank) }
    };
    let sum: u32 = characters.iter().take(15).enumerate().map(value).sum();
    characters.get(15).is_some_and(|last| u32::from(last.saturating_sub(b'A')) == sum % 26)
}

/// ISO/IEC 7064 MOD 97-10 over letters and digits (IBAN): the value of `characters` modulo 97.
pub(super) fn mod_97<'c>(characters: impl Iterator<Item = &'c u8>) -> u32 {
    characters.fold(0, |sum, byte| match byte {
        b'0'..=b'9' => (sum * 10 + u32::from(byte - b'0')) % 97,
        _ => (sum * 100 + u32::from(byte.saturating_sub(b'A')) + 10) % 97,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_examples_hold_and_their_neighbours_do_not() {
        assert!(Check::Luhn.holds(b"4111111111111111") && !Check::Luhn.holds(b"4111111111111112"));
        assert!(Check::Verhoeff.holds(b"2363") && !Check::Verhoeff.holds(b"2364"));
        assert_eq!(mod_97(b"WEST12345698765432GB82".iter()), 1);
    }
}
