//! Payment cards: issuer number, length, grouping as printed, Luhn.

use std::sync::LazyLock;

use super::check::{luhn, value};
use super::context::{OTHER, Words};
use super::number::Number;

/// Words for any card, which may be one that pays nothing.
static ANY_CARD: LazyLock<Words> = LazyLock::new(|| Words::of(&["card", "cards"]));

/// What a number after such a word may be instead, and what cards are besides.
static NO_PAYMENT: LazyLock<Words> = LazyLock::new(|| {
    Words::of(&[
        "serial",
        "id",
        "layout",
        "grid",
        "sku",
        "model",
        "part",
        "build",
        "version",
        "commit",
        "order",
        "ticket",
        "issue",
        "tracking",
        "imei",
        "iccid",
        "mac",
        "timestamp",
        "sd card",
        "business card",
        "sim card",
        "memory card",
        "graphics card",
        "video card",
        "sound card",
        "network card",
        "library card",
        "playing card",
        "report card",
        "score card",
        "index card",
    ])
});

/// Words for cards that pay, and for what is printed on them beside the number.
static CARD: LazyLock<Words> = LazyLock::new(|| {
    Words::of(&[
        "cvv",
        "cvv2",
        "cvc",
        "cvc2",
        "cc",
        "credit",
        "debit",
        "visa",
        "mastercard",
        "amex",
        "diners",
        "diners club",
        "maestro",
        "jcb",
        "rupay",
        "american express",
        "discover",
        "pan",
        "card_number",
        "card number",
        "card no",
        "cardnumber",
        "unionpay",
        "卡",
        "银行卡",
        "卡号",
        "信用卡",
        "カード",
        "카드",
        "karte",
        "kreditkarte",
        "carte",
        "tarjeta",
        "cartão",
        "carta",
        "карта",
        "карты",
        "charge",
        "payment",
        "pay",
    ])
});

/// Says whether a number is a card's.
pub(super) fn classify(number: &Number<'_>) -> Option<(&'static str, &'static str, f32)> {
    let digits = &number.digits;
    let lengths = issuer(digits)?;
    let fits =
        !number.plus && !number.check_letter && (lengths.0..=lengths.1).contains(&digits.len()) && grouped(&number.groups) && luhn(digits);
    let varied = digits.iter().any(|digit| Some(digit) != digits.first());
    if !fits || !varied {
        return None;
    }
    let named = number.context.names(&CARD) || number.context.names_last(&ANY_CARD, &NO_PAYMENT);
    let other = number.context.names_just_before(&OTHER);
    // Without a word for cards only the grouping that is printed on cards tells: one in ten long numbers passes Luhn's sum. Never columns of a
    // table.
    let typical = !number.in_row && number.groups.len() > 1 && matches!(digits.len(), 15 | 16 | 19);
    (named || !other && typical).then_some(("BANK_CARD", "BANK_CARD", if named { 0.98 } else { 0.85 }))
}

/// Lengths that go with the issuer number, shortest and longest.
///
/// # Source
/// The issuers' published ranges (ISO/IEC 7812 issuer identification numbers).
fn issuer(digits: &[u8]) -> Option<(usize, usize)> {
    let four = value(digits.get(..4)?);
    Some(match four {
        4000..=4999 => (13, 19),
        5100..=5599 | 2221..=2720 | 6060..=6069 | 5080..=5089 | 9792 => (16, 16),
        3400..=3499 | 3700..=3799 => (15, 15),
        3000..=3059 | 3095 | 3600..=3699 | 3800..=3999 => (14, 19),
        // Discover, UnionPay, RuPay, JCB, Mir, Maestro, Dankort.
        6011
        | 6440..=6499
        | 6500..=6599
        | 6200..=6299
        | 8100..=8199
        | 3500..=3589
        | 2200..=2204
        | 5018
        | 5019
        | 5020
        | 5038
        | 5893
        | 6304
        | 6759
        | 6761..=6763 => (16, 19),
        _ => return None,
    })
}

/// In one piece, or grouped as on a card: fours with a shorter rest, 4-6-5, 4-6-4, 6-13.
fn grouped(groups: &[usize]) -> bool {
    let fours =
        groups.len() >= 3 && groups.split_last().is_some_and(|(last, rest)| (1..=4).contains(last) && rest.iter().all(|group| *group == 4));
    groups.len() == 1 || fours || matches!(groups, [4, 6, 5 | 4] | [6, 10 | 13] | [8, 8 | 11])
}
