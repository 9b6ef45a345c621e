//! One member into a JSON text with comments: found by its place in the text, so that all else stays to the byte.

use std::fmt::Write;
use std::ops::Range;

use serde_json::{Map, Value};

/// `before` with `outer.inner` set to `value`; `outer` is made where it is missing.
/// # Errors  Why the text is no JSON object, or `outer` is no object in it.
pub(super) fn with_member(before: &str, outer: &str, inner: &str, value: &Value) -> Result<String, String> {
    let bare = without_comments(before);
    let mut wanted: Value = serde_json::from_str(&bare).map_err(|fault| fault.to_string())?;
    let Value::Object(top) = &mut wanted else { return Err("its top is no object".to_owned()) };
    let servers = top.entry(outer).or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(servers) = servers else { return Err(format!("`{outer}` in it is no object")) };
    servers.insert(inner.to_owned(), value.clone());

    let top = members(&bare, bare.find('{').ok_or("its top is no object")?).ok_or("it cannot be followed")?;
    let after = match top.found(&bare, outer) {
        None => {
            let text = format!("{}: {}", quoted(outer), pretty(&Value::Object(Map::from_iter([(inner.to_owned(), value.clone())])), 1));
            insert(before, &top, &text, 1)
        }
        Some(place) => {
            let servers = members(&bare, place.start).ok_or("it cannot be followed")?;
            match servers.found(&bare, inner) {
                None => insert(before, &servers, &format!("{}: {}", quoted(inner), pretty(value, 2)), 2),
                Some(place) => splice(before, place, &pretty(value, 2)),
            }
        }
    }
    .ok_or("it cannot be followed")?;

    // INVARIANT: what is written reads back as what was there and the one member.
    match serde_json::from_str::<Value>(&without_comments(&after)) {
        Ok(read) if read == wanted => Ok(after),
        _ => Err("a key occurs twice in it".to_owned()),
    }
}

/// `before` without `outer.inner`; none where it is not there.
/// # Errors  Why the text is no JSON object, or `outer` is no object in it.
pub(super) fn without_member(before: &str, outer: &str, inner: &str) -> Result<Option<String>, String> {
    let bare = without_comments(before);
    let mut wanted: Value = serde_json::from_str(&bare).map_err(|fault| fault.to_string())?;
    let Value::Object(top) = &mut wanted else { return Err("its top is no object".to_owned()) };
    let Some(servers) = top.get_mut(outer) else { return Ok(None) };
    let Value::Object(servers) = servers else { return Err(format!("`{outer}` in it is no object")) };
    if servers.remove(inner).is_none() {
        return Ok(None);
    }
    let lost = || "it cannot be followed".to_owned();
    let top = members(&bare, bare.find('{').ok_or_else(lost)?).ok_or_else(lost)?;
    let servers = members(&bare, top.found(&bare, outer).ok_or_else(lost)?.start).ok_or_else(lost)?;
    let is_own =
        |key: &Range<usize>| bare.get(key.clone()).and_then(|key| serde_json::from_str::<String>(key).ok()).as_deref() == Some(inner);
    let at = servers.members.iter().position(|(key, _)| is_own(key)).ok_or_else(lost)?;
    let (key, value) = servers.members.get(at).cloned().ok_or_else(lost)?;
    let rest = |from: usize| bare.get(from..).unwrap_or_default();
    // With the comma after it and the white space before; the last one with the comma before it, where JSON knows none at the end.
    let mut end = value.end;
    let after = rest(end).len() - rest(end).trim_start().len();
    let has_comma = rest(end + after).starts_with(',');
    if has_comma {
        end += after + 1;
    }
    let before_key = bare.get(..key.start).unwrap_or_default().trim_end().len();
    let from = if has_comma || at == 0 {
        before_key
    } else {
        before_key.saturating_sub(usize::from(bare.get(..before_key).is_some_and(|text| text.ends_with(','))))
    };
    let after = splice(before, from..end, "").ok_or_else(lost)?;
    match serde_json::from_str::<Value>(&without_comments(&after)) {
        Ok(read) if read == wanted => Ok(Some(after)),
        _ => Err("a key occurs twice in it".to_owned()),
    }
}

/// JSON with two spaces a level, its first line not indented.
pub(super) fn pretty(value: &Value, level: usize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.replace('\n', &format!("\n{}", "  ".repeat(level)))
}

fn quoted(name: &str) -> String {
    Value::from(name).to_string()
}

fn splice(text: &str, place: Range<usize>, new: &str) -> Option<String> {
    Some(format!("{}{new}{}", text.get(..place.start)?, text.get(place.end..)?))
}

/// As the first member, so that neither a comma nor a comment at the end matters.
fn insert(text: &str, object: &Object, member: &str, level: usize) -> Option<String> {
    let mut new = format!("\n{}{member}", "  ".repeat(level));
    if object.members.is_empty() {
        let _ = write!(new, "\n{}", "  ".repeat(level.saturating_sub(1)));
    } else {
        new.push(',');
    }
    splice(text, object.start..object.start, &new)
}

/// Where the members of one object stand.
struct Object {
    /// Just after its brace.
    start: usize,
    members: Vec<(Range<usize>, Range<usize>)>,
}

