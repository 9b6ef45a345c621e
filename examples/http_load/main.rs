//! Holds a server over HTTP for minutes: 1 000 idle sessions, 64 callers at once with mixed tools in both eras, then `kill -9` under load and a new start.
//!
//! `cargo run --release --example http_load`, with the binary built beside it. `TOOLGATE_LOAD_MINUTES` (1) sets how long, `TOOLGATE_LOAD_SESSIONS`
//! (1000) and `TOOLGATE_LOAD_CALLERS` (64) how many, `TOOLGATE_LOAD_PAUSE_MS` (0) how long each caller thinks between two calls. It ends with 1 where
//! a call failed, something grew, or a promised record is not there.
//!
//! `cargo run --release --example http_load -- soak [MINUTES] [SESSIONS]` (30, 200) holds sessions that keep calling instead, and ends with 1 where the
//! server's memory does not stay flat.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a load generator prints, and what does not start ends it"
)]

#[path = "../../benches/http/client.rs"]
mod client;
mod killed;
mod page;
mod soak;
mod state;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use client::{Caller, Server, house};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use state::State;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() -> ExitCode {
    let folder = tempfile::tempdir().expect("a scratch folder");
    house(folder.path()).expect("a house");
    let here = std::env::current_exe().expect("a path of our own");
    let binary: PathBuf = here.ancestors().nth(2).expect("the folder of the build").join("toolgate");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let mut arguments = std::env::args().skip(1);
    let is_soak = arguments.next().is_some_and(|mode| mode == "soak");
    let mut given = |default| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let failed = if is_soak {
        runtime.block_on(soak::soak(&binary, folder.path(), given(30), given(200)))
    } else {
        runtime.block_on(run(&binary, folder.path()))
    };
    for fault in failed.iter().take(20) {
        println!("FAULT {fault}");
    }
    println!("{}", if failed.is_empty() { "held" } else { "did not hold" });
    ExitCode::from(u8::from(!failed.is_empty()))
}

async fn run(binary: &Path, folder: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let page = page::serve().await.expect("a page");
    // What changes a file is asked for, and one private address is open.
    let manifest =
        std::fs::read_to_string(folder.join("tools.toml")).expect("a manifest").replace("level_2 = \"none\"", "level_2 = \"every\"");
    let network = format!("[network]\ninternal = [\"{page}\"]\nallowed_schemes = [\"http\"]\nrobots = \"ignore\"\n");
    let tokens: String = (0..number("TOOLGATE_LOAD_CALLERS", 64)).map(token).collect();
    std::fs::write(folder.join("tools.toml"), manifest + &network + &tokens).expect("a manifest");
    let server = Server::start(binary, folder).expect("a server");
    let mut idle = Vec::new();
    for _ in 0..number("TOOLGATE_LOAD_SESSIONS", 1000) {
        idle.push(Caller::modern(&server.address).await.expect("a connection").greet().await.expect("a session"));
    }
    // What is made once (threads, interpreters, readers) is made before the first look.
    let work = Work { address: server.address.clone(), page };
    faults.extend(load(&work, Duration::from_secs(15)).await.faults);
    let look = async |what: &str| {
        settle().await;
        let state = State::of(server.child.id(), folder);
        println!("{what:<8} {state:?}");
        state
    };
    println!("{} idle sessions", idle.len());
    let before = look("start").await;
    let minutes = number("TOOLGATE_LOAD_MINUTES", 1);
    let half = Duration::from_secs(30 * minutes as u64);
    let mut done = load(&work, half).await;
    let middle = look("middle").await;
    let second = load(&work, half).await;
    done.rate = f64::midpoint(done.rate, second.rate);
    done.add(second);
    let after = look("end").await;
    done.tell(minutes);
    faults.append(&mut done.faults);
    faults.extend(middle.grown_since(&before));
    faults.extend(after.grown_since(&before));
    // Every idle session still answers.
    for caller in idle.iter_mut().step_by(97) {
        let known = caller.session.clone();
        let mut fresh = Caller::modern(&server.address).await.expect("a connection");
        fresh.session = known;
        if let Err(fault) = fresh.call("file_info", &json!({"path": "project/small.txt"})).await {
            faults.push(format!("an idle session: {fault}"));
        }
    }
    faults.extend(killed::killed(binary, folder, server, &work).await);
    faults
}

/// Processes end and folders are wiped a moment after their calls.
async fn settle() {
    tokio::time::sleep(Duration::from_secs(3)).await;
}

/// A caller's entry in the manifest: each is a principal of its own, as the callers of a team are.
fn token(n: usize) -> String {
    let digest = Sha256::digest(secret(n).as_bytes()).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    format!("[[clients.token]]\nname = \"caller{n}\"\nsha256 = \"{digest}\"\nprofile = \"all\"\n")
}

