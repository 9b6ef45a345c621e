//! Interpreters that are kept between calls: what lasts, and what ends them.

use std::time::Duration;

use toolgate::sandbox::programs::{BACKENDS, Cover, JailSpec, Limit, NoRun, Session, SessionBounds, Status};

use super::calls::wait_until;
use super::harness::{World, mask, open};

#[test]
fn a_session_keeps_its_variables_and_nothing_of_another() {
    let world = World::new();
    let mut first = world.spec("x = 41\nimport math");
    (first.session, first.owner) = (Some(Session::New), "ann".to_owned());
    let outcome = world.run(&first).unwrap();
    let handle = outcome.session.clone().unwrap_or_else(|| panic!("{outcome:?}"));
    assert_eq!((outcome.status, outcome.isolation.layers.get("filesystem").map(String::as_str)), (Status::Ok, Some("on")), "{outcome:?}");
    let again = |program: &str, owner: &str| {
        let mut spec = world.spec(program);
        (spec.session, spec.owner) = (Some(Session::Known(handle.clone())), owner.to_owned());
        world.run(&spec)
    };
    let second = again("x += 1\nprint(x, math.floor(1.5))", "ann").unwrap();
    assert_eq!(second.stdout, "42 1\n", "{second:?}");
    let failed = again("x += 1\n1 / 0", "ann").unwrap();
    assert_eq!((failed.status, failed.session.as_deref()), (Status::Exception, Some(handle.as_str())), "{failed:?}");
    assert!(failed.stderr.contains("ZeroDivisionError"), "{failed:?}");
    assert_eq!(again("open('left.txt', 'w').write('ab')\nx", "ann").unwrap().stdout, "43\n");
    assert!(matches!(again("x", "bob"), Err(NoRun::Session { .. })));
    assert_eq!(world.run(&world.spec("print('x' in globals())")).unwrap().stdout, "False\n");
}

#[test]
fn files_that_are_open_stay_open_between_the_calls_of_a_session() {
    let world = World::new();
    let mut spec = world.spec(
        "import os, sqlite3\nf = open('kept.txt', 'w')\nf.write('one')\nd = sqlite3.connect('/tmp/kept.db')\nd.execute('create table t (a)')\nd.commit()\n\
         more = [open('/dev/null') for _ in range(5)]",
    );
    spec.session = Some(Session::New);
    let begun = world.run(&spec).unwrap();
    spec.session = begun.session.clone().map(Session::Known);
    for (program, printed) in [
        ("f.write(' two')\nf.flush()\nprint(open('kept.txt').read())", "one two\n"),
        (
            "d.execute('insert into t values (5)')\nd.commit()\nprint(d.execute('select a from t').fetchall(), f.write(' three'))",
            "[(5,)] 6\n",
        ),
        ("f.close()\nd.close()\nprint(open('kept.txt').read(), [g.read() for g in more])", "one two three ['', '', '', '', '']\n"),
        // Nothing is left of a call but what the program keeps.
        ("print(len(os.listdir('/proc/self/fd')) == len(os.listdir('/proc/self/fd')))", "True\n"),
    ] {
        spec.program = program.to_owned();
        let outcome = world.run(&spec).unwrap();
        assert_eq!(outcome.stdout, printed, "{outcome:?}");
    }
    // A thread that opens and closes files all the time does not meet those of the calls.
    spec.program = "import threading\non = True\ndef churn():\n    while on:\n        for g in [open('/dev/null') for _ in range(9)]:\n            g.close()\nt = threading.Thread(target=churn)\nt.start()".to_owned();
    assert_eq!(world.run(&spec).unwrap().status, Status::Ok);
    for round in 0..40 {
        spec.program = format!("print({round})");
        let outcome = world.run(&spec).unwrap();
        assert_eq!((outcome.stdout.as_str(), outcome.session.is_some()), (format!("{round}\n").as_str(), true), "{outcome:?}");
    }
    spec.program = "on = False\nt.join()\nprint('end')".to_owned();
    assert_eq!(world.run(&spec).unwrap().stdout, "end\n");
}

