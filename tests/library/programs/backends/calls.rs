//! What one call gives and takes, apart from attacks.

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use toolgate::sandbox::programs::{BACKENDS, JailRoot, JailSpec, Layer, Limit, NoRun, Session, Status};

use super::harness::{World, mask, open};

#[test]
fn stdin_prelude_environment_and_start_folder_reach_the_program() {
    let world = World::new();
    let mut spec = world.spec("import sys, os\nprint(sys.stdin.read(), os.environ['COLOUR'], os.getcwd(), 'prelude_name' in globals())");
    spec.stdin = b"h\xc3\xa9".to_vec();
    spec.prelude = Some("prelude_name = 1".into());
    spec.env.insert("COLOUR".to_owned(), "blue".to_owned());
    assert_eq!(world.run(&spec).unwrap().stdout, "hé blue /roots/work False\n");
}

/// Waits until the clock of stamps has gone on.
fn until_later(seconds: i64, nanos: i64) {
    let now = || rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    while (now().tv_sec, now().tv_nsec) <= (seconds, nanos) {
        std::thread::yield_now();
    }
}

#[test]
fn what_the_program_leaves_in_its_root_is_listed_and_pictures_come_back() {
    let world = World::new();
    std::fs::write(world.work.path().join("before.txt"), "old").unwrap();
    // A stamp has the grain of the clock that it is taken from.
    let stamp = world.work.path().join("before.txt").metadata().unwrap();
    until_later(stamp.ctime(), stamp.ctime_nsec());
    let program = "import os, base64\nos.mkdir('out')\nopen('out/a.csv', 'w').write('x')\nos.symlink('/etc/passwd', 'l.txt')\nos.mkfifo('p')\n\
                   open('dot.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n\\0\\0\\0\\rIHDR\\0\\0\\0\\1\\0\\0\\0\\1')";
    let outcome = world.run(&world.spec(program)).unwrap();
    let files: Vec<_> = outcome.files.iter().map(|f| (f.path.as_str(), f.size, f.mime_type.as_str())).collect();
    assert_eq!(files, [("work/dot.png", 24, "image/png"), ("work/out/a.csv", 1, "text/csv")], "{outcome:?}");
    assert_eq!(outcome.pictures.len(), 1);
    // They belong to the user of the server, not to the user of the jail.
    let made = std::fs::metadata(world.work.path().join("out/a.csv")).unwrap();
    assert_eq!(made.uid(), rustix::process::geteuid().as_raw());
}

/// Root's other groups may open what the program must not: an ordinary user cannot give them up, and has no others to give.
#[test]
fn a_program_has_none_of_the_groups_of_who_started_the_server() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can take on a group and give it up again");
        return;
    }
    nix::unistd::setgroups(&[4_242.into()]).unwrap();
    let world = World::new();
    let mut spec = world.spec("import os\nprint(os.getgroups(), [os.getresgid(), os.getresuid()])");
    let expected = "[] [(1000, 1000, 1000), (1000, 1000, 1000)]\n";
    // From nothing, by a waiting interpreter, in jails that stood empty.
    for fresh in [true, false, false, true, true] {
        spec.fresh = fresh;
        for _ in 0..3 {
            let outcome = world.run(&spec).unwrap();
            assert_eq!(outcome.stdout, expected, "fresh: {fresh}, {outcome:?}");
        }
    }
}

#[test]
fn an_answer_has_the_fields_and_words_of_the_contract() {
    let world = World::new();
    let outcome = world.run(&world.spec("print(1)\n2")).unwrap();
    let value = serde_json::to_value(&outcome).unwrap();
    let mut keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["duration_ms", "exit_code", "files", "isolation", "status", "stderr", "stdout", "truncated", "usage"]);
    assert_eq!((&value["status"], &value["stdout"], &value["exit_code"]), (&"ok".into(), &"1\n2\n".into(), &0.into()));
    for layer in Layer::ALL {
        let (layers, is_bounded) = (&value["isolation"]["layers"], world.layer("memory_cgroup") == "on");
        let state = layers[layer.as_str()].as_str().unwrap();
        assert!(state == "on" || layer == Layer::Memory && !is_bounded && state.starts_with("partial: "), "{value}");
    }
}

