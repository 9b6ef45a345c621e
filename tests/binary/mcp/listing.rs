//! The list of tools, and that answers are what it promises.

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::Server;

fn tools(answer: &Value) -> Vec<Value> {
    answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
}

/// Every object of a schema, at any depth.
fn nodes(schema: &Value) -> Vec<&Value> {
    let mut found = vec![schema];
    let below: Vec<&Value> = match schema {
        Value::Object(members) => members.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    for child in below {
        found.extend(nodes(child));
    }
    found
}

/// The tools that every release had: what they take of a model's context stays small.
const FIRST: [&str; 11] = [
    "create_directory",
    "delete_file",
    "edit_file",
    "fetch",
    "file_info",
    "list_directory",
    "move_file",
    "read_file",
    "run_python",
    "search_files",
    "write_file",
];

#[test]
fn the_list_is_short_sorted_and_the_same_in_both_eras() {
    let home = Home::new(Policy::default());
    let mut server = Server::greeted(&home, "2025-11-25");
    let handshake = server.request("tools/list", &json!({}));
    let size = |some: &dyn Fn(&str) -> bool| {
        let listed = tools(&handshake);
        listed.iter().filter(|tool| some(tool["name"].as_str().unwrap())).map(|tool| tool.to_string().len() + 1).sum::<usize>()
    };
    let (first, all) = (size(&|name| FIRST.contains(&name)), size(&|_| true));
    assert!(tools(&handshake).len() >= FIRST.len() + 2, "{handshake}");
    assert!(first <= 9 << 10, "the first {} tools have {first} bytes", FIRST.len());
    assert!(all <= 25 << 9, "tools/list has {all} bytes");
    let names: Vec<String> = tools(&handshake).iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    assert!(names.is_sorted(), "{names:?}");
    assert_eq!(tools(&handshake), tools(&server.stateless("tools/list", &json!({}))));
    assert_eq!(tools(&handshake), tools(&server.request("tools/list", &json!({}))));
}

#[test]
fn every_tool_is_described_and_its_schemas_are_portable() {
    let home = Home::new(Policy::default());
    let mut server = Server::greeted(&home, "2025-11-25");
    for tool in tools(&server.request("tools/list", &json!({}))) {
        let name = tool["name"].as_str().unwrap();
        for key in ["title", "description"] {
            assert!(tool[key].as_str().is_some_and(|text| !text.is_empty()), "{name} has no {key}");
        }
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{name} does not say {hint}");
        }
        let input = &tool["inputSchema"];
        assert_eq!((input["type"].as_str(), input["additionalProperties"].as_bool()), (Some("object"), Some(false)), "{name}: {input}");
        for schema in [input, &tool["outputSchema"]] {
            for node in nodes(schema) {
                assert!(node.get("$ref").is_none() && node.get("$defs").is_none(), "{name}: {node}");
                assert!(!node.get("type").is_some_and(Value::is_array), "{name}: {node}");
            }
        }
        for (argument, schema) in input["properties"].as_object().unwrap() {
            assert!(schema["type"].is_string(), "{name}.{argument}: {schema}");
        }
        let whole_text = matches!(name, "read_file" | "read_files" | "fetch" | "fetch_many");
        assert_eq!(tool["outputSchema"].is_object(), !whole_text, "{name}");
        assert!(tool["outputSchema"].get("required").is_none(), "{name} requires parts of its answer");
    }
}

#[test]
fn a_profile_sees_only_the_tools_it_can_ever_use() {
    let home = Home::new(Policy::default());
    let manifest = std::fs::read_to_string(home.manifest()).unwrap();
    let narrow = manifest.replace(r#"permissions = ["STANDARD", "EXECUTE_CODE"]"#, r#"permissions = ["READONLY"]"#);
    std::fs::write(home.manifest(), narrow).unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    let names: Vec<Value> = tools(&server.request("tools/list", &json!({}))).iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["file_info", "list_directory", "read_file", "read_files", "search_files"]);
    let refused = server.call("write_file", &json!({"path": "project/x", "content": "x"}));
    assert_eq!(refused["result"]["structuredContent"]["code"], "permission_missing", "{refused}");
}

