//! Where a program may go, and how it asks.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::io::AsyncWriteExt;

use super::world::{HELLO, LOOPBACK, Server, World, client_hello, names, read_all, read_head, rules};
use crate::manifest::NetworkRules;
use crate::model::{Bytes, Code, Scheme};
use crate::sandbox::web::Settings;

fn connect(target: &str) -> String {
    format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")
}

fn get(url: &str) -> String {
    format!("GET {url} HTTP/1.1\r\nHost: whatever.example\r\n\r\n")
}

#[tokio::test]
async fn an_allowed_host_answers_and_is_asked_under_its_own_name() {
    let server = Server::answering(HELLO).await;
    let world = World::new(rules(&server)).await;
    let port = server.address.port();
    let answer = world.say(get(&format!("http://a.example:{port}/x?y#z"))).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello"), "{answer}");
    let asked = server.heard();
    assert!(asked[0].starts_with("GET /x?y HTTP/1.1\r\n") && asked[0].contains(&format!("host: a.example:{port}\r\n")), "{asked:?}");
    assert!(!asked[0].contains("whatever"), "{asked:?}");
    let contacts = world.end().await;
    assert_eq!((contacts.len(), contacts[0].host.as_str(), contacts[0].verdict, contacts[0].received), (1, "a.example", Code::Ok, 5));
}

#[tokio::test]
async fn a_host_that_is_not_open_is_refused_in_either_form_and_never_connected_to() {
    let server = Server::answering(HELLO).await;
    let world = World::new(rules(&server)).await;
    let port = server.address.port();
    let other = if port == 4444 { 4445 } else { 4444 };
    let cases = [
        (format!("c.example:{port}"), Code::DomainNotAllowed),
        (format!("evil.a.example:{port}"), Code::DomainDenied),
        (format!("x.evil.a.example:{port}"), Code::DomainDenied),
        (format!("a.example:{other}"), Code::PortNotAllowed),
        ("a.example:22".to_owned(), Code::PortNotAllowed),
        // The name is open and leads inside, where only the server's port is.
        ("a.example:443".to_owned(), Code::InternalAddress),
        (format!("127.0.0.1:{other}"), Code::IpLiteral),
        (format!("127.1:{other}"), Code::IpLiteral),
        (format!("0x7f000001:{other}"), Code::IpLiteral),
        (format!("[::1]:{port}"), Code::IpLiteral),
        (format!("[::ffff:127.0.0.1]:{port}"), Code::IpLiteral),
        ("169.254.169.254:443".to_owned(), Code::IpLiteral),
        ("93.184.216.34:443".to_owned(), Code::IpLiteral),
        (format!("localhost:{port}"), Code::DomainNotAllowed),
    ];
    for (target, code) in cases {
        assert_eq!(world.refused(connect(&target)).await, (403, Some(code)), "CONNECT {target}");
        assert_eq!(world.refused(get(&format!("http://{target}/"))).await, (403, Some(code)), "GET {target}");
    }
    assert_eq!(server.heard(), Vec::<String>::new());
}

