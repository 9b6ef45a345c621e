//! The verb `run_python`: a permit becomes a program in the jail.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OnceCell, mpsc};

use super::egress::{Egress, Gateway, LogScribe, Scribe};
use super::jail::{Chunk, Jail, JailRoot, JailSpec, Layer, Limit, Limits, Network, NoRun, Outcome, Session, Settings, Status};
use super::pool::UnderWay;
use super::root::Roots;
use super::view;
use crate::gate::{Permit, Terms};
use crate::manifest::Manifest;
use crate::model::{Code, Failure, RunPython, Stage};
use crate::policy::{program, python_network, python_roots};

/// The jail of a server, found when the first program comes: a server that never runs one never starts an interpreter.
#[derive(Debug)]
pub(super) struct Room {
    settings: Settings,
    roots: Arc<Roots>,
    egress: Arc<Egress>,
    jail: OnceCell<Jail>,
    /// What runs before the programs of a manifest, the one of the last call.
    hook: Mutex<Option<(Arc<Manifest>, Arc<str>)>>,
    under_way: UnderWay,
}

impl Room {
    pub(super) fn new(settings: Settings, roots: Arc<Roots>, egress: Arc<Egress>) -> Self {
        Self { settings, roots, egress, jail: OnceCell::new(), hook: Mutex::default(), under_way: UnderWay::default() }
    }

    pub(super) async fn run(&self, permit: Permit<RunPython>, stage: &Stage) -> Result<Outcome, Failure> {
        let (action, _, terms) = permit.spend();
        let _counted = self.under_way.one(&terms.profile);
        // The first call finds out what this machine can do, which takes a while.
        let jail = tokio::select! {
            biased;
            jail = self.jail.get_or_try_init(|| Jail::new(self.settings.clone())) => jail.map_err(|fault| failed(&fault))?,
            () = stage.cancel.cancelled() => return Err(Failure::new(Code::Cancelled, "the call was cancelled")),
        };
        let mut spec = self.spec(action, &terms)?;
        let gateway = self.network(&terms);
        spec.network = gateway.clone().map(|gateway| gateway as Arc<dyn Network>);
        let written: Vec<&str> = spec.roots.iter().filter(|root| root.writable).map(|root| root.name.as_str()).collect();
        let has_room = || written.iter().try_for_each(|root| self.roots.has_room(&terms.session, root));
        has_room()?;
        let stop = stage.cancel.child_token();
        let run = jail.run(&spec, &stop, listener(stage));
        tokio::pin!(run);
        let mut looks = tokio::time::interval_at(tokio::time::Instant::now() + LOOK, LOOK);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut full = None;
        let mut outcome = loop {
            tokio::select! {
                outcome = &mut run => break outcome.map_err(|fault| failed(&fault))?,
                _ = looks.tick(), if full.is_none() => {
                    full = has_room().err();
                    if full.is_some() {
                        stop.cancel();
                    }
                }
            }
        };
        if matches!(outcome.status, Status::Ok | Status::Exception) {
            full = has_room().err();
        }
        if let Some(full) = full {
            (outcome.status, outcome.limit) = (Status::Limit, Some(Limit::Disk));
            outcome.evidence = Some(format!("{}; nothing more is written or run there before some of it is deleted", full.0.message));
        }
        if let Some(gateway) = gateway {
            outcome.network = gateway.contacts();
        }
        Ok(outcome)
    }

    /// The way out of one call, where it has one: by the rules of its manifest, and no further than its caller may send in an hour.
    fn network(&self, terms: &Arc<Terms>) -> Option<Arc<Gateway>> {
        let manifest = &terms.manifest;
        if !python_network(manifest, &terms.profile) {
            return None;
        }
        let (all, own) =
            (manifest.limits.egress_per_hour, manifest.profiles.get(&terms.profile).and_then(|profile| profile.bounds.egress_per_hour));
        let upload = own.map_or(all, |own| own.min(all));
        let scribe = self.egress.watch().map(|watch| Box::new(LogScribe::new(watch.clone(), Arc::clone(terms))) as Box<dyn Scribe>);
        Some(Arc::new(Gateway::new(Arc::clone(&self.egress), Arc::new(manifest.network.clone()), upload, scribe)))
    }

