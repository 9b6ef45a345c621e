//! Attacks on the host's processes by a program that is among them.

use nix::libc as c;
use toolgate::sandbox::programs::Limit;

use super::{TRY, row, syscall, with};
use crate::programs::backends::harness::Expect::{Hits, Out};
use crate::programs::backends::harness::Row;

#[expect(clippy::too_many_lines, reason = "a table is as long as it has rows")]
pub(super) fn shared() -> Vec<Row> {
    let t = |code: &str| format!("{TRY}{code}");
    let server = std::process::id();
    let refused = "-1 1";
    vec![
        row(
            "the group cannot be left",
            &t("print(attempt(os.setsid), attempt(lambda: os.setpgid(0, 0)))"),
            Out("PermissionError PermissionError"),
            "import os\nprint(os.getpgid(0) == os.getpgrp())",
            Out("True"),
        ),
        row(
            "nor by a child of a child",
            "import os, subprocess, sys\ntry:\n    subprocess.run([sys.executable, '-c', 'pass'], start_new_session=True)\n    print('left')\nexcept PermissionError:\n    print('held')",
            Out("held"),
            "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True, text=True).stdout)",
            Out("1"),
        ),
        row(
            "the server gets no signal",
            &t(&format!("import signal\nprint([attempt(lambda s=s: os.kill({server}, s)) for s in (0, signal.SIGTERM, signal.SIGSTOP)])")),
            Out("['PermissionError', 'PermissionError', 'PermissionError']"),
            "import subprocess, sys\np = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\np.kill()\nprint(p.wait())",
            Out("-9"),
        ),
        row(
            "nor does the one who watches",
            &t("import signal\nprint(attempt(lambda: os.kill(os.getppid(), signal.SIGKILL)))"),
            Out("PermissionError"),
            "print(1)",
            Out("1"),
        ),
        row(
            "nor all at once",
            &t(
                "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(attempt(lambda: os.kill(-1, signal.SIGTERM)) in (None, 'PermissionError'))",
            ),
            Out("True"),
            "print(1)",
            Out("1"),
        ),
        row(
            "the server's bounds cannot be lowered",
            &t(&format!("import resource\nprint(attempt(lambda: resource.prlimit({server}, resource.RLIMIT_NOFILE, (1, 1))))")),
            Out("PermissionError"),
            "import resource\nprint(resource.prlimit(0, resource.RLIMIT_CORE))",
            Out("(0, 0)"),
        ),
        row(
            "the server cannot be slowed down",
            &t(&format!(
                "print(attempt(lambda: os.setpriority(os.PRIO_PROCESS, {server}, 19)), attempt(lambda: os.setpriority(os.PRIO_USER, 0, 19)), attempt(lambda: os.sched_setaffinity({server}, {{0}})))"
            )),
            Out("PermissionError PermissionError PermissionError"),
            "import os\nos.setpriority(os.PRIO_PROCESS, 0, 19)\nprint(os.sched_getaffinity(0) != set())",
            Out("True"),
        ),
        row("nor its disk", &syscall(c::SYS_ioprio_set, &format!("1, {server}, 0x6000")), Out(refused), "print(1)", Out("1")),
        row("shared memory of others cannot be taken", &syscall(c::SYS_shmat, "0, 0, 0"), Out(refused), "print(1)", Out("1")),
        row("nor destroyed", &syscall(c::SYS_shmctl, "0, 0, 0"), Out(refused), "print(1)", Out("1")),
        row(
            "semaphores of others cannot be moved",
            &syscall(c::SYS_semop, "0, 0, 0"),
            Out(refused),
            "import threading\ns = threading.Semaphore()\nprint(s.acquire())",
            Out("True"),
        ),
        row(
            "message queues cannot be opened",
            &syscall(c::SYS_mq_open, "b'x', 0, 0, 0"),
            Out(refused),
            "import queue\nq = queue.Queue()\nq.put(1)\nprint(q.get())",
            Out("1"),
        ),
        with(
            |spec| spec.limits.scratch = 4 << 20,
            row(
                "scratch space is looked at",
                "import time\nfor i in range(400):\n    open('/tmp/%d' % i, 'wb').write(bytes(1 << 18))\n    time.sleep(0.005)",
                Hits(Limit::Disk),
                "open('/tmp/a', 'wb').write(bytes(1 << 20))\nprint(1)",
                Out("1"),
            ),
        ),
    ]
}
