//! A manifest that changed while the server runs. What is tighter holds for every call that follows; what is looser in any respect waits for
//! the operator, and meanwhile only what both manifests allow is open. Nothing here can be reached by a call.

use std::sync::{Arc, PoisonError};

use super::door::{Door, Gate, lock};
use crate::manifest::Manifest;

/// A manifest that waits for the operator.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// The manifest.
    pub manifest: Arc<Manifest>,
    /// In what respects it may be looser, each with its key.
    pub looser: Vec<String>,
}

/// What became of a manifest that was offered.
#[derive(Debug, Clone)]
pub enum Taken {
    /// It is the one in force.
    Same,
    /// It is in force: nothing in it is looser.
    InForce,
    /// It waits. Whether what it tightens is in force already, or it tightens nothing.
    Waits {
        /// What waits.
        waiting: Waiting,
        /// Whether anything became tighter at once.
        tightened: bool,
    },
}

impl Gate {
    /// Takes a new manifest as far as it is tighter. What is in force only ever becomes tighter by this.
    pub fn offer(&self, new: Manifest) -> Taken {
        let mut waiting = lock(&self.waiting);
        let old = self.manifest();
        if old.sha256 == new.sha256 {
            *waiting = None;
            return Taken::Same;
        }
        let looser = old.loosened_by(&new);
        let new = Arc::new(new);
        if looser.is_empty() {
            *waiting = None;
            self.put(Arc::clone(&new));
            return Taken::InForce;
        }
        // Where the old one is as tight in all there is nothing to gain, and what hangs on it (grants, questions) may live on.
        let tightened = !new.loosened_by(&old).is_empty();
        if tightened {
            self.put(Arc::new(old.meet(&new)));
        }
        let told = Waiting { manifest: new, looser };
        *waiting = Some(told.clone());
        Taken::Waits { waiting: told, tightened }
    }

    /// What waits for the operator.
    pub fn waiting(&self) -> Option<Waiting> {
        lock(&self.waiting).clone()
    }

    /// Puts what waits in force: the operator said so. None when nothing waits, or something else.
    pub fn apply(&self, sha256: &[u8; 32]) -> Option<Waiting> {
        let mut waiting = lock(&self.waiting);
        let taken = waiting.take_if(|waiting| waiting.manifest.sha256 == *sha256)?;
        self.put(Arc::clone(&taken.manifest));
        Some(taken)
    }

    /// Whether the manifest of this door is still the one in force.
    pub fn is_current(&self, door: &Door) -> bool {
        self.manifest().sha256 == door.manifest.sha256
    }

    fn put(&self, manifest: Arc<Manifest>) {
        *self.manifest.write().unwrap_or_else(PoisonError::into_inner) = manifest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::StateDir;
    use crate::model::Bytes;

    fn manifest(rest: &str) -> Manifest {
        let text = format!(
            "version = 1\n[roots.r]\npath = \"/r\"\nmode = \"rw\"\nallowed_paths = [\"**\"]\n[profiles.p]\npermissions = [\"STANDARD\"]\nallowed_tools = [\"*\"]\n{rest}"
        );
        crate::manifest::parse(&text, crate::tools::specs()).unwrap()
    }

    fn gate(rest: &str) -> (tempfile::TempDir, Gate) {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        (folder, Gate::new(manifest(rest), Arc::new(state)).unwrap())
    }

    #[test]
    fn tighter_is_in_force_at_once_and_looser_waits() {
        let (_keep, gate) = gate("[files]\nmax_file_size = \"1 MiB\"");
        let tighter = manifest("[files]\nmax_file_size = \"1 KiB\"");
        assert!(matches!(gate.offer(tighter.clone()), Taken::InForce));
        assert_eq!(gate.manifest().sha256, tighter.sha256);
        let looser = manifest("[files]\nmax_file_size = \"2 KiB\"");
        let Taken::Waits { waiting, tightened: false } = gate.offer(looser.clone()) else { panic!("it must wait") };
        assert_eq!(waiting.looser, ["files.max_file_size: is raised"]);
        assert_eq!(gate.manifest().sha256, tighter.sha256, "what hangs on the old one lives on");
        assert!(gate.apply(&[0; 32]).is_none() && gate.waiting().is_some(), "another digest applies nothing");
        assert!(gate.apply(&looser.sha256).is_some() && gate.waiting().is_none());
        assert_eq!(gate.manifest().files.max_file_size, Bytes::kib(2));
        assert!(gate.apply(&looser.sha256).is_none(), "once");
    }

    #[test]
    fn of_a_mixed_change_the_tighter_part_holds_at_once() {
        let (_keep, gate) = gate("[files]\nmax_file_size = \"1 MiB\"");
        let door = gate.door();
        let mixed = manifest("[files]\nmax_file_size = \"2 MiB\"\ndenied_paths = [\"secret/**\"]");
        assert!(matches!(gate.offer(mixed.clone()), Taken::Waits { tightened: true, .. }));
        let now = gate.manifest();
        assert_eq!((now.files.max_file_size, now.files.denied.len()), (Bytes::mib(1), 1));
        assert!(!gate.is_current(&door) && gate.is_current(&gate.door()));
        // Taking the change back takes nothing away from what is denied by now.
        assert!(matches!(gate.offer(manifest("[files]\nmax_file_size = \"1 MiB\"")), Taken::Waits { .. }));
        assert_eq!(gate.manifest().files.denied.len(), 1);
        assert!(gate.apply(&mixed.sha256).is_none(), "what waited before waits no more");
    }
}
