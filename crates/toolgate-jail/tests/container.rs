//! The backend `container` over every engine and runtime of this machine, and over engines that are missing or hang.
//!
//! What needs an engine is ignored unless asked for; `container-image.sh` then says which engines run programs here.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests; what is skipped says why")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, MutexGuard};
use toolgate_jail::{Backend, Container, ContainerSettings, Cover, End, Folder, Io, Layer, Limit, Limits, NotStarted, Spec};

const IMAGE: &str = "toolgate-jail-test";
/// A program that runs its task, which finds its input in `given` and reports with `report`.
const WAITS: &str = "
import os, sys
if not sys.stdin.readline(): sys.exit()
call = os.environ['TOOLGATE_CALL']
given = open(call + '/stdin').read()
def report(text): open(call + '/report', 'w').write(text)
exec(open(call + '/task').read())
";

/// The engines and runtimes in which programs run here.
static ENGINES: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("container");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/container-image.sh");
    let said = Command::new(script).arg(folder).arg(std::process::id().to_string()).output().unwrap();
    let text = String::from_utf8(said.stdout).unwrap();
    for skipped in text.lines().filter(|line| !line.starts_with("ready ")) {
        println!("{skipped}");
    }
    let words = |line: &str| line.strip_prefix("ready ")?.split_once(' ').map(|(engine, runtime)| (engine.to_owned(), runtime.to_owned()));
    text.lines().filter_map(words).collect()
});
/// One test at a time uses the engines, so that what it counts is its own.
static TURN: Mutex<()> = Mutex::const_new(());

/// The backends of this machine, with their names.
async fn backends() -> (MutexGuard<'static, ()>, Vec<(String, Container)>) {
    let turn = TURN.lock().await;
    let engines = tokio::task::spawn_blocking(|| ENGINES.clone()).await.unwrap();
    let backend = |(engine, runtime): (String, String)| {
        let name = format!("{engine} with {}", runtime.rsplit('/').next().unwrap());
        (name, backend(&engine, IMAGE, Some(&runtime), 30_000))
    };
    (turn, engines.into_iter().map(backend).collect())
}

fn backend(engine: &str, image: &str, runtime: Option<&str>, patience: u64) -> Container {
    let (engine, image, runtime) = (engine.to_owned(), image.to_owned(), runtime.map(str::to_owned));
    let settings = ContainerSettings { engine, image, runtime, patience: Duration::from_millis(patience) };
    Container::new(settings, python())
}

fn python() -> Spec {
    Spec {
        program: "/usr/bin/python3".to_owned(),
        arguments: ["python3", "-I", "-c", WAITS].map(str::to_owned).to_vec(),
        environment: BTreeMap::from([("COLOUR".to_owned(), "a, \"b\" = c".to_owned())]),
        shown: Vec::new(),
        links: Vec::new(),
        folders: Vec::new(),
        start_dir: "/tmp".to_owned(),
        limits: Limits {
            wall: Duration::from_mins(1),
            cpu: Duration::from_mins(1),
            cpu_share: 100,
            memory: 128 << 20,
            processes: 16,
            open_files: 256,
            file_size: 1 << 20,
            scratch: 8 << 20,
        },
        require: Layer::ALL.to_vec(),
        network: false,
        waits: true,
        label: "test".to_owned(),
    }
}

/// What came of a program.
#[derive(Debug)]
struct Ran {
    out: String,
    err: String,
    report: String,
    end: End,
}

fn file(content: &str) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content.as_bytes()).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    file
}

async fn run(backend: &Container, spec: &Spec, stdin: &str, task: &str) -> Result<Ran, NotStarted> {
    let read = |mut pipe: std::io::PipeReader| {
        tokio::task::spawn_blocking(move || {
            let mut text = String::new();
            pipe.read_to_string(&mut text).unwrap();
            text
        })
    };
    let [(out, stdout), (err, stderr), (report, reported)] = [(); 3].map(|()| std::io::pipe().unwrap());
    let task = (file(task).into(), reported.into());
    let io = Io { stdin: file(stdin).into(), stdout: stdout.into(), stderr: stderr.into(), task: Some(task) };
    let (out, err, report) = (read(out), read(err), read(report));
    let mut running = backend.start(spec, io, false).await?;
    let end = running.end().await;
    drop(running);
    Ok(Ran { out: out.await.unwrap(), err: err.await.unwrap(), report: report.await.unwrap(), end })
}

