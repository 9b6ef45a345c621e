//! A manifest that changes while it is served: it holds at once where the operator alone writes it, and else once it is trusted.

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{STATELESS, Server, code, until, went_well, with_meta};

fn read(path: &str) -> Value {
    json!({"name": "read_file", "arguments": {"path": path}})
}

fn change(home: &Home, from: &str, to: &str) {
    let text = home.read("tools.toml");
    assert!(text.contains(from), "{text}");
    std::fs::write(home.manifest(), text.replacen(from, to, 1)).unwrap();
}

fn events(home: &Home, event: &str) -> Vec<Value> {
    home.records().into_iter().filter(|record| record["ev"] == event).collect()
}

#[test]
fn a_changed_manifest_holds_for_the_very_next_call() {
    let home = Home::new(Policy::default());
    let mut server = Server::start(&home);
    assert!(went_well(&server.stateless("tools/call", &read("project/notes.txt"))));
    assert_eq!(code(&server.stateless("tools/call", &read("project/secrets/key.txt"))), "path_denied");
    change(&home, "denied_paths = [\"secrets/**\"]", "denied_paths = [\"notes.txt\"]");
    assert_eq!(code(&server.stateless("tools/call", &read("project/notes.txt"))), "path_denied");
    assert!(went_well(&server.stateless("tools/call", &read("project/secrets/key.txt"))), "it is named, and lies where no client writes");
    assert_eq!(events(&home, "manifest.loaded").len(), 2);
    server.close();
    home.verify();
}

#[test]
fn a_change_of_a_manifest_that_others_could_write_holds_once_it_is_trusted() {
    for (place, is_named) in
        [("tools.toml", false), (".config/toolgate/tools.toml", false), ("repository/tools.toml", true), ("project/tools.toml", true)]
    {
        let home = Home::new(Policy::default());
        let file = home.path(place);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::create_dir_all(home.path("repository/.git")).unwrap();
        std::fs::rename(home.manifest(), &file).unwrap();
        let trust = || assert!(home.toolgate(&["trust", file.to_str().unwrap(), "--yes"]).output().unwrap().status.success());
        let mut command = home.toolgate(&["serve"]);
        if is_named {
            command.arg("--manifest").arg(&file);
        } else {
            trust();
        }
        let mut server = Server::of(&home, command);
        let mut secret = || server.stateless("tools/call", &read("project/secrets/key.txt"));
        assert_eq!(code(&secret()), "path_denied");
        let text = home.read(place);
        std::fs::write(&file, text.replace("denied_paths = [\"secrets/**\"]", "denied_paths = []")).unwrap();
        assert_eq!(code(&secret()), "path_denied", "{place}: the old one holds");
        assert_eq!(code(&secret()), "path_denied");
        assert_eq!(events(&home, "manifest.refused").len(), 1, "{place}: told once");
        trust();
        assert!(went_well(&secret()), "{place}");
        std::fs::write(&file, text).unwrap();
        assert!(went_well(&secret()), "{place}: what was trusted before was another text");
        assert!(server.errors().contains("toolgate trust"), "{}", server.errors());
        server.close();
        home.verify();
    }
}

#[test]
fn a_faulty_manifest_changes_nothing_and_is_told_once() {
    let home = Home::new(Policy::default());
    let mut server = Server::start(&home);
    assert!(went_well(&server.stateless("tools/call", &read("project/notes.txt"))));
    let whole = home.read("tools.toml");
    for faulty in [
        format!("{whole}\nnonsense = 1\n"),
        "version = 1\n[roots".to_owned(),
        String::new(),
        format!(
            "{whole}\n[[test]]\nprofile = \"all\"\ncall = {{ tool = \"read_file\", args = {{ path = \"project/notes.txt\" }} }}\nexpect = \"deny\"\n"
        ),
    ] {
        std::fs::write(home.manifest(), faulty).unwrap();
        assert!(went_well(&server.stateless("tools/call", &read("project/notes.txt"))));
        assert_eq!(code(&server.stateless("tools/call", &read("project/secrets/key.txt"))), "path_denied");
    }
    assert_eq!(events(&home, "manifest.refused").len(), 4);
    std::fs::remove_file(home.manifest()).unwrap();
    assert!(went_well(&server.stateless("tools/call", &read("project/notes.txt"))));
    std::fs::write(home.manifest(), whole).unwrap();
    assert!(went_well(&server.stateless("tools/call", &read("project/notes.txt"))));
    assert_eq!(events(&home, "manifest.loaded").len(), 1, "it is the one in force");
    server.close();
    home.verify();
}

