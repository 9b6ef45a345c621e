//! National identity and tax numbers written in digits, by country; check digits first, words where those are weak.

use super::check::{is_date, luhn, value, verhoeff, weighted};
use super::context::OTHER;
use super::number::Number;

type Answer = Option<(&'static str, &'static str, f32)>;

/// Says whether a number identifies a person, and of which country.
pub(super) fn classify(number: &Number<'_>) -> Answer {
    if number.plus {
        return None;
    }
    let digits = number.digits.as_slice();
    let groups = number.groups.as_slice();
    let dashed = number.signs.iter().all(|sign| *sign == b'-') && !number.signs.is_empty();
    let spaced = number.signs.iter().all(|sign| *sign == b' ');
    let says = |words: &[&str]| number.context.says(words);
    let near = |words: &[&str]| number.context.just_before(words);
    let other = || number.context.names_just_before(&OTHER);
    let yes = |sub: &'static str, score: f32| Some(("NATIONAL_ID", sub, score));
    if (17..=18).contains(&digits.len())
        && matches!(groups, [17 | 18] | [6, 8, 3 | 4] | [6, 4, 4, 3 | 4])
        && chinese(digits, number.check_letter)
    {
        return yes("cn-id", 0.97);
    }
    if number.check_letter {
        return None;
    }
    match digits.len() {
        15 if groups == [15] && near(&["身份证", "证件号"]) && chinese_old(digits) => yes("cn-id", 0.7),
        15 if french(digits)
            && (says(&["nir", "sécurité sociale", "insee", "securite sociale", "sécu"])
                || matches!(groups, [1, 2, 2, 2, 3, 3, 2] | [13, 2])) =>
        {
            yes("fr-nir", 0.9)
        }
        13 if near(&["id number", "south african", "identity number", "sa id"]) && luhn(digits) && six_date(digits, false) => {
            yes("za-id", 0.8)
        }
        13 if groups == [6, 7] && (korean(digits) || six_date(digits, false) && says(&["주민", "rrn", "resident"])) && !other() => {
            yes("kr-rrn", 0.85)
        }
        13 if matches!(groups, [3, 4, 4, 2]) && digits.starts_with(&[7, 5, 6]) && ean(digits) => yes("ch-ahv", 0.9),
        13 if groups == [1, 4, 5, 2, 1] && says(&["บัตร", "thai", "เลขประจำตัว"]) => yes("th-id", 0.8),
        12 if digits.first().is_some_and(|first| *first >= 2)
            && verhoeff(digits)
            && (matches!(groups, [4, 4, 4]) && (spaced || dashed) && !other() && !number.in_row && !are_years(digits)
                || says(&["aadhaar", "aadhar", "uidai", "आधार"])) =>
        {
            yes("in-aadhaar", 0.85)
        }
        12 if says(&["マイナンバー", "個人番号", "my number"]) => yes("jp-mynumber", 0.8),
        11 if says(&["pesel"]) && (polish(digits) || near(&["pesel"])) => yes("pl-pesel", 0.92),
        11 if matches!(groups, [3, 3, 3, 2]) && number.signs.last() == Some(&b'-') && brazilian(digits) => yes("br-cpf", 0.95),
        11 if says(&["cpf"]) && brazilian(digits) => yes("br-cpf", 0.9),
        11 if says(&["kimlik", "tckn", "t.c."]) && turkish(digits) => yes("tr-tckn", 0.9),
        11 if matches!(groups, [3, 3, 3, 2]) && number.signs == [b'-', b'-', b' '] && snils(digits) => yes("ru-snils", 0.9),
        11 if says(&["steuer-id", "steuer-identifikationsnummer", "steueridentifikationsnummer", "steuerid", "idnr", "tax id"])
            && iso_11_10(digits) =>
        {
            yes("de-steuerid", 0.85)
        }
        11 if says(&["fødselsnummer", "fodselsnummer", "personnummer", "fnr"]) && norwegian(digits) => yes("no-fnr", 0.9),
        11 if groups == [11]
            && polish(digits)
            && value(digits.get(..2)?) >= 20
            && says(&["numer", "identity", "dowód", "tożsamości"])
            && !other() =>
        {
            yes("pl-pesel", 0.6)
        }
        11 if says(&["rijksregister", "registre national", "rrn", "niss", "insz"]) => yes("be-nrn", 0.7),
        10 if says(&["nhs"]) && health_service(digits) => yes("uk-nhs", 0.95),
        10 if matches!(groups, [3, 3, 4])
            && spaced
            && health_service(digits)
            && says(&["patient", "hospital", "gp", "surgery", "clinic"]) =>
        {
            yes("uk-nhs", 0.75)
        }
        10 if groups == [6, 4] && dashed && six_date(digits, false) && luhn(digits) && !other() => yes("se-personnummer", 0.75),
        10 if groups == [6, 4] && six_date(digits, true) && says(&["cpr", "cpr-nummer", "personnummer"]) => yes("dk-cpr", 0.85),
        12 if groups == [8, 4]
            && luhn(digits.get(2..)?)
            && is_date(value(digits.get(..4)?), value(digits.get(4..6)?), value(digits.get(6..8)?))
            && !other() =>
        {
            yes("se-personnummer", 0.85)
        }
        9 if groups == [3, 2, 4]
            && (dashed || spaced)
            && american(digits)
            && (dashed && !other() || says(&["ssn", "social security", "social"])) =>
        {
            yes("us-ssn", 0.9)
        }
        9 if groups == [9] && american(digits) && near(&["ssn", "social security", "ssn:"]) => yes("us-ssn", 0.85),
        9 if says(&["bsn", "burgerservicenummer", "sofinummer"]) && dutch(digits) => yes("nl-bsn", 0.9),
        9 if says(&["sin", "social insurance"]) && luhn(digits) => yes("ca-sin", 0.85),
        9 if says(&["nif", "contribuinte"]) && portuguese(digits) => yes("pt-nif", 0.85),
        9 if says(&["tfn", "tax file"]) && weighted(digits, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11) => yes("au-tfn", 0.85),
        8 | 9 if near(&["passport", "护照", "passeport", "reisepass", "pasaporte"]) && groups.len() == 1 => yes("passport", 0.6),
        _ => None,
    }
}

