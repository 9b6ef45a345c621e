//! The tools, one file each, and their registry. No tool knows another; none knows the wire.

mod answer;
mod copy_file;
mod create_directory;
mod delete_file;
mod edit_file;
mod edit_files;
mod fetch;
mod fetch_many;
mod file_info;
mod list_directory;
mod move_file;
mod page;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod query_database;
mod read_file;
mod read_files;
mod run_python;
pub mod schema;
mod search_files;
#[cfg(feature = "mail")]
mod send_email;
mod write_file;

use std::sync::LazyLock;

use crate::model::ToolSpec;
use crate::tool::Tool;

/// Every tool, sorted by name. A new tool is one line here.
static TOOLS: &[&dyn Tool] = &[
    &copy_file::CopyFile,
    &create_directory::CreateDirectory,
    &delete_file::DeleteFile,
    &edit_file::EditFile,
    &edit_files::EditFiles,
    &fetch::Fetch,
    &fetch_many::FetchMany,
    &file_info::FileInfo,
    &list_directory::ListDirectory,
    &move_file::MoveFile,
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    &query_database::QueryDatabase,
    &read_file::ReadFile,
    &read_files::ReadFiles,
    &run_python::RunPython,
    &search_files::SearchFiles,
    #[cfg(feature = "mail")]
    &send_email::SendEmail,
    &write_file::WriteFile,
];

/// Every tool, sorted by name.
pub fn all() -> &'static [&'static dyn Tool] {
    TOOLS
}

/// The tool of this name.
pub fn find(name: &str) -> Option<&'static dyn Tool> {
    let at = TOOLS.binary_search_by(|tool| tool.spec().name.cmp(name)).ok()?;
    TOOLS.get(at).copied()
}

