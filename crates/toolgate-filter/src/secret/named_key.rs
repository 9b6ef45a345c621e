//! Keys that only their own name calls so: `vendorKey`, `WEATHER_KEY`. Most names that end in "key" are looked up by; these are told apart.

use super::strength::{entropy, is_program_text};
use super::words::WORDS;

/// Whether a name that ends in "key" is made of several words, none of which says that things are looked up by it or that it is public.
pub(super) fn names_a_credential(name: &str) -> bool {
    let Some(before) = name.len().checked_sub(3).and_then(|at| name.get(..at)) else { return false };
    let mut words: Vec<String> = vec![String::new()];
    let mut last = '_';
    for character in name.chars() {
        let begins = matches!(character, '_' | '-') || character.is_ascii_uppercase() && !last.is_ascii_uppercase();
        if begins {
            words.push(String::new());
        }
        if let (Some(word), true) = (words.last_mut(), character.is_ascii_alphanumeric()) {
            word.push(character.to_ascii_lowercase());
        }
        last = character;
    }
    let compound = !before.is_empty() && words.last().is_some_and(|word| word == "key");
    compound && !words.iter().any(|word| WORDS.lookup_keys.contains(word))
}

/// Whether a name is one small word before "key": `vendorkey`.
pub(super) fn names_a_service(name: &str) -> bool {
    name.strip_suffix("key").is_some_and(|word| {
        word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_lowercase()) && !WORDS.lookup_keys.iter().any(|known| known == word)
    })
}

/// Whether a value was drawn at random: base64 of all three kinds of characters, a long run of digits and letters, or hexadecimal.
pub(super) fn is_drawn(token: &str) -> bool {
    let alphabet = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-'));
    let any = |test: fn(&u8) -> bool| token.bytes().any(|byte| test(&byte));
    let kinds =
        [u8::is_ascii_lowercase as fn(&u8) -> bool, u8::is_ascii_uppercase, u8::is_ascii_digit].iter().filter(|kind| any(**kind)).count();
    let plain = any(u8::is_ascii_digit) && token.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let digits = token.bytes().filter(u8::is_ascii_digit).count();
    alphabet
        && digits >= 2
        && (kinds == 3 && token.len() >= 16 && entropy(token) >= 3.4
            || plain && kinds >= 2 && token.len() >= 24 && digits >= 4 && entropy(token) >= 3.3)
        && !is_program_text(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_credentials_are_told_from_names_to_look_up_by() {
        for name in ["vendorKey", "mapsKey", "WEATHER_KEY", "deepl-key", "datadog2Key"] {
            assert!(names_a_credential(name), "{name}");
        }
        for name in ["key", "Key", "monkey", "primaryKey", "cache_key", "S3Key", "PUBLIC_KEY", "Sec-WebSocket-Key", "idempotency-key"] {
            assert!(!names_a_credential(name), "{name}");
        }
    }

    #[test]
    fn drawn_values_are_told_from_words_paths_and_numbers() {
        for value in ["q7WxTnc2V8bRy4HsJ5", "b9f3c27e4a1d8f60b7e52c9a13d4f8e6", "m4/Zq8Tn+Kw2Xc6Vb1Lp9Rd3="] {
            assert!(is_drawn(value), "{value}");
        }
        for value in [
            "user_profile_v2_settings_2024",
            "7f3c27e4-a1d8-4f60-b7e5-2c9a13d4f8e6",
            "uploads/2024/a.png",
            "20240131235959",
            "createdAtDescending",
        ] {
            assert!(!is_drawn(value), "{value}");
        }
    }
}
