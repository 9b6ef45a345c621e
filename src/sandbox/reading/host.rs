//! The server's side: one nursery, started when the first page comes, and a reader of its own for every page.

#![expect(clippy::disallowed_methods, reason = "here our own program is started as a nursery of readers")]

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as Pair;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::READER_ARGUMENT;
use super::nursery::NO_WALLS;
use super::wire::{Answer, ENDED, Job, MOST_ANSWER, UNWALLED, head};
use crate::model::{Code, Failure};
use toolgate_jail::primitives;
use toolgate_page::{Article, join_page};

/// What is the same for all readers of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Our own program, which is executed again; [`super::enter_if_asked`] must be what it calls first.
    pub helper: PathBuf,
    /// How long the nursery is kept after the last page.
    pub idle: Duration,
    /// Pages that are read at one time; further ones wait.
    pub most: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { helper: PathBuf::from("/proc/self/exe"), idle: Duration::from_mins(3), most: 4 }
    }
}

/// The readers of a server.
#[derive(Debug)]
pub struct Readers {
    settings: Settings,
    places: Semaphore,
    nursery: Arc<Mutex<Option<Nursery>>>,
    /// Ends the readers that have a page.
    stop: Mutex<CancellationToken>,
}

/// The running process that forks readers. It ends when `orders` is dropped, and with it they do.
#[derive(Debug)]
struct Nursery {
    orders: OwnedFd,
    child: Child,
    used: Instant,
    /// Held by every page that is being read.
    busy: Arc<()>,
}

/// Why there is no answer.
#[derive(Debug)]
enum Lost {
    /// The nursery is gone, so nothing is known of the page.
    Nursery,
    /// The reader ended over its page.
    Reader,
    /// The reader could not be walled in.
    Unwalled,
}

impl Readers {
    /// Readers, the nursery of which is not running yet.
    pub fn new(settings: Settings) -> Self {
        Self { places: Semaphore::new(settings.most.max(1)), settings, nursery: Arc::default(), stop: Mutex::default() }
    }

    /// Starts the nursery where it is not running: it gets ready while a page is still on its way.
    pub fn prepare(&self) {
        if let Err(fault) = self.with_nursery(|_| Ok(())) {
            tracing::error!(%fault, "no nursery of readers could be started");
        }
    }

