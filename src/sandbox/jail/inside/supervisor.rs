//! One call from nothing: into new namespaces, then init, then the clock.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::process::ExitCode;

use super::attend::{self, Call, Rest, tell};
use super::cgroup::{Group, Lacks};
use super::enter::enter;
use super::layers::Built;
use super::{group, init, raw};
use crate::sandbox::jail::ground::PARTIAL_CPU_TIME;
use crate::sandbox::jail::order::{self, Order, Word};
use crate::sandbox::jail::ticket::Ticket;

/// What a program gets, and what it begins with.
#[derive(Debug)]
pub(super) struct Streams {
    /// The right to begin.
    pub(super) ticket: Ticket,
    /// Standard input, output, error, the program, the report, the compiled bootstrap.
    pub(super) fds: [OwnedFd; 6],
}

impl Streams {
    /// Whether the interpreter stays for more programs: they come over a socket then.
    pub(super) fn is_kept(&self) -> bool {
        let [_, _, _, program, ..] = &self.fds;
        rustix::fs::fstat(program).is_ok_and(|facts| rustix::fs::FileType::from_raw_mode(facts.st_mode) == rustix::fs::FileType::Socket)
    }
}

/// The descriptors of a call, in the order of the message.
#[derive(Debug)]
pub(super) struct Handed {
    /// The channel on which the call is answered.
    pub(super) call: OwnedFd,
    /// What the program gets.
    pub(super) program: Streams,
    /// The roots.
    pub(super) roots: Vec<OwnedFd>,
}

impl Handed {
    /// Sorts the descriptors of a message. `None` when some are missing.
    pub(super) fn sort(fds: Vec<OwnedFd>) -> Option<Self> {
        let mut fds = fds.into_iter();
        let call = fds.next()?;
        let ticket = Ticket::from_fd(fds.next()?);
        let streams: Vec<OwnedFd> = fds.by_ref().take(6).collect();
        Some(Self { call, program: Streams { ticket, fds: streams.try_into().ok()? }, roots: fds.collect() })
    }

    /// In a forked process: what is to be closed there.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        let others = std::iter::once(&self.call).chain(&self.program.fds).chain(&self.roots).map(AsRawFd::as_raw_fd);
        others.chain([self.program.ticket.descriptor()])
    }
}

/// Serves one call, in a process of its own, with the user number `own` that no other has.
pub(super) fn serve(order: &Order, handed: Handed, own: Option<u32>, group: &Group) -> ExitCode {
    if !order.kind.ground.has_init() {
        return group::serve(order, handed, own, group);
    }
    let Handed { call, program, roots } = handed;
    let Ok(ticket) = program.ticket.share() else { return tell(&call, &Word::Returned) };
    // From here on the time of the building counts, and no longer that of the waiting.
    let _ = tell(&call, &Word::Building);
    let mut built = Built::default();
    join(order, group, &mut built);
    let shown = match enter(order, &roots, own, &mut built) {
        Ok(shown) => shown,
        Err(word) => return tell(&call, &word),
    };
    drop(roots);
    let (inner, inside) = match order::channel() {
        Ok(pair) => pair,
        Err(e) => return tell(&call, &Word::Fault(e)),
    };
    match raw::fork() {
        Err(e) => tell(&call, &Word::Fault(format!("starting init: {e}"))),
        Ok(None) => {
            drop((inner, call));
            init::run(order, program, shown, built, &inside, group.cpu_time())
        }
        Ok(Some(child)) => {
            let rest = Rest::default();
            drop((inside, program, shown));
            attend::attend(&Call { channel: call, ticket, wall: order.asked.wall }, &inner, child, Some(group), &rest)
        }
    }
}

/// Joins the group of the call with this process and what it starts, and notes what that bounds.
pub(super) fn join(order: &Order, group: &Group, built: &mut Built) {
    let mut lacks = group.lacks();
    if let Err(reason) = group.enter() {
        lacks = Lacks { memory: Some(reason.clone()), cpu: Some(reason.clone()), cpu_time: Some(reason), all_cpu: false };
    }
    note(order, &lacks, built);
}

/// Notes what the groups of a call bound.
pub(super) fn note(order: &Order, lacks: &Lacks, built: &mut Built) {
    match &lacks.memory {
        None => built.on("memory_cgroup"),
        Some(reason) => {
            built.missing("memory_cgroup", format!("off: {reason}; until then memory is bounded by address space and by looking"));
        }
    }
    match &lacks.cpu_time {
        None => built.on("cpu_time"),
        Some(reason) => built.missing("cpu_time", format!("{PARTIAL_CPU_TIME}: {reason}")),
    }
    let percent = order.kind.limits.cpu_share;
    match &lacks.cpu {
        None if !lacks.all_cpu => built.on("cpu_share"),
        None => built.missing("cpu_share", format!("none needed: {percent} % of a core are all there are")),
        Some(reason) => {
            built
                .missing("cpu_share", format!("off: {reason}; until then programs run at low priority and may take more than {percent} %"));
        }
    }
}
