//! What the jail process and the program say while a call runs.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::RecvFlags;
use tokio::io::Interest;
use tokio_util::sync::CancellationToken;

use super::doorway::Doorway;
use super::link::{HUNG, Sent};
use super::order::{self, End, Full, Pace, Reached, Spent, Word};
use super::outcome::NoRun;
use super::spec::{Layers, Network};
use super::ticket::Ticket;
use super::verdict::Stop;

/// The channel of a call, on which the jail process answers. Dropping it ends the call.
#[derive(Debug)]
pub(super) struct Words {
    socket: tokio::net::UnixDatagram,
    /// The right to begin.
    ticket: Ticket,
    /// The order, which keeps the spawner.
    sent: Sent,
    layers: Layers,
    /// Whether the program was said to start; the layers may have been taken since.
    started: bool,
    doorway: Doorway,
    /// What was said of what a session used.
    used: Spent,
    /// How far it came towards its bounds, as far as that was not taken.
    reached: Reached,
    /// Words that came while something else was listened for.
    held: VecDeque<(Word, Vec<OwnedFd>)>,
    /// That the program stands at its bound of processes, as it was said last.
    crowd: Option<Box<Full>>,
}

impl Words {
    /// The channel of a new call.
    pub(super) fn new(socket: tokio::net::UnixDatagram, ticket: Ticket, sent: Sent, network: Option<Arc<dyn Network>>) -> Self {
        Self {
            socket,
            ticket,
            sent,
            layers: Layers::new(),
            started: false,
            doorway: Doorway::new(network),
            used: Spent::default(),
            reached: Reached::default(),
            held: VecDeque::new(),
            crowd: None,
        }
    }

    /// The order of the call.
    pub(super) fn sent(&self) -> &Sent {
        &self.sent
    }

    /// The way of the program to the network, where it has one.
    pub(super) fn doorway(&mut self) -> &mut Doorway {
        &mut self.doorway
    }

    /// The layers that stand, once they have been told.
    pub(super) fn take_layers(&mut self) -> Layers {
        std::mem::take(&mut self.layers)
    }

    /// What shows that the program stands at its bound of processes, as it was said last: it is said again only when that changes.
    pub(super) fn crowd(&self) -> Option<Box<Full>> {
        self.crowd.clone()
    }

    /// What all processes of a session used, as it was told last.
    pub(super) fn used(&self) -> Spent {
        self.used
    }

    /// The same, with what was told since. Other words are kept for the next call.
    pub(super) fn used_by_now(&mut self) -> Spent {
        // One that has ended is asked no more.
        while self.held.len() < HELD
            && let Ok(Some((word, fds))) = order::receive_now::<Word>(self.socket.as_fd())
        {
            match word {
                Word::Used(used) => self.used = self.used.max(used),
                // Said again and again: kept, they would leave no room for the others.
                Word::Reached(reached) => self.reached = self.reached.and(reached),
                Word::Crowd(crowd) => self.crowd = crowd,
                word => self.held.push_back((word, fds)),
            }
        }
        self.used
    }

    /// Has every process of a session go on. A jail that is gone has said why, which is heard next.
    pub(super) fn go_on(&self) {
        let _ = order::send_now(self.socket.as_fd(), &Pace::Go);
    }

    /// Has every process of a session stand still, and waits until all do. False where that is not said in time: the session is to be ended then.
    pub(super) async fn stand(&mut self) -> bool {
        if order::send_now(self.socket.as_fd(), &Pace::Stand).is_err() {
            return false;
        }
        let standing = async {
            let mut others = VecDeque::new();
            let stands = loop {
                match hear(&mut self.held, &self.socket).await {
                    Ok(Some((Word::Stands, _))) => break true,
                    Ok(Some((Word::Used(used), _))) => self.used = self.used.max(used),
                    Ok(Some((Word::Reached(reached), _))) => self.reached = self.reached.and(reached),
                    Ok(Some((Word::Crowd(crowd), _))) => self.crowd = crowd,
                    Ok(Some((Word::Ended(_) | Word::Over(..), _)) | None) | Err(_) => break false,
                    Ok(Some(other)) => others.push_back(other),
                }
            };
            self.held.append(&mut others);
            stands
        };
        tokio::time::timeout(ENDING, standing).await.unwrap_or(false)
    }

    /// How far the processes of a session have come towards their bounds, as it was heard since this was asked for last.
    pub(super) fn take_reached(&mut self) -> Reached {
        std::mem::take(&mut self.reached)
    }

