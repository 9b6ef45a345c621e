//! The server's side of the jail process: hands over the order, gathers output, reports how it ended.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures::future::BoxFuture;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use super::backend::{Backend, Chunk, Probe, Progress, Stream};
use super::collect::{Kept, sealed};
use super::harvest;
use super::inside::JAIL_ARGUMENT;
use super::interpreter::Interpreter;
use super::order::{self, End, Order, RootOrder, Way, Word};
use super::outcome::{Isolation, NoRun, Outcome};
use super::spec::{JailSpec, Layers, Settings};
use super::verdict::{self, Stop};

/// Runs programs in the jail process, one process tree per call.
#[derive(Debug)]
pub(super) struct Native {
    helper: std::path::PathBuf,
    interpreter: Arc<Interpreter>,
    way: Way,
}

impl Native {
    /// A backend over one interpreter.
    pub(super) fn new(settings: &Settings, interpreter: &Arc<Interpreter>, way: Way) -> Self {
        Self { helper: settings.helper.clone(), interpreter: Arc::clone(interpreter), way }
    }

    async fn call(&self, spec: &JailSpec, cancel: &CancellationToken, progress: Progress) -> Result<Outcome, NoRun> {
        let (began, since) = (Instant::now(), harvest::now());
        let mut call = self.start(spec)?;
        let (flood, stop) = (Flood::new(spec.limits.output), Mutex::new(None));
        let (told, output, error, report) = tokio::join!(
            call.words.listen(&flood, cancel, &stop),
            collect(&mut call.output, Stream::Output, spec.limits.output, &flood, progress.as_ref()),
            collect(&mut call.error, Stream::Error, spec.limits.output, &flood, progress.as_ref()),
            read_capped(&mut call.report),
        );
        // The jail process is gone when its channel is closed; waiting here only takes its number back.
        let _ = call.child.wait().await;
        let (end, layers) = told?;
        let duration = began.elapsed();
        let stop = stop.into_inner().unwrap_or_else(PoisonError::into_inner);
        let report = verdict::read_report(&report);
        let verdict = verdict::judge(&end, stop.as_ref(), &report, &spec.limits);
        let mut found = harvest::Harvest::default();
        if let Some(root) = spec.first_writable().cloned() {
            found = tokio::task::spawn_blocking(move || harvest::gather(&root.name, &root.dir, since))
                .await
                .map_err(|e| NoRun::fault("looking at files", e))?;
        }
        let ((stdout, cut_output), (stderr, cut_error)) = (output.text(), error.text());
        let mut pictures = report.pictures;
        pictures.extend(found.pictures);
        pictures.truncate(harvest::MOST_PICTURES);
        Ok(Outcome {
            status: verdict.status,
            limit: verdict.limit,
            evidence: verdict.evidence,
            exit_code: end.exit,
            signal: end.signal,
            stdout,
            stderr,
            truncated: cut_output || cut_error,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            usage: end.usage,
            files: found.files,
            session: None,
            isolation: Isolation { backend: self.name().to_owned(), layers },
            pictures,
        })
    }

