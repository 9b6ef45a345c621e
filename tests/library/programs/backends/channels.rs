//! A next call never sees what a former one left: one test for each channel, over every backend that runs here.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a backend that is not run says why, and a test that cannot be set up fails loudly"
)]

use toolgate::sandbox::programs::{BACKENDS, Outcome};

use super::harness::{Wall, World};

/// Has one program leave something and a later one look for it, several times over: a different jail may serve each.
fn leave_and_look(leave: &str, look: &str, nothing: &str) {
    leave_and_look_behind(Wall::Everywhere, leave, look, nothing);
}

/// The same over every backend that has the wall; one that has not must say so and refuse where it is required.
fn leave_and_look_behind(wall: Wall, leave: &str, look: &str, nothing: &str) {
    for listed in BACKENDS {
        let world = match World::of(listed.name) {
            Ok(world) => world,
            Err(why) => {
                println!("not run here: {}: {why}", listed.name);
                continue;
            }
        };
        if !world.holds(wall) {
            assert_eq!(world.is_honest_about("filesystem"), Ok(()), "{}", listed.name);
            continue;
        }
        let run = |program: &str| -> Outcome { world.run(&world.spec(&world.here(program))).unwrap() };
        for round in 0..4 {
            let left = run(leave);
            assert_eq!(left.stdout, "left\n", "{}, round {round}: {left:?}", listed.name);
            let found = run(look);
            assert_eq!(found.stdout.trim_end(), nothing, "{}, round {round}: {found:?}", listed.name);
        }
    }
}

#[test]
fn files_in_scratch_space_are_gone() {
    let leave =
        "for at in ('/tmp/marker', '/tmp/.hidden'):\n    open(at, 'w').write('x')\nimport os\nos.makedirs('/tmp/deep/er')\nprint('left')";
    leave_and_look(leave, "import os\nprint(os.listdir('/tmp'), os.listdir(os.environ['HOME']))", "[] []");
}

#[test]
fn shared_memory_is_gone_or_was_never_to_be_had() {
    let leave = "try:\n    open('/dev/shm/marker-of-a-call', 'w').write('x')\nexcept OSError:\n    pass\nprint('left')";
    leave_and_look_behind(Wall::Contents, leave, "import os\nprint(os.path.exists('/dev/shm/marker-of-a-call'))", "False");
}

#[test]
fn system_v_objects_are_not_to_be_had() {
    let leave = "import ctypes\nc = ctypes.CDLL(None, use_errno=True)\nr = c.shmget(4711, 4096, 0o1666), c.semget(4711, 1, 0o1666), c.msgget(4711, 0o1666)\nprint('left' if r == (-1, -1, -1) else r)";
    let look = "import ctypes\nc = ctypes.CDLL(None, use_errno=True)\nprint(c.shmget(4711, 0, 0), c.semget(4711, 0, 0), c.msgget(4711, 0))";
    leave_and_look(leave, look, "-1 -1 -1");
}

#[test]
fn abstract_sockets_are_gone_or_were_never_to_be_had() {
    let leave = "import socket\ntry:\n    s = socket.socket(socket.AF_UNIX)\n    s.bind('\\0toolgate-marker')\n    s.listen()\nexcept PermissionError:\n    pass\nprint('left')";
    let look = "import socket\ntry:\n    socket.socket(socket.AF_UNIX).connect('\\0toolgate-marker')\n    print('there')\nexcept OSError:\n    print('nobody')";
    leave_and_look(leave, look, "nobody");
}

#[test]
fn keys_are_not_to_be_had() {
    let call = |number: i64, rest: &str| format!("import ctypes\nc = ctypes.CDLL(None, use_errno=True)\nr = c.syscall({number}, {rest})\n");
    let leave = call(nix::libc::SYS_add_key, "b'user', b'toolgate-marker', b'x', 1, -4") + "print('left' if r == -1 else r)";
    let look = call(nix::libc::SYS_request_key, "b'user', b'toolgate-marker', 0, -4") + "print(r)";
    leave_and_look(&leave, &look, "-1");
}

