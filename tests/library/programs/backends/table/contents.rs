//! Attacks on the contents of files, which must fail also where their names can be asked for.
#![expect(clippy::too_many_lines, reason = "one row after the other")]

use super::{TRY, behind, row};
use crate::programs::backends::harness::Expect::{Has, Out};
use crate::programs::backends::harness::{Row, Wall};

pub(super) fn contents() -> Vec<Row> {
    let t = |code: &str| format!("{TRY}{code}");
    let held = "'Error' in attempt(lambda: ";
    let refused = |expression: &str| t(&format!("print({held}{expression}))"));
    let read = "print(open('/roots/shelf/open.txt').read())";
    let shown = Out("for everybody");
    let rows = vec![
        row("a file beside the roots cannot be read", &refused("open('CANARY').read()"), Out("True"), read, shown.again()),
        row(
            "nor can it be written",
            &refused("open('CANARY', 'a')"),
            Out("True"),
            "open('n2', 'w').write('ab')\nprint(open('n2').read())",
            Out("ab"),
        ),
        row(
            "nor cut",
            &refused("os.truncate('CANARY', 0)"),
            Out("True"),
            "open('n3', 'w').write('ab')\nimport os\nos.truncate('n3', 1)\nprint(open('n3').read())",
            Out("a"),
        ),
        row(
            "nor removed",
            &refused("os.remove('CANARY')"),
            Out("True"),
            "open('n4', 'w').close()\nimport os\nos.remove('n4')\nprint(os.path.exists('n4'))",
            Out("False"),
        ),
        row(
            "nor renamed into a root",
            &refused("os.rename('CANARY', 'mine5')"),
            Out("True"),
            "open('n5', 'w').close()\nimport os\nos.rename('n5', 'm5')\nprint(os.path.exists('m5'))",
            Out("True"),
        ),
        row(
            "nor linked into a root",
            &refused("os.link('CANARY', 'mine6')"),
            Out("True"),
            "open('n6', 'w').close()\nimport os\nif os.path.exists('l6'): os.remove('l6')\nos.link('n6', 'l6')\nprint(os.path.exists('l6'))",
            Out("True"),
        ),
        row(
            "nor read over a link in a root",
            &t(&format!("try:\n    os.symlink('CANARY', 'way7')\nexcept OSError:\n    pass\nprint({held}open('way7').read()))")),
            Out("True"),
            "import os\nif os.path.islink('s7'): os.remove('s7')\nopen('n7', 'w').write('q')\nos.symlink('n7', 's7')\nprint(open('s7').read())",
            Out("q"),
        ),
        row("its mode cannot be set", &refused("os.chmod('CANARY', 0)"), Out("True"), "import os\nprint(os.umask(0o22) >= 0)", Out("True")),
        row("nor its owner", &refused("os.chown('CANARY', os.getuid(), -1)"), Out("True"), read, shown.again()),
        row("nor its dates", &refused("os.utime('CANARY', (1, 1))"), Out("True"), read, shown.again()),
        row("nor its attributes", &refused("os.setxattr('CANARY', 'user.marker', b'x')"), Out("True"), read, shown.again()),
        row(
            "it is not told when it changes",
            &t("import ctypes\nc = ctypes.CDLL(None, use_errno=True)\nprint(c.inotify_add_watch(c.inotify_init1(0), b'CANARY', 2))"),
            Out("-1"),
            read,
            shown.again(),
        ),
        row(
            "the mode of a file that may only be read is not set through its descriptor",
            &refused("os.fchmod(os.open('/roots/shelf/open.txt', os.O_RDONLY), 0o777)"),
            Out("True"),
            read,
            shown.again(),
        ),
        row(
            "nor are its dates",
            &refused("os.utime(os.open('/roots/shelf/open.txt', os.O_RDONLY), (1, 1))"),
            Out("True"),
            read,
            shown.again(),
        ),
        row(
            "its folder cannot be listed",
            &refused("os.listdir('CANARY_FOLDER')"),
            Out("True"),
            "import os\nprint(isinstance(os.listdir('.'), list))",
            Out("True"),
        ),
        row(
            "nothing can be put into it",
            &refused("open('CANARY_FOLDER/new', 'w')"),
            Out("True"),
            "open('new', 'w').write('a')\nprint(1)",
            Out("1"),
        ),
        row("a file that only root may read is not read", &refused("open('/etc/shadow').read()"), Out("True"), read, shown.again()),
        row(
            "the host's accounts are not read",
            &t("text = attempt(lambda: open('/etc/passwd').read())\nprint('root:' in text)"),
            Out("False"),
            read,
            shown.again(),
        ),
        row(
            "the environment of the parent is not read",
            &refused("open(f'/proc/{os.getppid()}/environ').read()"),
            Out("True"),
            "import os\nprint(os.getppid() >= 0)",
            Out("True"),
        ),
        row(
            "the memory of the parent is not read",
            &refused("open(f'/proc/{os.getppid()}/mem', 'rb').read(1)"),
            Out("True"),
            "print(2)",
            Out("2"),
        ),
        row("a denied file is not read", &refused("open('/roots/shelf/.env').read()"), Out("True"), read, shown.again()),
        row("nor one in a denied folder", &refused("open('/roots/shelf/keys/id.pem').read()"), Out("True"), read, shown.again()),
        row("a denied folder is not listed", &refused("os.listdir('/roots/shelf/keys')"), Out("True"), read, shown.again()),
        row("a root without writing is not written", &refused("open('/roots/shelf/open.txt', 'a')"), Out("True"), read, shown.again()),
        row(
            "the interpreter's own files are not written",
            &t(&format!("import json\nprint({held}open(json.__file__, 'a')))")),
            Out("True"),
            "import json\nprint(json.loads('3'))",
            Out("3"),
        ),
        row(
            "a program of the host is not run",
            &t(&format!("import subprocess\nprint({held}subprocess.run(['CANARY_FOLDER/tool'], check=True)))")),
            Out("True"),
            "import subprocess, sys\nprint(subprocess.run([sys.executable, '-I', '-S', '-c', 'print(7)'], capture_output=True, text=True).stdout)",
            Has("7"),
        ),
        row(
            "a disk is not read",
            &refused("open('/dev/vda', 'rb').read(1) and open('/dev/sda', 'rb').read(1) and open('/dev/mem', 'rb').read(1)"),
            Out("True"),
            "print(len(open('/dev/urandom', 'rb').read(3)))",
            Out("3"),
        ),
    ];
    rows.into_iter().map(|row| behind(Wall::Contents, row)).collect()
}
