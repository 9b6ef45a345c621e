//! What stands so far, and whether that is enough.

use crate::backend::NotStarted;
use crate::reasons::{PARTIAL_CPU_TIME, PARTIAL_MEMORY};
use crate::spawner::cgroup::Lacks;
use crate::spec::{Layer, Layers};

/// The layers as they are built, one after the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Built(Layers);

impl Built {
    /// All of it at once.
    pub(crate) fn of<const N: usize>(layers: [(&str, &str); N]) -> Self {
        Self(layers.map(|(name, state)| (name.to_owned(), state.to_owned())).into())
    }

    /// Notes that a layer stands.
    pub(crate) fn on(&mut self, name: &str) {
        self.0.insert(name.to_owned(), "on".to_owned());
    }

    /// Notes why a layer does not stand.
    pub(crate) fn missing(&mut self, name: &str, reason: impl std::fmt::Display) {
        self.0.insert(name.to_owned(), reason.to_string());
    }

    /// Notes how far memory is bounded, once it is known whether a control group bounds it: `unseen` says why its processes cannot be added up.
    pub(crate) fn memory(&mut self, unseen: Option<&str>) {
        match (self.has("memory_cgroup"), unseen) {
            (true, _) => self.on("memory"),
            (false, None) => self.missing("memory", PARTIAL_MEMORY),
            (false, Some(why)) => self.missing("memory", format!("partial: bounded for each process alone: {why}")),
        }
    }

    /// Whether a layer stands.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|state| state == "on")
    }

    /// Notes what the control groups of a jail bound; `percent`: its share of a core.
    pub(crate) fn groups(&mut self, lacks: &Lacks, percent: u32) {
        match &lacks.memory {
            None => self.on("memory_cgroup"),
            Some(reason) => {
                self.missing("memory_cgroup", format!("off: {reason}; until then memory is bounded by address space and by looking"));
            }
        }
        match &lacks.cpu_time {
            None => self.on("cpu_time"),
            Some(reason) => self.missing("cpu_time", format!("{PARTIAL_CPU_TIME}: {reason}")),
        }
        match &lacks.cpu {
            None if !lacks.all_cpu => self.on("cpu_share"),
            None => self.missing("cpu_share", format!("none needed: {percent} % of a core are all there are")),
            Some(reason) => self
                .missing("cpu_share", format!("off: {reason}; until then programs run at low priority and may take more than {percent} %")),
        }
    }

    /// The first required layer that does not stand, and why.
    ///
    /// # Errors
    /// [`NotStarted::Unavailable`].
    pub(crate) fn hold(&self, require: &[Layer]) -> Result<(), NotStarted> {
        let Some(missing) = require.iter().find(|layer| !self.has(layer.as_str())) else { return Ok(()) };
        let reason = self.0.get(missing.as_str()).map_or("off", String::as_str);
        Err(NotStarted::Unavailable(missing.as_str().to_owned(), reason.to_owned()))
    }

    /// The whole list.
    pub(crate) fn all(&self) -> Layers {
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
        assert_eq!(built.hold(&[Layer::Network]), Ok(()));
        let lacking = NotStarted::Unavailable("memory".to_owned(), "no cgroup".to_owned());
        assert_eq!(built.hold(&[Layer::Network, Layer::Memory]), Err(lacking));
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
