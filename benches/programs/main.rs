//! What a program costs through a real `tools/call` over stdio, beside a bare `python3 -I -S -c pass` and other sandboxes, in one run.
//!
//! Every line is a median, a 90th percentile, and the median's ratio to that of the bare interpreter, which runs beside it, after the same pauses:
//! a processor that has idled is slower for both. On a machine with neighbours the ratios are what the run is for (`nice -n -19` keeps some of them
//! out; not a real-time class, which a group with a share of a processor does not take). Sandboxes that are not installed are named and left out.
//! `TOOLGATE_BENCH_ROUNDS` sets the calls of each line (default 100); `TOOLGATE_BENCH_PYTHON` an interpreter with numpy and pandas (default: the one
//! that `./check --setup` makes); `TOOLGATE_BENCH_BINARY` another build than the bench's own.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    reason = "a benchmark that cannot measure has nothing to say; its numbers are rounded for people"
)]

mod others;
mod server;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use server::{House, Server};

fn main() {
    // `cargo test --benches` only asks whether it starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let rounds: usize = std::env::var("TOOLGATE_BENCH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    let python = real("python3").expect("an interpreter");
    let plain = || timed(Command::new(&python).args(["-I", "-S", "-c", "pass"]));
    let line = |name: &str, rounds: usize, pause: Duration, measure: &mut dyn FnMut() -> Duration| {
        line(name, &beside(rounds, pause, plain, measure));
    };
    println!("{:<44} {:>9} {:>9} {:>9} {:>8}", "", "p50 ms", "p90 ms", "plain ms", "x plain");
    for (name, found) in others::all(&python) {
        match found {
            Ok(mut command) => line(name, rounds, Duration::ZERO, &mut || timed(&mut command)),
            Err(why) => println!("{name}: left out: {why}"),
        }
    }
    let house = House::new(&python, "");
    first_programs(&house, rounds.div_ceil(10), &plain);
    let mut server = Server::start(&house);
    settle(&mut server, "pass");
    line("toolgate, a jail waits", rounds, PAUSE, &mut || server.timed("pass"));
    line("toolgate, a jail waits, print(sum(…))", rounds, PAUSE, &mut || server.timed("print(sum(range(1000)))"));
    line("toolgate, back to back", rounds, Duration::ZERO, &mut || server.timed("pass"));
    line("toolgate, cold (`fresh`)", rounds, PAUSE, &mut || server.timed_fresh("pass"));
    settle(&mut server, "pass");
    println!("{:<44} {}", "toolgate, at rest, a jail waits", server.memory());
    let preloaded = || timed(Command::new(&python).args(["-I", "-S", "-c", "import json, re, math, statistics"]));
    let of_200 = |measure: &mut dyn FnMut() -> Duration| (0..200).map(|_| measure()).sum::<Duration>().as_secs_f64() / 200.0;
    let (calls, bare) = (of_200(&mut || server.timed("pass")), of_200(&mut || preloaded()));
    println!("{:<44} {:.2} of the rate of interpreters that import the same", "toolgate, 200 calls back to back", bare / calls);
    for flight in [4, 64] {
        println!("{:<44} {:>9.0} calls/s", format!("toolgate, {flight} at once"), server.throughput("pass", flight, 512));
    }
    drop(server);
    match with_packages() {
        Some(python) => {
            let imports = |module: &str| timed(Command::new(&python).args(["-I", "-c", &format!("import {module}")]));
            line("python3 -I -c 'import numpy'", 10, Duration::ZERO, &mut || imports("numpy"));
            line("python3 -I -c 'import pandas'", 10, Duration::ZERO, &mut || imports("pandas"));
            let house = House::new(&python, "preload = [\"numpy\", \"pandas\"]\nmemory = \"512 MiB\"");
            let mut server = Server::start(&house);
            settle(&mut server, "import pandas");
            let numpy = "import numpy as np\nprint(np.arange(1000).sum())";
            line("toolgate, numpy preloaded, a sum", rounds, PAUSE, &mut || server.timed(numpy));
            let pandas = "import pandas as pd\nprint(pd.DataFrame({'a': [1, 2, 3]}).sum())";
            line("toolgate, pandas preloaded, a frame", rounds, PAUSE, &mut || server.timed(pandas));
            println!("{:<44} {}", "toolgate, at rest, such a jail waits", server.memory());
        }
        None => println!("numpy and pandas: not installed (`./check --setup`), left out"),
    }
}