#[test]
fn a_root_with_more_denied_entries_than_can_be_covered_is_refused() {
    let world = World::new();
    let mut spec = world.spec("print(1)");
    spec.roots[1].masked = (0..5000).map(|n| mask(format!("secret-{n}"))).collect();
    assert!(matches!(world.run(&spec), Err(NoRun::Root { root, .. }) if root == "shelf"));
    spec.roots[1].masked.truncate(500);
    assert_eq!(world.run(&spec).unwrap().stdout, "1\n");
}

#[test]
fn a_cancelled_call_is_killed_at_once() {
    let world = World::new();
    let outcome = world.run_cancelled_at_output(&world.spec("import time\nprint('on', flush=True)\ntime.sleep(60)")).unwrap();
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Status::Killed, "on\n"), "{outcome:?}");
}

#[test]
fn who_writes_without_end_is_heard_to_be_too_much_and_may_be_cancelled() {
    let world = World::new();
    // Four write, so that no pipe is ever empty; the report is one that takes long to be read.
    let flood = |fd: u8, text: &str| {
        world.spec(&format!("import os\nos.fork()\nos.fork()\nb = b'{text}' * 16384\nwhile True:\n    os.write({fd}, b)"))
    };
    for fd in [1, 2] {
        let outcome = world.run(&flood(fd, "0123456")).unwrap();
        assert_eq!((outcome.status, outcome.limit), (Status::Limit, Some(Limit::Output)), "{fd}: {outcome:?}");
    }
    for session in [None, Some(Session::New)] {
        let spec = JailSpec { session, ..flood(4, "x 0\\n") };
        let outcome = world.run_cancelled(&spec, Duration::from_millis(400)).unwrap();
        assert!(outcome.status == Status::Killed || outcome.limit == Some(Limit::Output), "{outcome:?}");
        assert!(outcome.duration_ms < 30_000, "the time of the call is a minute: {outcome:?}");
        assert_eq!(world.run(&world.spec("print(6 * 7)")).unwrap().stdout, "42\n");
    }
}

#[test]
fn a_jail_that_waits_shows_its_roots_as_its_call_has_them_masked() {
    let world = World::new();
    let seen = |masked: &[&str]| {
        let mut spec = world.spec("import os\ndef shown(name):\n    try:\n        return open('/roots/shelf/' + name).read()\n    except OSError:\n        return 'hidden'\nprint([shown(name) for name in ('open.txt', '.env', 'keys/id.pem')])");
        spec.roots[1].masked = masked.iter().copied().map(mask).collect();
        world.run(&spec).unwrap().stdout
    };
    world.warm_up();
    for _ in 0..3 {
        assert_eq!(seen(&[".env", "keys"]), "['for everybody', 'hidden', 'hidden']\n");
        assert_eq!(seen(&["open.txt", "keys/id.pem"]), "['hidden', 'TOKEN=secret', 'hidden']\n");
        assert_eq!(seen(&[]), "['for everybody', 'TOKEN=secret', 'secret']\n");
    }
}

#[test]
fn output_so_far_is_there_when_the_time_is_over() {
    let world = World::new();
    // The time covers the start as well, which takes seconds on a machine that does much else.
    let mut spec = world.spec("print('first')\nimport time\ntime.sleep(60)");
    spec.limits.wall = Duration::from_secs(10);
    let outcome = world.run(&spec).unwrap();
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Status::Limit, "first\n"), "{outcome:?}");
}

