//! Portable schemas from the argument structs, and the check of arguments against them: what is told is what is checked.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value, json};

use crate::model::{Argument, Code, Refusal, nearest_argument};

/// The arguments of a tool, written once: `Args`, which they are read into, `ARGUMENTS`, which manifests restrict, and `INPUT`, the schema that
/// callers see. Where `= DEFAULT` follows its type, an argument may be left out and has that value, written as in JSON.
macro_rules! arguments {
    ($($(#[$about:meta])* $name:ident: $kind:ty $(= $default:literal)?,)*) => {
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct Args {
            $($(#[$about])* $name: $kind,)*
        }

        const ARGUMENTS: &[$crate::model::Argument] = &[
            $($crate::model::Argument { name: stringify!($name), default: [$(stringify!($default),)?].as_slice().first().copied() },)*
        ];

        static INPUT: std::sync::LazyLock<serde_json::Map<String, serde_json::Value>> =
            std::sync::LazyLock::new(|| $crate::tools::schema::input::<Args>(ARGUMENTS));

        impl Args {
            fn read(arguments: serde_json::Map<String, serde_json::Value>) -> Result<Self, $crate::model::Refusal> {
                $crate::tools::schema::parse(&INPUT, ARGUMENTS, arguments)
            }
        }
    };
}
pub(super) use arguments;

/// The schema of a tool's arguments: no `$ref`, no type arrays, no null variants, `additionalProperties: false`; defaults are told, except `false`
/// and the empty text.
pub fn input<A: JsonSchema>(arguments: &[Argument]) -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    make_portable(&mut schema);
    let Value::Object(mut schema) = schema else { return Map::new() };
    schema.remove("description");
    for (name, default) in defaults(arguments) {
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|required| required != name);
        }
        let property = schema.get_mut("properties").and_then(|all| all.get_mut(name)).and_then(Value::as_object_mut);
        // `false` and the empty text are what an absent switch or text means anyway.
        if let Some(property) = property.filter(|_| default != json!(false) && default != json!("")) {
            property.insert("default".to_owned(), default);
        }
    }
    schema
}

/// The arguments that have a default, and what it is.
fn defaults(arguments: &[Argument]) -> impl Iterator<Item = (&'static str, Value)> {
    arguments.iter().filter_map(|argument| Some((argument.name, serde_json::from_str(argument.default?).ok()?)))
}

/// The schema of a tool's structured answer: one flat object of these properties, of others that its text names as well, and of
/// those of a refusal. Only those that a program would look for are listed, since each listing is read by a model; nothing is required,
/// so that success and refusal alike conform.
pub fn output(properties: Value) -> Map<String, Value> {
    // `code`, `message`, `hint`, `rule`, `call_id` and `retry_after_s` come as well; a schema that forbids nothing need not spend
    // every listing on them.
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    if properties.as_object().is_some_and(|properties| !properties.is_empty()) {
        schema.insert("properties".to_owned(), properties);
    }
    schema
}

/// Reads arguments strictly: checked against the schema first, so that all faults are named, then into the struct.
/// # Errors  `unknown_argument` where a name is unknown, else `argument_invalid`.
pub fn parse<A: DeserializeOwned>(
    schema: &Map<String, Value>,
    known: &[Argument],
    mut arguments: Map<String, Value>,
) -> Result<A, Refusal> {
    let mut faults = Vec::new();
    check_object(schema, "", &arguments, &mut faults);
    all_of(faults)?;
    for (name, default) in defaults(known) {
        arguments.entry(name).or_insert(default);
    }
    A::deserialize(Value::Object(arguments))
        .map_err(|fault| Refusal::new(Code::ArgumentInvalid, format!("the arguments do not fit: {fault}")))
}

/// The refusal of one argument: what it must be and what came instead.
pub fn invalid(name: &str, expected: &str, got: &str) -> Refusal {
    Refusal::new(Code::ArgumentInvalid, format!("argument `{name}` must be {expected}; it is {got}"))
}

/// What clients differ on is removed or folded into what all of them read.
fn make_portable(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    for key in ["title", "$schema", "format"] {
        map.remove(key);
    }
    if let Some(Value::Array(types)) = map.get("type")
        && let Some(first) = types.iter().find(|name| *name != "null").cloned()
    {
        map.insert("type".to_owned(), first);
    }
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(variants)) = map.remove(key) else { continue };
        let named: Vec<Value> = variants.iter().filter_map(|variant| variant.get("const").cloned()).collect();
        if named.len() == variants.len() {
            map.insert("type".to_owned(), json!("string"));
            map.insert("enum".to_owned(), Value::Array(named));
        } else if let Some(Value::Object(only)) = variants.into_iter().find(|variant| variant.get("type") != Some(&json!("null"))) {
            for (key, value) in only {
                map.entry(key).or_insert(value);
            }
            // The variant may itself be a choice of names.
            return make_portable(schema);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    for key in ["properties", "items"] {
        match map.get_mut(key) {
            Some(Value::Object(inner)) if key == "properties" => inner.values_mut().for_each(make_portable),
            Some(inner) => make_portable(inner),
            None => {}
        }
    }
    if map.get("type") == Some(&json!("object")) && map.contains_key("properties") {
        map.insert("additionalProperties".to_owned(), json!(false));
    }
}

/// Adds what is wrong with the values of an object, in the order of the schema; names that it does not know come last.
fn check_object(schema: &Map<String, Value>, at: &str, given: &Map<String, Value>, faults: &mut Vec<Refusal>) {
    let empty = Map::new();
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let full = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    for (name, property) in known {
        match given.get(name) {
            Some(value) => check(property, &full(name), value, faults),
            None if is_required(schema, name) => {
                let why = format!("argument `{}` is missing; it must be {}", full(name), expected(property));
                faults.push(Refusal::new(Code::ArgumentInvalid, why));
            }
            None => {}
        }
    }
    for name in given.keys().filter(|name| !known.contains_key(*name)) {
        let shown: String = name.chars().take(40).flat_map(char::escape_debug).collect();
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let absent: Vec<&str> = names.iter().copied().filter(|name| !given.contains_key(*name)).collect();
        let meant = nearest_argument(name, &absent).map(|near| format!(" (did you mean `{}`?)", full(&near))).unwrap_or_default();
        let fault = Refusal::new(Code::UnknownArgument, format!("there is no argument `{}`{meant}", full(&shown)));
        faults.push(fault.hint(format!("the arguments are: {}", names.join(", "))));
    }
}

fn is_required(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|required| required == name))
}

