//! Telephone numbers: with a country code, or in the national forms that are plain without one.

use std::cell::OnceCell;

use super::check::value;
use super::context::{OTHER, PHONE};
use super::number::Number;

/// Says whether a number is a telephone's, and of which country.
pub(super) fn classify(number: &Number<'_>) -> Option<(&'static str, &'static str, f32)> {
    if number.check_letter {
        return None;
    }
    // Fewer than seven digits never come here; more than seventeen are no telephone's: the words need not be read.
    if number.digits.len() > 17 {
        return None;
    }
    let known = OnceCell::new();
    let named = || *known.get_or_init(|| number.context.names(&PHONE));
    let (country, score) = if number.plus { international(number)? } else { national(number, named)? };
    if !number.plus && number.context.names_just_before(&OTHER) && !number.context.just_before(NAMED) {
        return None;
    }
    Some(("PHONE", country, if named() { (score + 0.1_f32).min(0.99) } else { score }))
}

/// Words that settle it, even beside a word for other numbers.
const NAMED: &[&str] = &["phone", "tel", "mobile", "call", "fax", "电话", "手机", "電話", "전화"];

/// Country codes with the length of the number after them, and the name of the country where only one has the code.
///
/// # Source
/// ITU-T E.164 and the national numbering plans; lengths include mobile and fixed numbers.
const CODES: &[(&str, usize, usize, &str)] = &[
    ("1", 10, 10, "us"),
    ("7", 10, 10, "ru"),
    ("20", 8, 10, "eg"),
    ("27", 9, 9, "za"),
    ("30", 10, 10, "gr"),
    ("31", 9, 9, "nl"),
    ("32", 8, 9, "be"),
    ("33", 9, 9, "fr"),
    ("34", 9, 9, "es"),
    ("36", 8, 9, "hu"),
    ("39", 6, 11, "it"),
    ("40", 9, 9, "ro"),
    ("41", 9, 9, "ch"),
    ("43", 6, 13, "at"),
    ("44", 9, 10, "gb"),
    ("45", 8, 8, "dk"),
    ("46", 7, 10, "se"),
    ("47", 8, 8, "no"),
    ("48", 9, 9, "pl"),
    ("49", 6, 12, "de"),
    ("51", 8, 9, "pe"),
    ("52", 10, 11, "mx"),
    ("53", 8, 8, "cu"),
    ("54", 10, 11, "ar"),
    ("55", 10, 11, "br"),
    ("56", 9, 9, "cl"),
    ("57", 10, 10, "co"),
    ("58", 10, 10, "ve"),
    ("60", 8, 10, "my"),
    ("61", 9, 9, "au"),
    ("62", 8, 12, "id"),
    ("63", 9, 10, "ph"),
    ("64", 8, 10, "nz"),
    ("65", 8, 8, "sg"),
    ("66", 8, 9, "th"),
    ("81", 9, 10, "jp"),
    ("82", 8, 10, "kr"),
    ("84", 9, 10, "vn"),
    ("86", 10, 11, "cn"),
    ("90", 10, 10, "tr"),
    ("91", 10, 10, "in"),
    ("92", 9, 10, "pk"),
    ("93", 9, 9, "af"),
    ("94", 9, 9, "lk"),
    ("95", 8, 10, "mm"),
    ("98", 10, 10, "ir"),
];

/// Beginnings of the three-digit country codes.
const THREE: &[u32] = &[21, 22, 23, 24, 25, 26, 29, 35, 37, 38, 42, 50, 59, 67, 68, 69, 80, 85, 87, 88, 96, 97, 99];

fn international(number: &Number<'_>) -> Option<(&'static str, f32)> {
    let digits = &number.digits;
    let spelled: String = digits.iter().map(|digit| char::from(b'0' + digit)).collect();
    if let Some(&(code, least, most, country)) = CODES.iter().find(|(code, ..)| spelled.starts_with(code)) {
        let mut rest = digits.len() - code.len();
        // `+44 (0)20 …`: the trunk prefix in brackets is written but not dialled.
        if number.written.contains("(0)") {
            rest -= 1;
        }
        let country = if country == "cn" && digits.get(2) == Some(&1) && rest == 11 { "cn-mobile" } else { country };
        return ((least..=most).contains(&rest) && plausible_north_american(digits, code)).then_some((country, 0.9));
    }
    let three = value(digits.get(..2)?);
    (THREE.contains(&three) && (9..=15).contains(&digits.len())).then_some(("international", 0.85))
}

fn plausible_north_american(digits: &[u8], code: &str) -> bool {
    code != "1" || digits.get(1..).is_some_and(is_north_american)
}

/// Area code and exchange begin with 2 to 9 and are not service codes (N11).
fn is_north_american(digits: &[u8]) -> bool {
    let part = |from: usize| {
        digits.get(from..from + 3).is_some_and(|part| part.first().is_some_and(|first| *first >= 2) && part.get(1..3) != Some(&[1, 1]))
    };
    digits.len() == 10 && part(0) && part(3) && digits.get(1) != Some(&9)
}

