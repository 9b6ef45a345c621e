//! One table into a TOML file, found by its header, so that all else stays to the byte.

use toml::{Table, Value};

use super::Server;

const TABLE: &str = "mcp_servers";

/// The table of one server.
pub(super) fn section(name: &str, server: &Server, patience_s: u32) -> String {
    // A JSON text is a basic string of TOML (TOML 1.0.0, "String"), but for a bare DEL, which reading the result back would find.
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let arguments: Vec<String> = server.arguments.iter().map(|argument| text(argument)).collect();
    format!("[{TABLE}.{name}]\ncommand = {}\nargs = [{}]\ntool_timeout_sec = {patience_s}\n", text(&server.program), arguments.join(", "))
}

/// `before` with that table: at the place of an earlier one, else at the end.
/// # Errors  Why the text is no TOML, or that its servers do not stand in tables of their own.
pub(super) fn with_section(before: &str, name: &str, server: &Server, patience_s: u32) -> Result<String, String> {
    let read = |text: &str| text.parse::<Table>().map_err(|fault| fault.message().to_owned());
    let others = |mut table: Table| {
        if let Some(Value::Table(servers)) = table.get_mut(TABLE) {
            servers.remove(name);
            if servers.is_empty() {
                table.remove(TABLE);
            }
        }
        table
    };
    let new = section(name, server, patience_s);
    let original = read(before)?;
    let header = format!("[{TABLE}.{name}]");
    let mut after = String::new();
    let (mut within, mut placed) = (false, false);
    for line in before.split_inclusive('\n') {
        let head = line.trim_start();
        if head.starts_with('[') {
            let own = head.strip_prefix(&header).is_some_and(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('#'));
            // `[mcp_servers.toolgate.env]` belongs to the entry that is replaced.
            within = own || (within && head.starts_with(&format!("[{TABLE}.{name}.")));
            if own && !placed {
                after.push_str(&new);
                placed = true;
            }
        }
        // A comment below the entry most likely speaks of what comes next.
        if !within || head.starts_with('#') || head.is_empty() {
            after.push_str(line);
        }
    }
    if !placed {
        if !after.ends_with('\n') {
            after.push('\n');
        }
        after.push('\n');
        after.push_str(&new);
    }
    // INVARIANT: all else reads back as it was.
    let wanted = read(&new)?;
    match read(&after) {
        Ok(table) if server_of(&table, name) == server_of(&wanted, name) && others(table.clone()) == others(original) => Ok(after),
        _ => Err(format!("`{TABLE}` in it is not written as tables of their own")),
    }
}

/// `before` without that table and those below it; none where it has no such table.
/// # Errors  Why the text is no TOML, or that its servers do not stand in tables of their own.
pub(super) fn without_section(before: &str, name: &str) -> Result<Option<String>, String> {
    let read = |text: &str| text.parse::<Table>().map_err(|fault| fault.message().to_owned());
    let mut wanted = read(before)?;
    let servers = wanted.get_mut(TABLE).and_then(Value::as_table_mut);
    let Some(servers) = servers.filter(|servers| servers.contains_key(name)) else { return Ok(None) };
    servers.remove(name);
    if servers.is_empty() {
        wanted.remove(TABLE);
    }
    let header = format!("[{TABLE}.{name}]");
    let mut after = String::new();
    let mut within = false;
    for line in before.split_inclusive('\n') {
        let head = line.trim_start();
        if head.starts_with('[') {
            let own = head.strip_prefix(&header).is_some_and(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('#'));
            within = own || (within && head.starts_with(&format!("[{TABLE}.{name}.")));
        }
        if !within || head.starts_with('#') {
            after.push_str(line);
        }
    }
    let after = if after.trim().is_empty() { String::new() } else { format!("{}\n", after.trim_end()) };
    match read(&after) {
        Ok(table) if table == wanted => Ok(Some(after)),
        _ => Err(format!("`{TABLE}` in it is not written as tables of their own")),
    }
}

fn server_of<'t>(table: &'t Table, name: &str) -> Option<&'t Value> {
    table.get(TABLE)?.get(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(before: &str) -> Result<String, String> {
        with_section(before, "gate", &Server { program: "g".into(), arguments: vec!["serve".into(), "a\"b".into()] }, 9)
    }

    const NEW: &str = "[mcp_servers.gate]\ncommand = \"g\"\nargs = [\"serve\", \"a\\\"b\"]\ntool_timeout_sec = 9\n";

    #[test]
    fn a_table_is_added_at_the_end_or_replaced_in_its_place() {
        assert_eq!(set("# mine\nmodel = \"x\"").unwrap(), format!("# mine\nmodel = \"x\"\n\n{NEW}"));
        let before = "a = 1\n[mcp_servers.gate] # old\ncommand = \"old\"\n[mcp_servers.gate.env]\nX = \"1\"\n# next\n[mcp_servers.b]\ncommand = \"b\"\n";
        assert_eq!(set(before).unwrap(), format!("a = 1\n{NEW}# next\n[mcp_servers.b]\ncommand = \"b\"\n"));
        let once = set("a = 1\n").unwrap();
        assert_eq!(set(&once).unwrap(), once);
    }

    #[test]
    fn servers_written_in_another_way_are_left_alone() {
        for before in ["mcp_servers = { b = { command = \"b\" } }\n", "[mcp_servers]\ngate = { command = \"x\" }\n", "a = [\n"] {
            assert!(set(before).is_err(), "{before}");
        }
        let text = "notes = \"\"\"\n[mcp_servers.gate]\n\"\"\"\n";
        assert!(set(text).is_err(), "a header inside a text is no header");
    }
}