    /// Ends a session, and says what all its processes used in its whole life: what its jail tells within [`ENDING`], else what it told last.
    pub(super) async fn used_at_last(mut self) -> Spent {
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
        let last = async {
            while let Ok(Some((word, _))) = hear(&mut self.held, &self.socket).await {
                match word {
                    Word::Used(used) => self.used = self.used.max(used),
                    Word::Ended(end) | Word::Over(_, end) => {
                        self.used = self.used.max(Spent { cpu_ms: end.usage.cpu_ms, written: end.written });
                    }
                    _ => {}
                }
            }
        };
        let _ = tokio::time::timeout(ENDING, last).await;
        self.used
    }

    /// Hears what was said before the program began. A short program is done before that was listened to.
    ///
    /// # Errors
    /// [`NoRun`] when the channel fails or closes first.
    pub(super) async fn catch_up(&mut self) -> Result<(), NoRun> {
        while self.layers.is_empty() {
            let heard =
                hear(&mut self.held, &self.socket).await?.ok_or_else(|| NoRun::Fault("the jail process died without a word".to_owned()))?;
            if let (Word::Started(all), fds) = heard {
                (self.layers, self.started) = (all, true);
                self.doorway.open(fds.into_iter().next());
            }
        }
        Ok(())
    }

    /// Listens until the jail process has said its last word, or the time of the call is over and nothing was said in time.
    ///
    /// # Errors
    /// [`NoRun`] as the jail process says it.
    pub(super) async fn listen(
        &mut self,
        flood: &Flood,
        cancel: &CancellationToken,
        stop: &Mutex<Option<Stop>>,
        times: Times,
    ) -> Result<Told, NoRun> {
        let note = |reason| {
            stop.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        };
        let mut phase = if self.started { Phase::Running } else { Phase::Waiting };
        let mut looks = true;
        // A session's own use between two calls is not the later one's.
        let used_before = if times.cpu.is_some() { self.used_by_now().cpu_ms } else { self.used.cpu_ms };
        let begin = Instant::now();
        let mut until = begin + if self.started { times.run } else { times.wait.min(HUNG) };
        loop {
            let mut over = None;
            let reason = tokio::select! {
                biased;
                heard = hear(&mut self.held, &self.socket) => {
                    let Some((word, fds)) = heard? else {
                        // Nobody is left who could begin.
                        return Ok(if self.ticket.take() { Told::Unbegun } else { self.lost(note) });
                    };
                    let word = if let Word::Over(all, end) = word {
                        (self.layers, self.started) = (*all, true);
                        Word::Ended(end)
                    } else {
                        word
                    };
                    match word {
                        Word::Started(all) => {
                            (self.layers, self.started) = (all, true);
                            self.doorway.open(fds.into_iter().next());
                            if phase != Phase::Ending {
                                (phase, until) = (Phase::Running, Instant::now() + times.run);
                            }
                        }
                        // The program was ended from outside before it was one.
                        Word::Returned => return Ok(if self.ticket.take() { Told::Unbegun } else { self.lost(note) }),
                        Word::Ended(end) if end.stopped.is_none() && self.ticket.take() => return Ok(Told::Unbegun),
                        Word::Ended(end) => return Ok(Told::Ended(end, self.take_layers())),
                        Word::Used(used) => {
                            self.used = self.used.max(used);
                            over = times.cpu.filter(|most| u128::from(self.used.cpu_ms - used_before) > most.as_millis());
                        }
                        Word::Reached(reached) => self.reached = self.reached.and(reached),
                        Word::Crowd(crowd) => self.crowd = crowd,
                        Word::Building => (phase, until) = (Phase::Building, Instant::now() + BUILDING),
                        Word::Unavailable { layer, reason } => return Err(NoRun::Unavailable { layer, reason }),
                        Word::Root { root, reason } => return Err(NoRun::Root { root, reason }),
                        Word::Moved { root } => return Err(NoRun::Moved { root }),
                        Word::Fault(what) => return Err(NoRun::Fault(what)),
                        Word::Over(..) | Word::Built(_) | Word::Seated | Word::Forked(_) | Word::Stands => {}
                    }
                    match over {
                        Some(_) if phase != Phase::Ending => Stop::Cpu(self.used.cpu_ms - used_before),
                        _ => continue,
                    }
                }
                () = cancel.cancelled(), if phase != Phase::Ending => Stop::Cancelled,
                () = flood.over.cancelled(), if phase != Phase::Ending => Stop::Flood(flood.bytes()),
                () = tokio::time::sleep_until(until.into()) => match phase {
                    Phase::Ending => return Ok(Told::Silent(self.take_layers())),
                    Phase::Running => Stop::Wall(times.run),
                    Phase::Waiting if looks && times.wait > HUNG => {
                        (looks, until) = (false, begin + times.wait);
                        if !self.sent.is_taken() && self.ticket.take() {
                            return Ok(Told::Untaken);
                        }
                        continue;
                    }
                    Phase::Waiting | Phase::Building => Stop::Waited(times.wait),
                },
            };
            // INVARIANT: the reason is noted before the kill.
            if self.ticket.take() {
                note(reason);
                return Ok(Told::Unbegun);
            }
            if matches!(reason, Stop::Waited(_)) {
                // It has begun in this moment.
                (phase, until) = (Phase::Running, Instant::now() + times.run);
                continue;
            }
            note(reason);
            (phase, until) = (Phase::Ending, Instant::now() + ENDING);
            // Closing our half is the word for it; a message that nobody reads would cost us the last word of the other side (unix(7)).
            let _ = self.socket.shutdown(std::net::Shutdown::Write);
        }
    }

