//! What a newcomer does in the first minute: the demo, a first manifest, a registration.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy, repository};
use crate::mcp::server::Server;

fn run(home: &Home, arguments: &[&str]) -> Output {
    home.toolgate(arguments).env("XDG_CONFIG_HOME", home.path("config")).output().unwrap()
}

fn said(out: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

#[test]
fn the_demo_fits_a_terminal_and_plays_the_whole_job() {
    let home = Home::new(Policy::default());
    let out = run(&home, &["demo"]);
    let text = said(&out);
    assert!(out.status.success(), "{text}");
    // The prompt has the last line of the terminal.
    assert!(text.lines().count() <= 23 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for line in [
        "allowed  read_file      project/README.md  The orchard has 41 apples.",
        "denied   read_file      project/.env  path_denied\n         `project/.env` is denied by `**/.env*`",
        "asked    edit_file      project/README.md\n         | Change 1 line",
        "         |   + The orchard has 42 apples.\nallowed  a person said yes",
        "/harvest  # Harvest",
        "/latest/meta-data/  ip_literal",
        "allowed  query_database SELECT sum(apples) FROM trees  [[42]]",
        ".read()))  27",
        "failed   run_python     asyncio",
        "audit    hash chain of the log  whole: ",
        "toolgate init ",
    ] {
        assert!(text.contains(line), "`{line}` is not in: {text}");
    }
}

#[test]
fn init_says_what_it_found_opened_lacks_and_kept() {
    let home = Home::new(Policy::default());
    let folder = home.path("fresh");
    std::fs::create_dir_all(folder.join(".git")).unwrap();
    std::fs::write(folder.join("Cargo.toml"), "").unwrap();
    let place = folder.to_str().unwrap();
    let imports = ["--import", "json", "--import", "no_such_module"];
    let first = said(&run(&home, &[&["init", place, "--yes", "--allow", "https://docs.python.org/3/x.html"], &imports[..]].concat()));
    let file = folder.join("tools.toml").canonicalize().unwrap();
    for line in [
        "found Cargo.toml (Rust), .git (agents can neither read nor change it)",
        "agents may fetch every page of `https://docs.python.org`",
        "has no module no_such_module. To install it, add its package under [python] in",
        &format!("toolgate packages sync --manifest {}", file.display()),
    ] {
        assert!(first.contains(line), "`{line}` is not in: {first}");
    }
    let former = std::fs::read_to_string(&file).unwrap();
    let again = said(&run(&home, &["init", place, "--yes", "--force"]));
    let kept = file.with_file_name("tools.toml.before-toolgate-1");
    assert!(again.contains(&format!("what was there is kept in {}", kept.display())), "{again}");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), former);
    assert!(!again.contains(".venv"), "{again}");
    std::fs::create_dir_all(folder.join(".venv/bin")).unwrap();
    std::fs::write(folder.join(".venv/bin/python"), "").unwrap();
    let with_environment = said(&run(&home, &["init", place, "--yes", "--force"]));
    assert!(with_environment.contains("run `init` again with `--force --interpreter .venv/bin/python`"), "{with_environment}");
    let wrong = said(&run(&home, &["init", place, "--client", "vscod"]));
    assert!(wrong.contains("a similar value exists: 'vscode'"), "{wrong}");
}

#[test]
fn the_shipped_manifest_and_every_example_are_valid() {
    let home = Home::new(Policy::default());
    let mut files = vec![repository().join("tools.toml")];
    files.extend(std::fs::read_dir(repository().join("examples/manifests")).unwrap().map(|entry| entry.unwrap().path()));
    assert!(files.len() > 4);
    // As somebody copies them: into a folder that has what they name.
    std::fs::create_dir_all(home.path("copied/data")).unwrap();
    for file in files {
        let copy = home.path("copied").join(file.file_name().unwrap());
        std::fs::copy(&file, &copy).unwrap();
        let file = copy;
        let out = run(&home, &["check", file.to_str().unwrap()]);
        assert!(out.status.success(), "{}: {}", file.display(), said(&out));
    }
}

