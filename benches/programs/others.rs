//! Other sandboxes around the same program, each as its manual has it for a whole isolation without a network.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Every one, with its command where it is installed.
pub(crate) fn all(python: &Path) -> Vec<(&'static str, Option<Command>)> {
    let python = python.display().to_string();
    let program = [python.as_str(), "-I", "-S", "-c", "pass"];
    let make = |name: &str, arguments: &[&str]| {
        installed(name).map(|path| {
            let mut command = Command::new(path);
            command.args(arguments).args(program);
            command
        })
    };
    let bubblewrap = ["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev"];
    let nsjail = ["-Mo", "-Q", "--chroot", "/", "--rlimit_as", "4096", "--"];
    vec![
        ("bubblewrap (no limits, no filter)", make("bwrap", &bubblewrap)),
        ("nsjail", make("nsjail", &nsjail)),
        ("hakoniwa", make("hakoniwa", &["run", "--rootfs=/", "--"])),
    ]
}

fn installed(name: &str) -> Option<PathBuf> {
    let search = std::env::var_os("PATH")?;
    std::env::split_paths(&search).map(|folder| folder.join(name)).find(|file| file.is_file())
}
