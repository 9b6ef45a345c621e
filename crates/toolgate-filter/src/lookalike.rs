//! Letters that are drawn like a Latin letter, as `data/lookalikes.toml` lists them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    always: BTreeMap<char, String>,
    mixed: BTreeMap<char, String>,
}

/// Letters with their Latin one, sorted.
type Letters = Vec<(char, char)>;

/// The letters of both lists; a test reads the file.
static LETTERS: LazyLock<(Letters, Letters)> = LazyLock::new(|| {
    let sorted = |list: BTreeMap<char, String>| {
        let mut letters: Vec<_> = list.iter().flat_map(|(latin, letters)| letters.chars().map(|letter| (letter, *latin))).collect();
        letters.sort_unstable();
        letters
    };
    let File { always, mixed } = toml::from_str(include_str!("../data/lookalikes.toml")).unwrap_or_default();
    (sorted(always), sorted(mixed))
});

fn among(letters: &[(char, char)], character: char) -> Option<char> {
    let place = letters.binary_search_by_key(&character, |(letter, _)| *letter).ok()?;
    letters.get(place).map(|(_, latin)| *latin)
}

/// The Latin letter for one with a stroke or a ligature.
pub(crate) fn always(character: char) -> Option<char> {
    among(&LETTERS.0, character)
}

/// The Latin letter that a Cyrillic, Greek or Armenian letter is drawn like. Applied only inside words that also hold Latin letters.
pub(crate) fn latin(character: char) -> Option<char> {
    among(&LETTERS.1, character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read() {
        assert_eq!((always('\u{142}'), latin('\u{430}'), latin('a')), (Some('l'), Some('a'), None));
    }
}
