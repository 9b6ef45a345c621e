//! The attacks. Each row: what a hostile program tries, what must come of it, and the honest program next to it.

use super::harness::{Expect, Row};
use Expect::{Dies, Has, Hits, Out, Raises};
use std::time::Duration;
use toolgate::sandbox::jail::{JailSpec, Limit};

fn same(_: &mut JailSpec) {}

fn row(name: &'static str, attack: &str, expect: Expect, ordinary: &str, works: Expect) -> Row {
    Row { name, attack: attack.to_owned(), expect, ordinary: ordinary.to_owned(), works, limits: same }
}

fn with(limits: fn(&mut JailSpec), row: Row) -> Row {
    Row { limits, ..row }
}

/// A program that makes one raw system call and prints how it was answered.
fn syscall(number: i64, arguments: &str) -> String {
    format!("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nr = libc.syscall({number}, {arguments})\nprint(r, ctypes.get_errno())")
}

pub fn rows() -> Vec<Row> {
    let mut rows = files();
    rows.extend(processes());
    rows.extend(network());
    rows.extend(kernel());
    rows.extend(limits());
    rows.extend(answers());
    rows
}

/// Prints what an expression raises, or its value.
const TRY: &str = "def attempt(f):\n    try:\n        return f()\n    except BaseException as e:\n        return type(e).__name__\nimport os\n";

