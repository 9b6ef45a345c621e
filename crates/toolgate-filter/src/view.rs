//! A view: the text as a reader who is not fooled would read it, with the way back to the source.
//!
//! Rules are written once, for plain lower-case words; the views undo case, width, ornament, look-alike letters and
//! invisible characters, so that a rule need not know them.

use unicode_normalization::char::decompose_compatible;

use super::finding::{ceil, floor};
use super::lookalike;

/// A normalised text and, for each of its bytes, where that came from.
#[derive(Debug, Default)]
pub(crate) struct View {
    /// The normalised text.
    pub(crate) text: String,
    /// Pieces, ascending. A piece advances byte by byte on both sides, or stands for one source span as a whole.
    marks: Vec<Piece>,
    /// A view of something decoded stands for one span as a whole.
    whole: Option<(usize, usize)>,
    /// Whether it holds many short decoded texts, each of which stands for its own span.
    merged: bool,
}

/// A run of the view and where it came from.
#[derive(Debug, Clone, Copy)]
struct Piece {
    view: usize,
    source: usize,
    /// Length of the source span that one changed character stands for; 0 where both sides advance alike.
    whole: usize,
}

impl View {
    /// A view of something decoded: every place in it stands for the whole encoded span.
    pub(crate) fn of_decoded(text: &str, start: usize, end: usize) -> Self {
        let mut view = fold(text);
        view.whole = Some((start, end));
        view
    }

    /// Whether it is of something decoded.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole.is_some()
    }

    /// Whether it holds many short decoded texts.
    pub(crate) fn is_merged(&self) -> bool {
        self.merged
    }

    /// The views of longer decoded texts, and one view of all short ones (at most `short` bytes), which would each cost more
    /// to look through than they hold.
    pub(crate) fn merge(views: Vec<Self>, short: usize) -> Vec<Self> {
        let mut merged = Self { merged: true, ..Self::default() };
        let mut kept = Vec::new();
        for view in views {
            match view.whole {
                Some((start, end)) if view.text.len() <= short => {
                    merged.marks.push(Piece { view: merged.text.len(), source: start, whole: end.saturating_sub(start).max(1) });
                    merged.text.push_str(&view.text);
                    // Nothing is said across the end of one of them.
                    merged.text.push_str(".\n\n");
                }
                _ => kept.push(view),
            }
        }
        if !merged.text.is_empty() {
            kept.push(merged);
        }
        kept
    }

    /// Appends a character that came from `length` bytes at `at` in the source.
    pub(crate) fn push(&mut self, character: char, at: usize, length: usize) {
        let view = self.text.len();
        let alike = length == character.len_utf8();
        let runs_on = alike && self.marks.last().is_some_and(|last| last.whole == 0 && last.source + (view - last.view) == at);
        if !runs_on {
            self.marks.push(Piece { view, source: at, whole: if alike { 0 } else { length.max(1) } });
        }
        self.text.push(character);
    }

    /// Appends ASCII that came from `at` in the source, in lower case.
    fn push_plain(&mut self, run: &str, at: usize) {
        let view = self.text.len();
        if !self.marks.last().is_some_and(|last| last.whole == 0 && last.source + (view - last.view) == at) {
            self.marks.push(Piece { view, source: at, whole: 0 });
        }
        self.text.push_str(run);
        if let Some(run) = self.text.get_mut(view..) {
            run.make_ascii_lowercase();
        }
    }

    /// The span of the source, on character boundaries, that a span of the view stands for.
    pub(crate) fn source(&self, text: &str, start: usize, end: usize) -> (usize, usize) {
        if let Some((start, end)) = self.whole {
            return (floor(text, start), ceil(text, end));
        }
        let piece = |next: usize| next.checked_sub(1).and_then(|place| self.marks.get(place));
        let first = piece(self.marks.partition_point(|piece| piece.view <= start)).map_or(0, |piece| match piece.whole {
            0 => piece.source + (start - piece.view),
            _ => piece.source,
        });
        let last = piece(self.marks.partition_point(|piece| piece.view < end)).map_or(0, |piece| match piece.whole {
            0 => piece.source + (end - piece.view),
            whole => piece.source + whole,
        });
        let first = floor(text, first);
        (first, ceil(text, last.max(first)))
    }
}

