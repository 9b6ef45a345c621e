//! What a program writes: how it comes to the server, and how it is read.

use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::unix::pipe::Receiver;

use super::backend::{Chunk, Stream};
use super::collect::Kept;
use super::outcome::NoRun;
use super::report::{self, Reading, Report};
use super::words::Flood;

/// The reading ends of a call's pipes. Reading them never waits.
#[derive(Debug)]
pub(super) struct Pipes([Source; 3]);

#[derive(Debug)]
enum Source {
    Plain(OwnedFd),
    /// The runtime says when there is something to read.
    Watched(Receiver),
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
            Ok((Source::Plain(from), to))
        };
        let fault = |e: rustix::io::Errno| NoRun::fault("making a pipe", e);
        let ((output, output_end), (error, error_end), (report, report_end)) =
            (pipe().map_err(fault)?, pipe().map_err(fault)?, pipe().map_err(fault)?);
        Ok((Self([output, error, report]), [output_end, error_end, report_end]))
    }

    /// The same for the runtime, which watches them from now on: output, error, report.
    ///
    /// # Errors
    /// [`NoRun::Fault`].
    pub(super) fn receivers(mut self) -> Result<[Receiver; 3], NoRun> {
        self.watch().map_err(|e| NoRun::fault("reading a pipe", e))?;
        match self.0 {
            [Source::Watched(output), Source::Watched(error), Source::Watched(report)] => Ok([output, error, report]),
            _ => Err(NoRun::fault("reading a pipe", "it is not watched")),
        }
    }

    /// Has them watched. Where that cannot be had, all is as it was.
    fn watch(&mut self) -> std::io::Result<()> {
        for source in &mut self.0 {
            if let Source::Plain(fd) = source {
                *source = Source::Watched(Receiver::from_owned_fd(fd.try_clone()?)?);
            }
        }
        Ok(())
    }
}

impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Plain(fd) => fd.as_fd(),
            Self::Watched(receiver) => receiver.as_fd(),
        }
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
    pub(super) async fn follow(&mut self, pipes: &mut Pipes, flood: &Flood, listener: Listener<'_>) {
        while pipes.watch().is_err() {
            // No descriptor is left for it, and the program runs: it is looked at from time to time, until there is one.
            if self.take_rest(pipes, flood, listener) {
                return;
            }
            tokio::time::sleep(UNWATCHED).await;
        }
        if let Pipes([Source::Watched(output), Source::Watched(error), Source::Watched(report)]) = pipes {
            tokio::join!(
                collect(output, Stream::Output, &mut self.output, flood, listener),
                collect(error, Stream::Error, &mut self.error, flood, listener),
                read_all(report, |bytes| note(&mut self.report, bytes, flood)),
            );
        }
    }

    /// Reads what is there; whether all have ended.
    pub(super) fn take_rest(&mut self, pipes: &Pipes, flood: &Flood, listener: Listener<'_>) -> bool {
        let Pipes([output, error, report]) = pipes;
        let output = rest(output.as_fd(), |bytes| keep(&mut self.output, Stream::Output, bytes, flood, listener));
        let error = rest(error.as_fd(), |bytes| keep(&mut self.error, Stream::Error, bytes, flood, listener));
        let report = rest(report.as_fd(), |bytes| note(&mut self.report, bytes, flood));
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
        let chunk = Chunk { stream, bytes: bytes.to_vec(), after_gap: kept.missed };
        kept.missed = listener.try_send(chunk).is_err();
    }
}

fn note(report: &mut Reading, bytes: &[u8], flood: &Flood) {
    // What is not kept is read all the same: a full pipe would hold the program up until its time is over.
    if report.take(bytes) {
        flood.ran_over(report::FLOOD);
    }
}

/// What is read of a stream at one time.
const PART: usize = 16 * 1024;
/// The most that a pipe of an ordinary user holds (`/proc/sys/fs/pipe-max-size`, pipe(7)): what comes after that much has been written since.
const FULL: usize = 1024 * 1024;
/// Between two looks at streams that cannot be watched.
const UNWATCHED: Duration = Duration::from_millis(5);

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
            // A program that writes without end must not keep anybody else from being heard: the readiness of a pipe that is never empty costs nothing.
            Ok(true) => tokio::task::consume_budget().await,
            Err(vain) if vain.kind() == ErrorKind::WouldBlock => {}
            Ok(false) | Err(_) => return,
        }
    }
}

