//! Where untrusted Python runs: one fresh process tree per call, behind walls that the machine has proven to hold.

mod arrears;
mod attempt;
mod backend;
mod bounds;
mod bubblewrap;
mod charge;
mod collect;
mod commands;
mod doorway;
mod ending;
mod ground;
mod harvest;
mod inside;
mod interpreter;
mod kind;
mod landlock;
mod link;
mod mime;
mod native;
pub(in crate::sandbox) mod order;
mod outcome;
mod picture;
mod preludes;
mod ranking;
mod report;
mod sessions;
mod spec;
mod standing;
mod streams;
mod tally;
mod ticket;
mod told;
mod verdict;
mod way;
mod witness;
mod words;

use std::sync::Arc;

use link::Early;
use ranking::Ranking;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use backend::{BACKENDS, Backend, Chunk, Listed, Probe, Progress, Stream};
pub use bounds::too_few_files;
pub use commands::{Bounds, Commands};
pub use inside::enter_if_asked;
pub(in crate::sandbox) use inside::{close_from, close_inherited, fork_alone, give_up_privileges, hear_children, place};
pub use interpreter::Interpreter;
pub use outcome::{Isolation, LeftFile, Limit, NoRun, Outcome, Picture, Status, Usage};
pub use spec::{DOORWAY_PORT, JailRoot, JailSpec, Layer, Layers, Limits, Mask, Network, Session, SessionBounds, Settings};
pub use witness::found as on_search_path;

/// A reason that names the bound of open files first, where that is so low that it may be the cause.
fn for_want_of_files(no_run: NoRun) -> NoRun {
    match (no_run, too_few_files()) {
        (NoRun::Unavailable { layer, reason }, Some(few)) => NoRun::Unavailable { layer, reason: format!("{few}; {reason}") },
        (other, _) => other,
    }
}

/// The kind of calls that come next, as far as it is known while the jail is looked for.
pub(in crate::sandbox) type Coming = watch::Receiver<Option<Arc<JailSpec>>>;

/// Tries a backend, and has it get jails ready for what is coming.
async fn probed(backend: &dyn Backend, mut coming: Coming) -> Probe {
    coming.mark_changed();
    let preparing = async {
        while coming.changed().await.is_ok() {
            let spec = coming.borrow_and_update().clone();
            if let Some(spec) = spec {
                // The call itself says what is wrong.
                let _ = backend.prepare(&spec).await;
            }
        }
        std::future::pending().await
    };
    tokio::select! {
        biased;
        probe = backend.probe() => probe,
        never = preparing => never,
    }
}

/// The jail of a server: one interpreter, one backend, chosen once.
#[derive(Debug, Clone)]
pub struct Jail {
    backend: Arc<dyn Backend>,
    interpreter: Arc<Interpreter>,
    probe: Arc<Probe>,
}

impl Jail {
    /// Finds the interpreter and the strongest backend that runs a program on this machine. Nothing of the search is left when it is given up by
    /// `stop`, and nothing but what is ending when the future is dropped.
    ///
    /// # Errors
    /// [`NoRun::Unavailable`] when there is no interpreter or no backend; a backend that was named is never replaced by a weaker one;
    /// [`NoRun::Stopped`] when it was stopped.
    pub async fn new(settings: Settings, stop: &CancellationToken) -> Result<Self, NoRun> {
        Self::find(settings, stop, &watch::Sender::new(None).subscribe()).await
    }

    /// The same, where jails are got ready for `coming` while a backend is tried. No program runs in them before the backend has run one.
    pub(in crate::sandbox) async fn find(settings: Settings, stop: &CancellationToken, coming: &Coming) -> Result<Self, NoRun> {
        if let Some(reason) = settings.unready {
            return Err(NoRun::Unavailable { layer: "packages".to_owned(), reason });
        }
        let settings = Settings { early: Early::start(&settings.helper), ..settings };
        let state = settings.state.as_ref();
        let found = tokio::select! {
            biased;
            () = stop.cancelled() => Err(NoRun::Stopped),
            (found, known) = futures::future::join(Interpreter::find(&settings.interpreter, state), Ranking::recall(state)) =>
                found.map(|found| (Arc::new(found), known)),
        };
        let (interpreter, known) = match found {
            Ok(found) => found,
            Err(no_run) => {
                settings.early.end().await;
                return Err(for_want_of_files(no_run));
            }
        };
        let mut reasons = Vec::new();
        let mut best: Option<Self> = None;
        let mut ranking = known.clone();
        let mut wanted: Vec<&Listed> = BACKENDS.iter().filter(|listed| listed.is_wanted(&settings.backend)).collect();
        wanted.sort_by_key(|listed| known.place(listed.name));
        for listed in &wanted {
            let backend = (listed.make)(&settings, &interpreter);
            let probe = tokio::select! {
                biased;
                () = stop.cancelled() => {
                    backend.close().await;
                    if let Some(best) = best {
                        best.close().await;
                    }
                    return Err(NoRun::Stopped);
                }
                probe = probed(&*backend, coming.clone()) => probe,
            };
            let is_enough = probe.is_best() || known.settles(listed.name, &probe, wanted.iter().map(|other| other.name));
            ranking.note(listed.name, &probe);
            if !probe.usable {
                reasons.push(format!("{}: {}", listed.name, probe.why_not.as_deref().unwrap_or("not usable")));
                backend.close().await;
                continue;
            }
            if best.as_ref().is_none_or(|best| best.probe.strength() < probe.strength()) {
                best = Some(Self { backend, interpreter: Arc::clone(&interpreter), probe: Arc::new(probe) });
            }
            if is_enough {
                break;
            }
        }
        if let Some(best) = best {
            if ranking != known {
                ranking.remember(settings.state.as_ref()).await;
            }
            return Ok(best);
        }
        if reasons.is_empty() {
            let names: Vec<_> = BACKENDS.iter().map(|listed| listed.name).collect();
            reasons.push(format!("`{}` is none of {}", settings.backend, names.join(", ")));
        }
        // Before what failed for want of them.
        let reasons: Vec<String> = too_few_files().into_iter().chain(reasons).collect();
        Err(NoRun::Unavailable { layer: "backend".to_owned(), reason: reasons.join("; ") })
    }

