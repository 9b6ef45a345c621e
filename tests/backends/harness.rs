//! Runs rows of the table.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot be set up fails loudly, and says what it ran")]

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolgate::sandbox::jail::{Jail, JailRoot, JailSpec, Limit, NoRun, Outcome, SessionBounds, Settings, Status};

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

/// An attack and the ordinary use beside it.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) attack: String,
    pub(crate) expect: Expect,
    pub(crate) ordinary: String,
    pub(crate) works: Expect,
    /// Changes the limits of both.
    pub(crate) limits: fn(&mut JailSpec),
}

pub(crate) struct World {
    runtime: tokio::runtime::Runtime,
    jail: Jail,
    /// A folder that Python may write to.
    pub(crate) work: tempfile::TempDir,
    /// A folder that it may read, with something in it that it may not.
    pub(crate) shelf: tempfile::TempDir,
}

pub(crate) const HELPER: &str = env!("CARGO_BIN_EXE_toolgate");

impl World {
    pub(crate) fn new() -> Self {
        Self::with_sessions(SessionBounds::default())
    }

    pub(crate) fn with_sessions(sessions: SessionBounds) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let settings = Settings { helper: helper(), interpreter: interpreter(), sessions, ..Settings::default() };
        let jail = runtime.block_on(Jail::new(settings)).unwrap();
        let (work, shelf) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(shelf.path().join("open.txt"), "for everybody").unwrap();
        std::fs::write(shelf.path().join(".env"), "TOKEN=secret").unwrap();
        std::fs::create_dir(shelf.path().join("keys")).unwrap();
        std::fs::write(shelf.path().join("keys/id.pem"), "secret").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", shelf.path().join("link")).unwrap();
        Self { runtime, jail, work, shelf }
    }

    pub(crate) fn backend(&self) -> &'static str {
        self.jail.backend()
    }

    /// The call that rows make: both folders, small limits.
    pub(crate) fn spec(&self, program: &str) -> JailSpec {
        let mut spec = JailSpec::new(program);
        spec.roots = vec![
            JailRoot { name: "work".to_owned(), dir: open(self.work.path()), writable: true, masked: Vec::new() },
            JailRoot {
                name: "shelf".to_owned(),
                dir: open(self.shelf.path()),
                writable: false,
                masked: [".env", "keys", "absent"].map(str::to_owned).to_vec(),
            },
        ];
        spec.limits.wall = Duration::from_secs(20);
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

    /// Calls until a jail waits, so that what follows is served by it.
    pub(crate) fn warm_up(&self) {
        self.warm_up_like(&self.spec(""));
    }

    pub(crate) fn warm_up_like(&self, spec: &JailSpec) {
        let spec = JailSpec { program: "pass".to_owned(), ..spec.clone() };
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_millis(1500) {
            let _ = self.run(&spec);
        }
    }

    /// What went wrong in a row.
    pub(crate) fn check(&self, row: &Row) -> Vec<String> {
        let mut wrong = Vec::new();
        for (kind, program, expect) in [("attack", &row.attack, &row.expect), ("ordinary", &row.ordinary, &row.works)] {
            let mut spec = self.spec(program);
            (row.limits)(&mut spec);
            let got = self.run(&spec);
            if let Err(why) = fits(&got, expect) {
                wrong.push(format!("- {} ({kind}): {why}\n  {got:?}", row.name));
            }
        }
        wrong
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

/// Our program.
pub(crate) fn helper() -> PathBuf {
    std::env::var_os("TOOLGATE_HELPER").map_or_else(|| PathBuf::from(HELPER), PathBuf::from)
}

/// The search path's interpreter where its files are open to this user, else the system's.
pub(crate) fn interpreter() -> PathBuf {
    if rustix::process::geteuid().is_root() { PathBuf::from("python3") } else { PathBuf::from("/usr/bin/python3") }
}

pub(crate) fn open(path: &std::path::Path) -> Arc<OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    Arc::new(rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap())
}

/// Runs every test of this very file again, as a user who owns nothing.
pub(crate) fn again_as_ordinary_user() {
    use std::os::unix::process::CommandExt;
    let folder = tempfile::Builder::new().permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777)).tempdir().unwrap();
    // The build folder may be closed to other users.
    for (from, to) in [(std::env::current_exe().unwrap(), "tests"), (PathBuf::from(HELPER), "toolgate")] {
        std::fs::copy(from, folder.path().join(to)).unwrap();
    }
    let output = std::process::Command::new(folder.path().join("tests"))
        .arg("--nocapture")
        .env("TOOLGATE_HELPER", folder.path().join("toolgate"))
        .uid(65_534)
        .gid(65_534)
        .output()
        .unwrap();
    print!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "as an ordinary user:\n{}", String::from_utf8_lossy(&output.stderr));
}