    /// Reads `bytes` in a process that has seen no other page.
    ///
    /// # Errors
    /// `killed` when everything is stopped meanwhile; `timeout` when it takes longer than `patience`, and then its reader is killed;
    /// `unreadable` when the bytes are not what they claim to be or end their reader; `sandbox_unavailable` when a reader cannot be walled in
    /// here.
    pub async fn read(&self, job: &Job, bytes: &[u8], patience: Duration) -> Result<Article, Failure> {
        // The pages of a file that have come.
        let pages = Mutex::new(Article::default());
        let work = async {
            let _place = self.places.acquire().await.map_err(|_| Failure::new(Code::Cancelled, "the server is stopping"))?;
            for _ in 0..2 {
                let (channel, _busy) = self.reader().map_err(|fault| unstarted(&fault))?;
                match exchange(channel, job, bytes, &pages).await {
                    Ok(answer) => return answer.read.map_err(|why| unreadable(&why)),
                    // Killed from outside: that is nothing the page did.
                    Err(Lost::Nursery) => *pages.lock().unwrap_or_else(PoisonError::into_inner) = Article::default(),
                    Err(Lost::Reader) => return Err(unreadable("it ended its reader, which had all the memory and depth a page needs")),
                    Err(Lost::Unwalled) => return Err(unwalled()),
                }
            }
            Err(self.lost().await)
        };
        let stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // At either end the future is dropped, and the channel with it, by which the nursery hears that the reader is to be killed.
        let read = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(Failure::new(Code::Killed, "the emergency stop was pulled")),
            read = timeout(patience, work) => read.unwrap_or_else(|_| {
                Err(Failure::new(Code::Timeout, "the page is too tangled to be read in time")
                    .hint("ask for `format` html, or for another page"))
            }),
        };
        let pages = pages.into_inner().unwrap_or_else(PoisonError::into_inner);
        match read {
            Ok(last) => Ok(joined(pages, last)),
            // A time-out, or a page that ended its reader, does not take the pages before it.
            Err(failure) if pages.text.is_empty() => Err(failure),
            Err(_) => Ok(Article { truncated: true, ..pages }),
        }
    }

    /// Kills every reader, also those that have a page; a later page begins anew.
    pub async fn stop(&self) {
        let stopped = std::mem::take(&mut *self.stop.lock().unwrap_or_else(PoisonError::into_inner));
        stopped.cancel();
        self.close().await;
    }

    /// Ends the nursery with all its readers, and takes its exit.
    pub async fn close(&self) {
        let nursery = self.lock().take();
        if let Some(nursery) = nursery {
            nursery.end().await;
        }
    }

    /// The process that readers come from, where it is running.
    pub fn nursery(&self) -> Option<u32> {
        self.lock().as_ref().and_then(|nursery| nursery.child.id())
    }

    /// A new reader, by the channel to it, and what keeps its nursery from being dismissed.
    fn reader(&self) -> io::Result<(UnixStream, Arc<()>)> {
        let (ours, theirs) = Pair::pair()?;
        ours.set_nonblocking(true)?;
        let busy = self.with_nursery(|nursery| {
            primitives::send(nursery.orders.as_fd(), &[theirs.as_fd()])?;
            Ok(Arc::clone(&nursery.busy))
        })?;
        Ok((UnixStream::from_std(ours)?, busy))
    }

    /// Does something with the running nursery; one that is gone is replaced, once.
    fn with_nursery<T>(&self, work: impl Fn(&Nursery) -> io::Result<T>) -> io::Result<T> {
        let mut place = self.lock();
        if let Some(nursery) = place.as_mut()
            && matches!(nursery.child.try_wait(), Ok(None))
            && let Ok(done) = work(nursery)
        {
            nursery.used = Instant::now();
            return Ok(done);
        }
        *place = None;
        let started = self.start()?;
        let done = work(&started)?;
        *place = Some(started);
        Ok(done)
    }

    fn start(&self) -> io::Result<Nursery> {
        let (orders, theirs) = primitives::channel()?;
        // Four bytes a page never fill it; a nursery that hears nothing any more must not hold the server up.
        rustix::io::ioctl_fionbio(&orders, true)?;
        let mut command = Command::new(&self.settings.helper);
        command.arg(READER_ARGUMENT).env_clear().current_dir("/").kill_on_drop(true);
        command.stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let nursery = Nursery { orders, child: command.spawn()?, used: Instant::now(), busy: Arc::default() };
        tokio::spawn(dismiss(Arc::downgrade(&self.nursery), self.settings.idle, nursery.child.id()));
        Ok(nursery)
    }

    /// What is said when two nurseries in a row were lost.
    async fn lost(&self) -> Failure {
        let last = self.lock().take();
        let Some(mut last) = last else { return unreadable("its reader was killed") };
        let status: Option<ExitStatus> = last.child.wait().await.ok();
        if status.and_then(|status| status.code()) == Some(i32::from(NO_WALLS)) { unwalled() } else { unreadable("its reader was killed") }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Nursery>> {
        self.nursery.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the nursery `process` when no page came for `idle`.
async fn dismiss(place: std::sync::Weak<Mutex<Option<Nursery>>>, idle: Duration, process: Option<u32>) {
    let mut left = idle;
    loop {
        sleep(left).await;
        let Some(place) = place.upgrade() else { return };
        let ended = {
            let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
            match place.as_ref() {
                Some(nursery) if nursery.child.id() == process => {
                    let is_busy = Arc::strong_count(&nursery.busy) > 1;
                    left = if is_busy { idle } else { idle.saturating_sub(nursery.used.elapsed()) };
                    if left.is_zero() { place.take() } else { None }
                }
                _ => return,
            }
        };
        if let Some(nursery) = ended {
            return nursery.end().await;
        }
    }
}

impl Nursery {
    /// Closes its orders, upon which it kills and takes its readers and leaves; one that does not is killed, and they with it.
    async fn end(self) {
        let Self { orders, mut child, .. } = self;
        drop(orders);
        if timeout(PATIENCE, child.wait()).await.is_err() {
            let _ = child.kill().await;
        }
    }
}

/// How long a nursery has to leave by itself.
const PATIENCE: Duration = Duration::from_millis(500);

/// The last part of an answer behind the others.
fn joined(mut pages: Article, last: Article) -> Article {
    if pages == Article::default() {
        return last;
    }
    join_page(&mut pages, &last);
    pages
}

async fn exchange(mut channel: UnixStream, job: &Job, bytes: &[u8], pages: &Mutex<Article>) -> Result<Answer, Lost> {
    let head = head(job, bytes).map_err(|_| Lost::Reader)?;
    let sent = async {
        channel.write_all(&head).await?;
        channel.write_all(bytes).await
    };
    // A reader that ended before it had all of the page has left word of it.
    let _ = sent.await;
    let mut left = MOST_ANSWER;
    loop {
        let length = match channel.read_u64_le().await.map_err(|_| Lost::Nursery)? {
            UNWALLED => return Err(Lost::Unwalled),
            ENDED => return Err(Lost::Reader),
            length => length,
        };
        left = left.checked_sub(length).ok_or(Lost::Reader)?;
        let mut text = Vec::new();
        (&mut channel).take(length).read_to_end(&mut text).await.map_err(|_| Lost::Nursery)?;
        let answer: Answer = serde_json::from_slice(&text).map_err(|_| Lost::Reader)?;
        match answer.read {
            Ok(page) if answer.more => join_page(&mut pages.lock().unwrap_or_else(PoisonError::into_inner), &page),
            _ => return Ok(answer),
        }
    }
}

fn unstarted(fault: &io::Error) -> Failure {
    tracing::error!(%fault, "a reader could not be started");
    Failure::new(Code::SandboxUnavailable, "no process could be started to read the page in")
}

fn unwalled() -> Failure {
    Failure::new(Code::SandboxUnavailable, "this machine offers no walls to read a page behind")
}

fn unreadable(why: &str) -> Failure {
    Failure::new(Code::Unreadable, format!("the page cannot be read: {why}")).hint("ask for `format` html, or keep it with `save_to`")
}
