//! Input that no honest client sends: the server stays up, small, and does nothing it was not clearly asked.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{Guarded, Server, code, until, went_well};

fn served() -> (Home, Server) {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"", ..Policy::default() });
    let server = Server::greeted(&home, "2025-11-25");
    (home, server)
}

#[test]
fn a_line_of_sixty_four_megabytes_is_answered_and_never_held() {
    let (home, mut server) = served();
    let before = server.peak();
    server.send_raw(
        br#"{"jsonrpc":"2.0","id":700,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"project/big","content":""#,
    );
    let block = vec![b'a'; 1 << 20];
    for _ in 0..64 {
        server.send_raw(&block);
    }
    server.send_raw(b"\"}}}\n");
    let answer = server.answer(&json!(700));
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    let grown = server.peak() - before;
    assert!(grown < 64 << 20, "64 MB on one line took {} MB", grown >> 20);
    assert!(!home.path("project/big").exists());
    assert!(went_well(&server.call("read_file", &json!({"path": "project/notes.txt"}))));
}

#[test]
fn a_large_argument_below_the_bound_is_judged_by_its_size() {
    let (home, mut server) = served();
    let answer = server.call("write_file", &json!({"path": "project/big", "content": "a".repeat(8 << 20)}));
    assert_eq!(code(&answer), "file_too_large", "{}", answer.to_string().chars().take(300).collect::<String>());
    assert!(!home.path("project/big").exists());
}

#[test]
fn ten_thousand_levels_of_json_are_no_message() {
    let (_home, mut server) = served();
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    server.send_raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":701,\"method\":\"tools/call\",\"params\":{{\"name\":\"read_file\",\"arguments\":{{\"path\":{deep}}}}}}}\n").as_bytes());
    assert_eq!(server.answer(&json!(701))["error"]["code"], -32700);
    server.is_alive();
}

#[test]
fn a_name_given_twice_is_refused_and_neither_value_used() {
    let (home, mut server) = served();
    for (id, first, second) in
        [(702, "project/notes.txt", "project/secrets/key.txt"), (703, "project/secrets/key.txt", "project/notes.txt")]
    {
        server.send_raw(
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"read_file\",\"arguments\":{{\"path\":\"{first}\",\"path\":\"{second}\"}}}}}}\n").as_bytes(),
        );
        let answer = server.answer(&json!(id));
        assert_eq!(code(&answer), "argument_invalid", "{answer}");
    }
    server.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":704,\"method\":\"tools/call\",\"params\":{\"name\":\"read_file\",\"name\":\"delete_file\",\"arguments\":{\"path\":\"project/notes.txt\"}}}\n");
    let answer = server.answer(&json!(704));
    assert!(code(&answer) == "argument_invalid" || answer["error"].is_object(), "{answer}");
    assert!(home.path("project/notes.txt").exists());
    assert_eq!(home.told("call.started", "read_file").len(), 0);
    assert_eq!(home.told("call.started", "delete_file").len(), 0);
}

#[test]
fn lone_surrogates_and_bytes_that_are_no_text_are_no_message() {
    let (_home, mut server) = served();
    server.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":705,\"method\":\"tools/call\",\"params\":{\"name\":\"read_file\",\"arguments\":{\"path\":\"project/\\ud800\"}}}\n");
    assert_eq!(server.answer(&json!(705))["error"]["code"], -32700);
    server.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":706,\"method\":\"tools/call\",\"params\":{\"name\":\"read_file\",\"arguments\":{\"path\":\"project/\xff\xfe\"}}}\n");
    assert_eq!(server.answer(&json!(706))["error"]["code"], -32700);
    server.send_raw(b"\0\0\0\0\n\r\n\n{}\n\xff\xfe\n");
    server.is_alive();
}

#[test]
fn nul_bytes_and_control_characters_in_a_path_are_malformed() {
    let (home, mut server) = served();
    for path in [
        "project/no\0tes.txt",
        "project/notes.txt\0.png",
        "project/\u{202e}txt.seton",
        "project/a\nb",
        "project//notes.txt",
        "project/./notes.txt",
    ] {
        let answer = server.call("read_file", &json!({"path": path}));
        assert_eq!(code(&answer), "path_malformed", "{path:?}: {answer}");
    }
    assert_eq!(home.told("call.started", "read_file").len(), 0);
}