/// What the engine of a backend lists of this process.
fn listed(name: &str) -> Vec<String> {
    let engine = name.split(' ').next().unwrap();
    let said = Command::new(engine).args(["ps", "--all", "--filter", "label=toolgate=1", "--format", "{{.Names}}"]).output().unwrap();
    let own = format!("-{}-", std::process::id());
    String::from_utf8(said.stdout).unwrap().lines().filter(|line| line.contains(&own)).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a container engine"]
async fn ordinary_programs_print_read_and_leave_with_their_number() {
    let (_turn, backends) = backends().await;
    for (name, backend) in backends {
        let probe = backend.probe().await;
        assert!(probe.usable && probe.strength() == 5, "{name}: {probe:?}");
        let code = "import os, sys; print(given, os.environ['COLOUR'], os.getcwd(), os.getuid() != 0)
open('/tmp/a', 'w').write('x' * 1000); open('/dev/shm/a', 'w').write('x' * 1000); print('bad', file=sys.stderr); sys.exit(3)";
        let ran = run(&backend, &python(), "hello \u{10}\u{11}", code).await.unwrap();
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("hello \u{10}\u{11} a, \"b\" = c /tmp True\n", "bad\n"), "{name}");
        assert_eq!((ran.end.exit, ran.end.signal, ran.end.limit), (Some(3), None, None), "{name}");
        let ran = run(&backend, &python(), "", "import ctypes; ctypes.string_at(0)").await.unwrap();
        assert_eq!((ran.end.exit, ran.end.signal, ran.end.limit), (None, Some(11), None), "{name}");
        let ran = run(&backend, &Spec { program: "/nowhere".to_owned(), ..python() }, "", "").await;
        assert!(matches!(&ran, Err(NotStarted::Unavailable(_, why)) if why.contains("nowhere")), "{name}: {ran:?}");
        backend.close().await;
        assert_eq!(listed(&name), [""; 0], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a container engine"]
async fn a_program_sees_nothing_of_the_host_changes_nothing_and_has_no_network() {
    let (_turn, backends) = backends().await;
    let secret = tempfile::NamedTempFile::new().unwrap();
    let code = format!(
        "import os, socket
def tried(what, *arguments):
    try: what(*arguments); print('done', what.__name__, arguments)
    except OSError: pass
tried(open, {:?})
for path in '/x', '/usr/bin/x', '/etc/passwd', '/run/toolgate/x', '/run/toolgate/task', '/proc/sys/kernel/hostname', '/sys/x': tried(open, path, 'r+'); tried(open, path, 'w')
tried(lambda: (os.mknod('/tmp/device', 0o20666, os.makedev(1, 1)), open('/tmp/device')))
tried(os.setuid, 0)
tried(os.chroot, '/')
tried(os.kill, -1, 0) if os.getpid() != 1 else None
tried(socket.create_connection, ('1.1.1.1', 53), 2)
tried(socket.create_connection, ('169.254.169.254', 80), 2)
print(sorted(name for name in os.listdir('/proc') if name.isdigit()))
print([line.split()[1] for line in open('/proc/self/status') if line.startswith('CapEff')])
",
        secret.path()
    );
    for (name, backend) in backends {
        let ran = run(&backend, &python(), "", &code).await.unwrap();
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("['1']\n['0000000000000000']\n", ""), "{name}: {ran:?}");
        backend.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a container engine"]
async fn limits_hold_and_are_named() {
    let (_turn, backends) = backends().await;
    for (name, backend) in backends {
        let forks = "import os, time
count = 0
try:
    for _ in range(400):
        if os.fork() == 0: time.sleep(1000)
        count += 1
except OSError: pass
print(count)";
        let ran = run(&backend, &python(), "", forks).await.unwrap();
        let most = if name.ends_with("runsc") { 80 } else { 16 };
        // The kernel of gVisor cannot go on where it gets no thread.
        assert!(ran.out.trim().parse().map_or(ran.end.exit != Some(0), |count: u64| count < most), "{name}: {ran:?}");
        let ran = run(&backend, &python(), "", "x = b'x' * (500 << 20)").await.unwrap();
        assert!(matches!(&ran.end, End { exit: None, signal: Some(9), limit: Some((Limit::Memory, _)), .. }), "{name}: {ran:?}");
        let mut short = python();
        let code = "import time; print('begun', flush=True); time.sleep(1000)";
        short.limits.wall = Duration::from_secs(3);
        let began = Instant::now();
        let ran = run(&backend, &short, "", code).await.unwrap();
        assert!(matches!(&ran.end, End { exit: None, signal: Some(9), limit: Some((Limit::Wall, _)), .. }), "{name}: {ran:?}");
        assert_eq!(ran.out, "begun\n", "{name}");
        assert!(began.elapsed() < Duration::from_secs(20), "{name}: {:?}", began.elapsed());
        let mut busy = python();
        let code = "while True: pass";
        busy.limits.cpu = Duration::from_secs(1);
        let ran = run(&backend, &busy, "", code).await.unwrap();
        assert!(matches!(&ran.end, End { exit: None, limit: Some((Limit::Cpu, _)), .. }), "{name}: {ran:?}");
        let sizes = "for path in '/tmp/b', '/tmp/a', '/dev/shm/a':
    try:
        for part in range(10): open(path + str(part), 'wb').write(b'x' * (2 << 20 if path == '/tmp/b' else 1 << 20))
    except OSError as e: print(e.strerror)";
        let ran = run(&backend, &python(), "", sizes).await.unwrap();
        assert_eq!(ran.out, "File too large\nNo space left on device\nNo space left on device\n", "{name}: {ran:?}");
        backend.close().await;
        assert_eq!(listed(&name), [""; 0], "{name}");
    }
}

fn folder(name: &str, path: &Path, writable: bool) -> Folder {
    let dir = Arc::new(File::open(path).unwrap().into());
    Folder { name: name.to_owned(), dir, writable, covers: Vec::new(), unnamed: None }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a container engine"]
async fn folders_are_shown_as_they_are_asked_for_and_the_very_ones() {
    let (_turn, backends) = backends().await;
    for (name, backend) in backends {
        let home = tempfile::tempdir().unwrap();
        let [shown, written] = ["a, \"b\"", "written"].map(|name| home.path().join(name));
        for path in [home.path(), &shown, &written] {
            fs::create_dir_all(path).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        }
        fs::write(shown.join("text"), "content").unwrap();
        let folders = vec![folder("shown", &shown, false), folder("written", &written, true)];
        let spec = Spec { folders, start_dir: "/roots/shown".to_owned(), ..python() };
        let code = "print(open('text').read(), given)
try: open('/roots/shown/new', 'w')
except OSError as e: print(e.strerror)
open('/roots/written/new', 'w').write('kept')
report('done')";
        let ran = run(&backend, &spec, "input", code).await.unwrap();
        assert_eq!((ran.out.as_str(), ran.report.as_str()), ("content input\nRead-only file system\n", "done"), "{name}: {ran:?}");
        assert_eq!(fs::read_to_string(written.join("new")).unwrap(), "kept", "{name}");
        // Another folder lies at the path by now.
        fs::rename(&shown, home.path().join("moved")).unwrap();
        fs::create_dir(&shown).unwrap();
        let dir = Arc::new(File::open(&shown).unwrap().into());
        fs::remove_dir(&shown).unwrap();
        let spec = Spec { folders: vec![Folder { dir, ..folder("shown", &written, false) }], ..python() };
        let ran = run(&backend, &spec, "", "").await;
        assert!(matches!(&ran, Err(NotStarted::Folder(name, _)) if name == "shown"), "{name}: {ran:?}");
        backend.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a container engine"]
async fn programs_that_were_started_ahead_answer_and_all_containers_are_gone_afterwards() {
    let (_turn, backends) = backends().await;
    for (name, backend) in backends {
        let spec = python();
        backend.prepare(&spec, 1).await;
        let mut times = Vec::new();
        for call in 0..5 {
            let deadline = Instant::now() + Duration::from_mins(1);
            while backend.waiting() != [("test".to_owned(), 1, 0)] || listed(&name).len() != 1 {
                assert!(Instant::now() < deadline, "{name}: {:?}", run(&backend, &spec, "", "").await);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let began = Instant::now();
            let ran = run(&backend, &spec, "input", &format!("print(given, {call}); report('done')")).await.unwrap();
            times.push(began.elapsed().as_millis());
            assert_eq!((ran.out, ran.report), (format!("input {call}\n"), "done".to_owned()), "{name}");
            assert_eq!((ran.end.exit, ran.end.limit), (Some(0), None), "{name}");
        }
        let began = Instant::now();
        let ran = run(&backend, &python(), "", "print(1)").await.unwrap();
        println!("{name}: started ahead {times:?} ms, made for the call {} ms", began.elapsed().as_millis());
        assert_eq!(ran.out, "1\n", "{name}");
        backend.close().await;
        assert_eq!(listed(&name), [""; 0], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a container engine"]
async fn containers_of_a_server_that_is_gone_are_removed_at_the_first_use_and_those_of_others_stay() {
    let (_turn, backends) = backends().await;
    for (name, backend) in backends.into_iter().filter(|(name, _)| name.ends_with("runc")) {
        let engine = name.split(' ').next().unwrap();
        let namespace = fs::metadata("/proc/self/ns/pid").unwrap().ino();
        let own = std::process::id();
        let mut gone = Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        // The other belongs to processes that cannot be seen.
        let names = [format!("toolgate-{namespace}-{}-{own}-", gone.id()), format!("toolgate-1-{own}-0")];
        for name in &names {
            let made = Command::new(engine).args(["create", "--pull=never", "--label=toolgate=1", "--name", name, IMAGE, "true"]).output();
            assert!(made.as_ref().is_ok_and(|made| made.status.success()), "{made:?}");
        }
        assert_eq!(run(&backend, &python(), "", "print(1)").await.unwrap().out, "1\n");
        backend.close().await;
        assert_eq!(listed(&name), [names[1].clone()], "{name}");
        Command::new(engine).args(["rm", "--force", &names[1]]).output().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a container engine"]
async fn a_missing_image_or_runtime_is_named() {
    let (_turn, backends) = backends().await;
    for (name, _) in backends.into_iter().filter(|(name, _)| name.ends_with("runc")) {
        let engine = name.split(' ').next().unwrap();
        for (image, runtime) in [("toolgate-no-such-image", None), (IMAGE, Some("toolgate-no-such-runtime"))] {
            let ran = run(&backend(engine, image, runtime, 30_000), &python(), "", "").await;
            assert!(
                matches!(&ran, Err(NotStarted::Unavailable(what, why)) if what == "engine" && why.contains("no-such")),
                "{name}: {ran:?}"
            );
        }
    }
}

/// A program in a folder of its own that stands for an engine.
fn engine(script: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

#[tokio::test]
async fn a_missing_or_hanging_engine_is_named_in_time() {
    let missing = backend("/nowhere/docker", IMAGE, None, 1000);
    let ran = run(&missing, &python(), "", "").await;
    assert!(matches!(&ran, Err(NotStarted::Unavailable(what, why)) if what == "engine" && why.contains("not installed")), "{ran:?}");
    for answers in ["none", "info", "info|ps", "info|ps|create"] {
        let (_folder, path) = engine(&format!("case $1 in {answers}) echo Docker, seccomp;; *) exec sleep 1000;; esac"));
        let hanging = backend(&path, IMAGE, None, 300);
        let began = Instant::now();
        let ran = run(&hanging, &python(), "", "").await;
        assert!(matches!(&ran, Err(NotStarted::Unavailable(what, why)) if what == "engine" && why.contains("no answer")), "{ran:?}");
        assert!(!hanging.probe().await.usable);
        hanging.close().await;
        assert!(began.elapsed() < Duration::from_secs(10), "{answers}: {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_daemon_that_is_not_there_is_named() {
    let (_folder, path) = engine("echo 'Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?' >&2; exit 1");
    let probe = backend(&path, IMAGE, None, 5000).probe().await;
    assert!(!probe.usable && probe.why_not.as_ref().is_some_and(|why| why.contains("daemon running")), "{probe:?}");
}

#[tokio::test]
async fn what_a_container_cannot_do_is_refused_before_one_is_made() {
    let (_folder, path) = engine("case $1 in info|ps) echo Docker, seccomp;; *) echo made >&2; exit 1;; esac");
    let backend = backend(&path, IMAGE, None, 5000);
    let home = tempfile::tempdir().unwrap();
    let covers = vec![Cover { path: ".env".to_owned(), object: None }];
    let covered = Spec { folders: vec![Folder { covers, ..folder("home", home.path(), false) }], ..python() };
    let ran = run(&backend, &covered, "", "").await;
    assert!(matches!(&ran, Err(NotStarted::Folder(name, why)) if name == "home" && why.contains("native")), "{ran:?}");
    let ran = run(&backend, &Spec { network: true, ..python() }, "", "").await;
    assert!(matches!(&ran, Err(NotStarted::Unavailable(named, _)) if named == "network"), "{ran:?}");
}
