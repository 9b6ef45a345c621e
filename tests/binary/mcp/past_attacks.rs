//! Attacks that happened to others, tried on the built binary: values that look like options, secrets on their way into errors and records, files
//! that others can open, a server that nobody gave a manifest.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::mcp::home::{BINARY, Home, Policy};
use crate::mcp::server::{Server, code, hello, went_well};

const FREE: Policy = Policy { approvals: "level_2 = \"none\"\nlevel_3 = \"none\"", limits: "breaker = { denials = 100000 }", python: "" };

/// Every file below a folder, and the folders.
fn all_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        if next.symlink_metadata().is_ok_and(|seen| seen.is_dir()) {
            left.extend(std::fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()));
        }
        found.push(next);
    }
    found
}

#[test]
fn values_that_begin_like_options_are_never_read_as_options() {
    let home = Home::new(FREE);
    let mut server = Server::greeted(&home, "2025-11-25");
    for name in ["--help", "-rf", "-", "--", "-o=x", "--exec=sh", "@args", "-c"] {
        let path = format!("project/{name}");
        let content = format!("--version of {name}\n");
        assert!(went_well(&server.call("write_file", &json!({"path": path, "content": content}))), "{name}");
        let read = server.call("read_file", &json!({"path": path}));
        assert_eq!(read["result"]["content"][0]["text"], content, "{read}");
        assert!(went_well(&server.call("move_file", &json!({"from": path, "to": format!("project/m{name}")}))), "{name}");
        assert!(went_well(&server.call("delete_file", &json!({"path": format!("project/m{name}")}))), "{name}");
    }
    // A search tool would run this; ours looks for it.
    std::fs::write(home.path("project/found.txt"), "a --pre=sh line\n").unwrap();
    let found = server.call("search_files", &json!({"path": "project", "query": "--pre=sh", "glob": "*.txt"}));
    assert!(went_well(&found) && found.to_string().contains("found.txt"), "{found}");
    for url in ["-o/tmp/x", "--output=x", "@/etc/passwd", "-K/etc/passwd https://nowhere.invalid/"] {
        let answer = server.call("fetch", &json!({"url": url}));
        assert!(["url_malformed", "scheme_not_allowed"].contains(&code(&answer)), "{answer}");
    }
    let ran = server.call("run_python", &json!({"code": "--version\n", "stdin": "-i"}));
    assert!(ran["result"]["isError"] == true && !ran.to_string().contains("Python 3."), "{ran}");
    server.close();
    home.verify();
}

#[test]
fn a_secret_in_arguments_files_headers_or_the_environment_is_in_no_answer_message_or_record() {
    const CANARY: &str = "Zq7vX2mW9kLpR4tY8nB3";
    let home = Home::new(FREE);
    let key = "AKIAQ7ZT3N5WXK2VPLMR";
    std::fs::write(home.path("project/keys.txt"), format!("aws_access_key_id = {key}\n")).unwrap();
    std::fs::write(home.path("project/secrets/key.txt"), CANARY).unwrap();
    let mut server = Server::start_with(&home, &[], &[("SOME_TOKEN", CANARY), ("RUST_LOG", "trace")]);
    let header = json!({"Authorization": format!("Bearer {CANARY}"), "X-Token": CANARY});
    let calls = [
        ("read_file", json!({"path": "project/keys.txt"})),
        ("search_files", json!({"path": "project", "query": "aws_access_key_id"})),
        ("read_file", json!({"path": "project/secrets/key.txt"})),
        ("search_files", json!({"path": "project", "query": "Zq7v"})),
        ("write_file", json!({"path": "project/new.txt", "content": CANARY})),
        ("write_file", json!({"path": "project/no/folder/new.txt", "content": CANARY})),
        ("fetch", json!({"url": "https://nowhere.invalid/", "headers": {"authorization": header["Authorization"]}})),
        ("fetch", json!({"url": "https://nowhere.invalid/", "method": "POST", "body": CANARY})),
        ("fetch", json!({"url": format!("https://user:{CANARY}@nowhere.invalid/")})),
        ("run_python", json!({"code": "import os\nprint(sorted(os.environ.items()))\nprint(open('/proc/self/environ').read())"})),
    ];
    let mut said = String::new();
    for (tool, arguments) in calls {
        said += &server.stateless("tools/call", &json!({"name": tool, "arguments": arguments})).to_string();
        said.push('\n');
    }
    said += &server.errors();
    server.close();
    assert!(said.contains("SECRET") && !said.contains(key), "{said}");
    let told: Vec<&str> = said.lines().filter(|line| line.contains(CANARY)).collect();
    assert_eq!(told, Vec::<&str>::new());
    for file in all_below(&home.state()).iter().filter(|path| path.is_file()) {
        let bytes = std::fs::read(file).unwrap();
        for secret in [CANARY, key] {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{} holds {secret}", file.display());
        }
    }
    home.verify();
}

