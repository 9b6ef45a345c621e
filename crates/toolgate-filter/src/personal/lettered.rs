//! Identity numbers that hold letters: read as one word of letters and digits, then validated by form.

use super::check::weighted;
use super::context::Context;
use crate::finding::Finding;

/// Finds numbers with letters.
pub(super) fn findings(text: &str, out: &mut Vec<Finding>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes.iter().skip(at).take_while(|byte| byte.is_ascii_alphanumeric()).count();
        if length == 2 {
            spaced_insurance(text, at, out);
        }
        if length == 6 {
            finnish(text, at, out);
        }
        if (8..=18).contains(&length) {
            let parted = |place: Option<usize>| {
                place.and_then(|place| bytes.get(place)).is_none_or(|byte| !matches!(byte, b'_' | b'-' | b'/' | b'+' | b'='))
            };
            if parted(at.checked_sub(1)) && parted(Some(at + length)) {
                word(text, at, at + length, out);
            }
        }
        at += length.max(1);
    }
}

fn word(text: &str, start: usize, end: usize, out: &mut Vec<Finding>) {
    let word = text.get(start..end).unwrap_or_default();
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    if digits < 4
        || digits == word.len()
        || word.bytes().any(|byte| byte.is_ascii_lowercase()) && word.bytes().any(|byte| byte.is_ascii_uppercase())
    {
        return;
    }
    let upper = word.to_ascii_uppercase();
    let says = |words: &[&str]| Context::around(text, start, end).says(words);
    let answer = match word.len() {
        9 if spanish(&upper) => Some(("es-dni", 0.9)),
        9 if insurance(&upper) => Some(("uk-nino", 0.85)),
        9 if singaporean(&upper) => Some(("sg-nric", 0.9)),
        10 if taiwanese(&upper) => Some(("tw-id", 0.85)),
        10 if permanent_account(&upper) && says(&["pan", "income tax", "permanent account"]) => Some(("in-pan", 0.85)),
        16 if italian(&upper) => Some(("it-cf", 0.97)),
        18 if mexican(&upper) => Some(("mx-curp", 0.9)),
        8 | 9
            if digits >= 5
                && passport(&upper)
                && says(&[
                    "passport",
                    "passport no",
                    "护照",
                    "護照",
                    "passeport",
                    "reisepass",
                    "pasaporte",
                    "passaporto",
                    "passaporte",
                    "paspoort",
                    "паспорт",
                    "여권",
                    "旅券",
                    "パスポート",
                    "hộ chiếu",
                ]) =>
        {
            Some(("passport", 0.75))
        }
        _ => None,
    };
    if let Some((sub, score)) = answer {
        out.push(super::found("NATIONAL_ID", sub, start, end, score));
    }
}

/// National insurance with blanks, as on the card: `AB 12 34 56 C`.
fn spaced_insurance(text: &str, at: usize, out: &mut Vec<Finding>) {
    const LENGTH: usize = 13;
    let Some(written) = text.get(at..at + LENGTH) else { return };
    let blanks = written.bytes().enumerate().all(|(place, byte)| matches!(place, 2 | 5 | 8 | 11) == (byte == b' '));
    let ends = text.as_bytes().get(at + LENGTH).is_none_or(|byte| !byte.is_ascii_alphanumeric());
    if blanks && ends && insurance(&written.replace(' ', "")) {
        out.push(super::found("NATIONAL_ID", "uk-nino", at, at + LENGTH, 0.85));
    }
}

/// The Finnish personal identity code: a date, the century's sign, three digits, and a character that is the whole modulo 31.
fn finnish(text: &str, at: usize, out: &mut Vec<Finding>) {
    const LENGTH: usize = 11;
    let Some(written) = text.get(at..at + LENGTH) else { return };
    let bytes = written.as_bytes();
    let number = |from: usize, to: usize| written.get(from..to).and_then(|digits| digits.parse::<usize>().ok());
    let (Some(day), Some(month), Some(date), Some(serial)) = (number(0, 2), number(2, 4), number(0, 6), number(7, 10)) else { return };
    let dated = (1..=31).contains(&day) && (1..=12).contains(&month) && (2..=899).contains(&serial);
    let century = matches!(bytes.get(6), Some(b'+' | b'-' | b'A'));
    let check = b"0123456789ABCDEFHJKLMNPRSTUVWXY".get((date * 1000 + serial) % 31) == bytes.get(10);
    let ends = text.as_bytes().get(at + LENGTH).is_none_or(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'-' | b'_'));
    let begins = at.checked_sub(1).and_then(|at| text.as_bytes().get(at)).is_none_or(|byte| !matches!(byte, b'-' | b'_' | b'/' | b'.'));
    if dated && century && check && ends && begins {
        out.push(super::found("NATIONAL_ID", "fi-hetu", at, at + LENGTH, 0.85));
    }
}

/// The form of a word: `A` a letter, `9` a digit.
fn has_form(word: &str, form: &str) -> bool {
    word.len() == form.len()
        && word
            .bytes()
            .zip(form.bytes())
            .all(|(byte, wanted)| if wanted == b'9' { byte.is_ascii_digit() } else { byte.is_ascii_uppercase() })
}

