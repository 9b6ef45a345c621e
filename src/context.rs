//! Floor 6: what every call of one server shares, built once by the command line and handed down.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::audit::{Event, Log, Record, Sync};
use crate::gate::Gate;
use crate::manifest::Manifest;
use crate::model::ToolSpec;
use crate::policy;
use crate::reload::{Reload, Source};
use crate::sandbox::Sandbox;
use crate::state::StateDir;
use crate::tool::Tool;

/// One server's log, gate, sandbox and tools.
#[derive(Debug)]
pub struct ServerContext {
    log: Arc<Log>,
    gate: Gate,
    sandbox: Sandbox,
    tools: &'static [&'static dyn Tool],
    /// What clients are told of each tool, as digests; made when a tool is first called.
    definitions: Mutex<BTreeMap<&'static str, Arc<str>>>,
    reload: Reload,
    /// Profiles that interpreters were got ready for.
    prepared: tokio::sync::Mutex<BTreeSet<String>>,
    /// What is done beside the calls.
    background: Mutex<JoinSet<()>>,
}

/// So long after the list of tools was read the processor is left to a program that comes right behind it.
const BEHIND: Duration = Duration::from_millis(250);

impl ServerContext {
    /// A server of these parts.
    pub fn new(log: Arc<Log>, gate: Gate, sandbox: Sandbox, tools: &'static [&'static dyn Tool]) -> Self {
        Self {
            log,
            gate,
            sandbox,
            tools,
            definitions: Mutex::default(),
            reload: Reload::default(),
            prepared: tokio::sync::Mutex::default(),
            background: Mutex::default(),
        }
    }

    /// The same, with a manifest that may change while it is served.
    #[must_use]
    pub fn watching(self, source: Box<dyn Source>) -> Self {
        Self { reload: Reload::of(source), ..self }
    }

    /// Takes a change of the manifest where it may be taken.
    pub async fn refresh(&self) {
        self.reload.refresh(self).await;
    }

    /// Told after every change of what is in force.
    pub fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.reload.changes()
    }

    /// The log.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// The gate.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The sandbox.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The state folder.
    pub fn state(&self) -> &StateDir {
        self.gate.state()
    }

    /// Clears away what is over: questions, marks of used approvals, keys, counts that say nothing any more.
    /// # Errors  When a folder of the state cannot be listed.
    pub(crate) fn sweep(&self) -> std::io::Result<()> {
        self.gate.sweep()
    }

    /// Every tool.
    pub(crate) fn tools(&self) -> &'static [&'static dyn Tool] {
        self.tools
    }

    /// The tool of this name.
    pub fn tool(&self, name: &str) -> Option<&'static dyn Tool> {
        self.tools.iter().copied().find(|tool| tool.spec().name == name)
    }

    /// Digest of what clients are told of a tool: an approval is one of this very definition.
    pub fn definition(&self, tool: &dyn Tool) -> Arc<str> {
        let mut known = self.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(tool.spec().name).or_insert_with(|| tool.card().digest(tool.spec().name).into()))
    }

    /// Digests of the definitions of all tools that one grant for this tool covers, concatenated.
    pub fn definitions(&self, tool: &dyn Tool) -> String {
        let kin = policy::kin(tool.spec().name).iter().filter_map(|name| self.tool(name));
        let all: Vec<Arc<str>> = kin.map(|kin| self.definition(kin)).collect();
        if all.is_empty() { self.definition(tool).to_string() } else { all.concat() }
    }

    /// The tools a profile could ever use, by name.
    pub fn tools_for(&self, profile: Option<&str>) -> Vec<&'static dyn Tool> {
        let manifest = self.gate.manifest();
        let usable = |tool: &&'static dyn Tool| profile.is_some_and(|profile| self.is_usable(&manifest, profile, *tool));
        self.tools.iter().copied().filter(usable).collect()
    }

    /// Whether a profile could ever use a tool.
    pub fn could_use(&self, profile: Option<&str>, tool: &dyn Tool) -> bool {
        profile.is_some_and(|profile| self.is_usable(&self.gate.manifest(), profile, tool))
    }

    /// A tool that consists of calls of another one can be used where both can.
    fn is_usable(&self, manifest: &Manifest, profile: &str, tool: &dyn Tool) -> bool {
        let other = tool.parts().and_then(|parts| self.tool(parts.tool));
        policy::could_use(manifest, profile, tool.spec()) && other.is_none_or(|other| policy::could_use(manifest, profile, other.spec()))
    }

    /// Finds out in the background what the programs of these profiles need, where one of them may run programs: where the interpreter lives, and
    /// which walls hold here. No interpreter waits for a program yet.
    pub fn discover<'p>(self: &Arc<Self>, mut profiles: impl Iterator<Item = &'p str>) {
        if profiles.any(|profile| self.has_tool(profile, "run_python")) {
            let server = Arc::clone(self);
            self.spawn(async move { server.sandbox.python.discover().await });
        }
    }

    /// A client has read the list of tools, and may call one of them next: what a first call would wait for is got ready.
    pub fn listed(self: &Arc<Self>, profile: Option<&str>) {
        self.prepare(profile);
        if profile.is_some_and(|profile| self.has_tool(profile, "fetch")) {
            let server = Arc::clone(self);
            self.spawn(async move {
                tokio::time::sleep(BEHIND).await;
                server.sandbox.prepare_fetch();
            });
        }
    }

    /// Whether something is to be got ready for a tool of a profile: nothing is while the emergency stop is pulled.
    fn has_tool(&self, profile: &str, name: &str) -> bool {
        !self.state().is_killed() && self.tool(name).is_some_and(|tool| self.could_use(Some(profile), tool))
    }

    /// Gets interpreters ready in the background, once for each profile.
    fn prepare(self: &Arc<Self>, profile: Option<&str>) {
        let Some(profile) = profile.filter(|profile| self.has_tool(profile, "run_python")) else { return };
        let (server, profile) = (Arc::clone(self), profile.to_owned());
        self.spawn(async move {
            // One after the other: what is got ready for one profile often serves another.
            let mut prepared = server.prepared.lock().await;
            if prepared.insert(profile.clone()) {
                server.sandbox.python.prepare(server.gate.manifest(), &profile).await;
            }
        });
    }

    /// Does something beside what goes on, until it is done or the server is closed.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut background = self.background.lock().unwrap_or_else(PoisonError::into_inner);
        while background.try_join_next().is_some() {}
        background.spawn(work);
    }

    /// Ends what goes on in the background, and everything that is kept running between calls: nothing of it outlives the server.
    pub async fn rest(&self) {
        let mut background = std::mem::take(&mut *self.background.lock().unwrap_or_else(PoisonError::into_inner));
        // A search for a jail is ended with what it has started, before its task is.
        self.sandbox.close().await;
        background.shutdown().await;
        // What a task has started after all.
        self.sandbox.close().await;
    }

    /// What a profile may do, in plain words.
    pub fn policy_in_words(&self, profile: Option<&str>) -> String {
        let specs: Vec<&ToolSpec> = self.tools_for(profile).iter().map(|tool| tool.spec()).collect();
        policy::words::in_words(&self.gate.manifest(), profile, &specs)
    }

    /// The roots of a profile in one line, for a model.
    pub fn roots_in_line(&self, profile: Option<&str>) -> String {
        policy::words::roots_in_line(&self.gate.manifest(), profile.unwrap_or_default())
    }

    /// The same, as the description of a tool names them.
    pub fn roots_in_short(&self, profile: Option<&str>) -> String {
        policy::words::roots_in_short(&self.gate.manifest(), profile.unwrap_or_default())
    }

    /// The longest message a client may send: a file of the largest size in base64, escaped, with room for the rest.
    pub fn longest_message(&self) -> usize {
        const LEAST: usize = 16 << 20;
        (self.gate.manifest().files.max_file_size.as_usize().saturating_mul(2)).saturating_add(1 << 20).max(LEAST)
    }

    /// Records that a session began.
    pub fn session_begins(&self, session: &str, principal: &str, profile: Option<&str>) {
        let mut record = Record::new(Event::SessionStarted);
        record.session = Some(session);
        record.principal = Some(principal);
        record.profile = profile;
        self.record(&record);
    }

    /// Ends a session: its grants, its scratch folder, its interpreters.
    pub fn session_ends(&self, session: &str) {
        self.gate.end_session(session);
        self.sandbox.end_session(session);
        let mut record = Record::new(Event::SessionEnded);
        record.session = Some(session);
        self.record(&record);
    }

    /// Pulls the emergency stop: no new call, every running one stopped.
    pub async fn kill(&self, reason: &str) {
        if let Err(fault) = self.state().kill(reason) {
            tracing::error!(%fault, "the kill switch could not be set");
        }
        self.stop_everything().await;
        let mut record = Record::new(Event::KillOn);
        record.extra = Map::from_iter([("reason_given".to_owned(), Value::String(reason.to_owned()))]);
        self.record(&record);
    }

    /// Ends every running call and every kept interpreter at once.
    pub async fn stop_everything(&self) {
        self.gate.stop_everything();
        self.sandbox.stop().await;
    }

    /// Records what the manifest is that this server judges by.
    pub fn manifest_loaded(&self, place: &str) {
        let gate = self.gate.for_call();
        let mut record = Record::new(Event::ManifestLoaded);
        record.manifest_sha256 = Some(gate.manifest_sha256());
        record.extra = Map::from_iter([("from".to_owned(), json!(place))]);
        self.record(&record);
    }

    /// The last words: the log is whole and on disk.
    pub fn close(&self) {
        if let Err(fault) = self.log.close() {
            tracing::error!(%fault, "the log could not be closed");
        }
    }

    /// Records an event of the server.
    pub(crate) fn record(&self, record: &Record<'_>) {
        if let Err(fault) = self.log.append(record, Sync::Handed) {
            tracing::error!(%fault, event = record.event.as_str(), "an event could not be recorded");
        }
    }
}
