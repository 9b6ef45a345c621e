//! Clients that no one here wrote drive the built binary: every client × era × scenario is a test of its own.
//!
//! `./check --setup` installs them. A client that is not installed is told as ignored, never as passed; with `CI=true` it fails.

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

use libtest_mimic::{Arguments, Trial};

use drivers::{CLIENTS, Client};

fn main() {
    let arguments = Arguments::from_args();
    let strict = std::env::var("CI").is_ok_and(|value| value == "true");
    let mut trials = Vec::new();
    for client in CLIENTS {
        let missing = client.missing();
        if let Some(why) = &missing {
            eprintln!("skipped: every scenario of {}: {why}", client.name);
        }
        for scenario in scenarios::SCENARIOS.iter().filter(|scenario| client.can_play(scenario)) {
            let name = format!("{}::{}", client.name, scenario.name);
            let (missing, client): (_, &'static Client) = (missing.clone(), client);
            let ignored = missing.is_some() && !strict;
            let play = move || {
                if let Some(why) = missing {
                    return Err(why.into());
                }
                scenario.play(client);
                Ok(())
            };
            trials.push(Trial::test(name, play).with_ignored_flag(ignored));
        }
    }
    let missing = day::missing();
    if let Some(why) = &missing {
        eprintln!("skipped: {}: {why}", day::NAME);
    }
    let ignored = missing.is_some() && !strict;
    let spend = move || {
        if let Some(why) = missing {
            return Err(why.into());
        }
        day::spend();
        Ok(())
    };
    trials.push(Trial::test(day::NAME, spend).with_ignored_flag(ignored));
    libtest_mimic::run(&arguments, trials).exit();
}
