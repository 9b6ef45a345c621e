//! What programs ordinarily do, close to what is refused; each must pass.

#[rustfmt::skip]
pub(super) const PROGRAMS: &[&str] = &[
    r"class V:
    def visit(self, node):
        method = getattr(self, 'visit_' + type(node).__name__, self.generic)
        return method(node)
    def generic(self, n): return n
",
    r#"class V:
    def visit(self, node):
        return getattr(self, f"visit_{node.kind}", None)
"#,
    r"class Singleton(type):
    _instances = {}
    def __call__(cls, *args, **kwargs):
        if cls not in cls._instances:
            cls._instances[cls] = super().__call__(*args, **kwargs)
        return cls._instances[cls]
class A(metaclass=Singleton): pass
A()
",
    r"class Meta(type):
    registry = {}
    def __new__(mcs, name, bases, ns):
        cls = super().__new__(mcs, name, bases, ns)
        Meta.registry[name] = cls
        return cls
class Base(metaclass=Meta): pass
",
    r"class Meta(type):
    def __new__(mcs, name, bases, ns, **kw):
        return type.__new__(mcs, name, bases, ns)
",
    r"class P:
    registry = {}
    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.registry[cls.__name__] = cls
",
    r"import functools, time
def timer(f):
    @functools.wraps(f)
    def inner(*a, **k):
        t = time.perf_counter()
        r = f(*a, **k)
        print(f.__name__, time.perf_counter() - t)
        return r
    return inner
@timer
def g(): return 1
",
    r"class Frozen:
    def __init__(self, x): object.__setattr__(self, 'x', x)
    def __setattr__(self, k, v): raise AttributeError('frozen')
",
    r"class Tracked:
    def __setattr__(self, name, value):
        print(name)
        super().__setattr__(name, value)
",
    r#"class P:
    def __init__(self, x, y): self.x, self.y = x, y
    def __eq__(self, o): return isinstance(o, P) and (self.x, self.y) == (o.x, o.y)
    def __hash__(self): return hash((self.x, self.y))
    def __repr__(self): return f"{type(self).__name__}({self.x}, {self.y})"
    def __add__(self, o): return self.__class__(self.x + o.x, self.y + o.y)
"#,
    r"class V:
    def __init__(self, x, y, z): self.x, self.y, self.z = x, y, z
    def __add__(self, o): return V(self.x + o.x, self.y + o.y, self.z + o.z)
",
    r"class V:
    def __init__(self, x, y, z): self.x, self.y, self.z = x, y, z
    def __mul__(self, k): return type(self)(self.x * k, self.y * k, self.z * k)
",
    r"import json
class A:
    def __init__(self): self.x = 1
print(json.dumps(A(), default=lambda o: o.__dict__))
print(json.dumps([A()], default=vars, indent=2))
",
    r#"class A:
    def __init__(self): self.x = 1
    def __repr__(self): return f"A({self.__dict__})"
    def __str__(self): return str(self.__dict__)
print(A().__dict__)
print(vars(A()))
"#,
    r"class Bunch:
    def __init__(self, **kw): self.__dict__.update(kw)
",
    r"from enum import Enum, IntEnum, Flag, auto
class Color(Enum):
    RED = 1
    GREEN = auto()
    @classmethod
    def parse(cls, s): return cls[s.upper()]
    @property
    def pretty(self): return self.name.title()
Animal = Enum('Animal', 'CAT DOG')
Perm = Flag('Perm', ['R', 'W'])
print(Color.RED, list(Color), Color(1), Color['RED'], isinstance(Color.RED, Enum), Animal.CAT.value, Color.__members__)
class Base(Enum):
    def describe(self): return self.value
class Sub(Base):
    A = 1
print(Sub.A.describe())
match Color.RED:
    case Color.RED: print('r')
",
    r"from dataclasses import dataclass, field, asdict, replace, fields
from typing import ClassVar, Optional
@dataclass(order=True, frozen=True)
class Item:
    name: str
    price: float = 0.0
    tags: list[str] = field(default_factory=list)
    count: ClassVar[int] = 0
    def __post_init__(self):
        object.__setattr__(self, 'price', round(self.price, 2))
i = Item('a', 1.5)
print(asdict(i), replace(i, price=2), [f.name for f in fields(i)])
",
    r"from dataclasses import dataclass, field
@dataclass
class Base:
    id: int
@dataclass
class User(Base):
    name: str
    tags: list = field(default_factory=list)
u = User(1, 'x')
match u:
    case User(id=i, name=n): print(i, n)
    case User(i, n, t): print(i)
",
    r"from abc import ABC, abstractmethod
from dataclasses import dataclass
class Shape(ABC):
    @abstractmethod
    def area(self): ...
@dataclass
class Circle(Shape):
    r: float
    def area(self): return 3 * self.r ** 2
@dataclass
class Rect(Shape):
    w: float
    h: float
    def area(self): return self.w * self.h
def f(s):
    match s:
        case Circle(r): return r
        case Rect(w, h) if w == h: return w
        case [x, *rest]: return x
        case {'a': int(v), **kw}: return v
        case str() | bytes(): return 0
        case None: return None
        case _: raise ValueError
",
    r"from collections import namedtuple
from typing import NamedTuple
P = namedtuple('P', 'x y')
class Q(NamedTuple):
    x: int
    y: int = 0
p = P(1, 2)
print(p._asdict(), p._replace(x=3), P._fields, Q(1)._asdict())
match p:
    case P(x, y): print(x, y)
match Q(1):
    case Q(x, y): print(x)
",
    r"from typing import Protocol, runtime_checkable, TypeVar, Generic
T = TypeVar('T')
@runtime_checkable
class Drawable(Protocol):
    def draw(self) -> str: ...
class Stack(Generic[T]):
    def __init__(self) -> None: self._items: list[T] = []
    def push(self, x: T) -> None: self._items.append(x)
    def pop(self) -> T: return self._items.pop()
    def __len__(self): return len(self._items)
class Sq:
    def draw(self): return 's'
print(isinstance(Sq(), Drawable))
",
    r"from functools import lru_cache, cached_property, cache, partial, reduce, total_ordering, singledispatch
class A:
    @cached_property
    def big(self): return sum(range(10))
@lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n-1) + fib(n-2)
print(fib.cache_info(), fib.__wrapped__)
@singledispatch
def show(x): return str(x)
@show.register
def _(x: int): return 'int'
@show.register(list)
def _l(x): return 'list'
@total_ordering
class B:
    def __init__(self, v): self.v = v
    def __lt__(self, o): return self.v < o.v
    def __eq__(self, o): return self.v == o.v
