//! The command line of toolgate.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

use std::process::ExitCode;

fn main() -> ExitCode {
    // The jail is this very binary; it must be entered before a second thread exists.
    if let Some(code) = toolgate::sandbox::programs::enter_if_asked() {
        return code;
    }
    // So are the readers of hostile pages.
    if let Some(code) = toolgate::sandbox::pages::enter_if_asked() {
        return code;
    }
    toolgate::cli::run()
}
