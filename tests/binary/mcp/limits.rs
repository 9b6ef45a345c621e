//! Limits over the wire.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{STATELESS, Server, code, went_well, with_meta};

fn read() -> Value {
    json!({"name": "read_file", "arguments": {"path": "project/notes.txt"}})
}

fn home(limits: &'static str) -> Home {
    let home = Home::new(Policy { limits, ..Policy::default() });
    let text = home.read("tools.toml").replace("rate_limit_per_minute = 5000\n", "");
    std::fs::write(home.manifest(), text).unwrap();
    home
}

#[test]
fn the_call_that_is_one_too_many_is_refused_with_the_exact_wait() {
    let home = home("rate_limit_per_minute = 6");
    let mut server = Server::start(&home);
    let begun = std::time::Instant::now();
    for _ in 0..6 {
        assert!(went_well(&server.stateless("tools/call", &read())));
    }
    let refused = server.stateless("tools/call", &read());
    let passed = begun.elapsed().as_secs();
    assert_eq!(code(&refused), "rate_limited", "{refused}");
    let wait = refused["result"]["structuredContent"]["retry_after_s"].as_u64().unwrap();
    assert!((60_u64.saturating_sub(passed + 1)..=60).contains(&wait), "{refused}");
    home.verify();
}

#[test]
fn a_malformed_call_and_an_unknown_tool_are_counted_too() {
    let home = home("rate_limit_per_minute = 2");
    let mut server = Server::start(&home);
    server.stateless("tools/call", &json!({"name": "read_file", "arguments": {"nonsense": 1}}));
    server.stateless("tools/call", &json!({"name": "no_such_tool", "arguments": {}}));
    assert_eq!(code(&server.stateless("tools/call", &read())), "rate_limited");
}

#[test]
fn parallel_writes_do_not_pass_a_budget_together() {
    let home = home("rate_limit_per_minute = 500\nwrite_per_hour = \"1000\"\nconcurrent_calls = 20");
    let mut server = Server::start(&home);
    let write = |n: usize| json!({"name": "write_file", "arguments": {"path": format!("project/new-{n}.txt"), "content": "x".repeat(300)}});
    let asked: Vec<Value> = (0..12).map(|n| server.ask("tools/call", &with_meta(&write(n), STATELESS))).collect();
    let answers: Vec<Value> = asked.iter().map(|id| server.answer(id)).collect();
    assert_eq!(answers.iter().filter(|answer| went_well(answer)).count(), 3, "{answers:?}");
    assert!(answers.iter().filter(|answer| !went_well(answer)).all(|answer| code(answer) == "quota"), "{answers:?}");
    let written: u64 =
        (0..12).filter_map(|n| std::fs::metadata(home.path(&format!("project/new-{n}.txt"))).ok()).map(|file| file.len()).sum();
    assert_eq!(written, 900);
    // What was reserved for a write that came to nothing is given back.
    let small = json!({"name": "write_file", "arguments": {"path": "project/secrets/x", "content": "x".repeat(100)}});
    assert_eq!(code(&server.stateless("tools/call", &small)), "path_denied");
    let small = json!({"name": "write_file", "arguments": {"path": "project/small.txt", "content": "x".repeat(100)}});
    assert!(went_well(&server.stateless("tools/call", &small)));
    home.verify();
}

#[test]
fn an_edit_may_write_what_is_left_of_the_budget_and_no_more() {
    let home = Home::new(Policy { limits: "write_per_hour = \"100\"", approvals: "level_2 = \"none\"", ..Policy::default() });
    let mut server = Server::start(&home);
    let edit = |old: &str, new: &str| json!({"name": "edit_file", "arguments": {"path": "project/notes.txt", "edits": [{"old_text": old, "new_text": new}]}});
    assert!(went_well(&server.stateless("tools/call", &edit("first", "1st"))));
    let refused = server.stateless("tools/call", &edit("second", &"x".repeat(90)));
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert!(went_well(&server.stateless("tools/call", &edit("second", "2nd"))));
    assert_eq!(home.read("project/notes.txt"), "1st line\n2nd line\nthird line\n");
}