    /// What is left to say where nobody says anything any more.
    fn lost(&mut self, note: impl Fn(Stop)) -> Told {
        note(Stop::Lost);
        Told::Lost(self.take_layers())
    }
}

/// How a call came to its end.
#[derive(Debug)]
pub(super) enum Told {
    /// Its program ended.
    Ended(End, Layers),
    /// Its program never began, and never will.
    Unbegun,
    /// The same, and the spawner did not even take the order.
    Untaken,
    /// Its jail is gone.
    Lost(Layers),
    /// Neither its jail nor the spawner does what it is told.
    Silent(Layers),
}

/// How long a call may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// Until it has a jail.
    pub(super) wait: Duration,
    /// From then on; the jail keeps the program's time itself, so this is longer, but for a call in a session.
    pub(super) run: Duration,
    /// The processor time of a call in a session, whose jail bounds that of its whole life. Elsewhere the jail bounds it.
    pub(super) cpu: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Waiting,
    /// A jail is made for it.
    Building,
    Running,
    /// It was told to end.
    Ending,
}

/// Where a jail is made for a call, that is bounded there; this is for one who makes nothing any more.
const BUILDING: Duration = Duration::from_secs(30);
/// So long a jail may take to tell of its end after it was told to end.
const ENDING: Duration = Duration::from_millis(2500);

/// Words that are kept for a later call; a session says few but what it uses.
const HELD: usize = 8;

/// One word with its descriptors; none when nobody is left to say one.
async fn hear(held: &mut VecDeque<(Word, Vec<OwnedFd>)>, socket: &tokio::net::UnixDatagram) -> Result<Option<(Word, Vec<OwnedFd>)>, NoRun> {
    if let Some(word) = held.pop_front() {
        return Ok(Some(word));
    }
    let fault = |e: &dyn std::fmt::Display| NoRun::fault("hearing from the jail process", e);
    // Readiness first: what is received in vain is asked for again, and only that.
    let received = socket.async_io(Interest::READABLE, || {
        if rustix::net::recv(socket, &mut [0_u8; 1][..], RecvFlags::PEEK | RecvFlags::DONTWAIT).is_err_and(|e| e == Errno::AGAIN) {
            return Err(std::io::ErrorKind::WouldBlock.into());
        }
        Ok(order::receive_now::<Word>(socket.as_fd()))
    });
    received.await.map_err(|e| fault(&e))?.map_err(|why| fault(&why))
}

/// Counts output and says when it is too much to go on: far more than what is kept, so that an ordinary long output is cut, not killed.
#[derive(Debug)]
pub(super) struct Flood {
    most: u64,
    seen: std::sync::atomic::AtomicU64,
    over: CancellationToken,
}

impl Flood {
    pub(super) fn new(kept: u64) -> Self {
        Self {
            most: kept.saturating_mul(64).max(4 * 1024 * 1024),
            seen: std::sync::atomic::AtomicU64::new(0),
            over: CancellationToken::new(),
        }
    }

    pub(super) fn count(&self, bytes: usize) {
        let before = self.seen.fetch_add(bytes as u64, std::sync::atomic::Ordering::Relaxed);
        if before.saturating_add(bytes as u64) > self.most {
            self.over.cancel();
        }
    }

    /// Ends the program for something else that came without end.
    pub(super) fn ran_over(&self, bytes: u64) {
        if !self.over.is_cancelled() {
            self.seen.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
            self.over.cancel();
        }
    }

    fn bytes(&self) -> u64 {
        self.seen.load(std::sync::atomic::Ordering::Relaxed)
    }
}
