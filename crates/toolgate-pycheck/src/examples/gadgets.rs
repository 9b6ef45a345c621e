//! Ways from objects that an allowed module hands out to the interpreter; each must be refused.

#[rustfmt::skip]
pub(super) const PROGRAMS: &[&str] = &[
    r"from functools import cached_property
cp = cached_property(len)
cp.attrname = '__globals__'
def f(): pass
cp.__get__(type(f))
",
    r"import functools
cp = functools.cached_property(len)
cp.__set_name__(None, '__globals__')
",
    r"from functools import cached_property
class A:
    @cached_property
    def x(self): return 1
p = A.x
p.attrname = '__globals__'
d = p.__get__(type(lambda: 0))
",
    r#"from dataclasses import dataclass
class X: pass
X.__annotations__['a=print("PWNED")'] = int
dataclass(X)
"#,
    r"from dataclasses import dataclass
@dataclass
class X:
    a: int = 1
    __annotations__['b=print(1)'] = int
",
    r#"from dataclasses import dataclass, field
f = field(default=1)
@dataclass
class X:
    a: int = f
f.name = 'a=__import__("os").system("id")'
@dataclass
class Y(X):
    pass
"#,
    r#"import dataclasses
@dataclasses.dataclass
class X:
    a: int = 1
dataclasses.fields(X)[0].name = 'a=print("PWNED")'
@dataclasses.dataclass
class Y(X): pass
"#,
    r#"from dataclasses import dataclass
class M(type):
    def __new__(m, n, b, ns):
        ns['__ann' + 'otations__'] = {'x=print("PWNED")': int}
        return super().__new__(m, n, b, ns)
@dataclass
class X(metaclass=M):
    pass
"#,
    r"from dataclasses import dataclass
class M(type):
    def __new__(m, n, b, ns):
        return super().__new__(m, n, b, ns)
class B(metaclass=M): pass
@dataclass
class X(B):
    a: int
",
    r"from dataclasses import dataclass
from enum import Enum
E = Enum('E', {'__annotations__': {'x=print(1)': int}})
@dataclass
@lambda c: E
class X: pass
",
    r#"from enum import Enum
from dataclasses import dataclass
class Base(Enum): pass
E = Base('E', {'__annotations__': {'x=print("PWNED")': int}})
"#,
    r"from enum import Enum
class Base(Enum): pass
mk = [Base][0]
E = mk('E', {'__reduce_ex__': 1})
",
    r"import contextlib
class R(contextlib.redirect_stdout):
    _stream = 'modules'
r = R(None)
with r: pass
r._old_targets
",
    r"import contextlib
class D:
    def __init__(self): self._stream = 1; self._old_targets = 2
r = contextlib.redirect_stdout({})
r._stream = 'modules'
with r: pass
r._old_targets[0]
",
    r"import contextlib
class D: _old_targets = _stream = 0
r = contextlib.redirect_stdout({})
setattr(r, '_stream', 'modules')
with r: pass
getattr(r, '_old_targets')
",
    r"import enum
class E(enum.Enum):
    __module__ = 'builtins'
    len = 1
enum.global_enum(E)
",
    r"T = type(type(int))
T('X', (), {})
",
    r"X = type(int)('X', (), {'a': 1})
",
    r"class A:
    def f(self): return self.__class__('X', (), {'__match_args__': ('__self__',)})
A.f(int)
",
    r"def f(x): return type(x)('X', (), {})
f(int)
",
    r"import copy
def t(x):
    c = type(x)
    return c
M = t(int)
X = M('X', (), {'__reduce_ex__': lambda s, p: (lambda: print, (), (None, {'__match_args__': 1}))})
copy.copy(X())
",
    r"import copy
M = list(map(type, [int]))[0]
X = M('X', (), {'__reduce_ex__': lambda s, p: 1})
copy.copy(X())
",
    r"class M(type): pass
X = M('X', (), {'__match_args__': ('__self__',)})
",
    r"import abc
abc.ABCMeta.__new__(abc.ABCMeta, 'X', (), {})
",
    r"type.__new__(type, 'X', (), {})
",
    r"x = int.__class__.__new__(int.__class__, 'X', (), {})
",
    r"import copy
class A:
    __slots__ = ('__match_args__',)
",
    r"n = '__match' + '_args__'
class A:
    __slots__ = (n,)
",
    r"class A:
    def __getstate__(self): return (None, {'__match_args__': ('__self__',)})
",
    r"import copy
class A:
    obj = None
    def __new__(cls): return type(lambda: 0)
class B: pass
try:
    copy.copy(B())
except AttributeError as e:
    e.obj['__globals__']
",
    r"class A:
    obj = 1
    def f(self): self.__dict__.update(x=1)
try:
    A.f(type)
except AttributeError as e:
    m = e.obj
",
    r"class A: obj = 1
try:
    try:
        A.f
    except: raise ValueError
except ValueError as e:
    e.__context__.obj
",
    r"class A:
    obj = 1
    def __exit__(self, t, v, tb): v.obj
",
    r"import contextlib
class S(contextlib.suppress):
    obj = 1
    def __exit__(self, *a): return a[1].obj
",
    r"import contextlib
class A: obj = 1
def h(t, v, tb): print(v.obj); return True
with contextlib.ExitStack() as s:
    s.push(h)
    A.zz
",
    r"class A: obj = 1
def g():
    try:
        yield
    except AttributeError as e:
        print(e.obj)
",
    r"class A: obj = 1
try:
    A.zz
except* AttributeError as e:
    e.exceptions[0].obj
",
    r"import functools
T = ''.join(['pri', 'nt(1)'])
f = functools.singledispatch(print)
def g(x: T): ...
f.register(g)
",
    r"from typing import get_type_hints as h
def f(x: 'print(1)'): pass
h(f)
",
    r#"from typing import List
List['print("PWNED")'].__args__[0]._evaluate({}, {}, frozenset())
"#,
    r#"from typing import List, get_args
class A:
    def evaluate(self): pass
get_args(List['print("PWNED")'])[0].evaluate()
"#,
    r"import string
f = string.Formatter()
f.format_field = lambda v, s: v
f.format('{0.' + '__self' + '__}', print)
",
    r"from string import Formatter as B
class F(B):
    def format_field(self, v, s): return v.exec('1')
",
    r"import string
string.Formatter.format(string.Formatter(), 'x')
",
    r"from functools import update_wrapper as wraps
wraps(print, len, ['__self__'])
",
    r"from functools import wraps as update
update(print, ['__self__'], [])
",
    r"import functools
functools.partial(functools.wraps, print, ['__self__'])
",
    r"import copy
copy.dispatch_table[int] = lambda x: 1
",
    r"import operator
operator.attrgetter('a.__self__')(1)
",
    r"import operator
operator.methodcaller('__getattr' + 'ibute__', 'x')
",
    r"import operator
operator.methodcaller('format', print)('{0.__self__}')
",
    r"from operator import call
call(eval, '1')
",
    r#"import functools
from dataclasses import dataclass
class S:
    def __getattr__(self, n): return {'a=print("PWNED")': int}
@dataclass
@functools.wraps(S())
class X: pass
"#,
    r#"import functools
from dataclasses import dataclass
class S:
    def __getattr__(self, n): return {'a=print("PWNED")': int}
class P:
    def __init_subclass__(cls): functools.update_wrapper(cls, S())
@dataclass
class X(P): pass
"#,
    r"import functools
class S:
    def __getattr__(self, n):
        if n == '__wrapped__': raise AttributeError
        return {'x': ''.join(['pri', 'nt(1)'])}
f = functools.singledispatch(print)
f.register(S())
",
    r"import functools
class S: pass
s = S()
s.__dict__.update({'__ann' + 'otations__': {'x': 'pri' + 'nt(1)'}})
f = functools.singledispatch(print)
f.register(s)
",
    r"import functools
f = functools.singledispatch(print)
def evil(g): return mk()
@f.register
@evil
def g(x: int): pass
",
    r"import functools
f = functools.singledispatch(print)
r = f.register
r(1)
",
    r"import functools
class T: a = 'x'.join([])
f = functools.singledispatch(print)
@f.register
def g(x: T.a): pass
",
    r"class E:
    def __eq__(self, o): return o('X', (), {})
type == E()
",
    r"T = list({type: 1})[0]
",
    r"from dataclasses import dataclass, fields
@dataclass
class X:
    a: getattr
fields(X)[0].type(print, '__self__')
",
    r"import copy
from dataclasses import dataclass, fields
@dataclass
class X:
    a: type
T = fields(X)[0].type
copy.copy(T('X', (), {'__reduce_ex__': 1})())
",
    r"from enum import Enum
class E:
    def __eq__(self, o): return o('X', {'a': 1})
Enum == E()
",
    r"del __builtins__
",
    r#"from typing import TypedDict
from dataclasses import dataclass
X = TypedDict('X', {'a=print("PWNED")': int})
@dataclass
class Y(X): pass
"#,
    r"class A: pass
y = A.__class__
y('X', (), {'a': 1})
",
    r"k = lambda o: type(o)
t = k(k(1))
X = t('X', (), {'__getattr__': 1})
",
    r"def kind(o): return o.__class__
kind(kind(1))('X', (), dict(__reduce_ex__=1))
",
    r#"t = b"{0.__class__}".decode()
print(t.format(1))
"#,
    r"t = str(b'{0.__glob' b'als__}', 'ascii')
t.format(print)
",
    r"def f(o, n):
    name = 'visit_' + n
    name = n
    return getattr(o, name)
",
    r"def f(o, n):
    name = '%s' % n
    return getattr(o, name)
",
    r"def f(o, n):
    name = 'visit_'
    name += n
    name = name[6:]
    return getattr(o, name)
",
    r"def f(o, n):
    return getattr(o, '{}visit'.format(n))
",
    r"def f(o, n):
    for name in ['x' + n, n]:
        return getattr(o, name)
",
    r"def f(o, name='visit_' + '__globals__'[0:0]):
    return getattr(o, name)
",
    r"def f(o, n):
    return getattr(o, 'fun%s' % n)
",
];
