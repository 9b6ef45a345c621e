//! Asks systemd for a scope of our own in which groups may be made: the hierarchy is its, and nobody else may write there unasked.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Asks once, for this process alone; true when the answer was yes. The move itself comes a little later.
pub(super) fn ask() -> bool {
    static ASKED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *ASKED.get_or_init(|| {
        let user = rustix::process::geteuid();
        let bus = (!user.is_root()).then(|| PathBuf::from(format!("/run/user/{}", user.as_raw())));
        let is_there = bus.as_ref().map_or_else(|| Path::new("/run/systemd/system").exists(), |bus| bus.join("bus").exists());
        is_there && call(bus.as_deref(), rustix::process::getpid().as_raw_nonzero().get())
    })
}

fn call(runtime_dir: Option<&Path>, pid: i32) -> bool {
    let mut command = Command::new("/usr/bin/busctl");
    command.args(arguments(runtime_dir.is_some(), pid)).env_clear();
    if let Some(folder) = runtime_dir {
        command.env("XDG_RUNTIME_DIR", folder);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// `StartTransientUnit(name, mode, properties, aux)` (org.freedesktop.systemd1(5)): a scope with this process in it, delegated to us.
fn arguments(of_user: bool, pid: i32) -> Vec<String> {
    let mut all = Vec::new();
    if of_user {
        all.push("--user".to_owned());
    }
    let name = format!("toolgate-{pid}.scope");
    let pid = pid.to_string();
    let rest = [
        "--timeout=2",
        "call",
        "org.freedesktop.systemd1",
        "/org/freedesktop/systemd1",
        "org.freedesktop.systemd1.Manager",
        "StartTransientUnit",
        "ssa(sv)a(sa(sv))",
        &name,
        "fail",
        "3",
        "Delegate",
        "b",
        "true",
        "CollectMode",
        "s",
        "inactive-or-failed",
        "PIDs",
        "au",
        "1",
        &pid,
        "0",
    ];
    all.extend(rest.map(str::to_owned));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_is_delegated_and_holds_this_process() {
        let text = arguments(true, 41).join(" ");
        assert!(text.starts_with("--user --timeout=2 call org.freedesktop.systemd1 "), "{text}");
        assert!(text.ends_with("toolgate-41.scope fail 3 Delegate b true CollectMode s inactive-or-failed PIDs au 1 41 0"), "{text}");
        assert!(!arguments(false, 41).contains(&"--user".to_owned()));
    }
}
