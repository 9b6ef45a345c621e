//! What the jail process and the program say while a call runs.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;
use rustix::net::RecvFlags;
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::unix::pipe::Receiver;
use tokio_util::sync::CancellationToken;

use super::backend::{Chunk, Stream};
use super::collect::Kept;
use super::doorway::Doorway;
use super::order::{self, End, Word};
use super::outcome::NoRun;
use super::report::{self, Reading, Report};
use super::spec::{Layers, Network};
use super::verdict::Stop;

/// The channel of a call, on which the jail process answers. Dropping it ends the call.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) socket: tokio::net::UnixDatagram,
    layers: Layers,
    /// Whether the program was said to start; the layers may have been taken since.
    started: bool,
    doorway: Doorway,
}

impl Words {
    /// The channel of a new call.
    pub(super) fn new(socket: tokio::net::UnixDatagram, network: Option<Arc<dyn Network>>) -> Self {
        Self { socket, layers: Layers::new(), started: false, doorway: Doorway::new(network) }
    }

    /// The way of the program to the network, where it has one.
    pub(super) fn doorway(&mut self) -> &mut Doorway {
        &mut self.doorway
    }

    /// The layers that stand, once they have been told.
    pub(super) fn take_layers(&mut self) -> Layers {
        std::mem::take(&mut self.layers)
    }

    /// Hears what was said before the program began. A short program is done before that was listened to.
    ///
    /// # Errors
    /// [`NoRun`] when the channel fails or closes first.
    pub(super) async fn catch_up(&mut self) -> Result<(), NoRun> {
        while self.layers.is_empty() {
            if let (Word::Started(all), fds) = hear(&self.socket).await? {
                (self.layers, self.started) = (all, true);
                self.doorway.open(fds.into_iter().next());
            }
        }
        Ok(())
    }

    /// Listens until the jail process has said its last word.
    ///
    /// # Errors
    /// [`NoRun`] as the jail process says it.
    pub(super) async fn listen(
        &mut self,
        flood: &Flood,
        cancel: &CancellationToken,
        stop: &Mutex<Option<Stop>>,
    ) -> Result<(End, Layers), NoRun> {
        let mut stopping = false;
        loop {
            let reason = tokio::select! {
                got = hear(&self.socket) => {
                    let (word, fds) = got?;
                    match word {
                        Word::Started(all) => {
                            (self.layers, self.started) = (all, true);
                            self.doorway.open(fds.into_iter().next());
                        }
                        // A limit may end it before, with a reason that has to be told.
                        Word::Ended(end) if !self.started && end.stopped.is_none() => {
                            return Err(NoRun::Fault("the jail ended before the program started".to_owned()));
                        }
                        Word::Ended(end) => return Ok((end, self.take_layers())),
                        Word::Unavailable { layer, reason } => return Err(NoRun::Unavailable { layer, reason }),
                        Word::Root { root, reason } => return Err(NoRun::Root { root, reason }),
                        Word::Fault(what) => return Err(NoRun::Fault(what)),
                        Word::Built | Word::Seated | Word::Forked(_) => {}
                    }
                    continue;
                }
                () = cancel.cancelled(), if !stopping => Stop::Cancelled,
                () = flood.over.cancelled(), if !stopping => Stop::Flood(flood.bytes()),
            };
            // INVARIANT: the reason is noted before the kill.
            stop.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
            stopping = true;
            // Closing our half is the word for it; a message that nobody reads would cost us the last word of the other side (unix(7)).
            let _ = self.socket.shutdown(std::net::Shutdown::Write);
        }
    }
}

/// One word with its descriptors.
async fn hear(socket: &tokio::net::UnixDatagram) -> Result<(Word, Vec<OwnedFd>), NoRun> {
    let fault = |e: &dyn std::fmt::Display| NoRun::fault("hearing from the jail process", e);
    // Readiness first: what is received in vain is asked for again, and only that.
    let received = socket.async_io(Interest::READABLE, || {
        if rustix::net::recv(socket, &mut [0_u8; 1][..], RecvFlags::PEEK | RecvFlags::DONTWAIT).is_err_and(|e| e == Errno::AGAIN) {
            return Err(std::io::ErrorKind::WouldBlock.into());
        }
        Ok(order::receive_now::<Word>(socket.as_fd()))
    });
    match received.await.map_err(|e| fault(&e))? {
        Ok(Some(heard)) => Ok(heard),
        Ok(None) => Err(NoRun::Fault("the jail process died without a word".to_owned())),
        Err(why) => Err(fault(&why)),
    }
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

    fn count(&self, bytes: usize) {
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

/// Reads a stream to its end.
pub(super) async fn collect(
    from: &mut Receiver,
    stream: Stream,
    kept: &mut Kept,
    flood: &Flood,
    progress: Option<&tokio::sync::mpsc::Sender<Chunk>>,
) {
    let mut buffer = vec![0_u8; 16 * 1024];
    while let Ok(count) = from.read(&mut buffer).await {
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        kept.take(bytes);
        flood.count(count);
        if let Some(progress) = progress {
            // Whoever listens too slowly misses a part of the progress, and nothing of the answer.
            let _ = progress.try_send(Chunk { stream, bytes: bytes.to_vec() });
        }
    }
}

/// Reads a report to its end.
pub(super) async fn read_report(from: &mut Receiver, flood: &Flood) -> Report {
    let mut reading = Reading::default();
    let mut buffer = vec![0_u8; 16 * 1024];
    // What is not kept is read all the same: a full pipe would hold the program up until its time is over.
    while let Ok(count) = from.read(&mut buffer).await {
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        if reading.take(bytes) {
            flood.ran_over(report::FLOOD);
        }
    }
    reading.end()
}
