//! Counts that every process on one state folder shares: calls in sliding windows, hourly budgets, denials and suspensions. One small file a
//! key, changed under a lock by one process at a time, whole again after a death at any byte.
//!
//! Time here is neither the wall clock's nor one process's own: it is the machine's time since its start, tied to a file when the file is
//! made and again after a restart of the machine. A clock that is set back or forward frees nothing.

mod account;
mod held;
mod ring;
mod shelf;
#[cfg(test)]
mod tests;
mod ticks;

use std::collections::HashMap;
use std::hash::Hash;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use super::StateDir;
use super::hex;
use account::Account;
pub use account::{Ask, BUDGETS, Standing};
use ring::{Mark, Ring};
use shelf::Shelf;
pub use ticks::{Tick, Ticks};

/// Milliseconds.
pub type Millis = u64;

/// So many calls in any span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Calls.
    pub most: u64,
    /// The span.
    pub span: Millis,
}

/// A call as it was counted; dropped, it stays counted.
#[derive(Debug, Default)]
pub struct Counted(Vec<(Arc<Ring>, Mark)>);

impl Counted {
    /// The call is counted no more.
    /// # Errors  When that cannot be kept; then it stays counted.
    pub fn take_back(self) -> io::Result<()> {
        self.0.into_iter().try_for_each(|(ring, mark)| ring.take_back(mark))
    }

    /// The call is counted no more under its first key, where its parts are counted in its place; under the others it stays.
    /// # Errors  When that cannot be kept; then it stays counted.
    pub fn hand_over(self) -> io::Result<()> {
        self.0.into_iter().take(1).try_for_each(|(ring, mark)| ring.take_back(mark))
    }
}

/// All counts of one state folder.
#[derive(Debug)]
pub struct Counts {
    rings: OwnedFd,
    accounts: OwnedFd,
    grants: OwnedFd,
    strange: Shelf,
    ticks: Ticks,
    open_rings: Mutex<HashMap<String, Arc<Ring>>>,
    open_accounts: Mutex<HashMap<String, Arc<Account>>>,
    open_grants: Mutex<HashMap<String, Arc<Shelf>>>,
}

/// Files that are kept open; beyond that all are closed and opened again as they are needed.
const MOST_OPEN: usize = 256;
/// A file that nobody counted in for so long says nothing any more: every window and budget is an hour at most.
const STALE: std::time::Duration = std::time::Duration::from_hours(2);

/// The key under which denials of one session alone are counted.
pub fn of_session(session: &str) -> String {
    format!("session {session}")
}

impl Counts {
    /// The counts of a state folder; files that say nothing any more are removed.
    /// # Errors  When their folders cannot be made or opened.
    pub fn open(state: &StateDir) -> io::Result<Self> {
        Self::with_ticks(state, Ticks::of_this_machine())
    }

    /// The same by another clock.
    /// # Errors  As [`open`](Self::open).
    pub fn with_ticks(state: &StateDir, ticks: Ticks) -> io::Result<Self> {
        let [rings, accounts, grants] = [state.subfolder("rates")?, state.subfolder("accounts")?, state.subfolder("grants")?];
        let (open_rings, open_accounts, open_grants) = (Mutex::default(), Mutex::default(), Mutex::default());
        // Files stay where they are however long nobody asks for them, and so do the marks on them.
        let strange = Shelf::open(&state.subfolder("taint")?, "files")?;
        let counts = Self { rings, accounts, grants, strange, ticks, open_rings, open_accounts, open_grants };
        counts.sweep();
        Ok(counts)
    }

    /// Removes files that say nothing any more.
    pub fn sweep(&self) {
        for folder in [&self.rings, &self.accounts, &self.grants] {
            held::sweep(folder, STALE);
        }
    }

    /// Counts a call under all keys where it fits the windows of all, else under none: a call that is refused for its rate takes no place from
    /// the next. Gives for each key how long ago earlier calls were, where they fill one of its windows, and what was counted.
    /// # Errors  When it cannot be counted; then it must not be made.
    pub fn call<const N: usize>(&self, keys: [(&str, &[Window]); N]) -> io::Result<([Vec<Millis>; N], Counted)> {
        let rings = keys.iter().map(|(key, windows)| Ok((self.ring(key)?, *windows))).collect::<io::Result<Vec<_>>>()?;
        let (marks, mut ages) = Ring::count(&self.ticks, &rings)?;
        let counted = Counted(rings.into_iter().map(|(ring, _)| ring).zip(marks.unwrap_or_default()).collect());
        Ok((std::array::from_fn(|at| ages.get_mut(at).map(std::mem::take).unwrap_or_default()), counted))
    }

