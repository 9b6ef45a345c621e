//! Attacks on the answer.

use super::{behind, row};
use crate::programs::backends::harness::Expect::{Out, Raises};
use crate::programs::backends::harness::{Row, Wall};

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

/// Programs as people write them.
pub(super) fn ordinary() -> Vec<Row> {
    vec![
        behind(
            Wall::Layer("net_namespace"),
            row(
                "workers that start anew find the functions of the program",
                "from concurrent.futures import ProcessPoolExecutor\nfrom multiprocessing import get_context\ndef f(x): return x * x\nif __name__ == '__main__':\n    for how in ('spawn', 'forkserver'):\n        with ProcessPoolExecutor(2, mp_context=get_context(how)) as p:\n            print(list(p.map(f, [1, 2, 3])))",
                Out("[1, 4, 9]\n[1, 4, 9]"),
                "from multiprocessing import Manager\nwith Manager() as m:\n    d = m.dict(a=1)\n    print(dict(d))",
                Out("{'a': 1}"),
            ),
        ),
        row(
            "a program may await at its top level",
            "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 5\nx = await f()\nprint(x)\nawait f()",
            Out("5\n5"),
            "import asyncio\nasync def f():\n    return 7\nprint(await f())",
            Out("7"),
        ),
        row(
            "an exception of an awaited call is shown from the program on",
            "async def f():\n    raise ValueError('bad')\nawait f()",
            Raises(
                "Traceback (most recent call last):\n  File \"<program>\", line 3, in <module>\n    await f()\n  File \"<program>\", line 2, in f",
            ),
            "import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f))",
            Out("def f():\n    return 1"),
        ),
        row(
            "the locale of the environment can be set",
            "import locale\nprint(locale.setlocale(locale.LC_ALL, '') != 'C')",
            Out("True"),
            "import os\nprint(os.environ['LANG'])",
            Out("C.UTF-8"),
        ),
    ]
}
