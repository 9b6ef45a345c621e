//! The first session: `init` in a folder as people have it, `install` for a client, and the server started as that client's own file says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp::home::{BINARY, Home, Policy};
use crate::mcp::server::{Server, code, went_well};

/// How long a question may take to come.
const PATIENCE: Duration = Duration::from_mins(1);

/// A kind of project: its name, and its files, the first of which is read.
const PROJECTS: [(&str, &[(&str, &str)]); 4] = [
    (
        "rust",
        &[
            ("Cargo.toml", "[package]\nname = \"a\"\n"),
            ("src/main.rs", "fn main() {}\n"),
            ("target/debug/a", "x"),
            (".gitignore", "target\n"),
        ],
    ),
    (
        "node",
        &[
            ("package.json", "{\"name\": \"a\"}\n"),
            ("index.js", "1;\n"),
            ("node_modules/b/index.js", "2;\n"),
            (".gitignore", "node_modules\n"),
        ],
    ),
    (
        "python",
        &[
            ("pyproject.toml", "[project]\nname = \"a\"\n"),
            ("a/__init__.py", "\n"),
            (".venv/bin/python", "x"),
            (".env", "TOKEN=swordfish\n"),
        ],
    ),
    ("empty", &[]),
];

/// Clients, the file that each reads, and how it names its servers there. The file of one lies in the project, of others in the user's folder.
const CLIENTS: [(&str, &str, &str); 16] = [
    ("claude-code", "PROJECT/.mcp.json", "/mcpServers/toolgate"),
    ("vscode", "PROJECT/.vscode/mcp.json", "/servers/toolgate"),
    ("claude-desktop", "config/Claude/claude_desktop_config.json", "/mcpServers/toolgate"),
    ("cursor", ".cursor/mcp.json", "/mcpServers/toolgate"),
    ("codex", ".codex/config.toml", "/mcp_servers/toolgate"),
    ("gemini", ".gemini/settings.json", "/mcpServers/toolgate"),
    ("zed", "config/zed/settings.json", "/context_servers/toolgate"),
    // Users of these two paste what is printed.
    ("goose", "", ""),
    ("windsurf", ".codeium/windsurf/mcp_config.json", "/mcpServers/toolgate"),
    ("cline", "", "/mcpServers/toolgate"),
    ("opencode", "config/opencode/opencode.json", "/mcp/toolgate"),
    ("junie", ".junie/mcp/mcp.json", "/mcpServers/toolgate"),
    ("lm-studio", ".lmstudio/mcp.json", "/mcpServers/toolgate"),
    ("continue", ".continue/mcpServers/toolgate.json", "/mcpServers/toolgate"),
    ("amp", "config/amp/settings.json", "/amp.mcpServers/toolgate"),
    ("jetbrains", "", "/mcpServers/toolgate"),
];

/// How a client starts the server, and whether it can ask its person.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Start {
    program: String,
    arguments: Vec<String>,
    folder: PathBuf,
    asks: bool,
}