fn digits_of(word: &str) -> Vec<u8> {
    word.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect()
}

/// DNI and NIE: the letter is the number modulo 23.
fn spanish(word: &str) -> bool {
    let number = match word.as_bytes().first() {
        Some(b'X') => format!("0{}", word.get(1..).unwrap_or_default()),
        Some(b'Y') => format!("1{}", word.get(1..).unwrap_or_default()),
        Some(b'Z') => format!("2{}", word.get(1..).unwrap_or_default()),
        _ => word.to_owned(),
    };
    let Some((digits, letter)) = number.split_at_checked(8) else { return false };
    let Ok(value) = digits.parse::<u32>() else { return false };
    letter.bytes().next() == usize::try_from(value % 23).ok().and_then(|place| b"TRWAGMYFPDXBNJZSQVHLCKE".get(place)).copied()
}

/// Codice fiscale: sixteen characters, the last computed from the others (D.M. 23/12/1976); digits may be lettered.
fn italian(word: &str) -> bool {
    const ODD: [u32; 26] = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    let bytes = word.as_bytes();
    let lettered_digit = |byte: &u8| byte.is_ascii_digit() || b"LMNPQRSTUV".contains(byte);
    let form = bytes.iter().enumerate().all(|(place, byte)| match place {
        0..=5 | 8 | 11 | 15 => byte.is_ascii_uppercase(),
        _ => lettered_digit(byte),
    }) && bytes.get(8).is_some_and(|month| b"ABCDEHLMPRST".contains(month));
    let sum: u32 = bytes
        .iter()
        .take(15)
        .enumerate()
        .map(|(place, byte)| {
            let rank = if byte.is_ascii_digit() { byte - b'0' } else { byte.saturating_sub(b'A') };
            if place % 2 == 0 { ODD.get(usize::from(rank)).copied().unwrap_or(0) } else { u32::from(rank) }
        })
        .sum();
    form && bytes.get(15).is_some_and(|last| u32::from(last.saturating_sub(b'A')) == sum % 26)
}

/// National insurance: two letters of the allowed ones, six digits, A to D.
fn insurance(word: &str) -> bool {
    let head = word.get(..2).unwrap_or_default();
    has_form(word, "AA999999A")
        && !head.contains(['D', 'F', 'I', 'Q', 'U', 'V'])
        && !head.ends_with('O')
        && !matches!(head, "BG" | "GB" | "KN" | "NK" | "NT" | "TN" | "ZZ")
        && word.ends_with(['A', 'B', 'C', 'D'])
}

fn singaporean(word: &str) -> bool {
    let digits = digits_of(word);
    let first = word.bytes().next().unwrap_or(b' ');
    let extra = if matches!(first, b'T' | b'G') { 4 } else { 0 };
    let rest = usize::try_from((weighted(&digits, &[2, 7, 6, 5, 4, 3, 2]) + extra) % 11).unwrap_or(0);
    let table: &[u8; 11] = if matches!(first, b'S' | b'T') { b"JZIHGFEDCBA" } else { b"XWUTRQPNMLK" };
    has_form(word, "A9999999A") && matches!(first, b'S' | b'T' | b'F' | b'G') && word.bytes().last() == table.get(rest).copied()
}

fn taiwanese(word: &str) -> bool {
    const PLACES: &[u8; 26] = b"ABCDEFGHJKLMNPQRSTUVXYWZIO";
    let digits = digits_of(word);
    let Some(place) = word.bytes().next().and_then(|letter| PLACES.iter().position(|known| *known == letter)) else { return false };
    let number = u32::try_from(place).unwrap_or(0) + 10;
    let sum = number / 10 + number % 10 * 9 + weighted(&digits, &[8, 7, 6, 5, 4, 3, 2, 1, 1]);
    has_form(word, "A999999999") && matches!(digits.first(), Some(1 | 2 | 8 | 9)) && sum.is_multiple_of(10)
}

fn permanent_account(word: &str) -> bool {
    has_form(word, "AAAAA9999A") && word.as_bytes().get(3).is_some_and(|kind| b"PCHFATBLJG".contains(kind))
}

fn mexican(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.iter().enumerate().all(|(place, byte)| match place {
        4..=9 | 17 => byte.is_ascii_digit(),
        16 => byte.is_ascii_alphanumeric(),
        _ => byte.is_ascii_uppercase(),
    }) && bytes.get(10).is_some_and(|sex| matches!(sex, b'H' | b'M' | b'X'))
}

fn passport(word: &str) -> bool {
    // German ones use letters that are not taken for digits or for words.
    let german = word.len() == 9
        && word.bytes().all(|byte| b"CFGHJKLMNPRTVWXYZ0123456789".contains(&byte))
        && word.starts_with(|c: char| c.is_ascii_alphabetic());
    german || has_form(word, "A99999999") || has_form(word, "AA9999999") || has_form(word, "A9999999") || has_form(word, "99999999A")
}