#[test]
fn a_suspension_is_of_one_session_and_says_which_command_ends_it() {
    let home = home("rate_limit_per_minute = 500\nbreaker = { denials = 3, within = \"1m\" }");
    let (mut one, mut two) = (Server::start(&home), Server::start(&home));
    let forbidden = |name: &str| json!({"name": "read_file", "arguments": {"path": format!("project/secrets/{name}.txt")}});
    for name in ["key", "key", "other"] {
        assert_eq!(code(&one.stateless("tools/call", &forbidden(name))), "path_denied");
    }
    let suspended = one.stateless("tools/call", &read());
    assert_eq!(code(&suspended), "suspended");
    assert!(went_well(&two.stateless("tools/call", &read())), "the session of another client goes on");
    let text = suspended["result"]["content"][0]["text"].as_str().unwrap();
    let (_, command) = text.split_once("`toolgate ").unwrap_or_else(|| panic!("{text}"));
    let command: Vec<&str> = command.split('`').next().unwrap().split(' ').collect();
    assert!(matches!(command.as_slice(), ["resume", "--session", _]), "{text}");
    let resumed = home.toolgate(&command).output().unwrap();
    assert!(resumed.status.success(), "{resumed:?}");
    assert!(went_well(&one.stateless("tools/call", &read())));
    for nothing in [&command[..], &["resume", "--principal", "nobody"]] {
        let refused = home.toolgate(nothing).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("is not suspended"), "{refused:?}");
    }
    home.verify();
}

#[test]
fn honest_mistakes_suspend_nothing() {
    let home = home("rate_limit_per_minute = 500\nbreaker = { denials = 3, within = \"1m\" }");
    let mut server = Server::start(&home);
    for (tool, arguments, reason) in [
        ("read_file", json!({"path": "notes.txt"}), "path_outside_roots"),
        ("read_file", json!({"path": "../notes.txt"}), "path_malformed"),
        ("read_file", json!({"path": "project/notes.txt", "line": 3}), "unknown_argument"),
        ("read_file", json!({"path": "project"}), "not_a_regular_file"),
        ("run_python", json!({"code": "import socket"}), "import_not_allowed"),
    ] {
        for _ in 0..4 {
            let answer = server.stateless("tools/call", &json!({"name": tool, "arguments": arguments}));
            assert_eq!(code(&answer), reason, "{answer}");
        }
    }
    assert!(went_well(&server.stateless("tools/call", &read())));
}

#[test]
fn more_calls_than_may_run_at_once_wait_for_their_turn() {
    let home = home("rate_limit_per_minute = 500\nconcurrent_calls = 1");
    let mut server = Server::start(&home);
    let asked: Vec<Value> = (0..20).map(|_| server.ask("tools/call", &with_meta(&read(), STATELESS))).collect();
    for id in asked {
        let answer = server.answer(&id);
        assert!(went_well(&answer), "{answer}");
    }
}

#[test]
fn a_call_that_never_gets_its_turn_is_refused_and_was_never_begun() {
    let home = home("rate_limit_per_minute = 500\nconcurrent_calls = 0");
    let mut server = Server::start(&home);
    assert_eq!(code(&server.stateless("tools/call", &read())), "quota");
    assert!(home.told("call.started", "read_file").is_empty());
}

/// A site that answers each request as `answer` says, and counts what arrives.
fn site(answer: impl Fn(&[u8]) -> &'static str + Send + 'static) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut piece = [0; 4096];
            while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut piece) {
                    Ok(read @ 1..) => request.extend_from_slice(&piece[..read]),
                    _ => break,
                }
            }
            counted.fetch_add(request.len(), Ordering::SeqCst);
            let _ = stream.write_all(answer(&request).as_bytes());
        }
    });
    (port, heard)
}

