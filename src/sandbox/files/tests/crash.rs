//! Death in the middle of a write, a full disk, and a hostile neighbour.

use std::io::BufRead as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::super::resolve::Resolver;
use super::*;

const CRASH: &str = "TOOLGATE_TEST_WRITE_UNTIL_KILLED";
const STATE: &str = "TOOLGATE_TEST_STATE";

/// Run by the test below in a process of its own; without its variable it does nothing.
#[test]
fn writes_until_it_is_killed() {
    let Some(dir) = std::env::var_os(CRASH) else { return };
    let place = Place { name: "work".to_owned(), at: Where::Folder(dir.into()), quota: None };
    let roots = Roots::open(&[place], &[], std::env::var_os(STATE).map(PathBuf::from).as_deref()).unwrap();
    let terms = Arc::new(Terms::for_test());
    println!("ready");
    for round in 0u64.. {
        let content = vec![b'a' + u8::try_from(round % 26).unwrap(); 200_000];
        let opened = roots.look("s", &[target("work/file")], &[Access::Write(Bytes(200_000))], Symlinks::Deny).unwrap();
        let action = WriteFile { path: call_path("work/file"), content, mode: WriteMode::Overwrite, expected_sha256: None };
        roots.write(Permit::for_test(action, opened, terms.clone())).unwrap();
    }
}

#[test]
fn a_kill_in_the_middle_of_a_write_leaves_the_old_or_the_new_file() {
    let house = House::new();
    house.put("work/file", vec![b'z'; 200_000]);
    for round in 0u64..12 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sandbox::files::tests::crash::writes_until_it_is_killed", "--nocapture", "--test-threads=1"])
            .env(CRASH, house.path("work"))
            .env(STATE, house.path("home/state"))
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("ready")));
        // Killed at another moment each time; the moment is the point, nothing is waited for.
        let until = Instant::now() + Duration::from_micros(3_000 + round * 1_700);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let content = std::fs::read(house.path("work/file")).unwrap();
        assert_eq!((content.len(), content.iter().all(|byte| *byte == content[0])), (200_000, true));
    }
    // What the dead left behind goes with the next start, and so do their notes.
    sweep_until(&house, || std::fs::read_dir(house.path("home/state/temporaries")).unwrap().count() == 0);
    assert_eq!(std::fs::read_dir(house.path("work")).unwrap().count(), 1);
}

/// Sweeps as a start does. The sweep of this house's own start may hold the notes at the same moment.
fn sweep_until(house: &House, is_done: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_mins(1);
    while !is_done() && Instant::now() < until {
        house.roots.sweep().unwrap().join().unwrap();
    }
}

#[test]
fn a_start_removes_what_dead_servers_left_and_nothing_else() {
    let house = House::new();
    let name = |server: &str, rest: &str| format!(".toolgate-{server}{rest}.tmp");
    let (dead, other, rest) = ("0123456789abcdef", "fedcba9876543210", "00112233445566ff");
    // Notes of a dead server: folders of this house's roots, one of them gone, and one of a root that this house does not have.
    let note = |server: &str, folders: &[&str]| {
        let folders: Vec<_> = folders.iter().map(|folder| house.path(folder).display().to_string()).collect();
        house.put(&format!("home/{server}{rest}"), folders.join("\0"))
    };
    // The sweep of this house's own start may still run: notes come whole, and those of a live server locked.
    let lay = |notes: &std::path::Path| {
        let place = house.path("home/state/temporaries").join(notes.file_name().unwrap());
        std::fs::rename(notes, &place).unwrap();
        place
    };
    for folder in ["work", "work/sub", "work/unnoted", "outside"] {
        house.put(&format!("{folder}/{}", name(dead, rest)), "left");
        house.put(&format!("{folder}/{}", name(other, rest)), "alive");
    }
    house.put(&format!("work/{}/deep/file", name(dead, "ffffffffffffffff")), "left");
    house.put("work/.toolgate-notes.tmp", "a user's own");
    lay(&note(dead, &["work/sub", "work/gone", "work"]));
    let kept = lay(&note("1111111111111111", &["work", "outside"]));
    // A live server beside: its notes are locked.
    let live = note(other, &["work"]);
    let lock = std::fs::File::open(&live).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let live = lay(&live);
    sweep_until(&house, || !house.path(&format!("home/state/temporaries/{dead}{rest}")).exists());
    let names = |folder: &str| {
        let mut names: Vec<_> =
            std::fs::read_dir(house.path(folder)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names("work"), [name(other, rest), ".toolgate-notes.tmp".into(), "sub".into(), "unnoted".into()]);
    assert_eq!((names("work/sub"), names("outside").len(), names("work/unnoted").len()), (vec![name(other, rest)], 3, 2));
    assert_eq!(names("home/state/temporaries"), [kept, live].map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()));
    // When that one is dead as well, its file goes.
    drop(lock);
    sweep_until(&house, || !names("work").contains(&name(other, rest)));
    assert!(!names("work").contains(&name(other, rest)));
    // Notes are made with the first change in a folder, and go with the server.
    house.write("work/a", "x", WriteMode::Create).unwrap();
    assert_eq!(names("home/state/temporaries").len(), 2);
    drop(house.roots);
    assert_eq!(std::fs::read_dir(house.dir.path().join("home/state/temporaries")).unwrap().count(), 1);
}

