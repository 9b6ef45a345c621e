//! The permit: a yes that holds what it is a yes to.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::opened::Opened;
use super::rates;
use crate::manifest::Manifest;
use crate::model::{Action, Bytes, CallPath, Code, Failure, Fetch, Level, Target, WriteFile, WriteMode};
use crate::policy::over_writes;

/// The terms of a yes: the limits in force and the manifest it was given under.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The call's id in the log.
    pub call: String,
    /// The manifest that was judged by.
    pub manifest: Arc<Manifest>,
    /// The caller's profile.
    pub profile: String,
    /// The tool's name.
    pub tool: &'static str,
    /// The caller's session, for what hangs on it (session roots, Python handles).
    pub session: String,
    /// The caller's identity, for what hangs on it.
    pub principal: String,
    /// Largest file that is read whole or written: the smallest of `[files]`, the profile and the tool.
    pub max_file_size: Bytes,
    /// The most that the call may write, where how much that will be was not known when it was admitted.
    pub write_left: Option<Bytes>,
    /// Longest answer.
    pub max_answer: Bytes,
    /// Longest run time.
    pub timeout: Duration,
    /// The level that the action was judged as, and approved where that is asked for.
    pub level: Level,
    /// Most processor time of a program: what is left of the budget, where that is less than the manifest's.
    pub cpu: Duration,
    /// The only hosts that a redirect may lead to, where any other would have to be asked for first.
    pub hosts: Option<Arc<[String]>>,
    /// Bytes of what is reserved for sending that the call has sent so far, also where it fails in the end.
    pub sent: Arc<AtomicU64>,
}

impl Terms {
    /// Whether so many bytes may be written by this call.
    ///
    /// # Errors
    /// `quota`
    pub fn may_write(&self, target: &Target, size: Bytes) -> Result<(), Failure> {
        match self.write_left.filter(|left| size > *left) {
            None => Ok(()),
            Some(left) => Err(Failure(over_writes(&self.manifest, &self.profile, target, size, left))),
        }
    }

    /// Bytes that the caller may send in any hour.
    pub fn upload(&self) -> Bytes {
        rates::upload(&self.manifest, &self.profile)
    }
}

/// The right to do one action once, on the very objects it was judged on.
///
/// INVARIANT: only the gate makes one, it is neither `Clone` nor `Default`, and every verb of the sandbox takes it by value.
///
/// A tool spends its permit on one verb:
/// ```
/// # use toolgate::{gate::Permit, model::FileInfo, sandbox::Sandbox};
/// fn execute(permit: Permit<FileInfo>, sandbox: &Sandbox) {
///     let _ = sandbox.roots.info(permit);
/// }
/// ```
/// Not on two:
/// ```compile_fail,E0382
/// # use toolgate::{gate::Permit, model::FileInfo, sandbox::Sandbox};
/// fn execute(permit: Permit<FileInfo>, sandbox: &Sandbox) {
///     let _ = sandbox.roots.info(permit);
///     let _ = sandbox.roots.info(permit);
/// }
/// ```
/// Not on the verb of another action:
/// ```compile_fail,E0308
/// # use toolgate::{gate::Permit, model::FileInfo, sandbox::Sandbox};
/// fn execute(permit: Permit<FileInfo>, sandbox: &Sandbox) {
///     let _ = sandbox.roots.write(permit);
/// }
/// ```
/// An action without a permit is not enough:
/// ```compile_fail,E0308
/// # use toolgate::{model::FileInfo, sandbox::Sandbox};
/// fn execute(permit: FileInfo, sandbox: &Sandbox) {
///     let _ = sandbox.roots.info(permit);
/// }
/// ```
///
/// A permit is handed on:
/// ```
/// # use toolgate::{gate::Permit, model::FileInfo};
/// fn hand_on(permit: Permit<FileInfo>) -> (FileInfo, Permit<FileInfo>) {
///     (permit.action().clone(), permit)
/// }
/// ```
/// It cannot be copied:
/// ```compile_fail,E0308
/// # use toolgate::{gate::Permit, model::FileInfo};
/// fn hand_on(permit: &Permit<FileInfo>) -> (FileInfo, Permit<FileInfo>) {
///     (permit.action().clone(), permit.clone())
/// }
/// ```
/// It cannot be made:
/// ```compile_fail,E0624
/// # use std::sync::Arc;
/// # use toolgate::{gate::{Permit, Terms}, model::FileInfo};
/// fn hand_on(action: FileInfo, terms: Arc<Terms>) -> (FileInfo, Permit<FileInfo>) {
///     (action.clone(), Permit::new(action, Vec::new(), Vec::new(), terms))
/// }
/// ```
#[derive(Debug)]
pub struct Permit<A> {
    action: A,
    opened: Vec<Opened>,
    addresses: Vec<IpAddr>,
    terms: Arc<Terms>,
}