fn files() -> Vec<Row> {
    let t = |code: &str| format!("{TRY}{code}");
    vec![
        row("the shadow file is not there", &t("print(attempt(lambda: open('/etc/shadow').read()))"), Out("FileNotFoundError"), "print(open('/etc/passwd').read().count('user:'))", Out("1")),
        row("the host's root is not there", "import os\nprint(sorted(set(os.listdir('/')) & {'home', 'work', 'var', 'boot', 'srv', 'sys', 'opt', 'mnt'}))", Out("[]"), "import os\nprint('tmp' in os.listdir('/'))", Out("True")),
        row("stat tells nothing about the host", &t("print(attempt(lambda: os.stat('/root/.bashrc')), attempt(lambda: os.stat('/etc/hostname')))"), Out("FileNotFoundError FileNotFoundError"), "import os\nprint(os.stat('/tmp').st_mode & 0o777 == 0o777)", Out("True")),
        row("a read-only root cannot be written", &t("print(attempt(lambda: open('/roots/shelf/new', 'w')), attempt(lambda: os.remove('/roots/shelf/open.txt')))"), Has("Error"), "print(open('/roots/shelf/open.txt').read())", Out("for everybody")),
        row("a read-only root cannot be changed by mode or owner", &t("print(attempt(lambda: os.chmod('/roots/shelf/open.txt', 0o777)), attempt(lambda: os.utime('/roots/shelf')))"), Out("OSError OSError"), &t("open('m','w').close()\nprint(attempt(lambda: os.chmod('m', 0o600)))"), Out("None")),
        row("a denied file is masked", &t("print(attempt(lambda: open('/roots/shelf/.env').read()))"), Out("PermissionError"), "import os\nprint(sorted(os.listdir('/roots/shelf')))", Out("['.env', 'keys', 'link', 'open.txt']")),
        row("a denied folder is masked", &t("print(attempt(lambda: os.listdir('/roots/shelf/keys')), attempt(lambda: open('/roots/shelf/keys/id.pem')))"), Out("PermissionError PermissionError"), "print(len(open('/roots/shelf/open.txt').read()))", Out("13")),
        row("a mask cannot be opened up", &t("print(attempt(lambda: os.chmod('/roots/shelf/.env', 0o777)), attempt(lambda: os.rename('/roots/shelf/.env', '/tmp/x')), attempt(lambda: os.link('/roots/shelf/.env', '/tmp/y')))"), Has("OSError"), "import os\nopen('/tmp/a','w').close()\nos.link('/tmp/a','/tmp/b')\nprint(os.stat('/tmp/b').st_nlink)", Out("2")),
        row("a link in a root leads nowhere outside", "print(open('/roots/shelf/link').read())", Has("user:x:1000"), "import os\nprint(os.readlink('/roots/shelf/link'))", Out("/etc/passwd")),
        row("the interpreter's files cannot be changed", &t("import json\nprint(attempt(lambda: open(json.__file__, 'a')))"), Out("OSError"), "import json\nprint(json.dumps([1]))", Out("[1]")),
        row("the own root is read-only", &t("print(attempt(lambda: open('/x', 'w')), attempt(lambda: os.mkdir('/etc/x')), attempt(lambda: open('/dev/x', 'w')))"), Out("OSError OSError OSError"), "open('/tmp/x', 'w').write('a')\nprint(open('/tmp/x').read())", Out("a")),
        row("the mask sources are closed", &t("print(attempt(lambda: os.listdir('/.nothing-folder')), attempt(lambda: open('/.nothing-file')))"), Out("PermissionError PermissionError"), "1", Out("1")),
        row("no way out by dot-dot", &t("os.chdir('/roots/work')\nprint(os.path.exists('../../../../../../root'), os.path.realpath('../../../..'))"), Has(" /"), "import os\nos.mkdir('sub')\nos.chdir('sub')\nprint(os.getcwd())\nos.chdir('..')\nos.rmdir('sub')", Out("/roots/work/sub")),
        row("chroot is refused", &t("os.mkdir('/tmp/r')\nprint(attempt(lambda: os.chroot('/tmp/r')))"), Out("PermissionError"), "import os\nos.chdir('/tmp')\nprint(os.getcwd())", Out("/tmp")),
        row("a device cannot be made", &t("import stat\nprint(attempt(lambda: os.mknod('/tmp/sda', 0o600 | stat.S_IFBLK, os.makedev(8, 0))), attempt(lambda: os.mknod('/tmp/mem', 0o600 | stat.S_IFCHR, os.makedev(1, 1))))"), Out("PermissionError PermissionError"), "import os\nos.mkfifo('/tmp/f')\nprint(os.path.exists('/tmp/f'))", Out("True")),
        row("no foreign device is there", "import os\nprint(sorted(set(os.listdir('/dev')) - {'null','zero','full','random','urandom','shm','fd','stdin','stdout','stderr'}))", Out("[]"), "import os\nprint(len(os.urandom(4)), open('/dev/zero','rb').read(2), open('/dev/null','w').write('x'))", Out("4 b'\\x00\\x00' 1")),
        row("set-user-id bits do nothing", "import os, shutil, sys\nshutil.copy(os.path.realpath(sys.executable), '/tmp/p')\nos.chmod('/tmp/p', 0o6755)\nimport subprocess\nprint(subprocess.run(['/tmp/p', '-I', '-S', '-c', 'import os; print(os.geteuid() == os.getuid() != 0)'], capture_output=True, text=True, env={'LD_LIBRARY_PATH': ':'.join(p for p in (sys.prefix + '/lib',))}).stdout.strip() or 'no run')", Has(""), "import os\nprint(os.getuid() == os.geteuid() != 0)", Out("True")),
        row("an earlier program's files are gone from scratch", "import os\nprint(os.listdir('/tmp'), os.listdir('/dev/shm'))\nopen('/tmp/marker','w').close()\nopen('/dev/shm/marker','w').close()", Out("[] []"), "import os\nprint(os.listdir('/tmp'), os.listdir('/dev/shm'))", Out("[] []")),
        row("the server's environment is not there", "import os\nprint([k for k in os.environ if k in ('USER', 'CARGO', 'CARGO_MANIFEST_DIR', 'SHELL', 'PWD', 'TOOLGATE_HELPER')])", Out("[]"), "import os\nprint(os.environ['HOME'])", Out("/tmp")),
        row("no descriptor is inherited", "import os\nprint(sorted(int(f) for f in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + f)))", Out("[0, 1, 2]"), "import os\nf = open('/tmp/a', 'w')\nprint(f.fileno() > 2)", Out("True")),
        row("the memory of init is closed", &t("print(attempt(lambda: open('/proc/1/mem', 'rb')), attempt(lambda: open('/proc/1/environ').read()), attempt(lambda: os.listdir('/proc/1/fd')))"), Out("PermissionError PermissionError PermissionError"), "print(open('/proc/self/stat').read().split()[0])", Out("2")),
        row("the kernel's settings are not there", &t("print(attempt(lambda: open('/proc/sys/kernel/core_pattern')), attempt(lambda: open('/proc/sysrq-trigger', 'w')), attempt(lambda: os.listdir('/sys')))"), Out("FileNotFoundError FileNotFoundError FileNotFoundError"), "print(open('/proc/self/comm').read().strip()[:6])", Out("python")),
    ]
}