#[test]
fn in_every_kind_of_folder_every_clients_own_session_works_with_what_init_and_install_wrote() {
    for (kind, files) in PROJECTS {
        let home = Home::new(Policy::default());
        let project = home.path(kind);
        std::fs::create_dir_all(&project).unwrap();
        for (path, text) in files {
            let path = project.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let made = toolgate(&home, &project, &["init", "--yes"]);
        assert!(made.contains("wrote "), "{kind}: {made}");
        let manifest = std::fs::read_to_string(project.join("tools.toml")).unwrap();
        // Many clients write the same in their own way: each start is tried once.
        let starts: BTreeSet<Start> = CLIENTS.iter().map(|client| registered(&home, &project, *client)).collect();
        assert_eq!(starts.len(), 3, "{starts:#?}");
        for start in &starts {
            session(&home, &project, files.first().copied(), start);
        }
        assert_eq!(std::fs::read_to_string(project.join("tools.toml")).unwrap(), manifest, "{kind}: no line was touched");
        home.verify();
    }
}

fn toolgate(home: &Home, folder: &Path, arguments: &[&str]) -> String {
    let out = home.toolgate(arguments).env("XDG_CONFIG_HOME", home.path("config")).current_dir(folder).output().unwrap();
    assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// Registers the server with a client, and reads from the client's own file how it starts it.
fn registered(home: &Home, project: &Path, (client, file, at): (&str, &str, &str)) -> Start {
    let printed = toolgate(home, project, &["install", client]);
    let text = if matches!(client, "goose" | "jetbrains") {
        let lines = printed.lines().skip_while(|line| line.starts_with('#'));
        let object: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
        object.join("\n")
    } else {
        let told = toolgate(home, project, &["install", client, "--write"]);
        let written = PathBuf::from(told.lines().find_map(|line| line.strip_prefix("wrote ")).unwrap_or_else(|| panic!("{told}")));
        let named = match file.strip_prefix("PROJECT/") {
            Some(below) => project.join(below),
            None => home.path(file),
        };
        assert!(file.is_empty() || written == named.canonicalize().unwrap(), "{client}: {}", written.display());
        std::fs::read_to_string(written).unwrap()
    };
    let entry: Value = match client {
        "codex" => serde_json::to_value(toml::from_str::<toml::Table>(&text).unwrap()).unwrap(),
        "goose" => yaml(&text),
        _ => serde_json::from_str(&text).unwrap_or_else(|fault| panic!("{client}: {fault}: {text}")),
    };
    let entry = entry.pointer(at).unwrap_or_else(|| panic!("{client}: {text}"));
    let words = |value: &Value| value.as_array().into_iter().flatten().map(|word| word.as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let mut line = match &entry["command"] {
        Value::String(program) => vec![program.clone()],
        command => words(command),
    };
    line.extend(words(&entry["args"]));
    let program = line.remove(0);
    assert_eq!(program, BINARY, "{client}: the tests' own binary is not on the search path");
    // A client that a project brings its file starts the server there; others start it anywhere.
    let folder = if file.starts_with("PROJECT/") { project.to_owned() } else { home.path("") };
    let asks = !printed.contains("shows no questions") && !printed.contains("does not say whether it shows questions");
    Start { program, arguments: line, folder, asks }
}

/// The members of the one entry of a file as `install` writes it.
fn yaml(text: &str) -> Value {
    let member = |name: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(": ")).unwrap_or_else(|| panic!("{text}"));
        serde_json::from_str::<Value>(line).unwrap()
    };
    assert!(text.starts_with("extensions:\n  toolgate:\n"), "{text}");
    json!({"command": member("cmd"), "args": member("args")})
}

/// What the client does first, and a change.
fn session(home: &Home, project: &Path, file: Option<(&str, &str)>, start: &Start) {
    let mut command = Command::new(&start.program);
    command.env_clear().envs(home.environment()).args(&start.arguments).current_dir(&start.folder);
    let mut server = Server::of(home, command);
    let can = if start.asks { json!({"elicitation": {}}) } else { json!({}) };
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": can, "clientInfo": {"name": "first", "version": "1"}});
    let hello = server.request("initialize", &hello);
    assert!(hello["result"]["instructions"].as_str().unwrap().contains("`project` (read and write)"), "{start:?}: {hello}");
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let tools = server.request("tools/list", &json!({}));
    let names: Vec<&str> = tools["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(["list_directory", "read_file", "run_python", "edit_file"].iter().all(|name| names.contains(name)), "{names:?}");
    let mut done = |tool: &str, arguments: &Value| {
        let answer = server.call(tool, arguments);
        assert!(went_well(&answer), "{start:?}: {tool} {arguments}: {answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    };
    let listed = done("list_directory", &json!({"path": "project"}));
    assert!(!listed.contains("tools.toml") && !listed.contains(".env\n"), "{listed}");
    let (path, text) = file.unwrap_or(("first.txt", "made\n"));
    if file.is_none() {
        let name = format!("project/made-{}.txt", start.arguments.len() + usize::from(start.asks));
        done("write_file", &json!({"path": name, "content": "made\n"}));
        std::fs::write(project.join(path), text).unwrap();
    } else {
        assert!(listed.contains(&format!("project/{path}  ")), "{listed}");
    }
    let changed = project.join(path);
    let path = format!("project/{path}");
    assert_eq!(done("read_file", &json!({"path": path})), text);
    assert_eq!(done("run_python", &json!({"code": "print(2)"})).trim(), "2");
    // A change of what is there: a person is asked where the client can, and else the model is told what it can do.
    let change = json!({"path": path, "content": format!("{text}\n")});
    let id = server.ask("tools/call", &json!({"name": "write_file", "arguments": change}));
    if start.asks {
        let question = std::iter::repeat_with(|| server.next_message(PATIENCE).unwrap())
            .find(|message| message["method"] == "elicitation/create")
            .unwrap();
        assert!(question["params"]["message"].as_str().unwrap().contains(&path), "{question}");
        server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"decision": "once"}}}));
        let answer = server.answer(&id);
        assert!(went_well(&answer), "{start:?}: {answer}");
        std::fs::write(&changed, text).unwrap();
    } else {
        let answer = server.answer(&id);
        assert_eq!(code(&answer), "no_approval_channel", "{start:?}: {answer}");
        assert!(answer.to_string().contains("toolgate approvals watch"), "{answer}");
    }
    server.close();
}

#[test]
fn an_installation_without_a_manifest_names_init_and_is_taken_out_again() {
    use std::io::Read as _;
    let home = Home::new(Policy::default());
    let user = home.path("user");
    let install = |folder: &str, arguments: &[&str]| {
        let folder = user.join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = home.toolgate(arguments);
        command.env("HOME", &user).env("XDG_CONFIG_HOME", user.join("config")).current_dir(folder);
        command
    };
    let mut written = install("script", &["install", "cursor", "--json", "--write"]);
    let told: Value = serde_json::from_slice(&written.output().unwrap().stdout).unwrap();
    assert_eq!((&told["written"], &told["args"]), (&json!(true), &json!(["serve"])), "{told}");
    assert!(told["notes"].to_string().contains("toolgate init") && !user.join("script/tools.toml").exists(), "{told}");
    assert_eq!(std::fs::read_to_string(told["file"].as_str().unwrap()).unwrap(), told["text"].as_str().unwrap());
    let mut removed = install("script", &["install", "cursor", "--remove", "--json", "--write"]);
    let told: Value = serde_json::from_slice(&removed.output().unwrap().stdout).unwrap();
    assert_eq!((&told["found"], &told["removed"]), (&json!(true), &json!(true)), "{told}");
    let mut text = String::new();
    std::fs::File::open(told["file"].as_str().unwrap()).unwrap().read_to_string(&mut text).unwrap();
    assert!(!text.contains("serve"), "{text}");
}