#[test]
fn a_session_ends_when_what_is_denied_in_its_folders_changes() {
    let world = World::new();
    let begin = || {
        let mut spec = world.spec("print(open('/roots/shelf/open.txt').read())");
        spec.session = Some(Session::New);
        world.run(&spec).unwrap().session.unwrap()
    };
    let go_on = |handle: &str, change: fn(&mut Vec<Cover>)| {
        let mut spec = world.spec("print(2)");
        spec.session = Some(Session::Known(handle.to_owned()));
        change(&mut spec.roots[1].masked);
        world.run(&spec)
    };
    let ended = |got: Result<toolgate::sandbox::programs::Outcome, NoRun>| matches!(got, Err(NoRun::Session { reason, .. }) if reason.contains("denied"));
    // The same masks in another order are the same.
    let handle = begin();
    assert_eq!(go_on(&handle, |masked| masked.reverse()).unwrap().stdout, "2\n");
    assert!(ended(go_on(&handle, |masked| masked.push(mask("open.txt")))));
    assert!(matches!(go_on(&handle, |_| {}), Err(NoRun::Session { reason, .. }) if reason.contains("not known")));
    let handle = begin();
    std::fs::write(world.shelf.path().join("new.env"), "TOKEN=other").unwrap();
    std::fs::rename(world.shelf.path().join("new.env"), world.shelf.path().join(".env")).unwrap();
    assert!(ended(go_on(&handle, |_| {})));
}

#[test]
fn a_session_ends_when_its_walls_are_not_those_that_are_asked_for() {
    type Change<'a> = &'a dyn Fn(&mut JailSpec);
    let world = World::new();
    let begin = || {
        let mut spec = world.spec("x = 2");
        spec.session = Some(Session::New);
        world.run(&spec).unwrap().session.unwrap()
    };
    let go_on = |handle: &str, change: Change<'_>| {
        let mut spec = world.spec("print(x)");
        spec.session = Some(Session::Known(handle.to_owned()));
        change(&mut spec);
        world.run(&spec)
    };
    // Another time, another share of the hour's budget: the walls are the same.
    let handle = begin();
    let went_on = go_on(&handle, &|spec| {
        (spec.limits.wall, spec.limits.cpu) = (Duration::from_secs(30), Duration::from_secs(3));
    });
    assert_eq!(went_on.unwrap().stdout, "2\n");
    let changes: [(&str, Change<'_>); 6] = [
        ("a root is taken away", &|spec| drop(spec.roots.pop())),
        ("a root is closed for writing", &|spec| spec.roots[0].writable = false),
        ("a name stands for another folder", &|spec| spec.roots[0].dir = open(world.canary.path())),
        ("memory", &|spec| spec.limits.memory /= 2),
        ("the environment", &|spec| drop(spec.env.insert("A".to_owned(), "b".to_owned()))),
        ("what runs first", &|spec| spec.prelude = Some("import sys".into())),
    ];
    for (name, change) in changes {
        let handle = begin();
        let ended = go_on(&handle, change);
        assert!(matches!(&ended, Err(NoRun::Session { reason, .. }) if reason.starts_with("has ended")), "{name}: {ended:?}");
        assert!(matches!(go_on(&handle, &|_| {}), Err(NoRun::Session { .. })), "{name}: it is gone");
    }
}

#[test]
fn every_backend_keeps_a_session() {
    for backend in BACKENDS.iter().map(|listed| listed.name) {
        let world = match World::of(backend) {
            Ok(world) => world,
            Err(why) => {
                println!("not run here: {backend}: {why}");
                continue;
            }
        };
        let mut spec = world.spec("x = 41");
        spec.session = Some(Session::New);
        let begun = world.run(&spec).unwrap();
        let handle = begun.session.clone().unwrap_or_else(|| panic!("{backend}: {begun:?}"));
        let mut spec = world.spec("print(x + 1)");
        spec.session = Some(Session::Known(handle));
        assert_eq!(world.run(&spec).unwrap().stdout, "42\n", "{backend}");
    }
}

