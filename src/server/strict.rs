//! One reading of a JSON text that differs between no two parsers: what others silently repair is reported.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A name that occurs twice in one object; parsers disagree which value counts (RFC 8259 section 4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Twice {
    name: String,
    /// In the outermost object, whose names say what the message is and whose answer it gets.
    pub(super) is_top: bool,
}

impl fmt::Display for Twice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the name `{}` occurs twice in one object", self.name)
    }
}

/// A part of a text, and a name that occurs twice in it.
#[derive(Debug, Default)]
pub(crate) struct StrictJson {
    pub(crate) value: Value,
    pub(crate) twice: Option<Twice>,
}

impl<'de> serde::Deserialize<'de> for StrictJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut twice = None;
        let value = Walk { twice: &mut twice, is_top: true }.deserialize(deserializer)?;
        Ok(Self { value, twice })
    }
}

/// Reads a whole text, and reports a name that occurs twice: one of the outermost object, else the first.
/// # Errors  Why it is no JSON: syntax, a lone surrogate, or nested deeper than 128 levels.
pub(super) fn parse(text: &[u8]) -> Result<(Value, Option<Twice>), serde_json::Error> {
    serde_json::from_slice(text).map(|StrictJson { value, twice }| (value, twice))
}

struct Walk<'a> {
    twice: &'a mut Option<Twice>,
    is_top: bool,
}

impl Walk<'_> {
    fn below(&mut self) -> Walk<'_> {
        Walk { twice: &mut *self.twice, is_top: false }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.below())? {
            list.push(item);
        }
        Ok(list.into())
    }
    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self.below())?;
            if object.contains_key(&name) && (self.is_top || self.twice.is_none()) {
                *self.twice = Some(Twice { name: name.chars().take(80).collect(), is_top: self.is_top });
            }
            object.insert(name, value);
        }
        Ok(object.into())
    }
}

/// The `id` of a request that could not be read as a whole, when it stands among the first bytes; so that its sender gets an answer.
pub(super) fn salvage_id(text: &[u8]) -> Option<Value> {
    #[derive(serde::Deserialize)]
    struct Head {
        id: Value,
    }
    if let Ok(head) = serde_json::from_slice::<Head>(text) {
        return Some(head.id).filter(is_whole);
    }
    // Not readable as a whole (cut, too deep, a lone surrogate): look for a top-level `"id":` near either end, as clients write it.
    let tail = text.len().saturating_sub(WINDOW);
    [text.get(..text.len().min(WINDOW))?, text.get(tail..)?].into_iter().find_map(|window| {
        let at = window.windows(5).position(|w| w == b"\"id\":")? + 5;
        let rest = std::str::from_utf8(window.get(at..)?).ok()?.trim_start();
        let end = if let Some(quoted) = rest.strip_prefix('"') { quoted.find('"')? + 2 } else { rest.find([',', '}', ' '])? };
        serde_json::from_str(rest.get(..end)?).ok().filter(is_whole)
    })
}

/// How far from either end an `id` is looked for, in bytes.
const WINDOW: usize = 512;

/// Whether an id can be sent back: a text or a whole number.
pub(super) fn is_whole(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn inspect(text: &[u8]) -> Option<(String, bool)> {
        parse(text).unwrap().1.map(|twice| (twice.name, twice.is_top))
    }

    #[test]
    fn a_name_that_occurs_twice_in_one_object_is_found_at_any_depth() {
        assert_eq!(inspect(br#"{"a":1,"b":{"path":1,"path":2}}"#), Some(("path".into(), false)));
        assert_eq!(inspect(br#"[{"a":1},{"a":2},{"\u0061":1,"a":2}]"#), Some(("a".into(), false)));
        assert_eq!(inspect(br#"{"a":{"a":{"a":[1.5,null,true,-1,"x"]}}}"#), None);
        assert_eq!(inspect(br#"{"params":{"a":1,"a":2},"id":1,"\u0069d":2}"#), Some(("id".into(), true)));
        assert_eq!(inspect(br#"{"params":{"id":1,"id":2},"id":1}"#), Some(("id".into(), false)));
    }

    #[test]
    fn what_is_no_json_is_told_and_ten_thousand_levels_do_not_hurt() {
        for text in ["{", r#"{"a":"\ud800"}"#, &"[".repeat(10_000), &format!("{}{}", "[".repeat(200), "]".repeat(200))] {
            assert!(parse(text.as_bytes()).is_err(), "{}", text.len());
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
