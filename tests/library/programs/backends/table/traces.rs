//! Attacks on the host through what is left for it, or held against it: files that run as their owner, leases, priorities.

use nix::libc as c;

use super::{TRY, row, syscall};
use crate::programs::backends::harness::Expect::{Has, Out, Raises};
use crate::programs::backends::harness::Row;

#[expect(clippy::too_many_lines, reason = "a table is as long as it has rows")]
pub(super) fn traces() -> Vec<Row> {
    let t = |code: &str| format!("{TRY}{code}");
    // Every way to a bit, and what the file has of it in the end. The folder is shared by rows that run at the same time.
    let bits = |name: &str, making: &str| {
        t(&format!(
            "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nname = 'bits {name}'\nfound = []\nfor bit in (0o4000, 0o2000, 0o6000):\n    attempt(lambda: {making})\n    found.append(os.path.exists(name) and os.stat(name).st_mode & 0o6000)\n    attempt(lambda: os.remove(name))\nprint(any(found))"
        ))
    };
    let opened = |name: &str| {
        format!(
            "import os\nname = 'plain {name}'\nos.umask(0o22)\nfd = os.open(name, os.O_CREAT | os.O_RDWR, 0o751)\nprint(oct(os.fstat(fd).st_mode & 0o7777))\nos.remove(name)"
        )
    };
    let made = "open(name, 'w').close()";
    let ways = [
        ("no file runs as its owner: chmod", format!("({made}, os.chmod(name, bit | 0o755))")),
        ("nor by fchmod", "os.fchmod(os.open(name, os.O_CREAT | os.O_WRONLY), bit | 0o755)".to_owned()),
        ("nor by fchmodat", format!("({made}, os.chmod(name, bit | 0o755, dir_fd=os.open('.', os.O_RDONLY)))")),
        ("nor by its newer form", format!("({made}, libc.syscall(452, -100, name.encode(), bit | 0o755, 0))")),
        ("nor where it is made", "os.open(name, os.O_CREAT | os.O_WRONLY, bit | 0o755)".to_owned()),
        ("nor by the older call", "libc.creat(name.encode(), bit | 0o755)".to_owned()),
        ("nor as a node", "os.mknod(name, bit | 0o100755)".to_owned()),
        (
            "nor without a name at first",
            format!(
                "libc.linkat(libc.syscall({}, -100, b'.', os.O_TMPFILE | os.O_RDWR, bit | 0o755), b'', -100, name.encode(), 0x1000)",
                c::SYS_openat
            ),
        ),
        (
            "nor by a call that hides the mode",
            format!(
                "libc.syscall({}, -100, name.encode(), (ctypes.c_ulonglong * 3)(os.O_CREAT | os.O_WRONLY, bit | 0o755, 0), 24)",
                c::SYS_openat2
            ),
        ),
    ];
    let mut rows: Vec<Row> =
        ways.into_iter().map(|(name, making)| row(name, &bits(name, &making), Out("False"), &opened(name), Out("0o751"))).collect();
    rows.extend([
        row(
            "nobody waits for a lease",
            &t("import fcntl\nopen('/tmp/leased', 'w').close()\nprint([attempt(lambda k=k: fcntl.fcntl(os.open('/tmp/leased', os.O_RDONLY), k, fcntl.F_RDLCK)) for k in (1024, 1026, 1040)])"),
            Out("['PermissionError', 'PermissionError', 'PermissionError']"),
            "import fcntl\nf = open('/tmp/locked', 'w')\nfcntl.flock(f, fcntl.LOCK_EX)\nprint(fcntl.fcntl(f, fcntl.F_GETFD))",
            Out("1"),
        ),
        row(
            "the host's disks are not made to write",
            &syscall(c::SYS_syncfs, "0"),
            Out("-1 1"),
            "import os\nf = open('/tmp/s', 'w')\nf.write('a')\nos.fsync(f.fileno())\nprint(1)",
            Out("1"),
        ),
        row(
            "no priority is there to be taken",
            &t("import resource\nprint(resource.getrlimit(resource.RLIMIT_RTPRIO), resource.getrlimit(resource.RLIMIT_NICE), attempt(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))))"),
            Out("(0, 0) (0, 0) PermissionError"),
            "import os\nos.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\nprint(os.sched_getscheduler(0) == os.SCHED_BATCH)",
            Out("True"),
        ),
        row("a tree of mounts is not opened with attributes", &syscall(467, "-100, b'/', 1, 0, 0"), Out("-1 1"), "print(1)", Out("1")),
        row("mounts are not listed by number", &syscall(458, "0, 0, 0, 0"), Out("-1 1"), "import shutil\nprint(shutil.disk_usage('/tmp').total > 0)", Out("True")),
        row("nor told of", &syscall(457, "0, 0, 0, 0"), Out("-1 1"), "import os\nprint(os.path.ismount('/proc') in (True, False))", Out("True")),
        row("nobody is told what others open", &syscall(c::SYS_inotify_init1, "0"), Out("-1 38"), "import os\nprint(len(os.listdir('.')) >= 0)", Out("True")),
        row("nor which pages are read", &syscall(451, "0, 0, 0, 0"), Out("-1 38"), "print(2)", Out("2")),
        row("rules of its own keep no files", &syscall(c::SYS_landlock_create_ruleset, "0, 0, 1"), Out("-1 38"), "print(3)", Out("3")),
        row(
            "an exception that raises when it is asked is shown all the same",
            "class E(Exception):\n    def __str__(self):\n        raise SystemExit(0)\n    errno = property(lambda self: 1 / 0)\nraise E",
            Raises("str() failed"),
            "raise_it = OSError(2, 'no')\nprint(raise_it.errno)",
            Out("2"),
        ),
        row("a number that is too long to be said hides no traceback", "class E(Exception):\n    errno = 10 ** 10000\nraise E('far')", Raises("E: far"), "print(3)", Out("3")),
        row(
            "standard error that was replaced hides nothing",
            "import sys\nclass W:\n    pass\nsys.stderr = W()\nraise KeyError('seen')",
            Raises("KeyError: 'seen'"),
            "import sys\nprint('to the side', file=sys.stderr)\nprint(4)",
            Out("4"),
        ),
        row(
            "a stand-in for the module of figures ends nothing",
            "import sys, types\nm = types.ModuleType('p')\ndef ask():\n    raise SystemExit(7)\nm.get_fignums = ask\nsys.modules['matplotlib.pyplot'] = m\nprint('ran')",
            Out("ran"),
            "import sys\nprint('matplotlib.pyplot' in sys.modules)",
            Has("False"),
        ),
    ]);
    rows
}
