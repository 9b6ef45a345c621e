//! The verb `run_python`: a permit becomes a program in the jail.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::{Jail, JailRoot, JailSpec, Layer, Limit, Limits, Network, NoRun, Outcome, Session, Settings, Status};
use crate::gate::{Permit, Terms};
use crate::manifest::{Check, Manifest, Python};
use crate::model::{Code, Failure, Level, RelPath, RunPython};
use crate::policy::words::seen_root;
use crate::policy::{program, python_network, python_roots};
use crate::sandbox::Stage;
use crate::sandbox::files::Roots;
use crate::sandbox::pool::UnderWay;
use crate::sandbox::printed::listener;
use crate::sandbox::view::{self, View, Views};
use crate::sandbox::web::{AuditRecorder, ConnectionRecorder, Egress, Gateway};

/// The jail of a server, found once: in the background where programs may come, else with the first one.
#[derive(Debug)]
pub struct Runner {
    settings: Settings,
    roots: Arc<Roots>,
    egress: Arc<Egress>,
    jail: OnceCell<Jail>,
    /// Ends the search for it.
    searching: Mutex<CancellationToken>,
    under_way: UnderWay,
    views: Views,
}

/// Looks at the roots of one call: another one follows where something was moved between the look and the mount.
const MOST_LOOKS: u32 = 4;
/// The shortest time between two looks at what a program writes.
const LOOK: Duration = Duration::from_millis(100);

impl Runner {
    pub(in crate::sandbox) fn new(settings: Settings, roots: Arc<Roots>, egress: Arc<Egress>) -> Self {
        Self {
            settings,
            roots,
            egress,
            jail: OnceCell::new(),
            searching: Mutex::default(),
            under_way: UnderWay::default(),
            views: Views::default(),
        }
    }

    /// Runs the program the permit names. When the answer is there, every process of it is dead.
    ///
    /// # Errors
    /// `sandbox_unavailable`, `root_not_enforceable`, `session_unknown`, `internal`.
    pub async fn run(&self, permit: Permit<RunPython>, stage: &Stage) -> Result<Outcome, Failure> {
        let (action, _, terms) = permit.spend();
        let _counted = self.under_way.one(&terms.profile);
        // The first call finds out what this machine can do, which takes a while.
        let cancelled = || Failure::new(Code::Cancelled, "the call was cancelled");
        let prepared = async {
            let jail = self.jail().await.map_err(|fault| failed(&fault))?;
            let is_lacking = self.lacking_wall(&terms.manifest.python).await.is_some();
            Ok::<_, Failure>((jail, self.spec(action, &terms, is_lacking).await?))
        };
        let (jail, (mut spec, mut views)) = stage.cancel.run_until_cancelled(prepared).await.ok_or_else(cancelled)??;
        let gateway = self.network(&terms);
        spec.network = gateway.clone().map(|gateway| gateway as Arc<dyn Network>);
        let written: Vec<String> = spec.writable().map(|root| root.name.clone()).collect();
        let written: Vec<&str> = written.iter().map(String::as_str).collect();
        self.has_space(&terms, &written).await?;
        let mut looks = 1;
        let (mut outcome, mut full) = loop {
            match self.watched(jail, &spec, &terms, &written, stage).await {
                // Something that may not be seen was moved after the look at the roots. Nothing has run.
                Err(NoRun::Moved { .. }) if looks < MOST_LOOKS => {
                    looks += 1;
                    let seen = stage.cancel.run_until_cancelled(self.seen(&terms)).await.ok_or_else(cancelled)?;
                    (spec.roots, views) = seen?;
                }
                ended => break ended.map_err(|fault| failed(&fault))?,
            }
        };
        if matches!(outcome.status, Status::Ok | Status::Exception) {
            full = self.has_space(&terms, &written).await.err();
        }
        if let Some(full) = full {
            (outcome.status, outcome.limit) = (Status::Limit, Some(Limit::Disk));
            outcome.evidence = Some(format!("{}; nothing more is written or run there before some of it is deleted", full.0.message));
        }
        if let Some(over) = over_budget(&terms.manifest, &terms.profile, outcome.bytes_written) {
            outcome.evidence = Some(outcome.evidence.take().map_or_else(|| over.clone(), |known| format!("{known}; {over}")));
        }
        if let Some(gateway) = gateway {
            outcome.network = gateway.contacts();
        }
        let find = |path: &RelPath| self.roots.in_program_root(&terms.session, &terms.manifest, &terms.profile, path);
        explain_missing_file(&mut outcome, &spec.start(), &python_roots(&terms.manifest, &terms.profile), &views, find);
        Ok(outcome)
    }

