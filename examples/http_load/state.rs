//! What must not grow, and how it is read: from outside, as the machine sees the server.

use std::collections::BTreeSet;
use std::path::Path;

/// One look at a server and everything below it.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    /// Resident memory of the server, in KiB.
    pub(crate) memory: u64,
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    /// Processes below the server, at any depth.
    pub(crate) children: usize,
    /// Folders in the sessions' part of the state folder.
    pub(crate) folders: usize,
}

impl State {
    pub(crate) fn of(process: u32, folder: &Path) -> Self {
        let status = read(&format!("/proc/{process}/status"));
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
        };
        Self {
            memory: field("VmRSS").unwrap_or(0),
            descriptors: std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count),
            threads: field("Threads").map_or(0, |threads: u64| usize::try_from(threads).unwrap_or(usize::MAX)),
            children: below(process).len(),
            folders: folders(&folder.join("state/sessions")),
        }
    }

    /// What is more than it was, beyond what is allowed for.
    pub(crate) fn grown_since(&self, before: &Self) -> Vec<String> {
        let mut faults = Vec::new();
        // Allocators keep some; a leak of a hundred bytes a call would be far above this.
        if self.memory > before.memory + before.memory / 10 + (16 << 10) {
            faults.push(format!("memory grew from {} to {} KiB", before.memory, self.memory));
        }
        for (what, was, is) in [
            ("descriptors", before.descriptors, self.descriptors),
            // Interpreters and readers that wait come and go one by one.
            ("children", before.children + 8, self.children),
            ("threads", before.threads + 4, self.threads),
            ("session folders", before.folders, self.folders),
        ] {
            if is > was + 4 {
                faults.push(format!("{what} grew from {was} to {is}"));
            }
        }
        faults
    }
}

/// Every process below one, at any depth.
pub(crate) fn below(process: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut open = vec![process];
    while let Some(next) = open.pop() {
        for task in std::fs::read_dir(format!("/proc/{next}/task")).into_iter().flatten().flatten() {
            let children = read(&format!("{}/children", task.path().display()));
            open.extend(children.split_whitespace().filter_map(|child| child.parse().ok()).filter(|child| found.insert(*child)));
        }
    }
    found
}

/// How many of these processes are still there, and no zombies.
pub(crate) fn alive(processes: &BTreeSet<u32>) -> usize {
    let is_alive = |process: &&u32| {
        let stat = read(&format!("/proc/{process}/stat"));
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    };
    processes.iter().filter(is_alive).count()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Folders below a folder.
pub(crate) fn folders(folder: &Path) -> usize {
    std::fs::read_dir(folder)
        .map_or(0, |entries| entries.flatten().filter(|entry| entry.path().is_dir()).map(|entry| 1 + folders(&entry.path())).sum())
}