impl Object {
    /// The last value under this name, as readers take it.
    fn found(&self, text: &str, name: &str) -> Option<Range<usize>> {
        let is = |place: &Range<usize>| {
            text.get(place.clone()).and_then(|key| serde_json::from_str::<String>(key).ok()).as_deref() == Some(name)
        };
        self.members.iter().rev().find(|(key, _)| is(key)).map(|(_, value)| value.clone())
    }
}

/// Walks the object that opens at `open`. The text is known to be JSON, so only strings and brackets matter.
fn members(text: &str, open: usize) -> Option<Object> {
    let bytes = text.as_bytes();
    let mut object = Object { start: open + 1, members: Vec::new() };
    let (mut at, mut depth, mut key, mut value) = (open + 1, 0_u32, None, None::<usize>);
    loop {
        let byte = *bytes.get(at)?;
        let from = at;
        at += 1;
        match byte {
            b'"' => {
                while *bytes.get(at)? != b'"' {
                    at += if *bytes.get(at)? == b'\\' { 2 } else { 1 };
                }
                at += 1;
                if depth == 0 && key.is_none() {
                    key = Some(from..at);
                }
            }
            b':' if depth == 0 && value.is_none() => {
                while bytes.get(at)?.is_ascii_whitespace() {
                    at += 1;
                }
                value = Some(at);
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > 0 => depth -= 1,
            b',' | b'}' if depth == 0 => {
                if let (Some(key), Some(value)) = (key.take(), value.take()) {
                    let written = text.get(value..from)?.trim_end().len();
                    object.members.push((key, value..value + written));
                }
                if byte == b'}' {
                    return Some(object);
                }
            }
            _ => {}
        }
    }
}

/// The same text with comments and trailing commas blanked out, every byte in its place.
fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut at, mut comma) = (0, None);
    let blank = |bytes: &mut [u8], from: usize, to: usize| {
        for byte in bytes.iter_mut().take(to).skip(from).filter(|byte| !matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
    };
    if text.starts_with('\u{feff}') {
        blank(&mut bytes, 0, 3);
        at = 3;
    }
    while let Some(byte) = bytes.get(at).copied() {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = if rest.starts_with(b"//") {
            rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
        } else if rest.starts_with(b"/*") {
            rest.windows(2).skip(2).position(|pair| pair == b"*/").map_or(rest.len(), |end| end + 4)
        } else {
            0
        };
        if length > 0 {
            blank(&mut bytes, at, at + length);
            at += length;
            continue;
        }
        at += 1;
        match byte {
            b'"' => {
                while let Some(inner) = bytes.get(at).copied() {
                    at += if inner == b'\\' { 2 } else { 1 };
                    if inner == b'"' {
                        break;
                    }
                }
                comma = None;
            }
            b',' => comma = Some(at - 1),
            b'}' | b']' => {
                if let Some(trailing) = comma.take() {
                    blank(&mut bytes, trailing, trailing + 1);
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(before: &str) -> Result<String, String> {
        with_member(before, "servers", "gate", &json!({"command": "g"}))
    }

    #[test]
    fn comments_order_and_odd_layout_stay() {
        let before = "// mine\n{\n  \"z\": 1, /* \"servers\": {} */\n  \"servers\": {\n    \"b\": {\"x\": \"} // no\"}, // last\n  },\n  \"a\": [1, 2,],\n}\n";
        let after = "// mine\n{\n  \"z\": 1, /* \"servers\": {} */\n  \"servers\": {\n    \"gate\": {\n      \"command\": \"g\"\n    },\n    \"b\": {\"x\": \"} // no\"}, // last\n  },\n  \"a\": [1, 2,],\n}\n";
        assert_eq!(set(before).as_deref(), Ok(after));
    }

    #[test]
    fn a_missing_place_is_made_and_an_earlier_entry_replaced() {
        assert_eq!(set("{}").as_deref(), Ok("{\n  \"servers\": {\n    \"gate\": {\n      \"command\": \"g\"\n    }\n  }\n}"));
        assert_eq!(set("{\"servers\": {}}").as_deref(), Ok("{\"servers\": {\n    \"gate\": {\n      \"command\": \"g\"\n    }\n  }}"));
        let twice = set(&set("{\"a\":1}").unwrap());
        assert_eq!(twice, set("{\"a\":1}"));
        let old = "{\"servers\": {\"g\\u0061te\": {\"old\": [1]} , \"x\": 2}}";
        assert_eq!(set(old).as_deref(), Ok("{\"servers\": {\"g\\u0061te\": {\n      \"command\": \"g\"\n    } , \"x\": 2}}"));
    }

    #[test]
    fn what_is_no_object_is_told() {
        for (before, why) in
            [("[1]", "top is no object"), ("{\"servers\": 1}", "`servers` in it is no object"), ("{\"a\" 1}", "expected `:`")]
        {
            assert!(set(before).unwrap_err().contains(why), "{before}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_was_there_is_there_afterwards(keys in proptest::collection::btree_map("[a-z\"\\\\/*{},]{0,6}", "[ -~]{0,8}", 0..6)) {
            let before = json!(keys);
            let after: Value = serde_json::from_str(&set(&before.to_string()).unwrap()).unwrap();
            let mut wanted = before;
            wanted["servers"] = json!({"gate": {"command": "g"}});
            proptest::prop_assert_eq!(after, wanted);
        }
    }
}
