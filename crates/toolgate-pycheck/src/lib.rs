#![doc = include_str!("../README.md")]
//!
//! Inside: bytes to text (`source`), a bound on the nesting (`nesting`), the parser, one walk (`walk`), then the rules (`judge`) over the lists the
//! walk made. The names that rules know lie in `data/`: lists of names, exports of the standard library (`tables`), and what may be used in some
//! ways only (`judge::policy`).
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
pub use rules::{Check, Imports, Rules, Version};
pub use source::MAX_SOURCE;
pub use tables::is_standard_module;

use std::collections::BTreeSet;

use ruff_python_ast::{Mod, PySourceType, PythonVersion};
use ruff_python_parser::{ParseOptions, parse_unchecked};
use ruff_text_size::{Ranged, TextRange};

use report::Problem;

/// Judges a program as it came, with byte order mark, line ends and encoding cookie.
///
/// Never panics and never recurses deeper than `nesting` allows, whatever the bytes. Takes about 0.1 ms for 100 lines.
pub fn check(source: &[u8], rules: &Rules) -> Report {
    let whole = TextRange::default();
    let source = match source::normalise(source) {
        Ok(source) => source,
        Err(problem) => return report::finish(String::new(), vec![(whole, problem)]),
    };
    let raw = match rules.check {
        Check::Off => Vec::new(),
        Check::Strict | Check::Imports => on_deep_stack(&source, || judged(&source, rules)).unwrap_or_else(|what| {
            let message = format!("{what} nested too deeply to be read safely");
            vec![(whole, Problem::new("source.nesting", message, "split it into several statements"))]
        }),
    };
    report::finish(source, raw)
}

/// The top-level names of the modules that a program imports, by a statement or by a call with a constant name. Empty where the program cannot be
/// read. `__future__` and the standard library are left out.
pub fn imports(source: &str) -> BTreeSet<String> {
    let Ok(source) = source::normalise(source.as_bytes()) else { return BTreeSet::new() };
    let read = on_deep_stack(&source, || {
        let parsed = parse_unchecked(&source, ParseOptions::from(PySourceType::Python));
        match parsed.syntax() {
            Mod::Module(module) if parsed.errors().is_empty() => {
                let program = walk::module(&module.body, source.len());
                let names = program.imported().map(|name| name.split('.').next().unwrap_or_default());
                names.filter(|name| !name.is_empty() && !is_standard_module(name)).map(str::to_owned).collect()
            }
            // After an error the tree is a guess.
            _ => BTreeSet::new(),
        }
    });
    read.unwrap_or_default()
}

/// Stack that one level of the tree may take while it is parsed, walked and dropped, in bytes. Generous: a level is a few frames, also
/// unoptimised; a test runs the deepest shapes on a small stack.
const LEVEL: usize = 8 * 1024;
/// Stack for trees that do not fit the caller's, in bytes; mapped, and touched only as far as it is used.
const DEEP_STACK: usize = 32 * 1024 * 1024;

/// Calls `work` with enough stack for the tree of `source`.
///
/// # Errors
/// What nests too deeply.
fn on_deep_stack<T>(source: &str, work: impl FnOnce() -> T) -> Result<T, &'static str> {
    let depth = nesting::measure(source)?;
    Ok(stacker::maybe_grow((depth + 16) * LEVEL, DEEP_STACK, work))
}

fn judged(source: &str, rules: &Rules) -> Vec<(TextRange, Problem)> {
    let syntax = |range: TextRange, message: &str, hint: &str| {
        let message = message.lines().next().unwrap_or_default().trim_end_matches('.');
        (range, Problem::new("syntax", message, hint).reason(Reason::SyntaxError))
    };
    let version = PythonVersion { major: rules.target.major, minor: rules.target.minor };
    let parsed = parse_unchecked(source, ParseOptions::from(PySourceType::Python).with_target_version(version));
    if !parsed.errors().is_empty() {
        // After an error the tree is a guess; judging it would say things that are not so.
        let hint = "correct the syntax and send the program again";
        return parsed.errors().iter().map(|error| syntax(error.location, &error.error.to_string(), hint)).collect();
    }
    let hint = format!("the program runs under Python {}; write it for that version", rules.target);
    let newer = parsed.unsupported_syntax_errors().iter().map(|error| syntax(error.range(), &error.to_string(), &hint));
    let mut raw = newer.collect();
    if let Mod::Module(module) = parsed.syntax() {
        judge::judge(&walk::module(&module.body, source.len()), rules, &mut raw);
    }
    raw
}
