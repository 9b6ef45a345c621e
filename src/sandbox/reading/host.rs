//! The server's side: readers are started when the first page comes, kept warm for the next ones, and killed when they take too long.

#![expect(clippy::disallowed_methods, reason = "here our own program is started as a reader")]

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::wire::{Answer, Job, MOST_ANSWER, head};
use super::worker::{READER_ARGUMENT, UNWALLED};
use crate::filter::reader::Article;
use crate::model::{Code, Failure};

/// What is the same for all readers of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Our own program, which is executed again; [`super::enter_if_asked`] must be what it calls first.
    pub helper: PathBuf,
    /// How long a reader is kept for the next page.
    pub idle: Duration,
    /// Pages that are read at one time; further ones wait.
    pub most: usize,
    /// Readers that wait for a next page of their owner, at most. A new one takes some twenty times as long for its first page, and
    /// each is an owner's alone.
    pub kept: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { helper: PathBuf::from("/proc/self/exe"), idle: Duration::from_mins(3), most: 4, kept: 16 }
    }
}

/// The readers of a server.
#[derive(Debug)]
pub struct Readers {
    settings: Settings,
    places: Semaphore,
    idle: Arc<Mutex<Vec<Reader>>>,
    /// Ends the readers that have a page.
    stop: Mutex<CancellationToken>,
}

/// One running reader. Dropping it kills it.
#[derive(Debug)]
struct Reader {
    /// Whose pages it has seen: a page that took a reader over must not write another caller's.
    owner: String,
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    pages: u32,
    since: Instant,
}

/// Pages after which a reader is replaced, whatever it looks like.
const MOST_PAGES: u32 = 256;

impl Readers {
    /// Readers that are not running yet.
    pub fn new(settings: Settings) -> Self {
        Self { places: Semaphore::new(settings.most.max(1)), settings, idle: Arc::default(), stop: Mutex::default() }
    }

    /// Reads `bytes` for `owner`, in a process that has seen no other owner's pages.
    ///
    /// # Errors
    /// `killed` when everything is stopped meanwhile; `timeout` when it takes longer than `patience`, and then its reader is dead; `unreadable` when the bytes are not what they claim to be or
    /// end their reader; `sandbox_unavailable` when a reader cannot be walled in here.
    pub async fn read(&self, owner: &str, job: &Job, bytes: &[u8], patience: Duration) -> Result<Article, Failure> {
        let work = async {
            let _place = self.places.acquire().await.map_err(|_| Failure::new(Code::Cancelled, "the server is stopping"))?;
            if let Some(mut kept) = self.idle_of(owner) {
                match kept.exchange(job, bytes).await {
                    Ok(answer) => return self.answer(kept, answer),
                    // Killed from outside, perhaps before the page came: that is nothing the page did.
                    Err(_) => match kept.child.wait().await {
                        Ok(status) if status.signal() == Some(nix::libc::SIGKILL) => {}
                        status => return Err(ended(status.ok())),
                    },
                }
            }
            let mut reader = self.start(owner).map_err(|fault| unstarted(&fault))?;
            match reader.exchange(job, bytes).await {
                Ok(answer) => self.answer(reader, answer),
                Err(_) => Err(ended(reader.child.wait().await.ok())),
            }
        };
        let stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // At either end the future is dropped, and the reader with it.
        tokio::select! {
            biased;
            () = stop.cancelled() => Err(Failure::new(Code::Killed, "the emergency stop was pulled")),
            read = timeout(patience, work) => read.unwrap_or_else(|_| {
                Err(Failure::new(Code::Timeout, "the page is too tangled to be read in time")
                    .hint("ask for `format` html, or for another page"))
            }),
        }
    }

    /// Kills every reader, also those that have a page; a later page begins anew.
    pub async fn stop(&self) {
        let stopped = std::mem::take(&mut *self.stop.lock().unwrap_or_else(PoisonError::into_inner));
        stopped.cancel();
        self.close().await;
    }

    fn answer(&self, reader: Reader, answer: Answer) -> Result<Article, Failure> {
        if !answer.spent && reader.pages < MOST_PAGES {
            self.keep(reader);
        }
        answer.read.map_err(|why| unreadable(&why))
    }

    fn start(&self, owner: &str) -> io::Result<Reader> {
        let mut command = Command::new(&self.settings.helper);
        command.arg(READER_ARGUMENT).env_clear().current_dir("/").kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let (input, output) = (child.stdin.take().ok_or_else(missing)?, child.stdout.take().ok_or_else(missing)?);
        Ok(Reader { owner: owner.to_owned(), child, input, output, pages: 0, since: Instant::now() })
    }

    fn idle_of(&self, owner: &str) -> Option<Reader> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // One that was killed from outside in the meantime is of no use.
        idle.retain_mut(|reader| matches!(reader.child.try_wait(), Ok(None)));
        let at = idle.iter().rposition(|reader| reader.owner == owner)?;
        Some(idle.remove(at))
    }

    fn keep(&self, mut reader: Reader) {
        reader.since = Instant::now();
        {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() >= self.settings.kept.max(1) {
                idle.remove(0);
            }
            idle.push(reader);
        }
        let (idle, patience) = (Arc::downgrade(&self.idle), self.settings.idle);
        tokio::spawn(async move {
            sleep(patience).await;
            if let Some(idle) = idle.upgrade() {
                idle.lock().unwrap_or_else(PoisonError::into_inner).retain(|reader| reader.since.elapsed() < patience);
            }
        });
    }

    /// The processes that wait for a page, for tests and `doctor`.
    pub fn waiting(&self) -> Vec<u32> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(|reader| reader.child.id()).collect()
    }

    /// Ends every waiting reader and takes its exit.
    pub async fn close(&self) {
        let mut idle: Vec<Reader> = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        // All are dead before the first one's exit is waited for.
        for reader in &mut idle {
            let _ = reader.child.start_kill();
        }
        for mut reader in idle {
            let _ = reader.child.kill().await;
        }
    }
}

impl Reader {
    async fn exchange(&mut self, job: &Job, bytes: &[u8]) -> io::Result<Answer> {
        self.pages += 1;
        self.input.write_all(&head(job, bytes)?).await?;
        self.input.write_all(bytes).await?;
        self.input.flush().await?;
        let length = self.output.read_u64_le().await?;
        if length > MOST_ANSWER {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut text = Vec::new();
        (&mut self.output).take(length).read_to_end(&mut text).await?;
        Ok(serde_json::from_slice(&text)?)
    }
}

fn unstarted(fault: &io::Error) -> Failure {
    tracing::error!(%fault, "a reader could not be started");
    Failure::new(Code::SandboxUnavailable, "no process could be started to read the page in")
}

fn unreadable(why: &str) -> Failure {
    Failure::new(Code::Unreadable, format!("the page cannot be read: {why}")).hint("ask for `format` html, or keep it with `save_to`")
}

/// What is said of a reader that died of its page.
fn ended(status: Option<ExitStatus>) -> Failure {
    if status.and_then(|status| status.code()) == Some(i32::from(UNWALLED)) {
        return Failure::new(Code::SandboxUnavailable, "this machine offers no walls to read a page behind");
    }
    unreadable("it ended its reader, which had all the memory and depth a page needs")
}