/// The national forms. `named`: a word for telephones is near.
fn national(number: &Number<'_>, named: impl Fn() -> bool) -> Option<(&'static str, f32)> {
    let digits = number.digits.as_slice();
    let groups = number.groups.as_slice();
    let signs = number.signs.as_slice();
    let lead = |count: usize| digits.get(..count).map_or(0, value);
    let same_sign = signs.windows(2).all(|pair| matches!(pair, [a, b] if a == b));
    let dotted_or_dashed = same_sign && signs.first().is_some_and(|sign| matches!(sign, b'-' | b'.'));
    let bracket = number.written.starts_with('(');
    match (digits.len(), lead(1)) {
        // China: eleven digits from 13 to 19, in one piece or 3-4-4; `86` may lead.
        (11, 1)
            if (13..=19).contains(&lead(2))
                && (named() || groups.len() > 1 || number.context.is_chinese() || number.context.is_cell())
                && (matches!(groups, [11] | [3, 4, 4]) && same_sign) =>
        {
            Some(("cn-mobile", if named() { 0.85 } else { 0.6 }))
        }
        (13, 8) if lead(2) == 86 && (613..=619).contains(&(lead(4) % 1000)) && matches!(groups, [13] | [2, 11] | [2, 3, 4, 4]) => {
            Some(("cn-mobile", 0.7))
        }
        // North America: 3-3-4 with signs or brackets; `1` may lead; in one piece or with blanks only beside a word.
        (10, 2..) if is_north_american(digits) && matches!(groups, [3, 3, 4]) && !round(number) => {
            if bracket || dotted_or_dashed {
                Some(("us", if named() { 0.85 } else { 0.6 }))
            } else {
                named().then_some(("us", 0.7))
            }
        }
        (10, 2..)
            if is_north_american(digits) && matches!(groups, [10] | [3, 7] | [6, 4]) && number.context.just_before(NAMED) && named() =>
        {
            Some(("us", 0.55))
        }
        (11, 1) if digits.get(1..).is_some_and(is_north_american) && matches!(groups, [1, 3, 3, 4]) => {
            Some(("us", if named() { 0.85 } else { 0.65 }))
        }
        // India: ten digits from 6 to 9, 5-5 or in one piece, beside a word.
        (10, 6..) if matches!(groups, [10] | [5, 5]) && named() => Some(("in", 0.6)),
        // Japan, Korea: mobile and fixed, with signs.
        (11, 0) if matches!(lead(3), 50 | 60 | 70 | 80 | 90) && (matches!(groups, [3, 4, 4]) || named() && matches!(groups, [11])) => {
            Some(("jp", 0.75))
        }
        (10 | 11, 0) if matches!(lead(3), 10 | 11 | 16..=19) && matches!(groups, [3, 3 | 4, 4]) => Some(("kr", 0.75)),
        (9 | 10, 0) if matches!(groups, [2, 3 | 4, 4]) && lead(2) == 2 && (named() || dotted_or_dashed) => Some(("kr", 0.55)),
        (10, 0) if matches!(groups, [2, 4, 4] | [3, 3, 4] | [4, 2, 4]) && (named() || dotted_or_dashed) => Some(("jp", 0.55)),
        // France: ten digits in pairs.
        (10, 0) if matches!(groups, [2, 2, 2, 2, 2]) && same_sign && digits.get(1) != Some(&0) && (named() || !number.in_row) => {
            Some(("fr", 0.75))
        }
        // Great Britain: 07… 5-6 or 5-3-3, 01/02 in their groups.
        (11, 0) if lead(2) == 7 && (matches!(groups, [5, 6] | [5, 3, 3] | [4, 3, 4]) || named() && matches!(groups, [11])) => {
            Some(("gb", 0.7))
        }
        (10 | 11, 0) if matches!(lead(2), 1..=3 | 8) && named() && matches!(groups, [3, 4, 4] | [5, 5 | 6] | [4, 3, 4] | [11]) => {
            Some(("gb", 0.6))
        }
        // Germany, Austria, Italy and others with a trunk zero: two or three groups, beside a word.
        (8..=13, 0) if digits.get(1) != Some(&0) && (2..=5).contains(&groups.len()) && named() => Some(("de", 0.6)),
        (9..=12, 0) if groups.len() == 1 && digits.get(1) != Some(&0) && named() => Some(("de", 0.55)),
        // International with 00.
        (11..=17, 0) if lead(2) == 0 && named() && digits.get(2) != Some(&0) => Some(("international", 0.6)),
        // Spain, Portugal, Poland: nine digits in threes or 3-2-2-2; Brazil 2-5-4; all beside a word.
        (9, 5..) if matches!(groups, [3, 3, 3] | [3, 2, 2, 2] | [2, 3, 2, 2] | [9]) && named() => Some(("es", 0.55)),
        (10 | 11, 1..) if matches!(groups, [2, 4 | 5, 4]) && named() => Some(("br", 0.6)),
        (11, 7 | 8) if matches!(groups, [1, 3, 3, 2, 2] | [1, 3, 3, 4] | [1, 3, 7] | [11]) && named() => Some(("ru", 0.6)),
        (8, 2..)
            if matches!(groups, [4, 4] | [2, 2, 2, 2])
                && !is_range_of_years(groups, digits)
                && number.context.just_before(NAMED)
                && named() =>
        {
            Some(("international", 0.5))
        }
        _ => None,
    }
}

/// `2017-2022`, as in a copyright line.
fn is_range_of_years(groups: &[usize], digits: &[u8]) -> bool {
    let year = |part: Option<&[u8]>| part.map_or(0, value);
    let (first, last) = (year(digits.get(..4)), year(digits.get(4..)));
    groups == [4, 4] && (1900..=2099).contains(&first) && (first..=2099).contains(&last)
}

/// `800-900-1000`: every group ends in two zeros, as counts do and telephones do not.
fn round(number: &Number<'_>) -> bool {
    let mut at = 0;
    number.groups.iter().all(|length| {
        at += length;
        number.digits.get(at.saturating_sub(2)..at) == Some(&[0, 0])
    })
}