#[test]
fn a_limit_ends_the_session_and_says_so() {
    let world = World::new();
    let mut spec = world.spec("y = 1\nimport time\nprint('on')\ntime.sleep(60)");
    spec.session = Some(Session::New);
    spec.limits.wall = Duration::from_secs(10);
    let outcome = world.run(&spec).unwrap();
    assert_eq!((outcome.status, outcome.limit, outcome.session.clone()), (Status::Limit, Some(Limit::Wall), None), "{outcome:?}");
    assert!(outcome.evidence.unwrap().contains("the session has ended") && outcome.stdout == "on\n");
    let mut crash = world.spec("import os\nos.abort()");
    crash.session = Some(Session::New);
    let outcome = world.run(&crash).unwrap();
    assert_eq!((outcome.status, outcome.signal, outcome.session.clone()), (Status::Killed, Some(6), None), "{outcome:?}");
}

#[test]
fn a_later_call_of_a_session_is_told_how_it_ended_as_the_first_is() {
    let world = World::new();
    let begun = || {
        let mut spec = world.spec("import os, time\nx = 1");
        spec.session = Some(Session::New);
        let session = world.run(&spec).unwrap().session.unwrap();
        spec.session = Some(Session::Known(session));
        spec.program = "x + 1".to_owned();
        assert_eq!(world.run(&spec).unwrap().stdout, "2\n");
        spec
    };
    let mut slow = begun();
    slow.program = "print(x)\ntime.sleep(60)".to_owned();
    slow.limits.wall = Duration::from_secs(10);
    let outcome = world.run(&slow).unwrap();
    assert_eq!((outcome.status, outcome.limit, outcome.stdout.as_str()), (Status::Limit, Some(Limit::Wall), "1\n"), "{outcome:?}");
    for (program, signal) in [("os.kill(os.getpid(), 9)", 9), ("os.abort()", 6)] {
        let mut dying = begun();
        dying.program = program.to_owned();
        let outcome = world.run(&dying).unwrap();
        assert_eq!((outcome.status, outcome.signal, outcome.session.clone()), (Status::Killed, Some(signal), None), "{outcome:?}");
    }
}

#[test]
fn sessions_have_a_greatest_number_and_unused_ones_end() {
    let world = World::with_sessions(SessionBounds { max: 2, idle: Duration::from_mins(10) });
    let mut spec = world.spec("import os\nprint(1)");
    spec.session = Some(Session::New);
    for _ in 0..2 {
        world.run(&spec).unwrap();
    }
    assert!(matches!(world.run(&spec), Err(NoRun::Session { .. })));
    let world = World::with_sessions(SessionBounds { max: 1, idle: Duration::from_millis(300) });
    let mut spec = world.spec("import os\nprint(1)");
    spec.session = Some(Session::New);
    let first = world.run(&spec).unwrap().session.unwrap();
    wait_until("the session ends", || world.run(&spec).is_ok());
    let mut old = world.spec("1");
    old.session = Some(Session::Known(first));
    assert!(matches!(world.run(&old), Err(NoRun::Session { .. })));
}

#[test]
fn the_sessions_of_one_caller_keep_no_other_from_having_its_own_and_all_together_have_a_bound() {
    let world = World::with_sessions(SessionBounds { max: 1, idle: Duration::from_mins(10) });
    let begin = |caller: u32| {
        let mut spec = world.spec("print(1)");
        (spec.session, spec.owner) = (Some(Session::New), caller.to_string());
        world.run(&spec).map(|outcome| outcome.session.is_some())
    };
    let is_refused = |caller, why| matches!(begin(caller), Err(NoRun::Session { reason, .. }) if reason.contains(why));
    assert!(matches!(begin(0), Ok(true)) && is_refused(0, "1 are open"));
    assert!((1..8).all(|caller| matches!(begin(caller), Ok(true))));
    assert!(is_refused(8, "other callers"));
}

