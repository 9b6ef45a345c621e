//! What the words just before (and after) a number say it is.

use std::cell::OnceCell;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::finding::{ceil, floor};

/// Bytes looked at before and after.
const BEFORE: usize = 64;
const AFTER: usize = 24;

/// The words around a number, in lower case once somebody asks.
#[derive(Debug)]
pub(super) struct Context<'t> {
    text: &'t str,
    start: usize,
    end: usize,
    words: OnceCell<(String, String)>,
}

impl<'t> Context<'t> {
    /// The words around a span.
    pub(super) fn around(text: &'t str, start: usize, end: usize) -> Self {
        Self { text, start, end, words: OnceCell::new() }
    }

    fn words(&self) -> &(String, String) {
        self.words.get_or_init(|| {
            let before = self.text.get(floor(self.text, self.start.saturating_sub(BEFORE))..self.start).unwrap_or_default();
            // Words of an earlier paragraph name an earlier number.
            let before = before.rsplit("\n\n").next().unwrap_or_default();
            let after = self.text.get(self.end..ceil(self.text, self.end + AFTER)).unwrap_or_default();
            crate::work::read(before.len() + after.len());
            (before.to_lowercase(), after.to_lowercase())
        })
    }

    /// Whether there is nothing but signs and digits around, as inside a table.
    fn is_wordless(&self) -> bool {
        let (before, after) = self.words();
        !before.bytes().chain(after.bytes()).any(|byte| byte.is_ascii_alphabetic() || byte >= 0x80)
    }

    /// Whether one of a long list of words stands near.
    pub(super) fn names(&self, words: &Words) -> bool {
        let (before, after) = self.words();
        !self.is_wordless() && (words.stand_in(before) || words.stand_in(after))
    }

    /// Whether one of a long list of words stands right before.
    pub(super) fn names_just_before(&self, words: &Words) -> bool {
        !self.is_wordless() && words.stand_in(self.just())
    }

    /// Whether one of some words stands before, and none of the others between it and the number.
    pub(super) fn names_last(&self, words: &Words, others: &Words) -> bool {
        let (before, _) = self.words();
        words.last_in(before).is_some_and(|word| others.last_in(before).is_none_or(|other| other < word))
    }

    /// The few bytes right before.
    fn just(&self) -> &str {
        let (before, _) = self.words();
        before.get(ceil(before, before.len().saturating_sub(28))..).unwrap_or_default()
    }

    /// Whether one of some words stands near; words of ASCII letters count whole.
    pub(super) fn says(&self, words: &[&str]) -> bool {
        let (before, after) = self.words();
        !self.is_wordless() && words.iter().any(|word| holds(before, word) || holds(after, word))
    }

    /// Whether Chinese is written around.
    pub(super) fn is_chinese(&self) -> bool {
        let (before, after) = self.words();
        before.chars().chain(after.chars()).any(|c| matches!(c, '\u{4e00}'..='\u{9fff}'))
    }

    /// Whether the number is a cell by itself: between line ends, commas, tabs, quotes.
    pub(super) fn is_cell(&self) -> bool {
        let bytes = self.text.as_bytes();
        let ends = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b',' | b'\t' | b';' | b'|' | b'"'));
        ends(self.start.checked_sub(1).and_then(|at| bytes.get(at))) && ends(bytes.get(self.end))
    }

    /// Whether one of some words stands before, with at most a few signs or short words between.
    pub(super) fn just_before(&self, words: &[&str]) -> bool {
        let near = self.just();
        !self.is_wordless() && words.iter().any(|word| holds(near, word))
    }
}

fn holds(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| !word.is_ascii() || counts(text, word, at))
}

/// Words of telephones that mean other things inside the name of a constant: `SYS_CALL`, `SMS_LIMIT`, `RING_SIZE`.
const APART: &[&str] = &["call", "calls", "sms", "ring", "dial", "contact", "mobile", "handy", "bel", "tel"];

/// Whether a word of ASCII letters stands whole, and for some words outside longer names.
fn counts(text: &str, word: &str, start: usize) -> bool {
    let end = start + word.len();
    let named = || {
        text.get(..start).is_some_and(|before| before.ends_with('_'))
            || text.get(end..).is_some_and(|after| after.starts_with('_') && !after.starts_with("_n"))
    };
    is_whole(text, start, end) && !(APART.contains(&word) && named())
}

