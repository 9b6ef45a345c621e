//! The rules of the layout, each with a source that breaks it.

use super::Source;
use super::names;

/// Floors from the ground up; a file may use its own floor and those below.
const FLOORS: &[&[&str]] = &[
    &["state"],
    &["model"],
    &["manifest"],
    &["policy", "filter"],
    &["entry"],
    &["gate"],
    &["sandbox"],
    &["tool"],
    &["calls", "pipeline", "context", "call_log", "reload", "suggest"],
    &["tools", "cli", "server"],
];

/// Floors of pure decisions: values in, values out.
const PURE: &[&str] = &["model", "manifest", "policy", "filter"];

/// Files that may hold unsafe code; each says why in docs/decisions.md.
pub(crate) const UNSAFE_FILES: &[&str] = &["toolgate-jail/src/raw.rs", "sandbox/databases/beneath.rs"];

/// What a path may begin with, and the rooms that may name it; `main.rs` may name all.
const PLACES: &[(&str, &[&str])] = &[
    ("rmcp", &["server"]),
    ("nix", &["sandbox"]),
    ("toolgate_jail", &["sandbox"]),
    ("landlock", &["sandbox"]),
    ("seccompiler", &["sandbox"]),
    ("hyper", &["sandbox", "server"]),
    ("rustix", &["sandbox", "state", "cli"]),
    ("std::fs", &["sandbox", "state", "cli"]),
    ("std::net", &["sandbox", "state", "cli", "server"]),
    ("std::process", &["sandbox", "state", "cli"]),
    ("std::os::unix::fs", &["sandbox", "state", "cli"]),
    ("std::os::unix::net", &["sandbox", "state", "cli", "server"]),
    ("std::os::unix::process", &["sandbox", "cli"]),
    ("std::env", &["cli", "sandbox"]),
    ("tokio::fs", &["sandbox", "state", "cli"]),
    ("tokio::net", &["sandbox", "cli", "server"]),
    ("tokio::process", &["sandbox", "cli"]),
];

/// Values that live in a module of the system and touch nothing, and calls on a descriptor that one already holds.
const VALUES: &[&str] = &[
    "std::net::IpAddr",
    "std::net::Ipv4Addr",
    "std::net::Ipv6Addr",
    "std::net::SocketAddr",
    "std::net::SocketAddrV4",
    "std::net::SocketAddrV6",
    "std::net::AddrParseError",
    "std::process::ExitCode",
    "rustix::fs::FileType",
    "rustix::fs::fstat",
    "rustix::io",
    "rustix::net::sockopt",
    "rustix::pipe::fcntl_setpipe_size",
];

/// What makes the same question answer differently tomorrow.
const IMPURE: &[&str] = &[
    "tokio",
    "futures",
    "getrandom",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "SystemTime::now",
    "Instant::now",
    "Timestamp::now",
    "Zoned::now",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
];

const TOOLS: &[&str] = &[
    "read_file",
    "write_file",
    "edit_file",
    "edit_files",
    "list_directory",
    "search_files",
    "file_info",
    "create_directory",
    "move_file",
    "copy_file",
    "delete_file",
    "fetch",
    "run_python",
    "read_files",
    "fetch_many",
];

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

/// The room a file stands in: its folder, or its own name at the top.
fn room(source: &Source) -> &str {
    source.path.split(['/', '.']).next().unwrap_or_default()
}

fn at_the_top(source: &Source) -> bool {
    matches!(source.path.as_str(), "main.rs" | "lib.rs")
}

/// Uses of a floor above the file's own, and rooms the map does not know.
pub(crate) fn looks_up(source: &Source) -> Vec<String> {
    if at_the_top(source) {
        return Vec::new();
    }
    let Some(own) = floor(room(source)) else {
        return vec![format!("{}: `{}` is a module without a floor", source.path, room(source))];
    };
    let names = names::read(source);
    let used = names.paths.iter().filter(|path| path.first().is_some_and(|root| root == "crate")).filter_map(|path| path.get(1));
    let mut faults: Vec<String> = used
        .filter(|used| floor(used).is_some_and(|floor| floor > own))
        .map(|used| format!("{}: looks up to `{used}`", source.path))
        .collect();
    faults.dedup();
    faults
}