    /// Starts the jail process and hands it the order.
    fn start(&self, spec: &JailSpec) -> Result<Call, NoRun> {
        let fault = |doing: &'static str| move |e: &dyn std::fmt::Display| NoRun::fault(doing, e);
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|e| fault("making a pipe")(&e));
        let ((output, output_end), (error, error_end), (report, report_end)) = (pipe()?, pipe()?, pipe()?);
        let stdin = sealed(&[&spec.stdin])?;
        let program = program_file(&self.interpreter, spec)?;
        let (ours, theirs) = order::channel().map_err(|e| fault("making a channel")(&e))?;
        let mut command = Command::new(&self.helper);
        command.arg(JAIL_ARGUMENT).env_clear().current_dir("/").stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| fault("starting the jail process")(&e))?;
        drop(command);
        let mut fds = vec![stdin.as_fd(), output_end.as_fd(), error_end.as_fd(), program.as_fd(), report_end.as_fd()];
        fds.extend(spec.roots.iter().map(|root| root.dir.as_fd()));
        order::send(ours.as_fd(), &self.order(spec), &fds).map_err(|e| fault("handing over the order")(&e))?;
        let reader = |fd: OwnedFd| Receiver::from_owned_fd(fd).map_err(|e| fault("reading a pipe")(&e));
        let socket = std::os::unix::net::UnixDatagram::from(ours);
        socket.set_nonblocking(true).map_err(|e| fault("reading the channel")(&e))?;
        let socket = tokio::net::UnixDatagram::from_std(socket).map_err(|e| fault("reading the channel")(&e))?;
        Ok(Call { child, words: Words { socket }, output: reader(output)?, error: reader(error)?, report: reader(report)? })
    }

    fn order(&self, spec: &JailSpec) -> Order {
        let roots =
            spec.roots.iter().map(|root| RootOrder { name: root.name.clone(), writable: root.writable, masked: root.masked.clone() });
        Order {
            interpreter: Interpreter::clone(&self.interpreter),
            limits: spec.limits,
            env: environment(spec),
            require: spec.require.clone(),
            roots: roots.collect(),
            start_dir: spec.start(),
            way: self.way,
        }
    }
}

impl Backend for Native {
    fn name(&self) -> &'static str {
        match self.way {
            Way::Native => "native",
            Way::Reduced => "native-reduced",
            Way::Rlimits => "rlimits",
        }
    }

    fn probe(&self) -> BoxFuture<'_, Probe> {
        Box::pin(async {
            let mut spec = JailSpec::new("print(6 * 7)");
            spec.require.clear();
            match self.call(&spec, &CancellationToken::new(), None).await {
                Ok(outcome) if outcome.stdout == "42\n" => Probe { usable: true, layers: outcome.isolation.layers, why_not: None },
                Ok(outcome) => Probe {
                    usable: false,
                    layers: outcome.isolation.layers,
                    why_not: Some(format!("a program that prints 42 ended as {:?}: {}", outcome.status, outcome.stderr.trim())),
                },
                Err(no_run) => Probe { usable: false, layers: Layers::new(), why_not: Some(no_run.to_string()) },
            }
        })
    }

    fn run<'a>(&'a self, spec: &'a JailSpec, cancel: &'a CancellationToken, progress: Progress) -> BoxFuture<'a, Result<Outcome, NoRun>> {
        Box::pin(self.call(spec, cancel, progress))
    }
}

/// One running jail process. Dropping it closes the channel, and the jail process kills everything and goes.
#[derive(Debug)]
struct Call {
    child: Child,
    words: Words,
    output: Receiver,
    error: Receiver,
    report: Receiver,
}

#[derive(Debug)]
struct Words {
    socket: tokio::net::UnixDatagram,
}

impl Words {
    /// Listens until the jail process has said its last word.
    async fn listen(&mut self, flood: &Flood, cancel: &CancellationToken, stop: &Mutex<Option<Stop>>) -> Result<(End, Layers), NoRun> {
        let mut layers = Layers::new();
        let mut buffer = vec![0_u8; 32 * 1024];
        let mut stopping = false;
        loop {
            let reason = tokio::select! {
                got = self.socket.recv(&mut buffer) => {
                    let count = got.map_err(|e| NoRun::fault("hearing from the jail process", e))?;
                    let text = buffer.get(..count).unwrap_or_default();
                    if text.is_empty() {
                        return Err(NoRun::Fault("the jail process died without a word".to_owned()));
                    }
                    match serde_json::from_slice(text).map_err(|e| NoRun::fault("hearing from the jail process", e))? {
                        Word::Started(all) => layers = all,
                        Word::Ended(end) => return Ok((end, layers)),
                        Word::Unavailable { layer, reason } => return Err(NoRun::Unavailable { layer, reason }),
                        Word::Root { root, reason } => return Err(NoRun::Root { root, reason }),
                        Word::Fault(what) => return Err(NoRun::Fault(what)),
                    }
                    continue;
                }
                () = cancel.cancelled(), if !stopping => Stop::Cancelled,
                () = flood.over.cancelled(), if !stopping => Stop::Flood(flood.bytes()),
            };
            // INVARIANT: the reason is noted before the kill.
            stop.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
            stopping = true;
            let _ = self.socket.send(b"stop").await;
        }
    }
}

