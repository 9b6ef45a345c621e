//! Attacks on the answer.

use super::{behind, row};
use crate::backends::harness::Expect::{Out, Raises};
use crate::backends::harness::{Row, Wall};

pub(super) fn answers() -> Vec<Row> {
    vec![
        row(
            "a traceback shows the program alone",
            "def f():\n    raise ValueError('bad')\nf()",
            Raises("File \"<program>\", line 2, in f\n    raise ValueError('bad')"),
            "'last'",
            Out("'last'"),
        ),
        row("a syntax error is shown with its line", "x = (", Raises("SyntaxError"), "x = 1\nx + 1", Out("2")),
        row("sys.exit with a text is a failure", "import sys\nsys.exit('no')", Raises("no"), "import sys\nsys.exit(0)", Out("")),
        row("exit is there", "exit(3)", Raises(""), "exit()", Out("")),
        row(
            "the report cannot be forged into success",
            "import os\ntry:\n    os.write(4, b'error 3\\nabc')\nexcept OSError:\n    pass\nraise KeyError(1)",
            Raises("KeyError"),
            "print('x')",
            Out("x"),
        ),
        row(
            "a program that breaks imports still gets its traceback",
            "import builtins, sys\nbuiltins.__import__ = None\nsys.meta_path.clear()\nraise OverflowError('big')",
            Raises("OverflowError: big"),
            "import statistics\nprint(statistics.mean([1, 3]))",
            Out("2"),
        ),
        row(
            "future features hold in the last line",
            "from __future__ import annotations\nundefined_name",
            Raises("NameError"),
            "from __future__ import annotations\ndef f(x: nothing): return 1\nf(2)",
            Out("1"),
        ),
        row(
            "random numbers differ between calls",
            "import random, uuid\nprint(len({random.random() for _ in range(3)}))",
            Out("3"),
            "import random\nrandom.seed(1)\nprint(random.randint(1, 100))",
            Out("18"),
        ),
        row(
            "classes pickle in the main module",
            "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))).__name__)",
            Out("A"),
            "import pickle\nprint(pickle.loads(pickle.dumps([1])))",
            Out("[1]"),
        ),
        behind(
            Wall::Layer("filesystem"),
            row(
                "a pool of processes works",
                "from multiprocessing import get_context\ndef f(x): return x * x\nwith get_context('fork').Pool(2) as p:\n    print(p.map(f, [1, 2, 3]))",
                Out("[1, 4, 9]"),
                "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True, text=True).stdout)",
                Out("1"),
            ),
        ),
        row(
            "a database works",
            "import sqlite3\nc = sqlite3.connect('/tmp/d.db')\nc.execute('create table t (a)')\nc.execute('insert into t values (5)')\nc.commit()\nprint(c.execute('select a from t').fetchall())",
            Out("[(5,)]"),
            "import sqlite3\nprint(sqlite3.connect(':memory:').execute('select 1').fetchone())",
            Out("(1,)"),
        ),
        row(
            "temporary files work",
            "import tempfile\nwith tempfile.TemporaryDirectory() as d:\n    print(d.startswith('/t' + 'mp/'))",
            Out("True"),
            "import zoneinfo, datetime\nprint(datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).utcoffset())",
            Out("2:00:00"),
        ),
    ]
}
