//! The command line of toolgate.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = toolgate::sandbox::jail::enter_if_asked() {
        return code;
    }
    ExitCode::SUCCESS
}
