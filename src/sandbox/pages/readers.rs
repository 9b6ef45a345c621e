//! The server's side: a reader of its own for every page, in the strongest jail that this machine has.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use toolgate_jail::{Backend, Client, Io, NotStarted, Spec};

use super::spec;
use super::wire::{Answer, Job};
use crate::model::{Code, Failure};
use crate::sandbox::programs::{pipe, sealed, strongest};
use toolgate_page::{Article, join_page};

/// Pages that are read at one time; further ones wait.
const MOST: usize = 4;
/// Bytes of all answers of a reader.
const MOST_ANSWER: u64 = 128 << 20;

/// The readers of a server.
#[derive(Debug)]
pub struct Readers {
    client: Arc<Client>,
    /// What runs readers here, and what a reader is, once a page needed one.
    jail: OnceCell<(Arc<dyn Backend>, Spec)>,
    places: Semaphore,
    /// Ends the readers that have a page.
    stop: Mutex<CancellationToken>,
}

impl Readers {
    /// Readers of which none is running yet. `client`: the way to the spawner, whose program calls [`super::enter_if_asked`].
    pub fn new(client: Arc<Client>) -> Self {
        Self { client, jail: OnceCell::new(), places: Semaphore::new(MOST), stop: Mutex::default() }
    }

    /// Has a reader wait: it gets ready while a page is still on its way.
    pub async fn prepare(&self) {
        // The page itself says what is wrong.
        if let Ok((backend, reader)) = self.jail().await {
            backend.prepare(reader, 1).await;
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
                if let Some(last) = self.read_once(job, bytes, &pages).await? {
                    return Ok(last);
                }
                // Killed from outside: that is nothing the page did.
                *lock(&pages) = Article::default();
            }
            Err(unreadable("its reader was killed"))
        };
        let stop = lock(&self.stop).clone();
        // At either end the future is dropped, and the reader is killed with it.
        let read = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(Failure::new(Code::Killed, "the emergency stop was switched on")),
            read = timeout(patience, work) => read.unwrap_or_else(|_| {
                Err(Failure::new(Code::Timeout, "the page could not be converted in time")
                    .hint("ask for `format` html, or for another page"))
            }),
        };
        let mut pages = pages.into_inner().unwrap_or_else(PoisonError::into_inner);
        match read {
            Ok(last) if pages == Article::default() => Ok(last),
            Ok(last) => {
                join_page(&mut pages, &last);
                Ok(pages)
            }
            // A time-out, or a page that ended its reader, does not take the pages before it.
            Err(failure) if pages.text.is_empty() => Err(failure),
            Err(_) => Ok(Article { truncated: true, ..pages }),
        }
    }

    /// Kills every reader, also those that have a page; a later page begins anew.
    pub async fn stop(&self) {
        let stopped = std::mem::take(&mut *lock(&self.stop));
        stopped.cancel();
        self.close().await;
    }

    /// Ends every reader, and waits until it is gone.
    pub async fn close(&self) {
        match self.jail.get() {
            Some((backend, _)) => backend.close().await,
            None => self.client.close().await,
        }
    }

    /// What runs readers. The first page that needs it looks for it, and all others wait for that.
    async fn jail(&self) -> Result<&(Arc<dyn Backend>, Spec), Failure> {
        let find = async || {
            let reader = spec::reader(self.client.helper()).map_err(|fault| unavailable(UNSTARTED, &fault))?;
            let found = strongest("auto", &self.client, &spec::trial(&reader)).await;
            found.map(|(backend, _)| (backend, reader)).map_err(|why| unavailable(UNWALLED, &why))
        };
        self.jail.get_or_try_init(find).await
    }

    /// Reads in one reader; what comes of a file before its last answer goes into `pages`. `None`: the reader was ended from outside.
    async fn read_once(&self, job: &Job, bytes: &[u8], pages: &Mutex<Article>) -> Result<Option<Article>, Failure> {
        let (backend, reader) = self.jail().await?;
        let (answers, io) = streams(job, bytes).map_err(|fault| unavailable(UNSTARTED, &fault))?;
        let mut running = backend.start(reader, io, false).await.map_err(|why| match why {
            NotStarted::Unavailable(..) => unavailable(UNWALLED, &why),
            why => unavailable(UNSTARTED, &why),
        })?;
        let (mut answers, mut line) = (BufReader::new(answers.take(MOST_ANSWER)), Vec::new());
        while answers.read_until(b'\n', &mut line).await.is_ok_and(|count| count > 0) {
            match serde_json::from_slice(&line) {
                Ok(Answer::Page(page)) => join_page(&mut lock(pages), &page),
                Ok(Answer::Last(read)) => return read.map(Some).map_err(|why| unreadable(&why)),
                Err(_) => break,
            }
            line.clear();
        }
        running.kill();
        let end = running.end().await;
        if end.exit.is_none() && end.signal.is_none() && end.limit.is_none() {
            return Ok(None);
        }
        Err(unreadable("it ended its reader, which had all the memory and depth a page needs"))
    }
}

/// What a reader gets, and where its answers come.
fn streams(job: &Job, bytes: &[u8]) -> io::Result<(Receiver, Io)> {
    let job = serde_json::to_vec(job)?;
    let stdin = sealed(&[&job, b"\n", bytes]).map_err(io::Error::other)?;
    let (answers, stdout) = pipe()?;
    let stderr = open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    Ok((answers, Io { stdin, stdout, stderr, task: None }))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const UNSTARTED: &str = "no process could be started to read the page";
const UNWALLED: &str = "this machine has no sandbox in which a page can be read";

fn unavailable(message: &str, why: &dyn std::fmt::Display) -> Failure {
    tracing::error!(%why, message);
    Failure::new(Code::SandboxUnavailable, message)
}

fn unreadable(why: &str) -> Failure {
    Failure::new(Code::Unreadable, format!("the page cannot be read: {why}")).hint("ask for `format` html, or keep it with `save_to`")
}