    /// Counts something where it fits a window, and gives how long it must wait where it does not; then it is not counted.
    /// # Errors  When it cannot be counted; then it must not be done.
    pub fn take(&self, key: &str, window: Window) -> io::Result<Option<Millis>> {
        let (counted, ages) = Ring::count(&self.ticks, &[(self.ring(key)?, &[window])])?;
        let age = ages.iter().flatten().next().copied().unwrap_or(0);
        Ok(counted.is_none().then(|| window.span.saturating_sub(age)))
    }

    fn ring(&self, key: &str) -> io::Result<Arc<Ring>> {
        cached(&self.open_rings, key, |key| Ring::open(&self.rings, &name(key)))
    }

    /// Where a principal stands, with what was asked for reserved.
    /// # Errors  When it cannot be read or kept; then the call must not be made.
    pub fn reserve(&self, principal: &str, ask: &Ask) -> io::Result<Standing> {
        self.account(principal)?.reserve(&self.ticks, ask)
    }

    /// Puts what was used in the place of what was reserved.
    /// # Errors  When it cannot be kept; then what was reserved stays charged.
    pub fn settle(&self, principal: &str, reserved: [u64; BUDGETS], used: [u64; BUDGETS]) -> io::Result<()> {
        if reserved == used { Ok(()) } else { self.account(principal)?.settle(&self.ticks, reserved, used) }
    }

    /// Counts a denial. Whether it is one too many, so that the principal is suspended from now on.
    /// # Errors  When it cannot be kept.
    pub fn deny(&self, principal: &str, breaker: Window) -> io::Result<bool> {
        self.account(principal)?.deny(&self.ticks, breaker)
    }

    /// Whether a principal, or a session by its key, is suspended.
    /// # Errors  When it cannot be read.
    pub fn is_suspended(&self, key: &str) -> io::Result<bool> {
        Ok(self.reserve(key, &Ask::default())?.suspended)
    }

    /// Ends a suspension. Whether there was one.
    /// # Errors  When it cannot be kept.
    pub fn resume(&self, principal: &str) -> io::Result<bool> {
        self.account(principal)?.resume(&self.ticks)
    }

    /// Changes what is kept for a session, a text of at most 1 MiB; `None` leaves it as it is. What cannot be read is empty.
    /// # Errors  When it can neither be read nor kept.
    pub fn kept<R>(&self, session: &str, change: impl FnOnce(&[u8], Tick) -> (R, Option<Vec<u8>>)) -> io::Result<R> {
        let now = self.ticks.now();
        cached(&self.open_grants, session, |session| Shelf::open(&self.grants, &name(session)))?.change(|text| change(text, now))
    }

    /// Changes what is known of files with strangers' words in them, a text of at most 1 MiB that all servers of the folder share; `None` leaves it
    /// as it is.
    /// # Errors  When it can neither be read nor kept.
    pub fn strange<R>(&self, change: impl FnOnce(&[u8]) -> (R, Option<Vec<u8>>)) -> io::Result<R> {
        self.strange.change(change)
    }

    /// Removes what is kept for a session; whoever has it open sees that it is gone.
    pub fn forget(&self, session: &str) {
        self.open_grants.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
        if let Err(fault) = held::remove(&self.grants, &name(session)) {
            tracing::warn!(%fault, "what was kept for a session could not be removed");
        }
    }

    fn account(&self, principal: &str) -> io::Result<Arc<Account>> {
        cached(&self.open_accounts, principal, |principal| Account::open(&self.accounts, &name(principal)))
    }
}

/// A key may hold anything; its digest is a file name.
fn name(key: &str) -> String {
    hex::text(&hex::sha256(key.as_bytes()))
}

fn cached<T>(open: &Mutex<HashMap<String, Arc<T>>>, key: &str, open_one: impl FnOnce(&str) -> io::Result<T>) -> io::Result<Arc<T>>
where
    String: Hash + Eq,
{
    let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = open.get(key) {
        return Ok(Arc::clone(known));
    }
    if open.len() >= MOST_OPEN {
        open.clear();
    }
    let opened = Arc::new(open_one(key)?);
    open.insert(key.to_owned(), Arc::clone(&opened));
    Ok(opened)
}