    /// The jail. The first that asks for it looks for it, and all others wait for that.
    async fn jail(&self) -> Result<&Jail, NoRun> {
        let stop = self.searching().clone();
        self.jail.get_or_try_init(|| Jail::new(self.settings.clone(), &stop)).await
    }

    fn searching(&self) -> std::sync::MutexGuard<'_, CancellationToken> {
        self.searching.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the jail before the first program comes. No interpreter waits for it yet.
    pub async fn discover(&self) {
        if let Err(why) = self.jail().await {
            // The first program says itself what is wrong.
            tracing::info!(%why, "no sandbox works on this machine");
        }
    }

    /// The wall that the jail does not hold, in words, for want of which `check = "imports"` acts as `strict`.
    pub(in crate::sandbox) async fn lacking_wall(&self, python: &Python) -> Option<String> {
        if python.check != Check::Imports || program::requires_walls(python) {
            return None;
        }
        // Without a jail no program runs, and the call says why.
        let layers = &self.jail().await.ok()?.probe().layers;
        program::lacking_wall(|wall| layers.get(wall).map(String::as_str))
    }

    /// Runs a program, and ends it when a root that it writes to is full; then what is full is told.
    async fn watched(
        &self,
        jail: &Jail,
        spec: &JailSpec,
        terms: &Terms,
        written: &[&str],
        stage: &Stage,
    ) -> Result<(Outcome, Option<Failure>), NoRun> {
        let stop = stage.cancel.child_token();
        let run = jail.run(spec, &stop, listener(stage, &terms.manifest.filters));
        let watch = async {
            let mut pause = LOOK;
            loop {
                tokio::time::sleep(pause).await;
                let began = Instant::now();
                if let Err(full) = self.has_space(terms, written).await {
                    return full;
                }
                // The looks take a tenth of one processor at most.
                pause = LOOK.max(began.elapsed() * 9);
            }
        };
        tokio::pin!(run, watch);
        let mut full = None;
        loop {
            tokio::select! {
                outcome = &mut run => return outcome.map(|outcome| (outcome, full)),
                over = &mut watch, if full.is_none() => {
                    full = Some(over);
                    stop.cancel();
                }
            }
        }
    }

    /// What stands against more in one of these roots.
    async fn has_space(&self, terms: &Terms, roots: &[&str]) -> Result<(), Failure> {
        for root in roots {
            self.roots.has_space(&terms.session, root).await?;
        }
        Ok(())
    }

    /// The way out of one call, where it has one: by the rules of its manifest, and no further than its caller may send in an hour.
    fn network(&self, terms: &Arc<Terms>) -> Option<Arc<Gateway>> {
        let manifest = &terms.manifest;
        if !python_network(manifest, &terms.profile) {
            return None;
        }
        let recorder =
            self.egress.watch().map(|watch| Box::new(AuditRecorder::new(watch.clone(), Arc::clone(terms))) as Box<dyn ConnectionRecorder>);
        Some(Arc::new(Gateway::new(Arc::clone(&self.egress), Arc::new(manifest.network.clone()), terms.upload(), recorder)))
    }

