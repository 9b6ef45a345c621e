//! One call from nothing: into new namespaces, then init, then the clock.

use std::os::fd::OwnedFd;
use std::process::ExitCode;

use super::attend::{self, Master, Rest, tell};
use super::cgroup::Group;
use super::enter::enter;
use super::layers::Built;
use super::{group, init, raw, seat};
use crate::sandbox::jail::order::{self, Order, Word};

/// The descriptors of a call, in the order of the message.
#[derive(Debug)]
pub(super) struct Handed {
    /// The channel on which the call is answered.
    pub(super) call: OwnedFd,
    /// Standard input, output, error, the program, the report, the compiled bootstrap.
    pub(super) program: [OwnedFd; 6],
    /// The roots.
    pub(super) roots: Vec<OwnedFd>,
}

impl Handed {
    /// Sorts the descriptors of a message. `None` when some are missing.
    pub(super) fn sort(fds: Vec<OwnedFd>) -> Option<Self> {
        let mut fds = fds.into_iter();
        let call = fds.next()?;
        let program: Vec<OwnedFd> = fds.by_ref().take(6).collect();
        Some(Self { call, program: program.try_into().ok()?, roots: fds.collect() })
    }
}

/// Serves one call, in a process of its own.
pub(super) fn serve(order: &Order, handed: Handed, group: Result<&Group, &String>) -> ExitCode {
    if !order.ground.has_init() {
        return group::serve(order, handed, group);
    }
    let Handed { call, program, roots } = handed;
    let mut built = Built::default();
    let group = group.map_err(String::clone).and_then(|group| group.take(0).map(|()| group));
    note(&mut built, group.as_ref().err());
    let mut shown = match enter(order, &roots, &mut built) {
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
            init::run(order, program, shown, built, &inside)
        }
        Ok(Some(child)) => {
            let rest = Rest { grouped: false, site: shown.site.take() };
            drop((inside, program, shown));
            attend::attend(Master::Call(call, order.limits.wall), &inner, child, group.ok(), &rest)
        }
    }
}

/// Builds one jail that waits for a call, in a process of its own.
pub(super) fn wait(order: &Order, seat: OwnedFd, no_group: Option<&String>) -> ExitCode {
    let mut built = Built::default();
    note(&mut built, no_group);
    let Ok(shown) = enter(order, &[], &mut built) else { return ExitCode::FAILURE };
    let Ok((inner, inside)) = order::channel() else { return ExitCode::FAILURE };
    match raw::fork() {
        Err(_) => ExitCode::FAILURE,
        Ok(None) => {
            drop(inner);
            seat::run(order, shown, built, &inside, &seat)
        }
        Ok(Some(child)) => {
            drop((inside, shown));
            attend::attend(Master::Seat(seat), &inner, child, None, &Rest::default())
        }
    }
}

pub(super) fn note(built: &mut Built, no_group: Option<&String>) {
    match no_group {
        None => built.on("memory_cgroup"),
        Some(reason) => built.missing("memory_cgroup", format!("off: {reason}")),
    }
}
