//! Where a site sends those who ask for its `robots.txt`: a contact is a contact, whatever is asked.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{Server, went_well};

/// A site at every loopback address. Its `robots.txt` at the first lies at the second. Gives its port and the addresses that were asked.
fn site() -> (u16, Arc<Mutex<Vec<IpAddr>>>) {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = Vec::new();
            let mut piece = [0; 4096];
            while !request.ends_with(b"\r\n\r\n") {
                match stream.read(&mut piece) {
                    Ok(read) if read > 0 => request.extend_from_slice(&piece[..read]),
                    _ => break,
                }
            }
            let at = stream.local_addr().unwrap().ip();
            // Whoever else on this machine tries the port is none of ours.
            if !request.starts_with(b"GET /")
                || !request
                    .windows(16)
                    .any(|part| part.eq_ignore_ascii_case(b"host: 127.0.0.1:") || part.eq_ignore_ascii_case(b"host: 127.0.0.2:"))
            {
                continue;
            }
            seen.lock().unwrap().push(at);
            let (head, body) = match (request.starts_with(b"GET /robots.txt "), at.to_string().as_str()) {
                (true, "127.0.0.1") => (format!("302 Found\r\nLocation: http://127.0.0.2:{port}/robots.txt"), ""),
                (true, _) => ("200 OK".to_owned(), "user-agent: *\ndisallow: /private"),
                _ => ("200 OK\r\nContent-Type: text/html".to_owned(), "<p>Boil the potatoes."),
            };
            let _ = write!(stream, "HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
        }
    });
    (port, asked)
}

/// Fetches `paths`, one after another, from the first site once a page of the second port was read; gives the answers of these.
fn after_a_page(approvals: &'static str, paths: &[&str]) -> (Vec<Value>, Vec<String>) {
    let ((quiet, _), (port, asked)) = (site(), site());
    let home = Home::new(Policy { approvals, ..Policy::default() });
    let network = format!(
        "allowed_schemes = [\"http\"]\ninternal = [\"127.0.0.1:{port}\", \"127.0.0.2:{port}\", \"127.0.0.1:{quiet}\", \"127.0.0.2:{quiet}\"]\n\
         allowed_domains = [\"nowhere.invalid\"]"
    );
    let text = home.read("tools.toml").replace("allowed_domains = [\"nowhere.invalid\"]", &network);
    std::fs::write(home.manifest(), text.replace("robots = \"ignore\"", "")).unwrap();
    let mut server = Server::start(&home);
    let mut fetch = |url: String| server.stateless("tools/call", &json!({"name": "fetch", "arguments": {"url": url}}));
    // The same host at another port is one that was contacted; its own rules are asked before anything was taken in.
    let first = fetch(format!("http://127.0.0.1:{quiet}/"));
    assert!(went_well(&first), "{first}");
    let answers = paths.iter().map(|path| fetch(format!("http://127.0.0.1:{port}{path}"))).collect();
    server.close();
    home.verify();
    let asked = asked.lock().unwrap().iter().map(ToString::to_string).collect();
    (answers, asked)
}

#[test]
fn the_robots_of_a_site_are_no_way_around_the_question_for_a_new_host() {
    let (answers, asked) = after_a_page("after_untrusted = \"raise\"", &["/"]);
    assert_eq!(answers[0]["result"]["structuredContent"]["code"], "no_approval_channel", "{}", answers[0]);
    assert!(answers[0].to_string().contains("/robots.txt` itself, which asks a person"), "{}", answers[0]);
    assert_eq!(asked, ["127.0.0.1"], "the other host was never spoken to");

    let (answers, asked) = after_a_page("", &["/", "/private"]);
    assert!(went_well(&answers[0]), "{}", answers[0]);
    assert_eq!(answers[1]["result"]["structuredContent"]["code"], "robots_disallowed", "{}", answers[1]);
    assert_eq!(asked, ["127.0.0.1", "127.0.0.2", "127.0.0.1"]);
}
