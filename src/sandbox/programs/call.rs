//! One call: what the jail is given, and the answer that is put together from everything that was seen of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolgate_jail::{Backend, End, Folder, Layers, Running, Spec};

use super::harvest::{self, Before};
use super::interpreter::Interpreter;
use super::mime::PICTURES;
use super::outcome::{Isolation, NoRun, Outcome};
use super::picture;
use super::spec::{JailRoot, JailSpec, Network};
use super::streams::{Flood, Progress, Streams};
use super::verdict::{self, Stop};

/// So long the streams of a jail may take to end after its program, and what a program in a session has written to arrive after it is done.
const DYING: Duration = Duration::from_secs(1);
const GRACE: Duration = Duration::from_millis(25);
/// Bytes of denied paths that fit into one message with the rest of a call.
const COVERS: usize = 96 * 1024;
/// Mounts are scarce (`fs.mount-max` is 100 000) and each costs about 30 microseconds per call.
const MOST_COVERS: usize = 4096;

/// Words of a program that draws, and what is imported ahead for the next one: that takes longer than most programs.
const DRAWING: [&str; 3] = ["matplotlib", "seaborn", ".plot"];
const DRAWER: &str = "matplotlib.pyplot";

/// One arena and one thread per numeric library: each further one reserves address space that the memory limit counts.
const ENVIRONMENT: [(&str, &str); 9] = [
    ("PATH", "/usr/bin:/bin"),
    ("HOME", "/tmp"),
    ("TMPDIR", "/tmp"),
    ("LANG", "C.UTF-8"),
    ("MALLOC_ARENA_MAX", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("OMP_NUM_THREADS", "1"),
    ("MPLBACKEND", "Agg"),
    ("MPLCONFIGDIR", "/tmp"),
];

/// What a jail is asked for a call of Python.
///
/// # Errors
/// [`NoRun::Root`]: more is denied in a root than can be covered.
pub(super) fn jail_spec(spec: &JailSpec, interpreter: &Interpreter, preload: &[String]) -> Result<Spec, NoRun> {
    for root in &spec.roots {
        let length: usize = root.masked.iter().map(|cover| cover.path.len() + 3).sum();
        if length > COVERS || root.masked.len() > MOST_COVERS {
            let reason =
                format!("{} entries are denied in it, more than can be covered; leave it out of `[python] roots`", root.masked.len());
            return Err(NoRun::Root { root: root.name.clone(), reason });
        }
    }
    let (shown, links) =
        if spec.network.is_some() { interpreter.with_certificates() } else { (interpreter.needs.clone(), interpreter.links.clone()) };
    let mut environment: std::collections::BTreeMap<String, String> =
        ENVIRONMENT.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    if spec.network.is_some() {
        // It tells the usual libraries where the gateway is. No wall: without it, nothing is reached at all.
        let gateway = format!("http://127.0.0.1:{}", toolgate_jail::GATEWAY_PORT);
        environment.extend(["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"].map(|name| (name.to_owned(), gateway.clone())));
    }
    if interpreter.is_of_image() {
        // The image says where its interpreter is.
        environment.remove("PATH");
    }
    environment.extend(spec.env.clone());
    let path: Vec<String> = interpreter.module_path.iter().cloned().chain(spec.module_folders()).collect();
    let draws = DRAWING.iter().any(|word| spec.program.contains(word));
    let ahead = preload.iter().map(String::as_str).chain(draws.then_some(DRAWER)).collect::<Vec<_>>().join(" ");
    let folder = |root: &JailRoot| Folder {
        name: root.name.clone(),
        dir: Arc::clone(&root.dir),
        writable: root.writable,
        covers: root.masked.clone(),
        unnamed: root.quota.filter(|_| root.writable),
    };
    Ok(Spec {
        program: interpreter.program.clone(),
        arguments: vec![
            interpreter.argv0.clone(),
            "-ISB".to_owned(),
            "-Xutf8".to_owned(),
            "-c".to_owned(),
            interpreter.start.clone(),
            path.join("\n"),
            spec.prelude.as_deref().unwrap_or_default().to_owned(),
            // The last one: sessions leave it out when they compare walls.
            ahead,
        ],
        environment,
        shown,
        links,
        folders: spec.roots.iter().map(folder).collect(),
        start_dir: spec.start(),
        limits: spec.limits,
        require: spec.require.clone(),
        network: spec.network.is_some(),
        waits: true,
        label: spec.profile.clone(),
    })
}

/// The streams of a call, and what its program is given: on the first line whether it stays for more (`1`), then the program.
///
/// # Errors
/// [`NoRun::Fault`].
pub(super) fn streams(spec: &JailSpec) -> Result<(Streams, toolgate_jail::Io), NoRun> {
    let head = if spec.session.is_some() { "1\n" } else { "0\n" };
    Streams::new(&spec.stdin, &[head.as_bytes(), spec.program.as_bytes()], spec.output)
}

/// Serves the gateway of a program while a call runs. Between the calls of a session nobody does.
#[derive(Debug)]
pub(super) struct Serving(Option<(DropGuard, JoinHandle<()>)>);

impl Serving {
    /// By the rules of this call.
    pub(super) fn begin(network: Option<&Arc<dyn Network>>, listener: Option<&std::os::fd::OwnedFd>) -> Self {
        let listener = listener.and_then(|listener| listener.try_clone().ok());
        Self(network.zip(listener).map(|(network, listener)| {
            let stop = CancellationToken::new();
            let serving = tokio::spawn(Arc::clone(network).serve(listener, stop.clone()));
            (stop.drop_guard(), serving)
        }))
    }

    /// Stops, and waits until every connection is closed.
    pub(super) async fn end(self) {
        if let Some((stop, serving)) = self.0 {
            drop(stop);
            let _ = serving.await;
        }
    }
}

/// What was seen of a call.
#[derive(Debug)]
pub(super) struct Seen {
    /// How it ended; none where a program in a session is done, and goes on.
    pub(super) end: Option<End>,
    pub(super) stop: Option<Stop>,
    pub(super) streams: Streams,
}

/// Waits until the program of a call has ended, or says in a session that it is done, and ends it where it is cancelled or floods.
pub(super) async fn drive(
    running: &mut dyn Running,
    mut streams: Streams,
    spec: &JailSpec,
    cancel: &CancellationToken,
    progress: &Progress,
) -> Seen {
    let (flood, done) = (Flood::new(spec.output), CancellationToken::new());
    let over = CancellationToken::new();
    let ending = async {
        let mut stop = None;
        let end = loop {
            let reason = tokio::select! {
                biased;
                end = running.end() => break Some(end),
                () = done.cancelled(), if spec.session.is_some() => break None,
                () = cancel.cancelled(), if stop.is_none() => Stop::Cancelled,
                () = flood.over.cancelled(), if stop.is_none() => Stop::Flood(flood.bytes()),
            };
            // INVARIANT: the reason is noted before the kill.
            stop = Some(reason);
            running.kill();
        };
        over.cancel();
        (end, stop)
    };
    let following = async {
        let late = async {
            over.cancelled().await;
            tokio::time::sleep(if done.is_cancelled() { GRACE } else { DYING }).await;
        };
        tokio::select! {
            // They end with the last process of the jail; what is left in them is read first.
            biased;
            () = streams.follow(&flood, progress, &done) => {}
            () = late => {}
        }
    };
    let ((end, stop), ()) = tokio::join!(ending, following);
    Seen { end, stop, streams }
}

/// Everything that was seen of a call, for its answer.
#[derive(Debug)]
pub(super) struct Ending<'a> {
    pub(super) began: Instant,
    pub(super) before: Before,
    pub(super) end: End,
    pub(super) stop: Option<Stop>,
    pub(super) streams: Option<Streams>,
    pub(super) backend: &'a dyn Backend,
    pub(super) layers: Layers,
}

