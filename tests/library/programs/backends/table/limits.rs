//! Attacks on the bounds.
#![expect(clippy::too_many_lines, reason = "a table is as long as it has rows")]

use std::time::Duration;

use toolgate::sandbox::programs::Limit;

use super::{behind, row, with};
use crate::programs::backends::harness::Expect::{Dies, Has, Hits, Out, Raises};
use crate::programs::backends::harness::{Row, Wall};

pub(super) fn limits() -> Vec<Row> {
    let rows = vec![
        row(
            "a heap bomb ends in the memory limit",
            "x = bytearray(1 << 30)",
            Hits(Limit::Memory),
            "x = bytearray(64 << 20)\nprint(len(x))",
            Out("67108864"),
        ),
        row(
            "a slow heap bomb as well",
            "x = []\nwhile True:\n    x.append(bytes(1 << 20))",
            Hits(Limit::Memory),
            "x = [bytes(1 << 20) for _ in range(50)]\nprint(len(x))",
            Out("50"),
        ),
        row(
            "a shared mapping counts",
            "import mmap\nm = mmap.mmap(-1, 1 << 30)\nfor i in range(0, 1 << 30, 4096):\n    m[i] = 1",
            Hits(Limit::Memory),
            "import mmap\nm = mmap.mmap(-1, 1 << 20)\nm[0] = 1\nprint(m[0])",
            Out("1"),
        ),
        row(
            "many processes share one memory limit",
            "import os, time\nfor _ in range(6):\n    if os.fork() == 0:\n        x = bytearray(b'x') * (100 << 20)\n        time.sleep(15)\n        os._exit(0)\ntime.sleep(15)",
            Hits(Limit::Memory),
            "import os\nfor _ in range(6):\n    if os.fork() == 0:\n        x = bytearray(8 << 20)\n        os._exit(0)\nfor _ in range(6):\n    os.wait()\nprint('ok')",
            Out("ok"),
        ),
        row(
            "memory hidden from the sum still counts",
            "import os, time, ctypes\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\nfor _ in range(6):\n    if os.fork() == 0:\n        x = bytearray(b'x') * (100 << 20)\n        time.sleep(15)\n        os._exit(0)\ntime.sleep(15)",
            Hits(Limit::Memory),
            "import ctypes\nprint(ctypes.CDLL(None).prctl(4, 0, 0, 0, 0))",
            Out("0"),
        ),
        with(
            |spec| spec.limits.wall = Duration::from_secs(8),
            row(
                "an endless loop ends in the time limit",
                "while True:\n    pass",
                Hits(Limit::Wall),
                "print(sum(range(1000)))",
                Out("499500"),
            ),
        ),
        with(
            |spec| spec.limits.wall = Duration::from_secs(8),
            row(
                "sleep with every signal ignored ends in the time limit",
                "import signal, time\nfor s in (1, 2, 3, 15):\n    signal.signal(s, signal.SIG_IGN)\ntime.sleep(60)",
                Hits(Limit::Wall),
                "import time\ntime.sleep(0.01)\nprint('woke')",
                Out("woke"),
            ),
        ),
        with(
            |spec| spec.limits.cpu = Duration::from_secs(1),
            row(
                "a spinning program ends in the processor limit",
                "while True:\n    pass",
                Hits(Limit::Cpu),
                "print(sum(range(1000)))",
                Out("499500"),
            ),
        ),
        with(
            |spec| spec.limits.cpu = Duration::from_secs(1),
            row(
                "one that ignores the first signal as well",
                "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True:\n    pass",
                Hits(Limit::Cpu),
                "import signal\nprint(signal.SIGXCPU.value)",
                Out("24"),
            ),
        ),
        with(
            |spec| spec.limits.cpu = Duration::from_secs(1),
            row(
                "a relay of short-lived children as well",
                "import os, time\nwhile True:\n    if os.fork() == 0:\n        end = time.process_time() + 0.3\n        while time.process_time() < end:\n            pass\n        os._exit(0)\n    os.wait()",
                Hits(Limit::Cpu),
                "import os\nif os.fork() == 0:\n    os._exit(0)\nos.wait()\nprint('one')",
                Out("one"),
            ),
        ),
        with(
            |spec| spec.limits.cpu = Duration::from_secs(1),
            row(
                "a relay of orphans as well",
                "import os, time\nmain = os.getpid()\nwhile True:\n    end = time.process_time() + 0.2\n    while time.process_time() < end:\n        pass\n    if os.fork() != 0:\n        if os.getpid() == main:\n            os.wait()\n        else:\n            os._exit(0)",
                Hits(Limit::Cpu),
                "print(2)",
                Out("2"),
            ),
        ),
        with(
            |spec| spec.limits.cpu = Duration::from_secs(1),
            row(
                "children whose end their parent does not take as well",
                "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nbegun = time.monotonic()\nwhile time.monotonic() < begun + 30:\n    r, w = os.pipe()\n    if os.fork() == 0:\n        end = time.process_time() + 0.15\n        while time.process_time() < end:\n            pass\n        os._exit(0)\n    os.close(w)\n    os.read(r, 1)\n    os.close(r)",
                Hits(Limit::Cpu),
                "import os, signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nif os.fork() == 0:\n    os._exit(0)\ntry:\n    os.wait()\nexcept ChildProcessError:\n    print('taken')",
                Out("taken"),
            ),
        ),
        with(
            |spec| (spec.limits.cpu, spec.limits.wall) = (Duration::from_millis(500), Duration::from_mins(5)),
            row(
                "children whose end is not taken and that live shorter than between two looks as well",
                "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nwhile True:\n    r, w = os.pipe()\n    if os.fork() == 0:\n        end = time.process_time() + 0.008\n        while time.process_time() < end:\n            pass\n        os._exit(0)\n    os.close(w)\n    os.read(r, 1)\n    os.close(r)",
                Hits(Limit::Cpu),
                "import os\nfor i in range(10):\n    if os.fork() == 0:\n        sum(range(10000))\n        os._exit(0)\n    os.wait()\nprint(i)",
                Out("9"),
            ),
        ),
        row(
            "a fork bomb of which every process goes on ends in the process limit",
            "import os\nwhile True:\n    os.fork()",
            Hits(Limit::Pids),
            "import subprocess, sys\nprint(sum(subprocess.run([sys.executable, '-ISc', 'pass']).returncode == 0 for _ in range(5)))",
            Out("5"),
        ),
        row(
            "a fork bomb ends in the process limit",
            "import os, time\nwhile True:\n    if os.fork() == 0:\n        time.sleep(30)",
            Hits(Limit::Pids),
            "import os\npids = []\nfor _ in range(10):\n    p = os.fork()\n    if p == 0:\n        os._exit(0)\n    pids.append(p)\nfor p in pids:\n    os.waitpid(p, 0)\nprint(len(pids))",
            Out("10"),
        ),
        row(
            "the process limit is exact",
            "import os, time\nn = 1\ntry:\n    while True:\n        if os.fork() == 0:\n            time.sleep(30)\n            os._exit(0)\n        n += 1\nexcept BlockingIOError:\n    print(n)",
            Out("16"),
            "print(1)",
            Out("1"),
        ),
        row(
            "threads count as processes",
            "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()",
            Hits(Limit::Pids),
            "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as pool:\n    print(sum(pool.map(abs, [-1, -2, -3])))",
            Out("6"),
        ),
        with(
            |spec| spec.limits.processes = 400,
            row(
                "threads whose stacks find no room end in the memory limit",
                "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()",
                Hits(Limit::Memory),
                "import threading\nfor _ in range(20):\n    threading.Thread(target=int).start()\nprint('ok')",
                Out("ok"),
            ),
        ),
        with(
            |spec| spec.limits.scratch = 8 << 20,
            row(
                "a full scratch folder ends in the disk limit",
                "f = open('/tmp/x', 'wb')\nwhile True:\n    f.write(bytes(1 << 20))",
                Hits(Limit::Disk),
                "f = open('/tmp/x', 'wb')\nf.write(bytes(1 << 20))\nf.close()\nimport os\nprint(os.path.getsize('/tmp/x'))",
                Out("1048576"),
            ),
        ),
        with(
            |spec| spec.limits.file_size = 1 << 20,
            row(
                "a file over its size ends in the file size limit",
                "f = open('big', 'wb')\nwhile True:\n    f.write(bytes(1 << 18))\n    f.flush()",
                Hits(Limit::Fsize),
                "open('small', 'wb').write(bytes(1 << 10))\nprint('ok')",
                Out("ok"),
            ),
        ),
        with(
            // Larger than any file that another row leaves in the folder that all of them share.
            |spec| spec.limits.file_size = 3 << 20,
            row(
                "a file over its size in scratch space, which is closed when its write has failed, ends in the file size limit",
                "with open('/tmp/big', 'wb', buffering=0) as f:\n    while True:\n        f.write(bytes(1 << 20))",
                Hits(Limit::Fsize),
                "with open('/tmp/small', 'wb') as f:\n    f.write(bytes(1 << 10))\nprint('ok')",
                Out("ok"),
            ),
        ),
        row(
            "too many small files end in the disk limit",
            "for i in range(200000):\n    open('/tmp/%d' % i, 'w').close()",
            Hits(Limit::Disk),
            "for i in range(500):\n    open('/tmp/%d' % i, 'w').close()\nprint(i)",
            Out("499"),
        ),
        with(
            |spec| spec.limits.scratch = 8 << 20,
            row(
                "shared memory files have a bound",
                "f = open('/dev/shm/x', 'wb')\nwhile True:\n    f.write(bytes(1 << 20))",
                Hits(Limit::Disk),
                "from multiprocessing import shared_memory\ns = shared_memory.SharedMemory(create=True, size=4096)\ns.buf[0] = 7\nprint(s.buf[0])\ns.close()\ns.unlink()",
                Out("7"),
            ),
        ),
        with(
            |spec| spec.roots.iter_mut().for_each(|root| root.quota = Some(8 << 20)),
            row(
                "files without a name count on the disk",
                "import os, time\nfor i in range(40):\n    f = os.open(f'unnamed {i}', os.O_CREAT | os.O_RDWR)\n    os.unlink(f'unnamed {i}')\n    os.write(f, bytes(1 << 20))\ntime.sleep(60)",
                Hits(Limit::Disk),
                "import os\nf = os.open('unnamed', os.O_CREAT | os.O_RDWR)\nos.unlink('unnamed')\nprint(os.write(f, bytes(1 << 20)))",
                Out("1048576"),
            ),
        ),
        with(
            |spec| spec.roots.iter_mut().for_each(|root| root.quota = Some(8 << 20)),
            row(
                "those of a child that has no parent and a table of its own as well",
                "import os, time\nif os.fork() == 0:\n    if os.fork() == 0:\n        for i in range(40):\n            os.write(os.open('.', os.O_TMPFILE | os.O_RDWR), bytes(1 << 20))\n        time.sleep(60)\n    os._exit(0)\ntime.sleep(60)",
                Hits(Limit::Disk),
                "import tempfile\nwith tempfile.TemporaryFile(dir='.') as f:\n    print(f.write(bytes(1 << 20)))",
                Out("1048576"),
            ),
        ),
        with(
            |spec| spec.limits.scratch = 8 << 20,
            row(
                "those in scratch space as well",
                "import os, time\nfor i in range(40):\n    f = os.open('/tmp/u', os.O_CREAT | os.O_RDWR)\n    os.unlink('/tmp/u')\n    os.write(f, bytes(1 << 20))\ntime.sleep(60)",
                Hits(Limit::Disk),
                "import tempfile\nwith tempfile.TemporaryFile() as f:\n    print(f.write(bytes(1 << 20)))",
                Out("1048576"),
            ),
        ),
        with(
            |spec| (spec.limits.cpu, spec.limits.wall) = (Duration::from_secs(1), Duration::from_mins(5)),
            row(
                "a program that ends itself as the processor limit would, before that, has not met it",
                "import os, signal, time\nwhile time.process_time() < 0.6:\n    pass\nos.kill(os.getpid(), signal.SIGXCPU)",
                Dies(24),
                "import time\nwhile time.process_time() < 0.6:\n    pass\nprint('well')",
                Out("well"),
            ),
        ),
        row(
            "no room is set aside without being written",
            &format!(
                "import ctypes, os\nc = ctypes.CDLL(None, use_errno=True)\nf = os.open('/tmp/r', os.O_CREAT | os.O_RDWR)\nbuffer = ctypes.create_string_buffer(128)\nctypes.memmove(buffer, (ctypes.c_long * 3)(0, 0, 1 << 20), 24)\nr = set()\nfor mode in (0, 1, 3, 8, 16, 17, 32, 64):\n    r.add((c.fallocate(f, mode, ctypes.c_long(0), ctypes.c_long(1 << 20)), ctypes.get_errno()))\nfor number in ({ROOM}):\n    r.add((c.ioctl(f, ctypes.c_ulong(number), buffer), ctypes.get_errno()))\nr.add((c.syscall(469, f, b'', buffer, ctypes.c_long(24), ctypes.c_long(0x1000)), ctypes.get_errno()))\nprint(sorted(r), os.fstat(f).st_blocks)"
            ),
            Out("[(-1, 1), (-1, 95)] 0"),
            "import os\nf = os.open('/tmp/p', os.O_CREAT | os.O_RDWR)\nos.posix_fallocate(f, 0, 1 << 20)\nprint(os.fstat(f).st_size)",
            Out("1048576"),
        ),
        with(
            |spec| spec.limits.file_size = 1 << 20,
            row(
                "room that is asked for is written, and has the bound of what is written",
                "import os\nos.posix_fallocate(os.open('asked', os.O_CREAT | os.O_RDWR), 0, 8 << 20)",
                Hits(Limit::Fsize),
                "import os\nf = os.open('asked small', os.O_CREAT | os.O_RDWR)\nos.posix_fallocate(f, 0, 4096)\nprint(os.fstat(f).st_blocks > 0)",
                Out("True"),
            ),
        ),
        row(
            "controls of devices and files that no program needs are refused",
            "import fcntl, os\nf = os.open('/tmp/c', os.O_CREAT | os.O_RDWR)\nr = set()\nfor number in (0x40086602, 0x401c5820, 0x80086601, 0xc020660b, 0xc0481273, 0x5412, 0x541c, 0x5423, 0x1, 0x8927, 0x4b47, 0x4004667f, 0xc0045878):\n    try:\n        fcntl.ioctl(f, number, bytes(1024))\n        r.add(number)\n    except OSError as e:\n        r.add(e.errno)\nprint(r)",
            Out("{1}"),
            "import fcntl, os, struct, sys, termios\nr, w = os.pipe()\nos.write(w, b'abc')\nos.set_inheritable(r, False)\nfcntl.ioctl(r, termios.FIOCLEX)\nfcntl.ioctl(r, termios.FIONBIO, struct.pack('i', 1))\nprint(struct.unpack('i', fcntl.ioctl(r, termios.FIONREAD, bytes(4)))[0], sys.stdout.isatty())\ntry:\n    os.get_terminal_size(0)\nexcept OSError as e:\n    print(e.errno)",
            Out("3 False\n25"),
        ),
        row(
            "too many open files end in their limit",
            "fs = []\nwhile True:\n    fs.append(open('/dev/null'))",
            Hits(Limit::Fds),
            "fs = [open('/dev/null') for _ in range(100)]\nprint(len(fs))",
            Out("100"),
        ),
        row(
            "a flood of output is stopped",
            "while True:\n    print('x' * 1000)",
            Hits(Limit::Output),
            "for i in range(20000):\n    print(i)",
            Has("bytes left out"),
        ),
        row(
            "deep recursion is an exception",
            "def f(): return f()\nf()",
            Raises("RecursionError"),
            "def f(n): return n and f(n - 1)\nprint(f(500))",
            Out("0"),
        ),
        row(
            "a crash is a signal",
            "import ctypes\nctypes.string_at(0)",
            Dies(11),
            "import ctypes\nprint(ctypes.sizeof(ctypes.c_int))",
            Out("4"),
        ),
        row("no core is left", "import resource\nprint(resource.getrlimit(resource.RLIMIT_CORE))", Out("(0, 0)"), "print(1)", Out("1")),
    ];
    let wall = |name| match name {
        "the process limit is exact" => Wall::Layer("processes"),
        "children whose end is not taken and that live shorter than between two looks as well" => Wall::Layer("cpu_time"),
        name if SCRATCH.contains(&name) => Wall::Layer("filesystem"),
        name if MEMORY.contains(&name) => Wall::Layer("memory"),
        _ => Wall::Everywhere,
    };
    rows.into_iter().map(|row| behind(wall(row.name), row)).collect()
}

/// `FS_IOC_RESVSP`, `FS_IOC_RESVSP64`, `FS_IOC_ZERO_RANGE`, `XFS_IOC_ALLOCSP64`, `FICLONE`, `FICLONERANGE`, `FIDEDUPERANGE`, `EXT4_IOC_MOVE_EXT` and
/// `FS_IOC_FSSETXATTR`, which takes a hint of how much is set aside at a time.
const ROOM: &str = "0x40305828, 0x4030582a, 0x40305839, 0x40305824, 0x40049409, 0x4020940d, 0xc0189436, 0xc028660f, 0x401c5820";
/// Rows for scratch space that the kernel bounds.
const SCRATCH: [&str; 3] =
    ["a full scratch folder ends in the disk limit", "too many small files end in the disk limit", "shared memory files have a bound"];
/// Rows for memory and files that are added up over all processes.
const MEMORY: [&str; 4] = [
    "many processes share one memory limit",
    "memory hidden from the sum still counts",
    "files without a name count on the disk",
    "those of a child that has no parent and a table of its own as well",
];
