//! What one principal has used of its hourly budgets, its denials, and whether it is suspended.
//!
//! The whole is written each time, in turn to one of two places: a death in the middle leaves the other one, which is the state before.

use std::io;
use std::os::fd::OwnedFd;

use super::held::{Content, Held, sum};
use super::ring::words;
use super::ticks::{Ticks, Tied};
use super::{Millis, Window};

/// Budgets: bytes written, bytes sent, processor milliseconds.
pub const BUDGETS: usize = 3;

const HOUR: Millis = 3_600_000;
/// A suspension ends by itself.
const SUSPENSION: Millis = 600_000;
/// What is used within a minute is one entry, under its latest time: never freed too early, and 61 of them are an hour.
const GRAIN: Millis = 60_000;
const MOST: usize = 64;
/// Room for one copy: 9 words before the lists, their four lengths, the entries, the sum.
const COPY: usize = (9 + 4 * (1 + 2 * MOST) + 1) * 8;
const MAGIC: u64 = u64::from_le_bytes(*b"tgacct01");

/// What a call asks of the budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ask {
    /// What it will use.
    pub exactly: [u64; BUDGETS],
    /// What it may use besides, as far as there is any left.
    pub at_most: [u64; BUDGETS],
    /// The budgets.
    pub budget: [u64; BUDGETS],
}

/// Where a principal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// It is suspended.
    pub suspended: bool,
    /// What was used or reserved in the last hour, before this call.
    pub used: [u64; BUDGETS],
    /// What is reserved for this call.
    pub reserved: [u64; BUDGETS],
}

/// One principal's account.
#[derive(Debug)]
pub(super) struct Account(Held);

type Entry = (Millis, u64);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Book {
    generation: u64,
    tied: Tied,
    /// 0: not.
    suspended_at: Millis,
    /// Budgets, then denials; oldest first.
    lists: [Vec<Entry>; BUDGETS + 1],
}

impl Account {
    pub(super) fn open(folder: &OwnedFd, name: &str) -> io::Result<Self> {
        Held::open(folder, name).map(Self)
    }

    pub(super) fn reserve(&self, ticks: &Ticks, ask: &Ask) -> io::Result<Standing> {
        self.change(ticks, |book, now| {
            let suspended = book.suspended_at > 0 && now.saturating_sub(book.suspended_at) < SUSPENSION;
            let mut standing = Standing { suspended, ..Standing::default() };
            let parts = standing.used.iter_mut().zip(&mut standing.reserved).zip(&mut book.lists);
            for (((used, reserved), list), ((exactly, at_most), budget)) in parts.zip(ask.exactly.iter().zip(&ask.at_most).zip(&ask.budget))
            {
                list.retain(|(at, _)| now.saturating_sub(*at) < HOUR);
                *used = total(list);
                let left = budget.saturating_sub(*used).saturating_sub(*exactly);
                *reserved = exactly.saturating_add(left.min(*at_most));
                add(list, now, *reserved, GRAIN);
            }
            (standing, standing.reserved != [0; BUDGETS])
        })
    }

    pub(super) fn settle(&self, ticks: &Ticks, reserved: [u64; BUDGETS], used: [u64; BUDGETS]) -> io::Result<()> {
        self.change(ticks, |book, now| {
            for ((list, reserved), used) in book.lists.iter_mut().zip(reserved).zip(used) {
                take(list, reserved.saturating_sub(used));
                add(list, now, used.saturating_sub(reserved), GRAIN);
            }
            ((), true)
        })
    }

    pub(super) fn deny(&self, ticks: &Ticks, breaker: Window) -> io::Result<bool> {
        self.change(ticks, |book, now| {
            let Some(denials) = book.lists.last_mut() else { return (false, false) };
            denials.retain(|(at, _)| now.saturating_sub(*at) < breaker.span);
            // Few denials keep their own times; many share one, the latest, which trips no later.
            let grain = if breaker.most <= MOST as u64 { 0 } else { breaker.span.div_ceil(MOST as u64 - 2) };
            add(denials, now, 1, grain);
            let tripped = total(denials) >= breaker.most;
            if tripped {
                denials.clear();
                book.suspended_at = now;
            }
            (tripped, true)
        })
    }

