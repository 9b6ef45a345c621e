//! Whether everything one pattern matches is matched by another. The answer "no" may be wrong where two patterns overlap in odd ways; the
//! answer "yes" never is.

use super::segment::Segment;

/// Whether the segments of `wide` match every path that those of `narrow` match.
pub(super) fn is_within(narrow: &[Segment], wide: &[Segment]) -> bool {
    // `row[j]`: the rest of `wide` covers `narrow` from j on; filled from the end.
    let ends: Vec<bool> = std::iter::repeat_n(false, narrow.len()).chain([true]).collect();
    let mut below = ends;
    for segment in wide.iter().rev() {
        let mut row = vec![false; narrow.len() + 1];
        for at in (0..=narrow.len()).rev() {
            let here = below.get(at).copied().unwrap_or(false);
            let next = |row: &[bool]| row.get(at + 1).copied().unwrap_or(false);
            let holds = match (segment, narrow.get(at)) {
                // `**` stands for nothing here, or takes whatever comes, another `**` too.
                (Segment::Any, other) => here || other.is_some() && next(&row),
                (_, None | Some(Segment::Any)) => false,
                (one, Some(other)) => one.covers(other) && next(&below),
            };
            if let Some(cell) = row.get_mut(at) {
                *cell = holds;
            }
        }
        below = row;
    }
    below.first().copied().unwrap_or(false)
}

/// The entries of two lists that both open: each that lies within one of the other list.
pub(super) fn narrowed<T: Clone + PartialEq>(old: &[T], new: &[T], within: impl Fn(&T, &T) -> bool) -> Vec<T> {
    let mut both: Vec<T> = old.iter().filter(|entry| new.iter().any(|other| within(entry, other))).cloned().collect();
    for entry in new.iter().filter(|entry| old.iter().any(|other| within(entry, other))) {
        if !both.contains(entry) {
            both.push(entry.clone());
        }
    }
    both
}

/// Everything of both lists.
pub(super) fn joined<T: Clone + PartialEq>(old: &[T], new: &[T]) -> Vec<T> {
    let mut all = old.to_vec();
    for entry in new {
        if !all.contains(entry) {
            all.push(entry.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::manifest::{AllowPattern, NamePattern};
    use crate::model::RelPath;

    fn within(narrow: &str, wide: &str) -> bool {
        AllowPattern::parse(narrow).unwrap().is_within(&AllowPattern::parse(wide).unwrap())
    }

    #[test]
    fn a_narrower_pattern_is_told_from_a_wider_one() {
        for (narrow, wide, expected) in [
            ("src/**", "**", true),
            ("**", "src/**", false),
            ("src/a.rs", "src/*", true),
            ("src/*", "src/**", true),
            ("src/**", "src/*", false),
            ("a/b/*.txt", "a/**/*.txt", true),
            ("a/**/*.txt", "**", true),
            ("a/**/b/**", "a/**", true),
            ("*.txt", "*.md", false),
            ("a", "a/**", true),
            ("a/**", "a", false),
            ("**/x", "**/*", true),
            ("log1", "log?", true),
        ] {
            assert_eq!(within(narrow, wide), expected, "{narrow} in {wide}");
        }
        assert!(NamePattern::new("read_file").is_within(&NamePattern::new("read_*")));
        assert!(!NamePattern::new("*").is_within(&NamePattern::new("read_*")));
    }

    proptest! {
        #[test]
        fn what_lies_within_matches_nothing_that_the_wider_does_not(
            narrow in prop::collection::vec(prop::sample::select(vec!["a", "b", "*", "**", "?", "[a-b]", "a*"]), 1..5),
            wide in prop::collection::vec(prop::sample::select(vec!["a", "b", "*", "**", "?", "[a-b]", "a*"]), 1..5),
            path in prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "ab"]), 0..5),
        ) {
            let (narrow, wide) = (AllowPattern::parse(&narrow.join("/")).unwrap(), AllowPattern::parse(&wide.join("/")).unwrap());
            let path = RelPath::parse(&path.join("/")).unwrap_or(RelPath::ROOT);
            prop_assert!(!narrow.is_within(&wide) || !narrow.matches(&path) || wide.matches(&path));
        }
    }
}
