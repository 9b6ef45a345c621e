//! The same few words in every place of the grammar; each must be refused.

#[rustfmt::skip]
pub(super) const PROGRAMS: &[&str] = &[
    r"class A(type(Exception())): pass
A.mro()
",
    r"class A: pass
type(A)('X', (), {'a': 1})
",
    r"d = {'t': type}
d['t']('X', (), {})
",
    r"sorted([print], key=getattr)
",
    r"class A:
    x = property(getattr)
",
    r"'%(x)s'.__mod__({'x': 1}).__class__.__base__
",
    r"try:
    raise Exception(eval)
except Exception as e: pass
",
    r"f = lambda x, e=exec: e(x)
",
    r"@eval
def f(): pass
",
    r"@exec
class A: pass
",
    r"print(*[eval])
",
    r"{eval: 1}
",
    r"[1][eval:]
",
    r"async def f(): await eval('1')
",
    r"def f(): yield exec
",
    r"assert eval('1')
",
    r"raise ValueError from eval('1')
",
    r"with eval('x') as y: pass
",
    r"for x in eval('[1]'): pass
",
    r"x: eval('int') = 1
",
    r"def f() -> eval('int'): pass
",
    r"def f(*, x=eval('1')): pass
",
    r"type X = eval('int')
",
    r"match eval('1'):
    case _: pass
",
    r"match {}:
    case {print.__self__: x}: pass
",
    r"try: pass
except* eval('E'): pass
",
    r#"f"{f'{eval(1)}'}"
"#,
    r#"f"{1:{eval('2')}}"
"#,
    r#"f"{eval('1')=}"
"#,
    r"e = eval if True else None
",
    r"global __builtins__
__builtins__ = {}
",
    r"del __builtins__
",
    r"class A(x=eval('1')): pass
",
    r"__loader__.load_module('os')
",
    r"__spec__
",
    r"def __import__(*a): pass
",
    r"def __build_class__(*a): pass
",
    r"__getattr__ = eval
",
    r"().__class__.__base__
",
    r"().__class__.__dict__['__doc__']
",
    r"str.__mro__
",
    r"class A:
    def __init__(self): pass
A.__init__.__globals__
",
    r"print.__init__.__objclass__
",
    r"''.__reduce_ex__(2)
",
    r"class A:
    @classmethod
    def __subclasshook__(cls, c): return True
",
    r"[g.gi_frame for g in [(x for x in [1])]]
",
    r"async def f(): pass
f().cr_frame
",
    r"def f():
    try: 1/0
    except Exception as e: return e.__traceback__.tb_frame.f_back
",
    r"vars()
",
    r"getattr(__builtins__, dir(__builtins__)[0])
",
    r"print.__self__.__import__
",
    r"open.__self__
",
    r"setattr(print.__self__, 'x', 1)
",
    r"class A: pass
delattr(A, '__doc__')
",
    r"object.__setattr__(1, 'a' + 'b', 1)
",
    r"type.__setattr__(int, 'x', 1)
",
    r"(1).__getattribute__('real')
",
    r"class A:
    def __getattribute__(self, n): return 1
",
    r"class A: pass
a = A()
a.__class__ = int
",
    r"class A: pass
A.__bases__ = (object,)
",
    r"def f(): pass
f.__code__ = None
",
    r"def f(): pass
f.__defaults__ += (1,)
",
    r"def f(): pass
f.__closure__
",
    r"try:
    import builtins
except Exception: pass
",
    r"class A:
    import math
",
    r"class A:
    obj = 1
    __exit__ = lambda self, t, v, tb: print(v.obj)
",
    r"class A: obj = 1
ValueError = AttributeError
try: A.zz
except ValueError as e: print(e.obj)
",
    r"import contextlib
r = contextlib.redirect_stdout([])
setattr(r, '_stream', 'path')
with r: pass
",
    r"import json
json.JSONEncoder.default = print
",
    r"from random import Random
Random.seed = print
",
    r"import functools
f = functools.singledispatch(print)
getattr(f, 'reg' + 'ister')(1)
",
];
