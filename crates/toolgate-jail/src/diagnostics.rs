//! What to change on a machine that withholds namespaces or mounts: told by what it says of itself, where it says anything.

#![expect(clippy::disallowed_methods, reason = "the jail process reads the kernel's settings to say which of them is in the way")]

use std::path::Path;

use crate::backend::NotStarted;

/// What a machine says of itself.
#[expect(clippy::struct_excessive_bools, reason = "each is one setting of the machine, on or off")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Facts {
    /// `kernel.apparmor_restrict_unprivileged_userns` is set (Ubuntu).
    apparmor: bool,
    /// `user.max_user_namespaces` is 0.
    none_allowed: bool,
    /// `kernel.unprivileged_userns_clone` is 0 (Debian).
    unprivileged_off: bool,
    /// In a container of Docker, Podman or Kubernetes.
    container: bool,
    /// A system call filter from outside stands already.
    filtered: bool,
}

/// Why there is no such namespace.
pub(crate) fn no_namespace(name: &str, error: nix::Error) -> NotStarted {
    let layer = match name {
        "mount" => "filesystem",
        "net" => "network",
        _ => "processes",
    };
    NotStarted::Unavailable(layer.to_owned(), format!("no {name} namespace ({error}); {}", namespaces()))
}

/// Why something could not be mounted: refused, or our own fault.
pub(crate) fn no_mount(doing: &str, error: rustix::io::Errno) -> NotStarted {
    use rustix::io::Errno;
    if !matches!(error, Errno::PERM | Errno::ACCESS | Errno::NOSYS) {
        return NotStarted::fault(doing, error);
    }
    let reason = format!("no mount may be made ({doing}: {error}); {}", mounts(facts()));
    NotStarted::Unavailable("filesystem".to_owned(), reason)
}

/// What lets namespaces be made here.
pub(crate) fn namespaces() -> String {
    for_namespaces(facts())
}

/// What lets a fresh `/proc` be mounted in a container.
pub(crate) const PROC: &str = "in Docker `--security-opt systempaths=unconfined`, in Kubernetes `procMount: Unmasked`";

fn for_namespaces(facts: Facts) -> String {
    let mut changes = Vec::new();
    if facts.apparmor {
        changes
            .push("`sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or an AppArmor profile for toolgate with the line `userns,`");
    }
    if facts.none_allowed {
        changes.push("`sysctl user.max_user_namespaces=15000`");
    }
    if facts.unprivileged_off {
        changes.push("`sysctl kernel.unprivileged_userns_clone=1`");
    }
    if facts.container || (facts.filtered && changes.is_empty()) {
        changes.push(DOCKER);
    }
    if changes.is_empty() {
        changes.push(
            "allow user namespaces: `user.max_user_namespaces`, `kernel.unprivileged_userns_clone`, \
             `kernel.apparmor_restrict_unprivileged_userns`, or a container profile that permits them",
        );
    }
    changes.join("; ")
}

fn mounts(facts: Facts) -> &'static str {
    if facts.container || facts.filtered {
        DOCKER
    } else {
        "allow mounts in user namespaces: a security module (AppArmor, SELinux) refuses them"
    }
}

const DOCKER: &str = "in Docker or Podman `--security-opt seccomp=PROFILE` with a profile that permits unshare, clone, mount, move_mount, \
     open_tree, mount_setattr, umount2 and pivot_root (or `seccomp=unconfined`), with `--security-opt apparmor=unconfined` and \
     `--security-opt systempaths=unconfined`";

fn facts() -> Facts {
    let is = |name: &str, value: &str| std::fs::read_to_string(format!("/proc/sys/{name}")).is_ok_and(|text| text.trim() == value);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let marks = ["/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io"];
    Facts {
        apparmor: is("kernel/apparmor_restrict_unprivileged_userns", "1"),
        none_allowed: is("user/max_user_namespaces", "0"),
        unprivileged_off: is("kernel/unprivileged_userns_clone", "0"),
        container: marks.iter().any(|mark| Path::new(mark).exists()),
        filtered: status.lines().any(|line| line.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() == "2")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_that_is_in_the_way_is_named_and_no_other() {
        let none = Facts::default();
        let table = [
            (Facts { apparmor: true, ..none }, "kernel.apparmor_restrict_unprivileged_userns=0"),
            (Facts { none_allowed: true, ..none }, "user.max_user_namespaces=15000"),
            (Facts { unprivileged_off: true, ..none }, "kernel.unprivileged_userns_clone=1"),
            (Facts { container: true, ..none }, "--security-opt"),
            (Facts { filtered: true, ..none }, "--security-opt"),
        ];
        for (facts, named) in table {
            let text = for_namespaces(facts);
            assert!(text.contains(named), "{text}");
            for (_, other) in table.iter().filter(|(_, other)| *other != named) {
                assert!(!text.contains(other), "{text}");
            }
        }
        assert!(for_namespaces(none).contains("user.max_user_namespaces"));
    }

    #[test]
    fn a_refused_mount_is_a_missing_layer_and_another_failure_is_our_fault() {
        assert!(matches!(no_mount("mounting", rustix::io::Errno::PERM), NotStarted::Unavailable(layer, _) if layer == "filesystem"));
        assert!(matches!(no_mount("mounting", rustix::io::Errno::INVAL), NotStarted::Fault(_)));
    }
}
