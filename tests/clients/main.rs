//! Clients that no one here wrote drive the built binary: a test for each client and era, in which one process of the client plays all scenarios.
//!
//! A run plays a smoke set, one client a language and era; `--include-ignored` plays all. `./check --setup` installs the clients.
//! One that is not installed is named and ignored; with `CI=true` it fails.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a client that does not play its script must fail the test"
)]

mod day;
mod drivers;
#[path = "../home/mod.rs"]
mod home;
mod scenarios;
#[path = "../home/server.rs"]
mod server;
mod transcript;

use std::panic::{AssertUnwindSafe, catch_unwind};

use libtest_mimic::{Arguments, Trial};

use drivers::{CLIENTS, Client};

/// One client a language and era, over both ways.
const SMOKE: [&str; 4] = ["python_2_legacy", "python_2_pinned_http", "typescript_2_legacy_http", "typescript_2_auto"];

fn main() {
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> =
        CLIENTS.iter().map(|client| trial(client.name, client.missing(), SMOKE.contains(&client.name), || play(client))).collect();
    trials.push(trial(day::NAME, day::missing(), true, day::spend));
    libtest_mimic::run(&arguments, trials).exit();
}

/// A test; one that cannot be run here is ignored, and fails where it is run all the same.
fn trial(name: &str, missing: Option<String>, is_smoke: bool, run: impl FnOnce() + Send + 'static) -> Trial {
    let strict = std::env::var("CI").is_ok_and(|value| value == "true");
    if let Some(why) = &missing {
        eprintln!("skipped: {name}: {why}");
    }
    let ignored = !is_smoke || (missing.is_some() && !strict);
    let run = move || {
        if let Some(why) = missing {
            return Err(why.into());
        }
        run();
        Ok(())
    };
    Trial::test(name, run).with_ignored_flag(ignored)
}

/// Every scenario that the client can play. One that fails does not keep the next from being played.
fn play(client: &'static Client) {
    let mut driver = client.start();
    let mut failed = Vec::new();
    for scenario in scenarios::SCENARIOS.iter().filter(|scenario| client.can_play(scenario)) {
        if catch_unwind(AssertUnwindSafe(|| scenario.play(&mut driver))).is_err() {
            failed.push(scenario.name);
            driver = client.start();
        }
    }
    assert!(failed.is_empty(), "failed, each with its words above: {failed:?}");
}