fn processes() -> Vec<Row> {
    let t = |code: &str| format!("{TRY}{code}");
    vec![
        row("other processes are not seen", "import os\nprint(sorted(int(p) for p in os.listdir('/proc') if p.isdigit()))", Out("[1, 2]"), "import os\nprint(os.getpid(), os.getppid())", Out("2 1")),
        row("init cannot be killed", "import os, signal\nos.kill(1, signal.SIGKILL)\nos.kill(1, signal.SIGTERM)\nimport time\ntime.sleep(0.05)\nprint('alive')", Out("alive"), "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *a: print('got it'))\nos.kill(os.getpid(), signal.SIGUSR1)", Out("got it")),
        row("a signal to itself ends it", "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nprint('immune')", Dies(15), "import signal, os\nsignal.signal(signal.SIGTERM, lambda *a: None)\nos.kill(os.getpid(), signal.SIGTERM)\nprint('handled')", Out("handled")),
        row("an abort is one", "import os\nos.abort()", Dies(6), "import os\nos._exit(0)", Out("")),
        row("host processes get no signal", &t("print({attempt(lambda p=p: os.kill(p, 0)) for p in range(3, 400)})"), Out("{'ProcessLookupError'}"), "import os\nprint(os.kill(os.getpid(), 0))", Out("None")),
        row("killing everything kills only its own", "import os, signal\nos.kill(-1, signal.SIGSTOP)\nprint('on')", Out("on"), "import subprocess, sys\np = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\np.kill()\nprint(p.wait())", Out("-9")),
        row("a daemon does not outlive the call", "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(60)\n    os._exit(0)\nos.wait()\nprint('left')", Out("left"), "import os\npid = os.fork()\nif pid == 0:\n    os._exit(7)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))", Out("7")),
        with(|spec| spec.limits.wall = Duration::from_millis(1500), row("a daemon that ignores signals and holds the output open is dead in time", "import os, signal, time\nfor s in range(1, 32):\n    try:\n        signal.signal(s, signal.SIG_IGN)\n    except OSError:\n        pass\nif os.fork() == 0:\n    os.setsid()\n    while True:\n        time.sleep(1)\nprint('parent gone', flush=True)\nos._exit(0)", Out("parent gone"), "print(1)", Out("1"))),
        row("ptrace of init is refused", &t("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nprint(libc.ptrace(16, 1, 0, 0), ctypes.get_errno())"), Out("-1 1"), "import faulthandler, sys\nprint(faulthandler.is_enabled())", Out("False")),
        row("it is not root and cannot become it", &t("print(os.getuid() != 0, os.getgid() != 0, attempt(lambda: os.setuid(0)), attempt(lambda: os.setgid(0)), attempt(lambda: os.setgroups([0])))"), Out("True True PermissionError PermissionError PermissionError"), "import os, pwd\nprint(pwd.getpwuid(os.getuid()).pw_name)", Out("user")),
        row("it has no capability", "print([l.split()[1] for l in open('/proc/self/status') if l.startswith('Cap')])", Out("['0000000000000000', '0000000000000000', '0000000000000000', '0000000000000000', '0000000000000000']"), "print([l.split()[1] for l in open('/proc/self/status') if l.startswith(('NoNewPrivs', 'Seccomp:'))])", Out("['1', '2']")),
        row("priority cannot be raised", &t("print(attempt(lambda: os.nice(-5)))"), Out("PermissionError"), "import os\nprint(os.nice(1))", Out("1")),
        row("limits cannot be raised", "import resource\nr = []\nfor which in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_CPU, resource.RLIMIT_CORE):\n    try:\n        resource.setrlimit(which, (resource.RLIM_INFINITY,) * 2)\n        r.append(which)\n    except (ValueError, OSError):\n        pass\nprint(r)", Out("[]"), "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))\nprint(resource.getrlimit(resource.RLIMIT_NOFILE))", Out("(32, 32)")),
        row("the host's name is not told", "import os, socket\nprint(os.uname().nodename)", Out("jail"), "import platform\nprint(platform.system())", Out("Linux")),
        row("the clock cannot be set", &t("import time\nprint(attempt(lambda: time.clock_settime(time.CLOCK_REALTIME, 0)))"), Out("PermissionError"), "import time\nprint(time.time() > 1e9)", Out("True")),
        row("the machine's name cannot be set", &t("import socket\nprint(attempt(lambda: socket.sethostname('x')))"), Out("PermissionError"), "import socket\nprint(socket.gethostname())", Out("jail")),
    ]
}

