//! Machines that withhold something, played by a system call filter over the server itself: what is left must be found, said, and hold.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be set up fails loudly; a JSON value read by a missing name is null"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, apply_filter_all_threads,
};
use toolgate::sandbox::pages::{Job, Readers, Source};
use toolgate::sandbox::programs::{Client, Limit, NoRun, Status};
use toolgate_page::{Format, Mode};

use super::calls::{alive, wait_until};
use super::harness::{self, Row, World};
use super::table;

/// The variable that says what a test process is to do without.
const WITHOUT: &str = "TOOLGATE_TEST_WITHOUT";
const USER_NAMESPACE: u64 = 0x1000_0000;
const NAMESPACES: [u64; 7] = [USER_NAMESPACE, 0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x2000_0000, 0x4000_0000];
const MOUNTS: [i64; 10] = [
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_mount_setattr,
    libc::SYS_chroot,
    libc::SYS_fspick,
];

/// Refuses, to this process and all it starts, some of the kernel's means.
fn do_without(what: &str) {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let flags: &[u64] = match what {
        "users" => &[USER_NAMESPACE],
        _ => &NAMESPACES,
    };
    let with = |flag: &u64| {
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(*flag), *flag).unwrap();
        SeccompRule::new(vec![condition]).unwrap()
    };
    for call in [libc::SYS_unshare, libc::SYS_clone] {
        rules.insert(call, flags.iter().map(with).collect());
    }
    if what != "users" {
        rules.extend(MOUNTS.iter().map(|call| (*call, Vec::new())));
    }
    if what == "landlock" {
        rules.extend([444, 445, 446].map(|call| (call, Vec::new())));
    }
    put_up(rules, libc::EPERM);
    // Its flags lie behind a pointer; glibc falls back to `clone`.
    put_up(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS);
}

fn put_up(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) {
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, std::env::consts::ARCH.try_into().unwrap()).unwrap();
    apply_filter_all_threads(&BpfProgram::try_from(filter).unwrap()).unwrap();
}

/// Plays the machine in a process of its own. Where the tests run as root, all of them run as an ordinary user as well, these among them.
fn play(test: &str, what: &str) {
    harness::again(false, &["--exact", &format!("programs::backends::restricted_machines::{test}")], &[(WITHOUT, what)]);
}