/// A tool that names another tool.
pub(crate) fn knows_another_tool(source: &Source) -> Vec<String> {
    let Some(own) = source.path.strip_prefix("tools/").map(|name| name.trim_end_matches(".rs")) else { return Vec::new() };
    let names = names::read(source);
    let others = names.paths.iter().filter_map(|path| match path.as_slice() {
        [root, tools, other, ..] if root == "crate" && tools == "tools" => Some(other),
        _ => None,
    });
    others
        .filter(|other| own != "mod" && *other != own && TOOLS.contains(&other.as_str()))
        .map(|other| format!("{}: knows the tool `{other}`", source.path))
        .collect()
}

/// Whether a path lies at or below a prefix such as `std::fs`.
fn lies_in(path: &[String], prefix: &str) -> bool {
    let mut segments = path.iter();
    prefix.split("::").all(|word| segments.next().is_some_and(|segment| segment == word))
}

/// Crates and interfaces of the system named in a room they do not belong to.
pub(crate) fn out_of_place(source: &Source) -> Vec<String> {
    if source.path == "main.rs" {
        return Vec::new();
    }
    let names = names::read(source);
    let mut faults = Vec::new();
    for path in &names.paths {
        let shown = path.join("::");
        if VALUES.iter().any(|value| lies_in(path, value)) {
            continue;
        }
        for (prefix, rooms) in PLACES {
            let whole = prefix.split("::").next().is_some_and(|root| shown == format!("{root}::*") || shown == format!("renamed::{root}"));
            if (lies_in(path, prefix) || (whole && prefix.contains("::"))) && !rooms.contains(&room(source)) {
                faults.push(format!("{}: `{shown}` belongs to {}", source.path, rooms.join(", ")));
            }
        }
    }
    faults.dedup();
    faults
}

/// Clocks, chance and asynchronous code in a pure room.
pub(crate) fn impure(source: &Source) -> Vec<String> {
    if !PURE.contains(&room(source)) {
        return Vec::new();
    }
    let names = names::read(source);
    let mut faults: Vec<String> = names
        .paths
        .iter()
        .filter(|path| IMPURE.iter().any(|prefix| lies_in(path, prefix)))
        .map(|path| format!("{}: `{}` in a pure room", source.path, path.join("::")))
        .collect();
    faults.extend(names.asynchronous.then(|| format!("{}: asynchronous code in a pure room", source.path)));
    faults
}

/// Unsafe code, or an attribute that lets it in, outside the listed files.
pub(crate) fn unlisted_unsafe(source: &Source) -> Vec<String> {
    let listed = UNSAFE_FILES.contains(&source.path.as_str());
    (names::read(source).unsafe_code && !listed)
        .then(|| format!("{}: unsafe code in a file that is not listed", source.path))
        .into_iter()
        .collect()
}

/// Longer than a file may be.
pub(crate) fn too_long(source: &Source) -> Vec<String> {
    let lines = source.text.lines().count();
    (lines > 500).then(|| format!("{}: {lines} lines", source.path)).into_iter().collect()
}

fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: text.to_owned() }
}

/// How many faults a rule finds in each of these one-line sources.
fn counts(rule: fn(&Source) -> Vec<String>, cases: &[(&str, &str)]) -> Vec<usize> {
    cases.iter().map(|(path, text)| rule(&source(path, text)).len()).collect()
}

#[test]
fn a_floor_that_looks_up_is_found_however_it_is_written() {
    let bad = [
        ("gate/permit.rs", "use crate::sandbox::Sandbox;"),
        ("gate/permit.rs", "use crate::{model::Code, sandbox::{self, files}};"),
        ("policy/judge.rs", "fn f() -> crate::entry::Entry { todo!() }"),
        ("policy/judge.rs", "use super::super::tools::schema;"),
        ("filter/mod.rs", "mod inner { use super::super::gate::Permit; }"),
        ("model/call.rs", "fn f() { assert!(crate::policy::judge()); }"),
        ("pipeline.rs", "pub use crate::server::Server as S;"),
        ("basement/mod.rs", "fn f() {}"),
    ];
    assert_eq!(counts(looks_up, &bad), [1; 8]);
    let good = [
        ("gate/permit.rs", "use crate::model::Code; use super::rates; #[cfg(test)] mod tests { use crate::sandbox::Sandbox; }"),
        ("tools/fetch.rs", "use crate::{gate::Permit, sandbox::Sandbox, server::x};"),
        ("main.rs", "use toolgate::server; use crate::anything;"),
    ];
    assert_eq!(counts(looks_up, &good), [0; 3]);
}

