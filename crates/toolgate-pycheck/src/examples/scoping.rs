//! Names, attributes and templates under cover; each must be refused.

#[rustfmt::skip]
pub(super) const PROGRAMS: &[&str] = &[
    r"class A:
    def f(self): return self.__dict__.keys()
A.f(type(1)).mapping
",
    r"def f():
    __j = 1
    import json as _A__j
    class A:
        def g(self): return __j.scanner
    return A().g()
",
    r"import json as _A__j
class A:
    __j = 1
    def g(self): return __j.scanner
",
    r"from typing import Protocol, runtime_checkable
from dataclasses import dataclass
@dataclass
@runtime_checkable
class P(Protocol):
    gi_frame: object
g = (x for x in [1])
match g:
    case P(f): print(f)
",
    r"from typing import Protocol, runtime_checkable
@runtime_checkable
class P(Protocol):
    __match_args__ = ('gi_frame',)
    gi_frame: object
match (x for x in []):
    case P(f): print(f)
",
    r"match '{0.__self__}':
    case str(format=f): print(f(print))
",
    r"def attrgetter(n): return n
from operator import *
attrgetter('__self__')(print)
",
    r"def f():
    def g():
        nonlocal m
        import typing as m
    m = 1
    g()
    return m.get_type_hints(f)
",
    r"def leak(print):
    def f(self): return print(self.__dict__)
    return f(type(1))
",
    r"import copy
def t(x): return type(x)(x)
M = t(int)
X = M('X', (), {})
copy.deepcopy(X())
",
    r"def t(x): return type(x).__call__(type(x), 'X', (), {})
t(int)
",
    r"x = int
x.__class__.__call__(x.__class__, 'X', (), {})
",
    r"import copy
def mk(x):
    class M(x): pass
    return M
M = mk(type(1).__class__)
copy.copy(1)
",
    r"from dataclasses import dataclass, field
f = field(default=1)
@dataclass
class X: a: int = f
setattr(f, 'name', 'evil')
@dataclass
class Y(X): pass
",
    r"from dataclasses import dataclass, field
f = field(default=1)
@dataclass
class X: a: int = f
type(f).name.__set__(f, 'evil')
@dataclass
class Y(X): pass
",
    r"from dataclasses import dataclass, field
f = field(default=1)
@dataclass
class X: a: int = f
for f.name in ['evil']: pass
@dataclass
class Y(X): pass
",
    r"import copy
from dataclasses import dataclass, field
f = field(default=1)
@dataclass
class X: a: int = f
class S:
    __slots__ = ('name',)
    def __new__(cls): return f
    def __setattr__(self, k, v): super().__setattr__(k, v)
copy.copy(S())
@dataclass
class Y(X): pass
",
    r"from functools import cached_property
class A:
    @cached_property
    def x(self): return 1
A.x.__dict__['attr' + 'name'] = '__globals__'
A.x.__get__(type(lambda: 0))
",
    r"import contextlib
class A: obj = 1
def h(t, v, tb): print(v.obj); return True
with contextlib.ExitStack() as s:
    s.push(h)
    A.zz
",
    r"class A:
    g = getattr
",
    r"def f(*, g=getattr): return g(print, '__self__')
",
    r"getattr(print, '__se' + 'lf__')
",
    r#"getattr(print, f'__self{"__"}')
"#,
    r"(g := getattr)
",
    r"a = ('X', (), {})
type(*a)
",
    r"vars(type)['mro']
",
    r"[v['mro'] for v in map(vars, [type])]
",
    r"'{a.__self__}'.format_map({'a': print})
",
    r"'{0.a.__self__}'.format(print)
",
    r"'{0[a].__self__}'.format({'a': print})
",
    r"'{0:{1.__self__}}'.format(1, print)
",
    r"'{0.\x5f\x5fself\x5f\x5f}'.format(print)
",
    r"('{0._' '_self_' '_}').format(print)
",
    r"t = '{0.' + '__self__' + '}'
t.format(print)
",
    r"class A:
    eval = 1
    x = [eval('1') for _ in [1]]
",
    r"class A:
    exec = None
    f = lambda self: exec('1')
",
    r"eval = print
def f():
    global eval
    del eval
f()
eval('1')
",
    r"exec = print
try: 1/0
except Exception as exec: pass
exec('1')
",
    r"if 0:
    def eval(x): return x
eval('1')
",
    r"import contextlib
with contextlib.suppress(Exception):
    1/0
    eval = print
eval('1')
",
    r"for i in range(2):
    eval('1') if i == 0 else None
    eval = print
",
    r"try:
    pass
except Exception: pass
else:
    eval = print
eval('1')
",
    r"match 1:
    case eval: pass
eval('1')
",
    r"__builtins__['eval']('1')
",
    r"getattr(__builtins__, 'eval')
",
    r"class A:
    locals()['x'] = 1
",
    r"async def g(): yield
g().ag_frame.f_builtins
",
    r"class C:
    def __enter__(self): return self
    def __exit__(self, t, v, tb): self.x = tb.tb_frame
",
    r"try: 1/0
except Exception as e: t = e.__traceback__
",
    r"f = (lambda: 0).__code__.replace
",
    r"def o():
    x = 1
    def i(): return x
    return i.__closure__[0].cell_contents
",
    r"property(lambda s: 0).fget.__globals__
",
    r"class A:
    def f(self): return super().__getattribute__('__class__')
",
    r"type.__subclasses__(object)
",
    r"int.mro()
",
    r"import json
json.__spec__.loader.load_module('os')
",
    r"import collections.abc
collections.abc.sys
",
    r"from collections import abc
abc.sys.modules
",
    r"import json as j, math as j
j.codecs
",
    r"try:
    import json
except ImportError:
    json = None
if json is not None:
    json.scanner
",
    r"def f():
    global m
    import json as m
f()
x = m
",
    r"import json
a, b = json, 1
",
    r"import json
f = lambda: json
",
    r"import json
class A:
    def f(self, j=json): pass
",
    r"import json
class A: pass
setattr(A, 'j', json)
",
    r"import json
json.loads('{}', object_hook=eval)
",
    r"import enum
p = enum.property()
p.name = '__globals__'
",
    r"import operator
operator.setitem(vars(), 'x', 1)
",
    r"from abc import ABC
class X(ABC):
    __match_args__ = ('x',)
X.register(type(print))
match print:
    case X(b): pass
",
    r"class X: pass
setattr(X, '__match_args__', ('__self__',))
",
    r"class X:
    __match_args__ = ('x',)
    __match_args__ += ('y',)
",
    r"class X:
    (__match_args__ := ('__self__',))
",
    r"class X:
    for __match_args__ in [('__self__',)]: pass
",
    r"class X:
    from json import loads as __match_args__
",
    r"class X:
    __reduce_ex__ = lambda s, p: 1
",
    r"class X:
    a, (__reduce__, b) = 1, (2, 3)
",
    r"class X:
    @property
    def __class__(self): return int
",
    r"class M(type):
    def __instancecheck__(c, o): return True
",
    r"class M(type):
    with open('x') as __prepare__: pass
",
    r"lazy import os
",
    r"ｅｖａｌ('1')
",
    r"getattr(print, '__self＿_')
",
    r"loads = 1
class A:
    if 1:
        from functools import wraps as loads
    y = loads(print, ['__self__'])
",
    r"n = 'real'
class A:
    if 1: n = '__self__'.lower()
    x = getattr(print, n)
",
    r"n = 'real'
def f():
    global n
    n = '__se' + 'lf__'
f()
getattr(print, n)
",
    r"for n in ['real', '__self__']:
    getattr(print, n)
",
    r"for n in ['real']:
    n = n.replace('real', '__self__')
    getattr(print, n)
",
    r"for n in ['__']:
    n += 'self__'
    getattr(print, n)
",
    r"def f(n='real'): return getattr(print, n)
f('__self__')
",
    r"class A:
    for eval in []: pass
    eval('1')
",
    r"class A:
    try:
        import json
    except ImportError: pass
    json.codecs
",
    r"m = 1
def f():
    global m
    return m.scanner
import json as m
f()
",
];
