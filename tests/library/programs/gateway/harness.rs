//! A jail, and whoever answers at its proxys.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;
use toolgate::sandbox::programs::{Client, Jail, JailSpec, Network, NoRun, Outcome, Settings};

/// Answers everything with its own name.
#[derive(Debug)]
pub(crate) struct Greeter {
    name: String,
    guests: AtomicUsize,
    over: AtomicBool,
}

impl Greeter {
    pub(crate) fn new(name: &str) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), guests: AtomicUsize::new(0), over: AtomicBool::new(false) })
    }

    pub(crate) fn guests(&self) -> usize {
        self.guests.load(Ordering::SeqCst)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    async fn greet(&self, listener: OwnedFd) {
        let listener = tokio::net::TcpListener::from_std(std::net::TcpListener::from(listener)).unwrap();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            self.guests.fetch_add(1, Ordering::SeqCst);
            let name = self.name.clone();
            tokio::spawn(async move {
                let mut request = [0; 1024];
                let _ = stream.read(&mut request).await;
                let _ = stream
                    .write_all(format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{name}", name.len()).as_bytes())
                    .await;
            });
        }
    }
}

impl Network for Greeter {
    fn serve(self: Arc<Self>, listener: OwnedFd, stop: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.greet(listener) => {}
            }
            self.over.store(true, Ordering::SeqCst);
        })
    }
}

pub(crate) struct World {
    runtime: tokio::runtime::Runtime,
    jail: Jail,
}

const HELPER: &str = env!("CARGO_BIN_EXE_toolgate");

impl World {
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let helper = std::env::var_os("TOOLGATE_HELPER").map_or_else(|| PathBuf::from(HELPER), PathBuf::from);
        // The search path's interpreter where its files are open to this user, else the system's.
        let interpreter = PathBuf::from(if rustix::process::geteuid().is_root() { "python3" } else { "/usr/bin/python3" });
        let jail = runtime
            .block_on(Jail::new(
                Settings { client: Arc::new(Client::new(helper)), interpreter, ..Settings::default() },
                &CancellationToken::new(),
            ))
            .unwrap();
        Self { runtime, jail }
    }

    pub(crate) fn spec(program: &str, greeter: Option<Arc<Greeter>>) -> JailSpec {
        let mut spec = JailSpec::new(program);
        spec.limits.wall = Duration::from_mins(1);
        spec.network = greeter.map(|greeter| greeter as Arc<dyn Network>);
        spec
    }

    pub(crate) fn run(&self, spec: &JailSpec) -> Result<Outcome, NoRun> {
        self.runtime.block_on(self.jail.run(spec, &CancellationToken::new(), None))
    }

    pub(crate) fn run_all(&self, specs: &[JailSpec]) -> Vec<Result<Outcome, NoRun>> {
        let cancel = CancellationToken::new();
        self.runtime.block_on(futures::future::join_all(specs.iter().map(|spec| self.jail.run(spec, &cancel, None))))
    }

    /// Has an interpreter with a way to the gateway wait, so that what follows is served by it.
    pub(crate) fn warm_up(&self) {
        let spec = Self::spec("", Some(Greeter::new("1")));
        self.runtime.block_on(self.jail.prepare(&spec)).unwrap();
        let began = std::time::Instant::now();
        while !self.jail.waiting().iter().any(|(_, ready, _)| *ready > 0) {
            assert!(began.elapsed() < Duration::from_mins(1), "no interpreter waits");
            std::thread::yield_now();
        }
    }
}

/// Whoever still answers for it.
pub(crate) fn listeners_left(greeter: &Arc<Greeter>) -> usize {
    Arc::strong_count(greeter) - 1
}

/// Runs every test of this very file again, as a user who owns nothing.
pub(crate) fn again_as_ordinary_user() {
    use std::os::unix::process::CommandExt;
    let folder = tempfile::Builder::new().permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777)).tempdir().unwrap();
    // The build folder may be closed to other users.
    for (from, to) in [(std::env::current_exe().unwrap(), "tests"), (PathBuf::from(HELPER), "toolgate")] {
        std::fs::copy(from, folder.path().join(to)).unwrap();
    }
    // Another user for each pass, by its process: what the kernel counts by users is not shared with a pass beside it.
    let user = 20_000 + std::process::id() % 40_000;
    let output = std::process::Command::new(folder.path().join("tests"))
        .args(["programs::gateway::", "--nocapture", "--test-threads=1"])
        .env("TOOLGATE_HELPER", folder.path().join("toolgate"))
        .uid(user)
        .gid(user)
        .output()
        .unwrap();
    print!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "as an ordinary user:\n{}", String::from_utf8_lossy(&output.stderr));
}