#[test]
fn eight_calls_at_once_do_not_see_each_other() {
    let world = World::new();
    let specs: Vec<_> = (0..8).map(|n| world.spec(&format!("import os\nopen('/tmp/{n}', 'w').close()\nopen('/dev/shm/{n}', 'w').close()\nprint(os.listdir('/tmp'), os.listdir('/dev/shm'), [p for p in os.listdir('/proc') if p.isdigit()])"))).collect();
    for (n, outcome) in world.run_all(&specs).into_iter().enumerate() {
        assert_eq!(outcome.unwrap().stdout, format!("['{n}'] ['{n}'] ['1', '2']\n"));
    }
}

#[test]
fn a_root_of_another_user_is_shown_as_ones_own_or_refused_never_half() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("private"), "mine").unwrap();
    std::fs::set_permissions(folder.path().join("private"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut spec = world.spec("print(open('/roots/own/private').read(), open('/roots/own/new', 'w').write('ab'))");
    spec.roots.push(JailRoot { name: "own".to_owned(), dir: open(folder.path()), writable: true, masked: Vec::new(), quota: None });
    match world.run(&spec) {
        Ok(outcome) => assert_eq!(outcome.stdout, "mine 2\n", "{outcome:?}"),
        Err(refused) => assert!(matches!(&refused, NoRun::Root { root, .. } if root == "own"), "{refused}"),
    }
}

#[test]
fn when_the_server_is_killed_every_process_of_its_programs_dies() {
    // The test binary itself plays the server: it is started again, starts a program, says its host-wide mark, and is killed.
    const VICTIM: &str = "TOOLGATE_TEST_VICTIM";
    if let Ok(backend) = std::env::var(VICTIM) {
        let world = World::of(&backend).unwrap();
        let program = "import os, signal, time\nfor s in (1, 2, 15):\n    signal.signal(s, signal.SIG_IGN)\nif os.fork() == 0:\n    try:\n        os.setsid()\n    except OSError:\n        pass\nopen('started', 'w').close()\ntime.sleep(19)";
        let _ = world.run(&world.spec(program));
        return;
    }
    for backend in BACKENDS.iter().map(|listed| listed.name) {
        if let Err(why) = World::of(backend) {
            println!("not run here: {backend}: {why}");
            continue;
        }
        let mark = tempfile::tempdir().unwrap();
        std::fs::set_permissions(mark.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "programs::backends::calls::when_the_server_is_killed_every_process_of_its_programs_dies"])
            .env(VICTIM, backend)
            .env("TMPDIR", mark.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        wait_until("the program starts", || walk(mark.path()).iter().any(|name| name == "started"));
        let before = descendants(victim.id());
        assert!(before.len() >= 3, "{backend}: {before:?}");
        victim.kill().unwrap();
        victim.wait().unwrap();
        wait_until("every process is dead", || before.iter().all(|pid| !alive(*pid)));
    }
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries
        .flatten()
        .flat_map(|entry| {
            let mut names = walk(&entry.path());
            names.push(entry.file_name().to_string_lossy().into_owned());
            names
        })
        .collect()
}

pub(super) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(super) fn alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}

fn descendants(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let children = tasks.flat_map(|task| {
        let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        text.split_ascii_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<u32>>()
    });
    children.flat_map(|child| std::iter::once(child).chain(descendants(child))).collect()
}

