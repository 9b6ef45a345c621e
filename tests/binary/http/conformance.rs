//! The official conformance suite against the product's HTTP stack: with fixtures of its own, which must pass in full, and against the built
//! binary, where exactly the checks of docs/conformance.md may fail.
//!
//! `./check --setup` installs the suite. Without it the tests say so; with `CI=true` they fail.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde_json::Value;
use toolgate::server::http::{Listener, Options, serve_other};

use crate::http::fixtures::Fixtures;
use crate::http::home::{Home, Policy, repository};
use crate::http::server::HttpServer;

/// The suite's program and the Node that runs it; none when they are not installed.
fn suite() -> Option<(PathBuf, PathBuf)> {
    let clients = repository().join("tests/clients");
    let processor = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let node = clients.join(format!("node_modules/node-linux-{processor}/bin/node"));
    let program = repository().join("tests/conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js");
    if node.exists() && program.exists() {
        return Some((node, program));
    }
    let why = "the conformance suite is not installed; `./check --setup` installs it";
    assert!(std::env::var("CI").is_ok_and(|value| value != "true") || std::env::var("CI").is_err(), "{why}");
    eprintln!("skipped: {why}");
    None
}

/// What came of one run.
struct Outcome {
    /// The scenarios that count and failed.
    failed: BTreeSet<String>,
    /// Every check that failed, behind the name of its scenario.
    checks: BTreeSet<(String, String)>,
    printed: String,
}

/// Runs the suite.
fn run(url: &str, version: &str) -> Option<Outcome> {
    let (node, program) = suite()?;
    let results = tempfile::tempdir().unwrap();
    let out = Command::new(node)
        .arg(program)
        .args(["server", "--url", url, "--requirements", version, "-o"])
        .arg(results.path())
        .current_dir(results.path())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&out.stdout).into_owned();
    let summary = printed.split("=== SUMMARY ===").nth(1).unwrap_or_else(|| panic!("no summary: {printed}"));
    let (scored, others) = summary.split_once("Not scored for").unwrap_or((summary, ""));
    let failed = |text: &str| -> BTreeSet<String> {
        let names = text.lines().filter_map(|line| line.trim().strip_prefix('✗'));
        names.map(|line| line.trim().split([':', ' ']).next().unwrap_or_default().to_owned()).collect()
    };
    let failed = &failed(scored) - &failed(others);
    let folders = std::fs::read_dir(results.path()).unwrap().map(|folder| folder.unwrap());
    let checks: BTreeSet<(String, String)> = folders.flat_map(|folder| failed_checks(&folder.path())).collect();
    let with_checks: BTreeSet<String> = checks.iter().map(|(scenario, _)| scenario.clone()).collect();
    assert!(failed.is_subset(&with_checks), "a scenario fails without a check: {:?}", &failed - &with_checks);
    Some(Outcome { failed, checks, printed })
}

/// The checks that failed in the results of one scenario, whose folder is called `server-SCENARIO-DATE`.
fn failed_checks(folder: &Path) -> Vec<(String, String)> {
    let name = folder.file_name().unwrap().to_str().unwrap().strip_prefix("server-").unwrap();
    let scenario = name.rsplit_once('T').unwrap().0;
    let scenario = scenario.split_at(scenario.len() - "-2026-01-01".len()).0;
    let text = std::fs::read_to_string(folder.join("checks.json")).unwrap();
    let checks: Vec<Value> = serde_json::from_str(&text).unwrap();
    let failed = checks.iter().filter(|check| check["status"] == "FAILURE");
    failed.map(|check| (scenario.to_owned(), check["id"].as_str().unwrap().to_owned())).collect()
}

/// The fixtures behind the product's own stack, in this process; their address.
fn fixtures() -> String {
    let (told, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let home = Home::new(Policy::default());
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            told.send(format!("http://{}/mcp", listener.local_addr().unwrap())).unwrap();
            let options = Options {
                listener: Listener::Tcp(listener),
                sse: false,
                tls: None,
                source: Arc::new(|_| Box::pin(async { Err("none".to_owned()) })),
            };
            let fixtures = Fixtures::new();
            serve_other(house(&home), options, move |_| fixtures.clone()).await.unwrap();
        });
    });
    address.recv().unwrap()
}

fn house(home: &Home) -> Arc<toolgate::context::ServerContext> {
    use toolgate::{audit, entry, gate, manifest, sandbox, state, tools};
    let text = std::fs::read_to_string(home.manifest()).unwrap();
    let manifest = manifest::parse(&text, tools::specs()).expect("the manifest of the tests reads well");
    let state = state::StateDir::open(&home.state()).unwrap();
    let log = audit::Log::open(state.path(), entry::settings(&manifest.audit, state.path()), Arc::new(jiff::Timestamp::now)).unwrap();
    let roots = sandbox::files::Roots::open(&[], &[], Some(state.path())).unwrap();
    let egress = sandbox::web::Egress::new(sandbox::web::Settings::default());
    let sandbox = sandbox::Sandbox::new(roots, egress, sandbox::programs::Settings::default());
    let gate = gate::Gate::new(manifest, Arc::new(state)).unwrap();
    Arc::new(toolgate::context::ServerContext::new(Arc::new(log), gate, sandbox, tools::all()))
}

#[test]
#[ignore = "needs the conformance suite; `./check --all` runs it"]
fn the_stack_with_the_suites_fixtures_passes_2025_11_25_in_full() {
    let Some(Outcome { failed, printed, .. }) = run(&fixtures(), "2025-11-25") else { return };
    assert!(failed.is_empty(), "{failed:?}\n{printed}");
}

#[test]
#[ignore = "needs the conformance suite; `./check --all` runs it"]
fn the_stack_with_the_suites_fixtures_passes_2026_07_28_in_full() {
    let Some(Outcome { failed, printed, .. }) = run(&fixtures(), "2026-07-28") else { return };
    assert!(failed.is_empty(), "{failed:?}\n{printed}");
}

/// The checks that docs/conformance.md lists under this heading.
fn listed(version: &str) -> BTreeSet<(String, String)> {
    let text = std::fs::read_to_string(repository().join("docs/conformance.md")).unwrap();
    let section = text.split("\n## ").find(|section| section.starts_with(version)).unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | ")?.0.split_once("`: `"));
    rows.map(|(scenario, check)| (scenario.to_owned(), check.to_owned())).collect()
}

#[test]
#[ignore = "needs the conformance suite; `./check --all` runs it"]
fn the_product_fails_exactly_the_checks_that_need_fixtures() {
    let home = Home::new(Policy { limits: "breaker = { denials = 1000, within = \"1m\" }", ..Policy::default() });
    let server = HttpServer::start(&home);
    for version in ["2025-11-25", "2026-07-28"] {
        let Some(Outcome { checks, printed, .. }) = run(&format!("{}/mcp", server.address), version) else { return };
        assert_eq!(checks, listed(version), "{version}\n{printed}");
    }
    server.stop();
}
