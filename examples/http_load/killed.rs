//! `kill -9` under load, a new start, and what must be there after it.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use crate::client::{Caller, Server};
use crate::state::{alive, below, folders};
use crate::{Work, load};

/// Kills the server under load, starts another, and asks the log for every call that was answered.
pub(crate) async fn killed(binary: &Path, folder: &Path, server: Server, work: &Work) -> Vec<String> {
    let mut faults = Vec::new();
    let (began, process) = (SystemTime::now(), server.child.id());
    let before = finished(folder, began);
    let killer = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let children = below(process);
        drop(server);
        children
    });
    // Every caller ends with a fault, which is the end of its server.
    let answered = load(work, Duration::from_secs(6)).await.calls();
    let children = killer.await.expect("the killer ends");
    let patience = Instant::now() + Duration::from_secs(20);
    while alive(&children) > 0 && Instant::now() < patience {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    if alive(&children) > 0 {
        faults.push(format!("{} of {} processes outlived their server", alive(&children), children.len()));
    }
    let left = folders(&folder.join("state/sessions"));
    let again = Server::start(binary, folder).expect("a server starts again");
    let wiped = folders(&folder.join("state/sessions"));
    if wiped > 0 {
        faults.push(format!("{wiped} of {left} session folders of the killed server are left"));
    }
    let mut caller = Caller::modern(&again.address).await.expect("a connection");
    if let Err(fault) = caller.call("read_file", &json!({"path": "project/small.txt"})).await {
        faults.push(format!("after the kill: {fault}"));
    }
    drop(again);
    let recorded = finished(folder, began).saturating_sub(before).saturating_sub(1);
    let verify = Command::new(binary)
        .args(["audit", "verify"])
        .env("TOOLGATE_MANIFEST", folder.join("tools.toml"))
        .env("TOOLGATE_STATE_DIR", folder.join("state"))
        .output()
        .expect("verify runs");
    println!(
        "killed under load: {answered} calls were answered, {recorded} successes are recorded; {} processes gone, {left} folders wiped; {}",
        children.len(),
        String::from_utf8_lossy(&verify.stdout).trim()
    );
    if answered == 0 {
        faults.push("the kill came before any answer".to_owned());
    }
    if recorded < answered {
        faults.push(format!("{} answered calls are not in the log", answered - recorded));
    }
    if !verify.status.success() {
        faults.push("the log is broken".to_owned());
    }
    faults
}

/// Calls that the log says were answered with success, in the files that were written to since.
fn finished(folder: &Path, since: SystemTime) -> usize {
    let files = std::fs::read_dir(folder.join("state/audit")).into_iter().flatten().flatten();
    let recent = files.filter(|file| {
        let written = file.metadata().and_then(|facts| facts.modified());
        file.path().extension().is_some_and(|kind| kind == "jsonl")
            && written.is_ok_and(|written| written + Duration::from_mins(1) >= since)
    });
    let successes = |text: String| {
        let lines = text.lines().filter(|line| line.contains("call.finished"));
        lines.filter_map(|line| serde_json::from_str::<Value>(line).ok()).filter(|record| record["status"] == "success").count()
    };
    recent.filter_map(|file| std::fs::read_to_string(file.path()).ok()).map(successes).sum()
}
