//! The file tools through the built server: manifest, judge, sandbox and answer together, each attack next to the ordinary use.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a server that does not answer as it must fails the test")]

#[expect(dead_code, reason = "shared with other tests, which use the rest")]
#[path = "home/mod.rs"]
mod home;
#[expect(dead_code, reason = "shared with other tests, which use the rest")]
#[path = "mcp/server.rs"]
mod server;

use home::{Home, Policy};
use serde_json::{Value, json};
use server::Server;

/// A project whose changes need nobody's word, with these denied patterns, and a server for it.
fn served(denied: &str) -> (Home, Server) {
    let limits = "breaker = { denials = 1000, within = \"1m\", then = \"suspend\" }";
    let home = Home::new(Policy { approvals: "level_2 = \"none\"\nlevel_3 = \"none\"", limits, ..Policy::default() });
    let manifest = std::fs::read_to_string(home.manifest()).unwrap();
    std::fs::write(home.manifest(), manifest.replace(r#"["secrets/**"]"#, denied)).unwrap();
    let server = Server::greeted(&home, "2025-11-25");
    (home, server)
}

fn put(home: &Home, below: &str, content: &str) {
    let path = home.path(below);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// The structured part of an answer that must be a success.
fn done(server: &mut Server, tool: &str, arguments: &Value) -> Value {
    let answer = server.call(tool, arguments);
    assert_ne!(answer["result"]["isError"], true, "{tool} {arguments}: {answer}");
    answer["result"]["structuredContent"].clone()
}

/// The code of an answer that must be a refusal or failure.
fn refused(server: &mut Server, tool: &str, arguments: &Value) -> String {
    let answer = server.call(tool, arguments);
    assert_eq!(answer["result"]["isError"], true, "{tool} {arguments}: {answer}");
    answer["result"]["structuredContent"]["code"].as_str().unwrap().to_owned()
}

fn text(server: &mut Server, path: &str) -> String {
    let answer = server.call("read_file", &json!({"path": path}));
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[test]
fn a_day_of_work_on_real_files() {
    let (home, mut server) = served(r#"["secrets/**"]"#);
    assert_eq!(text(&mut server, "project/notes.txt"), "first line\nsecond line\nthird line\n");
    let absolute = home.path("project/notes.txt");
    assert_eq!(text(&mut server, absolute.to_str().unwrap()), "first line\nsecond line\nthird line\n");

    done(&mut server, "create_directory", &json!({"path": "project/docs/new"}));
    let written = done(&mut server, "write_file", &json!({"path": "project/docs/new/a.md", "content": "alpha\nbeta\n"}));
    assert_eq!((&written["path"], &written["created"], &written["size"]), (&json!("project/docs/new/a.md"), &json!(true), &json!(11)));
    let edit = json!({"path": "project/docs/new/a.md", "edits": [{"old_text": "beta", "new_text": "gamma"}]});
    let edited = done(&mut server, "edit_file", &edit);
    assert!(edited["diff"].as_str().unwrap().contains("-beta\n+gamma\n"), "{edited}");
    let info = done(&mut server, "file_info", &json!({"path": "project/docs/new/a.md"}));
    assert_eq!((&info["sha256"], &info["lines"]), (&edited["sha256"], &json!(2)));
    let stale = json!({"path": "project/docs/new/a.md", "content": "x", "expected_sha256": written["sha256"]});
    assert_eq!(refused(&mut server, "write_file", &stale), "conflict");

    let found = done(&mut server, "search_files", &json!({"path": "project", "query": "gam+a", "glob": "*.md"}));
    assert_eq!(found["matches"], json!([{"path": "project/docs/new/a.md", "line": 2, "text": "gamma"}]));
    done(&mut server, "move_file", &json!({"from": "project/docs/new", "to": "project/docs/old"}));
    let listed = done(&mut server, "list_directory", &json!({"path": "project/docs", "depth": 2}));
    let paths: Vec<&str> = listed["entries"].as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["project/docs/old", "project/docs/old/a.md"]);
    assert_eq!(refused(&mut server, "delete_file", &json!({"path": "project/docs"})), "directory_not_empty");
    assert_eq!(done(&mut server, "delete_file", &json!({"path": "project/docs", "recursive": true}))["deleted"], 3);
    assert!(!home.path("project/docs").exists());
    server.close();
    home.verify();
}

#[test]
fn twins_of_a_denied_name_are_denied_and_shown_nowhere() {
    let (home, mut server) = served(r#"["**/.env*", "secrets/**"]"#);
    let twins = [".env", ".ENV", ".Env.local", "\u{ff0e}env", ".\u{ff25}NV"];
    for name in twins {
        put(&home, &format!("project/{name}"), "token\n");
        put(&home, &format!("project/deep/{name}"), "token\n");
    }
    put(&home, "project/SECRETS/key", "token\n");
    put(&home, "project/environment", "token\n");
    for path in
        twins.iter().flat_map(|name| [format!("project/{name}"), format!("project/deep/{name}")]).chain(["project/SECRETS/key".into()])
    {
        assert_eq!(refused(&mut server, "read_file", &json!({"path": path})), "path_denied", "{path}");
        assert_eq!(refused(&mut server, "write_file", &json!({"path": path, "content": "x"})), "path_denied", "{path}");
        let move_out = json!({"from": path, "to": "project/free"});
        assert_eq!(refused(&mut server, "move_file", &move_out), "path_denied", "{path}");
    }
    let found = done(&mut server, "search_files", &json!({"path": "project", "query": "token|hidden"}));
    assert_eq!(found["matches"], json!([{"path": "project/environment", "line": 1, "text": "token"}]));
    let listed = done(&mut server, "list_directory", &json!({"path": "project", "depth": 3})).to_string();
    for name in twins.iter().chain(&["SECRETS", "secrets"]) {
        assert!(!listed.contains(&format!("/{name}\"")), "{name}: {listed}");
    }
    // Not denied: it only resembles.
    assert_eq!(text(&mut server, "project/environment"), "token\n");
}

#[test]
fn a_folder_does_not_shed_its_denied_entries_by_a_new_name() {
    let (home, mut server) = served(r#"["a/secrets/**", "locked/**"]"#);
    put(&home, "project/a/secrets/key", "hidden\n");
    put(&home, "project/a/open", "open\n");
    put(&home, "project/b/open", "open\n");
    for (from, to) in [("project/a", "project/z"), ("project/b", "project/locked/b"), ("project/b", "project/a/secrets/b")] {
        assert_eq!(refused(&mut server, "move_file", &json!({"from": from, "to": to})), "path_denied", "{from} {to}");
    }
    assert_eq!(refused(&mut server, "delete_file", &json!({"path": "project/a", "recursive": true})), "path_denied");
    // Under its new name an entry would be denied: it would be put where nobody may look.
    put(&home, "project/c/secrets/x", "x\n");
    std::fs::remove_dir_all(home.path("project/a")).unwrap();
    assert_eq!(refused(&mut server, "move_file", &json!({"from": "project/c", "to": "project/a"})), "path_denied");
    done(&mut server, "move_file", &json!({"from": "project/b", "to": "project/d"}));
    assert_eq!(text(&mut server, "project/d/open"), "open\n");
}

#[test]
fn what_lies_outside_answers_alike_whether_it_is_there_or_not() {
    let (home, mut server) = served(r#"["secrets/**"]"#);
    put(&home, "project_twin/x", "outside\n");
    std::os::unix::fs::symlink(home.path("project_twin"), home.path("project/way_out")).unwrap();
    let outside = |name: &str| home.path(name).to_str().unwrap().to_owned();
    for path in
        [outside("project_twin/x"), outside("project_twin/none"), "/etc/passwd".into(), "/none".into(), "elsewhere/x".into(), "~/x".into()]
    {
        assert_eq!(refused(&mut server, "read_file", &json!({"path": path})), "path_outside_roots", "{path}");
    }
    for path in ["project/../project_twin/x", "project/./notes.txt", "project//notes.txt"] {
        assert_eq!(refused(&mut server, "read_file", &json!({"path": path})), "path_malformed", "{path}");
    }
    for path in ["project/way_out/x", "project/way_out/none", "project/way_out"] {
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("list_directory", json!({"path": path})),
            ("delete_file", json!({"path": path, "recursive": true})),
            ("create_directory", json!({"path": path})),
        ] {
            assert_eq!(refused(&mut server, tool, &arguments), "symlink", "{tool} {path}");
        }
    }
    assert_eq!(home.read("project_twin/x"), "outside\n");
}

#[test]
fn ten_thousand_entries_are_listed_in_part_and_deleted_whole() {
    let (home, mut server) = served(r#"["secrets/**"]"#);
    for number in 0..10_000 {
        put(&home, &format!("project/many/{number:05}"), "");
    }
    let listed = done(&mut server, "list_directory", &json!({"path": "project/many", "limit": 10_000}));
    assert_eq!(listed["truncated"], true);
    assert!(listed.to_string().len() < 80_000, "{}", listed.to_string().len());
    assert_eq!(done(&mut server, "delete_file", &json!({"path": "project/many", "recursive": true}))["deleted"], 10_001);
}

#[test]
fn the_file_of_a_secret_is_out_of_reach_though_it_lies_in_a_root_and_the_server_could_read_it() {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"\nlevel_3 = \"none\"", ..Policy::default() });
    put(&home, "project/conf/api.key", "the-value-itself\n");
    std::fs::set_permissions(home.path("project/conf/api.key"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    put(&home, "project/conf/plain.txt", "no value\n");
    let secret = |at: &str| format!("\n[network.secrets.api]\nfile = {}\nhosts = [\"api.example\"]\n", json!(home.path(at)));
    let manifest = std::fs::read_to_string(home.manifest()).unwrap();
    std::fs::write(home.manifest(), manifest.clone() + &secret("project/conf/api.key")).unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    assert_eq!(text(&mut server, "project/conf/plain.txt"), "no value\n");
    for (tool, arguments) in [
        ("read_file", json!({"path": "project/conf/api.key"})),
        ("write_file", json!({"path": "project/conf/api.key", "content": "mine"})),
        ("move_file", json!({"from": "project/conf", "to": "project/other"})),
        ("delete_file", json!({"path": "project/conf", "recursive": true})),
    ] {
        assert_eq!(refused(&mut server, tool, &arguments), "path_denied", "{tool}");
    }
    let listed = done(&mut server, "list_directory", &json!({"path": "project/conf"})).to_string();
    let found = done(&mut server, "search_files", &json!({"path": "project", "query": "value"})).to_string();
    assert!(listed.contains("plain.txt") && found.contains("plain.txt"), "{listed} {found}");
    assert!(!listed.contains("api.key") && !found.contains("api.key"), "{listed} {found}");

    // A program writes in `scratch` without being asked for each file: a secret there is refused before anything is served.
    put(&home, "scratch/api.key", "the-value-itself\n");
    std::fs::write(home.manifest(), manifest + &secret("scratch/api.key")).unwrap();
    let mut start = std::process::Command::new(env!("CARGO_BIN_EXE_toolgate"));
    start.args(["serve", "--manifest"]).arg(home.manifest()).env_clear().envs(home.environment()).stdin(std::process::Stdio::null());
    let told = start.output().unwrap();
    let words = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(!told.status.success() && words.contains("root_not_enforceable"), "{words}");
}
