//! Requests that two readers would understand differently: a proxy in front and this server must never disagree where one ends.

use std::io::{Read, Write};

use serde_json::json;

use crate::http::home::{Home, Policy};
use crate::http::server::HttpServer;
use crate::http::wire::{MODERN, connect, message};

/// Everything the server says to these bytes until it closes.
fn said(server: &HttpServer, request: &str) -> String {
    let mut stream = connect(&server.address);
    // A server that answers before it has read all may close first.
    let _ = stream.write_all(request.as_bytes());
    let mut said = Vec::new();
    // What was not read may make the close a reset; what came before it counts.
    let _ = stream.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

fn statuses(said: &str) -> Vec<&str> {
    let heads = said.split("HTTP/1.").skip(1);
    heads.map(|head| head.split(' ').nth(1).unwrap_or_default()).collect()
}

fn body() -> String {
    message("tools/list", &json!({})).to_string()
}

fn head(more: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: {MODERN}\r\nmcp-method: tools/list\r\n{more}"
    )
}

#[test]
fn a_request_with_two_ends_is_answered_once_and_what_follows_is_nobodys_request() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let hidden = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let (body, length) = (body(), body().len());
    for (what, request) in [
        ("both lengths", format!("{}0\r\n\r\n{hidden}", head(&format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n\r\n")))),
        ("both, the other way", format!("{}0\r\n\r\n{hidden}", head("transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n"))),
        ("two lengths", format!("{}{body}{hidden}", head(&format!("content-length: 3\r\ncontent-length: {length}\r\n\r\n")))),
        ("a list of lengths", format!("{}{body}{hidden}", head(&format!("content-length: {length}, 3\r\n\r\n")))),
        ("a signed length", format!("{}hello{hidden}", head("content-length: +5\r\n\r\n"))),
        ("an unknown coding", format!("{}0\r\n\r\n{hidden}", head("transfer-encoding: xchunked\r\n\r\n"))),
        ("chunked before another coding", format!("{}0\r\n\r\n{hidden}", head("transfer-encoding: chunked, identity\r\n\r\n"))),
        (
            "a space before the colon",
            format!("{}{body}{hidden}", head(&format!("transfer-encoding : chunked\r\ncontent-length: {length}\r\n\r\n"))),
        ),
        ("a folded line", format!("{}{body}{hidden}", head(&format!("x: a\r\n b\r\ncontent-length: {length}\r\n\r\n")))),
        (
            "a chunk size beyond all numbers",
            format!("{}FFFFFFFFFFFFFFFFF\r\nx\r\n0\r\n\r\n{hidden}", head("transfer-encoding: chunked\r\n\r\n")),
        ),
        (
            "an extension without end",
            format!("{}5;{}\r\nhello\r\n0\r\n\r\n{hidden}", head("transfer-encoding: chunked\r\n\r\n"), "a".repeat(300_000)),
        ),
    ] {
        let said = said(&server, &request);
        assert_eq!(statuses(&said), ["400"], "{what}: {said}");
    }
}

#[test]
fn requests_one_after_the_other_without_waiting_are_answered_in_their_order() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let probe = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let tools = format!("{}{}", head(&format!("content-length: {}\r\n\r\n", body().len())), body());
    let last = "GET /nowhere HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let said = said(&server, &format!("{probe}{tools}{probe}{last}"));
    assert_eq!(statuses(&said), ["200", "200", "200", "404"], "{said}");
}

#[test]
fn a_path_is_the_endpoint_as_it_is_written_or_nothing() {
    let home = Home::new(Policy::default());
    let server = HttpServer::start(&home);
    let status = |path: &str| {
        let request = head(&format!("connection: close\r\ncontent-length: {}\r\n\r\n", body().len())).replacen("/mcp", path, 1) + &body();
        statuses(&said(&server, &request)).join(" ")
    };
    assert_eq!((status("/mcp"), status("http://localhost/mcp")), ("200".to_owned(), "200".to_owned()));
    for path in ["/mcp/", "//mcp", "/./mcp", "/mcp/../metrics", "/%6dcp", "/mcp%00", "/mcp;x", "/MCP", "*", "/metrics/.."] {
        assert_eq!(status(path), "404", "{path}");
    }
    assert_eq!(status("http://evil.example/mcp"), "403");
}
