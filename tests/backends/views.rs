//! Masks of a view: over each backend, what was looked at is what is covered, or nothing runs.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot be set up fails loudly, and says what it did not run"
)]

use rustix::fs::{AtFlags, statat};
use toolgate::sandbox::jail::{BACKENDS, JailSpec, NoRun, Status};

use super::harness::World;

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
    spec.roots[1].masked.retain(|path| path != "absent");
    let object = |path: &String| {
        statat(&spec.roots[1].dir, path.as_str(), AtFlags::SYMLINK_NOFOLLOW).map(|facts| (facts.st_dev, facts.st_ino)).unwrap()
    };
    spec.objects = vec![Vec::new(), spec.roots[1].masked.iter().map(object).collect()];
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
                let is_refused = match &refused {
                    Err(NoRun::Root { root, reason }) => root == "shelf" && reason.contains("was moved"),
                    Err(NoRun::Unavailable { reason, .. }) => reason.contains("was moved"),
                    // `rlimits` alone hides nothing, and says so.
                    Ok(_) => world.layer("filesystem").starts_with("off: "),
                    Err(_) => false,
                };
                assert!(is_refused, "{name}, moved to {moved}, fresh {fresh}: {refused:?}");
            }
            std::fs::rename(path(moved), path(".env")).unwrap();
        }
        // Another file with the denied name is not what was looked at either.
        std::fs::write(path("new"), "TOKEN=other").unwrap();
        std::fs::rename(path("new"), path(".env")).unwrap();
        assert!(world.run(&spec).is_err() || world.layer("filesystem").starts_with("off: "), "{name}");
        // Looked at anew, the root is shown, and the file is not.
        let shown = world.run(&looked(&world, "print(open('/roots/shelf/open.txt').read())")).unwrap();
        assert_eq!((shown.status, shown.stdout.as_str()), (Status::Ok, "for everybody\n"), "{name}: {shown:?}");
        if world.layer("filesystem") == "on" {
            let masked = world.run(&looked(&world, "print(open('/roots/shelf/.env').read())")).unwrap();
            assert!(masked.stderr.contains("PermissionError"), "{name}: {masked:?}");
        }
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
                while !world.work.path().join("begun").exists() {
                    std::thread::yield_now();
                }
                std::fs::rename(shelf.join(".env"), shelf.join("renamed.txt")).unwrap();
            });
            let ended = world.run(&spec).unwrap();
            assert_eq!(ended.stdout, "PermissionError\n", "{name}: {ended:?}");
        });
    }
}
