//! A jail that the spawner has started, as the server sees it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use futures::future::BoxFuture;
use rustix::net::Shutdown;
use rustix::process::{Signal, pidfd_send_signal};
use tokio::io::Interest;
use tokio::net::UnixDatagram;
use tokio::time::{Instant, sleep_until, timeout};

use super::prove;
use crate::backend::{Io, NotStarted, Probe, Running};
use crate::client::Client;
use crate::end::{End, Limit, Usage};
use crate::message::{self, Call, Command, Event, FolderPlan, Isolation, Order, Plan};
use crate::spawner::cgroup;
use crate::spec::{Layers, Spec};

/// How long a jail may take to be built.
const BUILDING: Duration = Duration::from_secs(20);
/// Init keeps the time of its program; what it does not end is ended so much later.
const BACKUP: Duration = Duration::from_secs(2);
/// How long init may take to end everything, before it is killed itself.
const GRACE: Duration = Duration::from_millis(1250);
/// How long init may take to have everything stand still.
const STANDING: Duration = Duration::from_millis(2500);

/// A jail.
#[derive(Debug)]
pub(super) struct Jail {
    /// It keeps messages apart, and the runtime does not ask of which type the socket is.
    channel: UnixDatagram,
    layers: Layers,
    gateway: Option<OwnedFd>,
    /// The user number that its program has for itself.
    pub(super) user: Option<u32>,
    /// Its first process.
    process: Option<OwnedFd>,
    /// Counts the processes killed for memory.
    kills: Option<File>,
    /// When the program is ended from here.
    late: Option<Instant>,
    /// When init is killed, once the end was asked for.
    killing: Option<Instant>,
    /// That the program was ended from here for its time.
    stopped: Option<(Limit, String)>,
    end: Option<End>,
}

/// The descriptors of a call, in the order of [`Command::Call`].
pub(super) fn descriptors(io: &Io) -> Vec<BorrowedFd<'_>> {
    let task = io.task.iter().flat_map(|(task, report)| [task.as_fd(), report.as_fd()]);
    [io.stdin.as_fd(), io.stdout.as_fd(), io.stderr.as_fd()].into_iter().chain(task).collect()
}

impl Jail {
    /// Starts a jail, and waits until its program stands behind all walls. `io`: for a program that does not wait. The folders of `spec` are handed
    /// over where the isolation shows them from the start.
    ///
    /// # Errors
    /// Why not.
    pub(super) async fn build(client: &Client, plan: Plan, spec: &Spec, io: Option<&Io>) -> Result<Self, NotStarted> {
        let fault = |e: io::Error| NotStarted::fault("making a channel", e);
        let (ours, theirs) = message::channel().map_err(fault)?;
        rustix::io::ioctl_fionbio(&ours, true).map_err(|e| fault(e.into()))?;
        let mut fds = vec![theirs.as_fd()];
        fds.extend(io.into_iter().flat_map(descriptors));
        if matches!(plan.isolation, Isolation::Landlock | Isolation::Bubblewrap(_)) {
            fds.extend(spec.folders.iter().map(|folder| folder.dir.as_fd()));
        }
        let late = (!plan.waits).then(|| Instant::now() + BUILDING + spec.limits.wall + BACKUP);
        client.send(&Order::Start(Box::new(plan), Call::of(spec)), &fds).await?;
        drop(theirs);
        let channel = UnixDatagram::from_std(ours.into()).map_err(fault)?;
        let mut jail = Self {
            channel,
            layers: Layers::new(),
            gateway: None,
            user: None,
            process: None,
            kills: None,
            late,
            killing: None,
            stopped: None,
            end: None,
        };
        let ready = async {
            loop {
                match jail.next().await {
                    Some(Event::Ready(layers)) => {
                        jail.layers = layers;
                        return Ok(());
                    }
                    Some(Event::Refused(why)) => return Err(why),
                    Some(Event::Ended(end)) => {
                        return Err(NotStarted::fault("starting the program", format!("it ended at once ({end:?})")));
                    }
                    Some(_) => {}
                    None => return Err(NotStarted::Fault("the jail was ended from outside".to_owned())),
                }
            }
        };
        timeout(BUILDING, ready).await.unwrap_or_else(|_| Err(NotStarted::Fault("building the jail took too long".to_owned())))?;
        Ok(jail)
    }

    /// The next event; `None` once the jail has closed its channel. Safe to drop.
    async fn next(&mut self) -> Option<Event> {
        let received = self.channel.async_io(Interest::READABLE, || message::receive::<Event>(self.channel.as_fd())).await;
        let (event, fds) = received.ok().flatten()?;
        let mut fds = fds.into_iter();
        match &event {
            Event::Begun(user) => (self.user, self.process, self.kills) = (*user, fds.next(), fds.next().map(File::from)),
            Event::Ready(_) => self.gateway = fds.next(),
            _ => {}
        }
        Some(event)
    }