    /// Gets interpreters ready for the programs of a profile, and has the roots that they see looked through.
    pub async fn prepare(&self, manifest: Arc<Manifest>, profile: &str) {
        let session = format!("prepare-{}", std::process::id());
        let terms = Arc::new(Terms {
            call: String::new(),
            profile: profile.to_owned(),
            tool: "run_python",
            session: session.clone(),
            principal: String::new(),
            max_file_size: manifest.files.max_file_size,
            write_left: None,
            max_answer: manifest.files.max_answer,
            timeout: manifest.python.timeout,
            level: Level::Read,
            cpu: manifest.python.cpu,
            hosts: None,
            sent: Arc::default(),
            manifest,
        });
        let nothing =
            RunPython { code: "pass".to_owned(), session: None, stdin: String::new(), timeout_s: None, fresh: false, fenced: false };
        let prepared = async {
            let jail = self.jail().await.map_err(|fault| failed(&fault))?;
            let is_lacking = self.lacking_wall(&terms.manifest.python).await.is_some();
            let (mut spec, _) = self.spec(nothing, &terms, is_lacking).await?;
            spec.network = self.network(&terms).map(|gateway| gateway as Arc<dyn Network>);
            jail.prepare(&spec).await.map_err(|fault| failed(&fault))
        };
        // The first program says itself what is wrong.
        let _ = prepared.await.map_err(|failure: Failure| tracing::info!(why = %failure.0.message, "no interpreter waits"));
        self.roots.end_session(&session);
    }

    /// Interpreters by profile and what they do; no interpreter is started to find out.
    pub fn pool(&self) -> BTreeMap<(String, &'static str), u64> {
        let mut all = BTreeMap::new();
        for (profile, running) in self.under_way.counts() {
            // Every profile that ever ran a program has all its series.
            all.extend(["ready", "building", "kept"].map(|state| ((profile.clone(), state), 0)));
            all.insert((profile, "running"), running);
        }
        if let Some(jail) = self.jail.get() {
            for (profile, ready, building) in jail.waiting() {
                *all.entry((profile.clone(), "ready")).or_default() += ready as u64;
                *all.entry((profile, "building")).or_default() += building as u64;
            }
            for profile in jail.kept() {
                *all.entry((profile, "kept")).or_default() += 1;
            }
        }
        all
    }

    /// Ends everything that is kept running between calls, and the search for a jail; what comes later begins anew.
    pub(in crate::sandbox) async fn close(&self) {
        std::mem::take(&mut *self.searching()).cancel();
        // Where a search is under way, this waits for its end.
        if let Ok(jail) = self.jail.get_or_try_init(async || Err(())).await {
            jail.close().await;
        }
    }

    /// What a call asks of the jail; `is_lacking`: a wall is not there, see [`Runner::lacking_wall`].
    async fn spec(&self, action: RunPython, terms: &Terms, is_lacking: bool) -> Result<(JailSpec, Vec<View>), Failure> {
        let manifest = &terms.manifest;
        let rules = &manifest.python;
        let wall = action.timeout_s.map_or(rules.timeout, |asked| rules.timeout.min(Duration::from_secs(asked)));
        let mut spec = JailSpec::new(action.code);
        let imports = if is_lacking { program::rules_without_a_wall(rules) } else { program::rules(rules) };
        spec.prelude = Some(toolgate_pycheck::import_hook(&imports).into());
        // The walls that `imports` needs are required below; where it acts as `strict`, nothing of a root is imported.
        spec.imports_from_roots = match rules.check {
            Check::Strict => false,
            Check::Imports => !is_lacking,
            Check::Off => true,
        };
        spec.stdin = action.stdin.into_bytes();
        let (roots, views) = self.seen(terms).await?;
        spec.roots = roots;
        spec.limits = Limits {
            wall,
            cpu: rules.cpu.min(terms.cpu),
            cpu_share: rules.cpu_share,
            memory: rules.memory.0,
            processes: u64::from(rules.processes),
            open_files: u64::from(rules.open_files),
            file_size: rules.file_size.0,
            scratch: rules.scratch.0,
        };
        spec.output = rules.output.0;
        spec.env.clone_from(&rules.env);
        // The loader has checked the names; one it did not know would be a wall nobody builds.
        spec.require = rules.require.iter().filter_map(|name| Layer::parse(name)).collect();
        if rules.check == Check::Imports && !is_lacking {
            // The program was judged by its imports alone because these stand: without one of them it does not run.
            let judged_by = program::WALLS.iter().filter_map(|name| Layer::parse(name));
            spec.require.extend(judged_by.filter(|layer| !rules.require.iter().any(|name| name == layer.as_str())));
        }
        spec.fresh = action.fresh;
        spec.owner.clone_from(&terms.principal);
        spec.profile.clone_from(&terms.profile);
        spec.session = action.session.map(|handle| if handle == "new" { Session::New } else { Session::Known(handle) });
        Ok((spec, views))
    }

