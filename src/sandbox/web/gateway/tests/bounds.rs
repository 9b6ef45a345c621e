//! How much a program may send, ask and take.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::world::{HELLO, Server, World, client_hello, names, read_head, rules};
use crate::manifest::NetworkRules;
use crate::model::{Bytes, Code, Refusal};
use crate::sandbox::web::{ConnectionRecorder, Contact, How, Settings};

/// Nothing here takes longer than this, however slow the machine is.
const LONG: Duration = Duration::from_mins(1);

fn get(server: &Server, path: &str) -> String {
    format!("GET http://a.example:{}{path} HTTP/1.1\r\nHost: x\r\n\r\n", server.address.port())
}

#[tokio::test]
async fn endless_and_slow_headers_end_at_their_bounds() {
    let server = Server::answering(HELLO).await;
    let world = World::new(rules(&server)).await;
    let endless = format!("GET http://a.example/ HTTP/1.1\r\nHost: x\r\nX-A: {}", "a".repeat(200_000));
    assert!(timeout(LONG, world.say(endless)).await.unwrap().starts_with("HTTP/1.1 431"));
    let many = format!("GET http://a.example/ HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(500));
    assert!(timeout(LONG, world.say(many)).await.unwrap().starts_with("HTTP/1.1 431"));
    // A head that never ends is given up after its time, and so is a tunnel into which nothing comes.
    let mut slow = world.connect().await;
    slow.write_all(b"GET http://a.example/ HTTP/1.1\r\nHost:").await.unwrap();
    let mut silent = world.connect().await;
    silent.write_all(format!("CONNECT a.example:{0} HTTP/1.1\r\nHost: x\r\n\r\n", server.address.port()).as_bytes()).await.unwrap();
    assert!(read_head(&mut silent).await.starts_with("HTTP/1.1 200"));
    for stream in [&mut slow, &mut silent] {
        let mut rest = Vec::new();
        let _ = timeout(LONG, stream.read_to_end(&mut rest)).await.unwrap();
    }
    assert!(timeout(LONG, world.say(get(&server, "/"))).await.unwrap().ends_with("hello"), "and the next one is served");
}

#[tokio::test]
async fn connections_without_end_wait_for_their_turn() {
    let server = Server::answering(HELLO).await;
    let world = World::new(NetworkRules { max_connections: 2, ..rules(&server) }).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = world.connect().await;
        stream.write_all(format!("CONNECT a.example:{0} HTTP/1.1\r\nHost: x\r\n\r\n", server.address.port()).as_bytes()).await.unwrap();
        assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 200"));
        stream.write_all(&client_hello("a.example")).await.unwrap();
        let mut some = [0; 8];
        assert!(timeout(LONG, stream.read(&mut some)).await.unwrap().unwrap() > 0);
        held.push(stream);
    }
    let mut third = world.connect().await;
    third.write_all(get(&server, "/").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    assert!(timeout(Duration::from_millis(200), third.read_to_end(&mut answer)).await.is_err(), "two are served, the third waits");
    drop(held.pop());
    let _ = timeout(LONG, third.read_to_end(&mut answer)).await.unwrap();
    assert!(String::from_utf8_lossy(&answer).ends_with("hello"));
}

#[tokio::test]
async fn a_response_is_no_longer_than_the_manifest_lets_it_be() {
    let body = "x".repeat(300_000);
    let declared = Server::answering(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())).await;
    let small = |server: &Server| NetworkRules { max_response: Bytes::kib(64), ..rules(server) };
    let world = World::new(small(&declared)).await;
    assert_eq!(world.refused(get(&declared, "/")).await, (502, Some(Code::ResponseTooLarge)));
    let endless = Server::answering(format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}")).await;
    let world = World::new(small(&endless)).await;
    let answer = timeout(LONG, world.say(get(&endless, "/"))).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.len() < 100_000, "{}", answer.len());
    assert!(!answer.ends_with("0\r\n\r\n"), "its end is not told as if it were whole");
    assert_eq!(world.end().await[0].verdict, Code::ResponseTooLarge);
    // The same bytes through a tunnel.
    let raw = Server::answering(body.as_bytes()).await;
    let world = World::new(small(&raw)).await;
    let mut stream = world.connect().await;
    stream.write_all(format!("CONNECT a.example:{} HTTP/1.1\r\nHost: x\r\n\r\n", raw.address.port()).as_bytes()).await.unwrap();
    read_head(&mut stream).await;
    stream.write_all(&client_hello("a.example")).await.unwrap();
    let mut came = Vec::new();
    let _ = timeout(LONG, stream.read_to_end(&mut came)).await.unwrap();
    assert!(came.len() < 110_000, "{}", came.len());
    assert_eq!(world.end().await[0].verdict, Code::ResponseTooLarge);
    let world = World::new(rules(&declared)).await;
    assert!(world.say(get(&declared, "/")).await.len() > 300_000, "with room, it comes whole");
}