fn secret(n: usize) -> String {
    format!("a token of caller {n}").replace(' ', "-")
}

/// Where the callers work.
#[derive(Clone)]
pub(crate) struct Work {
    address: String,
    page: String,
}

/// What came of a load.
#[derive(Default)]
pub(crate) struct Done {
    times: BTreeMap<&'static str, Vec<Duration>>,
    rate: f64,
    faults: Vec<String>,
}

impl Done {
    fn add(&mut self, other: Self) {
        for (tool, times) in other.times {
            self.times.entry(tool).or_default().extend(times);
        }
        self.faults.extend(other.faults);
    }

    /// How many calls were answered.
    pub(crate) fn calls(&self) -> usize {
        self.times.values().map(Vec::len).sum()
    }

    fn tell(&mut self, minutes: usize) {
        println!("{} calls in {minutes} min, {:.0}/s", self.calls(), self.rate);
        let all: Vec<Duration> = self.times.values().flatten().copied().collect();
        self.times.insert("all", all);
        for (tool, times) in &mut self.times {
            times.sort_unstable();
            let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
            let slowest = times.last().copied().unwrap_or_default();
            println!("{tool:<16} {:>8} calls, p50 {:?}, p90 {:?}, p99 {:?}, slowest {slowest:?}", times.len(), at(50), at(90), at(99));
        }
        self.times.remove("all");
    }
}

/// Has all callers call for so long.
pub(crate) async fn load(work: &Work, time: Duration) -> Done {
    let began = Instant::now();
    let callers = (0..number("TOOLGATE_LOAD_CALLERS", 64)).map(|n| tokio::spawn(one(work.clone(), n, began + time)));
    let mut done = Done::default();
    for caller in futures::future::join_all(callers).await {
        done.add(caller.expect("a caller that ends"));
    }
    #[expect(clippy::cast_precision_loss, reason = "fewer calls than a float holds")]
    let calls = done.calls() as f64;
    done.rate = calls / began.elapsed().as_secs_f64();
    done.faults.truncate(10);
    done
}

async fn one(work: Work, n: usize, until: Instant) -> Done {
    let mut done = Done::default();
    let pause = Duration::from_millis(number("TOOLGATE_LOAD_PAUSE_MS", 0) as u64);
    let entering = async {
        let caller = Caller::modern(&work.address).await?.known_by(&secret(n));
        if n.is_multiple_of(2) { caller.greet().await } else { Ok(caller) }
    };
    let mut caller = match entering.await {
        Ok(caller) => caller,
        Err(fault) => return Done { faults: vec![format!("caller {n}: {fault}")], ..done },
    };
    let (mut turn, mut asked) = (n * 7, 0);
    while Instant::now() < until && done.faults.len() < 5 {
        turn += 1;
        let (mut what, mut tool, mut arguments) = call(&work, n, turn);
        if what == ASKED {
            asked += 1;
            if asked > QUESTIONS {
                (what, tool, arguments) = call(&work, n, 9);
            }
        }
        let began = Instant::now();
        match caller.call(tool, &arguments).await {
            Ok(result) if result["isError"] != true => done.times.entry(what).or_default().push(began.elapsed()),
            Ok(result) => done.faults.push(format!("{what}: {result}")),
            Err(fault) => return Done { faults: vec![format!("{what}: {fault}")], ..done },
        }
        tokio::time::sleep(pause).await;
    }
    if let Err(fault) = caller.end().await {
        done.faults.push(format!("caller {n}: {fault}"));
    }
    done
}

/// A write that a person is asked for.
const ASKED: &str = "asked write";
/// Questions of one caller in one load; a principal may put sixty to people in an hour.
const QUESTIONS: usize = 12;

/// The mix: mostly reads, some writes (one of them asked for), searches and pages, now and then a program.
fn call(work: &Work, n: usize, turn: usize) -> (&'static str, &'static str, Value) {
    let (what, arguments) = match turn % 200 {
        0 => ("run_python", json!({"code": "print(sum(range(1000)))"})),
        at if at % 50 == 1 => {
            let arguments = json!({"path": format!("project/own{n}.txt"), "content": format!("{turn}\n")});
            return (ASKED, "write_file", arguments);
        }
        at if at % 20 == 3 => ("write_file", json!({"path": format!("work/own{n}.txt"), "content": format!("{turn}\n")})),
        at if at % 50 == 2 => ("fetch", json!({"url": format!("http://{}/", work.page)})),
        at if at % 20 == 5 => ("search_files", json!({"path": "project/src", "query": "needle 7"})),
        at if at % 10 == 7 => ("list_directory", json!({"path": "project/src"})),
        at if at % 10 == 4 => ("file_info", json!({"path": "project/small.txt"})),
        _ => ("read_file", json!({"path": "project/small.txt"})),
    };
    (what, what, arguments)
}
