//! The server's side of the jail process: hands over the order, gathers output, reports how it ended.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::backend::{Backend, Probe, Progress};
use super::collect::sealed;
use super::doorway;
use super::ground::Ground;
use super::interpreter::Interpreter;
use super::kind::{self, Kind, Plan, RootOrder};
use super::link::{self, Link};
use super::order::{self, Asked, Order};
use super::outcome::{NoRun, Outcome};
use super::preludes::Preludes;
use super::sessions::Sessions;
use super::spec::{JailSpec, Layers, Settings};
use super::ticket::Ticket;
use super::words::Words;

/// Runs programs behind walls that our own jail process builds, one process tree per call.
#[derive(Debug)]
pub(super) struct Native {
    name: &'static str,
    /// What the walls may be built on, strongest first, and which of it was proven.
    grounds: Vec<Ground>,
    proven: OnceLock<Ground>,
    spawner: Link,
    code: OnceLock<OwnedFd>,
    preludes: Preludes,
    kinds: kind::Made,
    preload: Vec<String>,
    pub(super) interpreter: Arc<Interpreter>,
    sessions: Arc<Sessions>,
}

impl Native {
    /// A backend over one interpreter, with every wall; root does without a namespace of users where there is none.
    pub(super) fn new(settings: &Settings, interpreter: &Arc<Interpreter>) -> Self {
        let mut grounds = vec![Ground::Whole];
        if rustix::process::geteuid().is_root() {
            grounds.push(Ground::Rooted);
        }
        Self::on("native", grounds, settings, interpreter)
    }

    /// A backend over one interpreter, on the first of these grounds that holds a program.
    pub(super) fn on(name: &'static str, grounds: Vec<Ground>, settings: &Settings, interpreter: &Arc<Interpreter>) -> Self {
        Self {
            name,
            grounds,
            proven: OnceLock::new(),
            spawner: Link::new(settings),
            code: OnceLock::new(),
            preludes: Preludes::default(),
            kinds: kind::Made::default(),
            preload: settings.preload.clone(),
            interpreter: Arc::clone(interpreter),
            sessions: Sessions::new(settings.sessions),
        }
    }

    async fn call(&self, spec: &JailSpec, cancel: &CancellationToken, progress: Progress) -> Result<Outcome, NoRun> {
        self.make(spec, self.order(spec)?, cancel, progress).await
    }

    /// Runs a program of the operator's: `interpreter` says what it is and what it sees.
    ///
    /// # Errors
    /// As for any call.
    pub(super) async fn call_as(&self, spec: &JailSpec, interpreter: Interpreter, cancel: &CancellationToken) -> Result<Outcome, NoRun> {
        let order = order_by(Plan { interpreter, ..self.plan(spec) }, spec)?;
        self.make(spec, order, cancel, None).await
    }

    /// Hands an order to the spawner; the five descriptors are standard input, output, error, the program, the report.
    ///
    /// # Errors
    /// [`NoRun::Fault`].
    pub(super) async fn start(&self, spec: &JailSpec, order: &Order, program: [BorrowedFd<'_>; 5]) -> Result<Words, NoRun> {
        for root in &spec.roots {
            let length: usize = root.masked.iter().map(|mask| mask.path.len() + 3).sum();
            if length > MASKS || root.masked.len() > MOST_MASKS {
                let reason =
                    format!("{} entries are denied in it, more than can be covered; leave it out of `[python] roots`", root.masked.len());
                return Err(NoRun::Root { root: root.name.clone(), reason });
            }
        }
        let (ours, theirs) = order::channel().map_err(|e| NoRun::fault("making a channel", e))?;
        let ticket = Ticket::new().map_err(|e| NoRun::fault("making a ticket", e))?;
        let mut fds = vec![theirs.as_fd(), ticket.as_fd()];
        fds.extend(program);
        fds.push(self.code()?);
        fds.extend(spec.roots.iter().map(|root| root.dir.as_fd()));
        let sent = self.spawner.send(order, &fds).await?;
        let socket = link::asynchronous(ours).map_err(|e| NoRun::fault("reading the channel", e))?;
        Ok(Words::new(socket, ticket, sent, spec.network.clone()))
    }

    /// The bootstrap as the interpreter compiled it, in a file that all calls share.
    fn code(&self) -> Result<BorrowedFd<'_>, NoRun> {
        if let Some(file) = self.code.get() {
            return Ok(file.as_fd());
        }
        let file = sealed(&[&self.interpreter.code])?;
        Ok(self.code.get_or_init(|| file).as_fd())
    }