#[tokio::test]
async fn credentials_before_the_host_and_other_odd_targets_are_refused() {
    let server = Server::answering(HELLO).await;
    let world = World::new(rules(&server)).await;
    let port = server.address.port();
    for target in [format!("c.example@a.example:{port}"), format!("a.example:{port}@c.example:443")] {
        let (status, code) = world.refused(connect(&target)).await;
        assert!(matches!((status, code), (400 | 403, None | Some(Code::UrlUserinfo | Code::UrlMalformed))), "{target}: {status} {code:?}");
        let (status, code) = world.refused(get(&format!("http://{target}/"))).await;
        assert!(matches!((status, code), (400 | 403, None | Some(Code::UrlUserinfo | Code::UrlMalformed))), "{target}: {status} {code:?}");
    }
    for request in [
        "CONNECT a.example HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(),
        format!("CONNECT a.example:{port} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"),
        format!("CONNECT a.example:{port} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: a.example:{port}\r\n\r\n"),
        format!("GET https://a.example:{port}/ HTTP/1.1\r\nHost: a.example\r\n\r\n"),
        format!("GET ftp://a.example:{port}/ HTTP/1.1\r\nHost: a.example\r\n\r\n"),
        format!("GET http:///a.example:{port}/ HTTP/1.1\r\nHost: a.example\r\n\r\n"),
        format!("TRACE http://a.example:{port}/ HTTP/1.1\r\nHost: a.example\r\n\r\n"),
        format!("GET http://a.example\\@c.example:{port}/ HTTP/1.1\r\nHost: a.example\r\n\r\n"),
        format!("GET http://a.example:{port}/\t HTTP/1.1\r\nHost: a.example\r\n\r\n"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "\x05\x01\x00".to_owned(),
    ] {
        let (status, _) = tokio::time::timeout(Duration::from_mins(1), world.refused(&request)).await.unwrap();
        assert!(matches!(status, 0 | 400 | 403), "{request:?}: {status}");
    }
    assert_eq!(server.heard(), Vec::<String>::new());
}

#[tokio::test]
async fn a_scheme_that_is_not_allowed_is_refused_in_its_own_form() {
    let server = Server::answering(HELLO).await;
    let port = server.address.port();
    let only = |scheme| NetworkRules { allowed_schemes: vec![scheme], ..rules(&server) };
    let secure = World::new(only(Scheme::Https)).await;
    assert_eq!(secure.refused(get(&format!("http://a.example:{port}/"))).await, (403, Some(Code::SchemeNotAllowed)));
    assert_eq!(secure.say(connect(&format!("a.example:{port}"))).await.split(' ').nth(1), Some("200"));
    let plain = World::new(only(Scheme::Http)).await;
    assert_eq!(plain.refused(connect(&format!("a.example:{port}"))).await, (403, Some(Code::SchemeNotAllowed)));
}

#[tokio::test]
async fn a_name_that_rebinds_leads_only_to_addresses_that_were_judged() {
    let server = Server::answering(HELLO).await;
    let port = server.address.port();
    let metadata: IpAddr = "169.254.169.254".parse().unwrap();
    let mut dns = names();
    // Good, then bad: each connection is judged by its own answer, and one bad address among good ones refuses the name.
    dns.insert("a.example".to_owned(), vec![vec![LOOPBACK], vec![metadata], vec![LOOPBACK, metadata], vec![]]);
    let world = World::with(rules(&server), dns, Settings::default(), Bytes::mib(1)).await;
    let url = format!("http://a.example:{port}/");
    assert!(world.say(get(&url)).await.ends_with("hello"));
    for _ in 0..3 {
        assert_eq!(world.refused(get(&url)).await, (403, Some(Code::InternalAddress)));
    }
    assert_eq!(server.heard().len(), 1);
}

#[tokio::test]
async fn a_tunnel_carries_tls_under_its_own_name_and_nothing_else() {
    let server = Server::answering("far end").await;
    let world = World::new(rules(&server)).await;
    let target = format!("a.example:{}", server.address.port());
    let through = async |bytes: &[u8]| {
        let mut stream = world.connect().await;
        stream.write_all(connect(&target).as_bytes()).await.unwrap();
        let head = read_head(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 200 ") && !head.contains("close"), "some clients take a tunnel that closes for none: {head}");
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        read_all(&mut stream).await
    };
    assert_eq!(through(&client_hello("a.example")).await, "far end");
    let refused = server.heard().len();
    for bytes in
        [client_hello("b.example"), client_hello("evil.a.example"), b"GET / HTTP/1.1\r\n\r\n".to_vec(), b"SSH-2.0-OpenSSH\r\n".to_vec()]
    {
        let answer = through(&bytes).await;
        assert!(!answer.contains("far end"), "{answer:?}");
    }
    assert_eq!(server.heard().iter().skip(refused).map(String::len).sum::<usize>(), 0, "not a byte of them arrived");
    let verdicts: Vec<_> = world.end().await.iter().map(|contact| (contact.verdict, contact.count)).collect();
    assert_eq!(verdicts, [(Code::Ok, 1), (Code::DomainNotAllowed, 2), (Code::SchemeNotAllowed, 2)]);
}

#[tokio::test]
async fn a_second_request_behind_the_first_is_never_read_as_one() {
    let server = Server::answering(HELLO).await;
    let world = World::new(rules(&server)).await;
    let port = server.address.port();
    let second = format!("GET http://a.example:{port}/second HTTP/1.1\r\nHost: x\r\n\r\n");
    let firsts = [
        format!("GET http://a.example:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n"),
        format!("GET http://a.example:{port}/ HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n"),
        format!("POST http://a.example:{port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"),
        format!("POST http://a.example:{port}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
        // Two lengths: what one reader takes for a body, another takes for a request.
        format!("POST http://a.example:{port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        format!("POST http://a.example:{port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 50\r\n\r\n"),
        format!("POST http://a.example:{port}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
        format!("POST http://a.example:{port}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
        format!("GET http://a.example:{port}/ HTTP/1.1\r\nHost: x\r\nConnection: content-length\r\nContent-Length: 0\r\n\r\n"),
        format!("CONNECT c.example:{port} HTTP/1.1\r\nHost: x\r\n\r\n"),
    ];
    for first in firsts {
        let before = server.heard().len();
        let answer = world.say(format!("{first}{second}")).await;
        assert!(answer.matches("HTTP/1.1 ").count() <= 1, "{first:?}: {answer}");
        let heard = server.heard().split_off(before);
        assert!(heard.len() <= 1 && !heard.iter().any(|text| text.contains("second")), "{first:?}: {heard:?}");
        // One framing alone goes on.
        let framings = |text: &str| text.matches("content-length").count() + text.matches("transfer-encoding").count();
        assert!(heard.iter().all(|text| framings(text) <= 1), "{first:?}: {heard:?}");
    }
}

#[tokio::test]
async fn headers_of_the_connection_and_of_proxies_stay_behind() {
    let server = Server::answering(
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: x-mine\r\nx-mine: 1\r\nproxy-authenticate: Basic\r\nx-kept: 1\r\n\r\nok",
    )
    .await;
    let world = World::new(rules(&server)).await;
    let request = format!(
        "GET http://a.example:{}/ HTTP/1.1\r\nHost: inner.example\r\nConnection: close, X-Secret\r\nX-Secret: 1\r\nProxy-Authorization: Basic eA==\r\n\
         Keep-Alive: 5\r\nTE: trailers\r\nUpgrade: websocket\r\nExpect: 100-continue\r\nX-Kept: 1\r\n\r\n",
        server.address.port()
    );
    let answer = world.say(request).await.to_ascii_lowercase();
    let heard = server.heard()[0].to_ascii_lowercase();
    for gone in ["inner.example", "x-secret", "proxy-", "keep-alive", "te:", "upgrade", "expect"] {
        assert!(!heard.contains(gone), "{gone} in {heard}");
    }
    assert!(heard.contains("x-kept: 1"), "{heard}");
    assert!(answer.contains("x-kept: 1") && !answer.contains("x-mine") && !answer.contains("proxy-auth"), "{answer}");
    for injected in ["X-A: b\nHost: c.example", "X-A: b\0c", "X A: b", " X-A: b", "X-A\r: b"] {
        let before = server.heard().len();
        let request = format!("GET http://a.example:{}/ HTTP/1.1\r\nHost: x\r\n{injected}\r\n\r\n", server.address.port());
        let _ = world.say(request).await;
        let heard = server.heard().split_off(before);
        assert!(heard.iter().all(|text| text.matches("host: ").count() == 1 && !text.contains("c.example")), "{injected:?}: {heard:?}");
    }
}

#[tokio::test]
async fn a_redirect_of_an_allowed_host_is_the_programs_own_next_request() {
    let server =
        Server::answering("HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest/meta-data/\r\ncontent-length: 0\r\n\r\n").await;
    let world = World::new(rules(&server)).await;
    let answer = world.say(get(&format!("http://a.example:{}/", server.address.port()))).await;
    assert!(
        answer.starts_with("HTTP/1.1 302 ") && answer.contains("location: http://169.254.169.254/"),
        "handed back, not followed: {answer}"
    );
    assert_eq!(world.refused(get("http://169.254.169.254/latest/meta-data/")).await.0, 403);
    assert_eq!(server.heard().len(), 1);
}

#[tokio::test]
async fn an_opened_address_is_reached_by_number_and_its_neighbour_is_not() {
    let server = Server::answering(HELLO).await;
    let world = World::new(rules(&server)).await;
    let SocketAddr::V4(address) = server.address else { unreachable!() };
    assert!(world.say(get(&format!("http://{address}/"))).await.ends_with("hello"));
    let next = SocketAddr::new("127.0.0.2".parse().unwrap(), address.port());
    assert_eq!(world.refused(get(&format!("http://{next}/"))).await, (403, Some(Code::IpLiteral)));
}
