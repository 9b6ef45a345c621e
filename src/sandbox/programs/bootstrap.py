# Gets ready, then runs the programs that come over descriptor 3 as a notebook would, and reports on each over descriptor 4.
def _toolgate():
    import builtins
    import gc
    import posix
    import sys
    import time

    # The module path, the prelude and the modules to import ahead.
    path, prelude, ahead = sys.argv[1:]
    folders, ahead = path.split("\n"), ahead.split()
    sys.argv[:] = ["<program>"]
    # In a container a call comes in this folder, and the image says where modules are.
    call = posix.environ.get(b"TOOLGATE_CALL")
    if call:
        import site

        site.main()
        sys.path += filter(None, folders)
    else:
        sys.path[:] = folders

    def read_all(fd):
        parts = []
        left = posix.fstat(fd).st_size
        while left > 0:
            part = posix.read(fd, left)
            if not part:
                break
            parts.append(part)
            left -= len(part)
        posix.close(fd)
        return b"".join(parts)

    def read_task(fd):
        # Whether it stays for more, on the first line; then the program.
        stays, _, source = read_all(fd).partition(b"\n")
        return stays == b"1", source.decode("utf-8", "surrogatepass")

    try:
        import _sitebuiltins

        builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D")
        builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D")
        builtins.help = _sitebuiltins._Helper()
    except ImportError:
        pass
    sys.stdout.reconfigure(line_buffering=True)

    import_module = builtins.__import__
    meta_path = sys.meta_path[:]
    path_hooks = sys.path_hooks[:]
    module_path = [folder for folder in sys.path if not folder.startswith("/roots/")]
    write = posix.write
    clock = time.time_ns

    def report(kind, payload):
        data = b"%s %d\n%s" % (kind, len(payload), payload)
        while data:
            data = data[write(4, data) :]

    def with_own_imports(action):
        # What the prelude or the program did to imports must not keep the traceback from being shown, and holds again afterwards. Nothing is
        # looked for in a root meanwhile: no module of one runs for it.
        kept = builtins.__import__, sys.meta_path[:], sys.path_hooks[:], sys.path[:]
        builtins.__import__ = import_module
        sys.meta_path[:] = meta_path
        sys.path_hooks[:] = path_hooks
        sys.path[:] = module_path
        try:
            action()
        finally:
            builtins.__import__, sys.meta_path[:], sys.path_hooks[:], sys.path[:] = kept

    def threads():
        import _thread

        return _thread._count() + 1

    def starts_a_process(error, source):
        # One number says that no process can be started and that a pipe is not ready: what was called tells them apart.
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        file = trace.tb_frame.f_code.co_filename
        if file == "<program>":
            words = source.split("\n")[trace.tb_lineno - 1]
            return "fork" in words or "spawn" in words
        return file.endswith(("/subprocess.py", "/popen_fork.py", "/multiprocessing/util.py", "/pty.py"))

    def without_the_prelude(error):
        # The import hook stands between an `import` and the module: its lines are none of the program's.
        for _ in range(8):
            at = getattr(error, "__traceback__", None)
            while at is not None:
                below = at.tb_next
                while below is not None and below.tb_frame.f_code.co_filename == "<prelude>":
                    below = below.tb_next
                at.tb_next = below
                at = below
            error = getattr(error, "__cause__", None) or getattr(error, "__context__", None)

    def failed(error, source):
        def text(ask):
            # An exception is the program's own: any of its methods may raise, and its number may be too long to be said.
            try:
                return str(ask())[:500]
            except BaseException:
                return ""

        number = text(lambda: error.errno + 0)
        name = "MemoryError" if isinstance(error, MemoryError) else text(lambda: type(error).__name__)
        fields = (name.replace("\n", " "), number if number.isdigit() else "", text(lambda: "start" if starts_a_process(error, source) else threads()), text(lambda: error))
        try:
            report(b"error", "\n".join(fields).encode("utf-8", "replace"))
        except Exception:
            pass
        try:
            sys.stdout.flush()
        except Exception:
            pass
        # What stands between the interpreter's start and the program (this, and `asyncio`) is left out.
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != "<program>":
            trace = trace.tb_next
        error = error.with_traceback(trace)
        without_the_prelude(error)

        def shown():
            import traceback

            print("".join(traceback.format_exception(type(error), error, trace)), end="", file=sys.stderr)

        try:
            with_own_imports(shown)
        except BaseException:
            # No memory, or a broken interpreter: the bare line still says what it was, past whatever stands for standard error.
            try:
                write(2, ("%s: %s\n" % (fields[0], fields[-1])).encode("utf-8", "replace"))
            except BaseException:
                pass

    def show(value):
        picture = getattr(type(value), "_repr_png_", None)
        if picture is not None:
            try:
                data = picture(value)
                if isinstance(data, bytes):
                    report(b"image", data)
            except Exception:
                pass
        print(repr(value))

    def pictures():
        # A file's time is that of the kernel's last tick.
        tick = 20_000_000
        kinds = (".png", ".jpg", ".jpeg", ".gif", ".webp")
        files = posix.scandir(".")
        return sum(file.name.lower().endswith(kinds) and file.stat().st_mtime_ns >= began - tick for file in files)

    def figures():
        plots = sys.modules.get("matplotlib.pyplot")
        if plots is None:
            return

        def drawn():
            import io

            numbers = plots.get_fignums()
            # A figure that was drawn and not changed since is not stale. Where the program wrote as many pictures, they come back as files.
            saved = {number for number in numbers if not getattr(plots.figure(number), "stale", True)}
            if len(saved) > pictures():
                saved.clear()
            for at, number in enumerate(number for number in numbers if number not in saved):
                data = io.BytesIO()
                # More are not shown: they are counted alone.
                if at < 8:
                    plots.figure(number).savefig(data, format="png", bbox_inches="tight")
                report(b"image", data.getvalue())
            plots.close("all")

        try:
            with_own_imports(drawn)
        except BaseException:
            # What stands for the module may be the program's own, and the program has ended: nothing in it ends anything more.
            pass

    module = type(sys)("__main__")
    module.__builtins__ = builtins
    module.__file__ = "<program>"
    # There is no such file: a child that `multiprocessing` starts anew would look for it, unless the module has this name.
    module.__spec__ = type(sys.__spec__)("__main__", None)
    sys.modules["__main__"] = module
    names = module.__dict__

    # Whether a call has come that events are reported to, and when.
    come = False
    began = 0

    def event(event, detail):
        if come:
            report(b"event", (event + " " + detail).encode("utf-8", "replace"))

    def prepare(prelude):
        own = {"__name__": "__prelude__", "__builtins__": builtins}
        exec(compile(prelude, "<prelude>", "exec", 0, True), own)
        guard = own.get("guard")
        if guard is not None:
            guard(names)
        return own.get("watch")

    def keep_source(source):
        # Tracebacks and `inspect.getsource` read it here. As linecache reads a file: every line ends, or the marks below the last one stand one
        # column to the right (CPython 3.11). Other characters that `splitlines` knows end no line of a program.
        linecache.cache["<program>"] = (len(source), None, [line + "\n" for line in source.split("\n")], "<program>")
        if "__main__" in source and ("multiprocessing" in source or "ProcessPool" in source):
            # Workers that start anew (`spawn`, `forkserver`) import the program from its file, behind its `if __name__ == "__main__"`.
            place = posix.environ.get(b"TMPDIR", b"/tmp").decode("utf-8", "surrogateescape") + "/program.py"
            try:
                with open(place, "w", encoding="utf-8", errors="surrogatepass") as file:
                    file.write(source)
                module.__file__, module.__spec__ = place, None
            except OSError:
                # There is no room for it.
                pass

    def execute(code, last):
        # 0x80 (CO_COROUTINE): it awaits something at its top level.
        if not (code.co_flags | (last.co_flags if last else 0)) & 0x80:
            exec(code, names)
            return last and eval(last, names)

        async def awaited():
            value = eval(code, names)
            if code.co_flags & 0x80:
                await value
            value = last and eval(last, names)
            return await value if last and last.co_flags & 0x80 else value

        runner = []
        with_own_imports(lambda: runner.append(import_module("asyncio").run))
        return runner[0](awaited())

    def run(source):
        try:
            keep_source(source)
            # 0x400 asks for the tree (PyCF_ONLY_AST), 0x2000 allows `await` at the top level; the `ast` module would cost more to import than most
            # programs to run.
            import _ast

            tree = compile(source, "<program>", "exec", 0x2400, True)
            last = None
            if tree.body and isinstance(tree.body[-1], _ast.Expr):
                last = _ast.Expression(tree.body.pop().value)
            code = compile(tree, "<program>", "exec", 0x2000, True)
            # The features that the program asked for with `from __future__` hold in its last line as well.
            last = last and compile(last, "<program>", "eval", code.co_flags & 0x1FE0000 | 0x2000, True)
        except BaseException as error:
            # A program that does not parse, or one so deep that it cannot be compiled.
            failed(error.with_traceback(None), source)
            return 1
        try:
            value = execute(code, last)
            if value is not None:
                show(value)
        except SystemExit as error:
            figures()
            status = error.code
            if status is None or isinstance(status, int):
                return (status or 0) & 0xFF
            print(status, file=sys.stderr)
            return 1
        except BaseException as error:
            figures()
            failed(error, source)
            return 1
        figures()
        return 0

    def leave(status):
        # As the interpreter's own end: threads, exit functions, then the objects, so that open files are written out. What was there before
        # the program is not taken down.
        try:
            threading = sys.modules.get("threading")
            if threading is not None:
                threading._shutdown()
            import atexit

            atexit._run_exitfuncs()
            # Held: to free them, everything in them would be written to.
            kept = names.get("__builtins__")
            names.clear()
            gc.collect()
        except BaseException:
            pass
        flush()
        posix._exit(status)

    def flush():
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:
                pass

    import _socket
    import linecache

    for name in ahead + ["_ast", "atexit", "traceback"]:
        try:
            __import__(name)
        except Exception:
            pass
    watch = prelude and prepare(prelude)
    # What is there by now is not looked at by the collections to come.
    gc.collect()
    gc.freeze()
    if call:
        # A line says that the call is there.
        if not posix.read(0, 1):
            posix._exit(0)
        for at, name, flags in ((0, b"/stdin", posix.O_RDONLY), (4, b"/report", posix.O_WRONLY)):
            fd = posix.open(call + name, flags)
            if fd != at:
                posix.dup2(fd, at, at < 3)
                posix.close(fd)
        _, source = read_task(posix.open(call + b"/task", posix.O_RDONLY))
        come = True
        began = clock()
        watch and watch(event)
        leave(run(source))
    channel = _socket.socket(fileno=3)
    posix.set_inheritable(3, False)
    if "_socket" not in ahead:
        # Not there for programs, as in any interpreter that has just started.
        del sys.modules["_socket"]
    while True:
        # The folder to start in, with standard input, output and error, the task and the report.
        start, control, _, _ = channel.recvmsg(4096, _socket.CMSG_SPACE(20), _socket.MSG_CMSG_CLOEXEC)
        fds = [int.from_bytes(payload[i : i + 4], sys.byteorder) for _, _, payload in control for i in range(0, len(payload), 4)]
        if len(fds) != 5:
            posix._exit(0)
        stays, source = read_task(fds.pop(3))
        for at, fd in zip((0, 1, 2, 4), fds):
            posix.dup2(fd, at, at < 3)
            posix.close(fd)
        began = clock()
        stays or posix.close(channel.detach())
        if not come:
            come = True
            posix.chdir(start)
            watch and watch(event)
        elif sys.modules.get("__main__") is not module:
            sys.modules["__main__"] = module
        status = run(source)
        if not stays:
            leave(status)
        flush()
        report(b"done", b"%d" % status)
        # What still runs may write, and nobody reads it.
        nothing = posix.open("/dev/null", posix.O_RDWR)
        for at in (0, 1, 2, 4):
            posix.dup2(nothing, at, at < 3)
        posix.close(nothing)


_toolgate()