    /// Runs one program. When the answer is there, every process of it is dead.
    ///
    /// # Errors
    /// [`NoRun`]: a required layer or a root cannot be had, or the jail failed.
    pub async fn run(&self, spec: &JailSpec, cancel: &CancellationToken, progress: Progress) -> Result<Outcome, NoRun> {
        if spec.network.is_some() && !self.backend.has_doorway() {
            let reason = format!("the backend `{}` has no way to the gateway; set `[python] network = false`", self.backend.name());
            return Err(NoRun::Unavailable { layer: "network".to_owned(), reason });
        }
        self.backend.run(spec, cancel, progress).await
    }

    /// Has jails got ready for calls of this kind, without a program; this does not wait for them.
    ///
    /// # Errors
    /// [`NoRun::Fault`].
    pub async fn prepare(&self, spec: &JailSpec) -> Result<(), NoRun> {
        self.backend.prepare(spec).await
    }

    /// Ends everything that is kept running between calls, and waits until it is gone.
    pub async fn close(&self) {
        self.backend.close().await;
    }

    /// Interpreters by profile and what they do: `ready`, `building`, `waiting` (calls for one), `kept` (sessions).
    pub(in crate::sandbox) async fn pool(&self) -> Vec<(String, &'static str, u32)> {
        self.backend.pool().await
    }

    /// The name of the backend.
    pub fn backend(&self) -> &'static str {
        self.backend.name()
    }

    /// The interpreter.
    pub fn interpreter(&self) -> &Interpreter {
        &self.interpreter
    }

    /// What the backend can hold here.
    pub fn probe(&self) -> &Probe {
        &self.probe
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::future::BoxFuture;
    use tokio::sync::Notify;

    use super::*;

    /// A backend whose trial ends when it is told what is coming.
    #[derive(Debug, Default)]
    struct Tried {
        prepared: Mutex<Vec<String>>,
        told: Notify,
    }

    impl Backend for Tried {
        fn name(&self) -> &'static str {
            "tried"
        }

        fn probe(&self) -> BoxFuture<'_, Probe> {
            Box::pin(async {
                self.told.notified().await;
                Probe { usable: true, layers: Layers::new(), why_not: None }
            })
        }

        fn prepare<'a>(&'a self, spec: &'a JailSpec) -> BoxFuture<'a, Result<(), NoRun>> {
            self.prepared.lock().unwrap().push(spec.program.clone());
            self.told.notify_one();
            Box::pin(std::future::ready(Ok(())))
        }

        fn run<'a>(&'a self, _: &'a JailSpec, _: &'a CancellationToken, _: Progress) -> BoxFuture<'a, Result<Outcome, NoRun>> {
            Box::pin(std::future::ready(Err(NoRun::Stopped)))
        }

        fn close(&self) -> BoxFuture<'_, ()> {
            Box::pin(std::future::ready(()))
        }
    }

    #[tokio::test]
    async fn a_backend_gets_ready_for_what_is_coming_while_it_is_tried() {
        for is_known_before in [true, false] {
            let (backend, said) = (Tried::default(), watch::Sender::new(None));
            let coming = said.subscribe();
            if is_known_before {
                said.send_replace(Some(Arc::new(JailSpec::new("pass"))));
            }
            let trial = probed(&backend, coming);
            let telling = async {
                tokio::task::yield_now().await;
                if !is_known_before {
                    said.send_replace(Some(Arc::new(JailSpec::new("pass"))));
                }
            };
            let (probe, ()) = futures::future::join(trial, telling).await;
            assert!(probe.usable);
            assert_eq!(*backend.prepared.lock().unwrap(), ["pass"], "known before: {is_known_before}");
        }
    }

    #[tokio::test]
    async fn a_trial_ends_also_where_nothing_is_coming() {
        let backend = Tried::default();
        backend.told.notify_one();
        let silent = watch::Sender::new(None).subscribe();
        assert!(probed(&backend, silent).await.usable);
    }
}