#[test]
fn a_first_manifest_serves_at_once_and_keeps_what_it_promises() {
    let home = Home::new(Policy::default());
    let folder = home.path("fresh");
    let out = run(&home, &["init", folder.to_str().unwrap(), "--yes", "--client", "cursor"]);
    assert!(out.status.success(), "{}", said(&out));
    assert!(said(&out).contains("\"mcpServers\""), "{}", said(&out));
    assert!(run(&home, &["check", folder.join("tools.toml").to_str().unwrap()]).status.success());
    let again = run(&home, &["init", folder.to_str().unwrap(), "--yes"]);
    assert!(!again.status.success(), "an existing manifest was replaced");
    std::fs::copy(folder.join("tools.toml"), home.manifest()).unwrap();
    std::fs::write(home.path(".env"), "TOKEN=x").unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    let good = server.call("read_file", &json!({"path": "project/project/notes.txt"}));
    assert_eq!(good["result"]["content"][0]["text"], "first line\nsecond line\nthird line\n", "{good}");
    let ran = server.call("run_python", &json!({"code": "import statistics\nprint(statistics.mean([1, 2, 3]))"}));
    assert_eq!(ran["result"]["structuredContent"]["stdout"], "2\n", "{ran}");
    for (tool, arguments) in [
        ("read_file", json!({"path": "project/.env"})),
        ("fetch", json!({"url": "https://example.com/"})),
        ("run_python", json!({"code": "import ctypes"})),
        ("run_python", json!({"code": "open('/roots/project/new', 'w')"})),
        ("run_python", json!({"code": "print(open('/roots/project/.env').read())"})),
        ("run_python", json!({"code": "print(open('/roots/project/tools.toml').read())"})),
    ] {
        let answer = server.call(tool, &arguments);
        assert!(answer["result"]["isError"] == true || answer["error"].is_object(), "{tool}: {answer}");
    }
    // A program walks the folder that agents work in, and finds nothing else of the machine.
    let code = "import os\nprint(sum(len(files) for _, _, files in os.walk('/roots/project/project')))\n\
                print(sorted(set(os.listdir('/')) & {'home', 'var', 'boot', 'srv', 'opt'}))";
    let walked = server.call("run_python", &json!({"code": code}));
    assert_eq!(walked["result"]["structuredContent"]["stdout"], "3\n[]\n", "{walked}");
}

#[test]
fn a_registration_is_printed_and_written_only_where_it_is_asked_for() {
    let home = Home::new(Policy::default());
    let manifest = home.manifest();
    let manifest = manifest.to_str().unwrap();
    let printed = run(&home, &["install", "cursor", "--manifest", manifest]);
    assert!(printed.status.success() && said(&printed).contains(manifest), "{}", said(&printed));
    let file = home.path(".cursor/mcp.json");
    assert!(!file.exists());
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "{\n  // mine\n  \"mcpServers\": {\"other\": {\"command\": \"x\"}}\n}\n").unwrap();
    let written = run(&home, &["install", "cursor", "--write", "--manifest", manifest]);
    assert!(written.status.success(), "{}", said(&written));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("// mine") && text.contains("\"other\": {\"command\": \"x\"}"), "{text}");
    let bare: Value = serde_json::from_str(&text.replace("// mine", "")).unwrap();
    let server = &bare["mcpServers"]["toolgate"];
    assert!(Path::new(server["command"].as_str().unwrap()).is_absolute(), "{server}");
    assert_eq!(server["args"], json!(["serve", "--manifest", manifest]));
}

