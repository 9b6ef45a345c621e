//! Prints an HTML file as Markdown: `cargo run --example page -- FILE`.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example reads a file and prints")]

use std::process::ExitCode;

use toolgate_page::{Options, decode, read_html};

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        println!("usage: page FILE");
        return ExitCode::from(2);
    };
    match std::fs::read(&path) {
        Ok(body) => {
            println!("{}", read_html(&decode(&body, None), &Options::default()).text);
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{path}: {error}");
            ExitCode::from(2)
        }
    }
}