/// Whether digits in fours are years of our time.
fn are_years(digits: &[u8]) -> bool {
    digits.chunks(4).all(|year| (1900..2100).contains(&value(year)))
}

/// Region, date, and ISO 7064 MOD 11-2 (GB 11643-1999).
fn chinese(digits: &[u8], letter: bool) -> bool {
    const WEIGHTS: [u32; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let part = |from: usize, to: usize| digits.get(from..to).map_or(0, value);
    let region = matches!(part(0, 2), 11..=15 | 21..=23 | 31..=37 | 41..=46 | 50..=54 | 61..=65 | 71 | 81..=83 | 91);
    let check = (12 - weighted(digits, &WEIGHTS) % 11) % 11;
    let last = if letter { (digits.len() == 17).then_some(10) } else { digits.get(17).map(|digit| u32::from(*digit)) };
    region && is_date(part(6, 10), part(10, 12), part(12, 14)) && last == Some(check)
}

fn chinese_old(digits: &[u8]) -> bool {
    let part = |from: usize, to: usize| digits.get(from..to).map_or(0, value);
    is_date(1900 + part(6, 8), part(8, 10), part(10, 12))
}

/// Social Security Administration: area not 000, 666 or 9xx, group not 00, serial not 0000.
fn american(digits: &[u8]) -> bool {
    let part = |from: usize, to: usize| digits.get(from..to).map_or(0, value);
    let area = part(0, 3);
    area != 0 && area != 666 && area < 900 && part(3, 5) != 0 && part(5, 9) != 0 && part(0, 9) != 123_456_789
}

/// Two digits modulo 11 (Receita Federal).
fn brazilian(digits: &[u8]) -> bool {
    let check = |count: usize, first: u32| {
        let weights: Vec<u32> = (2..=first).rev().collect();
        let rest = digits.get(..count).map_or(0, |part| weighted(part, &weights)) * 10 % 11;
        Some(u8::try_from(rest % 10).unwrap_or(0)) == digits.get(count).copied()
    };
    digits.iter().any(|digit| Some(digit) != digits.first()) && check(9, 10) && check(10, 11)
}

/// Date with the century in the month, and a weighted check digit.
fn polish(digits: &[u8]) -> bool {
    let part = |from: usize, to: usize| digits.get(from..to).map_or(0, value);
    let (century, month) = (part(2, 4) / 20, part(2, 4) % 20);
    let year = part(0, 2)
        + match century {
            0 => 1900,
            1 => 2000,
            2 => 2100,
            3 => 2200,
            _ => 1800,
        };
    weighted(digits, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]).is_multiple_of(10) && is_date(year, month, part(4, 6))
}