fn network() -> Vec<Row> {
    let socket = |what: &str| format!("{TRY}import socket\nprint(attempt(lambda: socket.socket({what})))");
    let pair = "import socket\na, b = socket.socketpair()\na.send(b'hi')\nprint(b.recv(2))";
    let asyncio = "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    return 5\nprint(asyncio.run(main()))";
    vec![
        row("no internet socket", &socket("socket.AF_INET, socket.SOCK_STREAM"), Out("PermissionError"), pair, Out("b'hi'")),
        row("no internet socket of the newer kind", &socket("socket.AF_INET6, socket.SOCK_DGRAM"), Out("PermissionError"), asyncio, Out("5")),
        row("no socket to the hypervisor", &socket("40, socket.SOCK_STREAM"), Out("PermissionError"), pair, Out("b'hi'")),
        row("no netlink socket", &socket("16, socket.SOCK_RAW, 0"), Out("PermissionError"), asyncio, Out("5")),
        row("no packet socket", &socket("17, socket.SOCK_RAW, 3"), Out("PermissionError"), pair, Out("b'hi'")),
        row("no bluetooth, no crypto, no xdp socket", &format!("{TRY}import socket\nprint([attempt(lambda f=f: socket.socket(f, socket.SOCK_RAW, 0)) for f in (31, 38, 44)])"), Out("['PermissionError', 'PermissionError', 'PermissionError']"), pair, Out("b'hi'")),
        row("no unix socket to a file or an abstract name", &socket("socket.AF_UNIX, socket.SOCK_STREAM"), Out("PermissionError"), "import multiprocessing as m\na, b = m.Pipe()\na.send([1])\nprint(b.recv())", Out("[1]")),
        row("a pair of another family is refused", &format!("{TRY}import socket\nprint(attempt(lambda: socket.socketpair(socket.AF_INET)))"), Has("Error"), pair, Out("b'hi'")),
        row("a name is not looked up", &format!("{TRY}import socket\nprint(attempt(lambda: socket.getaddrinfo('example.com', 80)))"), Has("rror"), "import socket\nprint(socket.inet_aton('1.2.3.4'))", Has("\\x01")),
        row("a page is not fetched", &format!("{TRY}import urllib.request\nprint(attempt(lambda: urllib.request.urlopen('http://127.0.0.1:1/')))"), Has("Error"), "import urllib.parse\nprint(urllib.parse.urlsplit('http://a/b').path)", Out("/b")),
    ]
}

