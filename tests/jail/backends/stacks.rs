//! Where the programs of a waiting interpreter stand: on a stack that another process shared for a moment, or, where that cannot be, on its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails loudly")]

use std::path::Path;

use super::harness::{World, interpreter};

/// A program that says whether the system's library knows on which processor it runs, wherever it is moved to.
const PROCESSOR: &str = "import ctypes, os\nlibc = ctypes.CDLL(None)\nfor cpu in sorted(os.sched_getaffinity(0)) * 2:\n    \
                         os.sched_setaffinity(0, {cpu})\n    if libc.sched_getcpu() != cpu:\n        print('wrong on', cpu)\nprint('looked')";
/// A program whose child takes more of the stack than there is, beside shared memory, in which it would be seen.
const OVERFLOW: &str = "import mmap, os, sys\nareas = [mmap.mmap(-1, 1 << 16) for _ in range(64)]\npid = os.fork()\nif pid == 0:\n    \
                        sys.setrecursionlimit(10**7)\n    def deeper(n): return list(map(deeper, [n]))\n    try:\n        deeper(1)\n    \
                        finally:\n        os._exit(0)\nstatus = os.waitstatus_to_exitcode(os.wait()[1])\n\
                        spilt = sum(bool(area[:].strip(bytes(1))) for area in areas)\nprint(status in (-11, 0), spilt)";
/// A program that goes deep, as far as a stack must reach.
const DEEP: &str = "import sys\nsys.setrecursionlimit(20000)\ndef f(n): return n and 1 + f(n - 1)\nprint(f(3000))\nimport json\nx = []\n\
                    for _ in range(900): x = [x]\nprint(len(json.dumps(x)))";
/// A program that says which functions called it.
const CALLERS: &str = "import sys\nframe, names = sys._getframe(), []\nwhile frame:\n    names.append(frame.f_code.co_name)\n    \
                       frame = frame.f_back\nprint('enter_in_a_copy' in names, 'enter' in names)";

#[test]
fn programs_of_a_waiting_interpreter_know_their_processor_and_overflow_alone() {
    let world = World::new();
    world.warm_up();
    for fresh in [false, false, true] {
        let said = |program: &str| {
            let mut spec = world.spec(program);
            spec.fresh = fresh;
            world.run(&spec).unwrap().stdout
        };
        assert_eq!(said(PROCESSOR), "looked\n", "{fresh}");
        assert_eq!(said(OVERFLOW), "True 0\n", "{fresh}");
        assert_eq!(said(DEEP), "3000\n1802\n", "{fresh}");
    }
}

/// An environment whose interpreter says that it is a later one, in a module that a waiting one imports first.
fn later_interpreter(folder: &Path) -> std::path::PathBuf {
    let made = std::process::Command::new(interpreter()).args(["-m", "venv", "--without-pip"]).arg(folder.join("env")).status().unwrap();
    assert!(made.success());
    let mut libraries = std::fs::read_dir(folder.join("env/lib")).unwrap();
    let packages = libraries.next().unwrap().unwrap().path().join("site-packages");
    std::fs::write(packages.join("later.py"), "import sys\nsys.version_info = (3, 99)\n").unwrap();
    folder.join("env/bin/python")
}

#[test]
fn an_interpreter_that_measures_its_stack_is_entered_in_a_copy_and_works_the_same() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let later = World::over(later_interpreter(folder.path()), &["later"]);
    let usual = World::new();
    if later.backend() != "native" {
        println!("skipped: no interpreter waits here ({})", later.backend());
        return;
    }
    for (world, expected) in [(&later, "True True\n"), (&usual, "False True\n")] {
        world.warm_up();
        let said = |program: &str| world.run(&world.spec(program)).unwrap().stdout;
        assert_eq!([said(CALLERS), said(PROCESSOR), said(DEEP)], [expected, "looked\n", "3000\n1802\n"]);
    }
    for (outcome, nth) in later.run_all(&vec![later.spec("print(1)"); 12]).into_iter().zip(0..) {
        assert_eq!(outcome.unwrap().stdout, "1\n", "{nth}");
    }
}
