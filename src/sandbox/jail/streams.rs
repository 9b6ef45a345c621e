//! What a program writes: how it comes to the server, and how it is read.

use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::unix::pipe::Receiver;

use super::backend::{Chunk, Stream};
use super::collect::Kept;
use super::outcome::NoRun;
use super::report::{self, Reading, Report};
use super::words::Flood;

/// The reading ends of a call's pipes. Reading them never waits.
#[derive(Debug)]
pub(super) struct Pipes {
    output: OwnedFd,
    error: OwnedFd,
    report: OwnedFd,
}

impl Pipes {
    /// New pipes, and their writing ends: output, error, report.
    ///
    /// # Errors
    /// [`NoRun::Fault`].
    pub(super) fn new() -> Result<(Self, [OwnedFd; 3]), NoRun> {
        let pipe = || {
            let (from, to) = pipe_with(PipeFlags::CLOEXEC)?;
            // Only this end: a program that finds its output full waits.
            rustix::io::ioctl_fionbio(&from, true)?;
            Ok((from, to))
        };
        let fault = |e: rustix::io::Errno| NoRun::fault("making a pipe", e);
        let ((output, output_end), (error, error_end), (report, report_end)) =
            (pipe().map_err(fault)?, pipe().map_err(fault)?, pipe().map_err(fault)?);
        Ok((Self { output, error, report }, [output_end, error_end, report_end]))
    }

    /// The same for the runtime, which watches them: output, error, report.
    ///
    /// # Errors
    /// [`NoRun::Fault`].
    pub(super) fn receivers(&self) -> Result<[Receiver; 3], NoRun> {
        let receiver = |fd: &OwnedFd| Receiver::from_owned_fd(fd.try_clone()?);
        let watched = || Ok([receiver(&self.output)?, receiver(&self.error)?, receiver(&self.report)?]);
        watched().map_err(|e: std::io::Error| NoRun::fault("reading a pipe", e))
    }
}

/// Who listens to what a program prints while it runs.
pub(super) type Listener<'a> = Option<&'a tokio::sync::mpsc::Sender<Chunk>>;

/// What has come of it.
#[derive(Debug)]
pub(super) struct Gathered {
    output: Kept,
    error: Kept,
    report: Reading,
}

impl Gathered {
    /// Nothing yet; `most` bytes of each stream are kept.
    pub(super) fn new(most: u64) -> Self {
        Self { output: Kept::new(most), error: Kept::new(most), report: Reading::default() }
    }

    /// Reads all to their ends, as they come.
    ///
    /// # Errors
    /// [`NoRun::Fault`].
    pub(super) async fn follow(&mut self, pipes: &Pipes, flood: &Flood, listener: Listener<'_>) -> Result<(), NoRun> {
        let [output, error, report] = pipes.receivers()?;
        tokio::join!(
            collect(&output, Stream::Output, &mut self.output, flood, listener),
            collect(&error, Stream::Error, &mut self.error, flood, listener),
            read_all(&report, |bytes| note(&mut self.report, bytes, flood)),
        );
        Ok(())
    }

    /// Reads what is there; whether all have ended.
    pub(super) fn take_rest(&mut self, pipes: &Pipes, flood: &Flood, listener: Listener<'_>) -> bool {
        let output = rest(pipes.output.as_fd(), |bytes| keep(&mut self.output, Stream::Output, bytes, flood, listener));
        let error = rest(pipes.error.as_fd(), |bytes| keep(&mut self.error, Stream::Error, bytes, flood, listener));
        let report = rest(pipes.report.as_fd(), |bytes| note(&mut self.report, bytes, flood));
        output && error && report
    }

    /// Output, error and report.
    pub(super) fn end(self) -> (Kept, Kept, Report) {
        (self.output, self.error, self.report.end())
    }
}

/// Reads an output stream to its end.
pub(super) async fn collect(from: &Receiver, stream: Stream, kept: &mut Kept, flood: &Flood, listener: Listener<'_>) {
    read_all(from, |bytes| keep(kept, stream, bytes, flood, listener)).await;
}

fn keep(kept: &mut Kept, stream: Stream, bytes: &[u8], flood: &Flood, listener: Listener<'_>) {
    kept.take(bytes);
    flood.count(bytes.len());
    if let Some(listener) = listener {
        // Whoever listens too slowly misses a part of the progress, and nothing of the answer.
        let _ = listener.try_send(Chunk { stream, bytes: bytes.to_vec() });
    }
}

fn note(report: &mut Reading, bytes: &[u8], flood: &Flood) {
    // What is not kept is read all the same: a full pipe would hold the program up until its time is over.
    if report.take(bytes) {
        flood.ran_over(report::FLOOD);
    }
}

/// What is read of a stream at one time.
const PART: usize = 8 * 1024;

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
            Ok(true) => {}
            Err(vain) if vain.kind() == ErrorKind::WouldBlock => {}
            Ok(false) | Err(_) => return,
        }
    }
}

/// Reads what is there, whether somebody watches it or not; whether that is the end.
fn rest(from: BorrowedFd<'_>, mut take: impl FnMut(&[u8])) -> bool {
    let mut buffer = [0_u8; PART];
    loop {
        match rustix::io::retry_on_intr(|| rustix::io::read(from, &mut buffer)) {
            Ok(0) => return true,
            Ok(count) => take(buffer.get(..count).unwrap_or_default()),
            Err(e) => return e != rustix::io::Errno::AGAIN,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[tokio::test]
    async fn what_came_before_somebody_watched_while_and_after_is_whole_and_in_order() {
        let (pipes, [output, error, report]) = Pipes::new().unwrap();
        let (flood, mut gathered) = (Flood::new(1 << 20), Gathered::new(1 << 20));
        let mut output = std::fs::File::from(output);
        output.write_all(b"one ").unwrap();
        assert!(!gathered.take_rest(&pipes, &flood, None));
        let (told, mut heard) = tokio::sync::mpsc::channel(4);
        output.write_all(b"two ").unwrap();
        tokio::select! {
            ended = gathered.follow(&pipes, &flood, Some(&told)) => panic!("{ended:?}"),
            chunk = heard.recv() => assert_eq!(chunk.unwrap().bytes, b"two "),
        }
        std::fs::File::from(error).write_all(b"wrong").unwrap();
        std::fs::File::from(report).write_all(b"event 3\na b").unwrap();
        output.write_all(b"three").unwrap();
        assert!(!gathered.take_rest(&pipes, &flood, None), "one end is open");
        drop(output);
        assert!(gathered.take_rest(&pipes, &flood, None));
        gathered.follow(&pipes, &flood, None).await.unwrap();
        let (output, error, report) = gathered.end();
        assert_eq!((output.text().0.as_str(), error.text().0.as_str()), ("one two three", "wrong"));
        assert_eq!(report.events, ["a b"]);
    }

    #[test]
    fn more_than_a_pipe_holds_waits_for_who_reads() {
        let (pipes, [output, ..]) = Pipes::new().unwrap();
        let (flood, mut gathered) = (Flood::new(64), Gathered::new(64));
        let writer = std::thread::spawn(move || std::fs::File::from(output).write_all(&vec![b'x'; 1 << 20]).is_ok());
        while !gathered.take_rest(&pipes, &flood, None) {
            std::thread::yield_now();
        }
        assert!(writer.join().unwrap());
        assert!(gathered.end().0.text().0.contains(&format!("{} bytes left out", (1 << 20) - 64)));
    }
}
