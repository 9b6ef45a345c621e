//! One call, in one jail after the other until its program begins: from then on there is no other.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::backend::{Backend, Progress};
use super::collect::sealed;
use super::ending::Ending;
use super::harvest;
use super::native::{Native, program_file};
use super::order::{End, Order};
use super::outcome::{Isolation, NoRun, Outcome};
use super::spec::{JailSpec, Layers};
use super::streams::{Gathered, Listener, Pipes};
use super::verdict::Stop;
use super::words::{Flood, Times, Told, Words};

/// Jails in which a call is tried until its program begins.
pub(super) const TRIES: u32 = 3;
/// The jail keeps the time of its program, and two processes do; the server ends what neither of them ended in so much more.
const BACKUP: Duration = Duration::from_secs(2);
/// So long the streams of a jail may take to end after its program.
const DYING: Duration = Duration::from_secs(1);

/// What a program prints in its first moments is read when they are over, or it is: watching its streams would cost a short one more than anything
/// else that is done for it. More than a pipe holds (64 KiB, pipe(7)) waits so long.
const SHORT: Duration = Duration::from_millis(3);

/// What came of a call in one jail.
#[derive(Debug)]
struct Tried {
    /// How it ended, with the layers; nothing where the program never began.
    told: Option<(End, Layers)>,
    stop: Option<Stop>,
    gathered: Gathered,
}

impl Native {
    /// Makes a call.
    ///
    /// # Errors
    /// As for any call.
    pub(super) async fn make(
        &self,
        spec: &JailSpec,
        order: Order,
        cancel: &CancellationToken,
        progress: Progress,
    ) -> Result<Outcome, NoRun> {
        let (began, before) = (Instant::now(), harvest::Before::look(spec.writable(), None));
        let mut jails = 0;
        let mut last = loop {
            jails += 1;
            let mut tried = self.attempt(spec, &order, cancel, progress.as_ref(), began).await?;
            if tried.told.is_none() && began.elapsed() >= spec.limits.wall {
                tried.stop.get_or_insert(Stop::Waited(spec.limits.wall));
            }
            // Not one instruction of the program has run: another jail may have it.
            if tried.told.is_some() || tried.stop.is_some() || jails == TRIES {
                break tried;
            }
        };
        let Some((end, layers)) = last.told.take() else {
            let stop = match last.stop {
                None => Stop::NeverBegun,
                Some(Stop::Waited(_)) => Stop::Waited(spec.limits.wall),
                Some(stop) => stop,
            };
            return Ending::unbegun(began, stop, self.name()).await;
        };
        let Tried { stop, gathered, .. } = last;
        let (output, error, report) = gathered.end();
        let stop = stop.map(|stop| if matches!(stop, Stop::Wall(_)) { Stop::Wall(spec.limits.wall) } else { stop });
        Ending { began, before, end, stop, report, output, error, isolation: Isolation { backend: self.name().to_owned(), layers } }
            .outcome(spec)
            .await
    }

    /// Makes the call in one jail.
    async fn attempt(
        &self,
        spec: &JailSpec,
        order: &Order,
        cancel: &CancellationToken,
        progress: Listener<'_>,
        began: Instant,
    ) -> Result<Tried, NoRun> {
        let (mut pipes, ends) = Pipes::new()?;
        let stdin = sealed(&[&spec.stdin])?;
        let program = program_file(self, spec)?;
        let (flood, stop, mut gathered) = (Flood::new(spec.limits.output), Mutex::new(None), Gathered::new(spec.limits.output));
        let times = Times { wait: spec.limits.wall.saturating_sub(began.elapsed()), run: spec.limits.wall + BACKUP, cpu: None };
        let streams = [stdin.as_fd(), ends[0].as_fd(), ends[1].as_fd(), program.as_fd(), ends[2].as_fd()];
        let Some(mut words) = self.start_in_time(spec, order, streams, cancel, &stop, times.wait).await? else {
            return Ok(Tried { told: None, stop: stop.into_inner().unwrap_or_else(PoisonError::into_inner), gathered });
        };
        drop((stdin, program));
        // They keep the streams from ending: each end would be heard of by itself, while the program has still to leave.
        let ends = Mutex::new(Some(ends));
        let let_end = || drop(ends.lock().unwrap_or_else(PoisonError::into_inner).take());
        let following = async {
            tokio::time::sleep(SHORT).await;
            let_end();
            gathered.follow(&mut pipes, &flood, progress).await;
            std::future::pending::<std::convert::Infallible>().await
        };
        let told = tokio::select! {
            biased;
            told = words.listen(&flood, cancel, &stop, times) => told,
            never = following => match never {},
        };
        let_end();
        // What nobody will write to any more is not read to its end: a spawner that was stopped in the wrong moment may hold a pipe open.
        if matches!(told, Ok(Told::Ended(..) | Told::Lost(_))) && !gathered.take_rest(&pipes, &flood, progress) {
            // They end with the last process of the jail, and all of them are dead or dying.
            let _ = tokio::time::timeout(DYING, gathered.follow(&mut pipes, &flood, progress)).await;
        }
        words.doorway().close().await;
        let told = match told? {
            Told::Ended(end, layers) => Some((end, layers)),
            Told::Lost(layers) => Some((End::untold(&spec.limits), layers)),
            Told::Silent(layers) => {
                self.leave(words.sent()).await;
                Some((End::untold(&spec.limits), layers))
            }
            Told::Unbegun => None,
            Told::Untaken => {
                self.leave(words.sent()).await;
                None
            }
        };
        let told = told.map(|(end, layers)| (End { crowd: end.crowd.or_else(|| words.crowd()), ..end }, layers));
        Ok(Tried { told, stop: stop.into_inner().unwrap_or_else(PoisonError::into_inner), gathered })
    }

    /// As [`Native::start`], but no longer than the call is wanted and may wait; nothing then, with the reason noted.
    pub(super) async fn start_in_time(
        &self,
        spec: &JailSpec,
        order: &Order,
        program: [BorrowedFd<'_>; 5],
        cancel: &CancellationToken,
        stop: &Mutex<Option<Stop>>,
        wait: Duration,
    ) -> Result<Option<Words>, NoRun> {
        let reason = tokio::select! {
            biased;
            words = self.start(spec, order, program) => return words.map(Some),
            () = cancel.cancelled() => Stop::Cancelled,
            () = tokio::time::sleep(wait) => Stop::Waited(spec.limits.wall),
        };
        *stop.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
        Ok(None)
    }
}
