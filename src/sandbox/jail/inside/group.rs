//! One call without an init of ours: a keeper leads a process group, has the orphans come to it, and its supervisor ends the whole group.

use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use rustix::process::{Pid, Signal};

use super::attend::{self, Call, Rest, tell};
use super::cgroup::Group;
use super::init::{self, Reach};
use super::layers::Built;
use super::site::Site;
use super::supervisor::{self, Handed, Streams};
use super::trees::Eyes;
use super::{enter, program, raw, walls, wrap};
use crate::sandbox::jail::ground::Ground;
use crate::sandbox::jail::order::{self, Order, Word};

/// Serves one call, in a process of its own, with the user number `own` that no other has.
pub(super) fn serve(order: &Order, handed: Handed, own: Option<u32>, group: &Group) -> ExitCode {
    let Handed { call, program, roots } = handed;
    let Ok(ticket) = program.ticket.share() else { return tell(&call, &Word::Returned) };
    let _ = tell(&call, &Word::Building);
    let mut built = Built::default();
    supervisor::join(order, group, &mut built);
    let user = match enter::eyes_of(own) {
        Eyes::Own => None,
        Eyes::Other(user, _) => Some(user),
    };
    enter::note_user(own, &mut built);
    let made = match &order.kind.ground {
        Ground::Wrapped(_) => Ok((None, roots)),
        _ => Site::make(order, roots, user, own.is_some()).map(|site| (Some(site), Vec::new())),
    };
    let (site, roots) = match made {
        Ok(made) => made,
        Err(word) => return tell(&call, &word),
    };
    let rest = Rest { grouped: true, wrapped: matches!(order.kind.ground, Ground::Wrapped(_)), site };
    let started = rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|e| e.to_string())
        .and_then(|()| order::channel())
        .and_then(|pair| raw::fork().map(|child| (pair, child)));
    match started {
        Err(e) => {
            rest.site.iter().for_each(Site::clear);
            tell(&call, &Word::Fault(format!("starting a keeper: {e}")))
        }
        Ok(((inner, inside), None)) => {
            drop((inner, call));
            Keeper { order, user, site: rest.site.as_ref(), inside: &inside, group }.run(program, &roots, built)
        }
        Ok(((inner, inside), Some(child))) => {
            drop((inside, program, roots));
            attend::attend(&Call { channel: call, ticket, wall: order.asked.wall }, &inner, child, Some(group), &rest)
        }
    }
}

/// The leader of the group, which watches over the program.
struct Keeper<'a> {
    order: &'a Order,
    user: Option<u32>,
    site: Option<&'a Site>,
    inside: &'a OwnedFd,
    group: &'a Group,
}

impl Keeper<'_> {
    fn run(&self, handed: Streams, roots: &[OwnedFd], mut built: Built) -> ExitCode {
        let say = |word: &Word| order::send(self.inside.as_fd(), word, &[]).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
        let own = Some(rustix::process::getpid());
        if rustix::process::setsid().is_err() || rustix::process::set_child_subreaper(own).is_err() || !init::tie(self.inside) {
            return ExitCode::FAILURE;
        }
        // Held until the program has ended: with it `bwrap` ends, and with that everything in its namespaces.
        let wrapped = match self.surround(roots, &mut built) {
            Ok(wrapped) => wrapped,
            Err(word) => return say(&word),
        };
        let signals = match init::listen() {
            Ok(signals) => signals,
            Err(word) => return say(&word),
        };
        match raw::fork() {
            Err(e) => say(&Word::Fault(format!("starting the program: {e}"))),
            Ok(None) => match self.prepare(&mut built) {
                Err(word) => say(&word),
                Ok(()) => program::run(self.order, handed, built, self.inside, None, self.site, program::others(self.order, self.site)),
            },
            Ok(Some(child)) => {
                let kept = handed.is_kept();
                drop(handed);
                // The program may have the same user: it shall not read this process's memory.
                let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
                let watch = init::watch(self.order, self.site).telling(kept, self.inside).charging(self.group.cpu_time());
                let mut clock = init::Clock { call: self.inside, wall: attend::FOR_EVER, started: None };
                let (reach, clock) = if wrapped.is_some() { (Reach::Below(child), Some(&mut clock)) } else { (Reach::One(child), None) };
                let end = init::attend(self.order, &init::Program::Child(child), &signals, watch, reach, clock);
                // Those that the program left in the namespaces are dead with their init.
                if let Some(wrapped) = wrapped {
                    wrapped.end();
                }
                say(&match end {
                    Ok(end) => Word::Ended(end),
                    Err(fault) => fault,
                })
            }
        }
    }

    /// What stands around the program before it is there.
    fn surround(&self, roots: &[OwnedFd], built: &mut Built) -> Result<Option<wrap::Wrapped>, Word> {
        if let Ground::Wrapped(program) = &self.order.kind.ground {
            if let Some(user) = self.user {
                for (root, dir) in self.order.kind.roots.iter().zip(roots) {
                    super::site::admits(dir, user, root.writable).map_err(|reason| Word::Root { root: root.name.clone(), reason })?;
                }
                enter::become_user(user).map_err(|e| Word::Fault(format!("taking on a user: {e}")))?;
                if !init::tie(self.inside) {
                    return Err(Word::Fault("the supervisor is dead".to_owned()));
                }
            }
            return wrap::join(self.order, roots, program, built).map(Some);
        }
        for name in ["user", "mount", "pid", "net", "ipc", "uts", "cgroup"] {
            built.missing(&format!("{name}_namespace"), "off: this ground has no namespaces");
        }
        init::note_shared(built);
        // No socket can be made at all, and Landlock closes what needs none.
        built.on("network");
        Ok(None)
    }

    /// In the program's process: its own mounts where it may make some, its own user, no privilege.
    fn prepare(&self, built: &mut Built) -> Result<(), Word> {
        if matches!(self.order.kind.ground, Ground::Wrapped(_)) {
            wrap::furnish(self.order, built)?;
        } else if let Some(user) = self.user {
            walls::drop_bounding_set().map_err(Word::Fault)?;
            enter::become_user(user).map_err(|e| Word::Fault(format!("taking on a user: {e}")))?;
        }
        // The keeper's death is the program's; whoever it started dies by the group.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(|e| Word::Fault(e.to_string()))?;
        walls::drop_privileges(built).map_err(|e| Word::Fault(format!("dropping capabilities: {e}")))
    }
}

/// Ends one process and takes it.
pub(super) fn finish(child: Pid) {
    let _ = rustix::process::kill_process(child, Signal::KILL);
    let _ = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty()));
}
