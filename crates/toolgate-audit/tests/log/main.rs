//! The log from outside: what it survives, what it notices.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::string_slice, reason = "a test stops at the first surprise")]

mod crash;
mod folder;
mod rotation;
mod support;
mod tamper;