/// The main view: lower case, compatibility forms resolved, accents and invisible characters gone, look-alikes in words
/// of mixed script resolved, terminal sequences gone, runs of blanks as one.
pub(crate) fn fold(source: &str) -> View {
    super::work::read(source.len());
    let mut view = View { text: String::with_capacity(source.len()), ..View::default() };
    let bytes = source.as_bytes();
    let mut mixed_until = 0;
    let mut plain_until = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte.is_ascii() {
            match byte {
                b'\x1b' => {
                    let rest = bytes.get(at + 1..).unwrap_or_default();
                    let length = terminal_sequence(rest);
                    // A colour may stand inside a word; what is concealed, erased or put elsewhere begins a new one.
                    let sequence = rest.get(..length).unwrap_or_default();
                    if sequence.first() == Some(&b'[') && (sequence == b"[8m" || !sequence.ends_with(b"m")) {
                        blank(&mut view, b' ', at);
                    }
                    at += length;
                }
                b'\t'..=b'\r' | b' ' => blank(&mut view, byte, at),
                b'\0'..=b'\x1f' | b'\x7f' => {}
                _ => {
                    let end = at + plain_length(bytes.get(at..).unwrap_or_default());
                    view.push_plain(source.get(at..end).unwrap_or_default(), at);
                    at = end;
                    continue;
                }
            }
            at += 1;
            continue;
        }
        let Some(character) = source.get(at..).and_then(|rest| rest.chars().next()) else { break };
        let length = character.len_utf8();
        if at >= mixed_until.max(plain_until) && lookalike::latin(character).is_some() {
            let end = at + word_length(source.get(at..).unwrap_or_default());
            if ends_in_latin(&view.text) || holds_latin(source.get(at..end).unwrap_or_default()) {
                mixed_until = end;
            } else {
                plain_until = end;
            }
        }
        other(&mut view, character, at, length, at < mixed_until);
        at += length;
    }
    view
}

/// Bytes of printable ASCII with single spaces between, from a printable one on.
fn plain_length(rest: &[u8]) -> usize {
    let mut last = b'x';
    rest.iter()
        .take_while(|byte| {
            let plain = matches!(byte, 0x21..=0x7e) || (**byte == b' ' && last != b' ');
            last = **byte;
            plain
        })
        .count()
}

/// Appends what a character beyond ASCII stands for.
fn other(view: &mut View, character: char, at: usize, length: usize, mixed: bool) {
    match character {
        // Han and Hangul have no case and no ornament; decomposing Hangul would only cost.
        '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => view.push(character, at, length),
        // The same for Russian letters, whose lower case lies one row further; the one with a breve is two characters and takes the long way.
        '\u{410}'..='\u{418}' | '\u{41a}'..='\u{438}' | '\u{43a}'..='\u{44f}' => {
            let lower = if character < '\u{430}' { char::from_u32(u32::from(character) + 0x20).unwrap_or(character) } else { character };
            let lower = lookalike::always(lower).or_else(|| lookalike::latin(lower).filter(|_| mixed)).unwrap_or(lower);
            view.push(lower, at, length);
        }
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => blank(view, b' ', at),
        '\u{85}' | '\u{2028}' | '\u{2029}' => blank(view, b'\n', at),
        '\u{2018}'..='\u{201b}' | '\u{2032}' => view.push('\'', at, length),
        '\u{201c}'..='\u{201f}' | '\u{2033}' => view.push('"', at, length),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => view.push('-', at, length),
        // Tag characters spell ASCII that nobody sees (used outside flags only to smuggle text).
        '\u{e0020}'..='\u{e007e}' => {
            let shown = u8::try_from(u32::from(character) - 0xe_0000).unwrap_or(b' ');
            view.push(char::from(shown.to_ascii_lowercase()), at, length);
        }
        _ if !super::escape::is_shown_as_is(character) => {}
        _ => decompose_compatible(character, |part| {
            if !is_ornament(part) {
                for lower in part.to_lowercase().filter(|lower| !is_ornament(*lower)) {
                    let lower = lookalike::always(lower).or_else(|| lookalike::latin(lower).filter(|_| mixed)).unwrap_or(lower);
                    view.push(lower, at, length);
                }
            }
        }),
    }
}