    /// Hands a call over and waits until the program has it; on grounds that show folders with the call, the spawner shows them first. `None` where
    /// the jail was ended from outside before the program had its call: nothing has run.
    ///
    /// # Errors
    /// Why the program does not begin.
    pub(super) async fn call(mut self, client: &Client, spec: &Spec, io: &Io, shows_folders: bool) -> Result<Option<Self>, NotStarted> {
        if shows_folders && !spec.folders.is_empty() {
            let call = Call::of(spec);
            let folders = spec.folders.iter().map(FolderPlan::of).collect();
            let mut fds = vec![self.channel.as_fd()];
            fds.extend(spec.folders.iter().map(|folder| folder.dir.as_fd()));
            client.send(&Order::Show(folders, self.user, call.covers), &fds).await?;
            if !self.wait_for(|event| matches!(event, Event::Shown), "showing the folders").await? {
                return Ok(None);
            }
        }
        // Only now, and from here: a call that was given up meanwhile never begins.
        if message::send(self.channel.as_fd(), &Command::Call(Call::of(spec)), &descriptors(io)).is_err()
            || !self.wait_for(|event| matches!(event, Event::Started), "handing over the call").await?
        {
            return Ok(None);
        }
        self.late = Some(Instant::now() + spec.limits.wall + BACKUP);
        Ok(Some(self))
    }

    /// Waits for an event; false where the jail was ended from outside before it came.
    ///
    /// # Errors
    /// Why the program does not begin.
    async fn wait_for(&mut self, wanted: fn(&Event) -> bool, doing: &str) -> Result<bool, NotStarted> {
        let waiting = async {
            loop {
                match self.next().await {
                    Some(event) if wanted(&event) => return Ok(true),
                    Some(Event::Refused(why)) => return Err(why),
                    Some(Event::Ended(_)) | None => return Ok(false),
                    Some(_) => {}
                }
            }
        };
        timeout(BUILDING, waiting).await.unwrap_or_else(|_| Err(NotStarted::fault(doing, "it took too long")))
    }

    /// The end of a program of which init has said nothing.
    fn lost(&self) -> End {
        let kills = self.kills.as_ref().map_or(0, cgroup::kills);
        let limit = (kills > 0).then(|| cgroup::out_of_memory(kills));
        End { signal: limit.is_some().then_some(nix::libc::SIGKILL), limit, ..End::default() }
    }

    async fn wait_for_end(&mut self) -> End {
        loop {
            if let Some(end) = &self.end {
                return end.clone();
            }
            let due = self.killing.or(self.late);
            let event = tokio::select! {
                biased;
                event = self.next() => Some(event),
                () = async {
                    match due {
                        Some(due) => sleep_until(due).await,
                        None => std::future::pending().await,
                    }
                } => None,
            };
            let end = match event {
                Some(Some(Event::Ended(end))) => end,
                Some(Some(Event::Refused(why))) => {
                    tracing::error!(?why, "a jail failed while its program ran");
                    self.lost()
                }
                Some(Some(_)) => continue,
                Some(None) => self.lost(),
                None if self.killing.is_none() => {
                    self.stopped = Some((Limit::Wall, "still running after its time, and ended from outside".to_owned()));
                    self.kill();
                    continue;
                }
                None => {
                    // With init the kernel ends everything in its process namespace.
                    if let Some(process) = &self.process {
                        let _ = pidfd_send_signal(process, Signal::KILL);
                    }
                    self.lost()
                }
            };
            let limit = self.stopped.take().or(end.limit);
            self.end = Some(End { limit, ..end });
        }
    }
}

impl Running for Jail {
    fn layers(&self) -> &Layers {
        &self.layers
    }

    fn gateway(&mut self) -> Option<OwnedFd> {
        self.gateway.take()
    }

    fn feed<'a>(&'a mut self, spec: &'a Spec, io: Io) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            self.late = Some(Instant::now() + spec.limits.wall + BACKUP);
            message::send(self.channel.as_fd(), &Command::Call(Call::of(spec)), &descriptors(&io))
        })
    }

    fn pause(&mut self) -> BoxFuture<'_, Option<(Usage, u64)>> {
        Box::pin(async {
            self.late = None;
            message::send(self.channel.as_fd(), &Command::Pause, &[]).ok()?;
            let standing = async {
                loop {
                    match self.next().await? {
                        Event::Paused(usage, written) => return Some((usage, written)),
                        Event::Ended(end) => {
                            self.end = Some(end);
                            return None;
                        }
                        _ => {}
                    }
                }
            };
            timeout(STANDING, standing).await.ok().flatten()
        })
    }

    fn end(&mut self) -> BoxFuture<'_, End> {
        Box::pin(self.wait_for_end())
    }

    fn kill(&mut self) {
        if self.killing.is_none() {
            self.killing = Some(Instant::now() + GRACE);
            // Closing our half asks init to end. An unread message would discard the last event of init (unix(7)).
            let _ = rustix::net::shutdown(&self.channel, Shutdown::Write);
        }
    }
}

/// Runs a trial in a jail of its own with an isolation.
pub(super) async fn prove_on(client: &Client, isolation: Isolation, trial: &Spec) -> Probe {
    prove(false, async |io| Ok(Box::new(Jail::build(client, Plan::of(trial, isolation), trial, Some(&io)).await?) as Box<dyn Running>))
        .await
}