/// Counts output and says when it is too much to go on: far more than what is kept, so that an ordinary long output is cut, not killed.
#[derive(Debug)]
struct Flood {
    most: u64,
    seen: std::sync::atomic::AtomicU64,
    over: CancellationToken,
}

impl Flood {
    fn new(kept: u64) -> Self {
        Self {
            most: kept.saturating_mul(64).max(4 * 1024 * 1024),
            seen: std::sync::atomic::AtomicU64::new(0),
            over: CancellationToken::new(),
        }
    }

    fn count(&self, bytes: usize) {
        let before = self.seen.fetch_add(bytes as u64, std::sync::atomic::Ordering::Relaxed);
        if before.saturating_add(bytes as u64) > self.most {
            self.over.cancel();
        }
    }

    fn bytes(&self) -> u64 {
        self.seen.load(std::sync::atomic::Ordering::Relaxed)
    }
}

async fn collect(
    from: &mut Receiver,
    stream: Stream,
    most: u64,
    flood: &Flood,
    progress: Option<&tokio::sync::mpsc::Sender<Chunk>>,
) -> Kept {
    let mut kept = Kept::new(most);
    let mut buffer = vec![0_u8; 16 * 1024];
    while let Ok(count) = from.read(&mut buffer).await {
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        kept.take(bytes);
        flood.count(count);
        if let Some(progress) = progress {
            // Whoever listens too slowly misses a part of the progress, and nothing of the answer.
            let _ = progress.try_send(Chunk { stream, bytes: bytes.to_vec() });
        }
    }
    kept
}

/// The largest report: eight pictures of two mebibytes.
const REPORT: u64 = 16 * 1024 * 1024;

async fn read_capped(from: &mut Receiver) -> Vec<u8> {
    let mut report = Vec::new();
    let _ = (&mut *from).take(REPORT).read_to_end(&mut report).await;
    // Beyond the bound it is read and thrown away: a full pipe would hold the program up until its time is over.
    let _ = tokio::io::copy(from, &mut tokio::io::sink()).await;
    report
}

/// What the bootstrap reads: three lengths, then the module path, the prelude and the program.
fn program_file(interpreter: &Interpreter, spec: &JailSpec) -> Result<OwnedFd, NoRun> {
    let path = interpreter.module_path.join("\n");
    let prelude = spec.prelude.as_deref().unwrap_or_default();
    let head = format!("{} {} {}\n", path.len(), prelude.len(), spec.program.len());
    sealed(&[head.as_bytes(), path.as_bytes(), prelude.as_bytes(), spec.program.as_bytes()])
}

/// The whole environment of the program: nothing of the server's.
fn environment(spec: &JailSpec) -> BTreeMap<String, String> {
    let mut environment: BTreeMap<String, String> = FIXED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    environment.extend(spec.env.clone());
    environment
}

/// Few arenas and one thread per numeric library: both reserve address space that the memory limit counts.
const FIXED: [(&str, &str); 9] = [
    ("PATH", "/usr/bin:/bin"),
    ("HOME", "/tmp"),
    ("TMPDIR", "/tmp"),
    ("LANG", "C.UTF-8"),
    ("MALLOC_ARENA_MAX", "2"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("OMP_NUM_THREADS", "1"),
    ("MPLBACKEND", "Agg"),
    ("MPLCONFIGDIR", "/tmp"),
];
