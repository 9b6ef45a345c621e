//! What one change costs: a tool, a refusal code and a manifest key stand in the places that `docs/architecture.md` names, and in no further list.

use super::{Source, sources};

/// The modules that the registry of tools names, each with the lines that name it.
fn registered(registry: &str) -> Vec<(&str, usize)> {
    let entries = registry.lines().filter_map(|line| line.trim().strip_prefix('&')?.split_once("::"));
    let all: Vec<&str> = entries.map(|(module, _)| module).collect();
    all.iter().map(|module| (*module, all.iter().filter(|other| *other == module).count())).collect()
}

/// The files, but its own and the registry, that name the module of a tool. Other folders have modules of the same name.
fn names_tool<'s>(module: &str, sources: &'s [Source]) -> Vec<&'s str> {
    let own = format!("tools/{module}.rs");
    let elsewhere = sources.iter().filter(|source| source.path != own && source.path != "tools/mod.rs");
    elsewhere.filter(|source| source.text.contains(&format!("tools::{module}"))).map(|source| source.path.as_str()).collect()
}

#[test]
fn a_built_in_tool_is_a_file_and_a_line_of_the_registry() {
    let sources = sources("src");
    let registry = sources.iter().find(|source| source.path == "tools/mod.rs").unwrap();
    let tools = registered(&registry.text);
    assert!(tools.len() >= 15, "{tools:?}");
    for (module, lines) in tools {
        assert_eq!(lines, 1, "`{module}` is registered once");
        assert!(sources.iter().any(|source| source.path == format!("tools/{module}.rs")), "`{module}` has a file of its own");
        assert_eq!(names_tool(module, &sources), [""; 0], "`{module}` is named elsewhere");
    }
    let other = Source { path: "gate/x.rs".into(), text: "use crate::tools::copy_file::CopyFile;".into() };
    assert_eq!(names_tool("copy_file", &[other]), ["gate/x.rs"]);
    assert_eq!(registered("    &a::A,\n    &b::B,\n    &a::A,"), [("a", 2), ("b", 1), ("a", 2)]);
}

/// The refusal codes that a source names.
fn named_codes<'c>(codes: &[&'c str], text: &str) -> Vec<&'c str> {
    let is_named = |code: &&&str| {
        let name = format!("Code::{code}");
        text.split(&name).skip(1).any(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
    };
    codes.iter().filter(is_named).copied().collect()
}

#[test]
fn a_refusal_code_is_one_line() {
    const LIST: &str = "model/refusal.rs";
    let mut sources = sources("src");
    sources.extend(super::sources("crates/toolgate-policy/src"));
    let list = &sources.iter().find(|source| source.path == LIST).unwrap().text;
    let codes: Vec<&str> = list.lines().filter_map(|line| line.trim().split_once(" = \"")).map(|(variant, _)| variant).collect();
    assert!(codes.len() >= 50 && codes.contains(&"PathDenied"), "{codes:?}");
    // A file that names this many of them is a second list, which a new code would have to be added to.
    let most = codes.len() / 3;
    for source in sources.iter().filter(|source| source.path != LIST) {
        let named = named_codes(&codes, &source.text);
        assert!(named.len() <= most, "`{}` names {} codes", source.path, named.len());
    }
    assert_eq!(named_codes(&["PathDenied", "Path"], "Code::PathDenied => 1,"), ["PathDenied"]);
}

/// The keys of a schema without a description, each below its table.
fn undescribed(schema: &serde_json::Value, found: &mut Vec<String>) -> usize {
    let mut keys = 0;
    if let Some(properties) = schema.get("properties").and_then(serde_json::Value::as_object) {
        keys += properties.len();
        let bare = properties.iter().filter(|(_, property)| property["description"].as_str().is_none_or(str::is_empty));
        found.extend(bare.map(|(name, _)| name.clone()));
    }
    let inner: Vec<&serde_json::Value> = match schema {
        serde_json::Value::Object(members) => members.values().collect(),
        serde_json::Value::Array(values) => values.iter().collect(),
        _ => Vec::new(),
    };
    keys + inner.into_iter().map(|inner| undescribed(inner, found)).sum::<usize>()
}

#[test]
fn a_manifest_key_is_a_field_with_its_comment() {
    let mut found = Vec::new();
    let keys = undescribed(toolgate::manifest::schema(), &mut found);
    assert!(keys >= 150, "{keys} keys");
    assert_eq!(found, [""; 0], "keys without a doc comment");
    undescribed(&serde_json::json!({"properties": {"a": {"description": "x"}, "b": {"properties": {"c": {}}}}}), &mut found);
    assert_eq!(found, ["b", "c"]);
}