#[test]
fn a_client_that_never_reads_costs_bounded_memory_and_does_not_keep_the_server() {
    let home = Home::new(Policy { limits: "concurrent_calls = 64", ..Policy::default() });
    std::fs::write(home.path("project/big.txt"), "0123456789abcde\n".repeat(4000)).unwrap();
    let manifest = home.manifest();
    let mut server = Guarded(
        home.toolgate(&["serve", "--manifest", manifest.to_str().unwrap()])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap(),
    );
    let mut input = server.0.stdin.take().unwrap();
    let id = server.0.id();
    // 4,000 answers of 64 KB are 256 MB, were they all held.
    let feeder = std::thread::spawn(move || {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": crate::mcp::server::hello("2025-11-25")});
        let mut sent =
            writeln!(input, "{hello}").and_then(|()| writeln!(input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#));
        for n in 1..4000 {
            let call = json!({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "read_file", "arguments": {"path": "project/big.txt"}}});
            sent = sent.and_then(|()| writeln!(input, "{call}"));
        }
        drop(input);
        sent.is_ok()
    });
    let memory = || {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default()
            << 10
    };
    // Its memory stands still once it takes no more.
    let (mut last, mut since) = (0, Instant::now());
    until("the memory of the server to stand still", || {
        let now = memory();
        assert!(now < 160 << 20, "{} MB for a client that does not read", now >> 20);
        if now.abs_diff(last) > 1 << 20 {
            (last, since) = (now, Instant::now());
        }
        since.elapsed() > Duration::from_secs(2)
    });
    // SIGTERM ends it although its output is full.
    std::process::Command::new("kill").arg(id.to_string()).status().unwrap();
    until("the server to end", || server.0.try_wait().unwrap().is_some());
    feeder.join().unwrap();
    home.verify();
}

#[test]
fn nothing_but_messages_leaves_on_standard_output_however_loud_the_log() {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"", ..Policy::default() });
    let mut server = Server::start_with(&home, &[], &[("RUST_LOG", "trace"), ("RUST_BACKTRACE", "1")]);
    server.request("initialize", &crate::mcp::server::hello("2025-11-25"));
    server.call("read_file", &json!({"path": "project/notes.txt"}));
    server.call("read_file", &json!({"path": "project/secrets/key.txt"}));
    server.call("run_python", &json!({"code": "import os\nos.write(1, b'not a message\\n')\nprint('{\"jsonrpc\":\"1.0\"}')"}));
    server.send_raw(b"no json\n");
    server.is_alive();
    let log = server.errors();
    // Every line was read as a message by the reader of this test.
    assert!(server.close().status.success());
    assert!(!log.contains("second line"), "the log holds the content of a file");
}

#[test]
fn the_manifest_and_the_state_are_out_of_reach_inside_a_root() {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"\nlevel_3 = \"none\"", ..Policy::default() });
    let whole = home.path("");
    let manifest = std::fs::read_to_string(home.manifest()).unwrap();
    let project = format!("path = \"{}\"", home.path("project").display());
    let everything = format!("path = \"{}\"", whole.display()).replace("/\"", "\"");
    let scratch = format!("\"{}\"", home.path("scratch").display());
    let widened = manifest.replace(&project, &everything).replace(&scratch, "\"session\"").replace(r#"denied_paths = ["secrets/**"]"#, "");
    std::fs::write(home.manifest(), &widened).unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    assert!(went_well(&server.call("read_file", &json!({"path": "project/project/notes.txt"}))));
    std::os::unix::fs::symlink(home.manifest(), home.path("link.toml")).unwrap();
    std::fs::hard_link(home.manifest(), home.path("hard.toml")).unwrap();
    let manifest_path = home.manifest();
    for (tool, arguments) in [
        ("read_file", json!({"path": "project/tools.toml"})),
        ("read_file", json!({"path": manifest_path})),
        ("read_file", json!({"path": "project/TOOLS.TOML"})),
        ("read_file", json!({"path": "project/link.toml"})),
        ("read_file", json!({"path": "project/hard.toml"})),
        ("write_file", json!({"path": "project/tools.toml", "content": "version = 1"})),
        ("edit_file", json!({"path": "project/hard.toml", "edits": [{"old_text": "version = 1", "new_text": "version = 2"}]})),
        ("delete_file", json!({"path": "project/tools.toml"})),
        ("move_file", json!({"from": "project/tools.toml", "to": "project/old.toml"})),
        ("move_file", json!({"from": "project/project/notes.txt", "to": "project/tools.toml"})),
        ("list_directory", json!({"path": "project/state"})),
        ("read_file", json!({"path": "project/state/audit"})),
        ("write_file", json!({"path": "project/state/keys/x", "content": "x"})),
        ("delete_file", json!({"path": "project/state", "recursive": true})),
        ("move_file", json!({"from": "project/state", "to": "project/elsewhere"})),
    ] {
        let answer = server.call(tool, &arguments);
        assert_eq!(answer["result"]["isError"], true, "{tool} {arguments}: {answer}");
    }
    assert_eq!(std::fs::read_to_string(home.manifest()).unwrap(), widened);
    server.close();
    home.verify();
}