fn kernel() -> Vec<Row> {
    let fine = "print(sum(range(10)))";
    let refused = "-1 1";
    let absent = "-1 38";
    let mut rows = Vec::new();
    let mut call = |name, number, arguments: &str, expect| rows.push(row(name, &syscall(number, arguments), Out(expect), fine, Out("45")));
    use nix::libc as c;
    call("io_uring is absent", c::SYS_io_uring_setup, "8, 0", absent);
    call("userfaultfd is refused", c::SYS_userfaultfd, "1", refused);
    call("bpf is refused", c::SYS_bpf, "0, 0, 0", refused);
    call("perf is refused", c::SYS_perf_event_open, "0, 0, -1, -1, 0", refused);
    call("a keyring cannot be written", c::SYS_add_key, "b'user', b'marker', b'x', 1, -4", refused);
    call("a keyring cannot be read", c::SYS_keyctl, "0, -4, 0, 0, 0", refused);
    call("a key cannot be asked for", c::SYS_request_key, "b'user', b'marker', 0, -4", refused);
    call("unshare is refused", c::SYS_unshare, "0x10000000", refused);
    call("setns is refused", c::SYS_setns, "3, 0", refused);
    call("clone with a new user namespace is refused", c::SYS_clone, "0x10000011, 0, 0, 0, 0", refused);
    call("clone with a new mount namespace is refused", c::SYS_clone, "0x00020011, 0, 0, 0, 0", refused);
    call("clone3 is absent", c::SYS_clone3, "0, 0", absent);
    call("mount is refused", c::SYS_mount, "b'x', b'/tmp', b'tmpfs', 0, 0", refused);
    call("umount is refused", c::SYS_umount2, "b'/roots/shelf/.env', 2", refused);
    call("the new mount interface is refused", c::SYS_fsopen, "b'tmpfs', 0", refused);
    call("open_tree is refused", c::SYS_open_tree, "-100, b'/', 1", refused);
    call("move_mount is refused", c::SYS_move_mount, "-100, b'/tmp', -100, b'/dev', 0", refused);
    call("mount attributes cannot be changed", c::SYS_mount_setattr, "-100, b'/roots/shelf', 0, 0, 0", refused);
    call("pivot_root is refused", c::SYS_pivot_root, "b'/tmp', b'/tmp'", refused);
    call("memory of other processes cannot be read", c::SYS_process_vm_readv, "1, 0, 0, 0, 0, 0", refused);
    call("descriptors of other processes cannot be taken", c::SYS_pidfd_getfd, "0, 0, 0", refused);
    call("files cannot be opened by handle", c::SYS_open_by_handle_at, "-100, 0, 0", refused);
    call("a module cannot be loaded", c::SYS_finit_module, "0, b'', 0", refused);
    call("another kernel cannot be loaded", c::SYS_kexec_load, "0, 0, 0, 0", refused);
    call("the machine cannot be rebooted", c::SYS_reboot, "0xfee1dead, 672274793, 0, 0", refused);
    call("the kernel log cannot be read", c::SYS_syslog, "3, 0, 0", refused);
    call("swap cannot be changed", c::SYS_swapoff, "b'/x'", refused);
    call("accounting cannot be switched on", c::SYS_acct, "b'/tmp/x'", refused);
    call("quota cannot be changed", c::SYS_quotactl, "0, 0, 0, 0", refused);
    call("shared memory that outlives its maker is refused", c::SYS_shmget, "0, 4096, 0o1600", refused);
    call("message queues that outlive their maker are refused", c::SYS_msgget, "0, 0o1600", refused);
    call("memory files are absent", c::SYS_memfd_create, "b'x', 0", absent);
    call("secret memory is absent", c::SYS_memfd_secret, "0", absent);
    call("fanotify is refused", c::SYS_fanotify_init, "0, 0", refused);
    call("kernel aio is refused", c::SYS_io_setup, "1, 0", refused);
    call("the personality cannot be changed", c::SYS_personality, "0x0040000", refused);
    call("the memory map cannot be forged", c::SYS_prctl, "35, 1, 0, 0, 0", refused);
    call("nothing is typed into a terminal", c::SYS_ioctl, "0, 0x5412, b'x'", refused);
    call("a console selection is not pasted", c::SYS_ioctl, "0, 0x541c, b'x'", refused);
    call("ports are not opened", c::SYS_iopl, "3", refused);
    call("the descriptor table of the processor is closed", c::SYS_modify_ldt, "0, 0, 0", refused);
    rows.push(row("x32 calls kill", &syscall(0x4000_0000 + 39, "0"), Dies(31), fine, Out("45")));
    rows.push(row(
        "32-bit calls kill",
        "import ctypes, mmap\nm = mmap.mmap(-1, 4096, prot=7)\nm.write(bytes.fromhex('b814000000cd80c3'))\nf = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\nprint('ran', f())",
        Dies(31),
        fine,
        Out("45"),
    ));
    rows
}