    /// The roots as the program sees them, and what is masked in each. Exactly the roots the level was judged for: those the profile has,
    /// writable only where it may write.
    async fn seen(&self, terms: &Terms) -> Result<(Vec<JailRoot>, Vec<View>), Failure> {
        let (mut roots, mut views) = (Vec::new(), Vec::new());
        let seen = python_roots(&terms.manifest, &terms.profile);
        for (name, writes) in &seen {
            let (root, view) = self.root(terms, name, *writes, seen.len()).await?;
            roots.push(root);
            views.push(view);
        }
        Ok((roots, views))
    }

    /// A root as the program sees it: with its mode, what is denied in it masked, writable only where nothing is.
    async fn root(&self, terms: &Terms, name: &str, writes: bool, roots: usize) -> Result<(JailRoot, View), Failure> {
        let (manifest, session) = (&terms.manifest, terms.session.as_str());
        let dir: Arc<OwnedFd> = self.roots.folder(session, name)?;
        let refuse = |why: String| {
            Failure::new(Code::RootNotEnforceable, format!("programs cannot get the root `{name}`: {why}"))
                .hint("the manifest's `[python] roots` must name a folder whose denied entries can be masked")
        };
        let rules = manifest.roots.get(name).ok_or_else(|| refuse("the manifest has no such root".to_owned()))?;
        let session_root = rules.is_session();
        let view = if session_root {
            View::default()
        } else {
            let hidden = Arc::new(self.roots.hidden(session, name)?);
            let root = Arc::clone(&dir);
            let look = view::Look { manifest: Arc::clone(manifest), name: name.to_owned(), root, hidden: Arc::clone(&hidden), roots };
            let looked = self.views.look(look).await;
            let looked = looked.map_err(|fault| Failure::new(Code::Internal, format!("a root could not be looked through: {fault}")))?;
            let view = looked.map_err(|why| refuse(why.to_string()))?;
            if writes && (hidden.is_inside() || !view.masked.is_empty()) {
                // What covers a file does not hold the folders above it in place.
                return Err(refuse("a program could write in it, and something in it may not be touched".to_owned()));
            }
            view
        };
        let writable = writes && (session_root || manifest.files.denied.is_empty() && rules.denied.is_empty());
        let quota = rules.quota.and_then(|quota| quota.bytes).map(|bytes| bytes.0);
        Ok((JailRoot { name: name.to_owned(), dir, writable, masked: view.masked.clone(), quota }, view))
    }
}

/// What is said of a program that has written more than its caller may write in an hour.
fn over_budget(manifest: &Manifest, profile: &str, written: u64) -> Option<String> {
    let most = crate::policy::write_per_hour(manifest, profile);
    let rule = crate::policy::rule_of_writes(manifest, profile);
    (written > most.0)
        .then(|| format!("it wrote {written} bytes, and {most} may be written in any hour (rule: `{rule}`); until then nothing more is"))
}

