//! Masks of a view: over each backend, what was looked at is what is covered, or nothing runs.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot be set up fails loudly, and says what it did not run"
)]

use std::sync::Arc;

use rustix::fs::{AtFlags, statat};
use toolgate::sandbox::programs::{BACKENDS, JailSpec, NoRun, Outcome, Status};

use super::calls::wait_until;
use super::harness::{World, mask};

/// Every backend that runs here, by its name.
fn worlds() -> Vec<(&'static str, World)> {
    let made = BACKENDS.iter().map(|listed| (listed.name, World::of(listed.name)));
    made.filter_map(|(name, world)| match world {
        Ok(world) => Some((name, world)),
        Err(why) => {
            println!("not run here: {name}: {why}");
            None
        }
    })
    .collect()
}

/// A call whose masks are what lies there now.
fn looked(world: &World, program: &str) -> JailSpec {
    let mut spec = world.spec(&world.here(program));
    spec.roots[1].masked.retain(|mask| mask.path != "absent");
    looked_at(spec)
}

/// The same call, whose masks are the objects that lie there now.
fn looked_at(mut spec: JailSpec) -> JailSpec {
    let dir = Arc::clone(&spec.roots[1].dir);
    for mask in &mut spec.roots[1].masked {
        let facts = statat(&dir, mask.path.as_str(), AtFlags::SYMLINK_NOFOLLOW).unwrap();
        mask.object = Some((facts.st_dev, facts.st_ino));
    }
    spec
}

#[test]
fn a_denied_file_that_was_moved_after_the_look_is_shown_under_no_name() {
    for (name, world) in worlds() {
        let path = |name: &str| world.shelf.path().join(name);
        let mut spec = looked(&world, "print(open('/roots/shelf/free.txt').read())");
        for moved in ["free.txt", "other"] {
            std::fs::rename(path(".env"), path(moved)).unwrap();
            for fresh in [false, true] {
                spec.fresh = fresh;
                let refused = world.run(&spec);
                assert!(is_refused(&refused), "{name}, moved to {moved}, fresh {fresh}: {refused:?}");
            }
            std::fs::rename(path(moved), path(".env")).unwrap();
        }
        // Another file with the denied name is not what was looked at either.
        std::fs::write(path("new"), "TOKEN=other").unwrap();
        std::fs::rename(path("new"), path(".env")).unwrap();
        assert!(world.run(&spec).is_err(), "{name}");
        // Looked at anew, the root is shown, and the file is not.
        let shown = world.run(&looked(&world, "print(open('/roots/shelf/open.txt').read())")).unwrap();
        assert_eq!((shown.status, shown.stdout.as_str()), (Status::Ok, "for everybody\n"), "{name}: {shown:?}");
        if world.layer("filesystem") == "on" {
            let masked = world.run(&looked(&world, "print(open('/roots/shelf/.env').read())")).unwrap();
            assert!(masked.stderr.contains("PermissionError"), "{name}: {masked:?}");
        }
    }
}

/// Refused because what is denied was moved.
fn is_refused(got: &Result<Outcome, NoRun>) -> bool {
    matches!(got, Err(NoRun::Moved { root }) if root == "shelf")
}

#[test]
fn a_folder_that_was_moved_after_the_look_and_left_a_link_behind_shows_no_denied_file() {
    for (name, world) in worlds() {
        let path = |name: &str| world.shelf.path().join(name);
        std::fs::create_dir(path("deep")).unwrap();
        std::fs::write(path("deep/secret.txt"), "TOKEN=deep").unwrap();
        std::fs::write(path("deep/open.txt"), "beside it").unwrap();
        let masked = |program: &str| {
            let mut spec = world.spec(&world.here(program));
            spec.roots[1].masked.retain(|mask| mask.path != "absent");
            spec.roots[1].masked.push(mask("deep/secret.txt"));
            looked_at(spec)
        };
        let mut spec = masked("print(open('/roots/shelf/other/secret.txt').read())");
        std::fs::rename(path("deep"), path("other")).unwrap();
        std::os::unix::fs::symlink("other", path("deep")).unwrap();
        for fresh in [false, true] {
            spec.fresh = fresh;
            let got = world.run(&spec);
            assert!(is_refused(&got), "{name}, fresh {fresh}: {got:?}");
        }
        std::fs::remove_file(path("deep")).unwrap();
        std::fs::rename(path("other"), path("deep")).unwrap();
        let shown = world.run(&masked("print(open('/roots/shelf/deep/open.txt').read())")).unwrap();
        assert_eq!((shown.status, shown.stdout.as_str()), (Status::Ok, "beside it\n"), "{name}: {shown:?}");
    }
}

#[test]
fn a_denied_file_that_is_moved_to_and_fro_while_its_root_is_shown_is_never_read() {
    for (name, world) in worlds() {
        let path = |name: &str| world.shelf.path().join(name);
        let program = "import os\nfor name in os.listdir('/roots/shelf') if os.access('/roots/shelf', os.R_OK) else []:\n    pass\n\
                       for name in ['.env', 'free.txt'] * 20:\n    try:\n        print(open('/roots/shelf/' + name).read())\n    except OSError:\n        pass";
        let mut spec = looked(&world, program);
        spec.fresh = true;
        let moves = std::sync::atomic::AtomicBool::new(true);
        let mut shown = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while moves.load(std::sync::atomic::Ordering::Relaxed) {
                    for (from, to) in [(".env", "free.txt"), ("free.txt", ".env")] {
                        std::fs::rename(path(from), path(to)).unwrap();
                        // About as long as a step of the jail takes, so that moves fall between any two of them.
                        std::thread::sleep(std::time::Duration::from_micros(500));
                    }
                }
            });
            let all: Vec<_> = (0..40).map(|_| world.run(&spec)).collect();
            moves.store(false, std::sync::atomic::Ordering::Relaxed);
            for got in all {
                shown += usize::from(got.is_ok());
                assert!(got.is_err() || !got.as_ref().unwrap().stdout.contains("secret"), "{name}: {got:?}");
            }
        });
        println!("{name}: shown {shown} times of 40");
    }
}

#[test]
fn a_denied_file_that_is_renamed_while_a_program_runs_stays_covered() {
    for (name, world) in worlds().into_iter().filter(|(_, world)| world.layer("filesystem") == "on") {
        let shelf = world.shelf.path();
        let program = "import os, time\nopen('/roots/work/begun', 'w').close()\nwhile not os.path.exists('/roots/shelf/renamed.txt'):\n    time.sleep(0.01)\n\
                       try:\n    print(open('/roots/shelf/renamed.txt').read())\nexcept OSError as e:\n    print(type(e).__name__)";
        let spec = looked(&world, program);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                wait_until("the program begins", || world.work.path().join("begun").exists());
                std::fs::rename(shelf.join(".env"), shelf.join("renamed.txt")).unwrap();
            });
            let ended = world.run(&spec).unwrap();
            assert_eq!(ended.stdout, "PermissionError\n", "{name}: {ended:?}");
        });
    }
}