fn limits() -> Vec<Row> {
    vec![
        row("a heap bomb ends in the memory limit", "x = bytearray(1 << 30)", Hits(Limit::Memory), "x = bytearray(64 << 20)\nprint(len(x))", Out("67108864")),
        row("a slow heap bomb as well", "x = []\nwhile True:\n    x.append(bytes(1 << 20))", Hits(Limit::Memory), "x = [bytes(1 << 20) for _ in range(50)]\nprint(len(x))", Out("50")),
        row("a shared mapping counts", "import mmap\nm = mmap.mmap(-1, 1 << 30)\nfor i in range(0, 1 << 30, 4096):\n    m[i] = 1", Hits(Limit::Memory), "import mmap\nm = mmap.mmap(-1, 1 << 20)\nm[0] = 1\nprint(m[0])", Out("1")),
        row("many processes share one memory limit", "import os, time\nfor _ in range(6):\n    if os.fork() == 0:\n        x = bytearray(b'x') * (100 << 20)\n        time.sleep(15)\n        os._exit(0)\ntime.sleep(15)", Hits(Limit::Memory), "import os\nfor _ in range(6):\n    if os.fork() == 0:\n        x = bytearray(8 << 20)\n        os._exit(0)\nfor _ in range(6):\n    os.wait()\nprint('ok')", Out("ok")),
        row("memory hidden from the sum still counts", "import os, time, ctypes\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\nfor _ in range(6):\n    if os.fork() == 0:\n        x = bytearray(b'x') * (100 << 20)\n        time.sleep(15)\n        os._exit(0)\ntime.sleep(15)", Hits(Limit::Memory), "import ctypes\nprint(ctypes.CDLL(None).prctl(4, 0, 0, 0, 0))", Out("0")),
        with(|spec| spec.limits.wall = Duration::from_millis(700), row("an endless loop ends in the time limit", "while True:\n    pass", Hits(Limit::Wall), "print(sum(range(1000)))", Out("499500"))),
        with(|spec| spec.limits.wall = Duration::from_millis(700), row("sleep with every signal ignored ends in the time limit", "import signal, time\nfor s in (1, 2, 3, 15):\n    signal.signal(s, signal.SIG_IGN)\ntime.sleep(60)", Hits(Limit::Wall), "import time\ntime.sleep(0.01)\nprint('woke')", Out("woke"))),
        with(|spec| spec.limits.cpu = Duration::from_secs(1), row("a spinning program ends in the processor limit", "while True:\n    pass", Hits(Limit::Cpu), "print(sum(range(1000)))", Out("499500"))),
        with(|spec| spec.limits.cpu = Duration::from_secs(1), row("one that ignores the first signal as well", "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True:\n    pass", Hits(Limit::Cpu), "import signal\nprint(signal.SIGXCPU.value)", Out("24"))),
        with(|spec| spec.limits.cpu = Duration::from_secs(1), row("a relay of short-lived children as well", "import os, time\nwhile True:\n    if os.fork() == 0:\n        end = time.process_time() + 0.3\n        while time.process_time() < end:\n            pass\n        os._exit(0)\n    os.wait()", Hits(Limit::Cpu), "import os\nif os.fork() == 0:\n    os._exit(0)\nos.wait()\nprint('one')", Out("one"))),
        with(|spec| spec.limits.cpu = Duration::from_secs(1), row("a relay of orphans as well", "import os, time\nwhile True:\n    end = time.process_time() + 0.2\n    while time.process_time() < end:\n        pass\n    if os.fork() != 0:\n        if os.getpid() == 2:\n            os.wait()\n        else:\n            os._exit(0)", Hits(Limit::Cpu), "print(2)", Out("2"))),
        row("a fork bomb ends in the process limit", "import os, time\nwhile True:\n    if os.fork() == 0:\n        time.sleep(30)", Hits(Limit::Pids), "import os\npids = []\nfor _ in range(10):\n    p = os.fork()\n    if p == 0:\n        os._exit(0)\n    pids.append(p)\nfor p in pids:\n    os.waitpid(p, 0)\nprint(len(pids))", Out("10")),
        row("the process limit is exact", "import os, time\nn = 1\ntry:\n    while True:\n        if os.fork() == 0:\n            time.sleep(30)\n            os._exit(0)\n        n += 1\nexcept BlockingIOError:\n    print(n)", Out("16"), "print(1)", Out("1")),
        row("threads count as processes", "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()", Hits(Limit::Pids), "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as pool:\n    print(sum(pool.map(abs, [-1, -2, -3])))", Out("6")),
        row("a large file ends in the file limit", "f = open('/tmp/x', 'wb')\nwhile True:\n    f.write(bytes(1 << 20))", Hits(Limit::Disk), "f = open('/tmp/x', 'wb')\nf.write(bytes(1 << 20))\nf.close()\nimport os\nprint(os.path.getsize('/tmp/x'))", Out("1048576")),
        with(|spec| spec.limits.file_size = 1 << 20, row("a file over its size ends in the file size limit", "f = open('big', 'wb')\nwhile True:\n    f.write(bytes(1 << 18))\n    f.flush()", Hits(Limit::Fsize), "open('small', 'wb').write(bytes(1 << 10))\nprint('ok')", Out("ok"))),
        row("too many small files end in the disk limit", "for i in range(200000):\n    open('/tmp/%d' % i, 'w').close()", Hits(Limit::Disk), "for i in range(500):\n    open('/tmp/%d' % i, 'w').close()\nprint(i)", Out("499")),
        row("shared memory files have a bound", "f = open('/dev/shm/x', 'wb')\nwhile True:\n    f.write(bytes(1 << 20))", Hits(Limit::Disk), "from multiprocessing import shared_memory\ns = shared_memory.SharedMemory(create=True, size=4096)\ns.buf[0] = 7\nprint(s.buf[0])\ns.close()\ns.unlink()", Out("7")),
        row("too many open files end in their limit", "fs = []\nwhile True:\n    fs.append(open('/dev/null'))", Hits(Limit::Fds), "fs = [open('/dev/null') for _ in range(100)]\nprint(len(fs))", Out("100")),
        row("a flood of output is stopped", "while True:\n    print('x' * 1000)", Hits(Limit::Output), "for i in range(20000):\n    print(i)", Has("bytes left out")),
        row("deep recursion is an exception", "def f(): return f()\nf()", Raises("RecursionError"), "def f(n): return n and f(n - 1)\nprint(f(500))", Out("0")),
        row("a crash is a signal", "import ctypes\nctypes.string_at(0)", Dies(11), "import ctypes\nprint(ctypes.sizeof(ctypes.c_int))", Out("4")),
        row("no core is left", "import resource\nprint(resource.getrlimit(resource.RLIMIT_CORE))", Out("(0, 0)"), "print(1)", Out("1")),
    ]
}