#[tokio::test]
async fn a_program_sends_out_no_more_than_its_budget() {
    let server = Server::answering(HELLO).await;
    let world = World::with(rules(&server), names(), Settings::default(), Bytes::kib(4)).await;
    let post = |body: usize| {
        let head = format!("POST http://a.example:{}/ HTTP/1.1\r\nHost: x\r\nContent-Length: {body}\r\n\r\n", server.address.port());
        format!("{head}{}", "a".repeat(body))
    };
    assert!(world.say(post(1000)).await.ends_with("hello"));
    let _ = timeout(LONG, world.say(post(100_000))).await.unwrap();
    let heard: usize = server.heard().iter().map(String::len).sum();
    assert!(heard < 8192, "{heard}");
    assert_eq!(world.refused(get(&server, &format!("/{}", "secret".repeat(900)))).await, (429, Some(Code::Quota)), "nor in a URL");
    assert!(world.end().await.iter().any(|contact| contact.verdict == Code::Quota));
}

#[tokio::test]
async fn one_host_is_asked_no_more_often_than_the_account_of_its_caller_lets_it_be() {
    let server = Server::answering(HELLO).await;
    let world = World::recorded(rules(&server), Box::new(Miser { hosts: Mutex::default(), left: AtomicU64::new(u64::MAX) })).await;
    for _ in 0..2 {
        assert!(world.say(get(&server, "/")).await.ends_with("hello"));
    }
    let answer = world.say(get(&server, "/")).await;
    assert!(answer.starts_with("HTTP/1.1 429 rate_limited") && answer.contains("retry-after: "), "{answer}");
    let other = get(&server, "/").replace("a.example", "b.example");
    assert!(world.say(other).await.ends_with("hello"));
}

#[tokio::test]
async fn what_goes_out_is_charged_before_it_goes() {
    let server = Server::answering(HELLO).await;
    let world = World::recorded(rules(&server), Box::new(Miser { hosts: Mutex::default(), left: AtomicU64::new(300) })).await;
    assert!(world.say(get(&server, "/")).await.ends_with("hello"));
    let long = get(&server, &format!("/{}", "a".repeat(300)));
    assert_eq!(world.refused(long).await, (429, Some(Code::Quota)));
    assert!(server.heard().iter().all(|text| !text.contains("aaa")), "{:?}", server.heard());
}

/// Lets each host be asked twice, and so many bytes go.
#[derive(Debug)]
struct Miser {
    hosts: Mutex<HashMap<String, u64>>,
    left: AtomicU64,
}

impl ConnectionRecorder for Miser {
    fn counts(&self, host: &str) -> Result<(), Refusal> {
        let mut hosts = self.hosts.lock().unwrap();
        let asked = hosts.entry(host.to_owned()).or_default();
        *asked += 1;
        if *asked > 2 { Err(Refusal::new(Code::RateLimited, "too often").retry_after(7)) } else { Ok(()) }
    }

    fn sends(&self, bytes: u64) -> Result<(), Refusal> {
        let taken = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(bytes));
        taken.map(drop).map_err(|_| Refusal::new(Code::Quota, "too much"))
    }

    fn opens(&self, _: &Contact, _: How, _: Option<&Refusal>) -> Result<(), Refusal> {
        Ok(())
    }

    fn closes(&self, _: &Contact, _: How) {}
}

#[tokio::test]
async fn the_end_of_a_call_closes_what_is_open() {
    let server = Server::answering("far end").await;
    let world = World::new(rules(&server)).await;
    let mut stream = world.connect().await;
    stream.write_all(format!("CONNECT a.example:{} HTTP/1.1\r\nHost: x\r\n\r\n", server.address.port()).as_bytes()).await.unwrap();
    read_head(&mut stream).await;
    stream.write_all(&client_hello("a.example")).await.unwrap();
    let mut some = [0; 7];
    stream.read_exact(&mut some).await.unwrap();
    let contacts = world.end().await;
    assert_eq!((contacts[0].verdict, contacts[0].received), (Code::Ok, 7));
    let mut rest = Vec::new();
    let _ = timeout(LONG, stream.read_to_end(&mut rest)).await.unwrap();
    assert!(rest.is_empty());
}
