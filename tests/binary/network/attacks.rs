//! What servers and names do to whoever asks them, done to the built server over a network.
#![expect(clippy::large_stack_arrays, reason = "a hostile server of a test")]

use std::time::Duration;

use flate2::{Compress, Compression, FlushCompress};
use serde_json::json;

use crate::network::client::{Server, hurried, manifest, outcome};
use crate::network::internet::{Internet, answer};

const OPEN: &str = "any_public = true\nallowed_ports = [80, 443]\nallowed_schemes = [\"http\", \"https\"]\nrobots = \"ignore\"";

#[test]
fn a_name_that_answers_otherwise_every_time_never_leads_inside() {
    let Some(internet) = Internet::new(&[80]) else { return };
    let mut server = Server::start(&internet, &manifest(OPEN), &[]);
    let public = "93.184.216.34";
    for inside in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "198.18.0.2", "::1", "fd00:18::2", "::ffff:10.0.0.1"] {
        let turns = json!([[public], [inside], [public], [inside, public], [public]]);
        internet.stage(json!({"turns.example": turns}), |_, stream| answer(stream, "200 OK", "cache-control: no-store\r\n", b"ok"));
        let pages: Vec<_> = (0..5).map(|_| server.page("http://turns.example/")).collect();
        let told: Vec<_> = pages.iter().map(|page| page.as_ref().map_or_else(String::as_str, |_| "ok")).collect();
        assert!(told[1] != "ok" && told[0] == "ok" && told[2] == "ok" && told[4] == "ok", "{inside}: {told:?}");
        let met: Vec<_> = internet.asked().into_iter().map(|asked| asked.address.to_string()).collect();
        assert!(!met.is_empty() && met.iter().all(|address| address == public), "{inside}: {met:?}");
    }
}

#[test]
fn certificates_are_checked_and_tls_never_becomes_plain_text() {
    let Some(internet) = Internet::new(&[80, 443]) else { return };
    let names = json!({"*": [["93.184.216.34"]]});
    internet.stage(names, |request, stream| match request.target.as_str() {
        "/down" => answer(stream, "302 Found", "location: http://site.example/plain\r\n", b""),
        _ => answer(stream, "200 OK", "", request.scheme.as_bytes()),
    });
    let mut server = Server::start(&internet, &manifest(OPEN), &[]);
    assert!(server.page("https://site.example/").unwrap().contains("https"));
    assert_eq!(server.page("https://wrong.example/"), Err("fetch_failed".to_owned()), "a certificate for another name");
    let _ = internet.asked();
    assert_eq!(server.page("https://site.example/down"), Err("scheme_not_allowed".to_owned()));
    assert_eq!(internet.asked().len(), 1);
    let elsewhere = ("SSL_CERT_FILE".to_owned(), "/dev/null".to_owned());
    let mut distrustful = Server::start(&internet, &manifest(OPEN), &[elsewhere]);
    assert_eq!(distrustful.page("https://site.example/"), Err("fetch_failed".to_owned()), "an authority nobody knows");
    assert!(internet.asked().iter().all(|asked| asked.request.is_empty()), "nothing was said before the certificate");
}

/// 208 MB of zeros, as gzip (RFC 1952); its check sum is missing, for nobody should come to it.
fn bomb() -> Vec<u8> {
    let mut block = Vec::with_capacity(1 << 20);
    Compress::new(Compression::best(), false).compress_vec(&vec![0; 16 << 20], &mut block, FlushCompress::Full).unwrap();
    [b"\x1f\x8b\x08\0\0\0\0\0\0\xff".as_slice(), &block.repeat(13)].concat()
}