fn answers() -> Vec<Row> {
    vec![
        row("a traceback shows the program alone", "def f():\n    raise ValueError('bad')\nf()", Raises("File \"<program>\", line 2, in f\n    raise ValueError('bad')"), "'last'", Out("'last'")),
        row("a syntax error is shown with its line", "x = (", Raises("SyntaxError"), "x = 1\nx + 1", Out("2")),
        row("sys.exit with a text is a failure", "import sys\nsys.exit('no')", Raises("no"), "import sys\nsys.exit(0)", Out("")),
        row("exit is there", "exit(3)", Raises(""), "exit()", Out("")),
        row("the report cannot be forged into success", "import os\ntry:\n    os.write(4, b'error 3\\nabc')\nexcept OSError:\n    pass\nraise KeyError(1)", Raises("KeyError"), "print('x')", Out("x")),
        row("a program that breaks imports still gets its traceback", "import builtins, sys\nbuiltins.__import__ = None\nsys.meta_path.clear()\nraise OverflowError('big')", Raises("OverflowError: big"), "import statistics\nprint(statistics.mean([1, 3]))", Out("2")),
        row("future features hold in the last line", "from __future__ import annotations\nundefined_name", Raises("NameError"), "from __future__ import annotations\ndef f(x: nothing): return 1\nf(2)", Out("1")),
        row("random numbers differ between calls", "import random, uuid\nprint(len({random.random() for _ in range(3)}))", Out("3"), "import random\nrandom.seed(1)\nprint(random.randint(1, 100))", Out("18")),
        row("classes pickle in the main module", "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))).__name__)", Out("A"), "import pickle\nprint(pickle.loads(pickle.dumps([1])))", Out("[1]")),
        row("a pool of processes works", "from multiprocessing import get_context\ndef f(x): return x * x\nwith get_context('fork').Pool(2) as p:\n    print(p.map(f, [1, 2, 3]))", Out("[1, 4, 9]"), "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True, text=True).stdout)", Out("1")),
        row("a database works", "import sqlite3\nc = sqlite3.connect('/tmp/d.db')\nc.execute('create table t (a)')\nc.execute('insert into t values (5)')\nc.commit()\nprint(c.execute('select a from t').fetchall())", Out("[(5,)]"), "import sqlite3\nprint(sqlite3.connect(':memory:').execute('select 1').fetchone())", Out("(1,)")),
        row("temporary files work", "import tempfile\nwith tempfile.TemporaryDirectory() as d:\n    print(d.startswith('/tmp/'))", Out("True"), "import zoneinfo, datetime\nprint(datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).utcoffset())", Out("2:00:00")),
    ]
}
