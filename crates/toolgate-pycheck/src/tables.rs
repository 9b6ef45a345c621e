//! The names that the rules know, from the files in `data/`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// The sections of a data file: the heading between brackets, the rest of its line, the words below. A line that begins with `#` is a comment.
pub(super) fn sections(text: &'static str) -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    let mut sections: Vec<(_, _, Vec<_>)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some((heading, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            sections.push((heading, rest.trim(), Vec::new()));
        } else if let Some((_, _, words)) = sections.last_mut() {
            words.extend(line.split_ascii_whitespace());
        }
    }
    sections
}

/// A list of names. Most names are in no list, and one look at length and first byte tells.
#[derive(Debug)]
pub(super) struct List {
    /// Sorted.
    pub(super) words: Vec<&'static str>,
    /// For each first byte a bit per length.
    lengths: [u32; 256],
}

impl List {
    pub(super) fn new(mut words: Vec<&'static str>) -> Self {
        words.sort_unstable();
        let mut lengths = [0_u32; 256];
        for word in &words {
            if let Some(entry) = word.as_bytes().first().and_then(|first| lengths.get_mut(usize::from(*first))) {
                *entry |= 1 << word.len().min(31);
            }
        }
        Self { words, lengths }
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        let lengths = name.as_bytes().first().and_then(|first| self.lengths.get(usize::from(*first)));
        lengths.is_some_and(|lengths| lengths >> name.len().min(31) & 1 == 1) && self.words.binary_search(&name).is_ok()
    }
}

static NAMES: LazyLock<BTreeMap<&str, Vec<&str>>> =
    LazyLock::new(|| sections(include_str!("../data/names.txt")).into_iter().map(|(name, _, words)| (name, words)).collect());

/// Declares the lists of `data/names.txt`, where each is explained.
macro_rules! lists {
    ($($name:ident)*) => {
        $(pub(super) static $name: LazyLock<List> = LazyLock::new(|| List::new(NAMES.get(stringify!($name)).cloned().unwrap_or_default()));)*
        #[cfg(test)]
        const LISTS: &[(&str, &LazyLock<List>)] = &[$((stringify!($name), &$name)),*];
    };
}

lists! {
    DUNDER_NAMES MODULE_STORES DUNDER_LOADS DUNDER_STORES CLASS_BODY ALWAYS_REFUSED RISKY_PUBLIC FOREIGN_PRIVATE VALUE_TYPES FIELD_BASES
    SPARED_ERRORS LEAVES_CLASSES TELLING_EXPORTS RISKY_MODULES IMPLIED_MODULES ABSENT_BUILTINS WATCHED_EVENTS STANDARD_MODULES
}

static EXPORTS: LazyLock<BTreeMap<&str, BTreeSet<&str>>> = LazyLock::new(|| {
    let lines = include_str!("../data/exports.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(':')).map(|(module, names)| (module, names.split_ascii_whitespace().collect())).collect()
});

/// Whether the table knows what `module` exports.
pub(super) fn knows_module(module: &str) -> bool {
    EXPORTS.contains_key(module)
}

/// Whether `name` is a public name of `module`, a module the table knows.
pub(super) fn is_export(module: &str, name: &str) -> bool {
    EXPORTS.get(module).is_some_and(|names| names.contains(name))
}

/// Whether `module`, or the package it is in, belongs to the standard library.
pub fn is_standard_module(module: &str) -> bool {
    STANDARD_MODULES.contains(module.split('.').next().unwrap_or(module))
}

/// Whether a module of this name, private or not, hands out the machine or the interpreter.
pub(super) fn is_risky_module(name: &str) -> bool {
    RISKY_MODULES.contains(name.trim_start_matches('_'))
}

/// The package whose listing covers this harmless submodule.
pub(super) fn implied_parent(module: &str) -> Option<&str> {
    module.rsplit_once('.').filter(|_| IMPLIED_MODULES.contains(module)).map(|(parent, _)| parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_has_its_section_and_every_section_its_list() {
        let declared: BTreeSet<&str> = LISTS.iter().map(|(name, _)| *name).collect();
        assert_eq!(declared, NAMES.keys().copied().collect());
        assert!(LISTS.iter().all(|(_, list)| !list.words.is_empty()));
    }

    #[test]
    fn a_list_holds_its_words_and_nothing_else() {
        let list = List::new(vec!["eval", "a_name_that_is_longer_than_thirty_one_bytes"]);
        assert!(list.contains("eval") && list.contains("a_name_that_is_longer_than_thirty_one_bytes"));
        assert!(!list.contains("exec") && !list.contains("eva") && !list.contains(""));
    }

    #[test]
    fn modules_that_a_module_imported_are_none_of_its_exports() {
        for (module, name) in [
            ("json", "codecs"),
            ("statistics", "sys"),
            ("datetime", "sys"),
            ("re", "enum"),
            ("enum", "bltns"),
            ("re", "template"),
            ("copy", "dispatch_table"),
        ] {
            assert!(knows_module(module) && !is_export(module, name), "{module}.{name}");
        }
        for (module, name) in [
            ("json", "loads"),
            ("itertools", "batched"),
            ("collections.abc", "Mapping"),
            ("re", "compile"),
            ("math", "tau"),
            ("datetime", "UTC"),
        ] {
            assert!(is_export(module, name), "{module}.{name}");
        }
    }
}
