//! Groups of a machine that is played by plain folders.

use super::find::Controller;
use super::*;

#[test]
fn kills_are_read_from_both_versions() {
    assert_eq!(kills("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), 3);
    assert_eq!(kills("low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\noom_group_kill 0\n"), 2);
    assert_eq!(kills(""), 0);
}

#[test]
fn processor_time_is_read_from_both_versions() {
    let read = |text: &str| {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        cpu_time(&file)
    };
    assert_eq!(read("usage_usec 1234567\nuser_usec 1000000\nsystem_usec 234567\n"), Some(1_234_567));
    assert_eq!(read("1234567890\n"), Some(1_234_567));
    assert_eq!(read(""), None);
}

fn written(version: Version, controller: Controller, has_cpu: bool, limits: &Limits) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    for there in ["memory.events", "memory.oom_control", "cpu.stat", "cpuacct.usage", "cpu.max", "cpu.cfs_quota_us"] {
        fs::write(folder.path().join(there), "").unwrap();
    }
    let place = Candidate { folder: folder.path().to_owned(), version, controller, has_cpu };
    fit_out(&place, folder.path(), limits).unwrap();
    share(&place, folder.path(), limits).unwrap();
    let mut all: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| (entry.as_ref().unwrap().file_name().into_string().unwrap(), fs::read_to_string(entry.unwrap().path()).unwrap()))
        .filter(|(_, text)| !text.is_empty())
        .collect();
    all.sort();
    all
}

#[test]
fn each_version_is_told_its_bounds_in_its_own_words() {
    let limits = Limits { memory: 1000, cpu_share: 25, processes: 7, ..Limits::default() };
    let told = |all: &[(&str, &str)]| all.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>();
    assert_eq!(
        written(Version::Two, Controller::Memory, true, &limits),
        told(&[("cpu.max", "25000 100000"), ("cpu.weight", "50"), ("memory.max", "1000"), ("memory.swap.max", "0"), ("pids.max", "9")])
    );
    assert_eq!(
        written(Version::Two, Controller::Memory, false, &limits),
        told(&[("memory.max", "1000"), ("memory.swap.max", "0"), ("pids.max", "9")])
    );
    assert_eq!(
        written(Version::One, Controller::Cpu, false, &limits),
        told(&[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "25000"), ("cpu.shares", "512")])
    );
    assert_eq!(
        written(Version::One, Controller::Memory, false, &limits),
        told(&[("memory.limit_in_bytes", "1000"), ("memory.memsw.limit_in_bytes", "1000")])
    );
    for version in [Version::One, Version::Two] {
        assert_eq!(written(version, Controller::CpuTime, false, &limits), told(&[]));
    }
}

#[test]
fn a_call_weighs_the_same_part_of_a_default_in_both_versions_and_neither_nothing_nor_as_much_as_the_server() {
    let limits = Limits::default();
    let set = |version, name: &str| {
        let all = written(version, Controller::Cpu, true, &limits);
        all.iter().find(|(file, _)| file == name).unwrap().1.parse::<u64>().unwrap()
    };
    let (one, two) = (set(Version::One, "cpu.shares"), set(Version::Two, "cpu.weight"));
    // What the kernel gives a group that nothing was set for.
    assert_eq!(one * 100, two * 1024);
    assert!((25..100).contains(&two), "{two}");
}