#[test]
fn whatever_the_umask_nothing_of_the_state_is_open_to_others() {
    let home = Home::new(FREE);
    let mut command = home.toolgate(&[]);
    // The same environment, with a mask that hides nothing.
    let environment: Vec<_> = command.get_envs().map(|(name, value)| (name.to_owned(), value.map(std::ffi::OsStr::to_owned))).collect();
    command = std::process::Command::new("sh");
    command.args(["-c", "umask 0; exec \"$0\" serve --manifest \"$1\"", BINARY]).arg(home.manifest()).env_clear();
    command.envs(environment.into_iter().filter_map(|(name, value)| Some((name, value?)))).current_dir(home.path(""));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let calls = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello("2025-11-25")}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "write_file", "arguments": {"path": "work/a.txt", "content": "x"}}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "run_python", "arguments": {"code": "print(1)"}}}),
    ];
    let mut input = child.stdin.take().unwrap();
    for call in calls {
        std::io::Write::write_all(&mut input, format!("{call}\n").as_bytes()).unwrap();
    }
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    // While it runs: sockets, session folders, counts and keys are all there.
    assert!((&mut lines).map(Result::unwrap).any(|line| line.contains("\"id\":3")));
    // What a session holds follows the mask, behind folders that nobody else enters.
    let sessions = home.state().join("sessions");
    let is_content = |path: &Path| path.parent().and_then(Path::parent).is_some_and(|above| above.starts_with(&sessions));
    let open: Vec<String> = all_below(&home.state())
        .iter()
        .filter_map(|path| Some((path, path.symlink_metadata().ok()?)))
        .filter(|(path, seen)| !is_content(path) && !seen.is_symlink() && seen.mode() & 0o077 != 0)
        .map(|(path, seen)| format!("{:o} {}", seen.mode(), path.display()))
        .collect();
    assert_eq!(open, Vec::<String>::new());
    drop(input);
    assert!(child.wait().unwrap().success());
    home.verify();
}

#[test]
fn without_a_manifest_nothing_of_the_machine_is_open() {
    let home = Home::new(FREE);
    std::fs::remove_file(home.manifest()).unwrap();
    let mut command = home.toolgate(&["serve"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let project = home.path("project/notes.txt");
    let calls = [
        ("read_file", json!({"path": "/etc/passwd"})),
        ("read_file", json!({"path": project})),
        ("read_file", json!({"path": "project/notes.txt"})),
        ("write_file", json!({"path": project, "content": "x"})),
        ("list_directory", json!({"path": "/etc"})),
        ("delete_file", json!({"path": project})),
        ("fetch", json!({"url": "https://example.com/"})),
        ("fetch", json!({"url": "http://127.0.0.1/"})),
        ("run_python", json!({"code": "import subprocess\nsubprocess.run(['rm', '-rf', '/'])"})),
    ];
    let mut input = child.stdin.take().unwrap();
    let mut send = |message: Value| std::io::Write::write_all(&mut input, format!("{message}\n").as_bytes()).unwrap();
    send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello("2025-11-25")}));
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for (at, (tool, arguments)) in calls.iter().enumerate() {
        send(json!({"jsonrpc": "2.0", "id": at + 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}));
    }
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let answers: Vec<Value> = lines.take(calls.len() + 1).map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    for answer in answers.iter().filter(|answer| answer["id"] != 0) {
        assert!(answer["error"].is_object() || answer["result"]["isError"] == true, "{answer}");
    }
    assert_eq!(home.read("project/notes.txt"), "first line\nsecond line\nthird line\n");
    drop(input);
    assert!(child.wait().unwrap().success());
}
