//! Runs rows of the table.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot be set up fails loudly, and says what it ran")]

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::calls::wait_until;
use tokio_util::sync::CancellationToken;
use toolgate::sandbox::programs::{Client, Cover, Jail, JailRoot, JailSpec, Layer, Limit, NoRun, Outcome, SessionBounds, Settings, Status};

/// What must come of a program.
pub(crate) enum Expect {
    /// It ends well, and this is what it prints.
    Out(&'static str),
    /// It ends well, and its output has this in it.
    Has(&'static str),
    /// It hits this limit.
    Hits(Limit),
    /// It raises, and the traceback has this in it.
    Raises(&'static str),
    /// A signal ends it.
    Dies(i32),
}

impl Expect {
    /// The same once more.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Out(text) => Self::Out(text),
            Self::Has(text) => Self::Has(text),
            Self::Hits(limit) => Self::Hits(*limit),
            Self::Raises(text) => Self::Raises(text),
            Self::Dies(signal) => Self::Dies(*signal),
        }
    }
}

/// What an attack is held by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wall {
    /// Every backend holds it.
    Everywhere,
    /// The contents of files: an own root, or Landlock.
    Contents,
    /// A layer that a backend may report as missing.
    Layer(&'static str),
}

/// An attack and the ordinary use beside it.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) attack: String,
    pub(crate) expect: Expect,
    pub(crate) ordinary: String,
    pub(crate) works: Expect,
    /// Changes the limits of both.
    pub(crate) limits: fn(&mut JailSpec),
    /// What holds it.
    pub(crate) wall: Wall,
}

pub(crate) struct World {
    runtime: tokio::runtime::Runtime,
    jail: Jail,
    /// A folder that Python may write to.
    pub(crate) work: tempfile::TempDir,
    /// A folder that it may read, with something in it that it may not.
    pub(crate) shelf: tempfile::TempDir,
    /// A folder that every user may read and write, and no program sees.
    pub(crate) canary: tempfile::TempDir,
    /// Listens in the folder that programs may read.
    _socket: std::os::unix::net::UnixListener,
}

/// A mask over whatever lies at a path.
pub(crate) fn mask(path: impl Into<String>) -> Cover {
    Cover { path: path.into(), object: None }
}

pub(crate) const HELPER: &str = env!("CARGO_BIN_EXE_toolgate");

impl World {
    /// The strongest backend, or the one that `TEST_BACKEND` names.
    pub(crate) fn new() -> Self {
        Self::with_sessions(SessionBounds::default())
    }

    pub(crate) fn with_sessions(sessions: SessionBounds) -> Self {
        let named = std::env::var("TEST_BACKEND").unwrap_or_else(|_| "auto".to_owned());
        Self::made(&named, Settings { interpreter: interpreter(), sessions, ..Settings::default() }).unwrap()
    }

