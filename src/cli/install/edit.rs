//! The entry of this server in the text of a client's configuration. Comments, order and layout of all else stay.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::{Value, json};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

use super::Server;
use super::clients::{Client, Format};

/// The name the server is registered under.
const NAME: &str = "toolgate";
/// How long a client shall wait for a call, in seconds: longer than a person is given to answer, where the client lets it be set.
const PATIENCE_S: u32 = 120;
/// The key of the servers in TOML.
const TABLE: &str = "mcp_servers";

/// The whole configuration of a client that has this server and nothing else: what a person pastes.
pub(crate) fn snippet(client: &Client, server: &Server) -> String {
    match client.format() {
        Format::Json => format!("{:#}\n", json!({&client.key: {NAME: entry(client, server)}})),
        Format::Toml => with_table("", server).unwrap_or_default(),
        // JSON texts and lists are YAML (YAML 1.2.2, section 1.3).
        Format::Yaml => format!(
            "extensions:\n  {NAME}:\n    name: {NAME}\n    type: stdio\n    cmd: {}\n    args: {}\n    enabled: true\n    timeout: {PATIENCE_S}\n",
            json!(server.program),
            json!(server.arguments)
        ),
    }
}

fn entry(client: &Client, Server { program, arguments }: &Server) -> Value {
    let mut entry = client.entry.clone();
    if entry.contains_key("command") {
        entry.insert("command".to_owned(), std::iter::once(program).chain(arguments).cloned().collect());
        return Value::Object(entry);
    }
    // Without `--manifest` the manifest is found from the folder that is open.
    entry.retain(|name, _| name != "cwd" || !arguments.iter().any(|argument| argument == "--manifest"));
    entry.extend([("command".to_owned(), json!(program)), ("args".to_owned(), json!(arguments))]);
    Value::Object(entry)
}

/// A client's configuration with the server in it: new, or in the place of an earlier registration.
/// # Errors  Why `before` cannot be read, with its place.
pub(super) fn with(client: &Client, before: &str, server: &Server) -> Result<String, String> {
    if before.trim().is_empty() {
        return Ok(snippet(client, server));
    }
    if client.format() == Format::Toml {
        return with_table(before, server);
    }
    let (root, key) = (json_of(before)?, &client.key);
    let servers = root.object_value_or_create().ok_or("its top is no object")?.object_value_or_create(key);
    let servers = servers.ok_or_else(|| format!("`{key}` in it is no object"))?;
    let new = entry(client, server);
    match servers.get(NAME) {
        Some(old) if old.to_serde_value().as_ref() == Some(&new) => {}
        Some(old) => old.set_value(cst(&new)),
        None => drop(servers.append(NAME, cst(&new))),
    }
    Ok(root.to_string())
}

/// A client's configuration without the server; none where it has no such server.
/// # Errors  Why `before` cannot be read, with its place.
pub(super) fn without(client: &Client, before: &str) -> Result<Option<String>, String> {
    if before.trim().is_empty() {
        return Ok(None);
    }
    if client.format() == Format::Toml {
        let mut document = toml_of(before)?;
        let servers = document.get_mut(TABLE).and_then(Item::as_table_like_mut);
        return Ok(servers.and_then(|servers| servers.remove(NAME)).map(|_| document.to_string()));
    }
    let root = json_of(before)?;
    let own = root.object_value().and_then(|top| top.object_value(&client.key)?.get(NAME));
    Ok(own.map(jsonc_parser::cst::CstObjectProp::remove).map(|()| root.to_string()))
}

fn json_of(text: &str) -> Result<CstRootNode, String> {
    let options = ParseOptions {
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        ..ParseOptions::default()
    };
    CstRootNode::parse(text, &options).map_err(|fault| fault.to_string())
}

fn cst(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(cst).collect()),
        Value::Object(members) => CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), cst(value))).collect()),
    }
}

fn toml_of(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|fault: toml_edit::TomlError| fault.to_string())
}