/// Name, flags and arguments of every tool, sorted by name.
pub fn specs() -> &'static [&'static ToolSpec] {
    static SPECS: LazyLock<Vec<&'static ToolSpec>> = LazyLock::new(|| TOOLS.iter().map(|tool| tool.spec()).collect());
    &SPECS
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::Code;

    #[test]
    fn the_registry_is_sorted_and_finds_every_tool() {
        assert!(TOOLS.is_sorted_by_key(|tool| tool.spec().name));
        for tool in all() {
            assert_eq!(find(tool.spec().name).map(Tool::spec), Some(tool.spec()));
        }
        assert!(find("read_fil").is_none() && find("read_file2").is_none());
        assert_eq!(specs().len(), TOOLS.len());
    }

    #[test]
    fn arguments_are_read_as_models_write_them() {
        let meant = |tool: &str, given: Value| {
            let given = given.as_object().unwrap().clone();
            Value::Object(schema::as_meant(find(tool).unwrap().card().input_schema, given))
        };
        for (tool, given, read) in [
            ("read_file", json!({"path": "2", "offset": "2", "limit": null}), json!({"path": "2", "offset": 2})),
            (
                "read_file",
                json!({"offset": 2.0, "limit": 1.5, "line_numbers": "true"}),
                json!({"offset": 2, "limit": 1.5, "line_numbers": true}),
            ),
            ("read_file", json!({"path": null, "offset": "two", "odd": null}), json!({"path": null, "offset": "two", "odd": null})),
            ("read_files", json!({"paths": "[\"a\", \"1\"]"}), json!({"paths": ["a", "1"]})),
            ("edit_file", json!({"edits": "[{\"replace_all\": \"false\"}]"}), json!({"edits": [{"replace_all": false}]})),
            ("edit_file", json!({"edits": [{"old_text": "1", "replace_all": null}]}), json!({"edits": [{"old_text": "1"}]})),
            ("fetch", json!({"headers": "{\"accept\": \"1\"}", "body": "{}"}), json!({"headers": {"accept": "1"}, "body": "{}"})),
        ] {
            assert_eq!(meant(tool, given.clone()), read, "{tool} {given}");
        }
    }

    #[test]
    fn spec_and_schema_name_the_same_arguments() {
        for tool in all() {
            let card = tool.card();
            let mut listed: Vec<&str> = tool.spec().arguments.iter().map(|argument| argument.name).collect();
            let mut described: Vec<&str> = card.input_schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            listed.sort_unstable();
            described.sort_unstable();
            assert_eq!(listed, described, "{}", tool.spec().name);
        }
    }

    #[test]
    fn schemas_are_portable_and_small() {
        fn walk(value: &Value, at: &str) {
            match value {
                Value::Object(map) => {
                    for key in ["$ref", "$defs", "$schema", "anyOf", "oneOf", "allOf"] {
                        assert!(!map.contains_key(key), "{at}: {key}");
                    }
                    assert!(!map.get("type").is_some_and(Value::is_array), "{at}: type array");
                    if map.get("type") == Some(&json!("object")) && map.contains_key("properties") && at.contains("input") {
                        assert_eq!(map.get("additionalProperties"), Some(&json!(false)), "{at}");
                    }
                    map.iter().for_each(|(key, value)| walk(value, &format!("{at}.{key}")));
                }
                Value::Array(list) => list.iter().for_each(|value| walk(value, at)),
                _ => {}
            }
        }
        let mut bytes = 0;
        for tool in all() {
            let (name, card) = (tool.spec().name, tool.card());
            walk(&Value::Object(card.input_schema.clone()), &format!("{name}.input"));
            bytes += serde_json::to_string(&card.input_schema).unwrap().len() + card.description.len() + card.title.len() + 120;
            if let Some(output) = card.output_schema {
                walk(&Value::Object(output.clone()), &format!("{name}.output"));
                assert!(!output.contains_key("required"), "{name}");
                bytes += serde_json::to_string(&output).unwrap().len();
            }
        }
        // A model reads all of `tools/list`; without Python, the web, databases and mail it is 8 KB.
        assert!(bytes <= 12_000, "{bytes} bytes");
    }

    #[test]
    fn a_bad_argument_is_named_with_what_was_expected_and_what_came() {
        for (tool, arguments, code, says) in [
            ("read_file", json!({}), Code::ArgumentInvalid, "`path` is missing"),
            ("read_file", json!({"path": 7}), Code::ArgumentInvalid, "`path` must be a text; it is the number 7"),
            ("read_file", json!({"path": null}), Code::ArgumentInvalid, "`path` must be a text; it is null"),
            ("read_file", json!({"path": "w/a", "offset": 1.0}), Code::ArgumentInvalid, "`offset` must be a whole number"),
            ("read_file", json!({"path": "w/a", "offset": "1"}), Code::ArgumentInvalid, "it is the text \"1\""),
            ("read_file", json!({"path": "w/a", "offset": 0}), Code::ArgumentInvalid, "at least 1"),
            ("read_file", json!({"path": "w/a", "offset": true}), Code::ArgumentInvalid, "it is true"),
            ("read_file", json!({"path": "w/a", "encoding": "UTF-8"}), Code::ArgumentInvalid, "one of `utf-8`, `base64`"),
            ("read_file", json!({"path": "w/a", "ofset": 1}), Code::UnknownArgument, "`ofset`"),
            ("read_file", json!({"path": "w/../a"}), Code::PathMalformed, "`..`"),
            ("read_files", json!({"paths": []}), Code::ArgumentInvalid, "`paths` must be a list of 1 to 50 entries; it is the empty list"),
            ("read_files", json!({"paths": vec!["w/a"; 51]}), Code::ArgumentInvalid, "a list of 1 to 50 entries; it is a list of 51"),
            ("fetch_many", json!({"urls": ["https://a.example/", 7]}), Code::ArgumentInvalid, "`urls[1]` must be a text"),
            ("edit_file", json!({"path": "w/a", "edits": []}), Code::ArgumentInvalid, "`edits`"),
            (
                "edit_file",
                json!({"path": "w/a", "edits": [{"old_text": "", "new_text": "x"}]}),
                Code::ArgumentInvalid,
                "`edits[0].old_text`",
            ),
            (
                "edit_file",
                json!({"path": "w/a", "edits": [{"old_text": "a", "new_text": "x", "all": true}]}),
                Code::UnknownArgument,
                "`edits[0].all`",
            ),
            ("write_file", json!({"path": "w/a", "content": "*", "encoding": "base64"}), Code::ArgumentInvalid, "`content`"),
            ("write_file", json!({"path": "w/a", "content": "", "expected_sha256": "12"}), Code::ArgumentInvalid, "`expected_sha256`"),
            ("search_files", json!({"path": "w", "query": "("}), Code::ArgumentInvalid, "`query`"),
            ("search_files", json!({"path": "w", "glob": "a**"}), Code::ArgumentInvalid, "`glob`"),
            ("list_directory", json!({"path": "w", "depth": 99}), Code::ArgumentInvalid, "`depth`"),
            ("delete_file", json!({"path": "w/a", "recursive": "true"}), Code::ArgumentInvalid, "true or false"),
        ] {
            let refusal = find(tool).unwrap().plan(arguments.as_object().unwrap().clone()).unwrap_err();
            assert_eq!(refusal.code, code, "{tool} {arguments}: {refusal}");
            assert!(refusal.to_string().contains(says), "{tool} {arguments}: {refusal}");
        }
    }
}
