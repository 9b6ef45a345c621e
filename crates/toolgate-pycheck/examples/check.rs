//! Judges a file: `cargo run --example check -- program.py json math` allows the imports `json` and `math`.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example reads a file and prints")]

use std::process::ExitCode;

use toolgate_pycheck::{Rules, Verdict, check};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        println!("usage: check FILE [MODULE…]");
        return ExitCode::from(2);
    };
    let source = match std::fs::read(&path) {
        Ok(source) => source,
        Err(error) => {
            println!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    let report = check(&source, &Rules::strict(arguments));
    for finding in &report.findings {
        println!("{path}:{}:{}: {} ({})\n  {}", finding.line, finding.column, finding.message, finding.rule, finding.hint);
    }
    ExitCode::from(u8::from(report.verdict == Verdict::Deny))
}
