//! Which backends held how much when all of them were tried last, on this machine as it is: a server then tries the strongest first, and the others
//! only when it no longer holds what it did. Each server proves by itself what it uses.

#![expect(clippy::disallowed_methods, reason = "what a machine allows stands in files of its kernel")]

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::backend::Probe;
use crate::audit::StateDir;

/// How much each backend held, and where that was.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ranking {
    machine: String,
    /// The layers that it held, where programs ran in it at all.
    strengths: BTreeMap<String, Option<usize>>,
}

impl Ranking {
    /// What is remembered of this machine; nothing where it may allow something else by now.
    pub(super) async fn recall(state: Option<&Arc<StateDir>>) -> Self {
        let state = state.cloned();
        let recalled = tokio::task::spawn_blocking(move || {
            let machine = machine();
            let text = state.as_ref().and_then(|state| state.recall(NAME));
            let known: Option<Self> = text.and_then(|text| serde_json::from_slice(&text).ok());
            known.filter(|known| known.machine == machine).unwrap_or_else(|| Self { machine, ..Self::default() })
        });
        recalled.await.unwrap_or_default()
    }

    /// Where a backend stands: those that held most come first, those that are not known after them in their own order.
    pub(super) fn place(&self, name: &str) -> usize {
        let strength = self.strengths.get(name).copied().flatten();
        strength.map_or(usize::MAX, |strength| usize::MAX.saturating_sub(strength).saturating_sub(1))
    }

    /// Whether a backend holds what it held, and none of `others` held more: then they are not tried.
    pub(super) fn settles(&self, name: &str, probe: &Probe, mut others: impl Iterator<Item = &'static str>) -> bool {
        let strength = Some(probe.strength());
        let is_as_before = probe.usable && self.strengths.get(name) == Some(&strength);
        is_as_before && others.all(|other| other == name || self.strengths.get(other).is_some_and(|held| *held <= strength))
    }

    /// Takes note of what a backend holds.
    pub(super) fn note(&mut self, name: &str, probe: &Probe) {
        self.strengths.insert(name.to_owned(), probe.usable.then(|| probe.strength()));
    }

    /// Remembers it for the next server.
    pub(super) async fn remember(self, state: Option<&Arc<StateDir>>) {
        let Some(state) = state.cloned() else { return };
        let remembered = tokio::task::spawn_blocking(move || {
            let text = serde_json::to_vec(&self).map_err(std::io::Error::other)?;
            state.remember(NAME, &text)
        });
        if let Ok(Err(fault)) = remembered.await {
            tracing::debug!(%fault, "which backend holds most here is not remembered");
        }
    }
}

/// Under which name it is kept.
const NAME: &str = "backends";

/// A digest of what decides what a jail can be built from: the kernel's start, our own program and the one of another backend, this process's
/// rights and namespaces, and the settings of the system.
fn machine() -> String {
    let mut digest = Sha256::new();
    let mut add = |text: &[u8]| {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text);
    };
    for path in SETTINGS {
        add(&std::fs::read(path).unwrap_or_default());
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let rights = status.lines().filter(|line| RIGHTS.iter().any(|name| line.starts_with(name)));
    for line in rights {
        add(line.as_bytes());
    }
    let mut own: Vec<PathBuf> = std::fs::read_dir("/proc/self/ns")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .collect();
    own.sort();
    for namespace in &own {
        add(namespace.as_os_str().as_encoded_bytes());
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    let wrapper = std::env::split_paths(&search).map(|folder| folder.join("bwrap")).find(|file| file.is_file());
    for file in [Some(PathBuf::from("/proc/self/exe")), wrapper].into_iter().flatten() {
        let Ok(seen) = std::fs::metadata(&file) else { continue };
        add(format!("{} {} {} {} {}", seen.dev(), seen.ino(), seen.size(), seen.mtime(), seen.ctime()).as_bytes());
    }
    crate::audit::hex::long(&digest.finalize())
}

const SETTINGS: [&str; 9] = [
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/user/max_mnt_namespaces",
    "/proc/sys/user/max_pid_namespaces",
    "/proc/self/attr/current",
    "/proc/self/uid_map",
    "/proc/self/cgroup",
];

/// Lines of `/proc/self/status` (`proc_pid_status(5)`).
const RIGHTS: [&str; 8] = ["Uid:", "Groups:", "CapInh:", "CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:", "Seccomp_filters:"];

#[cfg(test)]
mod tests {
    use super::super::spec::{Layer, Layers};
    use super::*;

    fn probe(layers: usize) -> Probe {
        let held = |at| if at < layers { "on" } else { "off" };
        let all: Layers = Layer::ALL.iter().enumerate().map(|(at, layer)| (layer.as_str().to_owned(), held(at).to_owned())).collect();
        Probe { usable: layers > 0, layers: all, why_not: None }
    }

    #[tokio::test]
    async fn the_strongest_comes_first_and_is_enough_while_it_holds_what_it_did() {
        let folder = tempfile::tempdir().unwrap();
        let state = Arc::new(StateDir::open(&folder.path().join("state")).unwrap());
        let mut first = Ranking::recall(Some(&state)).await;
        let all = ["a", "b", "c"];
        assert!(!first.settles("a", &probe(3), all.into_iter()), "nothing is known");
        assert!(all.map(|name| first.place(name)).is_sorted(), "their own order");
        for (name, layers) in [("a", 0), ("b", 2), ("c", 4)] {
            first.note(name, &probe(layers));
        }
        first.clone().remember(Some(&state)).await;
        let known = Ranking::recall(Some(&state)).await;
        assert_eq!(known, first);
        let mut sorted = all;
        sorted.sort_by_key(|name| known.place(name));
        assert_eq!(sorted, ["c", "b", "a"]);
        assert!(known.settles("c", &probe(4), all.into_iter()));
        assert!(!known.settles("c", &probe(3), all.into_iter()), "it holds less than it did");
        assert!(!known.settles("c", &probe(5), all.into_iter()), "something has changed");
        assert!(!known.settles("b", &probe(2), all.into_iter()), "another held more");
        assert!(known.settles("b", &probe(2), ["a", "b"].into_iter()), "the other is not wanted");
        assert!(!known.settles("c", &probe(4), ["c", "d"].into_iter()), "nothing is known of one");
    }

    #[tokio::test]
    async fn what_was_found_on_another_machine_or_is_broken_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let state = Arc::new(StateDir::open(&folder.path().join("state")).unwrap());
        let elsewhere = Ranking { machine: "another".to_owned(), strengths: [("a".to_owned(), Some(5))].into() };
        elsewhere.clone().remember(Some(&state)).await;
        assert!(Ranking::recall(Some(&state)).await.strengths.is_empty());
        for text in ["", "{}", "[1]"] {
            state.remember(NAME, text.as_bytes()).unwrap();
            assert!(Ranking::recall(Some(&state)).await.strengths.is_empty(), "{text}");
        }
        assert!(Ranking::recall(None).await.strengths.is_empty());
    }
}