#[test]
fn a_manifest_replaced_again_and_again_during_calls_never_opens_what_waits() {
    let home = Home::new(Policy { limits: "breaker = { denials = 100000, within = \"1m\" }", ..Policy::default() });
    std::fs::create_dir(home.path(".git")).unwrap();
    let mut server = Server::start(&home);
    assert!(went_well(&server.stateless("tools/call", &read("project/src/apples.csv"))));
    let tight = home.read("tools.toml");
    let loose = tight.replacen("denied_paths = [\"secrets/**\"]", "denied_paths = []", 1);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                if done.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                // Half by a rename, half in place, as editors do.
                let text = if n % 2 == 0 { &loose } else { &tight };
                if n % 4 < 2 {
                    std::fs::write(home.path("draft"), text).unwrap();
                    std::fs::rename(home.path("draft"), home.manifest()).unwrap();
                } else {
                    std::fs::write(home.manifest(), text).unwrap();
                }
                std::thread::sleep(std::time::Duration::from_millis(n % 70));
            }
        });
        for _ in 0..40 {
            let answer = server.stateless("tools/call", &read("project/secrets/key.txt"));
            assert_eq!(code(&answer), "path_denied", "{answer}");
            let answer = server.stateless("tools/call", &read("project/notes.txt"));
            assert!(went_well(&answer) || code(&answer) == "conflict", "{answer}");
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(went_well(&server.stateless("tools/call", &read("project/src/apples.csv"))));
    server.close();
    home.verify();
}

#[test]
fn a_grant_and_a_question_die_with_the_manifest_they_were_given_under() {
    let home = Home::new(Policy::default());
    let mut server = Server::start(&home);
    let write = json!({"name": "write_file", "arguments": {"path": "project/notes.txt", "content": "new\n"}});
    let answered = |params: &Value, state: &Value, decision: &str| {
        let mut params = params.clone();
        params["requestState"] = state.clone();
        params["inputResponses"] = json!({"approval": {"action": "accept", "content": {"decision": decision}}});
        params
    };
    let state = server.stateless("tools/call", &write)["result"]["requestState"].clone();
    assert!(went_well(&server.stateless("tools/call", &answered(&write, &state, "session"))));
    assert!(went_well(&server.stateless("tools/call", &write)), "remembered");
    let question = json!({"name": "write_file", "arguments": {"path": "project/src/apples.csv", "content": "new\n"}});
    let waiting = server.stateless("tools/call", &question)["result"]["requestState"].clone();
    change(&home, "denied_paths = [\"secrets/**\"]", "denied_paths = [\"secrets/**\", \"other/**\"]");
    assert_eq!(server.stateless("tools/call", &write)["result"]["resultType"], "input_required", "asked anew");
    assert_eq!(code(&server.stateless("tools/call", &answered(&question, &waiting, "once"))), "approval_mismatch");
    assert_eq!(home.read("project/src/apples.csv"), "basket,apples\n1,12\n2,17\n");
}