",
    r"def process(input, vars=None, type=None, help=''):
    if type == 'x': return input
    return vars
input = [3, 1, 2]
print(sorted(input))
for line in input: print(line)
def compile(x): return x
compile('a')
license = 'MIT'
print(license)
def g():
    vars = {'a': 1}
    eval = 3
    return vars, eval
",
    r#"input = "1\n2".splitlines
data = input()
"#,
    r#"class AppError(Exception):
    def __init__(self, msg, code=1):
        super().__init__(msg)
        self.code = code
try:
    raise AppError('x') from ValueError('y')
except (AppError, KeyError) as e:
    print(e, e.args, e.__cause__, type(e).__name__, e.code, e.__class__.__name__)
except Exception as exc:
    print(f"{exc!r}")
else: pass
finally: pass
"#,
    r"class Node:
    __slots__ = ('_value', 'next')
    def __init__(self, value): self._value = value; self.next = None
class LinkedList:
    def __init__(self): self._head = None; self.__size = 0
    def size(self): return self.__size
    def add(self, v):
        n = Node(v); n.next = self._head; self._head = n; self.__size += 1
ll = LinkedList(); ll.add(1); print(ll._head._value, ll._LinkedList__size)
",
    r"class P:
    def __init__(self): self.x = 1; self._y = 2
print('{0.x} {0._y}'.format(P()))
",
    r"import operator
from operator import itemgetter, attrgetter, methodcaller
xs = sorted([(1, 2)], key=itemgetter(1))
ys = sorted([1j], key=attrgetter('real', 'imag'))
print(list(map(methodcaller('upper'), ['a'])), operator.add(1, 2))
",
    r"class Wrapper:
    def __init__(self, obj): self.obj = obj
    def get(self): return self.obj
try:
    print(Wrapper(1).get())
except ValueError as e:
    print(e)
",
    r"class C: a = 1; b = 2
for n in ('a', 'b'):
    print(getattr(C, n))
",
    r"class T:
    def __init__(self, c): self._c = c
    @property
    def c(self): return self._c
    @c.setter
    def c(self, v): self._c = v
    @c.deleter
    def c(self): del self._c
    @staticmethod
    def s(): pass
    @classmethod
    def make(cls, *a, **k): return cls(*a, **k)
",
    r"import datetime
from datetime import datetime as dt, timedelta
print(dt.now() + timedelta(days=1), datetime.date.today().isoformat(), datetime.datetime(2020, 1, 1))
",
    r"import datetime
from datetime import datetime
print(datetime.now())
def f(): return datetime.now()
",
    r"import random, time, math, string
