//! A first look at a name: most names are in no table, and one look at length and first letter tells.

use std::sync::LazyLock;

/// For each first byte a bit per length.
#[derive(Debug)]
pub(crate) struct Filter([u32; 256]);

impl Filter {
    pub(crate) fn new(tables: &[&[&str]]) -> Self {
        let mut lengths = [0_u32; 256];
        for name in tables.iter().flat_map(|table| table.iter()) {
            if let Some(entry) = name.as_bytes().first().and_then(|first| lengths.get_mut(usize::from(*first))) {
                *entry |= 1 << name.len().min(31);
            }
        }
        Self(lengths)
    }

    /// False only where no table holds `name`.
    pub(crate) fn may_hold(&self, name: &str) -> bool {
        let lengths = name.as_bytes().first().and_then(|first| self.0.get(usize::from(*first)));
        lengths.is_some_and(|lengths| lengths >> name.len().min(31) & 1 == 1)
    }
}

/// Attributes a rule may refuse, beside those with underscores.
pub(crate) static ATTRIBUTES: LazyLock<Filter> =
    LazyLock::new(|| Filter::new(&[super::ALWAYS_REFUSED, super::RISKY_PUBLIC, &["obj", "evaluate"]]));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_table_holds_passes_and_most_other_names_do_not() {
        let filter = Filter::new(&[&["eval", "a_name_that_is_longer_than_thirty_one_bytes"]]);
        assert!(filter.may_hold("eval") && filter.may_hold("a_name_that_is_longer_than_thirty_one_bytes"));
        assert!(!filter.may_hold("value") && !filter.may_hold("eva") && !filter.may_hold(""));
    }
}
