//! What a program writes to a disk is charged, whatever becomes of the files; what it prints or puts into scratch space is not.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot be set up fails loudly, and says what it did not run")]

use std::time::{Duration, Instant};

use toolgate::sandbox::programs::{JailRoot, JailSpec, Outcome, Session, Status};

use super::harness::{World, open};

const MIB: u64 = 1 << 20;

/// A folder on a disk: the kernel counts no writes to memory.
fn disk() -> Option<tempfile::TempDir> {
    const TMPFS: i64 = 0x0102_1994;
    // An ordinary user may not write in the build folder of root.
    let made = [env!("CARGO_TARGET_TMPDIR"), "/var/tmp", "/tmp"].into_iter().filter_map(|place| tempfile::tempdir_in(place).ok());
    let mut on_disk = made.filter(|folder| rustix::fs::statfs(folder.path()).unwrap().f_type != TMPFS);
    let folder = on_disk.next();
    if folder.is_none() {
        println!("skipped: the build folder, /var/tmp and /tmp lie in memory or cannot be written; put `CARGO_TARGET_DIR` on a disk");
    }
    folder
}

fn spec(world: &World, folder: &tempfile::TempDir, program: &str) -> JailSpec {
    let mut spec = world.spec(program);
    spec.roots = vec![JailRoot { name: "kept".to_owned(), dir: open(folder.path()), writable: true, masked: Vec::new(), quota: None }];
    spec
}

fn ran(world: &World, spec: &JailSpec) -> Outcome {
    let outcome = world.run(spec).unwrap();
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Status::Ok, ""), "{outcome:?}");
    outcome
}

/// Writes ten files of one mebibyte and removes them.
const CHURN: &str = "import os\ndef churn():\n    for at in range(10):\n        p = f'/roots/kept/{os.getpid()} {at}'\n        f = os.open(p, os.O_CREAT | os.O_WRONLY)\n        os.write(f, bytes(1 << 20))\n        os.close(f)\n        os.unlink(p)\n";

#[test]
fn what_is_written_and_removed_again_within_a_call_is_charged() {
    let (world, Some(folder)) = (World::new(), disk()) else { return };
    world.warm_up_like(&spec(&world, &folder, ""));
    for (name, then) in [
        ("by the program", "churn()"),
        ("by a thread", "import threading\nt = threading.Thread(target=churn)\nt.start()\nt.join()"),
        ("by a child", "if os.fork() == 0:\n    churn()\n    os._exit(0)\nos.wait()"),
        (
            "by an orphan",
            "r, w = os.pipe()\nif os.fork() == 0:\n    if os.fork() == 0:\n        churn()\n    os._exit(0)\nos.close(w)\nos.wait()\nos.read(r, 1)",
        ),
        (
            "by a child that outlives the program",
            "import time\nr, w = os.pipe()\nif os.fork() == 0:\n    churn()\n    os.write(w, b'x')\n    time.sleep(60)\nos.read(r, 1)",
        ),
        (
            "by a mapping",
            "import mmap\nf = os.open('/roots/kept/m', os.O_CREAT | os.O_RDWR)\nos.ftruncate(f, 10 << 20)\nm = mmap.mmap(f, 10 << 20)\nfor at in range(0, 10 << 20, 4096):\n    m[at] = 1\nm.close()\nos.close(f)\nos.unlink('/roots/kept/m')",
        ),
    ] {
        for fresh in [false, true] {
            let outcome = ran(&world, &JailSpec { fresh, ..spec(&world, &folder, &format!("{CHURN}{then}")) });
            assert_eq!(outcome.files, [], "{name}");
            assert!((10 * MIB..11 * MIB).contains(&outcome.bytes_written), "{name}, {fresh}: {}", outcome.bytes_written);
        }
    }
}

#[test]
fn what_is_printed_or_lies_in_scratch_space_is_not_charged_as_written() {
    let (world, Some(folder)) = (World::new(), disk()) else { return };
    let program = "print('x' * 100_000)\nopen('/tmp/scratch', 'wb').write(bytes(8 << 20))\nopen('/dev/null', 'wb').write(bytes(8 << 20))\nopen('/roots/kept/small', 'w').write('abc')";
    for fresh in [false, true] {
        let written = ran(&world, &JailSpec { fresh, ..spec(&world, &folder, program) }).bytes_written;
        // The page of the file, and what the file system writes for its name.
        assert!((1..=64 << 10).contains(&written), "{written}");
    }
    let mut session = spec(&world, &folder, program);
    session.session = Some(Session::New);
    session.session = ran(&world, &session).session.map(Session::Known);
    // What changed within the tick of the clock of files in which a call begins counts as its own.
    let ended = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    while rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse) <= ended {
        std::thread::yield_now();
    }
    // The kernel counts what the walk of the first call has charged as well, and the watch reads that count while the next program runs.
    session.program = "import time\nbegun = time.monotonic()\nwhile time.monotonic() < begun + 0.3:\n    time.sleep(0.01)".to_owned();
    assert_eq!(ran(&world, &session).bytes_written, 0);
}

#[test]
fn what_is_written_anew_behind_many_deep_folders_is_charged_in_every_call() {
    let (world, Some(folder)) = (World::new(), disk()) else { return };
    let program = "import os\nos.chdir('/roots/kept')\nfor _ in range(80):\n    os.mkdir('d') if not os.path.isdir('d') else None\n    os.chdir('d')\nfor at in range(130):\n    os.makedirs(f'{at}/d', exist_ok=True)\nf = os.open('100/d/f', os.O_CREAT | os.O_WRONLY)\nos.write(f, os.urandom(2 << 20))";
    for most in [5, 3, 3] {
        let outcome = ran(&world, &spec(&world, &folder, program));
        // At first its folders as well.
        assert!((2 * MIB..most * MIB).contains(&outcome.bytes_written), "{}", outcome.bytes_written);
    }
}

/// A session's thread that writes ten mebibytes in a call after the one that started it, and calls of the session until `until` holds for the sum
/// of what was charged.
fn written_after_its_call(world: &World, folder: &tempfile::TempDir, later: &str, until: impl Fn(u64) -> bool) -> u64 {
    let mut spec = spec(
        world,
        folder,
        &format!(
            "{CHURN}import threading, time\ngo = threading.Event()\ndef late():\n    go.wait()\n    time.sleep(0.1)\n    churn()\n    done.set()\ndone = threading.Event()\nthreading.Thread(target=late, daemon=True).start()\ngo.set()"
        ),
    );
    (spec.session, spec.owner) = (Some(Session::New), "ann".to_owned());
    let first = ran(world, &spec);
    spec.session = first.session.map(Session::Known);
    let mut sum = first.bytes_written;
    let begun = Instant::now();
    later.clone_into(&mut spec.program);
    while !until(sum) && begun.elapsed() < Duration::from_mins(1) {
        sum += ran(world, &spec).bytes_written;
    }
    sum
}

#[test]
fn what_a_thread_of_a_session_writes_and_removes_in_a_later_call_is_charged() {
    let (world, Some(folder)) = (World::new(), disk()) else { return };
    let sum = written_after_its_call(&world, &folder, "done.wait(20) and None", |sum| sum >= 10 * MIB);
    assert!((10 * MIB..11 * MIB).contains(&sum), "{sum}");
}
