//! The built binary, as its users see it: over stdio and HTTP, its commands, its readers of pages, its way to the network.

#[path = "../home/messages.rs"]
mod edges;
mod files;
mod gateway;
#[path = "../home/mod.rs"]
mod home;
mod http;
mod mcp;
mod network;
mod reading;
#[path = "../home/server.rs"]
mod server;