/// Whether no ASCII letter or digit touches a word of ASCII letters.
fn is_whole(text: &str, start: usize, end: usize) -> bool {
    !text.get(..start).is_some_and(|before| before.ends_with(|c: char| c.is_ascii_alphanumeric()))
        && !text.get(end..).is_some_and(|after| after.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// A list of words that is looked for at once.
#[derive(Debug)]
pub(super) struct Words {
    list: &'static [&'static str],
    automaton: Option<AhoCorasick>,
}

impl Words {
    pub(super) fn of(list: &'static [&'static str]) -> Self {
        Self { list, automaton: AhoCorasick::new(list).ok() }
    }

    /// Where the last of them ends.
    fn last_in(&self, text: &str) -> Option<usize> {
        let automaton = self.automaton.as_ref()?;
        let counted = automaton.find_overlapping_iter(text).filter(|found| {
            self.list.get(found.pattern().as_usize()).is_none_or(|word| !word.is_ascii() || counts(text, word, found.start()))
        });
        counted.map(|found| found.end()).max()
    }

    fn stand_in(&self, text: &str) -> bool {
        self.automaton.as_ref().is_some_and(|automaton| {
            automaton.find_overlapping_iter(text).any(|found| {
                self.list.get(found.pattern().as_usize()).is_none_or(|word| !word.is_ascii() || counts(text, word, found.start()))
            })
        })
    }
}

/// Words for telephones.
pub(super) static PHONE: LazyLock<Words> = LazyLock::new(|| {
    Words::of(&[
        "phone",
        "tel",
        "telephone",
        "mobile",
        "cellphone",
        "cell phone",
        "ring me",
        "reach me",
        "reach us",
        "text me",
        "call",
        "calls",
        "fax",
        "sms",
        "whatsapp",
        "dial",
        "contact",
        "phone_number",
        "phone number",
        "hotline",
        "ring",
        "gsm",
        "handset",
        "mobiel",
        "mobiele",
        "tlf",
        "puh",
        "cep",
        "座机",
        "固话",
        "市话",
        "直通",
        "携帯電話",
        "landline",
        "voicemail",
        "电话",
        "手机",
        "手機",
        "联系",
        "電話",
        "携帯",
        "微信",
        "号码",
        "전화",
        "휴대",
        "연락",
        "telefon",
        "handy",
        "mobil",
        "rufen",
        "anrufen",
        "erreichen",
        "téléphone",
        "appelez",
        "appeler",
        "joindre",
        "portable",
        "numéro",
        "teléfono",
        "móvil",
        "llame",
        "llámame",
        "llamar",
        "telefone",
        "celular",
        "ligue",
        "telefono",
        "cellulare",
        "chiama",
        "chiamare",
        "chiamami",
        "телефон",
        "звоните",
        "тел",
        "тел.",
        "моб",
        "telefoon",
        "bel",
        "bellen",
        "telefonu",
        "zadzwoń",
        "dzwoń",
        "puhelin",
        "फोन",
        "मोबाइल",
        "โทร",
        "điện thoại",
        "هاتف",
        "טלפון",
    ])
});

/// Words for numbers that only look like one of ours.
pub(super) static OTHER: LazyLock<Words> = LazyLock::new(|| {
    Words::of(&[
        "order",
        "serial",
        "tracking",
        "invoice",
        "sku",
        "isbn",
        "issn",
        "ean",
        "upc",
        "build",
        "version",
        "ratio",
        "range",
        "pages",
        "room",
        "flow",
        "snowflake",
        "timestamp",
        "ts",
        "created_at",
        "updated_at",
        "epoch",
        "commit",
        "revision",
        "part",
        "model",
        "lot",
        "batch",
        "ticket",
        "case",
        "issue",
        "rfc",
        "port",
        "pid",
        "offset",
        "size",
        "bytes",
        "lat",
        "lon",
        "seed",
        "订单号",
        "订单",
        "流水号",
        "流水",
        "交易单号",
        "单号",
        "序列号",
        "快递",
        "运单",
        "編號",
        "编号",
        "注文番号",
        "주문번호",
        "transaction",
        "shipment",
        "parcel",
        "barcode",
        "checksum",
        "hash",
        "doi",
        "score",
        "rows",
        "ids",
        "uid",
        "user_id",
        "userid",
        "msgid",
        "message_id",
    ])
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_count_whole_and_only_near() {
        let text = "My phone: 123";
        let context = Context::around(text, text.len() - 3, text.len());
        assert!(context.says(&["phone"]) && !context.says(&["hone"]) && context.names_just_before(&PHONE));
        let text = "电话13912345678";
        assert!(Context::around(text, 6, text.len()).names(&PHONE));
    }
}