/// Sends `/again` on to itself, and answers the rest.
fn turning(request: &[u8]) -> &'static str {
    if request.starts_with(b"GET /again") {
        "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    } else {
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
    }
}

#[test]
fn what_leaves_in_headers_urls_and_redirects_is_charged_like_a_body() {
    for (path, header, at_least) in [("/", 8_000, 0), ("/", 300, 300), ("/again", 700, 700), (&*format!("/{}", "x".repeat(3_000)), 0, 0)] {
        let (port, heard) = site(turning);
        let home = reaching(port, "robots = \"ignore\"", "rate_limit_per_minute = 500\negress_per_hour = \"2 KiB\"");
        let mut server = Server::start(&home);
        let mut arguments = json!({"url": format!("http://127.0.0.1:{port}{path}")});
        if header > 0 {
            arguments["headers"] = json!({"accept": "y".repeat(header)});
        }
        let fetch = json!({"name": "fetch", "arguments": arguments});
        let mut last = Value::Null;
        for _ in 0..10 {
            last = server.stateless("tools/call", &fetch);
        }
        assert_eq!(code(&last), "quota", "{path:.20} {header}: {last}");
        let heard = heard.load(Ordering::SeqCst);
        assert!((at_least..=2048).contains(&heard), "{heard} bytes left through a budget of 2 KiB: {path:.20} {header}");
        home.verify();
    }
}

/// A home whose manifest lets `fetch` reach the port, with the keys of `[network]` and `[limits]`.
fn reaching(port: u16, network: &str, limits: &'static str) -> Home {
    let home = home(limits);
    let opened = format!(
        "allowed_schemes = [\"http\"]\nmax_redirects = 10\ninternal = [\"127.0.0.1:{port}\"]\nallowed_domains = [\"nowhere.invalid\"]\n{network}"
    );
    let text = home.read("tools.toml").replace("allowed_domains = [\"nowhere.invalid\"]", &opened);
    std::fs::write(home.manifest(), text).unwrap();
    home
}

fn fetch(port: u16, path: &str, header: usize) -> Value {
    json!({"name": "fetch", "arguments": {"url": format!("http://127.0.0.1:{port}{path}"), "headers": {"accept": "y".repeat(header)}}})
}

#[test]
fn a_fetch_that_its_hosts_rate_refuses_is_no_call() {
    let (port, _) = site(turning);
    let home = reaching(port, "robots = \"ignore\"\nrate_limit_per_minute = 2", "rate_limit_per_minute = 4\negress_per_hour = \"4 KiB\"");
    let mut server = Server::start(&home);
    for _ in 0..2 {
        assert!(went_well(&server.stateless("tools/call", &fetch(port, "/", 1))));
    }
    for _ in 0..10 {
        let refused = server.stateless("tools/call", &fetch(port, "/", 1_000));
        assert_eq!(code(&refused), "rate_limited", "{refused}");
        assert_eq!(refused["result"]["structuredContent"]["rule"], "network.rate_limit_per_minute", "{refused}");
    }
    // Two of the four calls are left for others, and no more than two.
    assert!(went_well(&server.stateless("tools/call", &read())));
    assert!(went_well(&server.stateless("tools/call", &read())));
    let refused = server.stateless("tools/call", &read());
    assert_eq!(code(&refused), "rate_limited", "{refused}");
    home.verify();
}

#[test]
fn a_redirect_that_a_rate_refuses_has_been_a_call_for_what_was_sent() {
    let (port, _) = site(turning);
    let home = reaching(port, "robots = \"ignore\"\nrate_limit_per_minute = 3", "rate_limit_per_minute = 2");
    let mut server = Server::start(&home);
    assert_eq!(code(&server.stateless("tools/call", &fetch(port, "/again", 1))), "rate_limited");
    assert!(went_well(&server.stateless("tools/call", &read())));
    assert_eq!(code(&server.stateless("tools/call", &read())), "rate_limited");
}

