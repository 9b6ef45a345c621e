//! Whether a value looks like a secret or like a stand-in for one.

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

/// What stands where a secret will be put, or shows its form.
const STAND_INS: &[&str] = &[
    "example",
    "xxxx",
    "****",
    "....",
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "your_",
    "your-",
    "yourkey",
    "yourpass",
    "yourtoken",
    "yoursecret",
    "dummy",
    "redacted",
    "replace",
    "insert_",
    "insert-",
    "my_secret",
    "my-secret",
    "mysecret",
    "mypassword",
    "my_password",
    "secret_key",
    "secretkey",
    "api_key",
    "apikey",
    "api-key",
    "_here",
    "-here",
    "password",
    "123456789",
    "abcdefgh",
    "process.env",
    "os.environ",
    "getenv",
    "secrets.",
    "vault:",
    "foobar",
    "undefined",
    "not_set",
    "notset",
    "deadbeef",
    "[secret:",
    "base64",
    "token",
    "secret",
];

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
    template || lower.bytes().all(|byte| Some(byte) == first) || STAND_INS.iter().any(|word| lower.contains(word))
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
