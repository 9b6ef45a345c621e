//! What the kernel counts by users of the host: one program uses it up, and another still has its own.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot be set up fails loudly, and says what it did not run")]
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use toolgate::sandbox::programs::{BACKENDS, JailRoot, JailSpec, Limit, Outcome, Status};

use super::harness::{World, open};

/// Uses up files on their way through sockets and the pages of pipes, says so, and stays until the other is done.
const FILLS: &str = r"
import errno, fcntl, os, socket, time
pipes = []
try:
    while True:
        pipes.append(os.pipe())
        fcntl.fcntl(pipes[-1][0], fcntl.F_SETPIPE_SZ, 1 << 20)
except PermissionError:
    pass
while fcntl.fcntl(pipes[-1][0], fcntl.F_GETPIPE_SZ) >= 65536:
    pipes.append(os.pipe())
a, b = socket.socketpair()
try:
    while True:
        socket.send_fds(a, [b'x'], [0] * 250)
except OSError as e:
    assert e.errno == errno.ETOOMANYREFS, e
open('/roots/work/full', 'w').close()
end = time.monotonic() + 40
while not os.path.exists('/roots/work/done') and time.monotonic() < end:
    time.sleep(0.01)
print(os.path.exists('/roots/work/done'))
";

/// Waits until that is used up, and uses a little of its own.
const USES: &str = r"
import fcntl, os, socket, time
end = time.monotonic() + 40
while not os.path.exists('/roots/work/full') and time.monotonic() < end:
    time.sleep(0.01)
assert os.path.exists('/roots/work/full')
a, b = socket.socketpair()
def attempt(f):
    try:
        return f()
    except OSError as e:
        return e
pipe = os.pipe()
print(attempt(lambda: socket.send_fds(a, [b'x'], [0])), fcntl.fcntl(pipe[0], fcntl.F_GETPIPE_SZ))
open('/roots/work/done', 'w').close()
";

/// One program of `first` fills, one of `second` uses; both see the folder of `first`.
fn beside(first: &World, second: &World, fresh: bool) -> [Outcome; 2] {
    for name in ["full", "done"] {
        let _ = std::fs::remove_file(first.work.path().join(name));
    }
    let spec = |program: &str| JailSpec { fresh, ..first.spec(&first.here(program)) };
    let (fills, uses) = (spec(FILLS), spec(USES));
    std::thread::scope(|scope| {
        let filled = scope.spawn(|| first.run(&fills).unwrap());
        let beside = second.run(&uses).unwrap();
        [filled.join().unwrap(), beside]
    })
}

#[test]
fn what_is_counted_by_users_is_used_up_for_no_other_program_and_no_other_server() {
    for listed in BACKENDS {
        let (first, second) = match (World::of(listed.name), World::of(listed.name)) {
            (Ok(first), Ok(second)) => (first, second),
            (Err(why), _) | (_, Err(why)) => {
                println!("not run here: {}: {why}", listed.name);
                continue;
            }
        };
        if first.layer("own_user") != "on" {
            let said = first.layer("own_user");
            println!("not held by {}: {said}", listed.name);
            assert!(said.starts_with("partial: "), "{}: {said}", listed.name);
            continue;
        }
        for world in [&first, &second] {
            world.warm_up();
        }
        for (other, fresh) in [(&first, false), (&first, true), (&second, false), (&second, true)] {
            let [filled, used] = beside(&first, other, fresh);
            if used.isolation.layers["own_user"] != "on" {
                println!("not held by {} for a root of this file system: {}", listed.name, used.isolation.layers["own_user"]);
                continue;
            }
            assert_eq!(
                (filled.stdout.as_str(), used.stdout.as_str()),
                ("True\n", "1 65536\n"),
                "{}, {fresh}: {filled:?} {used:?}",
                listed.name
            );
            assert_eq!((&filled.isolation.layers["own_user"], &used.isolation.layers["own_user"]), (&"on".to_owned(), &"on".to_owned()));
        }
    }
}

