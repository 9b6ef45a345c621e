//! Known attacks that no other test tries by name; docs/threats.md lists all forty with theirs.

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{Server, code, went_well};

const FREE: Policy = Policy { approvals: "level_2 = \"none\"", limits: "breaker = { denials = 1000, within = \"1m\" }", python: "" };

/// Runs a program; nothing where no program can be jailed here, and says so.
fn ran(server: &mut Server, program: &str) -> Option<Value> {
    let answer = server.call("run_python", &json!({"code": program}));
    if code(&answer) == "sandbox_unavailable" {
        eprintln!("skipped: {answer}");
        return None;
    }
    Some(answer)
}

#[test]
fn a_link_that_a_program_plants_in_its_root_leads_no_write_out_of_it() {
    let home = Home::new(FREE);
    let mut server = Server::greeted(&home, "2025-11-25");
    let outside = home.path("project/notes.txt");
    let program = format!(
        "import os\nos.symlink({0}, '/roots/scratch/leaf')\nos.symlink({1}, '/roots/scratch/folder')\nprint('planted')\n",
        Value::from(outside.to_str().unwrap()),
        Value::from(home.path("project").to_str().unwrap())
    );
    let Some(answer) = ran(&mut server, &program) else { return };
    assert_eq!(answer["result"]["structuredContent"]["stdout"], "planted\n", "{answer}");
    for (tool, arguments) in [
        ("write_file", json!({"path": "scratch/leaf", "content": "x"})),
        ("write_file", json!({"path": "scratch/folder/notes.txt", "content": "x"})),
        ("read_file", json!({"path": "scratch/folder/secrets/key.txt"})),
        ("move_file", json!({"from": "scratch/seen.txt", "to": "scratch/folder/moved.txt"})),
    ] {
        assert_eq!(code(&server.call(tool, &arguments)), "symlink", "{tool} {arguments}");
    }
    assert_eq!(home.read("project/notes.txt"), "first line\nsecond line\nthird line\n");
    assert!(went_well(&server.call("write_file", &json!({"path": "scratch/plain.txt", "content": "x"}))));
}

#[test]
fn nothing_of_the_servers_environment_reaches_a_program() {
    let home = Home::new(FREE);
    let mut server = Server::start_with(&home, &[], &[("CANARY_TOKEN", "canary-123"), ("LD_PRELOAD", ""), ("PYTHONPATH", "/canary-123")]);
    server.request("initialize", &crate::mcp::server::hello("2025-11-25"));
    let program = "import os, sys\nprint(sorted(os.environ), sys.path, open('/proc/self/environ').read())\n";
    let Some(answer) = ran(&mut server, program) else { return };
    assert!(answer["result"]["isError"] != true && !answer.to_string().to_lowercase().contains("canary"), "{answer}");
}

#[test]
fn no_key_of_the_manifest_lets_a_call_through_when_nobody_answers() {
    let home = Home::new(FREE);
    let out = home.toolgate(&["schema"]).output().unwrap();
    let schema: Value = serde_json::from_slice(&out.stdout).unwrap();
    let mut keys = Vec::new();
    let mut left = vec![&schema];
    while let Some(next) = left.pop() {
        match next {
            Value::Object(fields) => {
                keys.extend(fields.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.clone()));
                left.extend(fields.values());
            }
            Value::Array(items) => left.extend(items),
            _ => {}
        }
    }
    assert!(keys.iter().any(|key| key == "no_client_channel"), "{keys:?}");
    for bad in
        ["on_timeout", "timeout_fallback", "fail_open", "fallback", "always", "auto_approve", "bypass", "default_decision", "priority"]
    {
        assert!(!keys.iter().any(|key| key == bad), "{bad}");
    }
    let channels = schema.to_string();
    assert!(!channels.contains("\"allow_all\"") && !channels.contains("\"fail-open\""));
}

#[test]
fn files_that_were_not_there_at_the_start_are_protected_all_the_same() {
    let home = Home::new(FREE);
    // A manifest beside which others would be looked for, in a root that holds them all.
    let root = Value::from(home.path("").to_str().unwrap().trim_end_matches('/')).to_string();
    let manifest = format!(
        "version = 1\n[clients]\nstdio = \"all\"\n[roots.whole]\npath = {root}\nmode = \"rw\"\nallowed_paths = [\"**\"]\n\
         [profiles.all]\npermissions = [\"STANDARD\"]\nallowed_tools = [\"*\"]\n[approvals]\nlevel_2 = \"none\"\nlevel_3 = \"none\"\n"
    );
    std::fs::write(home.manifest(), manifest).unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    for path in
        ["whole/tools.toml", "whole/state/KILL", "whole/state/audit/new.jsonl", "whole/state/keys/new", "whole/state/operators/eve.json"]
    {
        let answer = server.call("write_file", &json!({"path": path, "content": "x"}));
        assert_eq!(answer["result"]["isError"], true, "{path}: {answer}");
        assert!(!home.path(path.trim_start_matches("whole/")).exists() || path == "whole/tools.toml", "{path}");
    }
    assert!(went_well(&server.call("write_file", &json!({"path": "whole/free.txt", "content": "x"}))));
}
