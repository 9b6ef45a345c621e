//! A manifest's value against the schema of its structs: known keys, right types, listed words, texts of a form. What is at fault is told and
//! left out, so that the rest is still read and its faults are told as well.

use serde_json::{Map, Value};

use super::fault::Ledger;
use super::form;
use super::tree::below;
use crate::model::nearest;

/// Checks a value against a schema and gives what fits of it.
pub(super) fn fit(value: &Value, schema: &Value, at: &str, ledger: &mut Ledger<'_>) -> Option<Value> {
    if let Some(branches) = schema.get("anyOf").and_then(Value::as_array) {
        let fitting = branches.iter().find(|branch| kind_fits(value, branch, at, ledger));
        return match fitting {
            Some(branch) => fit(value, branch, at, ledger),
            None => wrong(value, &branches.iter().map(wanted).collect::<Vec<_>>().join(" or "), at, ledger),
        };
    }
    if let Some(words) = words(schema) {
        let Value::String(text) = value else { return wrong(value, &listed(&words), at, ledger) };
        if words.contains(&text.as_str()) {
            return Some(value.clone());
        }
        let (what, near) = match removed(&format!("{at}.{text}")) {
            Some(instead) => (format!("`{text}` was removed; {instead}"), None),
            None => (format!("`{}` is not one of {}", text.escape_debug(), listed(&words)), nearest(text, words.iter().copied())),
        };
        ledger.fault_in(at, &ledger.source(at).value, what, near);
        return None;
    }
    if !kind_fits(value, schema, at, ledger) {
        return wrong(value, wanted(schema), at, ledger);
    }
    match value {
        Value::Object(members) => Some(fit_table(members, schema, at, ledger)),
        Value::Array(values) => {
            let Some(items) = schema.get("items") else { return Some(value.clone()) };
            let fit_one = |(index, value): (usize, &Value)| {
                let at = format!("{at}[{index}]");
                ledger.note(&at, &ledger.source(&at).value);
                // A left-out entry would shift the places of those after it.
                fit(value, items, &at, ledger).unwrap_or(Value::Null)
            };
            let fitted: Vec<Value> = values.iter().enumerate().map(fit_one).collect();
            (!fitted.contains(&Value::Null)).then_some(Value::Array(fitted))
        }
        scalar => fit_scalar(scalar, schema, at, ledger),
    }
}

fn fit_table(members: &Map<String, Value>, schema: &Value, at: &str, ledger: &mut Ledger<'_>) -> Value {
    let known = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties");
    let mut fitted = Map::new();
    for (key, value) in members {
        let at = below(at, key);
        let source = ledger.source(&at);
        let inner = known.and_then(|known| known.get(key)).or_else(|| others.filter(|others| others.is_object()));
        let Some(inner) = inner else {
            if others == Some(&Value::Bool(true)) || (known.is_none() && others.is_none()) {
                fitted.insert(key.clone(), value.clone());
                continue;
            }
            let keys = known.map(|known| known.keys().map(String::as_str).collect::<Vec<_>>()).unwrap_or_default();
            let (what, near) = match removed(&at) {
                Some(instead) => (format!("`{key}` was removed; {instead}"), None),
                None => (format!("unknown key `{}`", key.escape_debug()), nearest(key, keys)),
            };
            ledger.fault_in(&at, &source.key, what, near);
            continue;
        };
        // A table is shown by its name, for its own span is everything in it.
        ledger.note(&at, if value.is_object() { &source.key } else { &source.value });
        if let Some(value) = fit(value, inner, &at, ledger) {
            fitted.insert(key.clone(), value);
        }
    }
    Value::Object(fitted)
}

/// What replaces a key that manifests once had; a removed value stands below its key.
fn removed(at: &str) -> Option<&'static str> {
    REMOVED.iter().find(|(key, _)| *key == at).map(|(_, instead)| *instead)
}