    pub(super) fn resume(&self, ticks: &Ticks) -> io::Result<bool> {
        self.change(ticks, |book, now| {
            let was = book.suspended_at > 0 && now.saturating_sub(book.suspended_at) < SUSPENSION;
            book.suspended_at = 0;
            if let Some(denials) = book.lists.last_mut() {
                denials.clear();
            }
            (was, true)
        })
    }

    /// Reads the book, changes it, and writes it where the change says so.
    fn change<R>(&self, ticks: &Ticks, change: impl FnOnce(&mut Book, Millis) -> (R, bool)) -> io::Result<R> {
        self.0.alone(|file| {
            let (mut book, damaged) = read(file)?;
            let now = book.tied.now(ticks.now());
            for (at, _) in book.lists.iter_mut().flatten() {
                *at = now.min(*at);
            }
            let (done, changed) = change(&mut book, now);
            if changed || damaged {
                book.generation += 1;
                file.write(place(book.generation), &write(&book))?;
            }
            Ok(done)
        })
    }
}

fn total(list: &[Entry]) -> u64 {
    list.iter().fold(0, |sum, (_, amount)| sum.saturating_add(*amount))
}

fn add(list: &mut Vec<Entry>, now: Millis, amount: u64, grain: Millis) {
    if amount == 0 {
        return;
    }
    match list.last_mut() {
        Some((at, sum)) if now.checked_div(grain) == at.checked_div(grain) && grain > 0 => {
            (*at, *sum) = (now, sum.saturating_add(amount));
        }
        _ => list.push((now, amount)),
    }
    // A full list puts its two oldest together, under the later time.
    if list.len() > MOST {
        let (_, oldest) = list.remove(0);
        if let Some((_, sum)) = list.first_mut() {
            *sum = sum.saturating_add(oldest);
        }
    }
}

/// Takes back what was reserved too much, from the newest on.
fn take(list: &mut Vec<Entry>, mut amount: u64) {
    while amount > 0
        && let Some((_, sum)) = list.last_mut()
    {
        let part = amount.min(*sum);
        *sum -= part;
        amount -= part;
        if *sum == 0 {
            list.pop();
        }
    }
}

const fn place(generation: u64) -> u64 {
    generation % 2 * COPY as u64
}

fn write(book: &Book) -> Vec<u8> {
    let Book { generation, tied: Tied { boot, offset, newest }, suspended_at, lists } = book;
    let mut told = vec![MAGIC, *generation, *boot, *offset, *newest, *suspended_at];
    for list in lists {
        told.push(list.len() as u64);
        told.extend(list.iter().flat_map(|(at, amount)| [*at, *amount]));
    }
    // The length comes first, so that a reader knows where the sum is.
    told.insert(1, told.len() as u64 + 2);
    told.push(sum(told.iter().copied()));
    told.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// The book, and whether it had to be made up.
fn read(file: Content<'_>) -> io::Result<(Book, bool)> {
    let mut both = vec![0; 2 * COPY];
    let read = file.read(0, &mut both)?;
    let books = both.chunks_exact(COPY).filter_map(parse);
    match books.max_by_key(|book| book.generation) {
        Some(book) => Ok((book, false)),
        None if read == 0 && file.is_empty()? => Ok((Book::default(), false)),
        // Nothing is known of what was used: nothing that costs is done for an hour.
        None => {
            let used_up = |at| if at < BUDGETS { vec![(Millis::MAX, u64::MAX / 2)] } else { Vec::new() };
            Ok((Book { lists: std::array::from_fn(used_up), ..Book::default() }, true))
        }
    }
}

fn parse(copy: &[u8]) -> Option<Book> {
    let [magic, length] = words(copy);
    let length = usize::try_from(length).ok().filter(|length| magic == MAGIC && (2..=COPY / 8).contains(length))?;
    let told: Vec<u64> = copy.chunks_exact(8).take(length).map(|eight| u64::from_le_bytes(eight.try_into().unwrap_or_default())).collect();
    let (last, told) = told.split_last()?;
    if sum(told.iter().copied()) != *last {
        return None;
    }
    let mut words = told.iter().copied().skip(2);
    let mut next = || words.next();
    let mut book = Book {
        generation: next()?,
        tied: Tied { boot: next()?, offset: next()?, newest: next()? },
        suspended_at: next()?,
        ..Book::default()
    };
    for list in &mut book.lists {
        for _ in 0..next()?.min(MOST as u64) {
            list.push((next()?, next()?));
        }
    }
    Some(book)
}