#[test]
fn a_tool_that_knows_another_is_found() {
    let cases = [
        ("tools/fetch.rs", "use super::write_file::Plan;"),
        ("tools/fetch.rs", "use crate::tools::run_python;"),
        ("tools/fetch.rs", "use super::schema; use super::fetch::x;"),
        ("tools/mod.rs", "use self::{fetch::Fetch, run_python::RunPython};"),
    ];
    assert_eq!(counts(knows_another_tool, &cases), [1, 1, 0, 0]);
}

#[test]
fn a_crate_or_interface_out_of_its_place_is_found() {
    let bad = [
        ("tools/fetch.rs", "use rmcp::model::Tool;"),
        ("gate/mod.rs", "extern crate rmcp;"),
        ("tool.rs", "use std::{fmt, fs};"),
        ("server/http.rs", "fn f() { std::fs::read(\"x\"); }"),
        ("policy/x.rs", "fn f() { println!(\"{:?}\", std::net::TcpStream::connect(\"x\")); }"),
        ("gate/x.rs", "fn f() { tokio::process::Command::new(\"sh\"); }"),
        ("gate/x.rs", "use std::net::{IpAddr, TcpListener};"),
        ("state/x.rs", "fn f(x: nix::unistd::Pid) {}"),
        ("manifest/x.rs", "use std::fs::File;"),
    ];
    assert_eq!(counts(out_of_place, &bad), [1; 9]);
    for hidden in ["use std as s;", "use std::*;", "use tokio as t;"] {
        assert!(!out_of_place(&source("gate/x.rs", hidden)).is_empty(), "{hidden}");
    }
    let good = [
        ("sandbox/files/mod.rs", "use std::fs::File; use nix::sched; use rustix::fs;"),
        ("policy/x.rs", "use std::net::{IpAddr, Ipv4Addr}; use std::collections::*;"),
        ("server/http.rs", "use rmcp::ServerHandler; use tokio::net::TcpListener;"),
        ("tools/x.rs", "#[cfg(test)] mod tests { use std::fs; }"),
    ];
    assert_eq!(counts(out_of_place, &good), [0; 4]);
}

#[test]
fn a_pure_room_with_a_clock_or_a_future_is_found() {
    let cases = [
        ("policy/x.rs", "fn f() { std::time::Instant::now(); }"),
        ("policy/x.rs", "use std::time::SystemTime;"),
        ("filter/x.rs", "async fn f() {}"),
        ("model/x.rs", "fn f(t: jiff::Timestamp) { Timestamp::now(); }"),
        ("filter/x.rs", "use tokio::sync::mpsc;"),
        ("policy/x.rs", "use std::time::Duration; fn f(now: jiff::Timestamp) {}"),
        ("gate/x.rs", "async fn f() { std::time::Instant::now(); }"),
    ];
    assert_eq!(counts(impure, &cases), [1, 1, 1, 1, 1, 0, 0]);
}

#[test]
fn unsafe_code_is_found_in_every_form() {
    let bad = [
        ("sandbox/x.rs", "fn f() { unsafe { g() } }"),
        ("sandbox/x.rs", "unsafe fn f() {}"),
        ("sandbox/x.rs", "unsafe impl Send for X {}"),
        ("sandbox/x.rs", "#![expect(unsafe_code, reason = \"x\")]"),
        ("sandbox/x.rs", "unsafe extern \"C\" { fn f(); }"),
        ("sandbox/x.rs", "fn f() { m!(unsafe { g() }); }"),
        ("sandbox/x.rs", "#[unsafe(no_mangle)] fn f() {}"),
    ];
    assert_eq!(counts(unlisted_unsafe, &bad), [1; 7]);
    assert_eq!(counts(unlisted_unsafe, &[("sandbox/x.rs", "fn f() { let unsafe_code = \"unsafe\"; }")]), [0]);
}

#[test]
fn a_file_of_five_hundred_and_one_lines_is_too_long() {
    assert_eq!(counts(too_long, &[("a.rs", &"\n".repeat(500)), ("a.rs", &"\n".repeat(501))]), [0, 1]);
}
