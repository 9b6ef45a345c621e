//! JSON in which every name stands once: what two parsers could read in two ways is told.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A value and the paths of names that stand twice, e.g. `request.args.path`.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The value; of two members of one name it has the later.
    pub value: Value,
    /// Where a name stands twice.
    pub twice: Vec<String>,
}

/// Reads one JSON text.
///
/// # Errors
/// What is wrong with it, in the words of the parser.
pub fn read(text: &str) -> Result<Read, String> {
    let twice = RefCell::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Node { at: String::new(), twice: &twice }.deserialize(&mut reader).map_err(|fault| fault.to_string())?;
    reader.end().map_err(|fault| fault.to_string())?;
    Ok(Read { value, twice: twice.into_inner() })
}

struct Node<'t> {
    at: String,
    twice: &'t RefCell<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
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

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        while let Some(value) = values.next_element_seed(Node { at: format!("{}[{}]", self.at, read.len()), twice: self.twice })? {
            read.push(value);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let at = if self.at.is_empty() { name.clone() } else { format!("{}.{name}", self.at) };
            if read.contains_key(&name) {
                self.twice.borrow_mut().push(at.clone());
            }
            read.insert(name, members.next_value_seed(Node { at, twice: self.twice })?);
        }
        Ok(Value::Object(read))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_that_stands_twice_is_told_with_its_place() {
        let found = read(r#"{"request":{"args":{"path":"a","path":"b"}},"x":[{"y":1,"y":2}]}"#).unwrap();
        assert_eq!(found.twice, ["request.args.path", "x[0].y"]);
        assert_eq!(found.value["request"]["args"], json!({"path": "b"}));
        assert_eq!(read(r#"{"a":1,"b":[1.5,null,true,"\u00e9"]}"#).unwrap().twice, Vec::<String>::new());
        for text in ["", "{", "{} {}", r#""\ud800""#] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