/// Collapses blanks: one space for a run of them, at most two line ends.
fn blank(view: &mut View, byte: u8, at: usize) {
    let last = view.text.as_bytes().last().copied().unwrap_or(b'\n');
    let line_end = matches!(byte, b'\n' | b'\r' | b'\x0b' | b'\x0c');
    if line_end && !view.text.ends_with("\n\n") {
        view.push('\n', at, 1);
    } else if !line_end && last != b' ' && last != b'\n' {
        view.push(' ', at, 1);
    }
}

/// Accents and vowel points that readers of the script may leave out. Indic and Thai signs are letters and stay.
const fn is_ornament(character: char) -> bool {
    matches!(character,
        '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{20d0}'..='\u{20ff}')
}

fn ends_in_latin(text: &str) -> bool {
    text.as_bytes().last().is_some_and(u8::is_ascii_lowercase)
}

fn holds_latin(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

fn word_length(rest: &str) -> usize {
    rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len())
}

/// Bytes after ESC that belong to its sequence (ECMA-48: CSI … final byte, OSC … BEL or ST, else one byte).
pub(crate) fn terminal_sequence(rest: &[u8]) -> usize {
    match rest.first() {
        Some(b'[') => {
            let parameters = rest.iter().skip(1).take(32).take_while(|byte| (0x20..=0x3f).contains(*byte)).count();
            match rest.get(1 + parameters) {
                Some(0x40..=0x7e) => 2 + parameters,
                _ => 1,
            }
        }
        Some(b']') => rest.iter().take(256).position(|byte| matches!(byte, 7 | 0x1b)).map_or(1, |end| end + 1),
        Some(0x20..=0x7e) => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn disguises_fold_to_plain_words() {
        for (disguised, plain) in [
            ("IGNORE  all\r\n\r\n\r\nrules", "ignore all\n\nrules"),
            ("I\u{200b}g\u{200d}no\u{ad}re", "ignore"),
            ("Y\u{43e}u \u{430}r\u{435} n\u{43e}w", "you are now"),
            ("\u{1d5ec}\u{1d5fc}\u{1d602}", "you"),
            ("\u{ff29}gn\u{f6}r\u{e9}", "ignore"),
            ("ok\u{1b}[8mhidden\u{1b}[0m", "ok hidden"),
            ("i\u{1b}[31mgnore\u{1b}[2Kall", "ignore all"),
            ("\u{e0049}\u{e0067}\u{e006e}", "ign"),
            ("don’t", "don't"),
        ] {
            assert_eq!(fold(disguised).text, fold(plain).text, "{disguised:?}");
        }
        assert_eq!(fold("Кира живёт").text, "кира живет");
    }

    #[test]
    fn a_span_of_the_view_leads_back_to_its_source() {
        let text = "x  \u{200b}I\u{200b}g\u{200b}nore\u{200b} é!";
        let view = fold(text);
        let at = view.text.find("ignore").unwrap();
        let (start, end) = view.source(text, at, at + 6);
        assert_eq!(text.get(start..end).unwrap(), "I\u{200b}g\u{200b}nore");
    }

    #[test]
    fn short_decoded_texts_share_a_view_and_each_leads_back_to_its_own_span() {
        let (long, source) = ("a long one ".repeat(9), "0123456789".repeat(4));
        let views = vec![View::of_decoded("One", 3, 9), View::of_decoded(&long, 9, 20), View::of_decoded("two", 30, 36)];
        let merged = View::merge(views, 8);
        let texts: Vec<&str> = merged.iter().map(|view| view.text.as_str()).collect();
        assert_eq!(texts, [long.as_str(), "one.\n\ntwo.\n\n"]);
        let spans: Vec<(usize, usize)> =
            [(0, 3), (1, 2), (6, 9)].map(|(start, end)| merged.last().unwrap().source(&source, start, end)).to_vec();
        assert_eq!(spans, [(3, 9), (3, 9), (30, 36)]);
    }

    proptest! {
        #[test]
        fn every_span_leads_back_onto_character_boundaries(text in any::<String>(), a in 0usize..200, b in 0usize..200) {
            let view = fold(&text);
            let (start, end) = view.source(&text, a.min(b), a.max(b));
            prop_assert!(start <= end && text.get(start..end).is_some());
        }
    }
}