#[test]
fn a_client_is_told_when_its_list_of_tools_changes() {
    let home = Home::new(Policy::default());
    let mut server = Server::greeted(&home, "2025-11-25");
    let listed = |server: &mut Server| {
        let answer = server.request("tools/list", &json!({}));
        answer["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(listed(&mut server).contains(&"fetch".to_owned()));
    change(&home, "allowed_tools = [\"*\"]", "allowed_tools = [\"*\"]\ndenied_tools = [\"fetch\"]");
    // Nobody calls: the server looks by itself.
    let note = server.next_message(crate::mcp::server::PATIENCE).unwrap();
    assert_eq!(note["method"], "notifications/tools/list_changed", "{note}");
    assert!(!listed(&mut server).contains(&"fetch".to_owned()));
}

#[test]
fn no_tool_and_no_program_can_say_the_operators_word() {
    let home =
        Home::new(Policy { python: "network = false", limits: "breaker = { denials = 1000, within = \"1m\" }", ..Policy::default() });
    std::fs::create_dir(home.path(".git")).unwrap();
    let loose = home.read("tools.toml").replace("denied_paths = [\"secrets/**\"]", "denied_paths = []");
    // The name of the operator's word, and below the word as their command writes it.
    assert!(home.toolgate(&["trust", "--yes"]).arg(home.manifest()).output().unwrap().status.success());
    let folder = home.state().join("trusted");
    let name = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().file_name().into_string().unwrap();
    let place = folder.join(&name);
    std::fs::remove_file(&place).unwrap();
    let mut server = Server::start(&home);
    assert!(went_well(&server.stateless("tools/call", &read("project/notes.txt"))));
    std::fs::write(home.manifest(), loose).unwrap();
    assert_eq!(code(&server.stateless("tools/call", &read("project/secrets/key.txt"))), "path_denied");
    let digest = String::from_utf8(home.toolgate(&["trust", "--json"]).arg(home.manifest()).output().unwrap().stdout).unwrap();
    let digest: Value = serde_json::from_str(&digest).unwrap();
    let word = json!({"manifest": digest["manifest"], "sha256": digest["sha256"]}).to_string();
    let state = home.state().to_str().unwrap().to_owned();
    for path in [place.to_str().unwrap().to_owned(), format!("work/../../trusted/{name}"), format!("{state}/trusted/{name}")] {
        let write = json!({"name": "write_file", "arguments": {"path": path, "content": word}});
        assert_ne!(server.stateless("tools/call", &write)["result"]["isError"], json!(false));
    }
    let program = format!(
        "import os\nfor base in ['{state}', '/roots/work/..', '/roots/work/../..', '/proc/1/root{state}']:\n    try:\n        os.makedirs(base + '/trusted', exist_ok=True)\n        open(base + '/trusted/{name}', 'w').write({})\n    except OSError as e:\n        print(e)\n",
        serde_json::to_string(&word).unwrap()
    );
    server.stateless("tools/call", &json!({"name": "run_python", "arguments": {"code": program}}));
    assert!(!place.exists(), "the place cannot be reached");
    assert_eq!(code(&server.stateless("tools/call", &read("project/secrets/key.txt"))), "path_denied");
    std::fs::write(&place, word).unwrap();
    assert!(went_well(&server.stateless("tools/call", &read("project/secrets/key.txt"))), "the same word from outside counts");
    server.close();
}

#[test]
fn a_manifest_in_a_root_cannot_be_changed_by_a_call() {
    let home = Home::new(Policy::default());
    let inside = home.path("project/tools.toml");
    std::fs::copy(home.manifest(), &inside).unwrap();
    let mut server = Server::start_with(&home, &[], &[("TOOLGATE_MANIFEST", inside.to_str().unwrap())]);
    let before = std::fs::read(&inside).unwrap();
    std::fs::hard_link(&inside, home.path("project/second.toml")).unwrap();
    for (tool, arguments) in [
        ("write_file", json!({"path": "project/tools.toml", "content": "version = 1\n"})),
        ("write_file", json!({"path": "project/tools.toml", "content": "\n", "mode": "append"})),
        ("edit_file", json!({"path": "project/tools.toml", "edits": [{"old_text": "version = 1", "new_text": "version = 2"}]})),
        ("delete_file", json!({"path": "project/tools.toml"})),
        ("move_file", json!({"from": "project/tools.toml", "to": "project/gone.toml"})),
        ("move_file", json!({"from": "project/notes.txt", "to": "project/tools.toml"})),
        ("read_file", json!({"path": "project/tools.toml"})),
        ("write_file", json!({"path": inside.to_str().unwrap(), "content": "version = 1\n"})),
    ] {
        let answer = server.stateless("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(code(&answer), "path_denied", "{tool} {arguments}: {answer}");
    }
    // By a second name it is refused for having two.
    let second = json!({"name": "write_file", "arguments": {"path": "project/second.toml", "content": "version = 1\n"}});
    let answer = server.stateless("tools/call", &second);
    assert!(["path_denied", "hardlink"].contains(&code(&answer)), "{answer}");
    assert_eq!(std::fs::read(&inside).unwrap(), before);
    server.close();
}

#[test]
fn a_hang_up_signal_looks_at_once_and_ends_nothing() {
    let home = Home::new(Policy::default());
    let mut server = Server::start(&home);
    assert!(went_well(&server.stateless("tools/call", &read("project/notes.txt"))));
    change(&home, "denied_paths = [\"secrets/**\"]", "denied_paths = [\"secrets/**\", \"src/**\"]");
    server.signal("-HUP");
    until("the changed manifest", || events(&home, "manifest.loaded").len() == 2);
    let id = server.ask("tools/call", &with_meta(&read("project/src/apples.csv"), STATELESS));
    assert_eq!(code(&server.answer(&id)), "path_denied");
}

#[test]
fn a_pipe_in_the_place_of_the_manifest_keeps_nobody_waiting() {
    let home = Home::new(Policy::default());
    let mut server = Server::start(&home);
    let read = json!({"name": "read_file", "arguments": {"path": "project/notes.txt"}});
    assert!(went_well(&server.stateless("tools/call", &read)));
    std::fs::rename(home.manifest(), home.path("away.toml")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(home.manifest()).status().unwrap().success());
    assert!(went_well(&server.stateless("tools/call", &read)), "the one in force holds on");
    let out = home.toolgate(&["check", home.manifest().to_str().unwrap()]).output().unwrap();
    assert!(String::from_utf8_lossy(&out.stderr).contains("no regular file"), "{out:?}");
    assert!(server.close().status.success());
    assert!(home.records().iter().any(|record| record["ev"] == "manifest.refused"), "and it is told");
    home.verify();
}

#[test]
fn a_client_of_the_stateless_revision_hears_of_another_list_of_tools() {
    let home = Home::new(Policy::default());
    let mut server = Server::start(&home);
    let found = server.stateless("server/discover", &json!({}));
    assert_eq!(found["result"]["capabilities"]["tools"]["listChanged"], true, "{found}");
    let listen = with_meta(&json!({"notifications": {"toolsListChanged": true}}), STATELESS);
    server.send(&json!({"jsonrpc": "2.0", "id": "a subscription", "method": "subscriptions/listen", "params": listen}));
    let mut heard = |method: &str| {
        until(method, || {
            let message = server.next_message(crate::mcp::server::PATIENCE).unwrap_or_else(|| panic!("{}", server.errors()));
            assert_eq!(message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "a subscription", "{message}");
            message["method"] == method
        });
    };
    heard("notifications/subscriptions/acknowledged");
    change(&home, "allowed_tools = [\"*\"]", "allowed_tools = [\"read_file\"]");
    heard("notifications/tools/list_changed");
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a subscription"}}));
    let tools = server.stateless("tools/list", &json!({}));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 1, "{tools}");
    assert!(server.close().status.success());
}
