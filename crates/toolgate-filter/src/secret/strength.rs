//! Whether a value looks like a secret or like a stand-in for one.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, URL_SAFE_NO_PAD};
use serde::Deserialize;

use super::words::WORDS;

/// What a value must be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Check {
    /// Drawn at random: a word, a name or one letter repeated is not.
    #[default]
    Key,
    /// Anything: its form says enough.
    Form,
    /// Any word but those of examples.
    Chosen,
    /// Letters and digits, and no program text.
    Drawn,
    /// As a person chooses a password: no word alone.
    Password,
    /// Base64 of a name, a colon and a password.
    Login,
    /// A JSON Web Token: header, payload, signature, in base64url; without the first three letters of the header.
    Jwt,
}

impl Check {
    /// Bits a byte that a value must have where its rule does not say.
    pub(super) const fn least_entropy(self) -> f32 {
        match self {
            Self::Key => 3.0,
            Self::Drawn => 2.5,
            Self::Form | Self::Chosen | Self::Password | Self::Login | Self::Jwt => 0.0,
        }
    }

    /// Whether `value`, of which `first` is the part that decides, passes.
    pub(super) fn passes(self, value: &str, first: &str) -> bool {
        let has_digit = first.bytes().any(|byte| byte.is_ascii_digit());
        match self {
            Self::Form => true,
            Self::Key => (has_digit || value.len() >= 20 && classes(first) >= 2) && !is_stand_in(without_numbers(first)),
            Self::Chosen => !is_stand_in(first) && !WORDS.examples.contains(&value.to_ascii_lowercase()),
            Self::Drawn => has_digit && classes(first) >= 2 && !is_stand_in(first) && !is_program_text(first.trim_end_matches('=')),
            Self::Password => is_password(value, first),
            Self::Login => BASE64.decode(value).is_ok_and(|raw| {
                let colon = raw.iter().position(|byte| *byte == b':').unwrap_or(0);
                colon > 0 && raw.len() > colon + 3 && raw.iter().all(u8::is_ascii_graphic)
            }),
            Self::Jwt => {
                let mut parts = value.split('.').map(str::len);
                let header = format!("eyJ{}", first.split('.').next().unwrap_or_default());
                let begins = header.get(..header.len().min(64) & !3).and_then(|whole| URL_SAFE_NO_PAD.decode(whole).ok());
                begins.is_some_and(|raw| raw.starts_with(b"{"))
                    && parts.next().is_some()
                    && parts.next().is_some_and(|payload| payload >= 10)
                    && parts.next().is_some_and(|signature| signature >= 20)
            }
        }
    }
}

/// Base64 as clients write it, with its padding or without.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent));

/// Without the numbers of a team or an account before a dash or a slash: they are no stand-ins, whatever their digits.
fn without_numbers(mut body: &str) -> &str {
    while let Some((number, rest)) = body.split_once(['-', '/'])
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        body = rest;
    }
    body
}

/// Shannon entropy in bits per byte.
pub(super) fn entropy(value: &str) -> f32 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let total = f32::from(u16::try_from(value.len().clamp(1, 65_535)).unwrap_or(u16::MAX));
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f32::from(u16::try_from(*count).unwrap_or(u16::MAX)) / total;
            -share * share.log2()
        })
        .sum()
}

/// Whether a value stands in for a secret: a word of the trade, one character repeated, a template, a mask.
pub(super) fn is_stand_in(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let first = lower.bytes().next();
    let template = matches!(first, Some(b'<' | b'$' | b'{' | b'%' | b'[' | b'(' | b'@' | b'&' | b'|' | b'#' | b'~'))
        && lower.bytes().next_back().is_some_and(|last| matches!(last, b'>' | b'}' | b'%' | b']' | b')' | b'@'))
        || lower.starts_with("${")
        || lower.starts_with("$(")
        || lower.starts_with("{{")
        || lower.starts_with('<');
    template || lower.bytes().all(|byte| Some(byte) == first) || WORDS.stand_ins.iter().any(|word| lower.contains(word.as_str()))
}

/// How many kinds of characters a value mixes: lower, upper, digit, other.
pub(super) fn classes(value: &str) -> usize {
    let any = |test: fn(&u8) -> bool| usize::from(value.bytes().any(|byte| test(&byte)));
    any(u8::is_ascii_lowercase) + any(u8::is_ascii_uppercase) + any(u8::is_ascii_digit) + any(u8::is_ascii_punctuation)
}

/// Whether a value, of which `first` is the part that decides, is as a person chooses a password: not a word alone, for manuals show `-pmypass`.
pub(super) fn is_password(value: &str, first: &str) -> bool {
    let mixed = first.bytes().any(|byte| byte.is_ascii_digit()) && first.bytes().any(|byte| byte.is_ascii_alphabetic());
    let signs = first.bytes().any(|byte| byte.is_ascii_punctuation() && !matches!(byte, b'-' | b'_' | b'.' | b'/'));
    value.len() >= 6
        && !value.starts_with(['$', '-', '=', '%', ':', '@'])
        && !is_stand_in(first)
        && (mixed || signs && classes(first) >= 2)
        && (!is_program_text(first) || mixed && !first.contains(['(', '<', '[', '{', ':', '/', '.']))
        && entropy(first) >= 2.3
}

/// Whether a value reads as program text or prose rather than as a secret: a path, a call, a dotted or snake-case name.
pub(super) fn is_program_text(value: &str) -> bool {
    let mut letters_only = true;
    for byte in value.bytes() {
        if matches!(byte, b'(' | b')' | b'{' | b'}' | b'<' | b'>' | b'[' | b']') || byte == b'\\' {
            return true;
        }
        letters_only &= byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.' | b':' | b'-' | b'/' | b'*' | b'\'');
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    // `Vec::new`, `self.token`, `secret_name2`, `/etc/key2`, `https://host`: names joined by signs, hardly a digit.
    letters_only
        || value.contains("::")
        || value.contains("->")
        || value.contains("://")
        || (digits <= 2
            && value.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'.' | b'-' | b'/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_are_told_from_secrets() {
        for value in [
            "YOUR_API_KEY_HERE",
            "xxxxxxxxxxxx",
            "********",
            "${GITHUB_TOKEN}",
            "<token>",
            "AKIAIOSFODNN7EXAMPLE",
            "{{ secret }}",
            "%PASS%",
        ] {
            assert!(is_stand_in(value), "{value}");
        }
        for value in ["7h$Qp2vLz9!kWmRt", "tG4#xw8Kd!Zq1nPy", "$2b$12$abcQ", "hunter2"] {
            assert!(!is_stand_in(value), "{value}");
        }
    }

    #[test]
    fn program_text_is_told_from_secrets() {
        for value in ["self.token", "String::new()", "get_token", "Option<Token>", "secret_name2", "/etc/keys", "next.token1"] {
            assert!(is_program_text(value), "{value}");
        }
        for value in ["q7W%ncV2bR#8yHsJ", "m4/Zq8Tn+Kw2Xc6Vb1Lp9Rd3Fs7Gh5Jy0Nu/Ie4o", "correct-horse-42-battery-9x1"] {
            assert!(!is_program_text(value), "{value}");
        }
    }
}