impl<A> Permit<A> {
    /// Made by the gate alone, from an allowed verdict.
    pub(in crate::gate) fn new(action: A, opened: Vec<Opened>, addresses: Vec<IpAddr>, terms: Arc<Terms>) -> Self {
        Self { action, opened, addresses, terms }
    }

    /// What may be done.
    pub fn action(&self) -> &A {
        &self.action
    }

    /// The terms it was given under.
    pub fn terms(&self) -> &Arc<Terms> {
        &self.terms
    }

    /// The objects it was given for, one for each touched path, in order.
    pub fn opened(&self) -> &[Opened] {
        &self.opened
    }

    /// The addresses its URL was judged on: the only ones its first connection may go to.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// Spends the permit.
    pub(crate) fn spend(self) -> (A, Vec<Opened>, Arc<Terms>) {
        (self.action, self.opened, self.terms)
    }
}

impl Permit<Action> {
    /// The same permit as one for this kind of action.
    /// # Errors  `internal` when it was given for another kind: a tool asked for what it did not plan.
    pub fn narrow<A: TryFrom<Action>>(self) -> Result<Permit<A>, Failure> {
        let Self { action, opened, addresses, terms } = self;
        match A::try_from(action) {
            Ok(action) => Ok(Permit { action, opened, addresses, terms }),
            Err(_) => Err(Failure::new(Code::Internal, "the permit is for another action")),
        }
    }
}

#[cfg(test)]
impl<A> Permit<A> {
    /// A permit that no gate gave, for tests of the sandbox's verbs alone.
    pub(crate) fn for_test(action: A, opened: Vec<Opened>, terms: Arc<Terms>) -> Self {
        Self { action, opened, addresses: Vec::new(), terms }
    }
}

#[cfg(test)]
impl Terms {
    /// Terms with room for everything, of the session `s`.
    pub(crate) fn for_test() -> Self {
        Self {
            call: "c_test".to_owned(),
            manifest: Arc::new(Manifest::default()),
            profile: "p".to_owned(),
            tool: "test",
            session: "s".to_owned(),
            principal: "test".to_owned(),
            max_file_size: Bytes::mib(64),
            write_left: None,
            max_answer: Bytes::mib(64),
            timeout: Duration::from_secs(10),
            level: Level::Read,
            cpu: Duration::from_secs(10),
            hosts: None,
            sent: Arc::default(),
        }
    }
}

/// The part of a permitted fetch that puts the body into a file.
#[derive(Debug)]
pub struct Save {
    path: CallPath,
}

impl Permit<Fetch> {
    /// Splits the file to save to off the request; what was judged for it goes with it.
    pub fn split_save(mut self) -> (Self, Option<Permit<Save>>) {
        let save = self.action.save_to.clone().map(|path| {
            let opened = std::mem::take(&mut self.opened);
            Permit { action: Save { path }, opened, addresses: Vec::new(), terms: Arc::clone(&self.terms) }
        });
        (self, save)
    }
}

impl Permit<Save> {
    /// The right to put this body into the judged file; its size is bound by the terms, as for any write.
    pub fn of(self, content: Vec<u8>) -> Permit<WriteFile> {
        let action = WriteFile { path: self.action.path, content, mode: WriteMode::Overwrite, expected_sha256: None };
        Permit { action, opened: self.opened, addresses: self.addresses, terms: self.terms }
    }
}
