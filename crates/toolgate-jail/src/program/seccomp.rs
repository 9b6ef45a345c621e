//! The system call filter: what no ordinary Python program needs, and what has broken out of sandboxes before.
//!
//! A list of what is refused, not of what is allowed: lists of allowed calls have broken numpy at each release, while the other walls
//! (namespaces, no capabilities, Landlock) already bound what an unlisted call can reach.
//! The lists are `data/seccomp.json` and, for calls of `x86_64` alone, `data/seccomp-x86_64.json`; each rule says why.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter, compile_from_json, sock_filter};

/// What decides which filters a program gets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FilterKind {
    /// Whether it has TCP sockets.
    pub(crate) network: bool,
    /// Whether it can name processes of others by number, among them one that watches it.
    pub(crate) shares_numbers: bool,
    /// Whether it shares processes, users, System V objects and mounts with the host.
    pub(crate) shares_processes: bool,
}

impl FilterKind {
    /// The names of its filters.
    fn filters(self) -> Vec<&'static str> {
        let mut names = vec!["refused", "absent", "unsupported"];
        names.push(if self.network { "tcp_only" } else { "no_network" });
        names.push(if self.shares_numbers { "shared_numbers" } else { "own_numbers" });
        if self.shares_processes {
            names.push("shared_processes");
        }
        names
    }
}

/// Every filter by name, compiled.
#[derive(Debug)]
pub(crate) struct Filters(BTreeMap<String, Vec<BpfProgram>>);

impl Filters {
    /// Compiles them for this machine.
    ///
    /// # Errors
    /// The text of what went wrong.
    pub(crate) fn compile() -> Result<Self, String> {
        TargetArch::try_from(ARCH).map_err(seccompiler::Error::Backend).and_then(Self::compile_for).map_err(|e| e.to_string())
    }

    fn compile_for(arch: TargetArch) -> Result<Self, seccompiler::Error> {
        let mut programs: Vec<(String, BpfProgram)> = compile_from_json(COMMON.as_bytes(), arch)?.into_iter().collect();
        for (name, calls) in NUMBERED {
            let rules = calls.iter().map(|call| (*call, Vec::new())).collect();
            let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(EPERM), arch)?;
            programs.push(((*name).to_owned(), filter.try_into()?));
        }
        if arch == TargetArch::x86_64 {
            programs.extend(compile_from_json(X86_64.as_bytes(), arch)?);
            programs.push(("refused".to_owned(), no_x32()));
        }
        let mut filters = BTreeMap::<_, Vec<_>>::new();
        for (name, program) in programs {
            filters.entry(name).or_default().push(program);
        }
        Ok(Self(filters))
    }

    /// Puts the filters for this kind on this thread and what it starts, for good. The kernel asks all of them and takes the strictest
    /// answer (seccomp(2)).
    ///
    /// # Errors
    /// The text of what went wrong; some of them may be on.
    pub(crate) fn install(&self, kind: FilterKind) -> Result<(), String> {
        for name in kind.filters() {
            for program in self.0.get(name).ok_or_else(|| format!("no system call filter is named {name}"))? {
                apply_filter(program).map_err(|e| e.to_string())?;
            }
        }
        Ok(())
    }
}

/// Kills a process that uses the x32 numbers, which pass every list of 64-bit numbers (seccomp(2), caveats).
fn no_x32() -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    let line = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        line(LOAD_WORD, 0, 0, 0),
        line(JUMP_IF_AT_LEAST, 0, 1, X32),
        line(RETURN, 0, 0, SeccompAction::KillProcess.into()),
        line(RETURN, 0, 0, SeccompAction::Allow.into()),
    ]
}

const COMMON: &str = include_str!("../../data/seccomp.json");
const X86_64: &str = include_str!("../../data/seccomp-x86_64.json");
const EPERM: u32 = nix::errno::Errno::EPERM as u32;

