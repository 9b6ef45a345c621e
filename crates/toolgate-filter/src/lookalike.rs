//! Letters that are drawn like a Latin letter.

/// Latin letters with a stroke or a ligature, which no decomposition resolves.
pub(crate) const fn always(character: char) -> Option<char> {
    Some(match character {
        'ı' | 'ɩ' | 'ɪ' => 'i',
        'æ' | 'ɑ' | 'ᴀ' => 'a',
        'ɡ' | 'ɢ' => 'g',
        'ɴ' => 'n',
        'ʀ' => 'r',
        'ᴇ' => 'e',
        'ø' | 'œ' | 'ᴏ' => 'o',
        'ᴛ' => 't',
        'ᴜ' => 'u',
        'ß' | 'ꜱ' => 's',
        'ᴄ' => 'c',
        'đ' | 'ð' | 'ᴅ' => 'd',
        'ᴍ' => 'm',
        'ᴘ' => 'p',
        'ł' | 'ʟ' => 'l',
        'ʏ' => 'y',
        'ᴠ' => 'v',
        'ᴡ' => 'w',
        'ʜ' => 'h',
        'ʙ' => 'b',
        'ᴋ' => 'k',
        _ => return None,
    })
}

/// The Latin letter that a Cyrillic, Greek or Armenian letter is drawn like, where there is one.
///
/// Applied only inside words that also hold Latin letters: elsewhere the letter is what it is.
///
/// # Source
/// A reading of Unicode's confusables (UTS #39) for lower-case letters and capitals.
pub(crate) const fn latin(character: char) -> Option<char> {
    Some(match character {
        'а' | 'А' | 'α' | 'Α' => 'a',
        'в' | 'В' | 'Β' | 'β' | 'Ь' | 'ь' => 'b',
        'с' | 'С' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'Е' | 'є' | 'Ε' | 'ε' => 'e',
        'һ' | 'Н' | 'н' | 'Η' | 'հ' => 'h',
        'і' | 'І' | 'ι' | 'Ι' | 'Ӏ' | 'ӏ' => 'i',
        'ј' | 'Ј' => 'j',
        'к' | 'К' | 'κ' | 'Κ' => 'k',
        'м' | 'М' | 'Μ' => 'm',
        'η' | 'п' | 'ո' => 'n',
        'о' | 'О' | 'ο' | 'Ο' | 'օ' | 'σ' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' => 'p',
        'ԛ' => 'q',
        'г' => 'r',
        'ѕ' | 'Ѕ' => 's',
        'т' | 'Т' | 'τ' | 'Τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' | 'ω' => 'w',
        'х' | 'Х' | 'χ' | 'Χ' => 'x',
        'у' | 'У' | 'γ' | 'Υ' => 'y',
        'Ζ' => 'z',
        _ => return None,
    })
}
