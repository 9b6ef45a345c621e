# Runs once in the jail, before the program. No wall: code that reaches the real builtins, or pokes memory, passes it.
def _make():
    import builtins
    import sys

    real_import = builtins.__import__
    module_type = type(sys)
    standard = getattr(sys, "stdlib_module_names", frozenset())
    allowed = frozenset(@ALLOWED@)
    every = @EVERY@
    implied = frozenset(@IMPLIED@)
    refused = @REFUSED@
    shown = @SHOWN@
    watched = frozenset(@WATCHED@)
    roots = @ROOTS@

    def permitted(name):
        parent, _, child = name.rpartition(".")
        if every or name in allowed or (name in implied and parent in allowed):
            return True
        if name.partition(".")[0] in standard:
            return False
        while parent:
            if child[:1] == "_":
                break
            if parent in allowed:
                return True
            parent, _, child = parent.rpartition(".")
        return roots and of_a_root(name.partition(".")[0])

    # Modules of roots: found after all others, run with the builtins of the program, so that what they import is judged as the program's own
    # imports are, and read from their source alone. Compiled files beside a source are not looked at: one may lie in the open whose source is denied.
    external = sys.modules["_frozen_importlib_external"]
    program_builtins = {}

    class RootLoader(external.SourceFileLoader):
        def create_module(self, spec):
            module = module_type(spec.name)
            module.__dict__["__builtins__"] = program_builtins
            return module

        def path_stats(self, path):
            raise OSError("no compiled file is read or written")

    def in_a_root(path):
        return type(path) is str and path.startswith("/roots/") and "/../" not in path + "/"

    def root_finder(path):
        if not in_a_root(path):
            raise ImportError("no folder of a root")
        return external.FileFinder(path, (RootLoader, external.SOURCE_SUFFIXES))

    def of_a_root(name):
        module = sys.modules.get(name)
        spec = external.PathFinder.find_spec(name) if module is None else getattr(module, "__spec__", None)
        if type(getattr(spec, "loader", None)) is RootLoader:
            return True
        # A folder without `__init__.py`, of which nothing lies elsewhere.
        places = getattr(spec, "submodule_search_locations", None)
        return bool(places) and getattr(spec, "origin", None) is None and all(map(in_a_root, places))

    def absolute(name, globals, level):
        # What a relative import in a module of a root means; the program itself has no package.
        package = globals.get("__package__") if type(globals) is dict else None
        if not roots or type(package) is not str or not package or type(name) is not str:
            raise ImportError("a program has no package, so a relative import has nothing to start from; import by the module's full name")
        if level > package.count(".") + 1:
            raise ImportError("attempted relative import beyond top-level package")
        base = package.rsplit(".", level - 1)[0]
        return f"{base}.{name}" if name else base

    def no(name):
        return ImportError(f"`{name}` is not on the import allowlist; allowed modules: {shown}", name=name)

    def __import__(name, globals=None, locals=None, fromlist=(), level=0):
        # C code (strptime, __reduce_ex__, numpy) imports through the frame it is called from, and passes a list; statements pass a tuple or None.
        if type(fromlist) is list and not level:
            return real_import(name, globals, locals, fromlist)
        if level:
            name, fromlist = absolute(name, globals, level), fromlist or ("__name__",)
        if type(name) is not str:
            raise ImportError("the name of a module must be text")
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
            if not hasattr(module, item) and permitted(full) and hasattr(module, "__path__"):
                try:
                    real_import(full)
                except ModuleNotFoundError as error:
                    # The statement itself says that there is no such name.
                    if error.name != full:
                        raise
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
        if roots:
            program_builtins.update(own)
            sys.path_hooks.insert(0, root_finder)
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
