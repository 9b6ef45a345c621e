//! Which of the known words a text was likely meant to be: for every "did you mean".

use std::borrow::Cow;

/// The known word nearest to a text, where one is near enough to be meant. Case, `-` for `_` and `camelCase` are no difference; the first of
/// several that are equally near is given.
///
/// A comparison is bounded: of words or texts longer than [`COMPARED`] bytes only equal ones and beginnings count as near.
pub fn nearest<'k>(text: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    let folded = fold(text);
    let mut best: Option<(usize, &str)> = None;
    for word in known {
        let other = fold(word);
        let Some(distance) = distance(&folded, &other) else { continue };
        // Up to a third of the letters may be wrong; a prefix of three letters or more counts as near.
        let near = distance <= (word.len().max(text.len()) / 3).max(1) || (folded.len() >= 3 && other.starts_with(&*folded));
        if near && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, word));
        }
    }
    best.map(|(_, word)| word.to_owned())
}

/// The argument of these that a name means: the nearest by its letters, else one for which other tools have that name.
pub fn nearest_argument(name: &str, known: &[&str]) -> Option<String> {
    let synonyms = || SYNONYMS.iter().filter(|words| words.iter().any(|word| is_alike(word, name)));
    let by_synonym = || synonyms().find_map(|words| known.iter().find(|word| words.contains(word)));
    nearest(name, known.iter().copied()).or_else(|| by_synonym().map(|word| (*word).to_owned()))
}

/// Names that tools have for the same argument; the first is that of the built-in tools. Where a name has several meanings, the earlier row counts.
const SYNONYMS: [&[&str]; 15] = [
    &["query", "pattern", "regex", "search", "text", "q"],
    &["glob", "pattern", "include", "filter"],
    &["path", "file", "filename", "file_path", "filepath", "folder", "directory", "dir"],
    &["content", "text", "contents", "data"],
    &["body", "data", "payload", "content"],
    &["code", "script", "source", "program"],
    &["from", "source", "src", "old_path", "path"],
    &["to", "destination", "dest", "dst", "target", "new_path"],
    &["url", "uri", "link", "address", "href"],
    &["old_text", "old_string", "old_str", "old", "search"],
    &["new_text", "new_string", "new_str", "new", "replacement"],
    &["limit", "max_results", "max_length", "count", "lines", "size", "head_limit"],
    &["offset", "start_index", "start_line", "line"],
    &["sql", "query", "statement"],
    &["timeout_s", "timeout", "seconds", "time_limit"],
];

/// Whether two words differ in nothing but case, `-` for `_` and `camelCase`.
pub fn is_alike(one: &str, other: &str) -> bool {
    fold(one) == fold(other)
}

/// Words longer than this are not compared letter by letter: the work grows with the product of both lengths.
const COMPARED: usize = 64;

fn distance(one: &str, other: &str) -> Option<usize> {
    if one == other {
        return Some(0);
    }
    if one.len().max(other.len()) > COMPARED {
        return other.strip_prefix(one).map(str::len);
    }
    Some(strsim::damerau_levenshtein(one, other))
}

fn fold(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| c == '-' || c.is_uppercase()) {
        return Cow::Borrowed(text);
    }
    let mut folded = String::with_capacity(text.len() + 4);
    let mut after_small = false;
    for letter in text.chars() {
        if after_small && letter.is_uppercase() {
            folded.push('_');
        }
        after_small = letter.is_lowercase();
        match letter {
            '-' => folded.push('_'),
            letter => folded.extend(letter.to_lowercase()),
        }
    }
    Cow::Owned(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_through_the_usual_slips() {
        let known = ["read_file", "write_file", "list_directory", "README.md", "main.py"];
        let near = |text: &str| nearest(text, known);
        for (text, meant) in [
            ("read_fil", "read_file"),
            ("readFile", "read_file"),
            ("read-file", "read_file"),
            ("ReadFile", "read_file"),
            ("wirte_file", "write_file"),
            ("list", "list_directory"),
            ("readme.md", "README.md"),
            ("Main.py", "main.py"),
            ("mian.py", "main.py"),
        ] {
            assert_eq!(near(text).as_deref(), Some(meant), "{text}");
        }
        assert_eq!(near("bash"), None);
        assert_eq!(near(""), None);
    }

    #[test]
    fn an_argument_is_found_by_its_letters_or_by_a_name_of_other_tools() {
        let search = ["context_lines", "glob", "max_results", "path", "query"];
        for (name, known, meant) in [
            ("pattern", &search[..], Some("query")),
            ("regex", &search, Some("query")),
            ("pth", &search, Some("path")),
            ("filePath", &search, Some("path")),
            ("limit", &search, Some("max_results")),
            ("pattern", &["depth", "glob", "path"], Some("glob")),
            ("old_string", &["new_text", "old_text"], Some("old_text")),
            ("pattern", &["path"], None),
            ("colour", &search, None),
        ] {
            assert_eq!(nearest_argument(name, known).as_deref(), meant, "{name}");
        }
    }

    #[test]
    fn long_words_are_compared_by_their_beginning_alone() {
        let long = "x".repeat(5000);
        let longer = format!("{long}.txt");
        assert_eq!(nearest(&long, [longer.as_str()]), Some(longer.clone()));
        assert_eq!(nearest(&"y".repeat(5000), [long.as_str()]), None);
        assert_eq!(nearest("short", [long.as_str()]), None);
    }
}
