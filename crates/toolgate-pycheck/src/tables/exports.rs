//! What the modules of the standard library export.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// One line per module: its public names, without the modules it merely imported. Read from `CPython` 3.11 (`__all__`, else `dir()` without
/// underscores, modules and foreign functions), with the additions of 3.12 to 3.14 and without what executes text or rewrites tables.
static EXPORTS: LazyLock<BTreeMap<&'static str, BTreeSet<&'static str>>> = LazyLock::new(|| {
    let lines = include_str!("exports.txt").lines();
    lines.filter_map(|line| line.split_once(':')).map(|(module, names)| (module, names.split_ascii_whitespace().collect())).collect()
});

/// The top-level modules of the standard library, private ones included.
static STANDARD: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| include_str!("stdlib.txt").split_ascii_whitespace().collect());

/// Submodules that hold nothing but what their package offers anyway.
const IMPLIED: &[(&str, &str)] =
    &[("collections.abc", "collections"), ("json.decoder", "json"), ("json.encoder", "json"), ("os.path", "os"), ("html.entities", "html")];

/// Modules that hand out the machine or the interpreter; no attribute path through a package may pass them.
const RISKY: &[&str] = &[
    "builtins",
    "bltns",
    "codecs",
    "code",
    "codeop",
    "ctypes",
    "ctypeslib",
    "distutils",
    "f2py",
    "fcntl",
    "ftplib",
    "gc",
    "imp",
    "importlib",
    "inspect",
    "io",
    "linecache",
    "marshal",
    "mmap",
    "multiprocessing",
    "nt",
    "os",
    "pathlib",
    "pickle",
    "pkgutil",
    "platform",
    "posix",
    "posixpath",
    "ntpath",
    "pty",
    "resource",
    "runpy",
    "shelve",
    "shutil",
    "signal",
    "site",
    "socket",
    "subprocess",
    "sys",
    "sysconfig",
    "tempfile",
    "threading",
    "traceback",
    "urllib",
    "weakref",
    "zipimport",
];

/// Whether the table knows what `module` exports.
pub(crate) fn knows_module(module: &str) -> bool {
    EXPORTS.contains_key(module)
}

/// Whether `name` is a public name of `module`, a module the table knows.
pub(crate) fn is_export(module: &str, name: &str) -> bool {
    EXPORTS.get(module).is_some_and(|names| names.contains(name))
}

/// Whether `module`, or the package it is in, belongs to the standard library.
pub fn is_standard_module(module: &str) -> bool {
    STANDARD.contains(module.split('.').next().unwrap_or(module))
}

/// Whether a module of this name, private or not, hands out the machine or the interpreter.
pub(crate) fn is_risky_module(name: &str) -> bool {
    RISKY.contains(&name.trim_start_matches('_'))
}

/// Every harmless submodule and its package.
pub(crate) fn implied() -> impl Iterator<Item = (&'static str, &'static str)> {
    IMPLIED.iter().copied()
}

/// The package whose listing covers this harmless submodule.
pub(crate) fn implied_parent(module: &str) -> Option<&'static str> {
    IMPLIED.iter().find(|(name, _)| *name == module).map(|(_, parent)| *parent)
}

#[cfg(test)]
mod tests {
    use super::*;

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
