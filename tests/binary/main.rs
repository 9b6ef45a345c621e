//! The built binary, as its users see it: over stdio and HTTP, its commands, its readers of pages, its way to the network.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what the tests share fails a test by panicking")]

#[path = "../home/messages.rs"]
mod edges;
mod files;
mod gateway;
#[path = "../home/mod.rs"]
mod home;
mod http;
mod mcp;
mod network;
mod pages;
#[path = "../home/server.rs"]
mod server;