const REMOVED: [(&str, &str); 10] = [
    ("http.max_sessions_per_client", "one caller has at most half of `max_sessions`"),
    ("http.max_requests_per_client", "`[limits] concurrent_calls` bounds the calls of a session"),
    ("http.head_timeout", "the head of a request always has 10 seconds"),
    ("http.body_timeout", "the body of a request always has 60 seconds"),
    ("http.write_timeout", "the kernel ends a TCP connection of which nothing is read for a minute"),
    ("python.prepare", "interpreters are got ready once a client has read the list of tools"),
    ("approvals.accept_edits", "a question about a change offers its folder and its root until the session ends"),
    ("limits.breaker.then", "the breaker always suspends; write a large `denials` for no breaker"),
    ("python.backend.native-reduced", "write `landlock`; what only root had of it belongs to `native`"),
    ("python.backend.rlimits", "write `landlock`, which hides the host's files as well"),
];

fn fit_scalar(value: &Value, schema: &Value, at: &str, ledger: &mut Ledger<'_>) -> Option<Value> {
    let number = match (value, schema.get("format").and_then(Value::as_str)) {
        (Value::Number(number), _) => number,
        (Value::String(text), Some(form)) => {
            return form::read(form, text).map_err(|what| ledger.fault_in(at, &ledger.source(at).value, what, None)).ok();
        }
        (value, _) => return Some(value.clone()),
    };
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let value_f64 = number.as_f64().unwrap_or(f64::NAN);
    let (least, most) = (bound("minimum"), bound("maximum"));
    if least.is_some_and(|least| value_f64 < least) || most.is_some_and(|most| value_f64 > most) {
        let shown = |bound: Option<f64>| bound.map(|bound| bound.to_string()).unwrap_or_default();
        let what = match most {
            Some(_) => format!("{number} is not from {} to {}", shown(least), shown(most)),
            None => format!("{number} is less than {}", shown(least)),
        };
        ledger.fault_in(at, &ledger.source(at).value, what, None);
        return None;
    }
    Some(value.clone())
}

fn wrong(value: &Value, wanted: &str, at: &str, ledger: &mut Ledger<'_>) -> Option<Value> {
    let source = ledger.source(at);
    let is = match value {
        Value::Object(_) => "a table",
        Value::Array(_) => "a list",
        Value::String(_) => "a text",
        Value::Bool(_) => "a truth value",
        Value::Number(number) if number.is_f64() => "a number with a fraction",
        Value::Number(_) => "a whole number",
        Value::Null => source.foreign.unwrap_or("null"),
    };
    ledger.fault_in(at, &source.value, format!("this is {is}; it must be {wanted}"), None);
    None
}

fn kind_fits(value: &Value, schema: &Value, at: &str, ledger: &Ledger<'_>) -> bool {
    let Some(wanted) = schema.get("type").and_then(Value::as_str) else { return ledger.source(at).foreign.is_none() };
    match value {
        Value::Object(_) => wanted == "object",
        Value::Array(_) => wanted == "array",
        Value::String(_) => wanted == "string",
        Value::Bool(_) => wanted == "boolean",
        Value::Number(number) => wanted == "number" || (wanted == "integer" && !number.is_f64()),
        Value::Null => false,
    }
}

fn wanted(schema: &Value) -> &'static str {
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => "a table",
        Some("array") => "a list",
        Some("string") => "a text in quotes",
        Some("boolean") => "`true` or `false`",
        Some("integer") => "a whole number",
        Some("number") => "a number",
        _ => "a value",
    }
}

/// The words an enumeration lists: `enum`, or `oneOf` where its words are documented.
fn words(schema: &Value) -> Option<Vec<&str>> {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return Some(words.iter().filter_map(Value::as_str).collect());
    }
    let branches = schema.get("oneOf").and_then(Value::as_array)?;
    let mut found = Vec::new();
    for branch in branches {
        match branch.get("const") {
            Some(word) => found.extend(word.as_str()),
            None => found.extend(words(branch)?),
        }
    }
    Some(found)
}

fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
