//! Characters that nobody sees: which are at home where they stand, which are not, and taking those out.

use super::finding::{Finding, Kind};
use super::is_shown_as_is;
use super::view::terminal_sequence;

/// One invisible thing that is not at home where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Intruder {
    start: usize,
    end: usize,
    type_: &'static str,
    /// Whether it stands inside a word of letters.
    in_word: bool,
}

/// Bytes between two intruders of one finding.
const NEAR: usize = 48;

/// Finds hidden characters that say something by their number or kind; a single zero-width space says nothing.
pub(super) fn findings(text: &str, out: &mut Vec<Finding>) {
    let intruders = intruders(text);
    let mut rest = intruders.as_slice();
    while let Some((first, after)) = rest.split_first() {
        let mut end = first.end;
        let same = after.iter().take_while(|next| {
            let near = next.type_ == first.type_ && next.start <= end + NEAR;
            if near {
                end = next.end;
            }
            near
        });
        let more = same.count();
        let group = rest.get(..=more).unwrap_or_default();
        if let Some(score) = weight(group) {
            out.push(Finding { kind: Kind::HiddenText, type_: first.type_, sub: "", start: first.start, end, score });
        }
        rest = rest.get(more + 1..).unwrap_or_default();
    }
}

fn weight(group: &[Intruder]) -> Option<f32> {
    let first = group.first()?;
    let in_words = group.iter().filter(|intruder| intruder.in_word).count();
    match first.type_ {
        "bidi_override" | "terminal_conceal" => Some(0.8),
        "tag_characters" if group.len() >= 3 => Some(0.95),
        "variation_selectors" if group.len() >= 4 => Some(0.9),
        "bidi" if group.len() >= 2 => Some(0.5),
        "zero_width" if in_words >= 4 => Some(0.7),
        "soft_hyphen" if in_words >= 8 => Some(0.55),
        _ => None,
    }
}

/// The text without the hidden characters that are not at home, and how many those were.
pub fn strip(text: &str) -> (String, usize) {
    let intruders = intruders(text);
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for intruder in &intruders {
        out.push_str(text.get(from..intruder.start).unwrap_or_default());
        from = intruder.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    (out, intruders.len())
}

fn intruders(text: &str) -> Vec<Intruder> {
    let mut found = Vec::new();
    let suspicious = |byte: &u8| *byte >= 0x80 || (*byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r')) || *byte == 0x7f;
    if !text.as_bytes().iter().any(suspicious) {
        return found;
    }
    let right_to_left = text.chars().any(is_right_to_left);
    let mut before = '\0';
    let mut flag = false;
    let mut rest = text.char_indices().peekable();
    while let Some((at, character)) = rest.next() {
        let next = rest.peek().map_or('\0', |(_, next)| *next);
        let mut end = at + character.len_utf8();
        flag = character == '\u{1f3f4}' || flag && matches!(character, '\u{e0020}'..='\u{e007f}');
        if is_shown_as_is(character) || matches!(character, '\n' | '\t' | '\r') {
            before = character;
            continue;
        }
        if let Some(type_) = kind_of(character, before, next, at, right_to_left, flag) {
            let mut type_ = type_;
            if character == '\u{1b}' {
                let length = terminal_sequence(text.as_bytes().get(end..).unwrap_or_default());
                let sequence = text.get(end..end + length).unwrap_or_default();
                if sequence == "[8m" || sequence.starts_with("[8;") || sequence.contains(";8m") {
                    type_ = "terminal_conceal";
                }
                end = super::finding::ceil(text, end + length);
                while rest.peek().is_some_and(|(place, _)| *place < end) {
                    rest.next();
                }
            }
            found.push(Intruder { start: at, end, type_, in_word: before.is_alphabetic() && next.is_alphabetic() });
        } else {
            before = character;
        }
    }
    found
}

/// What a hidden character is when it is not at home between its neighbours.
fn kind_of(character: char, before: char, next: char, at: usize, right_to_left: bool, flag: bool) -> Option<&'static str> {
    match character {
        '\u{200c}' | '\u{200d}' if joins_letters(before) || joins_letters(next) => None,
        '\u{200d}' if is_pictograph(before) && is_pictograph(next) => None,
        '\u{200b}' if breaks_lines(before) || breaks_lines(next) => None,
        '\u{feff}' if at == 0 => None,
        '\u{feff}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2064}'
        | '\u{180e}'
        | '\u{34f}'
        | '\u{206a}'..='\u{206f}' => Some("zero_width"),
        '\u{ad}' => Some("soft_hyphen"),
        '\u{202d}' | '\u{202e}' => Some("bidi_override"),
        '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202c}' | '\u{2066}'..='\u{2069}' if right_to_left => None,
        // What opens a direction can turn the text after it; marks and ends alone cannot.
        '\u{202a}' | '\u{202b}' | '\u{2066}'..='\u{2068}' => Some("bidi"),
        '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202c}' | '\u{2069}' => Some("direction_mark"),
        '\u{fe00}'..='\u{fe0f}' if !before.is_ascii_alphabetic() && before != '\0' && !is_selector(before) => None,
        '\u{e0100}'..='\u{e01ef}' if matches!(before, '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}') => None,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => Some("variation_selectors"),
        '\u{e0000}'..='\u{e007f}' if flag => None,
        '\u{e0000}'..='\u{e0fff}' => Some("tag_characters"),
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Some("control"),
        _ => None,
    }
}

const fn is_selector(character: char) -> bool {
    matches!(character, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Scripts in which joiners belong to the spelling: Arabic and its kin, the scripts of India and South-East Asia, Mongolian.
const fn joins_letters(character: char) -> bool {
    matches!(character, '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{a8e0}'..='\u{a8ff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Scripts without blanks, where a zero-width space tells where a line may break.
const fn breaks_lines(character: char) -> bool {
    matches!(character, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

const fn is_right_to_left(character: char) -> bool {
    matches!(character, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

const fn is_pictograph(character: char) -> bool {
    matches!(character, '\u{2190}'..='\u{2bff}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn joiners_flags_and_marks_at_home_stay() {
        for text in [
            "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
            "क\u{94d}\u{200d}षेत्र",
            "👩\u{200d}💻",
            "❤\u{fe0f}",
            "\u{200f}שלום\u{200f}",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "ไทย\u{200b}ไทย",
        ] {
            assert_eq!(strip(text), (text.to_owned(), 0), "{text:?}");
        }
    }

    #[test]
    fn smuggled_and_concealing_characters_go_and_are_named() {
        let text = "a\u{e0048}\u{e0069}\u{e0021}b \u{202e}x i\u{200b}g\u{200b}n\u{200b}o\u{200b}re ok\u{1b}[8mhidden\u{1b}[0m";
        assert_eq!(strip(text).0, "ab x ignore okhidden");
        let mut found = Vec::new();
        findings(text, &mut found);
        let types: Vec<_> = found.iter().map(|finding| finding.type_).collect();
        assert_eq!(types, ["tag_characters", "bidi_override", "zero_width", "terminal_conceal"]);
    }

    proptest! {
        #[test]
        fn stripping_twice_is_stripping_once(text in "([a-z ]|[\u{200b}-\u{200f}]|[\u{202a}-\u{202e}]|\u{1b}\\[8m|\u{fe0f}|\u{e0041}|\u{5d0}|\\PC){0,30}") {
            let once = strip(&text).0;
            prop_assert_eq!(&strip(&once).0, &once);
        }
    }
}