    /// Gets interpreters ready for the programs of a profile, by running one that does nothing where no session's files are.
    pub(super) async fn prepare(&self, manifest: Arc<Manifest>, profile: &str) {
        let session = format!("prepare-{}", std::process::id());
        let terms = Arc::new(Terms {
            call: String::new(),
            profile: profile.to_owned(),
            tool: "run_python",
            session: session.clone(),
            principal: String::new(),
            max_file_size: manifest.files.max_file_size,
            max_answer: manifest.files.max_answer,
            timeout: manifest.python.timeout,
            cpu: manifest.python.cpu,
            hosts: None,
            manifest,
        });
        let nothing = RunPython { code: "pass".to_owned(), session: None, stdin: String::new(), timeout_s: None, fresh: false };
        let prepared = async {
            let jail = self.jail.get_or_try_init(|| Jail::new(self.settings.clone())).await.map_err(|fault| failed(&fault))?;
            let mut spec = self.spec(nothing, &terms)?;
            spec.network = self.network(&terms).map(|gateway| gateway as Arc<dyn Network>);
            jail.prepare(&spec).await.map_err(|fault| failed(&fault))
        };
        // The first program says itself what is wrong.
        let _ = prepared.await.map_err(|failure: Failure| tracing::info!(why = %failure.0.message, "no interpreter could be got ready"));
        self.roots.end_session(&session);
    }

    /// Interpreters by profile and what they do; no interpreter is started to find out.
    pub(super) async fn pool(&self) -> BTreeMap<(String, &'static str), u64> {
        let mut all = BTreeMap::new();
        for (profile, running) in self.under_way.counts() {
            // Every profile that ever ran a program has all its series.
            all.extend(["ready", "empty", "building", "waiting", "kept"].map(|state| ((profile.clone(), state), 0)));
            all.insert((profile, "running"), running);
        }
        if let Some(jail) = self.jail.get() {
            for (profile, state, count) in jail.pool().await {
                *all.entry((profile, state)).or_default() += u64::from(count);
            }
        }
        all
    }

    /// Ends everything that is kept running between calls.
    pub(super) async fn close(&self) {
        if let Some(jail) = self.jail.get() {
            jail.close().await;
        }
    }

    fn spec(&self, action: RunPython, terms: &Terms) -> Result<JailSpec, Failure> {
        let manifest = &terms.manifest;
        let rules = &manifest.python;
        let wall = action.timeout_s.map_or(rules.timeout, |asked| rules.timeout.min(Duration::from_secs(asked)));
        let mut spec = JailSpec::new(action.code);
        spec.prelude = Some(self.hook(manifest));
        spec.stdin = action.stdin.into_bytes();
        // Exactly the roots the level was judged for: those the profile has, writable only where it may write.
        let roots = python_roots(manifest, &terms.profile);
        spec.roots = roots.into_iter().map(|(name, writes)| self.root(manifest, name, writes, &terms.session)).collect::<Result<_, _>>()?;
        spec.limits = Limits {
            wall,
            cpu: rules.cpu.min(terms.cpu),
            cpu_share: rules.cpu_share,
            memory: rules.memory.0,
            processes: u64::from(rules.processes),
            open_files: u64::from(rules.open_files),
            file_size: rules.file_size.0,
            scratch: rules.scratch.0,
            disk: quota(manifest, &spec.roots),
            output: rules.output.0,
        };
        spec.env.clone_from(&rules.env);
        // The loader has checked the names; one it did not know would be a wall nobody builds.
        spec.require = rules.require.iter().filter_map(|name| Layer::parse(name)).collect();
        spec.fresh = action.fresh;
        spec.owner.clone_from(&terms.principal);
        spec.profile.clone_from(&terms.profile);
        spec.session = action.session.map(|handle| if handle == "new" { Session::New } else { Session::Known(handle) });
        Ok(spec)
    }