#[test]
fn a_session_that_lies_about_its_processor_time_is_charged_for_it_all_the_same() {
    // It says that its call is over, as only its interpreter should, works on, and what the interpreter says of that leads nowhere.
    let lie = "import os, time\nos.write(4, b'done 1\\n0')\nos.dup2(os.open('/dev/null', os.O_WRONLY), 4)\nend = time.process_time() + 0.8\nwhile time.process_time() < end:\n    pass\nover = True";
    for listed in BACKENDS {
        let Ok(world) = World::of(listed.name) else {
            println!("not run here: {}", listed.name);
            continue;
        };
        for fresh in [false, true] {
            let mut spec = world.spec(lie);
            (spec.session, spec.owner, spec.fresh) = (Some(Session::New), "liar".to_owned(), fresh);
            let lied = world.run(&spec).unwrap();
            assert!(lied.session.is_some(), "{}: {lied:?}", listed.name);
            // The next call waits until the interpreter has time for it.
            (spec.session, spec.program) = (lied.session.clone().map(Session::Known), "print(over)".to_owned());
            let next = world.run(&spec).unwrap();
            assert_eq!(next.stdout, "True\n", "{}: {next:?}", listed.name);
            assert!(lied.usage.cpu_ms + next.usage.cpu_ms >= 600, "{}: {lied:?}, {next:?}", listed.name);
            // It is told once.
            spec.program = "print(1)".to_owned();
            let third = world.run(&spec).unwrap();
            assert!(third.usage.cpu_ms < 400, "{}: {third:?}", listed.name);
        }
    }
}

#[test]
fn one_call_of_a_session_uses_no_more_processor_time_than_any_other_call() {
    let world = World::new();
    let mut spec = world.spec("x = 1\nwhile True:\n    pass");
    (spec.session, spec.limits.cpu, spec.limits.wall) = (Some(Session::New), Duration::from_secs(1), Duration::from_mins(1));
    let outcome = world.run(&spec).unwrap();
    assert_eq!((outcome.status, outcome.limit, outcome.session.clone()), (Status::Limit, Some(Limit::Cpu), None), "{outcome:?}");
    assert!((900..10_000).contains(&outcome.usage.cpu_ms), "{outcome:?}");
}

/// Counts in a thread, in a process of its own, and in children that start children, into files of the folder it starts in.
const COUNTS: &str = "import os, threading, time
def count(name, then=None):
    number = 0
    while True:
        number += 1
        with open(name, 'w') as file:
            file.write(str(number))
        time.sleep(0.001)
        if then and number % 5 == 0:
            then()
def onward():
    if os.fork():
        os._exit(0)
threading.Thread(target=count, args=('thread',), daemon=True).start()
for name, then in (('process', None), ('forks', onward)):
    if os.fork() == 0:
        try:
            os.setsid()
        except OSError:
            pass
        count(name, then)
while not all(os.path.exists(name) for name in ('thread', 'process', 'forks')):
    time.sleep(0.001)
kept = 41";

#[test]
fn nothing_of_a_session_runs_between_its_calls_and_all_of_it_goes_on_in_the_next() {
    for backend in BACKENDS.iter().map(|listed| listed.name) {
        let world = match World::of(backend) {
            Ok(world) => world,
            Err(why) => {
                println!("not run here: {backend}: {why}");
                continue;
            }
        };
        // The counting of children that leave one another is read as it stands: a file may be empty while it is written anew.
        let counted = || ["thread", "process", "forks"].map(|name| std::fs::read_to_string(world.work.path().join(name)).unwrap());
        let mut spec = world.spec(COUNTS);
        spec.session = Some(Session::New);
        let begun = world.run(&spec).unwrap();
        let handle = begun.session.clone().unwrap_or_else(|| panic!("{backend}: {begun:?}"));
        spec.session = Some(Session::Known(handle));
        for call in 0..3 {
            // What was under way when the answer was given may be written yet; what ran on would count a thousand times a second.
            wait_until("everything stands", || {
                let before = counted();
                std::thread::sleep(Duration::from_millis(500));
                before == counted()
            });
            // They go on in the next call, which waits for that.
            spec.program = "before = {n: open(n).read() for n in ('thread', 'process', 'forks')}
while any(open(n).read() in ('', before[n]) for n in before):
    time.sleep(0.001)
print(kept + 1)"
                .to_owned();
            assert_eq!(world.run(&spec).unwrap().stdout, "42\n", "{backend}: call {call}");
        }
    }
}