#[test]
fn calls_are_served_by_jails_that_wait_and_fresh_ones_are_not() {
    let world = World::new();
    world.warm_up();
    let mut spec = world.spec("print(1)");
    spec.fresh = true;
    for _ in 0..3 {
        let outcome = world.run(&spec).unwrap();
        assert_eq!((outcome.stdout.as_str(), &outcome.isolation.layers), ("1\n", &world.probe().layers));
    }
    if world.backend() == "native" {
        assert_eq!(world.waiting(), (1, 0), "a fresh call takes none that waits");
        spec.fresh = false;
        assert_eq!(world.run(&spec).unwrap().stdout, "1\n");
        wait_until("another one waits", || world.waiting() == (1, 0));
    }
    let alone = |program: &str| JailSpec { fresh: true, ..world.spec(program) };
    let mut all: Vec<JailSpec> = (0..12).map(|n| alone(&format!("print({n})"))).collect();
    all.push(alone("import os\nos.kill(os.getpid(), 9)"));
    all.push(alone("while True: pass"));
    all[13].limits.wall = Duration::from_secs(4);
    let got: Vec<_> = world.run_all(&all).into_iter().map(|outcome| outcome.map(|o| (o.status, o.limit, o.stdout)).unwrap()).collect();
    let mut expected: Vec<_> = (0..12).map(|n| (Status::Ok, None, format!("{n}\n"))).collect();
    expected.push((Status::Killed, None, String::new()));
    expected.push((Status::Limit, Some(Limit::Wall), String::new()));
    assert_eq!(got, expected);
    let ended = world.run_cancelled(&alone("while True: pass"), Duration::from_millis(100)).unwrap();
    assert_eq!(ended.status, Status::Killed);
}

#[test]
fn memory_in_files_counts_where_the_kernel_keeps_a_group() {
    let world = World::new();
    let filled = "for f in ('/tmp/a', '/dev/shm/a'):\n    h = open(f, 'wb')\n    for _ in range(50):\n        h.write(bytes(1 << 20))\nprint('filled')";
    for warm in [false, true] {
        let mut spec = world.spec(filled);
        (spec.limits.memory, spec.fresh) = (96 << 20, !warm);
        if warm {
            world.warm_up_like(&spec);
        }
        let outcome = world.run(&spec).unwrap();
        if outcome.isolation.layers["memory_cgroup"] == "on" {
            assert_eq!((outcome.status, outcome.limit), (Status::Limit, Some(Limit::Memory)), "{outcome:?}");
            assert!(outcome.evidence.as_ref().is_some_and(|evidence| evidence.starts_with("oom_kill")), "{outcome:?}");
            // The count tells it, not the way the program ended: here only a child dies.
            spec.program = format!(
                "import os\nif os.fork() == 0:\n    x = bytearray(b'x') * (40 << 20)\n    exec({filled:?})\n    os._exit(0)\nos.wait()\nprint('well')"
            );
            let outcome = world.run(&spec).unwrap();
            assert_eq!((outcome.exit_code, outcome.limit), (Some(0), Some(Limit::Memory)), "{outcome:?}");
        } else {
            assert_eq!(outcome.stdout, "filled\n", "{outcome:?}");
        }
        spec.program = "open('/tmp/a', 'wb').write(bytes(20 << 20))".to_owned();
        assert_eq!(world.run(&spec).unwrap().status, Status::Ok);
    }
}

#[test]
fn a_share_of_a_processor_is_held_or_said_to_be_missing() {
    let world = World::new();
    for warm in [false, true] {
        let mut spec =
            world.spec("import time\nend = time.monotonic() + 1.5\nwhile time.monotonic() < end:\n    pass\nprint(time.process_time())");
        (spec.limits.cpu_share, spec.fresh) = (20, !warm);
        if warm {
            world.warm_up_like(&spec);
        }
        let outcome = world.run(&spec).unwrap();
        let used: f64 = outcome.stdout.trim().parse().unwrap_or_else(|_| panic!("{outcome:?}"));
        if outcome.isolation.layers["cpu_share"] == "on" {
            // A busy machine gives less, never more: 20 % of the time, and what the first period lets through.
            assert!(used < 0.75, "{used} s of 1.5 s at 20 %: {outcome:?}");
        } else {
            assert!(outcome.isolation.layers["cpu_share"].contains("Delegate=yes"), "{outcome:?}");
        }
    }
    let mut whole = world.spec("print(1)");
    (whole.limits.cpu_share, whole.fresh) = (1_000_000, true);
    assert!(world.run(&whole).unwrap().isolation.layers["cpu_share"].starts_with("none needed"));
}