    /// One backend by its name. As root the folders are open to all and the interpreter is the system's: only `native` shows other things to
    /// another user.
    pub(crate) fn of(backend: &str) -> Result<Self, NoRun> {
        let interpreter = if backend == "native" { interpreter() } else { PathBuf::from(SYSTEM_PYTHON) };
        let world = Self::made(backend, Settings { interpreter, ..Settings::default() })?;
        if backend != "native" {
            std::fs::set_permissions(world.work.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
            std::fs::set_permissions(world.shelf.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        Ok(world)
    }

    fn made(backend: &str, settings: Settings) -> Result<Self, NoRun> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let settings = Settings { client: Arc::new(Client::new(helper())), backend: backend.to_owned(), ..settings };
        let jail = runtime.block_on(Jail::new(settings, &CancellationToken::new()))?;
        let (work, shelf, canary) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(shelf.path().join("open.txt"), "for everybody").unwrap();
        std::fs::write(shelf.path().join(".env"), "TOKEN=secret").unwrap();
        std::fs::create_dir(shelf.path().join("keys")).unwrap();
        std::fs::write(shelf.path().join("keys/id.pem"), "secret").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", shelf.path().join("link")).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(shelf.path().join("host.sock")).unwrap();
        std::fs::set_permissions(shelf.path().join("host.sock"), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        // Open to every user of the host: only a wall keeps a program from it.
        std::fs::write(canary.path().join("canary"), "alive").unwrap();
        std::fs::write(canary.path().join("tool"), "#!/bin/sh\nexit 0\n").unwrap();
        for (name, mode) in [("canary", 0o666), ("tool", 0o777), (".", 0o777)] {
            std::fs::set_permissions(canary.path().join(name), std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        }
        Ok(Self { runtime, jail, work, shelf, canary, _socket: socket })
    }

    pub(crate) fn backend(&self) -> &'static str {
        self.jail.backend()
    }

    /// The call that rows make: both folders, small limits.
    pub(crate) fn spec(&self, program: &str) -> JailSpec {
        let mut spec = JailSpec::new(program);
        spec.roots = vec![
            JailRoot { name: "work".to_owned(), dir: open(self.work.path()), writable: true, masked: Vec::new(), quota: None },
            JailRoot {
                name: "shelf".to_owned(),
                dir: open(self.shelf.path()),
                writable: false,
                masked: [".env", "keys", "absent"].map(mask).to_vec(),
                quota: None,
            },
        ];
        // Long, for a second of processor time on a busy machine.
        spec.limits.wall = Duration::from_mins(1);
        spec.require.retain(|layer| self.layer(layer.as_str()) == "on");
        spec
    }

    pub(crate) fn run(&self, spec: &JailSpec) -> Result<Outcome, NoRun> {
        self.runtime.block_on(self.jail.run(spec, &CancellationToken::new(), None))
    }

    pub(crate) fn run_all(&self, specs: &[JailSpec]) -> Vec<Result<Outcome, NoRun>> {
        let cancel = CancellationToken::new();
        self.runtime.block_on(futures::future::join_all(specs.iter().map(|spec| self.jail.run(spec, &cancel, None))))
    }

    pub(crate) fn run_cancelled(&self, spec: &JailSpec, after: Duration) -> Result<Outcome, NoRun> {
        let cancel = CancellationToken::new();
        self.runtime.block_on(async {
            let canceller = cancel.clone();
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                canceller.cancel();
            });
            self.jail.run(spec, &cancel, None).await
        })
    }

    /// Cancelled as soon as the program has written something.
    pub(crate) fn run_cancelled_at_output(&self, spec: &JailSpec) -> Result<Outcome, NoRun> {
        let cancel = CancellationToken::new();
        let (progress, mut written) = tokio::sync::mpsc::channel(16);
        self.runtime.block_on(async {
            let canceller = cancel.clone();
            tokio::spawn(async move {
                if written.recv().await.is_some() {
                    canceller.cancel();
                }
            });
            self.jail.run(spec, &cancel, Some(progress)).await
        })
    }

    /// Calls until calls are served by jails that wait, where the backend has such.
    pub(crate) fn warm_up(&self) {
        self.warm_up_like(&self.spec(""));
    }

    pub(crate) fn warm_up_like(&self, spec: &JailSpec) {
        if self.backend() != "native" {
            return;
        }
        self.runtime.block_on(self.jail.prepare(spec)).unwrap();
        wait_until("an interpreter that waits", || self.waiting() == (1, 0));
    }

    /// How many interpreters wait, and how many are being started for that.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        self.jail.waiting().into_iter().fold((0, 0), |(ready, starting), kind| (ready + kind.1, starting + kind.2))
    }

    /// What the backend holds here.
    pub(crate) fn probe(&self) -> &toolgate::sandbox::programs::Probe {
        self.jail.probe()
    }

    /// What a layer is here.
    pub(crate) fn layer(&self, name: &str) -> &str {
        self.probe().layers.get(name).map_or("off", String::as_str)
    }

    pub(crate) fn holds(&self, wall: Wall) -> bool {
        match wall {
            Wall::Everywhere => true,
            Wall::Contents => self.layer("filesystem") == "on" || self.layer("landlock") == "on",
            Wall::Layer(name) => self.layer(name) == "on",
        }
    }

    /// A program as it is written for this backend: without a root of its own, things stand at the host's places.
    pub(crate) fn here(&self, program: &str) -> String {
        let canary = self.canary.path().display().to_string();
        let mut program = program.to_owned();
        if self.layer("filesystem") != "on" {
            let scratch = "__import__('os').environ['TMPDIR']";
            // Bytes are for system calls that are refused before they look at them.
            program = program
                .replace("b'/tmp", "b'\u{1}")
                .replace("'/tmp/", &format!("{scratch} + '/"))
                .replace("'/tmp'", scratch)
                .replace("b'\u{1}", "b'/tmp")
                .replace("/roots/work", &self.work.path().display().to_string())
                .replace("/roots/shelf", &self.shelf.path().display().to_string());
        }
        program.replace("CANARY_FOLDER", &canary).replace("CANARY", &format!("{canary}/canary"))
    }

