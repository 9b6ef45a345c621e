//! Bodies, heads, slowness and floods: each ends alone, and others are served meanwhile.

use std::io::{BufReader, Read, Write};

use serde_json::{Value, json};

use crate::http::home::Policy;
use crate::http::server::HttpServer;
use crate::http::wire::{Answer, Caller, bytes, chunk, connect, head, hello, read, request};
use crate::http::{NOTES, house, token, until};

fn serves(address: &str) {
    let answer = Caller { address, token: None }.call("read_file", &json!({"path": "project/notes.txt"}));
    assert_eq!(answer.message()["result"]["content"][0]["text"], NOTES, "{answer:?}");
}

/// The server closes the connection by itself.
fn is_closed(mut stream: std::net::TcpStream) {
    let read = stream.read_to_end(&mut Vec::new());
    assert!(!read.is_err_and(|fault| fault.kind() == std::io::ErrorKind::WouldBlock), "a connection was kept");
}

#[test]
fn a_body_that_is_too_large_is_refused_before_it_is_read() {
    let home = house(Policy::default(), "");
    let server = HttpServer::start(&home);
    let mut stream = connect(&server.address);
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n{";
    stream.write_all(head.as_bytes()).unwrap();
    assert_eq!(read(stream).status, 413);
    // Without a declared length, once the bound is reached.
    let mut stream = connect(&server.address);
    stream
        .write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
        .unwrap();
    let piece = [b"100000\r\n".as_slice(), &vec![b' '; 1 << 20], b"\r\n"].concat();
    let mut sent = 0;
    while sent < 64 && stream.write_all(&piece).is_ok() {
        sent += 1;
    }
    assert!(sent < 64, "64 MiB were taken");
    let big = "x".repeat(1 << 20);
    let answer = Caller { address: &server.address, token: None }.call("write_file", &json!({"path": "project/big.txt", "content": big}));
    assert_eq!(answer.message()["result"]["isError"], false, "{:?}", answer.status);
    serves(&server.address);
}

#[test]
fn heads_that_are_too_large_too_many_or_too_slow_end_their_connection_alone() {
    let home = house(Policy::default(), "");
    let server = HttpServer::start(&home);
    let large = "x".repeat(1_000_000);
    assert_eq!(request(&server.address, "POST", "/mcp", &[("x-large", &large)], b"").status, 431);
    let names: Vec<String> = (0..150).map(|n| format!("x-{n}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
    assert_eq!(request(&server.address, "POST", "/mcp", &many, b"").status, 431);
    // A head byte by byte: fifty of them, and each is let go.
    let mut slow: Vec<_> = (0..50).map(|_| connect(&server.address)).collect();
    for stream in &mut slow {
        stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: local").unwrap();
    }
    serves(&server.address);
    for stream in slow {
        is_closed(stream);
    }
    serves(&server.address);
}

#[test]
fn a_caller_cannot_have_more_sessions_than_its_own() {
    let more = ["[http]\nmax_sessions = 6\n", &crate::http::token("ci", "secret-one")].concat();
    let home = house(Policy::default(), &more);
    let server = HttpServer::start(&home);
    let (flood, other) = (Caller { address: &server.address, token: None }, Caller { address: &server.address, token: Some("secret-one") });
    let sessions: Vec<String> = (0..3).map(|_| flood.begin()).collect();
    let answer = flood.post(&[], &hello().to_string());
    assert_eq!(answer.status, 429, "{answer:?}");
    assert!(answer.header("retry-after").is_some());
    assert_eq!(request(&server.address, "GET", "/sse", &[], b"").status, 429);
    other.begin();
    serves(&server.address);
    assert_eq!(request(&server.address, "DELETE", "/mcp", &[("mcp-session-id", &sessions[0])], b"").status, 204);
    flood.begin();
}

#[test]
fn connections_beyond_the_bound_are_closed_and_the_others_served() {
    let home = house(Policy::default(), "[http]\nmax_connections = 4\n");
    let server = HttpServer::start(&home);
    let idle: Vec<_> = (0..12).map(|_| connect(&server.address)).collect();
    // Eight of them are closed at once, the rest when their time for a head is over.
    for stream in idle {
        is_closed(stream);
    }
    serves(&server.address);
}

#[test]
fn a_client_that_reads_nothing_is_let_go() {
    let home = house(Policy::default(), "");
    std::fs::write(home.path("project/large.txt"), "0123456789abcde\n".repeat(60_000)).unwrap();
    let server = HttpServer::start(&home);
    let mut stream = connect(&server.address);
    let call =
        crate::http::wire::message("tools/call", &json!({"name": "read_file", "arguments": {"path": "project/large.txt"}})).to_string();
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", crate::http::wire::MODERN),
        ("mcp-method", "tools/call"),
        ("mcp-name", "read_file"),
        ("connection", "keep-alive"),
    ];
    let one = bytes("POST", "/mcp", &headers, call.as_bytes());
    for _ in 0..30 {
        // Thirty answers of a megabyte, and not one is read.
        if stream.write_all(&one).is_err() {
            break;
        }
    }
    let connections = || {
        let page = request(&server.address, "GET", "/metrics", &[], b"").body;
        page.lines().find_map(|line| line.strip_prefix("toolgate_connections ")?.parse::<u32>().ok()).unwrap()
    };
    // Its own connection is the one that asks.
    until("the connection is closed", || connections() == 1);
    serves(&server.address);
}

#[test]
fn a_stream_that_is_dropped_half_open_leaves_nothing() {
    let home = house(Policy::default(), "");
    let server = HttpServer::start(&home);
    for _ in 0..20 {
        let mut stream = connect(&server.address);
        stream.write_all(&bytes("GET", "/sse", &[], b"")).unwrap();
        let mut reader = BufReader::new(stream);
        assert_eq!(head(&mut reader).0, 200);
        assert!(String::from_utf8(chunk(&mut reader).unwrap()).unwrap().starts_with("event: endpoint"));
    }
    let sessions = || {
        let page = request(&server.address, "GET", "/metrics", &[], b"").body;
        page.lines().find_map(|line| line.strip_prefix("toolgate_sessions ")?.parse::<u32>().ok()).unwrap()
    };
    until("the sessions of the streams end", || sessions() == 0);
    // The last of them may still be on its way into the log.
    let ended = || home.records().iter().filter(|record| record["ev"] == "session.ended").count();
    until("each end is recorded", || ended() == 20);
    serves(&server.address);
}

#[test]
fn a_caller_whose_programs_see_a_large_folder_slows_no_other() {
    let home = house(Policy::default(), "");
    let text = std::fs::read_to_string(home.manifest())
        .unwrap()
        .replace("mode = \"rw\"\nallowed_paths = [\"**\"]\ndenied_paths", "mode = \"ro\"\nallowed_paths = [\"**\"]\ndenied_paths");
    std::fs::write(home.manifest(), text.replace("roots = [\"work\", \"scratch\"]", "roots = [\"project\"]")).unwrap();
    for folder in 0..60 {
        let folder = home.path(&format!("project/d{folder}"));
        std::fs::create_dir(&folder).unwrap();
        (0..500).for_each(|at| drop(std::fs::File::create(folder.join(at.to_string())).unwrap()));
    }
    let server = HttpServer::start(&home);
    let address = server.address.clone();
    let calls = std::thread::spawn(move || {
        let caller = || {
            let address = address.clone();
            std::thread::spawn(move || Caller { address: &address, token: None }.call("run_python", &json!({"code": "print(6 * 7)"})))
        };
        let callers: Vec<_> = (0..6).map(|_| caller()).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect::<Vec<_>>()
    });
    let mut answered = 0;
    while !calls.is_finished() {
        assert_eq!(request(&server.address, "GET", "/healthz", &[], b"").status, 200);
        answered += 1;
    }
    for answer in calls.join().unwrap() {
        assert_eq!(answer.message()["result"]["structuredContent"]["stdout"], "42\n", "{answer:?}");
    }
    assert!(answered > 8, "{answered} answers beside six calls");
}

#[test]
fn a_caller_has_one_count_in_all_its_sessions() {
    let policy = Policy { limits: "rate_limit_per_minute = 4", ..Policy::default() };
    let home = house(policy, &format!("{}{}", token("ann", "a-secret"), token("bob", "b-secret")));
    let text = home.read("tools.toml").replace("rate_limit_per_minute = 5000\n", "");
    std::fs::write(home.manifest(), text).unwrap();
    let server = HttpServer::start(&home);
    let caller = |secret| Caller { address: &server.address, token: Some(secret) };
    let code = |answer: &Answer| answer.message()["result"]["structuredContent"]["code"].clone();
    let read = json!({"path": "project/notes.txt"});
    let (one, two) = (caller("a-secret").begin(), caller("a-secret").begin());
    for (id, session) in (2..).zip([&one, &two, &one]) {
        assert_eq!(code(&caller("a-secret").call_in(session, id, "read_file", &read)), Value::Null);
    }
    assert_eq!(code(&caller("a-secret").call("read_file", &read)), Value::Null, "a call of the later era");
    let new = caller("a-secret").begin();
    for session in [&two, &new] {
        assert_eq!(code(&caller("a-secret").call_in(session, 9, "read_file", &read)), "rate_limited");
    }
    assert_eq!(code(&caller("a-secret").call("read_file", &read)), "rate_limited");
    assert_eq!(code(&caller("b-secret").call("read_file", &read)), Value::Null, "another caller");
}

#[test]
fn a_caller_is_suspended_in_all_its_sessions_and_on_every_server() {
    let policy = Policy { limits: "breaker = { denials = 3, within = \"1m\" }", ..Policy::default() };
    let home = house(policy, &format!("{}{}", token("ann", "a-secret"), token("bob", "b-secret")));
    let servers = [HttpServer::start(&home), HttpServer::start(&home)];
    let call = |server: usize, secret, path: &str| {
        let caller = Caller { address: &servers[server].address, token: Some(secret) };
        caller.call("read_file", &json!({"path": path})).message()["result"].clone()
    };
    for _ in 0..3 {
        assert_eq!(call(0, "a-secret", "project/secrets/key.txt")["structuredContent"]["code"], "path_denied");
    }
    for server in [0, 1] {
        let refused = call(server, "a-secret", "project/notes.txt");
        assert_eq!(refused["structuredContent"]["code"], "suspended", "{refused}");
        assert!(refused["content"][0]["text"].as_str().unwrap().contains("`toolgate resume --principal token:ann`"), "{refused}");
        assert_eq!(call(server, "b-secret", "project/notes.txt")["content"][0]["text"], NOTES);
    }
    let resumed = home.toolgate(&["resume", "--principal", "token:ann"]).output().unwrap();
    assert!(resumed.status.success(), "{resumed:?}");
    assert_eq!(call(1, "a-secret", "project/notes.txt")["content"][0]["text"], NOTES);
    for server in servers {
        server.stop();
    }
    home.verify();
}
