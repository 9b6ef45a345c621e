//! Groups of a machine that is played by plain folders.

use super::*;

fn file(text: &str) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

#[test]
fn kills_and_processor_time_are_read_from_both_versions() {
    assert_eq!(kills(&file("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")), 3);
    assert_eq!(kills(&file("low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\noom_group_kill 0\n")), 2);
    assert_eq!(kills(&file("")), 0);
    assert_eq!(cpu_time(&file("usage_usec 1234567\nuser_usec 1000000\n")), Some(1234));
    assert_eq!(cpu_time(&file("1234567890\n")), Some(1234));
    assert_eq!(cpu_time(&file("")), None);
}

#[test]
fn each_version_has_its_bounds_in_its_own_files() {
    let limits = Limits { memory: 1000, cpu_share: 25, processes: 7, ..TRIAL };
    let written = |version, controller, has_cpu| {
        let folder = tempfile::tempdir().unwrap();
        let place = Candidate { folder: folder.path().to_owned(), version, controller, has_cpu };
        fit_out(&place, folder.path(), &limits).unwrap();
        let entry = |entry: fs::DirEntry| format!("{} {}", entry.file_name().display(), fs::read_to_string(entry.path()).unwrap());
        let mut all: Vec<String> = fs::read_dir(folder.path()).unwrap().map(|found| entry(found.unwrap())).collect();
        all.sort();
        all
    };
    assert_eq!(
        written(Version::Two, Controller::Memory, true),
        ["cpu.max 25000 100000", "cpu.weight 50", "memory.max 1000", "memory.swap.max 0", "pids.max 9"]
    );
    assert_eq!(written(Version::Two, Controller::Memory, false), ["memory.max 1000", "memory.swap.max 0", "pids.max 9"]);
    assert_eq!(written(Version::One, Controller::Cpu, false), ["cpu.cfs_period_us 100000", "cpu.cfs_quota_us 25000", "cpu.shares 512"]);
    assert_eq!(written(Version::One, Controller::Memory, false), ["memory.limit_in_bytes 1000", "memory.memsw.limit_in_bytes 1000"]);
    assert!(written(Version::One, Controller::CpuTime, false).is_empty());
}

#[test]
fn groups_of_spawners_that_are_gone_are_removed_and_those_of_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let own = format!("{}{}-1", prefix(), std::process::id());
    // No process has this number (`/proc/sys/kernel/pid_max`).
    let gone = format!("{}4194999-1", prefix());
    for name in [&own, &gone, "toolgate-server", "other"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    sweep(folder.path());
    let left = |name: &str| folder.path().join(name).exists();
    assert!(left(&own) && !left(&gone) && left("toolgate-server") && left("other"));
}
