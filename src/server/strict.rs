//! One reading of a JSON message that differs between no two parsers: what others silently repair is reported.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// What is odd about a message that serde reads without complaint, or why it is no JSON at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Oddity {
    /// A name occurs twice in one object; parsers disagree which value counts (RFC 8259 section 4).
    DuplicateKey(String),
    /// The same of a name that says what the message is and whose answer it gets: `id`, `method` or `jsonrpc`.
    DuplicateHead(String),
    /// No JSON: syntax, a lone surrogate, or nested deeper than 128 levels.
    Unreadable(String),
}

/// Reads the whole text once and reports the first oddity.
pub(super) fn inspect(text: &[u8]) -> Option<Oddity> {
    let mut twice = Twice::default();
    let mut reader = serde_json::Deserializer::from_slice(text);
    let outcome = Walk { twice: &mut twice, is_top: true }.deserialize(&mut reader).and_then(|()| reader.end());
    match (twice, outcome) {
        (Twice { head: Some(key), .. }, _) => Some(Oddity::DuplicateHead(key)),
        (Twice { any: Some(key), .. }, _) => Some(Oddity::DuplicateKey(key)),
        (_, Err(fault)) => Some(Oddity::Unreadable(fault.to_string())),
        (_, Ok(())) => None,
    }
}

/// The first names that occur twice: of the message itself, and of any object.
#[derive(Default)]
struct Twice {
    head: Option<String>,
    any: Option<String>,
}

/// Names of the message itself that may not be ambiguous.
const HEAD: [&str; 3] = ["id", "method", "jsonrpc"];

struct Walk<'a> {
    twice: &'a mut Twice,
    is_top: bool,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// A key without a copy unless it holds escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Cow<'de, str>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }
        deserializer.deserialize_str(Read).map(Key)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Walk { twice: &mut *self.twice, is_top: false })?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let mut seen = Seen::default();
        while let Some(Key(key)) = entries.next_key::<Key<'de>>()? {
            let may_be_news = self.twice.any.is_none() || self.is_top && self.twice.head.is_none();
            if may_be_news && seen.contains(&key) {
                let shown = || Some(key.chars().take(80).collect());
                if self.twice.any.is_none() {
                    self.twice.any = shown();
                }
                if self.is_top && HEAD.contains(&&*key) {
                    self.twice.head = shown();
                }
            }
            seen.insert(key);
            entries.next_value_seed(Walk { twice: &mut *self.twice, is_top: false })?;
        }
        Ok(())
    }
}

/// The names of one object. Most have a few: those are compared one by one, which takes less than a hash of each.
#[derive(Default)]
struct Seen<'de> {
    few: Vec<Cow<'de, str>>,
    many: HashSet<Cow<'de, str>>,
}

impl<'de> Seen<'de> {
    /// Names that are compared one by one; beyond, a hostile object would take time by the square of its length.
    const FEW: usize = 12;

    fn contains(&self, key: &str) -> bool {
        self.few.iter().any(|seen| seen == key) || self.many.contains(key)
    }

    fn insert(&mut self, key: Cow<'de, str>) {
        if self.few.len() < Self::FEW {
            self.few.push(key);
        } else {
            self.many.insert(key);
        }
    }
}

/// The `id` of a request that could not be read as a whole, when it stands among the first bytes; so that its sender gets an answer.
pub(super) fn salvage_id(text: &[u8]) -> Option<serde_json::Value> {
    #[derive(serde::Deserialize)]
    struct Head {
        id: serde_json::Value,
    }
    if let Ok(head) = serde_json::from_slice::<Head>(text) {
        return whole_id(head.id);
    }
    // Not readable as a whole (cut, too deep, a lone surrogate): look for a top-level `"id":` near either end, as clients write it.
    let tail = text.len().saturating_sub(WINDOW);
    [text.get(..text.len().min(WINDOW))?, text.get(tail..)?].into_iter().find_map(|window| {
        let at = window.windows(5).position(|w| w == b"\"id\":")? + 5;
        let rest = std::str::from_utf8(window.get(at..)?).ok()?.trim_start();
        let end = if let Some(quoted) = rest.strip_prefix('"') { quoted.find('"')? + 2 } else { rest.find([',', '}', ' '])? };
        whole_id(serde_json::from_str(rest.get(..end)?).ok()?)
    })
}

/// How far from either end an `id` is looked for, in bytes.
const WINDOW: usize = 512;

fn whole_id(id: serde_json::Value) -> Option<serde_json::Value> {
    (id.is_string() || id.is_i64() || id.is_u64()).then_some(id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_that_occurs_twice_in_one_object_is_found_at_any_depth() {
        assert_eq!(inspect(br#"{"a":1,"b":{"path":1,"path":2}}"#), Some(Oddity::DuplicateKey("path".into())));
        assert_eq!(inspect(br#"[{"a":1},{"a":2},{"\u0061":1,"a":2}]"#), Some(Oddity::DuplicateKey("a".into())));
        assert_eq!(inspect(br#"{"a":{"a":{"a":[1.5,null,true,-1,"x"]}}}"#), None);
        assert_eq!(inspect(br#"{"params":{"a":1,"a":2},"id":1,"\u0069d":2}"#), Some(Oddity::DuplicateHead("id".into())));
        assert_eq!(inspect(br#"{"params":{"id":1,"id":2},"id":1}"#), Some(Oddity::DuplicateKey("id".into())));
    }

    #[test]
    fn a_name_is_found_twice_in_a_long_object_wherever_the_two_stand() {
        for (first, second) in [(0, 299), (3, 20), (11, 12), (12, 13), (298, 299)] {
            let names = (0..300).map(|at| if at == second { first } else { at });
            let text = format!("{{{}}}", names.map(|name| format!("\"n{name}\":1")).collect::<Vec<_>>().join(","));
            assert_eq!(inspect(text.as_bytes()), Some(Oddity::DuplicateKey(format!("n{first}"))), "{first} {second}");
        }
        let all = format!("{{{}}}", (0..300).map(|name| format!("\"n{name}\":1")).collect::<Vec<_>>().join(","));
        assert_eq!(inspect(all.as_bytes()), None);
    }

    #[test]
    fn what_is_no_json_is_told_and_ten_thousand_levels_do_not_hurt() {
        for text in ["{", r#"{"a":"\ud800"}"#, &"[".repeat(10_000), &format!("{}{}", "[".repeat(200), "]".repeat(200))] {
            assert!(matches!(inspect(text.as_bytes()), Some(Oddity::Unreadable(_))), "{}", text.len());
        }
    }

    #[test]
    fn the_id_of_an_unreadable_request_is_found() {
        assert_eq!(salvage_id(br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":"\ud800"}}"#), Some(json!(7)));
        let deep = format!(r#"{{"jsonrpc":"2.0","id":"x1","params":{}}}"#, "[".repeat(10_000));
        assert_eq!(salvage_id(deep.as_bytes()), Some(json!("x1")));
        assert_eq!(salvage_id(br#"{"id":{"no":1}}"#), None);
        assert_eq!(salvage_id(b""), None);
    }
}