/// The most memory a process has held, in bytes.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
fn hostile_servers_cost_one_clear_error_and_never_the_server() {
    let Some(internet) = Internet::new(&[80]) else { return };
    let bomb = bomb();
    let wide = (0..200_000).fold(String::from("<p"), |wide, n| wide + " a" + &n.to_string() + "=x") + ">told";
    internet.stage(json!({"hostile.example": [["93.184.216.34"]]}), move |request, stream| {
        let html = "content-type: text/html\r\n";
        let head = b"HTTP/1.1 200 OK\r\n\r\n";
        match request.target.as_str() {
            "/bomb" => answer(stream, "200 OK", "content-encoding: gzip\r\n", &bomb),
            "/layers" => answer(stream, "200 OK", "content-encoding: gzip, gzip\r\n", &bomb),
            "/broken" => answer(stream, "200 OK", "content-encoding: gzip\r\n", b"no gzip at all"),
            "/deep" => answer(stream, "200 OK", html, ("<div>".repeat(50_000) + "told").as_bytes()),
            "/wide" => answer(stream, "200 OK", html, wide.as_bytes()),
            "/loop" => answer(stream, "302 Found", "location: /loop\r\n", b""),
            "/long-loop" => answer(stream, "302 Found", &format!("location: /long-loop?{}\r\n", "x".repeat(9000)), b""),
            "/headers" => while stream.write_all(b"x-more: aaaaaaaaaaaaaaaa\r\n").is_ok() {},
            "/interim" => while stream.write_all(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n").is_ok() {},
            "/endless" => {
                let _ = stream.write_all(head);
                while stream.write_all(&[b'x'; 65_536]).is_ok() {}
            }
            "/drip" => {
                let _ = stream.write_all(head);
                while stream.write_all(b"x").and_then(|()| stream.flush()).is_ok() {
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
            "/silent" => std::thread::sleep(Duration::from_secs(30)),
            "/short" => drop(stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nfew")),
            "/nonsense" => drop(stream.write_all(b"\x00\x01\x02 not HTTP\r\n\r\n")),
            _ => answer(stream, "200 OK", "", b"well"),
        }
    });
    let mut server = Server::start(&internet, &manifest(OPEN), &[]);
    let mut impatient = Server::start(&internet, &hurried(OPEN), &[]);
    let mut told = Vec::new();
    for (path, expected) in [
        ("bomb", "response_too_large"),
        ("layers", "fetch_failed"),
        ("broken", "fetch_failed"),
        ("deep", "told"),
        ("wide", "told"),
        ("loop", "too_many_redirects"),
        ("long-loop", "url_malformed"),
        ("headers", "fetch_failed"),
        ("interim", "timeout"),
        ("endless", "end was not read"),
        ("drip", "timeout"),
        ("silent", "timeout"),
        ("short", "fetch_failed"),
        ("nonsense", "fetch_failed"),
    ] {
        let server = if expected == "timeout" { &mut impatient } else { &mut server };
        let found = server.page(&format!("http://hostile.example/{path}"));
        let shown = found.unwrap_or_else(|code| code);
        if !shown.contains(expected) {
            told.push(format!("{path}: {}", shown.chars().take(200).collect::<String>()));
        }
    }
    assert!(told.is_empty(), "{told:#?}");
    assert!(server.page("http://hostile.example/").unwrap().contains("well"));
    assert!(peak(server.id()) < 160 << 20, "{} bytes", peak(server.id()));
}

#[test]
fn what_is_sent_is_what_was_judged_and_only_after_a_yes() {
    let Some(internet) = Internet::new(&[443]) else { return };
    internet.stage(json!({"api.example": [["93.184.216.34"]]}), |_, stream| answer(stream, "201 Created", "", b"made"));
    let post = json!({
        "url": "https://api.example/items", "method": "POST", "headers": {"Content-Type": "application/json"}, "body": "{\"n\":1}"
    });
    let asking = manifest(OPEN).replace("level_3 = \"none\"", "level_3 = \"every\"");
    let mut server = Server::start(&internet, &asking, &[]);
    assert_eq!(outcome(&server.fetch(&post)), Err("no_approval_channel".to_owned()));
    assert_eq!(outcome(&server.fetch(&json!({"url": "https://api.example/", "body": "x"}))), Err("argument_invalid".to_owned()));
    assert_eq!(internet.asked(), []);
    let mut server = Server::start(&internet, &manifest(OPEN), &[]);
    assert!(outcome(&server.fetch(&post)).unwrap().contains("made"));
    let asked = internet.asked();
    let sent = &asked.iter().find(|asked| !asked.request.is_empty()).unwrap().request;
    assert!(sent.starts_with("POST /items HTTP/1.1\r\nhost: api.example\r\n"), "{sent}");
    assert!(sent.contains("content-type: application/json\r\n") && sent.ends_with("\r\n\r\n{\"n\":1}"), "{sent}");
}

#[test]
fn a_secret_of_the_manifest_reaches_its_host_alone_and_stands_nowhere() {
    let Some(internet) = Internet::new(&[80, 443]) else { return };
    internet.stage(json!({"*": [["93.184.216.34"]]}), |request, stream| match request.target.as_str() {
        "/away" => answer(stream, "302 Found", "location: https://other.example/\r\n", b""),
        _ => answer(stream, "200 OK", "content-type: text/plain\r\n", request.sent.as_bytes()),
    });
    let value = "v3ry-s3cr3t-value";
    let secret = "\n[network.secrets.api]\nenv = \"API_KEY\"\nhosts = [\"api.example\", \"*.api.example\"]";
    let environment = [("API_KEY".to_owned(), value.to_owned())];
    let mut server = Server::start(&internet, &manifest(&format!("{OPEN}{secret}")), &environment);
    let mut all = String::new();
    let mut send = |url: &str| {
        let result = server.fetch(&json!({"url": url, "headers": {"Authorization": "Bearer ${secret:api}"}}));
        all.push_str(&result.to_string());
        outcome(&result)
    };
    assert!(send("https://api.example/").unwrap().contains("authorization: Bearer [secret api]"));
    assert!(send("https://v1.api.example/").is_ok());
    for url in ["https://other.example/", "http://api.example/", "https://notapi.example/"] {
        assert_eq!(send(url), Err("argument_not_allowed".to_owned()), "{url}");
    }
    let carried: Vec<_> = internet.asked().into_iter().filter(|asked| asked.request.contains(value)).collect();
    assert_eq!(carried.len(), 2);
    assert!(send("https://api.example/away").is_ok());
    let all_asked = internet.asked();
    assert!(
        all_asked.iter().any(|asked| asked.request.contains("host: other.example") && !asked.request.contains("authorization")),
        "{all_asked:?}"
    );
    drop(server);
    assert!(!all.contains(value), "{all}");
    let mut pending = vec![internet.path("state")];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if let Ok(bytes) = std::fs::read(&path) {
            assert!(!bytes.windows(value.len()).any(|window| window == value.as_bytes()), "{}", path.display());
        }
    }
}