impl Ending<'_> {
    /// The answer, with the files that the program left.
    ///
    /// # Errors
    /// [`NoRun::Fault`].
    pub(super) async fn outcome(self, spec: &JailSpec) -> Result<Outcome, NoRun> {
        let duration = self.began.elapsed();
        // What others did to its folders in the meantime is none of a program that never began.
        let roots: Vec<JailRoot> = if self.streams.is_some() { spec.writable().cloned().collect() } else { Vec::new() };
        let has_roots = !roots.is_empty();
        let before = self.before;
        let gathered = tokio::task::spawn_blocking(move || harvest::gather(&before, &roots));
        let found = if has_roots { gathered.await.map_err(|e| NoRun::fault("looking at files", e))? } else { harvest::Harvest::default() };
        let ((stdout, cut_output), (stderr, cut_error), report) = match self.streams.map(Streams::end) {
            Some((output, error, report)) => (output.text(), error.text(), report),
            None => Default::default(),
        };
        let is_held = self.layers.get("processes").is_none_or(|state| state == "on");
        let (status, limit, evidence) = verdict::judge(&self.end, self.stop, &report, &spec.limits, is_held);
        let made = report.told + found.files.iter().filter(|file| PICTURES.contains(&file.mime_type.as_str())).count();
        let pictures = picture::within_bounds(report.pictures.into_iter().chain(found.pictures).collect());
        Ok(Outcome {
            network: Vec::new(),
            status,
            limit,
            evidence,
            exit_code: self.end.exit,
            signal: self.end.signal,
            stdout,
            stderr,
            truncated: cut_output || cut_error,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            usage: self.end.usage,
            files: found.files,
            files_cut: found.cut,
            bytes_written: if has_roots { found.written.max(self.end.written) } else { 0 },
            session: None,
            isolation: Isolation { backend: self.backend.name().to_owned(), layers: self.layers },
            unshown: made.saturating_sub(pictures.len()),
            pictures,
            events: report.events,
        })
    }
}

