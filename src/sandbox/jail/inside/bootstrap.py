# Runs the program that comes over descriptor 3 as a notebook would, and reports over descriptor 4.
# It stops once, and hands out its rehearsal. What comes before a waiting interpreter has done for all processes that it forks; those go on with a
# function that returns when the call has come. Without one the program is there already.
def _toolgate(prelude="", prelude_code=None):
    import builtins
    import gc
    import posix
    import sys
    import time

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

    def read_program(fd=3):
        # Five numbers on the first line, then the module path, the prelude, the prelude compiled and the list of fonts (these may be missing),
        # and the program, each that many bytes long.
        head, _, body = read_all(fd).partition(b"\n")
        parts = []
        at = 0
        for size in head.split():
            parts.append(body[at : at + int(size)])
            at += int(size)
        path, prelude, code, fonts, source = parts
        fonts and lay_out(fonts)
        return path.decode("utf-8", "surrogatepass"), prelude.decode("utf-8", "surrogatepass"), code, source.decode("utf-8", "surrogatepass")

    def lay_out(fonts):
        # Matplotlib makes a list of fonts where there is none, which takes longer than most programs.
        nonlocal laid_out
        if laid_out or "matplotlib.font_manager" in sys.modules:
            return
        laid_out = True

        class Finder:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name == "matplotlib.font_manager" and Finder in sys.meta_path:
                    sys.meta_path.remove(Finder)
                    file, _, list_of_fonts = fonts.partition(b"\n")
                    place = posix.environ.get(b"MPLCONFIGDIR", b"/tmp") + b"/" + file
                    try:
                        fd = posix.open(place, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC, 0o600)
                        while list_of_fonts:
                            list_of_fonts = list_of_fonts[posix.write(fd, list_of_fonts) :]
                        posix.close(fd)
                    except OSError:
                        # It is there, or there is no room for it.
                        pass
                return None

        sys.meta_path.insert(0, Finder)

    sys.argv[:] = ["<program>"]

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
    module_path = []
    laid_out = False
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

    import _signal

    every_signal = range(1, 32)
    set_mask = _signal.pthread_sigmask
    replace_mask = _signal.SIG_SETMASK
    wait_for = _signal.sigtimedwait
    go_on = (_signal.SIGCONT,)

    def speaks_of_a_limit(error):
        # A thread that cannot be started has no number.
        if type(error) is RuntimeError:
            return "start new thread" in str(error.args)
        # EAGAIN, ENOMEM, EMFILE, EFBIG, ENOSPC.
        return isinstance(error, MemoryError) or getattr(error, "errno", None) in (11, 12, 24, 27, 28)

    def stand_still():
        # The process that watches sees by the blocked signals that it is to look: what it sees now is what the answer can say of a limit.
        kept = set_mask(replace_mask, every_signal)
        try:
            wait_for(go_on, 1)
        finally:
            set_mask(replace_mask, kept)

    def instruction(error):
        # The one that raised it, and its place: the innermost frame has it.
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        code = trace.tb_frame.f_code
        return code.co_code[trace.tb_lasti] if trace.tb_lasti >= 0 else -1, code.co_filename, trace.tb_lineno

    def raising():
        # The instructions by which a program raises: a statement, and where an exception is thrown into a generator.
        found = {-1}

        def generator():
            yield

        def throw(steps):
            waiting = generator()
            for _ in range(steps):
                next(waiting)
            waiting.throw(ValueError())

        def statement():
            raise ValueError

        for action in (statement, lambda: throw(0), lambda: throw(1)):
            try:
                action()
            except ValueError as error:
                found.add(instruction(error)[0])
        return found

    raises = raising()

    def origin(error, source):
        # Whether something that the interpreter did failed, or a statement of the program raised what looks like it.
        number = getattr(error, "errno", None)
        memory = isinstance(error, MemoryError)
        if error.__traceback__ is None:
            # It did not parse: the compiler failed.
            return "call"
        for _ in range(8):
            if error is None:
                break
            if isinstance(error, MemoryError) if memory else getattr(error, "errno", None) == number:
                try:
                    opcode, file, line = instruction(error)
                    if opcode not in raises:
                        # The same number says that a pipe is not ready and that no process can be started.
                        if file == "<program>":
                            words = source.split("\n")[line - 1]
                            return "start" if "fork" in words or "spawn" in words else "call"
                        starts = "/subprocess.py", "/popen_fork.py", "/multiprocessing/util.py", "/pty.py"
                        return "start" if file.endswith(starts) else "call"
                except MemoryError:
                    return "call"
                except Exception:
                    pass
            error = error.__cause__ or error.__context__
        return "raise"

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

        try:
            if speaks_of_a_limit(error):
                stand_still()
        except BaseException:
            # Then it is this process's word alone.
            pass
        number = text(lambda: error.errno + 0)
        name = "MemoryError" if isinstance(error, MemoryError) else text(lambda: type(error).__name__)
        fields = (name.replace("\n", " "), number if number.isdigit() else "", text(lambda: origin(error, source)), text(lambda: error))
        try:
            report(b"error", "\n".join(fields).encode("utf-8", "replace"))
        except Exception:
            pass
        try:
            sys.stdout.flush()
        except Exception:
            pass
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == "<string>":
            trace = trace.tb_next
        error = error.with_traceback(trace)
        without_the_prelude(error)

        def shown():
            import linecache
            import traceback

            # As linecache reads a file: every line ends, or the marks below the last one stand one column to the right (CPython 3.11). Other
            # characters that `splitlines` knows end no line of a program.
            lines = [line + "\n" for line in source.split("\n")]
            linecache.cache["<program>"] = (len(source), None, lines, "<program>")
            text = "".join(traceback.format_exception(type(error), error, trace))
            # Where an interpreter lies on the machine may tell whose it is: `site-packages/…` says as much. What is the system's own is the same
            # everywhere.
            for folder in sorted(module_path, key=len, reverse=True):
                if not folder.startswith(("/usr/", "/opt/")):
                    text = text.replace(folder + "/", folder.rpartition("/")[2] + "/")
            print(text, end="", file=sys.stderr)

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

    # The prelude that has run, and whether the call has come that its events are reported to.
    prepared = ""
    come = False
    began = 0

    def event(event, detail):
        if come:
            report(b"event", (event + " " + detail).encode("utf-8", "replace"))

    def prepare(prelude, code):
        nonlocal prepared
        own = {"__name__": "__prelude__", "__builtins__": builtins}
        exec(code or compile(prelude, "<prelude>", "exec", 0, True), own)
        prepared = prelude
        guard = own.get("guard")
        if guard is not None:
            guard(names)
        return own.get("watch")

    def begin(path, prelude, code):
        nonlocal come, began
        sys.path[:] = path.split("\n")
        module_path[:] = [folder for folder in sys.path if not folder.startswith("/roots/")]
        come = True
        began = clock()
        if prelude and prelude != prepared:
            import marshal

            watch = prepare(prelude, code and marshal.loads(code))
            if watch is not None:
                watch(event)

    def run(source):
        try:
            # 0x400 asks for the tree (PyCF_ONLY_AST); the `ast` module would cost more to import than most programs to run.
            import _ast

            tree = compile(source, "<program>", "exec", 0x400, True)
            last = None
            if tree.body and isinstance(tree.body[-1], _ast.Expr):
                last = _ast.Expression(tree.body.pop().value)
            code = compile(tree, "<program>", "exec", 0, True)
            # The features that the program asked for with `from __future__` hold in its last line as well.
            last = last and compile(last, "<program>", "eval", code.co_flags & 0x1FE0000, True)
        except BaseException as error:
            # A program that does not parse, or one so deep that it cannot be compiled.
            failed(error.with_traceback(None), source)
            return 1
        try:
            exec(code, names)
            if last is not None:
                value = eval(last, names)
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

    def rehearse():
        # The first run of a path through the interpreter costs page faults, which are taken while nobody waits.
        nonlocal come
        path = "\n".join(sys.path)
        told = path, prepared, b""
        parts = path.encode("utf-8", "surrogatepass"), prepared.encode("utf-8", "surrogatepass"), b"", b"", b"1"
        text = b"%d %d %d %d %d\n" % tuple(len(part) for part in parts) + b"".join(parts)
        fd = None
        try:
            fd = posix.open("/tmp", posix.O_RDWR | posix.O_TMPFILE | posix.O_CLOEXEC, 0o600)
            # The limits of the program hold already.
            if write(fd, text) == len(text):
                posix.lseek(fd, 0, 0)
                fd, copy = None, fd
                told = read_program(copy)[:3]
        except (AttributeError, OSError):
            # A C library or a scratch space that has none: those pages are touched when the call comes.
            pass
        if fd is not None:
            posix.close(fd)
        begin(*told)
        come = False
        posix.set_inheritable(3, False)
        run("print(end='')\nNone")
        # As it leaves, without leaving.
        sys.modules.get("threading")
        import atexit

        atexit._run_exitfuncs
        left = dict(names)
        left.get("__builtins__")
        left.clear()
        flush()
        leave.__code__, getattr(posix, "_exit"), getattr(posix.fstat(1), "st_mode")

    def used():
        times = posix.times()
        return int(sum(times[:4]) * 1000)

    def serve():
        # Before the first program, which may break imports.
        import _socket
        import resource

        channel = _socket.socket(fileno=posix.dup(3))
        begun = False
        before = used()
        while True:
            word, control, _, _ = channel.recvmsg(64, _socket.CMSG_SPACE(20), _socket.MSG_CMSG_CLOEXEC)
            fds = []
            for _, _, payload in control:
                fds += [int.from_bytes(payload[i : i + 4], sys.byteorder) for i in range(0, 20, 4)]
            if not word or len(fds) != 5:
                posix._exit(0)
            # Descriptor 3 stays taken: a file of the program's that had its number would be closed by the next call.
            path, prelude, code, source = read_program(fds.pop(3))
            for at, fd in zip((0, 1, 2, 4), fds):
                posix.dup2(fd, at, at < 3)
                posix.close(fd)
            if not begun:
                begin(path, prelude, code)
                begun = True
            elif sys.modules.get("__main__") is not module:
                sys.modules["__main__"] = module
            status = run(source)
            flush()
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            now = used()
            # What threads and children used since the last call counts for this one.
            report(b"done", b"%d %d %d" % (status, max(0, now - before), memory))
            before = now
            # What still runs may write, and nobody reads it.
            nothing = posix.open("/dev/null", posix.O_RDWR)
            for at in (0, 1, 2, 4):
                posix.dup2(nothing, at, at < 3)
            posix.close(nothing)

    watch = prelude and prepare(prelude, prelude_code)
    wait = yield rehearse
    if wait is not None:
        if watch:
            watch(event)
        wait()
    else:
        # What is there by now is not looked at by the collections to come.
        gc.freeze()
    posix.set_inheritable(4, False)
    posix.set_inheritable(3, False)
    # A socket in the place of the program: a session, in which programs come over it one after the other.
    if posix.fstat(3).st_mode & 0o170000 == 0o140000:
        serve()
    path, prelude, code, source = read_program()
    begin(path, prelude, code)
    leave(run(source))
