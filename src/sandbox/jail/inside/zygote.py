# A waiting interpreter. It never runs a program: it forks children into jails that are built already, and they do, once each.
def _zygote():
    import _socket
    import ctypes
    import gc
    import posix
    import resource
    import sys

    control = _socket.socket(fileno=3)
    parts = []
    while True:
        part = posix.read(4, 1 << 20)
        if not part:
            break
        parts.append(part)
    posix.close(4)
    # Lines: the module path, the modules to import, the limits as `number bound`, the filter in hexadecimal; then the prelude.
    path, preload, limits, refusals, prelude = b"".join(parts).decode("utf-8", "surrogatepass").split("\n\n", 4)
    sys.path[:] = path.split("\n")
    limits = [tuple(int(n) for n in line.split()) for line in limits.split("\n")]
    for name in preload.split() + ["_sitebuiltins", "_ast", "atexit", "linecache", "traceback"]:
        try:
            __import__(name)
        except Exception:
            pass
    libc = ctypes.CDLL(None, use_errno=True)

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_char_p)]

    refusals = bytes.fromhex(refusals)
    refusals = Program(len(refusals) // 8, refusals)
    # CLONE_NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET and NEWNS (sched.h): all that an init has of its own.
    namespaces = 0x7E020000
    nothing = ctypes.create_string_buffer(24)
    header = ctypes.create_string_buffer((0x20080522).to_bytes(4, sys.byteorder) + bytes(4), 8)
    # What only the zygote needed is not there for programs, as in an interpreter that starts anew.
    hidden = [name for name in ("ctypes", "ctypes._endian", "resource", "_socket") if name not in preload.split()]

    def must(result):
        if result < 0:
            raise OSError(ctypes.get_errno(), "a wall cannot be put up")

    def received(channel, count):
        data, control_data, flags, _ = channel.recvmsg(4096, _socket.CMSG_SPACE(4 * count), _socket.MSG_CMSG_CLOEXEC)
        if flags & _socket.MSG_CTRUNC:
            # A wall may be among those that were lost.
            posix._exit(1)
        fds = []
        for _, _, payload in control_data:
            fds += [int.from_bytes(payload[i : i + 4], sys.byteorder) for i in range(0, len(payload) // 4 * 4, 4)]
        return data, fds

    def program(channel_fd, rules, groups, hurry):
        for fd in groups:
            posix.write(fd, b"0")
        posix.dup2(channel_fd, 3, False)
        if rules is not None:
            posix.dup2(rules, 4, False)
        posix.closerange(5, 1024)
        posix.setsid()
        for number, bound in limits:
            hard = bound + 1 if number == resource.RLIMIT_CPU else bound
            resource.setrlimit(number, (bound, hard))
        must(libc.prctl(38, 1, 0, 0, 0))
        for capability in range(64):
            if libc.prctl(24, capability, 0, 0, 0) < 0:
                break
        must(libc.capset(header, nothing))
        # Having had capabilities hides /proc/self from its own process.
        must(libc.prctl(4, 1, 0, 0, 0))
        try:
            # Where the kernel has to kill somebody for memory, it is the program and not its supervisor.
            adjust = posix.open("/proc/self/oom_score_adj", posix.O_WRONLY)
            posix.write(adjust, b"1000")
            posix.close(adjust)
        except OSError:
            pass
        if rules is not None:
            must(libc.syscall(446, 4, 0))
            posix.close(4)
        # The rest of it; what was put up around the zygote is around this process already.
        must(libc.prctl(22, 2, ctypes.byref(refusals), 0, 0))
        for name in hidden:
            sys.modules.pop(name, None)
        numpy_random = sys.modules.get("numpy.random")
        if numpy_random is not None:
            numpy_random.seed()
        channel = _socket.socket(fileno=3)

        def wait(rehearse):
            if not hurry:
                rehearse()
                gc.collect()
            # What is there by now is not looked at by the collections to come.
            gc.freeze()
            channel.send(b'"Seated"')
            start, fds = received(channel, 6)
            if len(fds) != 6:
                posix._exit(0)
            try:
                # The right to begin: it is gone where the call was given up.
                posix.read(fds.pop(), 8)
            except OSError:
                posix._exit(0)
            channel.detach()
            for at, fd in enumerate(fds):
                posix.dup2(fd, at, at < 3)
            posix.closerange(5, 16)
            posix.chdir(start)

        running.send(wait)

    def enter(fds, groups, hurry):
        init, channel_fd = fds[:2]
        must(libc.setns(init, namespaces))
        pid = posix.fork()
        if pid == 0:
            program(channel_fd, fds[2] if len(fds) > 2 else None, groups, hurry)
        control.send(b'{"Forked":%d}' % pid)
        posix._exit(0)

    # The prelude is ours, and not of any call.
    running = _toolgate(prelude)
    next(running)
    # `posix.fork` runs the hooks that renew random seeds; frozen objects are not touched by the collector, so their pages stay shared.
    gc.collect()
    gc.freeze()
    # What is free by now is given back (glibc): every process would get it, and take it down again.
    trim = getattr(libc, "malloc_trim", None)
    if trim is not None:
        trim(0)
    control.send(b'"Seated"')
    while True:
        order, fds = received(control, 11)
        if not order:
            posix._exit(0)
        child = posix.fork()
        if child == 0:
            try:
                # `fork`, how many of the last ones are the doors of the groups, and whether a call waits for it.
                _, doors, hurry = order.split()
                walls = len(fds) - int(doors)
                enter(fds[:walls], fds[walls:], hurry == b"1")
            finally:
                posix._exit(1)
        for fd in fds:
            posix.close(fd)
        if posix.waitpid(child, 0)[1] != 0:
            control.send(b'{"Forked":0}')


_zygote()
