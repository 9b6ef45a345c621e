//! The log as its commands show it.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod form;
#[path = "../../../crates/toolgate-audit/tests/log/support.rs"]
#[expect(dead_code, reason = "the tests of the crate use all of it")]
mod support;