#[test]
fn the_log_is_read_and_followed_by_scripts() {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"", ..Policy::default() });
    let mut server = crate::mcp::server::Server::greeted(&home, "2025-11-25");
    server.call("write_file", &serde_json::json!({"path": "project/new.txt", "content": "x"}));
    server.call("read_file", &serde_json::json!({"path": "/etc/passwd"}));
    server.close();
    let lines = |arguments: &[&str]| -> Vec<serde_json::Value> {
        let out = home.toolgate(arguments).output().unwrap();
        assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let denied = lines(&["audit", "tail", "--json", "ev=tool.denied"]);
    assert_eq!((denied.len(), &denied[0]["reason"]), (1, &serde_json::json!("path_outside_roots")));
    let whole = lines(&["audit", "verify", "--json"]);
    assert_eq!(whole[0]["ok"], true);
    let events: Vec<String> = home.records().iter().map(|record| record["ev"].as_str().unwrap().to_owned()).collect();
    // A reader that has seen enough is no fault; a call that is not there is named.
    let mut tail = home.toolgate(&["audit", "tail"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let cut = tail.stdout(writer).stderr(std::process::Stdio::piped()).output().unwrap();
    assert!(cut.status.success() && cut.stderr.is_empty(), "{cut:?}");
    let unknown = home.toolgate(&["audit", "show", "c_unknown"]).output().unwrap();
    assert_eq!((unknown.status.code(), unknown.stdout.len()), (Some(1), 0));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("no record of a call `c_unknown`"), "{unknown:?}");
    for event in ["manifest.loaded", "session.started", "session.ended"] {
        assert!(events.iter().any(|found| found == event), "{event}: {events:?}");
    }
}

#[test]
fn check_refuses_what_a_server_would_refuse_and_says_where() {
    let home = Home::new(Policy::default());
    let good = std::fs::read_to_string(home.manifest()).unwrap();
    let file = home.manifest();
    let check = || {
        let out = run(&home, &["check", file.to_str().unwrap()]);
        (out.status.code(), said(&out))
    };
    assert_eq!(check().0, Some(0));
    assert!(!home.state().exists(), "a check makes nothing");
    std::fs::write(home.path("keys.json"), crate::mcp::protected_files::KEYS).unwrap();
    std::fs::write(home.path("none.json"), "{\"keys\": []}").unwrap();
    std::fs::write(home.path("shared.json"), "{\"keys\": [{\"kty\": \"oct\", \"k\": \"AAAA\", \"alg\": \"HS256\"}]}").unwrap();
    let token = |name: &str, at: u8| {
        format!("[[clients.token]]\nname = \"{name}\"\nsha256 = \"{}\"\nprofile = \"all\"\n", format!("{at:02x}").repeat(32))
    };
    let oauth = |jwks: &str| {
        format!("[[clients.oauth]]\nissuer = \"https://id.example\"\naudience = \"a\"\njwks = \"{jwks}\"\nprofile = \"all\"\n")
    };
    let python = |line: &str| good.replace("[python]", &format!("[python]\n{line}"));
    let test =
        |line: &str| format!("{good}[[test]]\nprofile = \"all\"\ncall = {{ tool = \"read_file\", args = {line} }}\nexpect = \"deny\"\n");
    let also = |more: &str| format!("{good}{more}");
    let python_path = String::from_utf8(std::process::Command::new("which").arg("sh").output().unwrap().stdout).unwrap();
    for ordinary in [
        also(&oauth("keys.json")),
        also(&oauth("https://id.example/keys")),
        also("[state]\ndir = \"own-state\"\n"),
        also("[state]\ndir = \"project/.toolgate\"\n"),
        also("[audit]\nredact = [\"token\", \"headers.x-ticket\"]\nhash_args = [\"content\", \"edits.new_text\"]\n"),
        python(&format!("interpreter = \"{}\"", python_path.trim())),
        python("backend = \"auto\""),
        test("{ path = \"project/secrets/key.txt\" }"),
        test("{ path = \"porject/secrets/key.txt\" }") + "reason = \"path_outside_roots\"\n",
        test("{ path = \"/etc/passwd\" }"),
        also(&(token("jos\u{e9}", 1) + &token("jose", 2))),
        test("{ paht = \"project/secrets/key.txt\" }") + "reason = \"unknown_argument\"\n",
    ] {
        std::fs::write(&file, &ordinary).unwrap();
        assert_eq!(check().0, Some(0), "{}\n{ordinary}", check().1);
    }
    for (broken, line) in [
        (also(&oauth("missing.json")), "jwks = \"missing.json\""),
        (also(&oauth("none.json")), "jwks = \"none.json\""),
        (also(&oauth("shared.json")), "jwks = \"shared.json\""),
        (also(&oauth("keys.json")) + "claims = {}\n", "claims = {}"),
        // Composed and decomposed: drawn alike, and one in no record.
        (also(&(token("jos\u{e9}", 1) + &token("jose\u{301}", 2))), "name = \"jose\u{301}\""),
        (test("{ path = \"porject/secrets/key.txt\" }"), "args = { path = \"porject"),
        (also(&oauth("project")), "jwks = \"project\""),
        (good.replace("\"session\"", "\"no-such-folder\"").replace("quota", "# quota"), "path = \"no-such-folder\""),
        (python("interpreter = \"/no/such/python\""), "interpreter = \"/no/such/python\""),
        (python("interpreter = \"no-such-python\""), "interpreter = \"no-such-python\""),
        (python("backend = \"\""), "backend = \"\""),
        (also("[state]\ndir = \"project/notes.txt/state\"\n"), "dir = \"project/notes.txt/state\""),
        (also("[state]\ndir = \"/proc/x\"\n"), "dir = \"/proc/x\""),
        (also("[state]\ndir = \"/sys/fs\"\n"), "dir = \"/sys/fs\""),
        (also("[state]\ndir = \"project\"\n"), "dir = \"project\""),
        (also("[state]\ndir = \".\"\n"), "dir = \".\""),
        (also(&oauth("project/notes.txt")), "jwks = \"project/notes.txt\""),
        (python("interpreter = \"project/notes.txt\""), "interpreter = \"project/notes.txt\""),
        (also("[audit]\nhash_args = [\"contnet\"]\n"), "hash_args = [\"contnet\"]"),
        (test("{ paht = \"project/secrets/key.txt\" }"), "args = { paht"),
        (test("{ path = \"project/notes.txt\" }"), "expect = \"deny\""),
    ] {
        std::fs::write(&file, &broken).unwrap();
        let (exit, told) = check();
        assert!(exit == Some(1) && told.contains(line), "{line}: {exit:?} {told}");
        let mut command = home.toolgate(&["serve", "--manifest", file.to_str().unwrap()]);
        let served = command.stdin(std::process::Stdio::null()).output().unwrap();
        assert!(!served.status.success(), "{line}: it is served");
    }
}

#[test]
fn a_stop_says_whether_a_running_server_hears_it() {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"", ..Policy::default() });
    let manifest = home.manifest();
    let manifest = manifest.to_str().unwrap();
    let stop = |arguments: &[&str]| {
        let out = run(&home, arguments);
        (out.status.code(), said(&out))
    };
    let nobody = |(code, text): (Option<i32>, String)| code == Some(1) && text.contains("no server was stopped");
    assert!(nobody(stop(&["kill"])), "{:?}", stop(&["kill"]));
    let mut server = Server::greeted(&home, "2025-11-25");
    let read = json!({"path": "project/notes.txt"});
    assert_eq!(server.call("read_file", &read)["result"]["structuredContent"]["code"], "killed", "the stop stayed on");
    assert_eq!(stop(&["resume"]).0, Some(0));
    assert_eq!(stop(&["kill", "--manifest", manifest]).0, Some(0), "this server hears it");
    assert_eq!(stop(&["resume", "--manifest", manifest]).0, Some(0));
    // A server of another state folder, which its manifest names, is not this one, though the manifest has a fault by now.
    std::fs::create_dir(home.path("other")).unwrap();
    let other = home.path("other/tools.toml");
    std::fs::write(&other, std::fs::read_to_string(home.manifest()).unwrap() + "[state]\ndir = \"own\"\n[unknown]\n").unwrap();
    assert!(nobody(stop(&["kill", "--manifest", other.to_str().unwrap()])));
    assert!(home.path("other/own/KILL").exists());
    assert!(crate::mcp::server::went_well(&server.call("read_file", &read)));
    assert_eq!(stop(&["kill", "--manifest", "no/such/file"]).0, Some(2));
    // Killed, it hears nothing, and what it left is no server.
    let ran = server.call("run_python", &json!({"code": "print(1)"}));
    assert!(ran["result"].is_object(), "{ran}");
    server.signal("-KILL");
    server.wait();
    crate::mcp::server::until("the dead server to be known as dead", || {
        let found = nobody(stop(&["kill"]));
        stop(&["resume"]);
        found
    });
}

#[test]
fn explain_says_that_everything_is_stopped_while_it_is() {
    let home = Home::new(Policy::default());
    let explain = || {
        let out = home.toolgate(&["explain", "read_file", "{\"path\":\"project/notes.txt\"}", "--json"]).output().unwrap();
        let told: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        (out.status.code(), told["verdict"].as_str().unwrap().to_owned(), told["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!((explain().0, explain().1.as_str()), (Some(0), "allow"));
    drop(home.toolgate(&["kill", "--reason", "test"]).output().unwrap());
    assert_eq!((explain().0, explain().2.as_str()), (Some(1), "killed"), "{:?}", explain());
    assert!(home.toolgate(&["resume"]).status().unwrap().success());
    assert_eq!(explain().1, "allow");
}