/// Groups of version 1 as the kernel shows them when nothing is left of a call.
fn left(limits: Limits, place: &Path) -> Group {
    let bound = |name: &str, files: &[(&str, &str)], controller| {
        let folder = place.join(name);
        fs::create_dir(&folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
        let candidate = Candidate { folder: folder.clone(), version: Version::One, controller, has_cpu: false };
        let share = share(&candidate, &folder, &limits).unwrap();
        let file = |name: &str| File::open(folder.join(name)).ok();
        let counter = file("memory.oom_control").or_else(|| file("cpu.stat")).unwrap();
        Bound { counter, usage: file("memory.usage_in_bytes"), cpu_time: None, door: door(&folder).unwrap(), share, folder }
    };
    let memory = [("memory.oom_control", "oom_kill 0\n"), ("memory.usage_in_bytes", "4096\n"), ("tasks", ""), ("cgroup.procs", "")];
    let cpu = [("cpu.stat", "nr_throttled 3\n"), ("cpu.cfs_quota_us", ""), ("tasks", ""), ("cgroup.procs", "")];
    let (memory, cpu) = (bound("memory", &memory, Controller::Memory), bound("cpu", &cpu, Controller::Cpu));
    Group { memory: Some(memory), cpu: Some(cpu), cpu_time: None, lacks: Lacks::default(), limits, before: 0 }
}

fn place() -> Place {
    let none = || Err("none".to_owned());
    Place { memory: none(), cpu: none(), cpu_time: none(), idle: Vec::new() }
}

#[test]
fn a_group_serves_again_where_a_call_cannot_tell_it_from_a_new_one_and_has_its_whole_share() {
    let limits = Limits { cpu_share: 50, ..Limits::default() };
    let folder = tempfile::tempdir().unwrap();
    let mut place = place();
    let group = left(limits, folder.path());
    let share = || fs::read_to_string(folder.path().join("cpu/cpu.cfs_quota_us")).unwrap();
    assert_eq!(share(), "50000");
    fs::write(folder.path().join("cpu/cpu.cfs_quota_us"), "").unwrap();
    place.take_back(group);
    // Set again, which gives the whole of it.
    assert_eq!((place.idle.len(), share().as_str(), place.descriptors().count()), (1, "50000", 6));
    for other in [Limits { memory: 1 << 20, ..limits }, Limits { processes: 3, ..limits }, Limits { cpu_share: 51, ..limits }] {
        assert!(place.make(&other).memory.is_none(), "{other:?}");
    }
    // A call of another length is bounded the same.
    assert!(place.make(&Limits { wall: std::time::Duration::from_secs(1), ..limits }).memory.is_some());
    assert!(place.idle.is_empty() && place.make(&limits).memory.is_none());
}

#[test]
fn a_group_that_tells_of_its_call_does_not_serve_again() {
    for (file, text) in [
        ("memory/memory.oom_control", "oom_kill 1\n"),
        ("memory/memory.usage_in_bytes", "1048577\n"),
        ("memory/memory.usage_in_bytes", "\n"),
        ("memory/cgroup.procs", "17\n"),
        ("cpu/cgroup.procs", "17\n"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (mut place, group) = (place(), left(Limits::default(), folder.path()));
        fs::write(folder.path().join(file), text).unwrap();
        place.take_back(group);
        assert!(place.idle.is_empty(), "{file}: {text}");
    }
}

#[test]
fn no_more_groups_are_kept_than_serve_again_soon() {
    let folders: Vec<_> = (0..=MOST_IDLE).map(|_| tempfile::tempdir().unwrap()).collect();
    let mut place = place();
    for folder in &folders {
        place.take_back(left(Limits::default(), folder.path()));
    }
    assert_eq!(place.idle.len(), MOST_IDLE);
    place.clear();
    assert!(place.idle.is_empty());
}

#[test]
fn groups_of_dead_spawners_are_swept_and_those_of_living_ones_stay() {
    let folder = tempfile::tempdir().unwrap();
    let own = format!("{}{}-00", prefix(), std::process::id());
    let dead = format!("{}4294967295-00", prefix());
    // Of a container that shares the hierarchy.
    let elsewhere = "toolgate-1-4294967295-00";
    for name in [own.as_str(), dead.as_str(), elsewhere, "other-1-00"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    sweep(folder.path());
    let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    let mut stay = ["other-1-00".to_owned(), elsewhere.to_owned(), own];
    stay.sort();
    assert_eq!(left, stay);
}