#[test]
fn answers_conform_to_their_schemas_success_and_refusal_alike() {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"\nlevel_3 = \"none\"", ..Policy::default() });
    let mut server = Server::greeted(&home, "2025-11-25");
    let listed = tools(&server.request("tools/list", &json!({})));
    let good = [
        ("write_file", json!({"path": "project/new.txt", "content": "a\n"})),
        ("edit_file", json!({"path": "project/new.txt", "edits": [{"old_text": "a", "new_text": "b"}]})),
        ("list_directory", json!({"path": "project", "depth": 2})),
        ("search_files", json!({"path": "project", "query": "line", "context_lines": 1})),
        ("search_files", json!({"path": "project", "glob": "**/*.csv"})),
        ("file_info", json!({"path": "project/new.txt"})),
        ("create_directory", json!({"path": "project/folder"})),
        ("move_file", json!({"from": "project/new.txt", "to": "project/folder/new.txt"})),
        ("copy_file", json!({"from": "project/notes.txt", "to": "project/folder/deep/copy.txt"})),
        (
            "edit_files",
            json!({"edits": [{"path": "project/folder/new.txt", "old_text": "b", "new_text": "c"},
                             {"path": "project/folder/deep/copy.txt", "old_text": "first", "new_text": "1st"}]}),
        ),
        ("delete_file", json!({"path": "project/folder", "recursive": true})),
        ("run_python", json!({"code": "print(1)"})),
    ];
    let bad = [
        ("write_file", json!({"path": "project/secrets/x", "content": "a"})),
        ("edit_file", json!({"path": "project/notes.txt", "edits": [{"old_text": "nowhere", "new_text": "b"}]})),
        ("list_directory", json!({"path": "project/none"})),
        ("search_files", json!({"path": "project", "query": "("})),
        ("file_info", json!({"path": "/etc/passwd"})),
        ("create_directory", json!({"path": 5})),
        ("move_file", json!({"from": "project/none", "to": "project/n2"})),
        ("copy_file", json!({"from": "project/none", "to": "project/n2"})),
        ("edit_files", json!({"edits": [{"path": "project/notes.txt", "old_text": "nowhere", "new_text": "b"}]})),
        ("delete_file", json!({"path": "project/none"})),
        ("run_python", json!({"code": "import socket"})),
        ("run_python", json!({"code": "1/0"})),
    ];
    for (expected, calls) in [(false, good), (true, bad)] {
        for (name, arguments) in calls {
            let answer = server.call(name, &arguments);
            let result = &answer["result"];
            assert_eq!(result["isError"].as_bool().unwrap_or_default(), expected, "{name} {arguments}: {answer}");
            let schema = &listed.iter().find(|tool| tool["name"] == name).unwrap()["outputSchema"];
            let found = &result["structuredContent"];
            assert!(found.is_object(), "{name}: {answer}");
            let faults: Vec<String> = jsonschema::validator_for(schema)
                .unwrap()
                .iter_errors(found)
                .map(|fault| format!("{} at {}", fault, fault.instance_path()))
                .collect();
            assert!(faults.is_empty(), "{name}: {faults:?} in {found}");
            assert!(result["content"][0]["text"].as_str().is_some_and(|text| !text.is_empty()), "{name}: {answer}");
        }
    }
}

#[test]
fn a_file_crosses_the_wire_once() {
    let home = Home::new(Policy::default());
    let text = (0..2000).map(|n| format!("line number {n}")).collect::<Vec<_>>().join("\n");
    std::fs::write(home.path("project/long.txt"), &text).unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    let answer = server.call("read_file", &json!({"path": "project/long.txt"}));
    assert_eq!(answer["result"]["content"][0]["text"], text, "the text came back changed");
    assert_eq!(answer.to_string().matches("line number 1777").count(), 1);
    assert_eq!(answer["result"]["_meta"]["toolgate/file"]["size"], text.len());
}

#[test]
fn a_refusal_tells_what_which_rule_and_nothing_of_the_host() {
    let home = Home::new(Policy::default());
    let mut server = Server::greeted(&home, "2025-11-25");
    let answer = server.call("read_file", &json!({"path": "project/secrets/key.txt"}));
    let result = &answer["result"];
    let facts = &result["structuredContent"];
    assert_eq!((result["isError"].as_bool(), facts["code"].as_str()), (Some(true), Some("path_denied")), "{answer}");
    assert!(facts["message"].as_str().is_some_and(|text| text.contains("project/secrets/key.txt")), "{facts}");
    assert!(facts["rule"].as_str().is_some_and(|text| text.contains("denied_paths")), "{facts}");
    assert!(facts["call_id"].is_string(), "{facts}");
    let text = answer.to_string();
    assert!(!text.contains(home.path("").to_str().unwrap()) && !text.contains("hidden"), "{text}");
    // What is not there and what must not be seen are told alike outside the roots.
    let absent = server.call("read_file", &json!({"path": "/no/such/file"}));
    let present = server.call("read_file", &json!({"path": "/etc/hostname"}));
    let told =
        |answer: &Value| answer["result"]["structuredContent"]["message"].as_str().unwrap().replace("/no/such/file", "/etc/hostname");
    assert_eq!(told(&absent), told(&present));
}

#[test]
fn roots_are_named_before_they_are_needed_and_only_those_of_the_profile() {
    let home = Home::new(Policy::default());
    let manifest = std::fs::read_to_string(home.manifest()).unwrap();
    std::fs::write(home.manifest(), manifest.replace("[profiles.all]", "[profiles.all]\nroots = [\"project\", \"work\"]")).unwrap();
    let mut server = Server::start(&home);
    let hello = server.request("initialize", &crate::mcp::server::hello("2025-11-25"));
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let (roots, names) = ("`project` (read and write), `work` (read and write)", " Roots: project, work.");
    let instructions = hello["result"]["instructions"].as_str().unwrap();
    assert!(instructions.contains(roots), "{instructions}");
    for tool in tools(&server.request("tools/list", &json!({}))) {
        let description = tool["description"].as_str().unwrap();
        assert_eq!(description.contains(names), !["run_python", "fetch_many"].contains(&tool["name"].as_str().unwrap()), "{description}");
    }
    for path in [".", "", "/"] {
        let listed = server.request("tools/call", &json!({"name": "list_directory", "arguments": {"path": path}}));
        let listed = &listed["result"];
        let names: Vec<&str> =
            listed["structuredContent"]["entries"].as_array().unwrap().iter().filter_map(|entry| entry["path"].as_str()).collect();
        assert_eq!(names, ["project", "work"], "{listed}");
        assert_eq!(listed["content"][0]["text"], "project/  (read and write)\nwork/  (read and write)\n", "{listed}");
        // Every other tool refuses what is above all roots.
        for (tool, arguments) in [("search_files", json!({"path": path, "query": "a"})), ("file_info", json!({"path": path}))] {
            let refused = server.request("tools/call", &json!({"name": tool, "arguments": arguments}));
            assert_eq!(refused["result"]["isError"], true, "{tool} {path}: {refused}");
        }
    }
    home.verify();
}
