//! Attacks on files.
#![expect(clippy::too_many_lines, reason = "a table is as long as it has rows")]

use super::{TRY, behind, row};
use crate::programs::backends::harness::Expect::{Has, Out};
use crate::programs::backends::harness::{Row, Wall};

pub(super) fn files() -> Vec<Row> {
    let t = |code: &str| format!("{TRY}{code}");
    let rows = vec![
        row(
            "the shadow file is not there",
            &t("print(attempt(lambda: open('/etc/shadow').read()))"),
            Out("FileNotFoundError"),
            "print(open('/etc/passwd').read().count('user:x'))",
            Out("1"),
        ),
        row(
            "the host's root is not there",
            "import os\nprint(sorted(set(os.listdir('/')) & {'home', 'work', 'var', 'boot', 'srv', 'sys', 'opt', 'mnt'}))",
            Out("[]"),
            "import os\nprint('tmp' in os.listdir('/'))",
            Out("True"),
        ),
        row(
            "stat tells nothing about the host",
            &t("print(attempt(lambda: os.stat('/root/.bashrc')), attempt(lambda: os.stat('/etc/hostname')))"),
            Out("FileNotFoundError FileNotFoundError"),
            "import os\nprint(os.stat('/tmp').st_mode & 0o777 == 0o777)",
            Out("True"),
        ),
        row(
            "a read-only root cannot be written",
            &t("print(attempt(lambda: open('/roots/shelf/new', 'w')), attempt(lambda: os.remove('/roots/shelf/open.txt')))"),
            Has("Error"),
            "print(open('/roots/shelf/open.txt').read())",
            Out("for everybody"),
        ),
        row(
            "a read-only root cannot be changed by mode or owner",
            &t("print(attempt(lambda: os.chmod('/roots/shelf/open.txt', 0o777)), attempt(lambda: os.utime('/roots/shelf')))"),
            Out("OSError OSError"),
            &t("open('m','w').close()\nprint(attempt(lambda: os.chmod('m', 0o600)))"),
            Out("None"),
        ),
        row(
            "a denied file is masked",
            &t("print(attempt(lambda: open('/roots/shelf/.env').read()))"),
            Out("PermissionError"),
            "import os\nprint(sorted(os.listdir('/roots/shelf')))",
            Out("['.env', 'host.sock', 'keys', 'link', 'open.txt']"),
        ),
        row(
            "a denied folder is masked",
            &t("print(attempt(lambda: os.listdir('/roots/shelf/keys')), attempt(lambda: open('/roots/shelf/keys/id.pem')))"),
            Out("PermissionError PermissionError"),
            "print(len(open('/roots/shelf/open.txt').read()))",
            Out("13"),
        ),
        row(
            "a mask cannot be opened up",
            &t(
                "print(attempt(lambda: os.chmod('/roots/shelf/.env', 0o777)), attempt(lambda: os.rename('/roots/shelf/.env', '/tmp/x')), attempt(lambda: os.link('/roots/shelf/.env', '/tmp/y')))",
            ),
            Has("OSError"),
            "import os\nopen('/tmp/a','w').close()\nos.link('/tmp/a','/tmp/b')\nprint(os.stat('/tmp/b').st_nlink)",
            Out("2"),
        ),
        row(
            "a link in a root leads nowhere outside",
            "print(open('/roots/shelf/link').read())",
            Has("user:x:"),
            "import os\nprint(os.readlink('/roots/shelf/link'))",
            Out("/etc/passwd"),
        ),
        row(
            "the interpreter's files cannot be changed",
            &t("import json\nprint(attempt(lambda: open(json.__file__, 'a').close()))"),
            Has("Error"),
            "import json\nprint(json.dumps([1]))",
            Out("[1]"),
        ),
        row(
            "the own root is read-only",
            &t("print(attempt(lambda: open('/x', 'w')), attempt(lambda: os.mkdir('/etc/x')), attempt(lambda: open('/dev/x', 'w')))"),
            Out("OSError OSError OSError"),
            "open('/tmp/x', 'w').write('a')\nprint(open('/tmp/x').read())",
            Out("a"),
        ),
        row(
            "the mask sources are closed",
            &t("print(attempt(lambda: os.listdir('/.nothing-folder')), attempt(lambda: open('/.nothing-file')))"),
            Has("Error"),
            "1",
            Out("1"),
        ),
        row(
            "no way out by dot-dot",
            &t("os.chdir('/roots/work')\nprint(os.path.exists('../../../../../../root'), os.path.realpath('../../../..'))"),
            Has(" /"),
            "import os\nos.mkdir('sub')\nos.chdir('sub')\nprint(os.getcwd())\nos.chdir('..')\nos.rmdir('sub')",
            Out("/roots/work/sub"),
        ),
        row(
            "chroot is refused",
            &t("os.mkdir('/tmp/r')\nprint(attempt(lambda: os.chroot('/tmp/r')))"),
            Out("PermissionError"),
            "import os\nos.chdir('/tmp')\nprint(os.getcwd().startswith('/tmp'))",
            Out("True"),
        ),
        row(
            "a device cannot be made",
            &t(
                "import stat\nprint(attempt(lambda: os.mknod('/tmp/sda', 0o600 | stat.S_IFBLK, os.makedev(8, 0))), attempt(lambda: os.mknod('/tmp/mem', 0o600 | stat.S_IFCHR, os.makedev(1, 1))))",
            ),
            Out("PermissionError PermissionError"),
            "import os\nos.mkfifo('/tmp/f')\nprint(os.path.exists('/tmp/f'))",
            Out("True"),
        ),
        row(
            "no foreign device is there",
            "import os\nprint(sorted(set(os.listdir('/dev')) - {'null','zero','full','random','urandom','shm','fd','stdin','stdout','stderr'}))",
            Out("[]"),
            "import os\nprint(len(os.urandom(4)), open('/dev/zero','rb').read(2), open('/dev/null','w').write('x'))",
            Out("4 b'\\x00\\x00' 1"),
        ),
        row(
            "set-user-id bits do nothing",
            "import os, shutil, sys\ntry:\n    shutil.copyfile(os.path.realpath(sys.executable), '/tmp/p')\n    os.chmod('/tmp/p', 0o6755)\nexcept PermissionError:\n    print('held')\n    sys.exit(0)\nimport subprocess\nprint(subprocess.run(['/tmp/p', '-I', '-S', '-c', 'import os; print(os.geteuid() == os.getuid() != 0)'], capture_output=True, text=True, env={'LD_LIBRARY_PATH': ':'.join(p for p in (sys.prefix + '/lib',))}).stdout.strip() or 'no run')",
            Has(""),
            "import os\nprint(os.getuid() == os.geteuid())",
            Out("True"),
        ),
        row(
            "an earlier program's files are gone from scratch",
            "import os\nprint(os.listdir('/tmp'), os.listdir('/dev/shm'))\nopen('/tmp/marker','w').close()\nopen('/dev/shm/marker','w').close()",
            Out("[] []"),
            "import os\nprint(os.listdir('/tmp'), os.listdir('/dev/shm'))",
            Out("[] []"),
        ),
        row(
            "the server's environment is not there",
            "import os\nprint([k for k in os.environ if k in ('USER', 'CARGO', 'CARGO_MANIFEST_DIR', 'SHELL', 'PWD', 'TOOLGATE_HELPER')])",
            Out("[]"),
            "import os\nprint(os.environ['HOME'].startswith('/tmp'))",
            Out("True"),
        ),
        row(
            "no descriptor is inherited",
            "import os\nprint(sorted(int(f) for f in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + f)))",
            Out("[0, 1, 2, 4]"),
            "import os\nf = open('/tmp/a', 'w')\nprint(f.fileno() > 2)",
            Out("True"),
        ),
        row(
            "the memory of init is closed",
            &t(
                "print(attempt(lambda: open('/proc/1/mem', 'rb')), attempt(lambda: open('/proc/1/environ').read()), attempt(lambda: os.readlink('/proc/1/fd/0')))",
            ),
            Out("PermissionError PermissionError PermissionError"),
            "import os\nprint(open('/proc/self/stat').read().split()[0] == str(os.getpid()))",
            Out("True"),
        ),
        row(
            "the kernel's settings are not there",
            &t(
                "print(attempt(lambda: open('/proc/sys/kernel/core_pattern')), attempt(lambda: open('/proc/sysrq-trigger', 'w')), attempt(lambda: os.listdir('/sys')))",
            ),
            Out("FileNotFoundError FileNotFoundError FileNotFoundError"),
            "print(open('/proc/self/comm').read().strip()[:6])",
            Out("python"),
        ),
    ];
    rows.into_iter()
        .map(|row| behind(if ANYWHERE.contains(&row.name) { Wall::Everywhere } else { Wall::Layer("filesystem") }, row))
        .collect()
}

/// Rows that need no root of their own.
const ANYWHERE: [&str; 4] =
    ["the server's environment is not there", "a device cannot be made", "chroot is refused", "set-user-id bits do nothing"];