fn check(schema: &Value, name: &str, value: &Value, faults: &mut Vec<Refusal>) {
    let bound = |key| schema.get(key).and_then(Value::as_i64);
    let long_enough = |len: usize, key| bound(key).is_none_or(|least| i64::try_from(len).is_ok_and(|len| len >= least));
    let fits = match (schema.get("type").and_then(Value::as_str), value) {
        (Some("string"), Value::String(text)) => {
            long_enough(text.len(), "minLength") && schema.get("enum").and_then(Value::as_array).is_none_or(|listed| listed.contains(value))
        }
        (Some("integer"), Value::Number(number)) => {
            let least = bound("minimum")
                .is_none_or(|least| number.as_u64().map_or(number.as_i64() >= Some(least), |n| i128::from(n) >= i128::from(least)));
            let most = bound("maximum").is_none_or(|most| number.as_i64().is_some_and(|n| n <= most));
            !number.is_f64() && least && most
        }
        // Without a type, any value fits.
        (Some("boolean"), Value::Bool(_)) | (None, _) => true,
        (Some("array"), Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(schema) = schema.get("items") {
                    check(schema, &format!("{name}[{index}]"), item, faults);
                }
            }
            long_enough(items.len(), "minItems")
                && bound("maxItems").is_none_or(|most| i64::try_from(items.len()).is_ok_and(|len| len <= most))
        }
        (Some("object"), Value::Object(map)) => {
            if let Some(schema) = schema.as_object().filter(|schema| schema.contains_key("properties")) {
                check_object(schema, name, map, faults);
            }
            true
        }
        _ => false,
    };
    if !fits {
        faults.push(invalid(name, &expected(schema), &came(value)));
    }
}

/// One refusal of all faults, with a number each where there are several.
fn all_of(mut faults: Vec<Refusal>) -> Result<(), Refusal> {
    if faults.len() < 2 {
        return faults.pop().map_or(Ok(()), Err);
    }
    let is_unknown = |fault: &&Refusal| fault.code == Code::UnknownArgument;
    let code = if faults.iter().any(|fault| is_unknown(&fault)) { Code::UnknownArgument } else { Code::ArgumentInvalid };
    let told: Vec<_> = (1..=MOST_FAULTS).zip(&faults).map(|(at, fault)| format!("({at}) {}", fault.message)).collect();
    let mut refusal = Refusal::new(code, format!("the arguments have {} faults: {}", faults.len(), told.join("; ")));
    refusal.hint = faults.into_iter().find_map(|fault| fault.hint);
    Err(refusal)
}

/// Faults of one call that are written out; the rest is in the count.
const MOST_FAULTS: usize = 20;

