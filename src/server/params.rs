//! What is read of the params of a request before the protocol's library reads them whole.

use std::borrow::Cow;
use std::fmt;

use rmcp::model::ProtocolVersion;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Of params of any form, the version that their `_meta` names, and whether their cursor is none.
#[derive(Default)]
pub(super) struct Params {
    pub(super) version: Option<ProtocolVersion>,
    pub(super) is_odd_cursor: bool,
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look)
    }
}

struct Look;

impl<'de> Visitor<'de> for Look {
    type Value = Params;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("params")
    }
    fn visit_bool<E>(self, _: bool) -> Result<Params, E> {
        Ok(Params::default())
    }
    fn visit_i64<E>(self, _: i64) -> Result<Params, E> {
        Ok(Params::default())
    }
    fn visit_u64<E>(self, _: u64) -> Result<Params, E> {
        Ok(Params::default())
    }
    fn visit_f64<E>(self, _: f64) -> Result<Params, E> {
        Ok(Params::default())
    }
    fn visit_str<E>(self, _: &str) -> Result<Params, E> {
        Ok(Params::default())
    }
    fn visit_unit<E>(self) -> Result<Params, E> {
        Ok(Params::default())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Params, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Params::default())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Params, A::Error> {
        let mut found = Params::default();
        while let Some(key) = entries.next_key::<Cow<'de, str>>()? {
            if key == "_meta" {
                let meta: Value = entries.next_value()?;
                let version = meta.get("io.modelcontextprotocol/protocolVersion").cloned();
                found.version = version.and_then(|version| serde_json::from_value(version).ok());
            } else if key == "cursor" {
                let cursor: Value = entries.next_value()?;
                found.is_odd_cursor = !cursor.is_string() && !cursor.is_null();
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}
