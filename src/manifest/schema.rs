//! The JSON Schema of `tools.toml`, from the structs it is read into.

use std::sync::OnceLock;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::raw;

/// The schema of `tools.toml`, for editors and for the reader itself. No `$ref`, no `null`: TOML has none.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let settings = SchemaSettings::draft2020_12().for_deserialize().with(|settings| settings.inline_subschemas = true);
        let mut schema = settings.into_generator().into_root_schema_for::<raw::Manifest>().to_value();
        tidy(&mut schema);
        schema
    })
}

/// Takes `null` out wherever an optional field brought it in, and the formats that no editor knows.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for name in ["type", "enum"] {
                drop_null(members, name);
            }
            if let Some(Value::Array(branches)) = members.get_mut("anyOf") {
                branches.retain(|branch| branch.get("type").and_then(Value::as_str) != Some("null"));
                if let [one] = branches.as_mut_slice() {
                    let one = std::mem::take(one);
                    members.remove("anyOf");
                    if let Value::Object(inner) = one {
                        for (name, value) in inner {
                            // The field's own description says more than that of its type.
                            members.entry(name).or_insert(value);
                        }
                    }
                }
            }
            members.remove("format");
            for (name, value) in members.iter_mut() {
                match value {
                    // The keys of the manifest, which may have any name.
                    Value::Object(keys) if name == "properties" => keys.values_mut().for_each(tidy),
                    value => tidy(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(tidy),
        _ => {}
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