/// Modulo 11 over nine digits (NHS Data Model and Dictionary).
fn health_service(digits: &[u8]) -> bool {
    let check = (11 - weighted(digits, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11) % 11;
    check != 10 && digits.get(9).is_some_and(|last| u32::from(*last) == check)
}

fn dutch(digits: &[u8]) -> bool {
    let last = digits.get(8).map_or(0, |digit| u32::from(*digit));
    let sum = weighted(digits, &[9, 8, 7, 6, 5, 4, 3, 2]);
    sum > 0 && sum % 11 == last
}

fn portuguese(digits: &[u8]) -> bool {
    let check = 11 - weighted(digits, &[9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    digits.get(8).is_some_and(|last| u32::from(*last) == if check > 9 { 0 } else { check })
}

fn turkish(digits: &[u8]) -> bool {
    let odd = weighted(digits, &[1, 0, 1, 0, 1, 0, 1, 0, 1]);
    let even = weighted(digits, &[0, 1, 0, 1, 0, 1, 0, 1]);
    let ten = (odd * 7 + 100 - even) % 10;
    let eleven = weighted(digits, &[1; 10]) % 10;
    digits.first() != Some(&0)
        && digits.get(9).is_some_and(|digit| u32::from(*digit) == ten)
        && digits.get(10).is_some_and(|digit| u32::from(*digit) == eleven)
}

fn snils(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101 % 100;
    digits.get(9..11).is_some_and(|check| value(check) == sum)
}

/// ISO 7064 MOD 11,10 (Bundeszentralamt für Steuern).
fn iso_11_10(digits: &[u8]) -> bool {
    let product = digits.iter().take(10).fold(10, |product, digit| {
        let sum = (u32::from(*digit) + product) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    digits.first() != Some(&0) && digits.get(10).is_some_and(|last| u32::from(*last) == (11 - product) % 10)
}

fn norwegian(digits: &[u8]) -> bool {
    weighted(digits, &[3, 7, 6, 1, 8, 9, 4, 5, 2, 1]).is_multiple_of(11)
        && weighted(digits, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11)
}

fn korean(digits: &[u8]) -> bool {
    let check = (11 - weighted(digits, &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]) % 11) % 10;
    six_date(digits, false) && matches!(digits.get(6), Some(1..=8)) && digits.get(12).is_some_and(|last| u32::from(*last) == check)
}

fn french(digits: &[u8]) -> bool {
    let month = digits.get(3..5).map_or(0, value);
    let number = digits.iter().take(13).fold(0_u64, |sum, digit| sum * 10 + u64::from(*digit));
    matches!(digits.first(), Some(1 | 2))
        && ((1..=12).contains(&month) || (20..=42).contains(&month))
        && digits.get(13..15).is_some_and(|key| u64::from(value(key)) == 97 - number % 97)
}

fn ean(digits: &[u8]) -> bool {
    weighted(digits, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]).is_multiple_of(10)
}

/// Whether the first six digits are a date, year first or (`day_first`) day first.
fn six_date(digits: &[u8], day_first: bool) -> bool {
    let part = |from: usize, to: usize| digits.get(from..to).map_or(0, value);
    let (year, day) = if day_first { (part(4, 6), part(0, 2)) } else { (part(0, 2), part(4, 6)) };
    is_date(1900 + year, part(2, 4), day)
}
