#![doc = include_str!("../README.md")]
//!
//! Inside: bytes to text (`source`), a bound on the nesting (`nesting`), the parser, one walk (`walk`), then the rules (`judge`) over the lists the
//! walk made, with their data in `tables`.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod hook;
mod judge;
mod nesting;
mod program;
mod report;
mod rules;
mod scope;
mod source;
mod tables;
mod walk;

pub use hook::{EVENTS, import_hook};
pub use report::{Finding, MAX_FINDINGS, Reason, Report, Severity, Verdict};
pub use rules::{Check, Imports, Rules, Version, VersionFault};
pub use source::MAX_SOURCE;
pub use tables::is_standard_module;

use std::collections::BTreeSet;

use ruff_python_ast::{Mod, PySourceType, PythonVersion};
use ruff_python_parser::{ParseOptions, parse_unchecked};

use report::Raw;

/// Judges a program.
///
/// Never panics and never recurses deeper than `nesting` allows, whatever the text. Takes about 0.1 ms for 100 lines.
pub fn check(source: &str, rules: &Rules) -> Report {
    check_bytes(source.as_bytes(), rules)
}

/// Judges a program as it came, with byte order mark, line ends and encoding cookie.
pub fn check_bytes(bytes: &[u8], rules: &Rules) -> Report {
    let source = match source::normalise(bytes) {
        Ok(source) => source,
        Err(raw) => return report::finish(String::new(), vec![raw]),
    };
    if rules.check == Check::Off {
        return report::finish(source, Vec::new());
    }
    let raw = match nesting::measure(&source) {
        Err(what) => vec![too_deep(what)],
        Ok(depth) => stacker::maybe_grow((depth + 16) * LEVEL, DEEP_STACK, || judged(&source, rules)),
    };
    report::finish(source, raw)
}

/// The top-level names of the modules that a program imports, by a statement or by a call with a constant name; at most `most`. Empty where the
/// program cannot be read. `__future__` and the standard library are left out.
pub fn imported_from_outside(source: &str, most: usize) -> BTreeSet<String> {
    let Ok(source) = source::normalise(source.as_bytes()) else { return BTreeSet::new() };
    let Ok(depth) = nesting::measure(&source) else { return BTreeSet::new() };
    stacker::maybe_grow((depth + 16) * LEVEL, DEEP_STACK, || {
        let parsed = parse_unchecked(&source, ParseOptions::from(PySourceType::Python));
        // After an error the tree is a guess.
        let Mod::Module(module) = parsed.syntax() else { return BTreeSet::new() };
        if !parsed.errors().is_empty() {
            return BTreeSet::new();
        }
        let program = walk::module(&module.body, source.len());
        let names = program.imported().map(|name| name.split('.').next().unwrap_or_default());
        let outside = names.filter(|name| !name.is_empty() && !tables::is_standard_module(name));
        let mut found = BTreeSet::new();
        for name in outside {
            if found.len() == most {
                break;
            }
            found.insert(name.to_owned());
        }
        found
    })
}

/// Stack that one level of the tree may take while it is parsed, walked and dropped, in bytes. Generous: a level is a few frames, also
/// unoptimised; a test runs the deepest shapes on a small stack.
const LEVEL: usize = 8 * 1024;
/// Stack for trees that do not fit the caller's, in bytes; mapped, and touched only as far as it is used.
const DEEP_STACK: usize = 32 * 1024 * 1024;

fn judged(source: &str, rules: &Rules) -> Vec<Raw> {
    let version = PythonVersion { major: rules.target.major, minor: rules.target.minor };
    let parsed = parse_unchecked(source, ParseOptions::from(PySourceType::Python).with_target_version(version));
    let faults: Vec<Raw> = parsed
        .errors()
        .iter()
        .map(|error| syntax(error.location.into(), &error.error.to_string(), "correct the syntax and send the program again"))
        .collect();
    if !faults.is_empty() {
        // After an error the tree is a guess; judging it would say things that are not so.
        return faults;
    }
    let newer = parsed.unsupported_syntax_errors().iter().map(|error| {
        syntax(
            error.range.into(),
            &error.to_string(),
            &format!("the program runs under Python {}; write it for that version", rules.target),
        )
    });
    let mut raw: Vec<Raw> = newer.collect();
    if let Mod::Module(module) = parsed.syntax() {
        judge::judge(&walk::module(&module.body, source.len()), rules, &mut raw);
    }
    raw
}

fn syntax(range: std::ops::Range<usize>, message: &str, hint: &str) -> Raw {
    let message = message.lines().next().unwrap_or_default().trim_end_matches('.').to_owned();
    Raw {
        rule: "syntax",
        severity: Severity::Deny,
        reason: Reason::SyntaxError,
        start: range.start,
        end: range.end,
        message,
        hint: hint.to_owned(),
        module: None,
    }
}

fn too_deep(what: &str) -> Raw {
    Raw {
        rule: "source.nesting",
        severity: Severity::Deny,
        reason: Reason::CodeForbidden,
        start: 0,
        end: 0,
        message: format!("{what} nested too deeply to be read safely"),
        hint: "split it into several statements".to_owned(),
        module: None,
    }
}