fn with_table(before: &str, server: &Server) -> Result<String, String> {
    let mut document = toml_of(before)?;
    let mut new = Table::from_iter([("command", value(&server.program)), ("args", value(Array::from_iter(&server.arguments)))]);
    new.insert("tool_timeout_sec", value(i64::from(PATIENCE_S)));
    let mut all = Table::new();
    all.set_implicit(true);
    let servers = document.entry(TABLE).or_insert(Item::Table(all)).as_table_like_mut();
    let servers: &mut dyn TableLike = servers.ok_or_else(|| format!("`{TABLE}` in it is no table"))?;
    if let Some(old) = servers.get(NAME).and_then(Item::as_table) {
        // The comment before an earlier entry stays, and so does its place.
        *new.decor_mut() = old.decor().clone();
        new.set_position(old.position());
    }
    servers.insert(NAME, Item::Table(new));
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> &'static Client {
        Client::named(name).unwrap()
    }

    fn server() -> Server {
        Server { program: "g".to_owned(), arguments: vec!["serve".to_owned()] }
    }

    #[test]
    fn comments_order_and_odd_layout_of_json_stay() {
        let before = "// mine\n{\n  \"z\": 1, /* \"mcpServers\": {} */\n  \"mcpServers\": {\n    \"b\": {\"x\": \"} // no\"}, // last\n  },\n  \"a\": [1, 2,],\n}\n";
        let after = with(named("cursor"), before, &server()).unwrap();
        let entry = "\n    \"toolgate\": {\n      \"args\": [\"serve\"],\n      \"command\": \"g\",\n    },";
        assert_eq!(after, before.replace(" // last", &format!(" // last{entry}")), "{after}");
        assert_eq!(with(named("cursor"), &after, &server()).as_deref(), Ok(after.as_str()));
        assert_eq!(without(named("cursor"), &after).unwrap().as_deref(), Some(before));
    }

    #[test]
    fn tables_of_toml_are_added_or_replaced_with_their_comments() {
        let before = "# mine\nmodel = \"x\" # odd\n\n# ours\n[mcp_servers.toolgate] # old\ncommand = \"old\"\n[mcp_servers.toolgate.env]\nX = \"1\"\n# next\n[mcp_servers.b]\ncommand = \"b\"\n";
        let new = "[mcp_servers.toolgate] # old\ncommand = \"g\"\nargs = [\"serve\"]\ntool_timeout_sec = 120\n";
        let after = with(named("codex"), before, &server()).unwrap();
        assert_eq!(after, format!("# mine\nmodel = \"x\" # odd\n\n# ours\n{new}# next\n[mcp_servers.b]\ncommand = \"b\"\n"));
        assert_eq!(with(named("codex"), &after, &server()).as_deref(), Ok(after.as_str()));
        let inline = with(named("codex"), "mcp_servers = { b = { command = \"b\" } }\n", &server()).unwrap();
        let read: toml::Table = inline.parse().unwrap();
        assert_eq!(read["mcp_servers"]["b"]["command"].as_str(), Some("b"), "{inline}");
        assert_eq!(read["mcp_servers"]["toolgate"]["command"].as_str(), Some("g"), "{inline}");
    }

    #[test]
    fn what_does_not_parse_is_refused_with_its_place() {
        for (client, text, why) in [
            (named("cursor"), "{\n  \"a\": 1 \"b\": 2}", "line 2"),
            (named("cursor"), "[1]", "top is no object"),
            (named("cursor"), "{\"mcpServers\": 1}", "`mcpServers` in it is no object"),
            (named("codex"), "a = 1\nb = [\n", "line 2"),
            (named("codex"), "mcp_servers = 1\n", "`mcp_servers` in it is no table"),
        ] {
            let fault = with(client, text, &server()).unwrap_err();
            assert!(fault.contains(why), "{text}: {fault}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_was_there_is_there_afterwards(keys in proptest::collection::btree_map("[a-z\"\\\\/*{},]{0,6}", "[ -~]{0,8}", 0..6)) {
            let before = json!(keys);
            let after: Value = serde_json::from_str(&with(named("zed"), &before.to_string(), &server()).unwrap()).unwrap();
            let mut wanted = before;
            wanted["context_servers"] = json!({"toolgate": entry(named("zed"), &server())});
            proptest::prop_assert_eq!(after, wanted);
        }
    }
}