#[test]
fn a_program_with_a_namespace_sets_its_own_bounds_by_its_number_and_starts_children_anew() {
    let Ok(world) = World::of("native") else {
        println!("skipped: no namespaces here");
        return;
    };
    for fresh in [true, false] {
        let own = "import os, resource, threading\nme = os.getpid()\nos.sched_setaffinity(me, os.sched_getaffinity(me))\nos.setpriority(os.PRIO_PROCESS, me, 19)\nresource.prlimit(me, resource.RLIMIT_NOFILE, (50, 50))\nos.sched_setaffinity(threading.get_native_id(), {next(iter(os.sched_getaffinity(0)))})\nprint(os.getpriority(os.PRIO_PROCESS, me), resource.getrlimit(resource.RLIMIT_NOFILE))";
        let anew = "import multiprocessing\nwith multiprocessing.get_context('spawn').Pool(2) as pool:\n    print(pool.map(abs, [-1, -2]))";
        for (program, told) in [(own, "19 (50, 50)\n"), (anew, "[1, 2]\n")] {
            let mut spec = world.spec(program);
            (spec.fresh, spec.limits.wall) = (fresh, Duration::from_mins(5));
            let outcome = world.run(&spec).unwrap();
            assert_eq!(outcome.stdout, told, "{outcome:?}");
        }
    }
}

#[test]
fn processor_time_is_told_once() {
    for listed in BACKENDS {
        let Ok(world) = World::of(listed.name) else {
            println!("not run here: {}", listed.name);
            continue;
        };
        let program = "import os, time\nwhile time.process_time() < 0.6:\n    pass\nif os.fork() == 0:\n    while time.process_time() < 0.3:\n        pass\n    os._exit(0)\nos.wait()\nprint(round(sum(os.times()[:4]) * 1000))";
        for fresh in [true, false] {
            let mut spec = world.spec(program);
            // Long: programs come after everything else on a busy machine.
            (spec.fresh, spec.limits.wall) = (fresh, Duration::from_mins(5));
            let outcome = world.run(&spec).unwrap();
            let used: u64 = outcome.stdout.trim().parse().unwrap_or_else(|_| panic!("{outcome:?}"));
            // Walls are put up and taken down on its account as well.
            let told = outcome.usage.cpu_ms;
            assert!(told + 50 >= used && told < used * 8 / 5, "{}: {told} told, {used} used: {outcome:?}", listed.name);
        }
    }
}

#[test]
fn sixty_four_calls_at_once_all_come_back() {
    let world = World::new();
    world.warm_up();
    let specs: Vec<_> = (0..64).map(|n| world.spec(&format!("print({n})"))).collect();
    for (n, outcome) in world.run_all(&specs).into_iter().enumerate() {
        assert_eq!(outcome.unwrap().stdout, format!("{n}\n"));
    }
}

#[test]
fn every_figure_that_is_not_shown_is_counted() {
    let world = World::new();
    // What stands for the module draws a picture of one dot.
    let program = "import sys, types\nclass Figure:\n    def savefig(self, to, **_):\n        to.write(b'\\x89PNG\\r\\n\\x1a\\n\\0\\0\\0\\rIHDR\\0\\0\\0\\1\\0\\0\\0\\1')\n\
                   plots = types.ModuleType('matplotlib.pyplot')\nplots.get_fignums = lambda: list(range(12))\nplots.figure = lambda number: Figure()\n\
                   plots.close = lambda which: None\nsys.modules['matplotlib.pyplot'] = plots";
    let outcome = world.run(&world.spec(program)).unwrap();
    assert_eq!((outcome.pictures.len(), outcome.unshown), (8, 4), "{outcome:?}");
    let few = world.run(&world.spec(&program.replace("range(12)", "range(3)"))).unwrap();
    assert_eq!((few.pictures.len(), few.unshown), (3, 0), "{few:?}");
}
