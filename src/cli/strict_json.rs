//! JSON in which every name stands once: what two parsers could read in two ways is told.

use std::collections::BTreeSet;

use jsonc_parser::ast;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

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
    // The first reading bounds the depth of the second.
    let value = serde_json::from_str(text).map_err(|fault| fault.to_string())?;
    let tree = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).map_err(|fault| fault.to_string())?;
    let mut twice = Vec::new();
    if let Some(tree) = &tree.value {
        collect(tree, "", &mut twice);
    }
    Ok(Read { value, twice })
}

fn collect(value: &ast::Value<'_>, at: &str, twice: &mut Vec<String>) {
    match value {
        ast::Value::Object(object) => {
            let mut seen = BTreeSet::new();
            for member in &object.properties {
                let name = member.name.as_str();
                let at = if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
                if !seen.insert(name) {
                    twice.push(at.clone());
                }
                collect(&member.value, &at, twice);
            }
        }
        ast::Value::Array(array) => {
            for (index, value) in array.elements.iter().enumerate() {
                collect(value, &format!("{at}[{index}]"), twice);
            }
        }
        _ => {}
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