/// Where a program ended because it did not find a file: adds the path that works, or which roots there are and which folders are left out of a view.
/// `start`: where relative paths start. `find`: where a program finds what lies at this path of a root.
fn explain_missing_file(
    outcome: &mut Outcome,
    start: &str,
    roots: &[(&str, bool)],
    views: &[View],
    find: impl Fn(&RelPath) -> Option<String>,
) {
    const SHOWN: usize = 10;
    if outcome.status != Status::Exception {
        return;
    }
    let raised = outcome.stderr.lines().rev().find(|line| line.starts_with("FileNotFoundError") || line.starts_with("PermissionError"));
    let Some((raised, path)) = raised.and_then(|line| line.split_once(": '").or_else(|| line.split_once(": \""))) else { return };
    let is_missing = raised.starts_with("FileNotFoundError");
    let path = path.trim_end_matches(['\'', '"']);
    let is_below_roots = path.starts_with("/roots");
    let before = outcome.evidence.clone().map(|why| format!("{why}; ")).unwrap_or_default();
    if is_missing
        && !is_below_roots
        && let Ok(named) = RelPath::parse(path.trim_start_matches("./").trim_start_matches('/'))
        && let Some(found) = find(&named).filter(|_| !named.is_root())
    {
        outcome.evidence = Some(format!("{before}`{path}` exists as `{found}`; relative paths start in `{start}`"));
        return;
    }
    if !(is_below_roots || is_missing && !path.starts_with('/')) {
        return;
    }
    let all: Vec<String> = roots.iter().map(|root| seen_root(*root)).collect();
    let mut told = if all.is_empty() {
        "the program sees no root: `[python] roots` names none of the caller's".to_owned()
    } else {
        format!("the program sees these roots, as `[python] roots` names them: {}; relative paths start in `{start}`", all.join(", "))
    };
    if !is_missing {
        told.push_str("; what is denied in them is there by name and cannot be opened");
    }
    let left_out: Vec<String> = roots
        .iter()
        .zip(views)
        .flat_map(|((name, _), view)| {
            view.left_out.iter().map(move |folder| format!("`/roots/{name}/{}`", crate::filter::escape_line(folder)))
        })
        .collect();
    if !left_out.is_empty() {
        let more = if left_out.len() > SHOWN { " and others" } else { "" };
        let some: Vec<String> = left_out.into_iter().take(SHOWN).collect();
        told = format!("{told}; left out whole, because something in them cannot be masked by itself: {}{more}", some.join(", "));
    }
    outcome.evidence = Some(before + &told);
}

fn failed(fault: &NoRun) -> Failure {
    let code = match fault {
        NoRun::Unavailable { .. } => Code::SandboxUnavailable,
        NoRun::Root { .. } | NoRun::Moved { .. } => Code::RootNotEnforceable,
        NoRun::Session { .. } => Code::SessionUnknown,
        NoRun::Stopped => Code::Cancelled,
        NoRun::Fault(why) => {
            tracing::error!(why, "the jail failed");
            return Failure::new(Code::Internal, "the sandbox failed; the server's log says why");
        }
    };
    let failure = Failure::new(code, fault.to_string());
    if code == Code::SandboxUnavailable {
        failure.hint("`toolgate doctor` says what this machine lacks and how to mend it")
    } else {
        failure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_wrote_more_than_an_hour_allows_is_told_so_with_the_rule() {
        let text = |own: &str| {
            format!(
                "version = 1\n[profiles.p]\npermissions = [\"FULL\"]\nallowed_tools = [\"*\"]\n{own}\n[limits]\nwrite_per_hour = \"3 MiB\""
            )
        };
        let said = |own: &str, written| over_budget(&crate::manifest::parse(&text(own), crate::tools::specs()).unwrap(), "p", written);
        let over = said("", 4 << 20).unwrap();
        assert!(over.contains("4194304 bytes") && over.contains("`limits.write_per_hour`"), "{over}");
        assert!(said("write_per_hour = \"1 MiB\"", 2 << 20).unwrap().contains("`profiles.p.write_per_hour`"));
        assert_eq!((said("", 3 << 20), said("", 0)), (None, None));
    }
}