    /// Does without the spawner that does not take an order.
    pub(super) async fn leave(&self, sent: &link::Sent) {
        self.spawner.leave(sent).await;
    }

    fn ground(&self) -> Ground {
        self.proven.get().or_else(|| self.grounds.first()).cloned().unwrap_or_default()
    }

    /// Runs a program that prints 42 on one ground.
    async fn prove(&self, ground: &Ground) -> Probe {
        let mut spec = JailSpec::new("print(6 * 7)");
        spec.require.clear();
        spec.fresh = true;
        let made = match order_by(Plan { ground: ground.clone(), ..self.plan(&spec) }, &spec) {
            Ok(order) => self.make(&spec, order, &CancellationToken::new(), None).await,
            Err(no_run) => Err(no_run),
        };
        match made {
            Ok(outcome) if outcome.stdout == "42\n" => Probe { usable: true, layers: outcome.isolation.layers, why_not: None },
            Ok(outcome) => {
                let said = outcome.evidence.unwrap_or_else(|| outcome.stderr.trim().to_owned());
                let why_not = Some(format!("a program that prints 42 ended as {:?}: {said}", outcome.status));
                Probe { usable: false, layers: outcome.isolation.layers, why_not }
            }
            Err(no_run) => Probe { usable: false, layers: Layers::new(), why_not: Some(no_run.to_string()) },
        }
    }

    /// The order of a call.
    ///
    /// # Errors
    /// [`NoRun::Fault`].
    pub(super) fn order(&self, spec: &JailSpec) -> Result<Order, NoRun> {
        let kind = self.kinds.of(spec, &self.ground(), || self.plan(spec)).map_err(unsaid)?;
        Ok(Order { kind, asked: asked(spec) })
    }

    /// What the order of a call has in common with others.
    pub(super) fn plan(&self, spec: &JailSpec) -> Plan {
        let roots = spec.roots.iter().map(RootOrder::of);
        Plan {
            ground: self.ground(),
            interpreter: if spec.network.is_some() { self.interpreter.with_certificates() } else { Interpreter::clone(&self.interpreter) },
            limits: kind::timeless(spec.limits),
            env: environment(spec),
            require: spec.require.clone(),
            roots: roots.collect(),
            preload: self.preload.clone(),
            prelude: spec.prelude.as_deref().map(str::to_owned),
            network: spec.network.is_some(),
            command: spec.command.clone(),
        }
    }
}

/// The order of a call that is made by a plan of its own.
fn order_by(plan: Plan, spec: &JailSpec) -> Result<Order, NoRun> {
    Ok(Order { kind: Kind::new(plan).map_err(unsaid)?, asked: asked(spec) })
}

/// What the order of a call has for itself.
fn asked(spec: &JailSpec) -> Asked {
    Asked {
        wall: spec.limits.wall,
        start_dir: spec.start(),
        masked: spec.roots.iter().map(|root| root.masked.clone()).collect(),
        fresh: spec.fresh,
        ahead: false,
        profile: spec.profile.clone(),
    }
}

fn unsaid(why: String) -> NoRun {
    NoRun::fault("writing an order", why)
}