/// Makes a call in an interpreter of its own.
///
/// # Errors
/// As for any call.
pub(super) async fn make(
    backend: &dyn Backend,
    spec: &JailSpec,
    jail: &Spec,
    cancel: &CancellationToken,
    progress: &Progress,
) -> Result<Outcome, NoRun> {
    let (began, before) = (Instant::now(), Before::look(spec.writable()));
    let (streams, io) = streams(spec)?;
    let mut ending = Ending { began, before, end: End::default(), stop: None, streams: None, backend, layers: Layers::new() };
    let mut running = match start(backend, spec, jail, io, cancel).await? {
        Ok(running) => running,
        Err(stop) => {
            ending.stop = Some(stop);
            return ending.outcome(spec).await;
        }
    };
    let serving = Serving::begin(spec.network.as_ref(), running.gateway().as_ref());
    let seen = drive(&mut *running, streams, spec, cancel, progress).await;
    serving.end().await;
    ending.layers = running.layers().clone();
    (ending.end, ending.stop, ending.streams) = (seen.end.unwrap_or_default(), seen.stop, Some(seen.streams));
    ending.outcome(spec).await
}

/// Has a program begin, no longer than its call is wanted and may wait; else why it was given up.
///
/// # Errors
/// As for any call.
pub(super) async fn start(
    backend: &dyn Backend,
    spec: &JailSpec,
    jail: &Spec,
    io: toolgate_jail::Io,
    cancel: &CancellationToken,
) -> Result<Result<Box<dyn Running>, Stop>, NoRun> {
    tokio::select! {
        biased;
        started = backend.start(jail, io, spec.fresh) => Ok(Ok(started?)),
        () = cancel.cancelled() => Ok(Err(Stop::Cancelled)),
        () = tokio::time::sleep(spec.limits.wall) => Ok(Err(Stop::Waited(spec.limits.wall))),
    }
}
