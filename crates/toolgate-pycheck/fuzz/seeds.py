#!/usr/bin/env python3
"""Writes the small starting inputs of the fuzz target below `corpus/`: the labelled programs and pieces of grammar. In this crate's folder:

    python3 fuzz/seeds.py && cargo +nightly fuzz run python_source -- -max_total_time=600
"""
import hashlib
import pathlib
import tomllib

HERE = pathlib.Path(__file__).resolve().parent


def programs():
    for path in sorted((HERE.parent / "tests" / "programs").glob("*.toml")):
        yield from tomllib.loads(path.read_text())["programs"]
    yield from (
        "match x:\n case {'a': [b, *c], **d} if e: pass\n case A(x=1) | None: pass\n",
        "async def f[T: int](a, /, b=1, *c, d, **e) -> T:\n async with a as b: yield (await b)[1:2, ...]\n",
        "f'{a!r:>{w}} {b=} {{}}' rb'\\x00' \"\"\"x\"\"\"\n",
        "try:\n  pass\nexcept* (A, B) as e: raise e from None\nelse: 1\nfinally: del a[0], b.c\n",
        "# -*- coding: utf-8 -*-\n\ufeffx = 1\r\ny = 2\r",
        "type X[**P] = lambda *a: (b := a) and not ~b @ c ** -d // 2 if e else [f for g in h if i async for j in k]\n",
        "from . import a as b, c\nfrom ..x import *\nimport a.b.c as d\nglobal q\n",
    )


folder = HERE / "corpus" / "python_source"
folder.mkdir(parents=True, exist_ok=True)
for text in programs():
    data = text.encode("utf-8", "surrogatepass")
    (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
