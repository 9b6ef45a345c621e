//! Death in the middle of a write, a full disk, and a hostile neighbour.

use std::io::BufRead as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;

const CRASH: &str = "TOOLGATE_TEST_WRITE_UNTIL_KILLED";
const STATE: &str = "TOOLGATE_TEST_STATE";

/// Run by the test below in a process of its own; without its variable it does nothing.
#[test]
fn writes_until_it_is_killed() {
    let Some(dir) = std::env::var_os(CRASH) else { return };
    let place = RootConfig { name: "work".to_owned(), at: Location::Folder(dir.into()), quota: None };
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
    let fixture = Fixture::new();
    fixture.put("work/file", vec![b'z'; 200_000]);
    for round in 0u64..12 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sandbox::files::tests::crash::writes_until_it_is_killed", "--nocapture", "--test-threads=1"])
            .env(CRASH, fixture.path("work"))
            .env(STATE, fixture.path("home/state"))
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
        let content = std::fs::read(fixture.path("work/file")).unwrap();
        assert_eq!((content.len(), content.iter().all(|byte| *byte == content[0])), (200_000, true));
    }
    // What the dead left behind goes with the next change in the folder.
    fixture.write("work/file", "new", WriteMode::Overwrite).unwrap();
    assert_eq!(std::fs::read_dir(fixture.path("work")).unwrap().count(), 1);
}

#[test]
fn a_full_disk_leaves_the_old_file_and_says_so() {
    let mut fixture = Fixture::new();
    let Some(_mount) = Tmpfs::on(&fixture, "work/disk", "size=256k") else { return };
    fixture.terms.max_file_size = Bytes::mib(8);
    fixture.write("work/disk/a", "old", WriteMode::Overwrite).unwrap();
    let large = "x".repeat(1 << 20);
    for result in [
        fixture.write("work/disk/a", &large, WriteMode::Overwrite),
        fixture.write("work/disk/a", &large, WriteMode::Append),
        fixture.write("work/disk/b", &large, WriteMode::Create),
    ] {
        assert_eq!(code(result), Code::NoSpace);
    }
    assert_eq!(code(fixture.edit("work/disk/a", &[("old", &large)], false).map(|edited| edited.size)), Code::NoSpace);
    assert_eq!((fixture.text("work/disk/a"), std::fs::read_dir(fixture.path("work/disk")).unwrap().count()), ("old".to_owned(), 1));
    fixture.write("work/disk/a", "new", WriteMode::Overwrite).unwrap();
    assert_eq!(fixture.text("work/disk/a"), "new");
}

/// A neighbour changes a folder and a link, a file and a link, again and again; 10^5 calls read, write and list through them.
#[test]
fn a_renamer_that_races_the_calls_leads_none_of_them_out() {
    let mut fixture = Fixture::new();
    fixture.terms.max_answer = Bytes::kib(64);
    fixture.put("work/d/file", "inside");
    fixture.put("work/f", "inside");
    std::fs::create_dir(fixture.path("outside/d")).unwrap();
    fixture.put("outside/d/file", "outside");
    std::os::unix::fs::symlink(fixture.path("outside/d"), fixture.path("work/d_link")).unwrap();
    std::os::unix::fs::symlink(fixture.path("outside/d/file"), fixture.path("work/f_link")).unwrap();
    let scratch = scratch_roots(&fixture);
    let over = AtomicBool::new(false);
    let (mut calls, mut inside, mut exchanges) = (0u64, 0u64, 0u64);
    let until = Instant::now() + Duration::from_secs(20);
    std::thread::scope(|scope| {
        let renamer = scope.spawn(|| {
            let mut count = 0u64;
            while !over.load(Ordering::Relaxed) {
                for (one, other) in [("work/d", "work/d_link"), ("work/f", "work/f_link")] {
                    renameat_with(CWD, fixture.path(one), CWD, fixture.path(other), RenameFlags::EXCHANGE).unwrap();
                    count += 1;
                }
            }
            count
        });
        while calls < 100_000 && Instant::now() < until {
            for path in ["work/d/file", "work/f"] {
                calls += 1;
                if let Ok(reading) = fixture.read(path) {
                    assert_eq!(reading.content, Content::Text("inside".to_owned()));
                    inside += 1;
                }
            }
            if calls % 40 == 0 {
                calls += 3;
                let listing = fixture.list("work/d", 1, &all_visible);
                assert!(listing.is_err() || shown(listing.as_ref().unwrap()) == ["d/file"], "{listing:?}");
                let _ = write_scratch(&scratch, "work/d/file", "inside");
                let _ = write_scratch(&scratch, "work/d/new", "inside");
            }
        }
        over.store(true, Ordering::Relaxed);
        exchanges = renamer.join().unwrap();
    });
    println!("{calls} calls, {inside} read inside, {exchanges} exchanges");
    assert_eq!(fixture.text("outside/d/file"), "outside");
    assert_eq!(std::fs::read_dir(fixture.path("outside/d")).unwrap().count(), 1);
    assert!(inside > 0 && calls > 10_000 && exchanges > 1000);
}

/// The same roots without waiting for the disk, so that the race has many rounds.
fn scratch_roots(fixture: &Fixture) -> Roots {
    let mut roots = Fixture::open(fixture.dir.path());
    roots.change(|root| root.scratch = true);
    roots
}

fn write_scratch(roots: &Roots, path: &str, content: &str) -> Result<Written, Failure> {
    let opened = roots.look("s", &[target(path)], &[Access::Write(Bytes(9))], Symlinks::Deny)?;
    let action = WriteFile { path: call_path(path), content: content.into(), mode: WriteMode::Overwrite, expected_sha256: None };
    roots.write(Permit::for_test(action, opened, Arc::new(Terms::for_test())))
}