/// Calls that the table of `seccompiler` has no name for, by filter; numbers from 424 on are the same on every architecture.
const NUMBERED: &[(&str, &[i64])] = &[
    // open_tree_attr: mounts. file_setattr: flags, projects, and how much is set aside at a time. listns: namespaces.
    ("refused", &[467, 469, 470]),
    // setxattrat and removexattrat: attributes, which Landlock leaves open.
    ("shared_processes", &[463, 466]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use nix::libc;
    use rustix::fs::{FallocateFlags, MemfdFlags, Mode, OFlags, ResolveFlags};
    use rustix::io::Errno;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket, socketpair};
    use rustix::process::{Pid, Resource, getpid, getrlimit, prlimit, test_kill_process};
    use serde_json::Value;

    use super::*;

    const ORDINARY: FilterKind = FilterKind { network: false, shares_numbers: false, shares_processes: false };
    const NETWORK: FilterKind = FilterKind { network: true, ..ORDINARY };
    const SHARED: FilterKind = FilterKind { network: false, shares_numbers: true, shares_processes: true };
    const ARCHITECTURES: [TargetArch; 2] = [TargetArch::x86_64, TargetArch::aarch64];

    #[test]
    fn the_filters_compile_and_are_short_enough_for_the_kernel() {
        let used: BTreeSet<_> = [NETWORK, SHARED].into_iter().flat_map(FilterKind::filters).collect();
        for arch in ARCHITECTURES {
            let filters = Filters::compile_for(arch).unwrap().0;
            assert_eq!(filters.keys().map(String::as_str).collect::<BTreeSet<_>>(), used);
            assert!(filters.values().flatten().all(|program| program.len() < 4096), "BPF_MAXINSNS");
        }
    }

    /// `seccompiler` forgets a rule without conditions beside another for the same call.
    #[test]
    fn a_call_that_is_refused_whole_stands_once() {
        let lists = [COMMON, X86_64].map(|text| serde_json::from_str::<BTreeMap<String, Value>>(text).unwrap());
        let rules: Vec<_> = lists
            .iter()
            .flatten()
            .flat_map(|(name, filter)| {
                filter["filter"].as_array().unwrap().iter().map(move |rule| (name, rule["syscall"].as_str().unwrap(), rule.get("args")))
            })
            .collect();
        // Those for what is shared repeat what is refused to all with some arguments.
        for (name, call, _) in rules.iter().filter(|(_, _, conditions)| conditions.is_none()) {
            let rivals = rules
                .iter()
                .filter(|(other, same, _)| same == call && (other == name || *name != "shared_processes" && *other != "shared_processes"));
            assert_eq!(rivals.count(), 1, "{call}");
        }
    }

    /// What a call did on a thread with the filters of a kind.
    fn filtered<T: Send>(kind: FilterKind, calls: impl FnOnce() -> T + Send) -> T {
        let filters = Filters::compile().unwrap();
        let install_and_call = || {
            filters.install(kind).unwrap();
            calls()
        };
        std::thread::scope(|scope| scope.spawn(install_and_call).join().unwrap())
    }

    #[test]
    fn attacks_fail_and_ordinary_use_beside_them_works() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = std::fs::File::create(&path).unwrap();
        let mode = |bits| Mode::from_raw_mode(bits);
        let create = |name: &str, bits| rustix::fs::open(folder.path().join(name), OFlags::CREATE | OFlags::WRONLY, mode(bits));
        filtered(ORDINARY, || {
            assert_eq!(create("tool", 0o4755).err(), Some(Errno::PERM));
            assert_eq!(rustix::fs::chmod(&path, mode(0o4755)).err(), Some(Errno::PERM));
            assert_eq!(rustix::fs::fchmod(&file, mode(0o2755)).err(), Some(Errno::PERM));
            assert_eq!(create("other", 0o755).err(), None);
            assert_eq!(rustix::fs::chmod(&path, mode(0o755)).err(), None);

            assert_eq!(nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS), Err(nix::errno::Errno::EPERM));
            assert_eq!(rustix::process::pidfd_open(Pid::INIT, rustix::process::PidfdFlags::empty()).err(), Some(Errno::PERM));
            assert_eq!(test_kill_process(Pid::INIT).err(), Some(Errno::PERM));
            assert_eq!(prlimit(Some(Pid::INIT), Resource::Nofile, getrlimit(Resource::Nofile)).err(), Some(Errno::PERM));
            assert_eq!(test_kill_process(getpid()).err(), None);
            assert_eq!(prlimit(Some(getpid()), Resource::Nofile, getrlimit(Resource::Nofile)).err(), None);
            // The C library makes threads and processes by clone(2) where clone3(2) is absent.
            assert_eq!(std::thread::spawn(|| 1).join().unwrap(), 1);
            assert!(std::process::Command::new("true").status().unwrap().success());

            assert_eq!(rustix::fs::ioctl_ficlone(&file, &file).err(), Some(Errno::PERM));
            assert_eq!(rustix::io::ioctl_fionbio(&file, false).err(), None);
            assert_eq!(rustix::fs::memfd_create("memory", MemfdFlags::CLOEXEC).err(), Some(Errno::NOSYS));
            assert_eq!(
                rustix::fs::openat2(rustix::fs::CWD, ".", OFlags::PATH, Mode::empty(), ResolveFlags::empty()).err(),
                Some(Errno::NOSYS)
            );
            assert_eq!(rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, 10).err(), Some(Errno::OPNOTSUPP));
            assert_eq!(rustix::fs::ftruncate(&file, 10).err(), None);
        });
    }

    #[test]
    fn sockets_are_streams_of_unix_and_with_a_network_tcp() {
        let family = |family, kind| move || socket(family, kind, None).err();
        let pair = |kind| move || socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).err();
        for kind in [ORDINARY, NETWORK] {
            for refused in [
                (AddressFamily::NETLINK, SocketType::RAW),
                (AddressFamily::VSOCK, SocketType::STREAM),
                (AddressFamily::UNIX, SocketType::DGRAM),
                (AddressFamily::UNIX, SocketType::SEQPACKET),
                (AddressFamily::INET, SocketType::DGRAM),
                (AddressFamily::INET6, SocketType::RAW),
            ] {
                assert_eq!(filtered(kind, family(refused.0, refused.1)), Some(Errno::PERM), "{refused:?}");
            }
            assert_eq!(filtered(kind, family(AddressFamily::UNIX, SocketType::STREAM)), None);
            assert_eq!(filtered(kind, pair(SocketType::STREAM)), None);
            assert_eq!(filtered(kind, pair(SocketType::SEQPACKET)), None);
            assert_eq!(filtered(kind, pair(SocketType::DGRAM)), Some(Errno::PERM));
        }
        assert_eq!(filtered(ORDINARY, family(AddressFamily::INET, SocketType::STREAM)), Some(Errno::PERM));
        assert_eq!(filtered(NETWORK, family(AddressFamily::INET, SocketType::STREAM)), None);
        let mptcp = || socket(AddressFamily::INET, SocketType::STREAM, Some(ipproto::MPTCP)).err();
        assert_eq!(filtered(NETWORK, mptcp), Some(Errno::PERM));
    }

    #[test]
    fn what_is_shared_with_the_host_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        filtered(SHARED, || {
            assert_eq!(rustix::fs::chmod(folder.path(), Mode::RWXU).err(), Some(Errno::PERM));
            assert_eq!(rustix::fs::setxattr(folder.path(), "user.a", b"b", rustix::fs::XattrFlags::empty()).err(), Some(Errno::PERM));
            assert_eq!(rustix::process::setpgid(None, None).err(), Some(Errno::PERM));
            assert_eq!(prlimit(Some(getpid()), Resource::Nofile, getrlimit(Resource::Nofile)).err(), Some(Errno::PERM));
            assert_eq!(prlimit(None, Resource::Nofile, getrlimit(Resource::Nofile)).err(), None);
        });
    }

    /// Calls that no safe function makes.
    #[test]
    fn attacks_without_a_wrapper_are_refused() {
        const HIGH: u64 = 1 << 32;
        let eperm = Some(SeccompAction::Errno(EPERM).into());
        let enosys = Some(SeccompAction::Errno(libc::ENOSYS.unsigned_abs()).into());
        let x86_64 = |call, arguments: &[u64]| answer(TargetArch::x86_64, ORDINARY, call, arguments);
        for arch in ARCHITECTURES {
            assert_eq!(answer(arch, ORDINARY, 435, &[]), enosys, "clone3");
            assert_eq!(answer(arch, ORDINARY, 467, &[]), eperm, "open_tree_attr");
            assert_eq!(answer(arch, ORDINARY, 463, &[]), None, "setxattrat");
            assert_eq!(answer(arch, SHARED, 463, &[]), eperm, "setxattrat");
        }
        assert_eq!(x86_64(101, &[]), eperm, "ptrace");
        assert_eq!(x86_64(16, &[0, libc::TIOCSTI]), eperm);
        assert_eq!(x86_64(16, &[0, libc::TIOCSTI | HIGH]), eperm);
        assert_eq!(x86_64(16, &[0, libc::TIOCGWINSZ]), None);
        assert_eq!(x86_64(56, &[libc::CLONE_NEWUSER.unsigned_abs().into()]), eperm, "clone");
        assert_eq!(x86_64(56, &[(libc::CLONE_VM | libc::CLONE_THREAD).unsigned_abs().into()]), None, "clone");
        assert_eq!(x86_64(0x4000_0000, &[]), Some(SeccompAction::KillProcess.into()), "read by its x32 number");
        assert_eq!(x86_64(0, &[]), None, "read");
    }

    /// What the filters of a kind answer to a call; `None` where they let it pass.
    fn answer(arch: TargetArch, kind: FilterKind, call: i64, arguments: &[u64]) -> Option<u32> {
        let filters = Filters::compile_for(arch).unwrap().0;
        let mut data = vec![0_u32; 16];
        data[0] = u32::try_from(call).unwrap();
        data[1] = if arch == TargetArch::x86_64 { 0xc000_003e } else { 0xc000_00b7 };
        for (place, argument) in arguments.iter().enumerate() {
            data[4 + 2 * place] = u32::try_from(argument & 0xffff_ffff).unwrap();
            data[5 + 2 * place] = u32::try_from(argument >> 32).unwrap();
        }
        let programs = kind.filters().into_iter().flat_map(|name| &filters[name]);
        programs.map(|program| run(program, &data)).find(|answer| *answer != libc::SECCOMP_RET_ALLOW)
    }

    /// What the kernel would: `data` is `struct seccomp_data` in words.
    fn run(program: &BpfProgram, data: &[u32]) -> u32 {
        let (mut at, mut word) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            let branch = |holds| usize::from(if holds { jt } else { jf });
            at += 1 + match code {
                0x05 => k as usize,
                0x15 => branch(word == k),
                0x25 => branch(word > k),
                0x35 => branch(word >= k),
                _ => 0,
            };
            match code {
                0x06 => return k,
                0x20 => word = data[k as usize / 4],
                0x54 => word &= k,
                _ => {}
            }
        }
    }
}