    /// Goes through a table, and returns what went wrong. Where a wall is missing, that must have been said, and requiring it must refuse;
    /// the attack is not run then, for nothing keeps it from the host.
    pub(crate) fn go_through(&self, rows: &[Row]) -> Vec<String> {
        let (held, missing): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| self.holds(row.wall));
        let mut wrong = Vec::new();
        // Some at a time: most of them wait for a clock.
        wrong.extend(self.go_through_held(&held, 4, false));
        let mut walls: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
        for row in missing {
            *walls
                .entry(match row.wall {
                    Wall::Layer(name) => name,
                    _ => "filesystem",
                })
                .or_default() += 1;
        }
        for name in walls.keys() {
            wrong.extend(self.is_honest_about(name).err());
        }
        println!(
            "{} attacks on {} as user {}: {} held; not held and refused where required: {walls:?}",
            rows.len(),
            self.backend(),
            rustix::process::geteuid().as_raw(),
            held.len(),
        );
        wrong
    }

    /// The rows with the usual limits again, each in an interpreter of its own: jails that stand already wait for such calls as well, empty.
    pub(crate) fn go_through_alone(&self, rows: &[Row]) -> Vec<String> {
        let usual = self.spec("");
        let unchanged = |row: &&Row| {
            let mut spec = self.spec("");
            (row.limits)(&mut spec);
            self.holds(row.wall) && spec.limits == usual.limits && spec.require == usual.require
        };
        self.go_through_held(&rows.iter().filter(unchanged).collect::<Vec<_>>(), 1, true)
    }

    fn go_through_held(&self, held: &[&Row], at_once: usize, fresh: bool) -> Vec<String> {
        let mut wrong = Vec::new();
        for some in held.chunks(at_once) {
            let specs: Vec<JailSpec> = some
                .iter()
                .flat_map(|row| [(row, &row.attack), (row, &row.ordinary)])
                .map(|(row, program)| {
                    let mut spec = self.spec(&self.here(program));
                    (row.limits)(&mut spec);
                    spec.fresh = fresh;
                    spec
                })
                .collect();
            let expected = some.iter().flat_map(|row| [(row.name, "attack", &row.expect), (row.name, "ordinary", &row.works)]);
            for ((name, kind, expect), got) in expected.zip(self.run_all(&specs)) {
                if let Err(why) = fits(&got, expect) {
                    wrong.push(format!("- {name} ({kind}): {why}\n  {got:?}"));
                }
            }
        }
        wrong
    }

    /// A layer that is missing has a reason; a call that requires it is refused with that.
    pub(crate) fn is_honest_about(&self, name: &str) -> Result<(), String> {
        let said = self.layer(name);
        if said == "on" || said.len() < 10 {
            return Err(format!("- `{name}` is missing, and this is said of it: {said}"));
        }
        // What a manifest can require of it.
        let Some(layer) = Layer::parse(name) else { return Ok(()) };
        let mut spec = self.spec("print(1)");
        spec.require = vec![layer];
        match self.run(&spec) {
            Err(NoRun::Unavailable { layer, reason }) if layer == name && reason == said => Ok(()),
            other => Err(format!("- `{name}` is missing ({said}), and required it gives {other:?}")),
        }
    }
}

fn fits(got: &Result<Outcome, NoRun>, expect: &Expect) -> Result<(), String> {
    let outcome = got.as_ref().map_err(ToString::to_string)?;
    let ok = match expect {
        Expect::Out(text) => outcome.status == Status::Ok && outcome.stdout.trim_end() == *text,
        Expect::Has(text) => outcome.status == Status::Ok && outcome.stdout.contains(text),
        Expect::Hits(limit) => outcome.status == Status::Limit && outcome.limit == Some(*limit) && outcome.evidence.is_some(),
        Expect::Raises(text) => outcome.status == Status::Exception && outcome.stderr.contains(text),
        Expect::Dies(signal) => outcome.status == Status::Killed && outcome.signal == Some(*signal),
    };
    let wanted = match expect {
        Expect::Out(text) | Expect::Has(text) => format!("output {text:?}"),
        Expect::Raises(text) => format!("exception {text:?}"),
        Expect::Hits(limit) => format!("limit {limit:?}"),
        Expect::Dies(signal) => format!("signal {signal}"),
    };
    if ok { Ok(()) } else { Err(format!("wanted {wanted}")) }
}

/// An interpreter that every user may run.
pub(crate) const SYSTEM_PYTHON: &str = "/usr/bin/python3";

/// Our program.
pub(crate) fn helper() -> PathBuf {
    std::env::var_os("TOOLGATE_HELPER").map_or_else(|| PathBuf::from(HELPER), PathBuf::from)
}

/// The search path's interpreter where its files are open to this user, else the system's.
pub(crate) fn interpreter() -> PathBuf {
    if rustix::process::geteuid().is_root() { PathBuf::from("python3") } else { PathBuf::from(SYSTEM_PYTHON) }
}

pub(crate) fn open(path: &std::path::Path) -> Arc<OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    Arc::new(rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap())
}

/// Runs tests of this very file again, as a user who owns nothing where `ordinary` is set, and with what else is set in the environment.
pub(crate) fn again(ordinary: bool, arguments: &[&str], environment: &[(&str, &str)]) {
    use std::os::unix::process::CommandExt;
    let folder = tempfile::Builder::new().permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777)).tempdir().unwrap();
    // The build folder may be closed to other users.
    for (from, to) in [(std::env::current_exe().unwrap(), "tests"), (helper(), "toolgate")] {
        std::fs::copy(from, folder.path().join(to)).unwrap();
    }
    let mut command = std::process::Command::new(folder.path().join("tests"));
    command.arg("--nocapture").args(arguments).env("TOOLGATE_HELPER", folder.path().join("toolgate"));
    command.envs(environment.iter().copied());
    if ordinary {
        // Another user for each pass, by its process: what the kernel counts by users is not shared with a pass beside it.
        let user = 20_000 + std::process::id() % 40_000;
        command.uid(user).gid(user);
    }
    let output = command.output().unwrap();
    print!("{}", String::from_utf8_lossy(&output.stdout));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "again with {environment:?}, ordinary user {ordinary}:\n{said}");
}
