# Runs once in the jail, before the program. No wall: code that reaches the real builtins, or pokes memory, passes it.
def _make():
    import builtins
    import sys

    real_import = builtins.__import__
    module_type = type(sys)
    standard = getattr(sys, "stdlib_module_names", frozenset())
    allowed = frozenset(@ALLOWED@)
    every = @EVERY@
    implied = {@IMPLIED@}
    refused = @REFUSED@
    shown = @SHOWN@
    watched = frozenset(@WATCHED@)

    def permitted(name):
        if every or name in allowed or implied.get(name) in allowed:
            return True
        if name.partition(".")[0] in standard:
            return False
        parent, _, child = name.rpartition(".")
        while parent:
            if child[:1] == "_":
                return False
            if parent in allowed:
                return True
            parent, _, child = parent.rpartition(".")
        return False

    def no(name):
        return ImportError(f"`{name}` is not on the import allowlist; allowed modules: {shown}", name=name)

    def __import__(name, globals=None, locals=None, fromlist=(), level=0):
        # C code (strptime, __reduce_ex__, numpy) imports through the frame it is called from, and passes a list; statements pass a tuple or None.
        if type(fromlist) is list and not level:
            return real_import(name, globals, locals, fromlist)
        if level or type(name) is not str:
            raise ImportError("a program has no package, so a relative import has nothing to start from; import by the module's full name")
        if not permitted(name):
            # `from package import module` with only `package.module` allowed.
            below = [f"{name}.{item}" for item in fromlist or ()]
            if not below or not all(type(item) is str for item in fromlist) or not all(map(permitted, below)):
                if fromlist or not any(item.startswith(name + ".") for item in allowed):
                    raise no(name)
        if not fromlist:
            return real_import(name)
        module = real_import(name, None, None, ("__name__",))
        for item in fromlist:
            if type(item) is not str:
                raise ImportError("a name to import must be text")
            if item == "*":
                continue
            full = f"{name}.{item}"
            if not hasattr(module, item) and permitted(full):
                real_import(full)
            value = getattr(module, item, None)
            if isinstance(value, module_type) and not permitted(full) and not permitted(value.__name__):
                raise no(value.__name__)
        return module

    def guard(namespace, record=None):
        """Gives the globals of a program builtins of their own. `record(event, detail)` is told of watched events."""
        own = dict(vars(builtins))
        for name in refused:
            own.pop(name, None)
        if not every:
            own["__import__"] = __import__
        namespace["__builtins__"] = own
        if record is not None:
            watch(record)

    def watch(record):
        """Tells `record` of watched events, in this process and those it forks."""
        if not watched:
            return
        left = [@EVENTS@]

        def hook(event, arguments):
            if event in watched and left[0] > 0:
                left[0] -= 1
                plain = [str(item)[:200] for item in arguments if type(item) in (str, int, bytes)]
                record(event, " ".join(plain)[:400])

        sys.addaudithook(hook)

    return guard, watch


guard, watch = _make()
del _make
