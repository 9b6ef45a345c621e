//! How long a call of the jail takes, beside a bare `python3 -I -S -c pass`, in one run. Prints medians and 90th percentiles.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement that cannot be made fails loudly, and prints what it measured"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use toolgate::sandbox::programs::{Client, Jail, JailSpec, Settings, Status};

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let client = Arc::new(Client::new(PathBuf::from(env!("CARGO_BIN_EXE_toolgate"))));
    let mut settings = Settings { client, ..Settings::default() };
    if let Some(python) = std::env::var_os("BENCH_PYTHON") {
        settings.interpreter = PathBuf::from(python);
    }
    if let Ok(preload) = std::env::var("BENCH_PRELOAD") {
        settings.preload = preload.split(',').map(str::to_owned).collect();
    }
    let jail = runtime.block_on(Jail::new(settings, &CancellationToken::new())).unwrap();
    let python = jail.interpreter().program.clone();
    let spec = JailSpec::new("pass");
    let fresh = JailSpec { fresh: true, ..spec.clone() };
    let sum = JailSpec::new("print(sum(range(1000)))");
    let call = |spec: &JailSpec| {
        let began = Instant::now();
        let outcome = runtime.block_on(jail.run(spec, &CancellationToken::new(), None)).unwrap();
        assert_eq!(outcome.status, Status::Ok, "{outcome:?}");
        began.elapsed()
    };
    let settle = |spec: &JailSpec| {
        for _ in 0..20 {
            call(spec);
            std::thread::sleep(Duration::from_millis(30));
        }
    };
    let rounds = std::env::var("BENCH_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let plain = series(rounds, Duration::ZERO, || {
        let began = Instant::now();
        std::process::Command::new(&python).args(["-I", "-S", "-c", "pass"]).status().unwrap();
        began.elapsed()
    });
    settle(&spec);
    let rows = [
        ("python3 -I -S -c pass", plain.clone()),
        ("from nothing (fresh)", series(rounds, Duration::ZERO, || call(&fresh))),
        ("a jail waits", series(rounds, Duration::from_millis(30), || call(&spec))),
        ("a jail waits, print(sum(…))", series(rounds, Duration::from_millis(30), || call(&sum))),
        ("back to back", series(rounds * 2, Duration::ZERO, || call(&spec))),
    ];
    println!("{:<30} {:>10} {:>10} {:>8}", "", "p50", "p90", "x plain");
    for (name, times) in rows {
        println!("{name:<30} {:>8}us {:>8}us {:>8.2}", at(&times, 50), at(&times, 90), ratio(&times, &plain));
    }
    // Where the time of a waiting jail goes: until the program runs, and from its end to the answer.
    let clock = JailSpec::new("import time\ntime.clock_gettime_ns(time.CLOCK_MONOTONIC)");
    let (mut there, mut back) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        std::thread::sleep(Duration::from_millis(30));
        let now = || Duration::try_from(rustix::time::clock_gettime(rustix::time::ClockId::Monotonic)).unwrap();
        let began = now();
        let outcome = runtime.block_on(jail.run(&clock, &CancellationToken::new(), None)).unwrap();
        let ran = Duration::from_nanos(outcome.stdout.trim().parse().unwrap());
        there.push(ran.saturating_sub(began));
        back.push(now().saturating_sub(ran));
    }
    for (name, mut times) in [("  request to program", there), ("  program to answer", back)] {
        times.sort_unstable();
        println!("{name:<30} {:>8}us {:>8}us", at(&times, 50), at(&times, 90));
    }
    for at_once in [4_u32, 64] {
        let began = Instant::now();
        let calls: u32 = at_once.max(128);
        runtime.block_on(async {
            let cancel = CancellationToken::new();
            for _ in 0..calls / at_once {
                let all = (0..at_once).map(|_| jail.run(&spec, &cancel, None));
                for outcome in futures::future::join_all(all).await {
                    assert_eq!(outcome.unwrap().status, Status::Ok);
                }
            }
        });
        println!("{:<30} {:>8.0}/s", format!("{at_once} at once"), f64::from(calls) / began.elapsed().as_secs_f64());
    }
}

fn series(rounds: usize, pause: Duration, mut once: impl FnMut() -> Duration) -> Vec<Duration> {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            std::thread::sleep(pause);
            once()
        })
        .collect();
    times.sort_unstable();
    times
}

fn at(times: &[Duration], percent: usize) -> u128 {
    times.get(times.len() * percent / 100).map_or(0, Duration::as_micros)
}

fn ratio(times: &[Duration], plain: &[Duration]) -> f64 {
    let micros = |times: &[Duration]| f64::from(u32::try_from(at(times, 50)).unwrap_or(u32::MAX));
    micros(times) / micros(plain).max(1.0)
}