fn is_played() -> bool {
    std::env::var(WITHOUT).is_ok_and(|what| {
        do_without(&what);
        true
    })
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What `toolgate doctor` says here.
fn doctor() -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tools.toml"), format!("version = 1\n[python]\ninterpreter = {:?}\n", harness::SYSTEM_PYTHON))
        .unwrap();
    let mut command = std::process::Command::new(harness::helper());
    let output = command.args(["doctor", "--json", "--manifest"]).arg(folder.path().join("tools.toml")).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// Landlock is the strongest backend, holds what it says, and the machine's lacks are named with their mend.
fn holds_by_landlock(native_lacks: &str) -> World {
    let off = ["filesystem", "processes"];
    let world = World::of("auto").unwrap();
    assert_eq!(world.backend(), "landlock");
    for layer in ["filesystem", "network", "processes", "syscalls", "memory"] {
        // An ordinary user has no control group here.
        let is_off = off.contains(&layer) || layer == "memory" && world.layer("memory_cgroup") != "on";
        assert_eq!(world.layer(layer) != "on", is_off, "{layer}: {}", world.layer(layer));
    }
    let refused = World::of("native").err();
    assert!(matches!(&refused, Some(NoRun::Unavailable { reason, .. }) if reason.contains(native_lacks)), "{refused:?}");
    let told = doctor();
    assert_eq!(told["chosen"], "landlock", "{told}");
    let native = &told["backends"][0];
    assert_eq!((native["name"].as_str(), native["usable"].as_bool()), (Some("native"), Some(false)));
    let why = native["why_not"].as_str().unwrap();
    assert!(why.contains(native_lacks) && why.contains("--security-opt"), "{why}");
    for layer in off {
        let said = told["backends"][1]["layers"][layer].as_str().unwrap();
        assert!(said.starts_with("reduced: ") || said.starts_with("partial: "), "{said}");
    }
    world
}

fn goes_through(world: &World, rows: &[Row]) {
    let failures = world.go_through(rows);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn without_user_namespaces_root_holds_all_and_an_ordinary_user_what_landlock_holds() {
    if !is_played() {
        return play("without_user_namespaces_root_holds_all_and_an_ordinary_user_what_landlock_holds", "users");
    }
    // The table goes over Landlock elsewhere.
    if is_root() {
        let world = World::of("auto").unwrap();
        assert_eq!(world.backend(), "native");
        for layer in ["filesystem", "network", "processes", "syscalls"] {
            assert_eq!(world.layer(layer), "on", "{layer}");
        }
        assert_eq!(world.run(&world.spec("print(42)")).unwrap().stdout, "42\n");
    } else {
        holds_by_landlock("no user namespace");
    }
}

#[test]
fn without_any_namespace_landlock_and_the_filter_hold_and_nothing_escapes_the_end() {
    if !is_played() {
        return play("without_any_namespace_landlock_and_the_filter_hold_and_nothing_escapes_the_end", "namespaces");
    }
    let world = holds_by_landlock(if is_root() { "no mount may be made" } else { "no user namespace" });
    if is_root() {
        // No owner can be shown as another here, and nothing is ever run as root instead.
        let spec = world.spec("print(1)");
        std::fs::set_permissions(world.work.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let refused = world.run(&spec);
        assert!(
            matches!(&refused, Err(NoRun::Root { root, reason }) if root == "work" && reason.contains("belongs to user 0")),
            "{refused:?}"
        );
        std::fs::set_permissions(world.work.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    }
    let mut rows = table::rows();
    rows.extend(table::shared());
    goes_through(&world, &rows);
}

/// Which processes stand in this folder.
fn standing_in(folder: &std::path::Path) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter(|process| std::fs::read_link(process.path().join("cwd")).is_ok_and(|place| place == folder)).count()
}

#[test]
fn a_fork_bomb_among_the_hosts_processes_ends_as_that_and_nothing_of_it_lives_on() {
    if !is_played() {
        return play("a_fork_bomb_among_the_hosts_processes_ends_as_that_and_nothing_of_it_lives_on", "namespaces");
    }
    let world = World::of("landlock").unwrap();
    for bomb in [
        "import os\nwhile True:\n    os.fork()",
        "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
        "import os, time\nwhile True:\n    if os.fork() == 0 and os.fork() == 0:\n        time.sleep(600)",
    ] {
        let mut spec = world.spec(bomb);
        // Root's programs have a user of their own, whose bound the kernel keeps exactly: one that takes no notice of that only goes on until its time
        // is over.
        let goes_on = is_root() && bomb.contains("except");
        spec.limits.wall = if goes_on { Duration::from_secs(10) } else { Duration::from_mins(5) };
        let ended = world.run(&spec).unwrap();
        let limit = if goes_on { Limit::Wall } else { Limit::Pids };
        assert_eq!((ended.status, ended.limit), (Status::Limit, Some(limit)), "{bomb}: {ended:?}");
        // What the kernel itself refuses may be over before the first look.
        assert!(is_root() || ended.usage.pids_peak.is_some_and(|peak| peak > 1), "{ended:?}");
        assert_eq!(standing_in(world.work.path()), 0, "{bomb}");
    }
    // Beside it, a program that stays within the bound.
    let threads = "from concurrent.futures import ThreadPoolExecutor\nimport subprocess, sys\nwith ThreadPoolExecutor(4) as pool:\n    print(sum(pool.map(lambda _: subprocess.run([sys.executable, '-ISc', 'pass']).returncode == 0, range(20))))";
    let fits = world.run(&world.spec(threads)).unwrap();
    assert_eq!(fits.stdout, "20\n", "{fits:?}");
}

#[test]
fn a_fork_bomb_that_takes_no_notice_of_what_is_refused_ends_with_its_time_and_is_charged() {
    let world = World::new();
    let mut spec = world.spec("import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass");
    (spec.limits.wall, spec.limits.cpu) = (Duration::from_secs(10), Duration::from_mins(5));
    let ended = world.run(&spec).unwrap();
    assert_eq!((ended.status, ended.limit), (Status::Limit, Some(Limit::Wall)), "{ended:?}");
    assert!(ended.evidence.as_deref().is_some_and(|evidence| evidence.contains("still running")), "{ended:?}");
    assert!(ended.usage.cpu_ms > 100, "{ended:?}");
    // One that starts few and waits for them runs into its time.
    spec.program = "import os, time\nif os.fork() == 0:\n    time.sleep(600)\ntime.sleep(600)".to_owned();
    spec.limits.wall = Duration::from_secs(3);
    let ended = world.run(&spec).unwrap();
    assert_eq!((ended.status, ended.limit), (Status::Limit, Some(Limit::Wall)), "{ended:?}");
}

#[test]
fn what_a_supervisor_leaves_that_was_killed_is_ended_before_its_call_is_answered() {
    if !is_played() {
        return play("what_a_supervisor_leaves_that_was_killed_is_ended_before_its_call_is_answered", "namespaces");
    }
    let program = "import os, signal, time\nfor number in (1, 2, 3, 15):\n    signal.signal(number, signal.SIG_IGN)\nall = [os.getpid()]\nfor _ in range(4):\n    child = os.fork()\n    if child == 0:\n        time.sleep(600)\n    all.append(child)\nopen('new', 'w').write(' '.join(map(str, all)))\nos.rename('new', 'ready')\ntime.sleep(600)";
    let world = World::of("landlock").unwrap();
    let spec = world.spec(program);
    let ready = world.work.path().join("ready");
    let field = |pid: &str, number: usize| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(number - 3).unwrap().to_owned()
    };
    let outcome = std::thread::scope(|scope| {
        let running = scope.spawn(|| world.run(&spec));
        wait_until("the program has its children", || ready.exists());
        // The session is that of the keeper, whose parent is the supervisor.
        let all = std::fs::read_to_string(&ready).unwrap();
        let keeper = field(all.split(' ').next().unwrap(), 6);
        let supervisor: i32 = field(&keeper, 4).parse().unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(supervisor), nix::sys::signal::Signal::SIGKILL).unwrap();
        running.join().unwrap().unwrap()
    });
    assert_ne!(outcome.status, Status::Ok, "{outcome:?}");
    let all = std::fs::read_to_string(&ready).unwrap();
    assert_eq!(all.split(' ').count(), 5);
    wait_until("nothing of it lives on", || !all.split(' ').any(|pid| alive(pid.parse().unwrap())));
    assert_eq!(world.run(&world.spec("print(42)")).unwrap().stdout, "42\n");
}

#[test]
fn without_landlock_as_well_no_program_runs_and_pages_are_read() {
    if !is_played() {
        return play("without_landlock_as_well_no_program_runs_and_pages_are_read", "landlock");
    }
    let refused = World::of("auto").err();
    assert!(
        matches!(&refused, Some(NoRun::Unavailable { layer, reason }) if layer == "backend" && reason.contains("Linux 6.12")),
        "{refused:?}"
    );
    let told = doctor();
    assert_eq!(told.get("chosen"), None, "{told}");
    let job = Job { source: Source::Html, mode: Mode::Page, format: Format::Text, content_type: None, base: None };
    let readers = Readers::new(Arc::new(Client::new(harness::helper())));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let read = runtime.block_on(readers.read(&job, b"<p>a <b>b</b>", Duration::from_mins(1))).unwrap();
    assert_eq!(read.text, "a b\n");
    runtime.block_on(readers.close());
}