/// A program says whether it made the file; in a second call another program changes what the first one made.
const MAKES: &str = "import os\nfd = os.open('/roots/kept/file', os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)\nos.write(fd, b'first ')\nprint(os.fstat(fd).st_uid == os.getuid())";
const CHANGES: &str =
    "import os\nopen('/roots/kept/file', 'a').write('second')\nos.chmod('/roots/kept/file', 0o640)\nprint(open('/roots/kept/file').read())";

fn changed_by_the_next(world: &World, folder: &Path, fresh: bool) -> u32 {
    let call = |program: &str| {
        let mut spec = JailSpec { fresh, ..world.spec(program) };
        spec.roots.push(JailRoot { name: "kept".to_owned(), dir: open(folder), writable: true, masked: Vec::new(), quota: None });
        let outcome = world.run(&spec).unwrap();
        assert_eq!(outcome.stderr, "", "{outcome:?}");
        outcome.stdout
    };
    assert_eq!([call(MAKES), call(CHANGES)], ["True\n", "first second\n"]);
    let owner = std::fs::metadata(folder.join("file")).unwrap().uid();
    std::fs::remove_file(folder.join("file")).unwrap();
    owner
}

#[test]
fn files_of_a_root_belong_to_the_server_whichever_program_made_them_and_the_next_may_change_them() {
    let (world, folder) = (World::new(), tempfile::tempdir().unwrap());
    for fresh in [false, false, true, false, true, false] {
        assert_eq!(changed_by_the_next(&world, folder.path(), fresh), rustix::process::geteuid().as_raw());
    }
}

/// Plays this test again as root of a user namespace in which root alone is mapped.
fn alone(name: &str) -> bool {
    const PLAYED: &str = "TEST_ALONE";
    if std::env::var_os(PLAYED).is_some() {
        return true;
    }
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can make a namespace in which it is the only user; run it as root");
        return false;
    }
    let own = std::env::current_exe().unwrap();
    let mut played = Command::new("unshare");
    played.args(["--user", "--map-root-user"]).arg(own).args([name, "--nocapture"]).env(PLAYED, "1");
    match played.output() {
        Ok(output) => {
            println!("{}", String::from_utf8_lossy(&output.stdout));
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        Err(why) => println!("skipped: `unshare` cannot be run: {why}"),
    }
    false
}

#[test]
fn root_of_a_namespace_of_its_own_that_root_made_runs_programs_and_says_that_their_number_is_looked_at() {
    if !alone("root_of_a_namespace_of_its_own_that_root_made_runs_programs_and_says_that_their_number_is_looked_at") {
        return;
    }
    let world = World::new();
    let said = world.layer("processes").to_owned();
    assert!(said.starts_with("partial: "), "{said}");
    world.is_honest_about("processes").unwrap();
    assert_eq!(world.run(&world.spec("print(6 * 7)")).unwrap().stdout, "42\n");
    let bomb = "import os, time\nwhile True:\n    if os.fork() == 0:\n        time.sleep(60)";
    for fresh in [false, true] {
        let ended = world.run(&JailSpec { fresh, ..world.spec(bomb) }).unwrap();
        assert_eq!(ended.limit, Some(Limit::Pids), "{ended:?}");
    }
}

#[test]
fn the_files_of_all_roots_are_listed() {
    let world = World::new();
    let kept = tempfile::tempdir().unwrap();
    std::fs::set_permissions(kept.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let run = |root: &str| {
        let mut spec = world.spec(&format!(
            "for part in range(2):\n    open(f'/roots/{root}/part {{part}}', 'wb').write(bytes(25 << 20))\nopen('own', 'w').close()"
        ));
        spec.roots.push(JailRoot { name: "kept".to_owned(), dir: open(kept.path()), writable: true, masked: Vec::new(), quota: None });
        world.run(&spec).unwrap()
    };
    let free = run("kept");
    let listed: Vec<&str> = free.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!((free.status, listed), (Status::Ok, vec!["work/own", "kept/part 0", "kept/part 1"]), "{free:?}");
}