#[test]
fn a_full_disk_leaves_the_old_file_and_says_so() {
    let mut house = House::new();
    let Some(_mount) = Tmpfs::on(&house, "work/disk", "size=256k") else { return };
    house.terms.max_file_size = Bytes::mib(8);
    house.write("work/disk/a", "old", WriteMode::Overwrite).unwrap();
    let large = "x".repeat(1 << 20);
    for result in [
        house.write("work/disk/a", &large, WriteMode::Overwrite),
        house.write("work/disk/a", &large, WriteMode::Append),
        house.write("work/disk/b", &large, WriteMode::Create),
    ] {
        assert_eq!(code(result), Code::NoSpace);
    }
    assert_eq!(code(house.edit("work/disk/a", &[("old", &large)], false).map(|edited| edited.size)), Code::NoSpace);
    assert_eq!((house.text("work/disk/a"), std::fs::read_dir(house.path("work/disk")).unwrap().count()), ("old".to_owned(), 1));
    house.write("work/disk/a", "new", WriteMode::Overwrite).unwrap();
    assert_eq!(house.text("work/disk/a"), "new");
}

/// A neighbour changes a folder and a link, a file and a link, again and again; 10^5 calls read, write and list through them.
#[test]
fn a_renamer_that_races_the_calls_leads_none_of_them_out() {
    let mut house = House::new();
    house.terms.max_answer = Bytes::kib(64);
    house.put("work/d/file", "inside");
    house.put("work/f", "inside");
    std::fs::create_dir(house.path("outside/d")).unwrap();
    house.put("outside/d/file", "outside");
    std::os::unix::fs::symlink(house.path("outside/d"), house.path("work/d_link")).unwrap();
    std::os::unix::fs::symlink(house.path("outside/d/file"), house.path("work/f_link")).unwrap();
    let scratch = scratch_roots(&house);
    let over = AtomicBool::new(false);
    let (mut calls, mut inside, mut exchanges) = (0u64, 0u64, 0u64);
    let until = Instant::now() + Duration::from_secs(20);
    std::thread::scope(|scope| {
        let renamer = scope.spawn(|| {
            let mut count = 0u64;
            while !over.load(Ordering::Relaxed) {
                for (one, other) in [("work/d", "work/d_link"), ("work/f", "work/f_link")] {
                    renameat_with(CWD, house.path(one), CWD, house.path(other), RenameFlags::EXCHANGE).unwrap();
                    count += 1;
                }
            }
            count
        });
        while calls < 100_000 && Instant::now() < until {
            for path in ["work/d/file", "work/f"] {
                calls += 1;
                if let Ok(reading) = house.read(path) {
                    assert_eq!(reading.content, Content::Text("inside".to_owned()));
                    inside += 1;
                }
            }
            if calls % 40 == 0 {
                calls += 3;
                let listing = house.list("work/d", 1, &all_visible);
                assert!(listing.is_err() || shown(listing.as_ref().unwrap()) == ["d/file"], "{listing:?}");
                let _ = write_scratch(&scratch, "work/d/file", "inside");
                let _ = write_scratch(&scratch, "work/d/new", "inside");
            }
        }
        over.store(true, Ordering::Relaxed);
        exchanges = renamer.join().unwrap();
    });
    println!("{calls} calls, {inside} read inside, {exchanges} exchanges");
    assert_eq!(house.text("outside/d/file"), "outside");
    assert_eq!(std::fs::read_dir(house.path("outside/d")).unwrap().count(), 1);
    assert!(inside > 0 && calls > 10_000 && exchanges > 1000);
}

/// The same roots without waiting for the disk, so that the race has many rounds.
fn scratch_roots(house: &House) -> Roots {
    let mut roots = House::open(house.dir.path());
    // Names are resolved one by one here, by the kernel in the reads.
    roots.change(|root| {
        root.scratch = true;
        root.resolver = Resolver::Steps;
    });
    roots
}

fn write_scratch(roots: &Roots, path: &str, content: &str) -> Result<Written, Failure> {
    let opened = roots.look("s", &[target(path)], &[Access::Write(Bytes(9))], Symlinks::Deny)?;
    let action = WriteFile { path: call_path(path), content: content.into(), mode: WriteMode::Overwrite, expected_sha256: None };
    roots.write(Permit::for_test(action, opened, Arc::new(Terms::for_test())))
}
