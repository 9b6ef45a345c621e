//! Processes below a process, as `/proc` tells of them: for what has to end with all that it started.

#![expect(clippy::disallowed_methods, reason = "processes are looked at through /proc")]

use std::collections::BTreeSet;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Every process below one, whichever of its threads started it (`proc(5)`, `children`).
pub fn below(parent: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut left = vec![parent];
    while let Some(next) = left.pop() {
        let tasks = std::fs::read_dir(format!("/proc/{next}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
                if found.insert(child) {
                    left.push(child);
                }
            }
        }
    }
    found
}

/// Kills a child of ours with everything below it. Each is stopped before its own children are looked at, so that none starts another in
/// between; what left its parent before is not found.
pub fn kill_tree(child: u32) {
    let mut stopped = BTreeSet::new();
    let mut found = BTreeSet::from([child]);
    while !found.is_subset(&stopped) {
        for process in &found {
            send(*process, Signal::SIGSTOP);
        }
        stopped.append(&mut found);
        found = stopped.iter().flat_map(|process| below(*process)).collect();
    }
    for process in stopped {
        send(process, Signal::SIGKILL);
    }
}

fn send(process: u32, signal: Signal) {
    if let Ok(process) = i32::try_from(process) {
        // One that is gone already is what is wanted.
        let _ = kill(Pid::from_raw(process), signal);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Whether a process still runs; one that is dead and not yet asked for does not.
    fn lives(process: u32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    }

    #[test]
    fn a_tree_is_killed_with_every_process_in_it() {
        let mut command = Command::new("sh");
        command.args(["-c", "sh -c 'sleep 3600 & echo begun; wait' & sleep 3600; wait"]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        let all = below(child.id());
        assert!(all.len() >= 2, "{all:?}");
        kill_tree(child.id());
        child.wait().unwrap();
        while all.iter().any(|process| lives(*process)) {
            std::thread::yield_now();
        }
    }
}