/// Times of the first, second and tenth program of fresh servers, each after `tools/list`. The first server of a state folder has no remembered facts.
fn first_programs(house: &House, servers: usize, plain: &dyn Fn() -> Duration) {
    let mut server = Server::start(house);
    server.list();
    one("toolgate, the first program of the first server", server.timed("pass"), plain());
    drop(server);
    for (name, pause) in [("at once", Duration::ZERO), ("after 1 s", Duration::from_secs(1))] {
        let (mut all, mut base): (Vec<Vec<Duration>>, Vec<Duration>) = (vec![Vec::new(); 10], Vec::new());
        for _ in 0..servers {
            let mut server = Server::start(house);
            server.list();
            std::thread::sleep(pause);
            for times in &mut all {
                times.push(server.timed("pass"));
            }
            drop(server);
            base.push(plain());
        }
        base.sort_unstable();
        for (number, of) in [("first", 0), ("second", 1), ("tenth", 9)] {
            let mut times = all.get(of).cloned().unwrap_or_default();
            times.sort_unstable();
            line(&format!("toolgate, the {number} program, {name}"), &[times, base.clone()]);
        }
    }
    let mut server = Server::start(house);
    server.list();
    println!("{:<44} {}", "toolgate, memory after `initialize`", server.own_memory());
    for _ in 1..1000 {
        let _ = server.timed("pass");
    }
    let mut times: Vec<Duration> = (0..9).map(|_| server.timed("pass")).collect();
    let mut base: Vec<Duration> = (0..9).map(|_| plain()).collect();
    times.sort_unstable();
    base.sort_unstable();
    line("toolgate, the thousandth program", &[times, base]);
    println!("{:<44} {}", "toolgate, memory after a thousand programs", server.own_memory());
}

fn one(name: &str, took: Duration, plain: Duration) {
    line(name, &[vec![took], vec![plain]]);
}

/// Between two calls of a line: a model thinks longer.
const PAUSE: Duration = Duration::from_millis(30);

fn settle(server: &mut Server, code: &str) {
    for _ in 0..20 {
        server.timed(code);
        std::thread::sleep(PAUSE);
    }
    std::thread::sleep(Duration::from_millis(300));
}

/// The file behind an interpreter's name: a shim that picks a version would be measured as well.
fn real(name: &str) -> Option<PathBuf> {
    let told = Command::new(name).args(["-I", "-c", "import os, sys; print(os.path.realpath(sys.executable))"]).output().ok()?;
    Some(PathBuf::from(String::from_utf8(told.stdout).ok()?.trim())).filter(|path| path.exists())
}

fn with_packages() -> Option<PathBuf> {
    let named = std::env::var_os("TOOLGATE_BENCH_PYTHON").map(PathBuf::from);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/.venv-jail/bin/python");
    let python = named.unwrap_or(own);
    let can = Command::new(&python).args(["-I", "-c", "import numpy, pandas"]).stderr(Stdio::null()).status();
    can.is_ok_and(|status| status.success()).then_some(python)
}

fn timed(command: &mut Command) -> Duration {
    let begun = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let took = begun.elapsed();
    assert!(status.is_ok_and(|status| status.success()), "{command:?} failed");
    took
}

/// How long it takes and how long the bare interpreter does: in turn where there is a pause, else each back to back.
fn beside(rounds: usize, pause: Duration, plain: impl Fn() -> Duration, measure: &mut dyn FnMut() -> Duration) -> [Vec<Duration>; 2] {
    let (mut times, mut base) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        std::thread::sleep(pause);
        times.push(measure());
        if !pause.is_zero() {
            std::thread::sleep(pause);
            base.push(plain());
        }
    }
    base.extend((base.len()..rounds).map(|_| plain()));
    times.sort_unstable();
    base.sort_unstable();
    [times, base]
}

fn at(times: &[Duration], percent: usize) -> Duration {
    times.get(times.len() * percent / 100).copied().unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn line(name: &str, [times, plain]: &[Vec<Duration>; 2]) {
    let (median, base) = (at(times, 50), at(plain, 50));
    println!(
        "{name:<44} {:>9.2} {:>9.2} {:>9.2} {:>8.2}",
        ms(median),
        ms(at(times, 90)),
        ms(base),
        median.as_secs_f64() / base.as_secs_f64()
    );
}
