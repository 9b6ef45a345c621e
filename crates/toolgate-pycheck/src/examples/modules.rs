//! Modules as values, modules behind modules, and what they export under another name; each must be refused.

#[rustfmt::skip]
pub(super) const PROGRAMS: &[&str] = &[
    r"import json
[(j := json) for _ in [1]]
",
    r"from enum import Enum
class C(Enum):
    A = 1
T = type(C)
T('X', (), {})
",
    r"import collections
d = collections.defaultdict(type)
",
    r"import itertools
list(itertools.starmap(type, [('X', (), {})]))
",
    r"from functools import partial as p
p(getattr, print)('__self__')
",
    r"from functools import reduce
reduce(getattr, ['__self__'], print)
",
    r"from operator import attrgetter
list(map(attrgetter, ['__self__']))
",
    r"from operator import attrgetter
attrgetter('.'.join(['__self__', 'exec']))(print)
",
    r"from operator import attrgetter
attrgetter('__se' 'lf__')(print)
",
    r"from operator import methodcaller
methodcaller(*['__getattribute__', '__self__'])(print)
",
    r"import functools
class A: w = functools.wraps
",
    r"import functools
functools.wraps(print, assigned=('__self__',))(lambda: 0)
",
    r"import functools
functools.wraps(print, **{'assigned': ('__self__',)})(lambda: 0)
",
    r"import functools
functools.update_wrapper(*[print, print, ('__self__',)])
",
    r"import string
string.Formatter().get_field('0.__self__', [print], {})
",
    r"import string
string.Formatter().vformat('{0.' + 'x}', [print], {})
",
    r"import string
class F(string.Formatter): pass
",
    r"import json
match 1:
    case json.codecs.x: pass
",
    r"from random import _inst
",
    r"from functools import _lru_cache_wrapper
",
    r"from typing import get_type_hints
",
    r"from string import __builtins__
",
    r"import __main__
",
    r"from .. import x
",
    r"from . import *
",
    r"from os import *
",
    r"import math as __builtins__
",
    r"from math import pi as __import__
",
    r"from importlib import util
",
    r"import typing
typing.sys
",
    r"import re
re._compiler.sre_compile
",
    r"import collections
collections._heapq
",
    r"import contextlib
contextlib.abc.abstractmethod
",
    r"import dataclasses
dataclasses.keyword.iskeyword
",
    r"import json
json.decoder.scanner
",
    r"import decimal
decimal._decimal
",
    r"import statistics
statistics.math.floor
",
    r"import random
random._os
",
    r"import time
time.sleep = print
",
    r"import math
del math.pi
",
    r"import math
math.pi += 1
",
    r"import json
json['x']
",
    r"import json
json()
",
    r"import json
for x in json: pass
",
    r"import json
async def f(): await json
",
    r"import json
{json}
",
    r"import json
print(x=json)
",
    r"import json
print(*json)
",
    r"import json
class E:
    def __eq__(self, o): o.codecs
json == E()
",
    r"import json
class E:
    def __contains__(self, o): return o.codecs
json in E()
",
    r"import json
class E:
    def __radd__(self, o): return o.codecs
json + E()
",
    r"import json
-json
",
    r"import json
class E:
    def __getitem__(self, o): return o
E()[json].codecs
",
    r"import json
print('{0.codecs}'.format(json))
",
    r"import json
with json as j: pass
",
    r"import json
try: pass
except json: pass
",
    r"import json
raise json
",
    r"import json
def f(x: json): pass
f.__annotations__
",
    r"import json
@json
def f(): pass
",
    r"import json
class A(json): pass
",
    r"import json
json is not None and json.codecs
",
    r"import json
x = json or None
",
    r"import json
x = not json
y = (json and 1)
",
    r"import json
x = json if 1 else 0
",
    r"import json
class E:
    def __gt__(self, o): return o
1 < json < E()
",
];