#[test]
fn changed_modules_are_new_again() {
    let leave = "import json, builtins, sys, math\njson.marker = builtins.marker = sys.marker = math.marker = 1\njson.dumps = None\nsys.path.insert(0, '/tmp')\nprint('left')";
    let look = "import json, builtins, sys, math\nprint([hasattr(m, 'marker') for m in (json, builtins, sys, math)], json.dumps(1), '/t' 'mp' in sys.path, 'left' in globals())";
    leave_and_look(leave, look, "[False, False, False, False] 1 False False");
}

#[test]
fn the_environment_and_the_folder_are_new_again() {
    let leave = "import os\nos.environ['MARKER'] = '1'\nos.umask(0)\nos.chdir('/')\nprint('left')";
    let look = "import os\nprint('MARKER' in os.environ, os.getcwd() != '/')";
    leave_and_look(leave, look, "False True");
}

#[test]
fn bounds_that_were_lowered_are_whole_again() {
    let leave = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (9, 9))\nprint('left')";
    leave_and_look(leave, "import resource\nprint(resource.getrlimit(resource.RLIMIT_NOFILE))", "(256, 256)");
}

#[test]
fn processes_that_were_left_are_dead() {
    // It would write for as long as it lives; the next program looks twice.
    let leave = "import os, signal, time\nfor s in (1, 2, 15):\n    signal.signal(s, signal.SIG_IGN)\nif os.fork() == 0:\n    try:\n        os.setsid()\n    except OSError:\n        pass\n    if os.fork() == 0:\n        n = 0\n        while True:\n            n += 1\n            open('/roots/work/beat', 'w').write(str(n))\n    os._exit(0)\nwhile not os.path.exists('/roots/work/beat'):\n    time.sleep(0.001)\nprint('left')";
    let look = "import os, time\nbefore = os.stat('/roots/work/beat').st_mtime_ns\ntime.sleep(0.03)\nprint(os.stat('/roots/work/beat').st_mtime_ns == before)\nos.remove('/roots/work/beat')";
    leave_and_look(leave, look, "True");
}

#[test]
fn descriptors_that_were_opened_are_closed() {
    let leave = "import os\nfor _ in range(40):\n    os.set_inheritable(os.open('/dev/null', os.O_RDONLY), True)\nprint('left')";
    let look = "import os\nopen_ones = []\nfor fd in range(256):\n    try:\n        os.fstat(fd)\n        open_ones.append(fd)\n    except OSError:\n        pass\nprint(open_ones)";
    leave_and_look(leave, look, "[0, 1, 2, 4]");
}

#[test]
fn signal_handlers_and_timers_are_gone() {
    let leave = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.setitimer(signal.ITIMER_REAL, 100)\nprint('left')";
    let look = "import signal\nprint(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, signal.getitimer(signal.ITIMER_REAL))";
    leave_and_look(leave, look, "True (0.0, 0.0)");
}

#[test]
fn memory_that_a_call_took_is_there_for_the_next() {
    let world = World::new();
    let mut spec = world.spec("pass");
    spec.limits.memory = 96 << 20;
    world.warm_up_like(&spec);
    // To the end, in files, and by reading what the kernel keeps; each more than once, so that what bounds a call has served before.
    let takers = [
        "x = []\ntry:\n    while True:\n        x.append(bytearray(b'x') * (4 << 20))\nexcept MemoryError:\n    pass",
        "h = open('/tmp/a', 'wb')\nfor _ in range(50):\n    h.write(bytes(1 << 20))",
        "import os\nfor at, _, names in os.walk(os.path.dirname(os.__file__)):\n    for name in names:\n        open(os.path.join(at, name), 'rb').read()",
        "pass",
    ];
    for round in 0..3 {
        for taker in takers {
            taker.clone_into(&mut spec.program);
            world.run(&spec).unwrap();
            "x = bytearray(b'x') * (50 << 20)\nprint(len(x) >> 20)".clone_into(&mut spec.program);
            let outcome = world.run(&spec).unwrap();
            assert_eq!((outcome.stdout.as_str(), outcome.limit), ("50\n", None), "{round}, after {taker}: {outcome:?}");
        }
    }
}
