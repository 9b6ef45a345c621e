//! `serve --http` by hand: every wall with an attack on it, and beside it the ordinary use that still works.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a server that does not answer as it must fails the test"
)]

mod conformance;
mod exposition;
mod fixtures;
mod identity;
mod issuer;
mod lifetime;
mod limits;
mod logs;
mod messages;
mod numbers;
mod operations;
mod origin;
mod packaging;
mod restart;
mod smuggling;
mod strictness;
mod wire;

use crate::home::{Home, Policy};
use crate::server::HttpServer;
use crate::{edges, home, server};

/// A house whose manifest has these lines more.
pub(crate) fn house(policy: Policy, more: &str) -> Home {
    let home = Home::new(policy);
    let text = std::fs::read_to_string(home.manifest()).unwrap();
    std::fs::write(home.manifest(), format!("{text}\n{more}\n")).unwrap();
    home
}

/// The SHA-256 of a token, as the manifest has it.
pub(crate) fn digest(token: &str) -> String {
    use sha2::Digest;
    toolgate::gate::hex(&sha2::Sha256::digest(token.as_bytes()))
}

/// A manifest's token.
pub(crate) fn token(name: &str, secret: &str) -> String {
    format!("[[clients.token]]\nname = \"{name}\"\nsha256 = \"{}\"\nprofile = \"all\"\n", digest(secret))
}

pub(crate) const NOTES: &str = "first line\nsecond line\nthird line\n";

/// Sends the server a signal.
pub(crate) fn signal(server: &HttpServer, signal: &str) {
    let id = server.child.as_ref().unwrap().id().to_string();
    std::process::Command::new("kill").args([signal, &id]).status().unwrap();
}

/// Waits for the end of a server.
pub(crate) fn ended(mut server: HttpServer) -> std::process::ExitStatus {
    server.child.take().unwrap().wait().unwrap()
}

/// Waits until something holds; what it waits for is told when it does not.
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let started = std::time::Instant::now();
    while !holds() {
        assert!(started.elapsed() < wire::PATIENCE, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