random.seed(42)
print(random.choice(string.ascii_letters), math.pi, time.time(), random.Random(3).random())
rng = random.Random(0)
",
    r"import copy
a = [[1]]
b = copy.deepcopy(a)
class M:
    def __copy__(self): return M()
    def __deepcopy__(self, memo): return M()
    def clone(self):
        new = type(self)()
        new.x = copy.copy(self)
        return new
print(type(b) == list, type(b) is list)
",
    r"d = {int: 'i', str: 's'}
print(d[type(1)], list(map(type, [1, 'a'])), {type(x) for x in [1]}, type(1).__name__, type(1)(3))
kinds = [type(x).__name__ for x in [1]]
t = type(1)
print(t)
def name(x): return type(x)
if type(1) in (int, float): pass
",
    r"def main() -> None:
    print(__name__, __doc__, __file__)
if __name__ == '__main__':
    main()
",
    r"count = 0
def inc():
    global count
    count += 1
def outer():
    n = 0
    def inner():
        nonlocal n
        n += 1
        return n
    return inner
",
    r"def gen():
    x = yield 1
    yield from [x]
g = gen(); next(g); g.send(1); g.close()
",
    r"import calendar, hashlib
from decimal import Decimal, getcontext, ROUND_HALF_UP
from fractions import Fraction
getcontext().prec = 10
print(calendar.month(2020, 1), hashlib.sha256(b'x').hexdigest(), Decimal('1.1').quantize(Decimal('1'), rounding=ROUND_HALF_UP))
",
    r"import heapq, bisect
from heapq import heappush, heappop
h = []
heappush(h, (1, 'a'))
print(bisect.bisect_left([1], 1), heapq.nlargest(1, h))
",
    r"import re
pat = re.compile(r'(?P<a>\d+)', re.I | re.M)
m = pat.search('12')
print(m.group('a'), m.groupdict(), m.string, re.sub(r'\s+', lambda m: m.group(0).upper(), 'x y'))
",
    r"from collections.abc import Iterable, Mapping
import collections.abc
import collections
class L(collections.abc.Sequence):
    def __getitem__(self, i): return i
    def __len__(self): return 1
class D(collections.UserDict): pass
print(isinstance([], Iterable), collections.abc.Mapping)
",
    r#"from __future__ import annotations
from typing import Optional, List, Union, Callable
class Tree:
    left: "Optional[Tree]" = None
    def add(self, other: "Tree") -> "List[Tree]": return []
def apply(f: Callable[[int], str], x: "int | None" = None) -> Union[int, str]: ...
"#,
    r"from string import Template
print(Template('$a').substitute(a=1))
",
    r"class Req: pass
r = Req(); r.code = 1; r.path = 'x'
print(r.code)
",
    r"class Sim:
    def eval(self, x): return x
    def exec(self): pass
    def run(self): self.eval(1); self.exec()
class Model:
    def __init__(self): self.system = 1; self.os = 'linux'; self.modules = []
    def f(self): return self.system, self.os, self.modules
",
    r"import abc
class A(metaclass=abc.ABCMeta):
    @abc.abstractmethod
    def f(self): ...
    @property
    @abc.abstractmethod
    def g(self): ...
A.register(int)
",
    r"class A:
    def __new__(cls, *a):
        inst = super().__new__(cls)
        return inst
    def __init__(self): super(A, self).__init__()
class B(int):
    def __new__(cls, v): return int.__new__(cls, v)
class C(object):
    _inst = None
    def __new__(cls):
        if cls._inst is None: cls._inst = object.__new__(cls)
        return cls._inst
",
    r"if (n := len([1])) > 0: print(n)
a, *b = [1, 2]
print(*b, sep='', **{})
",
    r#"print("usage: {0.} broken".replace('.', ''))
"#,
    r"d = {**{'a': 1}, 'b': 2} | {'c': 3}
",
    r"print([n for n in dir([]) if not n.startswith('_')], hasattr([], 'append'), callable(print))
import math
print([n for n in dir(math)])
",
    r"import math
if math.pi < 3: exit(1)
quit()
",
    r"raise SystemExit(0)
",
    r#"class Visitor:
    def visit(self, node):
        name = f"visit_{type(node).__name__}"
        return getattr(self, name, self.generic)(node)
    def generic(self, n): return None
"#,
    r"class Shell:
    def run(self, word):
        method = 'do_' + word.lower()
        if word.startswith('un'):
            method = 'undo_%s' % word[2:]
        return getattr(self, method, None)
",
    r#"class Shell:
    def run(self, word):
        return getattr(self, "handle_{}".format(word))()
"#,
];
