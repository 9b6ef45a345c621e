//! What a program writes: its output, as far as it is kept, and its report.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolgate_jail::Io;

use super::collect::{Kept, sealed};
use super::outcome::NoRun;
use super::report::{self, Reading, Report};

/// Output of a program that is still running, as it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Which stream it came from.
    pub stream: Stream,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether something before them was not passed on.
    pub after_gap: bool,
}

/// An output stream of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// Where the output goes while the program runs; what does not fit is left out there, never in the answer.
pub type Progress = Option<mpsc::Sender<Chunk>>;

/// The reading ends of a call's pipes, and what has come of them.
#[derive(Debug)]
pub(super) struct Streams {
    output: (Receiver, Kept),
    error: (Receiver, Kept),
    report: (Receiver, Reading),
}

/// What is read of a stream at one time.
const PART: usize = 16 * 1024;

impl Streams {
    /// New pipes with what a program is given, of which `output` bytes of each stream are kept.
    ///
    /// # Errors
    /// [`NoRun::Fault`].
    pub(super) fn new(stdin: &[u8], task: &[&[u8]], output: u64) -> Result<(Self, Io), NoRun> {
        let pipe = || pipe().map_err(|e| NoRun::fault("making a pipe", e));
        let ((output_from, stdout), (error_from, stderr), (report_from, report)) = (pipe()?, pipe()?, pipe()?);
        let kept = || Kept::new(output);
        let streams = Self { output: (output_from, kept()), error: (error_from, kept()), report: (report_from, Reading::default()) };
        Ok((streams, Io { stdin: sealed(&[stdin])?, stdout, stderr, task: Some((sealed(task)?, report)) }))
    }

    /// Reads all to their ends, as they come. Ends early when a call of a session says that it is done; safe to drop and to ask again.
    pub(super) async fn follow(&mut self, flood: &Flood, progress: &Progress, done: &CancellationToken) {
        let keep = |kept: &mut Kept, stream, bytes: &[u8]| {
            kept.take(bytes);
            flood.count(bytes.len() as u64);
            if let Some(progress) = progress {
                // Whoever listens too slowly misses a part of the progress, and nothing of the answer.
                let chunk = Chunk { stream, bytes: bytes.to_vec(), after_gap: kept.missed };
                kept.missed = progress.try_send(chunk).is_err();
            }
        };
        let (output, error, report) = (&mut self.output, &mut self.error, &mut self.report);
        tokio::join!(
            read_all(&output.0, |bytes| keep(&mut output.1, Stream::Output, bytes)),
            read_all(&error.0, |bytes| keep(&mut error.1, Stream::Error, bytes)),
            read_all(&report.0, |bytes| {
                // What is not kept is read all the same: a full pipe would hold the program up until its time is over.
                if report.1.take(bytes) {
                    flood.count(report::FLOOD);
                }
                if report.1.done().is_some() {
                    done.cancel();
                }
            }),
        );
    }

    /// The number with which a program in a session has said that its call is over.
    pub(super) fn done(&self) -> Option<i32> {
        self.report.1.done()
    }

    /// Output, error and report.
    pub(super) fn end(self) -> (Kept, Kept, Report) {
        (self.output.1, self.error.1, self.report.1.end())
    }
}

/// A pipe from a program: where what it writes is read, and its end.
///
/// # Errors
/// The error of the system.
pub(in crate::sandbox) fn pipe() -> std::io::Result<(Receiver, OwnedFd)> {
    let (from, to) = pipe_with(PipeFlags::CLOEXEC)?;
    // Only this end: a program that finds its output full waits.
    rustix::io::ioctl_fionbio(&from, true)?;
    Ok((Receiver::from_owned_fd(from)?, to))
}

/// Reads to the end, a part at a time. There is no buffer while nothing comes: most streams stay empty.
async fn read_all(from: &Receiver, mut take: impl FnMut(&[u8])) {
    let mut part = || {
        let mut buffer = [0_u8; PART];
        let count = from.try_read(&mut buffer)?;
        let bytes = buffer.get(..count).unwrap_or_default();
        take(bytes);
        Ok::<_, std::io::Error>(!bytes.is_empty())
    };
    while from.readable().await.is_ok() {
        match part() {
            // A program that writes without end must not keep anybody else from being heard.
            Ok(true) => tokio::task::consume_budget().await,
            Err(vain) if vain.kind() == ErrorKind::WouldBlock => {}
            Ok(false) | Err(_) => return,
        }
    }
}

/// Counts output and says when it is too much to go on: far more than what is kept, so that an ordinary long output is cut, not killed.
#[derive(Debug)]
pub(super) struct Flood {
    most: u64,
    seen: AtomicU64,
    pub(super) over: CancellationToken,
}

impl Flood {
    /// For a program of which so many bytes are kept.
    pub(super) fn new(kept: u64) -> Self {
        Self { most: kept.saturating_mul(64).max(4 * 1024 * 1024), seen: AtomicU64::new(0), over: CancellationToken::new() }
    }

    fn count(&self, bytes: u64) {
        if self.seen.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > self.most {
            self.over.cancel();
        }
    }

    /// How much there was.
    pub(super) fn bytes(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[tokio::test]
    async fn what_comes_is_whole_and_in_order_however_often_it_is_asked_for() {
        let (mut streams, io) = Streams::new(b"", &[], 1 << 20).unwrap();
        let (flood, done) = (Flood::new(1 << 20), CancellationToken::new());
        let (sender, mut heard) = mpsc::channel(4);
        let progress = Some(sender);
        let mut output = std::fs::File::from(io.stdout);
        output.write_all(b"one ").unwrap();
        tokio::select! {
            () = streams.follow(&flood, &progress, &done) => panic!("nothing has ended"),
            chunk = heard.recv() => assert_eq!(chunk.unwrap().bytes, b"one "),
        }
        std::fs::File::from(io.stderr).write_all(b"wrong").unwrap();
        std::fs::File::from(io.task.unwrap().1).write_all(b"event 3\na bdone 1\n0").unwrap();
        output.write_all(b"two").unwrap();
        drop(output);
        streams.follow(&flood, &None, &done).await;
        assert!(done.is_cancelled());
        let (output, error, report) = streams.end();
        assert_eq!((output.text().0.as_str(), error.text().0.as_str()), ("one two", "wrong"));
        assert_eq!((report.events, report.done), (vec!["a b".to_owned()], Some(0)));
    }

    #[tokio::test]
    async fn more_than_a_pipe_holds_waits_for_who_reads() {
        let (mut streams, io) = Streams::new(b"", &[], 64).unwrap();
        let output = io.stdout;
        drop((io.stderr, io.task));
        let writer = std::thread::spawn(move || std::fs::File::from(output).write_all(&vec![b'x'; 1 << 20]).is_ok());
        streams.follow(&Flood::new(64), &None, &CancellationToken::new()).await;
        assert!(writer.join().unwrap());
        assert!(streams.end().0.text().0.contains(&format!("{} bytes left out", (1 << 20) - 64)));
    }
}