/// The arguments as they are meant, before anything is judged or recorded: models send `null` for what they leave out, `2.0` for 2, and the JSON text
/// of a number, a truth value, a list or an object. What is neither of these stays as it came.
pub fn as_meant(schema: &Map<String, Value>, given: Map<String, Value>) -> Map<String, Value> {
    let property = |name: &str| schema.get("properties").and_then(|all| all.get(name));
    let is_absent = |name: &str, value: &Value| value.is_null() && property(name).is_some() && !is_required(schema, name);
    let there = given.into_iter().filter(|(name, value)| !is_absent(name, value));
    let one = |(name, value): (String, Value)| match property(&name) {
        Some(schema) => (name, meant(schema, value)),
        None => (name, value),
    };
    there.map(one).collect()
}

fn meant(schema: &Value, value: Value) -> Value {
    let kind = schema.get("type").and_then(Value::as_str);
    let spelled = match &value {
        Value::String(text) => serde_json::from_str(text).ok().filter(|spelled| is_of(kind, spelled)),
        _ => None,
    };
    match (spelled.unwrap_or(value), schema) {
        (Value::Number(number), _) if kind == Some("integer") => whole(number).into(),
        (Value::Array(items), _) => {
            let of = schema.get("items").unwrap_or(&Value::Null);
            items.into_iter().map(|item| meant(of, item)).collect()
        }
        (Value::Object(entries), Value::Object(schema)) if schema.contains_key("properties") => as_meant(schema, entries).into(),
        (value, _) => value,
    }
}

/// Whether a value is of a type that no text is of.
fn is_of(kind: Option<&str>, value: &Value) -> bool {
    match kind {
        Some("integer") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    }
}

/// A number without a fraction as the integer that it is, where every reader takes it for the same one: below 2^53 (RFC 8259, section 6).
fn whole(number: Number) -> Number {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    let is_whole = |value: &f64| value.fract() == 0.0 && value.abs() <= EXACT;
    let read =
        number.as_f64().filter(|value| number.is_f64() && is_whole(value)).and_then(|value| format!("{value:.0}").parse::<i64>().ok());
    read.map_or(number, Number::from)
}

fn expected(schema: &Value) -> String {
    let bound = |key| schema.get(key).and_then(Value::as_i64);
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => match schema.get("enum").and_then(Value::as_array) {
            Some(listed) => {
                let names: Vec<String> = listed.iter().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
                format!("one of {}", names.join(", "))
            }
            None if bound("minLength").is_some() => "a text that is not empty".to_owned(),
            None => "a text".to_owned(),
        },
        Some("integer") => match (bound("minimum"), bound("maximum")) {
            (Some(least), Some(most)) => format!("a whole number from {least} to {most}"),
            (Some(least), None) => format!("a whole number, at least {least}"),
            _ => "a whole number".to_owned(),
        },
        Some("boolean") => "true or false".to_owned(),
        Some("array") if bound("maxItems").is_some() => {
            format!("a list of {} to {} entries", bound("minItems").unwrap_or(0), bound("maxItems").unwrap_or(0))
        }
        Some("array") if bound("minItems").is_some() => "a list that is not empty".to_owned(),
        Some("array") => "a list".to_owned(),
        _ => "an object".to_owned(),
    }
}

fn came(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.is_empty() => "the empty text".to_owned(),
        Value::String(text) => {
            let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
            let more = if text.chars().nth(40).is_some() { "…" } else { "" };
            format!("the text \"{shown}{more}\"")
        }
        Value::Array(items) if items.is_empty() => "the empty list".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    arguments! {
        /// A number.
        count: u32 = 3,
        /// A choice.
        choice: Option<Choice>,
        inner: Vec<Inner>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Choice {
        /// The first.
        One,
        /// The other.
        Two,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        name: String,
    }

    #[test]
    fn a_schema_of_options_choices_and_structs_becomes_plain() {
        assert_eq!(
            Value::Object(INPUT.clone()),
            json!({
                "type": "object",
                "properties": {
                    "count": {"description": "A number.", "type": "integer", "minimum": 0, "default": 3},
                    "choice": {"description": "A choice.", "type": "string", "enum": ["one", "two"]},
                    "inner": {"type": "array", "items": {
                        "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": false
                    }},
                },
                "required": ["inner"],
                "additionalProperties": false,
            })
        );
        let read = Args::read(json!({"choice": "two", "inner": [{"name": "n"}]}).as_object().unwrap().clone()).unwrap();
        assert!(read.count == 3 && matches!(read.choice, Some(Choice::Two)) && read.inner[0].name == "n");
        let fault = Args::read(json!({"inner": [{}]}).as_object().unwrap().clone()).map(|_| ()).unwrap_err();
        assert_eq!(fault.message, "argument `inner[0].name` is missing; it must be a text");
    }
}
