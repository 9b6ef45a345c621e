//! The file tools through the built server: manifest, judge, sandbox and answer together, each attack next to the ordinary use.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a server that does not answer as it must fails the test")]

use serde_json::{Value, json};

use crate::home::{Home, Policy};
use crate::mcp::server::Server;

/// A project whose changes need nobody's word, with these denied patterns, and a server for it.
fn served(denied: &str) -> (Home, Server) {
    let limits = "breaker = { denials = 1000, within = \"1m\" }";
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

/// Names as a tree from macOS and emoji have them, each with another spelling of it where there is one.
const NAMES: [(&str, &str); 4] = [
    ("cafe\u{301}.txt", "caf\u{e9}.txt"),
    ("\u{1100}\u{1161}\u{11a8}.txt", "\u{ac01}.txt"),
    ("a\u{200d}b.txt", "a\u{200d}b.txt"),
    ("\u{2764}\u{fe0f}\u{200d}\u{1f525}.txt", "\u{2764}\u{fe0f}\u{200d}\u{1f525}.txt"),
];

#[test]
fn names_of_other_forms_are_listed_found_read_changed_and_recorded_by_one_spelling() {
    let (home, mut server) = served(r#"["secrets/**"]"#);
    for (own, _) in NAMES {
        put(&home, &format!("project/d/{own}"), "needle\n");
    }
    let mut expected: Vec<String> = NAMES.iter().map(|(own, _)| format!("project/d/{own}")).collect();
    expected.sort();
    let paths = |rows: &Value| rows.as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let listed = done(&mut server, "list_directory", &json!({"path": "project/d"}));
    assert_eq!(paths(&listed["entries"]), expected);
    let found = server.call("search_files", &json!({"path": "project/d", "query": "needle"}));
    assert_eq!(paths(&found["result"]["structuredContent"]["matches"]), expected);
    // A name is no content of a stranger's: neither the answer nor the session is marked.
    assert!(found["result"]["_meta"]["toolgate/session"].is_null() && found["result"]["_meta"]["toolgate/filter"].is_null(), "{found}");
    for (own, other) in NAMES {
        for spelling in [own, other] {
            let path = format!("project/d/{spelling}");
            assert_eq!(text(&mut server, &path), "needle\n", "{path:?}");
            let info = done(&mut server, "file_info", &json!({"path": path}));
            assert_eq!(info["path"], format!("project/d/{own}"));
        }
        let path = format!("project/d/{other}");
        let edit = json!({"path": path, "edits": [{"old_text": "needle", "new_text": "thread"}]});
        assert_eq!(done(&mut server, "edit_file", &edit)["path"], format!("project/d/{own}"));
        let started = home.told("call.started", "edit_file").pop().unwrap();
        let names = if own == other { Value::Null } else { json!([format!("project/d/{own}")]) };
        assert_eq!(started["targets"], names, "{started}");
        let written = done(&mut server, "write_file", &json!({"path": path, "content": "x"}));
        assert_eq!((&written["path"], &written["created"]), (&json!(format!("project/d/{own}")), &json!(false)));
        assert_eq!(refused(&mut server, "write_file", &json!({"path": path, "content": "x", "mode": "create"})), "already_exists");
        done(&mut server, "delete_file", &json!({"path": path}));
    }
    assert_eq!(std::fs::read_dir(home.path("project/d")).unwrap().count(), 0);
    let log = std::fs::read_dir(home.state().join("audit"))
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap_or_default());
    assert!(log.collect::<String>().contains(r"project/d/cafe\u0301.txt"), "the record tells the two forms apart");
    // What no entry vouches for is no name, whatever is to be done with it.
    for (own, _) in &NAMES[..3] {
        let path = format!("project/d/{own}");
        assert_eq!(refused(&mut server, "read_file", &json!({"path": path})), "path_malformed", "{path:?}");
        assert_eq!(refused(&mut server, "write_file", &json!({"path": path, "content": "x"})), "path_malformed", "{path:?}");
        assert_eq!(refused(&mut server, "create_directory", &json!({"path": path})), "path_malformed", "{path:?}");
        let renamed = json!({"from": "project/notes.txt", "to": path});
        assert_eq!(refused(&mut server, "move_file", &renamed), "path_malformed", "{path:?}");
    }
    assert_eq!(done(&mut server, "write_file", &json!({"path": format!("project/d/{}", NAMES[3].0), "content": "x"}))["created"], true);
    assert_eq!(refused(&mut server, "read_file", &json!({"path": "project/d/a\u{200b}b"})), "path_malformed");
    server.close();
    home.verify();
}

#[test]
fn a_denied_name_stays_denied_in_every_form_and_with_characters_that_are_not_drawn() {
    let (home, mut server) = served(r#"["caf\u00e9/**", "**/private*", "\u2764/**"]"#);
    let denied = ["cafe\u{301}/a", "caf\u{e9}/a", "pri\u{200d}vate.txt", "d/p\u{fe0f}rivate.txt", "\u{2764}\u{fe0f}/a"];
    for path in denied {
        put(&home, &format!("project/{path}"), "needle\n");
    }
    put(&home, "project/d/cafe\u{301}", "needle\n");
    for path in denied {
        assert_eq!(refused(&mut server, "read_file", &json!({"path": format!("project/{path}")})), "path_denied", "{path:?}");
    }
    let found = done(&mut server, "search_files", &json!({"path": "project", "query": "needle"}));
    assert_eq!(found["matches"], json!([{"path": "project/d/cafe\u{301}", "line": 1, "text": "needle"}]));
    assert_eq!(refused(&mut server, "move_file", &json!({"from": "project/d", "to": "project/e"})), "path_denied");
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

/// A file with a private key, a key of a cloud and a password, and ordinary lines between them; and every piece of the values.
fn with_secrets() -> (String, Vec<String>) {
    let bodies = [
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
        "MzEfYyjiWA4R4nXo0tQmZk2x7Bv1cJq8Ue5Hs3Lf6Pd9Gw0NaKbTrYhVuXoEiMzS",
        "q7Wxnc2V8bRyHsJ4kPz5Tg3LmD9fQ0vXe1Ua6Yw8CoBiNhKtMjRpSlZxAvGdEuFy",
    ];
    let (cloud, password) = ("AKIAQ7ZT3N5WXK2VPLMR", "tG4#xw8Kd!Zq1nPy");
    let text = format!(
        "# settings\n-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\nid = {cloud}\nport = 8080\ndb_password = {password}\nend = 1\n",
        bodies.join("\n")
    );
    let pieces = bodies.iter().copied().chain([cloud, password]).flat_map(|value| {
        let bytes = value.as_bytes().windows(8).map(|window| String::from_utf8(window.to_vec()).unwrap());
        bytes.collect::<Vec<_>>()
    });
    (text, pieces.collect())
}

fn shows_none(answer: &Value, pieces: &[String]) {
    let told = answer.to_string();
    assert!(!pieces.iter().any(|piece| told.contains(piece.as_str())), "{answer}");
}

#[test]
fn a_masked_secret_is_read_by_no_part_of_it() {
    let (home, mut server) = served("[]");
    let (content, pieces) = with_secrets();
    let lines = content.lines().count();
    let utf16: Vec<u8> = content.encode_utf16().flat_map(u16::to_le_bytes).collect();
    put(&home, "project/few/app.conf", &content);
    put(&home, "project/few/picture", &format!("GIF89a\n{content}"));
    std::fs::write(home.path("project/few/wide"), &utf16).unwrap();
    std::fs::write(home.path("project/few/latin"), [b"caf\xe9\n", content.as_bytes()].concat()).unwrap();
    put(&home, "project/large/log", &format!("{}{content}{}", "an ordinary line\n".repeat(62_000), "more\n".repeat(10_000)));

    let whole = text(&mut server, "project/few/app.conf");
    assert_eq!(whole.lines().count(), lines, "a mask keeps the lines: {whole}");
    assert_eq!(whole.lines().nth(7), Some("port = 8080"), "{whole}");
    for (offset, limit) in (1..=lines).flat_map(|offset| [(offset, None), (offset, Some(1)), (offset, Some(3))]) {
        let mut arguments = json!({"path": "project/few/app.conf", "offset": offset});
        if let Some(limit) = limit {
            arguments["limit"] = json!(limit);
        }
        let part = server.call("read_file", &arguments);
        shows_none(&part, &pieces);
        let wanted: String = whole.split_inclusive('\n').skip(offset - 1).take(limit.unwrap_or(lines)).collect();
        assert_eq!(part["result"]["content"][0]["text"], wanted.as_str(), "{arguments}");
    }
    for offset in 62_001..=62_000 + lines {
        let part = server.call("read_file", &json!({"path": "project/large/log", "offset": offset, "limit": 2}));
        shows_none(&part, &pieces);
        let wanted = whole.lines().nth(offset - 62_001).unwrap();
        assert!(part["result"]["content"][0]["text"].as_str().unwrap().starts_with(wanted), "{offset}: {part}");
    }
    // Every guess is answered alike, right or wrong.
    for (right, wrong) in [
        ("MII", "MIJ"),
        ("AKIAQ[0-7]", "AKIAQ[89]"),
        ("^id = AKIAQ7", "^id = AKIAQ8"),
        ("password = tG4", "password = tG5"),
        ("^[A-Za-z0-9]{64}$", "^[A-Za-z0-9]{63}$"),
        (r"(?-u:tG4\x23)", r"(?-u:tG4\x24)"),
    ] {
        for (path, context) in [("project/few", 0), ("project/few", 3)] {
            let mut count = |query: &str| {
                let arguments = json!({"path": path, "query": query, "context_lines": context, "max_results": 5});
                let mut found = done(&mut server, "search_files", &arguments);
                shows_none(&found, &pieces);
                found["matches"].take()
            };
            assert_eq!(count(right), count(wrong), "{right}");
            assert_eq!(count(right), json!([]), "{right}");
        }
    }
    for (query, count) in [("MII|AKIAQ|tG4", 0), ("MIJ|AKIAQ8|tG5", 0), ("port = 8080", 1)] {
        let found = done(&mut server, "search_files", &json!({"path": "project/large", "query": query, "context_lines": 3}));
        shows_none(&found, &pieces);
        assert_eq!(found["matches"].as_array().unwrap().len(), count, "{query}: {found}");
    }
    let around = done(&mut server, "search_files", &json!({"path": "project/few", "query": "port = 8080", "context_lines": 5}));
    shows_none(&around, &pieces);
    assert_eq!(around["matches"].as_array().unwrap().len(), 4, "{around}");
    for path in ["app.conf", "wide", "latin", "picture"] {
        for part in [json!({}), json!({"offset": 3}), json!({"limit": 4})] {
            let mut arguments = part;
            arguments["path"] = json!(format!("project/few/{path}"));
            arguments["encoding"] = json!("base64");
            let answer = server.call("read_file", &arguments);
            assert_eq!(answer["result"]["structuredContent"]["code"], "masked_content", "{arguments}: {answer}");
        }
    }
    let large = json!({"path": "project/large/log", "offset": 62_003, "limit": 2, "encoding": "base64"});
    assert_eq!(refused(&mut server, "read_file", &large), "masked_content");
    assert_eq!(refused(&mut server, "read_file", &json!({"path": "project/few/picture"})), "masked_content");
    // The digest of a text that is known but for a short secret would tell the secret.
    let info = done(&mut server, "file_info", &json!({"path": "project/few/app.conf"}));
    assert!(info["sha256"].is_null() && info["lines"] == json!(lines), "{info}");

    // Beside it, everything without a secret is read as it is, in every form.
    std::fs::write(home.path("project/plain.bin"), b"a\0b\xff").unwrap();
    let plain = server.call("read_file", &json!({"path": "project/plain.bin", "encoding": "base64"}));
    assert_eq!(plain["result"]["content"][0]["text"], "YQBi/w==", "{plain}");
    assert!(done(&mut server, "file_info", &json!({"path": "project/plain.bin"}))["sha256"].is_string());
    server.close();
}

#[test]
fn an_edit_keeps_the_secrets_it_does_not_name_and_tells_nothing_of_them() {
    let (home, mut server) = served("[]");
    let (content, pieces) = with_secrets();
    put(&home, "project/app.conf", &content);
    let edit = |old: &str, new: &str, dry_run: bool| json!({"path": "project/app.conf", "dry_run": dry_run, "edits": [{"old_text": old, "new_text": new}]});
    let shown = text(&mut server, "project/app.conf");
    let kept = edit("port = 8080", "port = 9090", false);
    let edited = server.call("edit_file", &kept);
    shows_none(&edited, &pieces);
    assert_eq!(edited["result"]["structuredContent"]["replacements"], 1, "{edited}");
    assert!(
        edited["result"]["structuredContent"]["diff"]
            .as_str()
            .unwrap()
            .contains(" id = [SECRET:aws-access-key]\n-port = 8080\n+port = 9090\n")
    );
    let found = &edited["result"]["_meta"]["toolgate/filter"]["found"];
    assert!(found.as_array().unwrap().iter().all(|count| count["kind"] == "secret" && count["count"] == 1), "{found}");
    assert_eq!(home.read("project/app.conf"), content.replace("8080", "9090"));
    assert_eq!(text(&mut server, "project/app.conf"), shown.replace("8080", "9090"));

    for (old, new, code) in [
        ("id = [SECRET:aws-access-key]\nport = 9090", "id = [SECRET:aws-access-key]\nport = 1", "masked_content"),
        ("db_password = [SECRET:credential]", "db_password = ${PASSWORD}", "masked_content"),
        ("db_password = ", "note: ", "masked_content"),
        ("end = 1", "end = [SECRET:aws-access-key]", "masked_content"),
        ("id = AKIAQ7", "id = x", "edit_mismatch"),
        ("id = AKIAQ8", "id = x", "edit_mismatch"),
    ] {
        for dry_run in [true, false] {
            let answer = server.call("edit_file", &edit(old, new, dry_run));
            shows_none(&json!(answer.to_string().replace(old, "")), &pieces);
            assert_eq!(answer["result"]["structuredContent"]["code"], code, "{old}: {answer}");
        }
    }
    let whole = json!({"path": "project/app.conf", "content": shown});
    assert_eq!(refused(&mut server, "write_file", &whole), "masked_content");
    assert_eq!(home.read("project/app.conf"), content.replace("8080", "9090"));

    let docs = "Values are shown as [EMAIL_1] or [SECRET:aws-access-key].\n";
    done(&mut server, "write_file", &json!({"path": "project/docs.md", "content": docs}));
    done(
        &mut server,
        "edit_file",
        &json!({"path": "project/docs.md", "edits": [{"old_text": "as [EMAIL_1]", "new_text": "like [EMAIL_1]"}]}),
    );
    assert_eq!(text(&mut server, "project/docs.md"), docs.replace("as [E", "like [E"));
    server.close();
    home.verify();
}

#[test]
fn a_part_or_another_form_of_a_file_says_nothing_of_its_text() {
    let (home, mut server) = served("[]");
    server.close();
    let manifest = std::fs::read_to_string(home.manifest()).unwrap();
    std::fs::write(home.manifest(), manifest + "[filters.rules.names]\nwords = [\"Project Aurora\"]\naction = \"deny\"\n").unwrap();
    server = Server::greeted(&home, "2025-11-25");
    for (name, before) in [("end", json!({"offset": 2})), ("form", json!({"encoding": "base64"}))] {
        let path = format!("project/{name}");
        put(&home, &path, &format!("{name} of Project Aurora\nplain\n"));
        let mut arguments = before;
        arguments["path"] = json!(path);
        assert_ne!(server.call("read_file", &arguments)["result"]["isError"], true, "{arguments}");
        assert_eq!(refused(&mut server, "read_file", &json!({"path": path})), "review_denied", "{path}");
    }
    server.close();
}
