//! The JSON Schema of `tools.toml`, from the structs it is read into.

use std::sync::OnceLock;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::Manifest;
use crate::model::Bytes;

/// The schema of `tools.toml`, for editors. No `$ref`, no `null`: TOML has none.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| build(false))
}

/// The same for the reader: `format` names the form of a text.
pub(super) fn forms() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| build(true))
}

fn build(with_forms: bool) -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Manifest>().to_value();
    tidy(&mut schema, with_forms);
    schema
}

/// Takes `null` out wherever an optional field brought it in, and the formats that no editor knows. Makes an amount of time a text, and every table
/// a closed one.
fn tidy(schema: &mut Value, with_forms: bool) {
    match schema {
        Value::Object(members) => {
            for name in ["type", "enum"] {
                drop_null(members, name);
            }
            if let Some(Value::Array(branches)) = members.get_mut("anyOf") {
                branches.retain(|branch| branch.get("type").and_then(Value::as_str) != Some("null"));
                if let [Value::Object(inner)] = branches.as_mut_slice() {
                    let inner = std::mem::take(inner);
                    members.remove("anyOf");
                    for (name, value) in inner {
                        // The field's own description says more than that of its type.
                        members.entry(name).or_insert(value);
                    }
                }
            }
            if members.get("properties").is_some_and(|keys| keys.get("nanos").is_some()) {
                members.retain(|name, _| matches!(name.as_str(), "description" | "default"));
                members.extend([("type".to_owned(), "string".into()), ("format".to_owned(), "duration".into())]);
            }
            if members.contains_key("properties") {
                members.insert("additionalProperties".to_owned(), false.into());
            }
            if let Some(default) = members.remove("default").and_then(|default| default_text(&default, members)) {
                members.insert("default".to_owned(), default);
            }
            if !with_forms {
                members.remove("format");
            }
            for (name, value) in members.iter_mut() {
                match value {
                    // The keys of the manifest, which may have any name.
                    Value::Object(keys) if name == "properties" => keys.values_mut().for_each(|key| tidy(key, with_forms)),
                    value => tidy(value, with_forms),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| tidy(value, with_forms)),
        _ => {}
    }
}

/// A default as the manifest would write it; none of a table, and of what must be written.
fn default_text(default: &Value, members: &Map<String, Value>) -> Option<Value> {
    match (members.get("format").and_then(Value::as_str), default) {
        (Some("size"), Value::Number(size)) => size.as_u64().map(|size| Bytes(size).to_string().into()),
        (Some("percent"), share) => Some(format!("{share}%").into()),
        (Some("duration"), Value::Object(time)) => time.get("secs").map(|seconds| format!("{seconds}s").into()),
        (Some("sha256"), _) | (_, Value::Null | Value::Object(_)) => None,
        (_, default) => (default != "").then(|| default.clone()),
    }
}

fn drop_null(members: &mut Map<String, Value>, name: &str) {
    let Some(Value::Array(values)) = members.get_mut(name) else { return };
    values.retain(|value| !value.is_null() && value.as_str() != Some("null"));
    if name == "type"
        && let [one] = values.as_slice()
    {
        let one = one.clone();
        members.insert(name.to_owned(), one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(schema: &Value, visit: &mut impl FnMut(&Map<String, Value>)) {
        match schema {
            Value::Object(members) => {
                visit(members);
                members.values().for_each(|value| walk(value, visit));
            }
            Value::Array(values) => values.iter().for_each(|value| walk(value, visit)),
            _ => {}
        }
    }

    #[test]
    fn every_key_is_described_and_no_type_is_a_list() {
        let mut keys = 0;
        walk(schema(), &mut |members| {
            assert!(!members.get("type").is_some_and(Value::is_array), "{members:?}");
            assert!(!members.contains_key("$ref"));
            if let Some(Value::Object(properties)) = members.get("properties") {
                assert_eq!(members.get("additionalProperties"), Some(&Value::Bool(false)), "{members:?}");
                for (name, property) in properties {
                    keys += 1;
                    assert!(property.get("description").is_some(), "{name} has no description");
                }
            }
        });
        assert!(keys > 100, "{keys}");
    }
}