#[test]
fn what_was_sent_to_a_site_that_answers_nothing_is_charged() {
    let (port, _) = site(|_| "");
    let home = reaching(port, "robots = \"ignore\"", "rate_limit_per_minute = 500\negress_per_hour = \"4 KiB\"");
    let mut server = Server::start(&home);
    let codes: Vec<String> = (0..5).map(|_| code(&server.stateless("tools/call", &fetch(port, "/", 1_500))).to_owned()).collect();
    assert_eq!(codes, ["fetch_failed", "fetch_failed", "quota", "quota", "quota"]);
}

#[test]
fn what_is_asked_of_robots_is_charged() {
    let (port, heard) = site(|_| "HTTP/1.1 302 Found\r\nLocation: /robots.txt\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let home = reaching(port, "", "rate_limit_per_minute = 500\negress_per_hour = \"1 KiB\"");
    let mut server = Server::start(&home);
    let refused = server.stateless("tools/call", &fetch(port, "/", 1));
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    let heard = heard.load(Ordering::SeqCst);
    assert!((1..=1024).contains(&heard), "{heard} bytes left through a budget of 1 KiB");
    assert_eq!(code(&server.stateless("tools/call", &fetch(port, "/", 700))), "quota", "they are charged after the call as well");
}

#[test]
fn an_ordinary_fetch_passes_a_small_budget() {
    let (port, heard) = site(turning);
    let home = reaching(port, "robots = \"ignore\"", "rate_limit_per_minute = 500\negress_per_hour = \"2 KiB\"");
    let mut server = Server::start(&home);
    for n in 0..5 {
        let fetch = json!({"name": "fetch", "arguments": {"url": format!("http://127.0.0.1:{port}/{n}")}});
        assert!(went_well(&server.stateless("tools/call", &fetch)), "{n}");
    }
    assert!(heard.load(Ordering::SeqCst) > 500);
}

#[test]
fn what_a_program_writes_is_charged_whatever_it_is_called_however_deep_it_lies_and_whatever_it_is() {
    let large = "bytes(1 << 20)";
    let programs = [
        format!("open(b'\\xff', 'wb').write({large})"),
        format!("import os\nos.makedirs('d/' * 40)\nopen('d/' * 40 + 'f', 'wb').write({large})"),
        format!("import os\nos.makedirs('d/' * 70)\nopen('d/' * 70 + 'f', 'wb').write({large})"),
        "import os\nfor at in range(400): os.symlink('x', str(at))".to_owned(),
        "import os\nfor at in range(400): os.mkdir(str(at))".to_owned(),
        format!("import os\nos.mkdir('closed')\nopen('closed/f', 'wb').write({large})\nos.chmod('closed', 0)"),
    ];
    let write = json!({"name": "write_file", "arguments": {"path": "work/own.txt", "content": "x"}});
    let python = |code: &str| json!({"name": "run_python", "arguments": {"code": code}});
    for code in programs.iter().map(String::as_str).chain(["open('small', 'w').write('x' * 1000)"]) {
        let home = crate::mcp::packages::open_home("");
        let text = home
            .read("tools.toml")
            .replace("rate_limit_per_minute = 5000\n", "rate_limit_per_minute = 5000\nwrite_per_hour = \"64 KiB\"\n");
        std::fs::write(home.manifest(), text).unwrap();
        let mut server = Server::start(&home);
        let ran = server.stateless("tools/call", &python(code));
        assert!(went_well(&ran) || code.contains("70"), "{code}: {ran}");
        let left = server.stateless("tools/call", &write);
        let again = server.stateless("tools/call", &python("print(1)"));
        if code.contains("small") {
            assert!(went_well(&left) && went_well(&again), "{left} {again}");
        } else {
            // What lies too deep to be counted fills the root as well: which of the two bounds is met first is open.
            let refused = |answer| self::code(answer) == "quota" || (code.contains("70") && self::code(answer) == "no_space");
            assert!(refused(&left) && refused(&again), "{code}: {left} {again}");
        }
    }
}
