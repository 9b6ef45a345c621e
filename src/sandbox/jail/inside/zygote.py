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

    def rehearse_call():
        # As below, where it comes. With one descriptor: a program may have few, and so may all of its user's be under way.
        ours = theirs = None
        try:
            ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
            ours.sendmsg([b"/"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, bytes(4))])
            for fd in received(theirs, 6)[1]:
                posix.close(fd)
            theirs.detach
        except OSError:
            # What is not rehearsed only takes longer.
            pass
        for end in (ours, theirs):
            if end is not None:
                end.close()
        # Names that an instruction has met often are not touched by it any more.
        for _, name in enumerate(("dup2", "closerange", "chdir", "read", "fstat")):
            getattr(posix, name)

    def program(channel_fd, rules, groups, hurry):
        if sequences and enter_there is not enter_in_a_copy:
            must(libc.syscall(*sequences))
        for fd in groups:
            posix.write(fd, b"0")
        # The one user and the one group of the jail, which are others on the host than this process has by now.
        posix.setresgid(1000, 1000, 1000)
        posix.setresuid(1000, 1000, 1000)
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

        def wait():
            if not hurry:
                rehearse()
                rehearse_call()
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

    # What the process that enters a jail is to know.
    errand = None

    def enter(_=None):
        try:
            fds, groups, hurry = errand
            must(libc.setns(fds[0], namespaces))
            pid = posix.fork()
            if pid == 0:
                try:
                    program(fds[1], fds[2] if len(fds) > 2 else None, groups, hurry)
                finally:
                    posix._exit(1)
            # From here, and not from the interpreter that waits: that may be held up while the program runs.
            control.send(b'{"Forked":%d}' % pid)
            return 0
        except Exception:
            return 1

    def restarting():
        # A process that was started with this memory, and what it forks, is not registered for restartable sequences (rseq(2)), while its C
        # library goes on reading there which processor it is on. How to register again, once the kernel has said that this is how the
        # library did it (EBUSY); without a number where there is nothing to do, and None where it cannot be found out.
        try:
            size, offset = (kind.in_dll(libc, name).value for kind, name in ((ctypes.c_uint, "__rseq_size"), (ctypes.c_ssize_t, "__rseq_offset")))
        except ValueError:
            return ()
        if size == 0:
            return ()
        if posix.uname().machine != "x86_64":
            return None
        libc.pthread_self.restype = ctypes.c_ulong
        for length in (32, size):
            # The thread's own address is where offsets begin (psABI); the signature is that of the C library (RSEQ_SIG).
            arguments = [ctypes.c_ulong(n) for n in (334, libc.pthread_self() + offset, length, 0, 0x53053053)]
            if libc.syscall(*arguments) < 0 and ctypes.get_errno() == 16:
                return arguments
        return None

    def entering():
        # Only a child of a process that has joined a process namespace is in it, and none comes out again: so another one enters, and forks the
        # program. It needs no memory of its own for that (clone(2), CLONE_VM and CLONE_VFORK): it takes this one's, which stands still
        # meanwhile, and a stack on which the program then stays. An interpreter that measures its stack (since 3.14) would take the other
        # one for an overflow.
        clone = getattr(ctypes.PyDLL(None), "clone", None)
        if clone is None or sequences is None or sys.version_info >= (3, 14):
            return None
        size = dict(limits).get(resource.RLIMIT_STACK, 1 << 22) & -4096
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
        # PROT_READ and PROT_WRITE; MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE and MAP_STACK (mmap(2)). The lowest page stays closed.
        low = libc.mmap(None, size + 4096, 3, 0x24022, -1, 0)
        if low in (None, ctypes.c_void_p(-1).value):
            return None
        libc.mprotect(ctypes.c_void_p(low), ctypes.c_size_t(4096), 0)
        # MADV_NOHUGEPAGE: a few pages of it are ever used.
        libc.madvise(ctypes.c_void_p(low), ctypes.c_size_t(size + 4096), 15)
        begin = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(enter)
        top = ctypes.c_void_p(low + size + 4096)

        # CLONE_VM, CLONE_VFORK and SIGCHLD (sched.h).
        return lambda: clone(begin, top, 0x4111, None)

    def enter_in_a_copy():
        # Where memory cannot be shared.
        child = posix.fork()
        if child == 0:
            status = 1
            try:
                status = enter()
            finally:
                posix._exit(status)
        return child

    # The prelude is ours, and not of any call.
    running = _toolgate(prelude, prelude and _compiled(lambda: prelude, "<prelude>"))
    rehearse = next(running)
    # What is found at the first use, or made faster by the tenth, is so for every program then: functions of libraries, caches, instructions.
    for _ in range(20):
        rehearse()
        libc.prctl(3, 0, 0, 0, 0), libc.capset, libc.setns, libc.syscall
    sequences = restarting()
    enter_there = entering() or enter_in_a_copy
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
        # `fork`, how many of the last ones are the doors of the groups, and whether a call waits for it.
        _, doors, hurry = order.split()
        walls = len(fds) - int(doors)
        errand = fds[:walls], fds[walls:], hurry == b"1"
        child = enter_there()
        for fd in fds:
            posix.close(fd)
        if child < 0 or posix.waitpid(child, 0)[1] != 0:
            control.send(b'{"Forked":0}')


_zygote()
