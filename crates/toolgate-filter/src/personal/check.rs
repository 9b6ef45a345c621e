//! Check digits, by the published rules of each scheme. All take decimal digits as values 0 to 9.

/// Luhn's sum (ISO/IEC 7812-1): cards, Swedish and Canadian numbers.
pub(super) fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, &digit)| {
            let value = u32::from(digit) * (1 + u32::from(place % 2 == 1));
            if value > 9 { value - 9 } else { value }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Σ digit × weight.
pub(super) fn weighted(digits: &[u8], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(&digit, weight)| u32::from(digit) * weight).sum()
}

/// Verhoeff's dihedral check (Aadhaar).
pub(super) fn verhoeff(digits: &[u8]) -> bool {
    let mut sum = 0_u8;
    for (place, &digit) in digits.iter().rev().enumerate() {
        let mut moved = digit;
        for _ in 0..place % 8 {
            moved = PERMUTATION.get(usize::from(moved)).copied().unwrap_or(0);
        }
        sum = times(sum, moved);
    }
    sum == 0
}

const PERMUTATION: [u8; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];

/// Multiplication in the dihedral group of order ten.
const fn times(a: u8, b: u8) -> u8 {
    match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => (a + b - 5) % 5 + 5,
        (false, true) => (a - 5 + 5 - b) % 5 + 5,
        (false, false) => (a - 5 + 5 - (b - 5)) % 5,
    }
}

/// ISO/IEC 7064 MOD 97-10 over letters and digits (IBAN): the value of `characters` modulo 97.
pub(super) fn mod_97(characters: impl Iterator<Item = u8>) -> u32 {
    characters.fold(0, |sum, byte| match byte {
        b'0'..=b'9' => (sum * 10 + u32::from(byte - b'0')) % 97,
        _ => (sum * 100 + u32::from(byte.to_ascii_uppercase().saturating_sub(b'A')) + 10) % 97,
    })
}

/// Whether a year (four digits), month and day can be a birth date of somebody alive or remembered.
pub(super) const fn is_date(year: u32, month: u32, day: u32) -> bool {
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 29,
        _ => 0,
    };
    year >= 1880 && year <= 2100 && day >= 1 && day <= days
}

/// The decimal number that some digits spell.
pub(super) fn value(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |sum, &digit| sum * 10 + u32::from(digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(text: &str) -> Vec<u8> {
        text.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect()
    }

    #[test]
    fn published_examples_hold_and_their_neighbours_do_not() {
        assert!(luhn(&digits("4111 1111 1111 1111")) && !luhn(&digits("4111 1111 1111 1112")));
        assert!(verhoeff(&digits("2363")) && !verhoeff(&digits("2364")));
        assert_eq!(mod_97("WEST12345698765432GB82".bytes()), 1);
        assert!(is_date(1996, 2, 29) && !is_date(1996, 4, 31) && !is_date(1700, 1, 1));
    }
}
