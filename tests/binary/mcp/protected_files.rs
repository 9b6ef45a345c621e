//! What the server itself reads and runs lies where calls may write: no call changes it.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::packages::open_home;
use crate::mcp::server::{Server, hello};

const UNASKED: &str = "level_2 = \"none\"\nlevel_3 = \"none\"";

fn code(answer: &Value) -> &str {
    answer["result"]["structuredContent"]["code"].as_str().unwrap_or("done")
}

/// Every file below a folder with its content.
fn content(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(content(&entry.path()));
        } else {
            found.push((entry.path(), std::fs::read(entry.path()).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

#[test]
fn the_interpreter_and_its_library_cannot_be_changed_by_a_call() {
    let home = Home::new(Policy { approvals: UNASKED, python: "interpreter = \"project/.venv/bin/python\"", ..Policy::default() });
    let venv = home.path("project/.venv");
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv).status();
    assert!(made.is_ok_and(|status| status.success()), "no environment could be made");
    let version = venv.join("lib").read_dir().unwrap().flatten().next().unwrap().file_name().into_string().unwrap();
    let before = content(&venv);
    let mark = home.path("ran-outside");
    let line = format!("import os; open({:?}, 'a').write(str(os.getpid()))\n", mark.to_str().unwrap());
    let mut server = Server::greeted(&home, "2025-11-25");
    let site = format!("project/.venv/lib/{version}/site-packages");
    for (tool, arguments) in [
        ("write_file", json!({"path": format!("{site}/x.pth"), "content": line})),
        ("write_file", json!({"path": format!("{site}/sitecustomize.py"), "content": line})),
        ("write_file", json!({"path": "project/.venv/bin/python", "content": "#!/bin/sh\n"})),
        ("write_file", json!({"path": "project/.venv/pyvenv.cfg", "content": "home = /tmp\n"})),
        ("edit_file", json!({"path": "project/.venv/pyvenv.cfg", "edits": [{"old_text": "home", "new_text": "hom"}]})),
        ("move_file", json!({"from": "project/.venv", "to": "project/old"})),
        ("move_file", json!({"from": "project/.venv/bin/python", "to": "project/python"})),
        ("move_file", json!({"from": "project/notes.txt", "to": format!("{site}/usercustomize.py")})),
        ("delete_file", json!({"path": "project/.venv", "recursive": true})),
        ("create_directory", json!({"path": format!("{site}/encodings")})),
    ] {
        let answer = server.call(tool, &arguments);
        // The interpreter of an environment is a link, which is refused as such before.
        let expected = if arguments.to_string().contains("bin/python") { "symlink" } else { "path_denied" };
        assert_eq!(code(&answer), expected, "{tool} {arguments}: {answer}");
    }
    assert_eq!(content(&venv), before);
    // The rest of the project is as open as before, and programs run. So many refusals end a session.
    drop(server);
    let mut server = Server::greeted(&home, "2025-11-25");
    assert_eq!(code(&server.call("write_file", &json!({"path": "project/x.pth", "content": line}))), "done");
    let answer = server.call("run_python", &json!({"code": "print(40 + 2)"}));
    assert_eq!(answer["result"]["structuredContent"]["stdout"], "42\n", "{answer}");
    drop(server);
    let _ = home.toolgate(&["doctor", "--manifest", "tools.toml"]).output().unwrap();
    assert!(!mark.exists(), "something ran outside the jail");
    home.verify();
}

#[test]
fn no_code_of_an_environments_packages_runs_outside_the_jail() {
    let home = open_home("interpreter = \"env/bin/python\"");
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(home.path("env")).status();
    assert!(made.is_ok_and(|status| status.success()), "no environment could be made");
    let site = home.path("env/lib").read_dir().unwrap().next().unwrap().unwrap().path().join("site-packages");
    let mark = home.path("ran-outside");
    let line = format!("import os; open({:?}, 'a').write(str(os.getpid()))\n", mark.to_str().unwrap());
    for name in ["x.pth", "sitecustomize.py", "usercustomize.py"] {
        std::fs::write(site.join(name), &line).unwrap();
    }
    // What a package installs, and what an editable one leads to.
    std::fs::write(site.join("apples.py"), "def count(): return 29\n").unwrap();
    std::fs::create_dir_all(home.path("editable")).unwrap();
    std::fs::write(home.path("editable/figs.py"), "def count(): return 13\n").unwrap();
    std::fs::write(site.join("editable.pth"), format!("{}\n", home.path("editable").display())).unwrap();

    let mut server = Server::greeted(&home, "2025-11-25");
    let answer = server.call("run_python", &json!({"code": "import apples, figs\nprint(apples.count() + figs.count())"}));
    assert_eq!(answer["result"]["structuredContent"]["stdout"], "42\n", "{answer}");
    drop(server);
    let manifest = home.manifest();
    let manifest = manifest.to_str().unwrap();
    let python = home.path("env/bin/python");
    std::fs::write(home.path("one.py"), "print(1)\n").unwrap();
    for arguments in [
        &["doctor", "--manifest", manifest][..],
        &["python", "--manifest", manifest, "one.py"],
        &["explain", "--manifest", manifest],
        &["check", manifest],
        &["init", "--interpreter", python.to_str().unwrap(), "--import", "apples", "other"],
    ] {
        let output = home.toolgate(arguments).output().unwrap();
        assert!(!mark.exists(), "{arguments:?} ran code of the packages: {output:?}");
    }
    home.verify();
}

#[test]
fn the_lock_of_packages_is_protected_before_there_is_one_and_before_a_package_is_named() {
    for packages in ["", "packages = [\"six\"]"] {
        let home = Home::new(Policy { approvals: UNASKED, python: packages, ..Policy::default() });
        std::fs::rename(home.manifest(), home.path("project/tools.toml")).unwrap();
        let mut server = Server::of(&home, home.toolgate(&["serve", "--manifest", "project/tools.toml"]));
        server.request("initialize", &hello("2025-11-25"));
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        for (tool, arguments) in [
            ("write_file", json!({"path": "project/tools.lock", "content": "six==1.17.0\n"})),
            ("copy_file", json!({"from": "project/notes.txt", "to": "project/tools.lock"})),
            ("move_file", json!({"from": "project/notes.txt", "to": "project/tools.lock"})),
            ("create_directory", json!({"path": "project/tools.lock"})),
        ] {
            let answer = server.call(tool, &arguments);
            assert_eq!(code(&answer), "path_denied", "{packages} {tool}: {answer}");
        }
        assert!(!home.path("project/tools.lock").exists());
        assert_eq!(code(&server.call("write_file", &json!({"path": "project/Cargo.lock", "content": ""}))), "done");
        home.verify();
    }
}

#[test]
fn a_program_writes_in_no_root_that_holds_the_interpreter() {
    let home = Home::new(Policy { python: "interpreter = \"scratch/.venv/bin/python\"", ..Policy::default() });
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(home.path("scratch/.venv")).status();
    assert!(made.is_ok_and(|status| status.success()), "no environment could be made");
    let served = home.toolgate(&["serve", "--manifest", "tools.toml"]).stdin(std::process::Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&served.stderr);
    assert!(!served.status.success() && said.contains("root_not_enforceable") && said.contains(".venv"), "{said}");
}

#[test]
fn keys_and_reviewers_beside_the_manifest_cannot_be_changed_by_a_call() {
    let home = Home::new(Policy { approvals: UNASKED, ..Policy::default() });
    std::fs::write(home.path("project/keys.json"), KEYS).unwrap();
    std::fs::write(home.path("project/review.sh"), "#!/bin/sh\necho '{\"verdict\": \"allow\"}'\n").unwrap();
    let manifest = std::fs::read_to_string(home.manifest()).unwrap();
    let more = "[[clients.oauth]]\nissuer = \"https://id.example.com\"\naudience = \"https://t.example.com/mcp\"\njwks = \"project/keys.json\"\n\
                claims = { groups = \"a\" }\nprofile = \"all\"\n[review]\nreviewers = [{ command = [\"sh\", \"project/review.sh\"] }]\n";
    std::fs::write(home.manifest(), manifest + more).unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    for file in ["project/keys.json", "project/review.sh"] {
        let before = home.read(file);
        for (tool, arguments) in [
            ("write_file", json!({"path": file, "content": "{\"keys\": []}"})),
            ("delete_file", json!({"path": file})),
            ("move_file", json!({"from": "project/notes.txt", "to": file})),
            ("move_file", json!({"from": file, "to": "project/other"})),
        ] {
            let answer = server.call(tool, &arguments);
            assert_eq!(code(&answer), "path_denied", "{tool} {arguments}: {answer}");
        }
        assert_eq!(home.read(file), before);
    }
    assert_eq!(code(&server.call("write_file", &json!({"path": "project/other.json", "content": "{}"}))), "done");
    home.verify();
}

/// A public key for verifying, of no use to sign with.
pub(crate) const KEYS: &str = r#"{"keys": [{"kty": "EC", "crv": "P-256", "kid": "a", "alg": "ES256",
"x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#;

#[test]
fn what_a_changed_manifest_names_is_guarded_from_the_next_call_on() {
    let home = Home::new(Policy { approvals: UNASKED, ..Policy::default() });
    std::fs::write(home.path("project/review.sh"), "#!/bin/sh\necho '{\"verdict\":\"allow\"}'\n").unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    let write = json!({"path": "project/review.sh", "content": "#!/bin/sh\n"});
    assert_eq!(code(&server.call("write_file", &write)), "done");
    let text = home.read("tools.toml");
    let reviewers = "[review]\nfrom_level = 4\nreviewers = [{ command = [\"/bin/sh\", \"project/review.sh\"], timeout = \"5s\" }]\n";
    std::fs::write(home.manifest(), format!("{text}{reviewers}")).unwrap();
    assert_eq!(code(&server.call("write_file", &write)), "path_denied");
    assert_eq!(code(&server.call("write_file", &json!({"path": "project/other.sh", "content": ""}))), "done");
    server.close();
    home.verify();
}
