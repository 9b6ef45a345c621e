//! The keys that states are sealed with: one for every 30 days, made when it is first needed.

use std::io;

use super::StateDir;

/// How long a key seals. It opens as long again.
const PERIOD: u64 = 30 * 24 * 3600;
const PREFIX: &str = "seal.";

impl StateDir {
    /// The key that seals at `now` (seconds since 1970), then the one before it, where there is one.
    /// # Errors  When the present key can neither be read nor made.
    pub fn seal_keys(&self, now: u64) -> io::Result<Vec<(String, [u8; 32])>> {
        let name = |period: u64| format!("{PREFIX}{period}");
        let period = now / PERIOD;
        let mut keys = vec![(name(period), self.key(&name(period))?)];
        let before = name(period.wrapping_sub(1));
        // Read, never made: what no key sealed, none opens.
        if self.subfolder("keys")?.has(&before)? {
            keys.push((before.clone(), self.key(&before)?));
        }
        Ok(keys)
    }

    /// Removes the keys that open nothing any more.
    /// # Errors  When they cannot be listed.
    pub(super) fn sweep_seals(&self, now: u64) -> io::Result<()> {
        let keys = self.subfolder("keys")?;
        let period = |name: &str| name.strip_prefix(PREFIX)?.parse::<u64>().ok();
        let is_over = |name: &&String| period(name).is_some_and(|period| period.saturating_add(1) < now / PERIOD);
        keys.names()?.iter().filter(is_over).try_for_each(|name| keys.remove(name))
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::tests::state;
    use super::*;

    #[test]
    fn a_key_seals_for_thirty_days_opens_for_as_long_again_and_is_removed() {
        let (_keep, state) = state();
        let first = state.seal_keys(10 * PERIOD).unwrap();
        assert_eq!(first.len(), 1);
        assert_eq!(state.seal_keys(10 * PERIOD + PERIOD - 1).unwrap(), first);
        let second = state.seal_keys(11 * PERIOD).unwrap();
        assert_eq!((second.len(), &second[1]), (2, &first[0]));
        assert_ne!(second[0].1, first[0].1);
        state.sweep_seals(11 * PERIOD).unwrap();
        assert_eq!(state.seal_keys(11 * PERIOD).unwrap(), second);
        state.sweep_seals(12 * PERIOD).unwrap();
        let third = state.seal_keys(12 * PERIOD).unwrap();
        assert_eq!(third[1..], second[..1]);
        assert!(!state.path().join("keys").join(&first[0].0).exists());
    }
}
