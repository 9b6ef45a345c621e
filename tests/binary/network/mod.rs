//! `fetch` over a network: names, servers, certificates and redirects are real, only the internet is ours.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "a test fails by panicking")]

mod attacks;
mod client;
mod internet;
mod labelled;
mod namespaces;
mod pages;
