//! docs/manifest.md: every key of `tools.toml`, made from the schema and from one example for each key.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may stop at what should not be")]

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value;
use toml_edit::{DocumentMut, Item, TableLike};
use toolgate::manifest;
use toolgate::tools;

/// With this variable set, the page is written instead of compared.
const UPDATE: &str = "UPDATE_MANIFEST_PAGE";

/// A manifest with an example for every key but those of [`CONTAINER`].
const EXAMPLES: &str = include_str!("manifest_examples.toml");
/// The keys that exclude others of [`EXAMPLES`].
const CONTAINER: &str = r#"version = 1
[python]
backend = "container"
container = { engine = "podman", image = "python:3.13-slim", runtime = "crun" }
"#;

/// The tables in the order of the page.
const ORDER: [&str; 18] = [
    "version",
    "roots",
    "files",
    "profiles",
    "clients",
    "approvals",
    "tools",
    "limits",
    "network",
    "databases",
    "mail",
    "python",
    "filters",
    "review",
    "http",
    "audit",
    "state",
    "test",
];

const HEAD: &str = "# The manifest

This page lists every key of `tools.toml`: what it means, its default, and an example. It is made from the schema that `toolgate schema` prints;
a test keeps it current.

`toolgate init` writes a short manifest, `toolgate init --full` one with every key, `toolgate check` reports every fault of a file with its line.
What the manifest does not allow is denied. A denial wins over an approval, an approval over a permission; the order of keys means nothing.
Sizes are texts such as `64 KiB`, times such as `10s`, `5m`, `1h`, `30d`. A key that is not listed here is a fault.
";

#[test]
fn the_page_of_the_manifest_lists_every_key_with_an_example() {
    for text in [EXAMPLES, CONTAINER] {
        manifest::parse(text, tools::specs()).unwrap();
    }
    let files = [EXAMPLES, CONTAINER].map(|text| text.parse::<DocumentMut>().unwrap());
    let mut page = HEAD.to_owned();
    let schemas = manifest::schema()["properties"].as_object().unwrap();
    assert_eq!(schemas.len(), ORDER.len(), "a table of the manifest is not in the order of the page");
    for name in ORDER {
        let examples = files.iter().filter_map(|file| file.get(name)).collect();
        section(&mut page, name, &schemas[name], examples);
    }
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/manifest.md");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = kept.lines().zip(page.lines()).find(|(kept, made)| kept != made);
    assert!(kept == page, "docs/manifest.md is not that of this schema, first at {differs:#?}; {UPDATE}=1 writes it");
}

/// A table of the manifest, then the tables in it. `examples`: the values of this name in the files of examples.
fn section(page: &mut String, name: &str, schema: &Value, examples: Vec<&Item>) {
    let (heading, members) = if schema["items"]["properties"].is_object() {
        (format!("[[{name}]]"), &schema["items"]["properties"])
    } else if schema["additionalProperties"]["properties"].is_object() {
        (format!("[{name}.NAME]"), &schema["additionalProperties"]["properties"])
    } else {
        (format!("[{name}]"), &schema["properties"])
    };
    let Some(members) = members.as_object() else {
        let example = shown(examples[0]);
        let _ = write!(page, "\n## `{name}`\n\n{}\n\nExample: `{name} = {example}`\n", sentence(schema));
        return;
    };
    let tables: Vec<&dyn TableLike> = examples.into_iter().flat_map(|item| tables(item, heading.ends_with("NAME]"))).collect();
    let _ =
        write!(page, "\n## `{heading}`\n\n{}\n\n| Key | Value | Default | Meaning | Example |\n|---|---|---|---|---|\n", sentence(schema));
    let mut below = Vec::new();
    for (key, member) in members {
        let examples: Vec<&Item> = tables.iter().filter_map(|table| table.get(key)).collect();
        let example = examples.first().unwrap_or_else(|| panic!("`{name}.{key}` has no example"));
        if example.is_table() || example.is_array_of_tables() {
            below.push((format!("{name}.{key}"), member, examples));
            continue;
        }
        for key in member["properties"].as_object().into_iter().flat_map(serde_json::Map::keys) {
            assert!(example.get(key).is_some(), "`{name}.{key}` has no example");
        }
        let default = member.get("default").map(|default| code(&default.to_string())).unwrap_or_default();
        let example = code(&format!("{key} = {}", shown(example)));
        let _ = writeln!(page, "| `{key}` | {} | {default} | {} | {example} |", kind(member), sentence(member));
    }
    for (name, member, examples) in below {
        section(page, &name, member, examples);
    }
}

/// The tables of an example: itself, those of a list, or those below names of the writer's choice.
fn tables(item: &Item, is_named: bool) -> Vec<&dyn TableLike> {
    if let Some(list) = item.as_array_of_tables() {
        return list.iter().map(|table| table as &dyn TableLike).collect();
    }
    let table = item.as_table_like().unwrap();
    if is_named { table.iter().map(|(_, item)| item.as_table_like().unwrap()).collect() } else { vec![table] }
}

fn shown(example: &Item) -> String {
    example.to_string().trim().to_owned()
}

/// What a value may be.
fn kind(schema: &Value) -> String {
    let words = |values: Vec<&Value>| values.into_iter().map(|value| code(&value.to_string())).collect::<Vec<_>>().join(", ");
    if let Some(values) = schema["enum"].as_array() {
        return words(values.iter().collect());
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        return words(choices.iter().map(|choice| &choice["const"]).collect());
    }
    match schema["type"].as_str() {
        Some("string") => "text".to_owned(),
        Some("integer" | "number") => "number".to_owned(),
        Some("boolean") => "`true`, `false`".to_owned(),
        Some("array") => "list".to_owned(),
        _ => "table".to_owned(),
    }
}

/// The description in one line of a table.
fn sentence(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|")
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}
