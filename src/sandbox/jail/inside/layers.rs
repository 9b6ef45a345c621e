//! What stands so far, and whether that is enough.

use crate::sandbox::jail::ground::PARTIAL_MEMORY;
use crate::sandbox::jail::order::Word;
use crate::sandbox::jail::spec::{Layer, Layers};

/// The layers as they are built, one after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Built(Layers);

impl Built {
    /// Notes that a layer stands.
    pub(super) fn on(&mut self, name: &str) {
        self.0.insert(name.to_owned(), "on".to_owned());
    }

    /// Notes why a layer does not stand.
    pub(super) fn missing(&mut self, name: &str, reason: impl std::fmt::Display) {
        self.0.insert(name.to_owned(), reason.to_string());
    }

    /// Notes how far memory is bounded, once it is known whether a control group bounds it: `unseen` says why its processes cannot be added up.
    pub(super) fn memory(&mut self, unseen: Option<&str>) {
        match (self.has("memory_cgroup"), unseen) {
            (true, _) => self.on("memory"),
            (false, None) => self.missing("memory", PARTIAL_MEMORY),
            (false, Some(why)) => self.missing("memory", format!("partial: bounded for each process alone: {why}")),
        }
    }

    /// Whether a layer stands.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|state| state == "on")
    }

    /// The first required layer that does not stand, as the word that refuses the call.
    pub(super) fn shortage(&self, require: &[Layer]) -> Option<Word> {
        let missing = require.iter().find(|layer| !self.has(layer.as_str()))?;
        let reason = self.0.get(missing.as_str()).map_or("off", String::as_str);
        Some(Word::Unavailable { layer: missing.as_str().to_owned(), reason: reason.to_owned() })
    }

    /// The whole list.
    pub(super) fn all(&self) -> Layers {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_required_layer_that_is_missing_is_named_with_its_reason_and_one_that_stands_is_not() {
        let mut built = Built::default();
        built.on("network");
        built.missing("memory", "no cgroup");
        assert!(built.shortage(&[Layer::Network]).is_none());
        let word = built.shortage(&[Layer::Network, Layer::Memory]);
        assert!(matches!(&word, Some(Word::Unavailable { layer, reason }) if layer == "memory" && reason == "no cgroup"), "{word:?}");
    }

    #[test]
    fn memory_is_on_only_where_a_control_group_bounds_all_of_it() {
        let state = |group: bool, unseen| {
            let mut built = Built::default();
            if group {
                built.on("memory_cgroup");
            }
            built.memory(unseen);
            built.all().remove("memory").unwrap()
        };
        assert_eq!([state(true, None), state(true, Some("no /proc"))], ["on", "on"]);
        assert!(
            state(false, None).starts_with("partial: ") && state(false, Some("no /proc")).starts_with("partial: bounded for each process")
        );
    }
}