impl Backend for Native {
    fn name(&self) -> &'static str {
        self.name
    }

    fn has_doorway(&self) -> bool {
        // It is a socket in a network namespace of our own making.
        matches!(self.ground(), Ground::Whole | Ground::Rooted)
    }

    fn pool(&self) -> BoxFuture<'_, Vec<(String, &'static str, u32)>> {
        Box::pin(async {
            let mut all = Vec::new();
            for pool in self.spawner.tally().await {
                for (state, count) in [("ready", pool.ready), ("empty", pool.empty), ("building", pool.building), ("waiting", pool.waiting)]
                {
                    all.push((pool.profile.clone(), state, count));
                }
            }
            all.extend(self.sessions.profiles().into_iter().map(|profile| (profile, "kept", 1)));
            all
        })
    }

    fn prepare<'a>(&'a self, spec: &'a JailSpec) -> BoxFuture<'a, Result<(), NoRun>> {
        Box::pin(async move {
            if self.ground() != Ground::Whole {
                return Ok(());
            }
            let mut order = self.order(spec)?;
            order.asked.ahead = true;
            let nothing = sealed(&[])?;
            // Nothing is answered, and nobody waits: a jail that cannot be had is told to the call that wants it.
            self.start(spec, &order, [nothing.as_fd(); 5]).await.map(drop)
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.sessions.close();
            self.spawner.close().await;
        })
    }

    fn probe(&self) -> BoxFuture<'_, Probe> {
        Box::pin(async {
            let mut reasons = Vec::new();
            for ground in &self.grounds {
                let probe = self.prove(ground).await;
                if probe.usable {
                    let _ = self.proven.set(ground.clone());
                    return probe;
                }
                // What is missing for several grounds is said once.
                reasons.extend(probe.why_not.filter(|why| !reasons.contains(why)));
            }
            Probe { usable: false, layers: Layers::new(), why_not: Some(reasons.join("; ")) }
        })
    }

    fn run<'a>(&'a self, spec: &'a JailSpec, cancel: &'a CancellationToken, progress: Progress) -> BoxFuture<'a, Result<Outcome, NoRun>> {
        Box::pin(async move {
            let made = match &spec.session {
                None => self.call(spec, cancel, progress).await,
                Some(session) => self.sessions.call(self, session, spec, cancel, progress).await,
            };
            made.map(|outcome| {
                let arrears = self.sessions.take_arrears(&spec.owner);
                let bytes_written = outcome.bytes_written.saturating_add(arrears.written);
                Outcome { arrears_ms: arrears.cpu_ms, bytes_written, ..outcome }
            })
        })
    }
}

/// Bytes of denied paths that fit into one message with the rest of the order.
const MASKS: usize = 96 * 1024;
/// Mounts are scarce (`fs.mount-max` is 100 000) and each costs about 30 microseconds per call.
const MOST_MASKS: usize = 4096;

/// What the bootstrap reads: five lengths, then the module path, the prelude, the prelude compiled where it was, the list of fonts, and the program.
///
/// # Errors
/// [`NoRun::Fault`].
pub(super) fn program_file(native: &Native, spec: &JailSpec) -> Result<OwnedFd, NoRun> {
    let path: Vec<String> = native.interpreter.module_path.iter().cloned().chain(spec.module_folders()).collect();
    let path = path.join("\n");
    let prelude = spec.prelude.as_deref().unwrap_or_default();
    // A waiting interpreter has compiled it.
    let code =
        if spec.fresh || native.ground() != Ground::Whole { native.preludes.get(&native.interpreter, prelude) } else { Arc::default() };
    let fonts = spec.fonts.as_deref().unwrap_or_default();
    let head = format!("{} {} {} {} {}\n", path.len(), prelude.len(), code.len(), fonts.len(), spec.program.len());
    sealed(&[head.as_bytes(), path.as_bytes(), prelude.as_bytes(), &code, fonts.as_bytes(), spec.program.as_bytes()])
}

/// The whole environment of the program: nothing of the server's.
fn environment(spec: &JailSpec) -> BTreeMap<String, String> {
    let mut environment: BTreeMap<String, String> = FIXED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    if spec.network.is_some() {
        environment.extend(doorway::environment());
    }
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