/// Reads what is there, whether somebody watches it or not; whether that is the end.
fn rest(from: BorrowedFd<'_>, mut take: impl FnMut(&[u8])) -> bool {
    let mut buffer = [0_u8; PART];
    let mut read = 0;
    while read < FULL {
        match rustix::io::retry_on_intr(|| rustix::io::read(from, &mut buffer)) {
            Ok(0) => return true,
            Ok(count) => {
                read += count;
                take(buffer.get(..count).unwrap_or_default());
            }
            Err(e) => return e != rustix::io::Errno::AGAIN,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[tokio::test]
    async fn what_came_before_somebody_watched_while_and_after_is_whole_and_in_order() {
        let (mut pipes, [output, error, report]) = Pipes::new().unwrap();
        let (flood, mut gathered) = (Flood::new(1 << 20), Gathered::new(1 << 20));
        let mut output = std::fs::File::from(output);
        output.write_all(b"one ").unwrap();
        assert!(!gathered.take_rest(&pipes, &flood, None));
        let (told, mut heard) = tokio::sync::mpsc::channel(4);
        output.write_all(b"two ").unwrap();
        tokio::select! {
            () = gathered.follow(&mut pipes, &flood, Some(&told)) => panic!("nothing has ended"),
            chunk = heard.recv() => assert_eq!(chunk.unwrap().bytes, b"two "),
        }
        std::fs::File::from(error).write_all(b"wrong").unwrap();
        std::fs::File::from(report).write_all(b"event 3\na b").unwrap();
        output.write_all(b"three").unwrap();
        assert!(!gathered.take_rest(&pipes, &flood, None), "one end is open");
        drop(output);
        assert!(gathered.take_rest(&pipes, &flood, None));
        gathered.follow(&mut pipes, &flood, None).await;
        let (output, error, report) = gathered.end();
        assert_eq!((output.text().0.as_str(), error.text().0.as_str()), ("one two three", "wrong"));
        assert_eq!(report.events, ["a b"]);
    }

    #[tokio::test]
    async fn streams_that_cannot_be_watched_are_read_to_their_ends_all_the_same() {
        // As where no descriptor is left: the runtime takes nothing but pipes.
        let stream = || {
            let (from, to) = std::os::unix::net::UnixStream::pair().unwrap();
            from.set_nonblocking(true).unwrap();
            (Source::Plain(from.into()), to)
        };
        let ((output, mut to), (error, _), (report, _)) = (stream(), stream(), stream());
        let (mut pipes, flood, mut gathered) = (Pipes([output, error, report]), Flood::new(1 << 20), Gathered::new(1 << 20));
        assert!(pipes.watch().is_err());
        to.write_all(b"one ").unwrap();
        let (told, mut heard) = tokio::sync::mpsc::channel::<Chunk>(4);
        let listening = async {
            let chunk = tokio::time::timeout(Duration::from_mins(1), heard.recv()).await.expect("nobody looks");
            assert_eq!(chunk.unwrap().bytes, b"one ");
            to.write_all(b"two").unwrap();
            drop(to);
        };
        tokio::join!(gathered.follow(&mut pipes, &flood, Some(&told)), listening);
        assert_eq!(gathered.end().0.text().0, "one two");
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

    #[tokio::test]
    async fn who_writes_without_end_keeps_nobody_from_being_heard_and_is_left_in_the_end() {
        let (pipes, [output, ..]) = Pipes::new().unwrap();
        let mut output = std::fs::File::from(output);
        output.write_all(&vec![b'x'; 2 * PART]).unwrap();
        // What is read is written again, so that it is never empty.
        let mut again = |bytes: &[u8]| output.write_all(bytes).unwrap();
        let Pipes([from, ..]) = &pipes;
        assert!(!rest(from.as_fd(), &mut again));
        let [from, ..] = pipes.receivers().unwrap();
        let (asks, heard) = tokio::sync::oneshot::channel();
        let (mut asks, mut parts) = (Some(asks), 0);
        let endless = read_all(&from, |bytes| {
            again(bytes);
            parts += 1;
            if let Some(asks) = asks.take_if(|_| parts == 10) {
                asks.send(()).unwrap();
            }
            assert!(parts < 100_000, "nobody was heard");
        });
        tokio::select! {
            // As those who wait for its end do.
            biased;
            asked = heard => asked.unwrap(),
            () = endless => panic!("it has no end"),
        }
    }
}
