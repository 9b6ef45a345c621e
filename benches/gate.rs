//! What the gate itself costs per allowed call: `cargo bench --bench gate`. From the manifest to the permit, and from
//! there to the record of the start, in a server as `serve` builds it (`durability = "effects"`, a read, level 0). Prints p50 and p99, and each
//! part as a share of the whole. Also what one explanation costs, by the library and by a process of its own beside one that only tells its version.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement stops at the first surprise and prints what it saw")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use toolgate::audit::Log;
use toolgate::cli::decide::Call;
use toolgate::cli::explain::explain;
use toolgate::gate::{Ask, Counts, Gate, Window};
use toolgate::manifest;
use toolgate::model::{Caller, Channel, ClientLabel, Facts, PathFact, ToolCall};
use toolgate::policy::{Channels, State};
use toolgate::state::{StateDir, Ticks};
use toolgate::tools;

const ROUNDS: usize = 50_000;

fn main() {
    let parent = std::env::var_os("BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(parent).unwrap();
    let text = "version = 1\n[roots.project]\npath = \"/srv\"\nmode = \"rw\"\nallowed_paths = [\"src/**\", \"**\"]\ndenied_paths = [\"**/secret/**\"]\n\
        [files]\ndenied_paths = [\"**/.env*\", \"**/*.pem\", \"**/*.key\", \"**/.ssh/**\", \"**/.git/**\"]\n\
        [profiles.p]\npermissions = [\"STANDARD\"]\nallowed_tools = [\"*\"]\nrate_limit_per_minute = 1000000000\n";
    let mut manifest = manifest::parse(text, tools::specs()).unwrap();
    manifest.resolve_roots("/").unwrap();
    let state = Arc::new(StateDir::open(&folder.path().join("state")).unwrap());
    let log = Arc::new(
        Log::open(state.path(), toolgate::entry::settings(&manifest.audit, state.path()), Arc::new(jiff::Timestamp::now)).unwrap(),
    );
    let counts = Arc::new(Counts::new(Ticks::of_this_machine()));
    let gate = Gate::new(manifest.clone(), Arc::clone(&state)).unwrap();
    let tool = tools::all().iter().find(|tool| tool.spec().name == "read_file").unwrap();
    let call = call();
    let facts = Facts {
        paths: vec![PathFact { kind: toolgate::model::Kind::File, names: 1, size: 100, ..PathFact::default() }],
        ..Facts::default()
    };

    let judged = State { channels: Channels { client: true, operator: false }, ..State::default() };
    let whole = measure(|| {
        let of_call = gate.for_call();
        let admitted = of_call.admit(&call, Some(tool.spec()), false).unwrap();
        let action =
            tool.plan(admitted.capability.check_arguments(&call.arguments, None, toolgate::filter::scan_arguments).unwrap()).unwrap();
        let screened = admitted.capability.screen(&action).unwrap();
        let verdict = toolgate::policy::judge(&admitted.capability, &action, &screened, &facts, &judged);
        assert_eq!(verdict.decision.as_str(), "allow");
        let entry = toolgate::entry::Entry::open(&log, &call, of_call.manifest_sha256()).unwrap();
        let mut record = toolgate::audit::Record::new(toolgate::audit::Event::CallStarted);
        let args = log.redact(&call.arguments);
        record.call = Some(entry.id());
        record.args = Some(&args);
        log.append(&record, toolgate::audit::Sync::Handed).unwrap();
    });
    let window = [Window { most: 120, span: 60_000 }];
    let counted = measure(|| drop(counts.call([("p\0standard\0".to_owned(), &window[..])])));
    let account = measure(|| assert_eq!(counts.reserve("p", &Ask::default()).used, [0; 3]));
    let reserved = measure(|| {
        let standing = counts.reserve("q", &Ask { exactly: [1, 0, 0], budget: [u64::MAX; 3], ..Ask::default() });
        counts.settle("q", standing.reserved, [0; 3]);
    });
    println!("manifest to the record of the start: p50 {:>6.2} µs  p99 {:>7.2} µs", whole.0, whole.1);
    for (name, (half, most)) in [("a call counted", counted), ("an account read", account), ("reserved and settled", reserved)] {
        println!("  {name:<22}             p50 {half:>6.2} µs  p99 {most:>7.2} µs  ({:.2} of the whole)", half / whole.0);
    }

    let manifest = Arc::new(manifest);
    let refused = Call {
        caller: call.caller.clone(),
        tool: "read_file",
        arguments: json!({"path": "/etc/passwd"}).as_object().unwrap().clone(),
        malformed: None,
    };
    let denied = Call {
        arguments: json!({"path": "project/.env"}).as_object().unwrap().clone(),
        caller: call.caller.clone(),
        tool: "read_file",
        malformed: None,
    };
    for (name, call) in [("outside the roots", &refused), ("denied by a pattern", &denied)] {
        let (half, most) = measure_rounds(2_000, || drop(explain(&manifest, call, &judged, &|_, _| Ok(facts.clone()))));
        println!("explain, {name:<22}      p50 {half:>6.1} µs  p99 {most:>7.1} µs  ({:.4} of 5 ms)", half / 5000.0);
    }
    explain_in_a_process(folder.path(), text);
    log.close().unwrap();
}

/// `toolgate explain` as a person runs it, from the start of the process to its end.
fn explain_in_a_process(folder: &Path, text: &str) {
    let file = folder.join("tools.toml");
    let root = folder.join("project");
    std::fs::create_dir(&root).unwrap();
    let text = text.replace("/srv", root.to_str().unwrap()).replacen("[roots", "[clients]\nstdio = \"p\"\n[roots", 1);
    std::fs::write(&file, text).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolgate"));
        let out = command.args(arguments).env("TOOLGATE_MANIFEST", &file).env("TOOLGATE_STATE_DIR", folder.join("state")).output().unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    let explain = ["explain", "read_file", r#"{"path": "project/.env"}"#];
    assert!(run(&explain).contains("path_denied"), "{}", run(&explain));
    let bare = measure_rounds(200, || drop(run(&["--version"])));
    let whole = measure_rounds(200, || drop(run(&explain)));
    println!(
        "explain, as a process                p50 {:>6.0} µs  p99 {:>7.0} µs  ({:.2} of 5 ms, {:.1} of a bare start)",
        whole.0,
        whole.1,
        whole.0 / 5000.0,
        whole.0 / bare.0
    );
}

fn call() -> ToolCall {
    let caller = Caller {
        principal: "stdio".to_owned(),
        session: "s_1".to_owned(),
        profile: Some("p".to_owned()),
        client: ClientLabel { name: "bench".to_owned(), version: "1".to_owned() },
        channel: Channel::During,
    };
    let arguments = json!({"path": "project/src/main.rs"}).as_object().unwrap().clone();
    ToolCall { tool: "read_file".to_owned(), arguments, malformed: None, caller, repeat: None, trace: None }
}

fn measure(work: impl FnMut()) -> (f64, f64) {
    measure_rounds(ROUNDS, work)
}

/// p50 and p99 in microseconds.
fn measure_rounds(rounds: usize, mut work: impl FnMut()) -> (f64, f64) {
    (0..rounds / 10).for_each(|_| work());
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default().as_secs_f64() * 1e6;
    (at(50), at(99))
}
