//! A long text in pieces, by characters.

/// One piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice<'a> {
    /// The piece.
    pub text: &'a str,
    /// Characters of the whole text.
    pub total: usize,
    /// Where the next piece starts; `None` when this is the last.
    pub next: Option<usize>,
}

/// The piece of `text` from character `start`, at most `length` characters long. Counted in Unicode scalar values, and never cut between a letter
/// and its combining marks or inside an emoji sequence as long as that leaves anything.
pub fn slice(text: &str, start: usize, length: usize) -> Slice<'_> {
    let total = text.chars().count();
    let offset = |position: usize| text.char_indices().nth(position).map_or(text.len(), |(at, _)| at);
    let start = start.min(total);
    let mut end = start.saturating_add(length).min(total);
    let joined = |position: usize| {
        text.chars().nth(position).is_some_and(continues) || (position > 0 && text.chars().nth(position - 1) == Some('\u{200d}'))
    };
    let latest = end;
    while end > start + 1 && end < total && latest - end < 32 && joined(end) {
        end -= 1;
    }
    let piece = text.get(offset(start)..offset(end)).unwrap_or_default();
    Slice { text: piece, total, next: (end < total && end > start).then_some(end) }
}

/// Combining marks, variation selectors, joiners and skin tones: they change the character before them.
const fn continues(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{64b}'..='\u{65f}' | '\u{93a}'..='\u{94f}' | '\u{e31}' | '\u{e34}'..='\u{e3a}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{200d}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}'
        | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_put_together_are_the_text() {
        let text = "añb👩‍🚀cde\u{301}f 日本";
        for length in 1..=6 {
            let (mut start, mut whole) = (0, String::new());
            loop {
                let piece = slice(text, start, length);
                assert_eq!(piece.total, text.chars().count());
                whole.push_str(piece.text);
                match piece.next {
                    Some(next) => start = next,
                    None => break,
                }
            }
            assert_eq!(whole, text);
        }
        assert_eq!(slice("e\u{301}e\u{301}", 0, 3), Slice { text: "e\u{301}", total: 4, next: Some(2) });
    }

    #[test]
    fn a_start_past_the_end_is_empty_and_the_last() {
        assert_eq!(slice("ab", 5, 10), Slice { text: "", total: 2, next: None });
        assert_eq!(slice("ab", 0, usize::MAX), Slice { text: "ab", total: 2, next: None });
        assert_eq!(slice("ab", 0, 0), Slice { text: "", total: 2, next: None });
    }
}
