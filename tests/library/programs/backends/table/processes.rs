//! Attacks on other processes and on privileges.
#![expect(clippy::too_many_lines, reason = "a table is as long as it has rows")]

use std::time::Duration;

use nix::libc as c;

use super::{TRY, behind, row, with};
use crate::programs::backends::harness::Expect::{Dies, Out};
use crate::programs::backends::harness::{Row, Wall};

pub(super) fn processes() -> Vec<Row> {
    let t = |code: &str| format!("{TRY}{code}");
    let rows = vec![
        row(
            "other processes are not seen",
            "import os\nprint({int(p) for p in os.listdir('/proc') if p.isdigit()} - {1, os.getpid(), os.getppid()})",
            Out("set()"),
            "import os\nprint(os.getpid() - os.getppid())",
            Out("1"),
        ),
        row(
            "init cannot be killed",
            &t(
                "import signal, time\nattempt(lambda: os.kill(1, signal.SIGKILL))\nattempt(lambda: os.kill(1, signal.SIGSTOP))\ntime.sleep(0.05)\nprint(os.path.exists('/proc/1'))",
            ),
            Out("True"),
            "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *a: print('got it'))\nos.kill(os.getpid(), signal.SIGUSR1)",
            Out("got it"),
        ),
        row(
            "a signal to itself ends it",
            "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nprint('immune')",
            Dies(15),
            "import signal, os\nsignal.signal(signal.SIGTERM, lambda *a: None)\nos.kill(os.getpid(), signal.SIGTERM)\nprint('handled')",
            Out("handled"),
        ),
        row("an abort is one", "import os\nos.abort()", Dies(6), "import os\nos._exit(0)", Out("")),
        row(
            "host processes get no signal",
            &t("print({attempt(lambda p=p: os.kill(p, 0)) for p in range(4, 400)})"),
            Out("{'ProcessLookupError'}"),
            "import os\nprint(os.kill(os.getpid(), 0))",
            Out("None"),
        ),
        row(
            "killing everything kills only its own",
            &t("import signal\nattempt(lambda: os.kill(-1, signal.SIGKILL))\nprint('on')"),
            Out("on"),
            "import subprocess, sys\np = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\np.kill()\nprint(p.wait())",
            Out("-9"),
        ),
        row(
            "a daemon does not outlive the call",
            "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(60)\n    os._exit(0)\nos.wait()\nprint('left')",
            Out("left"),
            "import os\npid = os.fork()\nif pid == 0:\n    os._exit(7)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
            Out("7"),
        ),
        with(
            |spec| spec.limits.wall = Duration::from_secs(8),
            row(
                "a daemon that ignores signals and holds the output open is dead in time",
                "import os, signal, time\nfor s in range(1, 32):\n    try:\n        signal.signal(s, signal.SIG_IGN)\n    except OSError:\n        pass\nif os.fork() == 0:\n    os.setsid()\n    while True:\n        time.sleep(1)\nprint('parent gone', flush=True)\nos._exit(0)",
                Out("parent gone"),
                "print(1)",
                Out("1"),
            ),
        ),
        row(
            "ptrace of init is refused",
            &t("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nprint(libc.ptrace(16, 1, 0, 0), ctypes.get_errno())"),
            Out("-1 1"),
            "import faulthandler, sys\nprint(faulthandler.is_enabled())",
            Out("False"),
        ),
        row(
            "it is not root and cannot become it",
            &t(
                "print(os.getuid() != 0, os.getgid() != 0, [attempt(f)[-5:] for f in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]))])",
            ),
            Out("True True ['Error', 'Error', 'Error']"),
            "import os, pwd\nprint(pwd.getpwuid(os.getuid()).pw_name)",
            Out("user"),
        ),
        row(
            "it has no capability",
            "print([l.split()[1] for l in open('/proc/self/status') if l.startswith('Cap')])",
            Out("['0000000000000000', '0000000000000000', '0000000000000000', '0000000000000000', '0000000000000000']"),
            "print([l.split()[1] for l in open('/proc/self/status') if l.startswith(('NoNewPrivs', 'Seccomp:'))])",
            Out("['1', '2']"),
        ),
        row(
            "the process that watches over it cannot be starved",
            &format!(
                "{WATCHER}\nimport resource\nprint({{attempt(f) for f in (lambda: resource.prlimit(watcher, resource.RLIMIT_NOFILE, (0, 0)), lambda: resource.prlimit(watcher, resource.RLIMIT_CPU), lambda: os.sched_setscheduler(watcher, os.SCHED_IDLE, os.sched_param(0)), lambda: os.sched_setparam(watcher, os.sched_param(0)), lambda: os.sched_setaffinity(watcher, {{0}}), lambda: os.setpriority(os.PRIO_PROCESS, watcher, 19), lambda: os.setpriority(os.PRIO_PGRP, watcher, 19), lambda: os.setpriority(os.PRIO_PGRP, 0, 19), lambda: os.setpriority(os.PRIO_USER, 0, 19))}}, {{(c.syscall(*call), ctypes.get_errno()) for call in (({}, watcher, bytes(48), 0), ({io}, 1, watcher, 0x6000), ({io}, 2, 0, 0x6000), ({io}, 3, 0, 0x6000), ({}, watcher, 8, 0, 0))}})",
                c::SYS_sched_setattr,
                c::SYS_migrate_pages,
                io = c::SYS_ioprio_set
            ),
            Out("{'PermissionError'} {(-1, 1)}"),
            "import os, resource\nprint(resource.prlimit(0, resource.RLIMIT_CORE), os.nice(1) >= 0)\nos.sched_setaffinity(0, os.sched_getaffinity(0))\nos.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\nos.setpriority(os.PRIO_PROCESS, 0, 19)",
            Out("(0, 0) True"),
        ),
        row(
            "nor woken by signals",
            &format!(
                "{WATCHER}\nprint({{(c.syscall(*call), ctypes.get_errno()) for call in (({}, 1, 17), ({}, 1, 17), ({}, 1, 1, 17), ({}, 1, 17, bytes(128)), ({}, 1, 1, 17, bytes(128)), ({}, 1, 0))}})",
                c::SYS_kill,
                c::SYS_tkill,
                c::SYS_tgkill,
                c::SYS_rt_sigqueueinfo,
                c::SYS_rt_tgsigqueueinfo,
                c::SYS_pidfd_open
            ),
            Out("{(-1, 1)}"),
            "import os, signal\npid = os.fork()\nif pid == 0:\n    signal.pause()\nos.close(os.pidfd_open(pid))\nos.kill(pid, signal.SIGTERM)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
            Out("-15"),
        ),
        row(
            "nor by what the kernel shows of it",
            &t(
                "found = []\nfor folder, _, names in os.walk('/proc/1'):\n    for name in names:\n        try:\n            os.close(os.open(f'{folder}/{name}', os.O_WRONLY))\n            found.append(name)\n        except OSError:\n            pass\nprint(found)",
            ),
            Out("[]"),
            "print(open('/proc/self/status').read().splitlines()[0].startswith('Name:'), open('/proc/1/stat').read().split()[0])",
            Out("True 1"),
        ),
        row(
            "priority cannot be raised",
            &t("print(attempt(lambda: os.nice(-5)))"),
            Out("PermissionError"),
            "import os\nprint(os.nice(0) <= os.nice(1))",
            Out("True"),
        ),
        row(
            "limits cannot be raised",
            "import resource\nr = []\nfor which in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_CPU, resource.RLIMIT_CORE):\n    try:\n        resource.setrlimit(which, (resource.RLIM_INFINITY,) * 2)\n        r.append(which)\n    except (ValueError, OSError):\n        pass\nprint(r)",
            Out("[]"),
            "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))\nprint(resource.getrlimit(resource.RLIMIT_NOFILE))",
            Out("(32, 32)"),
        ),
        row(
            "the host's name is not told",
            "import os, socket\nprint(os.uname().nodename)",
            Out("jail"),
            "import platform\nprint(platform.system())",
            Out("Linux"),
        ),
        row(
            "the clock cannot be set",
            &t("import time\nprint(attempt(lambda: time.clock_settime(time.CLOCK_REALTIME, 0)))"),
            Out("PermissionError"),
            "import time\nprint(time.time() > 1e9)",
            Out("True"),
        ),
        row(
            "the machine's name cannot be set",
            &t("import socket\nprint(attempt(lambda: socket.sethostname('x')))"),
            Out("PermissionError"),
            "import socket\nprint(socket.gethostname())",
            Out("jail"),
        ),
    ];
    let wall = |name| match name {
        "the host's name is not told" | "the machine's name cannot be set" => Wall::Layer("uts_namespace"),
        "it has no capability" | "other processes are not seen" | "nor by what the kernel shows of it" => Wall::Layer("proc"),
        "it is not root and cannot become it" => Wall::Layer("filesystem"),
        name if ANYWHERE.contains(&name) => Wall::Everywhere,
        _ => Wall::Layer("processes"),
    };
    rows.into_iter().map(|row| behind(wall(row.name), row)).collect()
}

/// The process that looks after the program: init in a process namespace, the parent where there is none.
const WATCHER: &str = "def attempt(f):\n    try:\n        return f()\n    except BaseException as e:\n        return type(e).__name__\nimport ctypes, os\nc = ctypes.CDLL(None, use_errno=True)\nwatcher = os.getppid() or 1";

/// Rows that need no process namespace.
const ANYWHERE: [&str; 10] = [
    "the process that watches over it cannot be starved",
    "nor woken by signals",
    "a signal to itself ends it",
    "an abort is one",
    "a daemon does not outlive the call",
    "a daemon that ignores signals and holds the output open is dead in time",
    "ptrace of init is refused",
    "priority cannot be raised",
    "limits cannot be raised",
    "the clock cannot be set",
];
