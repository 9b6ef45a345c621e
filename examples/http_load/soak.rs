//! Sessions that stay and keep calling: the server's memory at any later moment is at most 1.3 times what it was in minute 5, or at half of the time
//! where that comes first. What is kept for a minute is there by then.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Caller, Server};
use crate::state::State;
use crate::{secret, token};

/// How much memory later, in percent.
const MOST: u64 = 130;
/// Looks at the server in all.
const LOOKS: u32 = 30;
/// How long a session thinks between two calls.
const PAUSE: Duration = Duration::from_millis(500);

/// Holds so many sessions for so long; what went wrong.
pub(crate) async fn soak(binary: &Path, folder: &Path, minutes: usize, sessions: usize) -> Vec<String> {
    let manifest = std::fs::read_to_string(folder.join("tools.toml")).expect("a manifest");
    let tokens: String = (0..sessions).map(token).collect();
    std::fs::write(folder.join("tools.toml"), manifest + &tokens).expect("a manifest");
    let server = Server::start(binary, folder).expect("a server");
    let began = Instant::now();
    let time = Duration::from_secs(60 * minutes as u64);
    let callers: Vec<_> = (0..sessions).map(|n| tokio::spawn(one(server.address.clone(), n, began + time))).collect();
    let first = (LOOKS * 5 / u32::try_from(minutes.max(1)).unwrap_or(u32::MAX)).clamp(1, LOOKS / 2);
    let (mut faults, mut settled) = (Vec::new(), 0);
    for look in 1..=LOOKS {
        tokio::time::sleep_until((began + time * look / LOOKS).into()).await;
        let memory = State::of(server.child.id(), folder).memory;
        println!("{:>6.1} min {memory:>8} KiB", began.elapsed().as_secs_f64() / 60.0);
        if look == first {
            settled = memory;
        } else if look > first && memory * 100 > settled * MOST {
            faults.push(format!("{memory} KiB in look {look}, {settled} KiB in look {first}"));
        }
    }
    let mut calls = 0;
    for caller in futures::future::join_all(callers).await {
        match caller.expect("a session that ends") {
            Ok(made) => calls += made,
            Err(fault) => faults.push(fault.to_string()),
        }
    }
    println!("{calls} calls in {sessions} sessions, {minutes} min");
    faults
}

/// One session: how many calls it made.
async fn one(address: String, n: usize, until: Instant) -> std::io::Result<usize> {
    let mut caller = Caller::modern(&address).await?.known_by(&secret(n)).greet().await?;
    let mut made = 0;
    while Instant::now() < until {
        let (tool, arguments) = match (n + made) % 4 {
            0 => ("list_directory", json!({"path": "project/src"})),
            1 => ("read_file", json!({"path": "project/small.txt"})),
            2 => ("search_files", json!({"path": "project/src", "query": "needle"})),
            _ => ("write_file", json!({"path": format!("work/own{n}.txt"), "content": format!("{made}\n")})),
        };
        caller.call(tool, &arguments).await?;
        made += 1;
        tokio::time::sleep(PAUSE).await;
    }
    caller.end().await?;
    Ok(made)
}