    /// What runs before a program; written once for a manifest.
    fn hook(&self, manifest: &Arc<Manifest>) -> Arc<str> {
        let mut last = self.hook.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, hook)) = last.as_ref().filter(|(of, _)| Arc::ptr_eq(of, manifest)) {
            return Arc::clone(hook);
        }
        let hook: Arc<str> = crate::python::import_hook(&program::rules(&manifest.python)).into();
        *last = Some((Arc::clone(manifest), Arc::clone(&hook)));
        hook
    }

    /// A root as the program sees it: with its mode, what is denied in it masked, writable only where nothing is.
    fn root(&self, manifest: &Manifest, name: &str, writes: bool, session: &str) -> Result<JailRoot, Failure> {
        let dir: Arc<OwnedFd> = self.roots.folder(session, name)?;
        let refuse = |why: String| {
            Failure::new(Code::RootNotEnforceable, format!("Python cannot be shown `{name}`: {why}"))
                .hint("the manifest's `[python] roots` must name a folder whose denied entries can be masked")
        };
        let rules = manifest.roots.get(name).ok_or_else(|| refuse("the manifest has no such root".to_owned()))?;
        let session_root = rules.is_session();
        let masked = if session_root {
            Vec::new()
        } else {
            let hidden = self.roots.hidden(session, name)?;
            let masked = view::masked(manifest, name, &dir, &hidden).map_err(|why| refuse(why.to_string()))?;
            if writes && (hidden.is_inside() || !masked.is_empty()) {
                // What covers a file does not hold the folders above it in place.
                return Err(refuse("a program could write in it, and something in it may not be touched".to_owned()));
            }
            masked
        };
        let writable = writes && (session_root || manifest.files.denied.is_empty() && rules.denied.is_empty());
        Ok(JailRoot { name: name.to_owned(), dir, writable, masked })
    }
}

/// The smallest quota of the roots that a program may write to.
fn quota(manifest: &Manifest, roots: &[JailRoot]) -> u64 {
    let bounded = roots.iter().filter(|root| root.writable).filter_map(|root| manifest.roots.get(&root.name)?.quota?.bytes);
    bounded.map(|bytes| bytes.0).min().unwrap_or(u64::MAX)
}

/// Passes what the program prints to the client while it runs, at most twice a second.
fn listener(stage: &Stage) -> Option<mpsc::Sender<Chunk>> {
    if !stage.progress.is_heard() {
        return None;
    }
    let (sender, mut chunks) = mpsc::channel::<Chunk>(64);
    let progress = stage.progress.clone();
    tokio::spawn(async move {
        let begun = tokio::time::Instant::now();
        let mut beat = tokio::time::interval(EVERY);
        let mut text = String::new();
        loop {
            tokio::select! {
                chunk = chunks.recv() => match chunk {
                    Some(chunk) => {
                        let _ = write!(text, "{}", String::from_utf8_lossy(&chunk.bytes));
                        let cut = text.char_indices().rev().nth(SHOWN).map_or(0, |(at, _)| at);
                        text.drain(..cut);
                    }
                    None => return,
                },
                _ = beat.tick() => {
                    let elapsed = begun.elapsed();
                    if elapsed >= EVERY {
                        progress.note(elapsed.as_secs_f64(), None, crate::filter::escape(&text).into_owned());
                    }
                }
            }
        }
    });
    Some(sender)
}

/// Between two notes, and before the first: a short program is over before anybody could read one.
const EVERY: Duration = Duration::from_millis(500);
/// Between two looks at what a program has written in roots with a quota.
const LOOK: Duration = Duration::from_millis(100);
/// Characters of output a note shows.
const SHOWN: usize = 400;

fn failed(fault: &NoRun) -> Failure {
    let code = match fault {
        NoRun::Unavailable { .. } => Code::SandboxUnavailable,
        NoRun::Root { .. } => Code::RootNotEnforceable,
        NoRun::Session { .. } => Code::SessionUnknown,
        NoRun::Fault(why) => {
            tracing::error!(why, "the jail failed");
            return Failure::new(Code::Internal, "the sandbox failed; the server's log knows more");
        }
    };
    let failure = Failure::new(code, fault.to_string());
    if code == Code::SandboxUnavailable {
        failure.hint("`toolgate doctor` says what this machine lacks and how to mend it")
    } else {
        failure
    }
}
