//! Prints what a file holds, a finding a line: `cargo run --example scan -- FILE`.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example reads a file and prints")]

use std::process::ExitCode;

use toolgate_filter::{Detectors, WordRules, escape_line, scan};

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        println!("usage: scan FILE");
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            println!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    for finding in scan(&text, Detectors::ALL, &WordRules::default()) {
        let value = text.get(finding.start..finding.end).unwrap_or_default();
        println!("{}..{} {} {} {}", finding.start, finding.end, finding.kind.as_str(), finding.type_, escape_line(value));
    }
    ExitCode::SUCCESS
}
