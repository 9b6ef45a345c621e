//! The words of `data/secrets/words.toml`.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

/// The words, in lower case.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, serde(deny_unknown_fields))]
pub(super) struct Words {
    pub(super) stand_ins: Vec<String>,
    pub(super) examples: Vec<String>,
    pub(super) lookup_keys: Vec<String>,
    pub(super) names: Names,
}

/// Names of secrets, by what they promise about their values.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, serde(deny_unknown_fields))]
pub(super) struct Names {
    pub(super) password: Vec<String>,
    pub(super) key: Vec<String>,
    pub(super) named_key: Vec<String>,
    no_keys: String,
    no_values: String,
}

/// Every word; a test reads the file.
pub(super) static WORDS: LazyLock<Words> =
    LazyLock::new(|| toml::from_str(include_str!("../../data/secrets/words.toml")).unwrap_or_default());

/// What [`Names::no_keys`] and [`Names::no_values`] match.
static OTHERS: LazyLock<[Option<Regex>; 2]> =
    LazyLock::new(|| [&WORDS.names.no_keys, &WORDS.names.no_values].map(|form| Regex::new(form).ok()));

/// Whether a name, with what stands before it, or its value are those of something else than a key.
pub(super) fn is_no_key(name: &str, value: &str) -> bool {
    let [names, values] = &*OTHERS;
    names.as_ref().is_some_and(|names| names.is_match(name)) || values.as_ref().is_some_and(|values| values.is_match(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read() {
        let read = toml::from_str::<Words>(include_str!("../../data/secrets/words.toml"));
        assert!(read.is_ok(), "{:?}", read.err());
        assert!(OTHERS.iter().all(Option::is_some));
    }
}
