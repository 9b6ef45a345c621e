//! The sliding log of one key: when the last calls were, in a ring of fixed size.
//!
//! Two heads of 64 bytes, written in turn, then the slots of 16 bytes: time and number of the last call in it, with a sum. A slot is written
//! before the head that counts it, so a death between the two loses the call that was not yet answered, and nothing else.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::held::{Content, Held, sum};
use super::ticks::{Ticks, Tied};
use super::{Millis, Window};

/// Slots of a ring. A window with more calls puts neighbours into one slot, under the later time: its end is never too early.
const SLOTS: u64 = 4096;
const SLOT: u64 = 16;
const HEAD: u64 = 64;
const MAGIC: u64 = u64::from_le_bytes(*b"tgring01");

/// One key's calls.
#[derive(Debug)]
pub(super) struct Ring(Held);

/// Where the ring stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Head {
    /// Slots written so far; the next one is this number modulo `SLOTS`.
    slots: u64,
    /// Calls counted so far.
    calls: u64,
    /// When the newest slot was written last.
    latest: Millis,
    tied: Tied,
}

/// The marks of a call where it was counted, and the ages of the calls that fill windows.
type Count = (Option<Vec<Mark>>, Vec<Vec<Millis>>);

/// When a call was counted, and how long neighbours share a slot with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    at: Millis,
    grain: Millis,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    at: Millis,
    /// The number of its last call, from 1; 0: a hole.
    number: u64,
}

impl Ring {
    pub(super) fn open(folder: &OwnedFd, name: &str) -> io::Result<Self> {
        Held::open(folder, name).map(Self)
    }

    /// Counts a call now in all rings where it fits the windows of all, else in none. Gives the call's mark in each ring, where it was counted.
    /// Gives as well, for each ring, the ages of the earlier calls that fill a window: as many as the window holds, all with the age of the call
    /// that leaves the window first.
    ///
    /// INVARIANT: a call that counts in two rings names them in the same order: each is locked while the next is.
    pub(super) fn count(ticks: &Ticks, rings: &[(Arc<Self>, &[Window])]) -> io::Result<Count> {
        let Some(((ring, windows), further)) = rings.split_first() else { return Ok((Some(Vec::new()), Vec::new())) };
        ring.0.alone(|file| {
            let mut head = read_head(file)?;
            let tied = (head.tied.boot, head.tied.offset);
            let now = head.tied.now(ticks.now());
            let mut full: Vec<(u64, Millis)> = Vec::new();
            for window in *windows {
                if let Some(at) = nth_last(file, &head, window.most)?
                    && now.saturating_sub(at) < window.span
                {
                    full.push((window.most, now.saturating_sub(at)));
                }
            }
            let fits = full.is_empty() && windows.iter().all(|window| window.most > 0);
            let (mut counted, mut all) = if fits { Self::count(ticks, further)? } else { (None, vec![Vec::new(); further.len()]) };
            if let Some(marks) = &mut counted {
                let mark = Mark { at: now, grain: grain(windows) };
                append(file, &mut head, mark)?;
                marks.insert(0, mark);
            } else if tied != (head.tied.boot, head.tied.offset) {
                // Else the time since a restart of the machine would begin again with each look.
                write_head(file, &head)?;
            }
            full.sort_unstable();
            let mut ages = Vec::new();
            for (most, age) in full {
                ages.resize(usize::try_from(most).unwrap_or(usize::MAX).max(ages.len()), age);
            }
            all.insert(0, ages);
            Ok((counted, all))
        })
    }

    /// Takes back the call of this mark. A death in the middle leaves a ring that counts it still: the calls after it move one slot down, the
    /// earliest first, and the heads say last that there is one less.
    pub(super) fn take_back(&self, Mark { at, grain }: Mark) -> io::Result<()> {
        self.0.alone(|file| {
            let mut head = read_head(file)?;
            let (lowest, mut first) = (head.slots.saturating_sub(SLOTS), head.slots);
            // From the newest slot back to the one that holds the call.
            let mut later = Vec::new();
            let before = loop {
                let Some(index) = first.checked_sub(1).filter(|index| *index >= lowest) else { break (first == 0).then_some(0) };
                let slot = read_slot(file, index)?;
                if slot.at < at || slot.number == 0 {
                    break Some(slot.number);
                }
                later.push(slot);
                first = index;
            };
            // A call that later ones have overwritten stays counted.
            let (Some(before), Some(holds)) = (before, later.last()) else { return Ok(()) };
            if holds.at / grain != at / grain {
                return Ok(());
            }
            let is_alone = before + 1 >= holds.number;
            for (index, slot) in (first..).zip(later.iter().rev().skip(usize::from(is_alone))) {
                write_slot(file, index, Slot { number: slot.number - 1, ..*slot })?;
            }
            if is_alone {
                head.slots -= 1;
                // Else a damaged head would be made up from it.
                write_slot(file, head.slots, Slot::default())?;
            }
            head.calls -= 1;
            head.latest = head.slots.checked_sub(1).map_or(Ok(0), |newest| read_slot(file, newest).map(|slot| slot.at))?;
            write_head(file, &head)?;
            // The other place holds the head that counts more until now.
            write_head_at(file, &Head { calls: head.calls.saturating_sub(1), ..head }, head.calls + 1)
        })
    }
}

/// How long neighbours share a slot, so that the ring reaches back over every window.
fn grain(windows: &[Window]) -> Millis {
    let crowded = windows.iter().filter(|window| window.most > SLOTS && window.most < u64::MAX);
    crowded.map(|window| window.span.div_ceil(SLOTS)).max().unwrap_or(1).max(1)
}

/// When the call was made after which `most - 1` more came; none where there were fewer, or where nothing limits.
fn nth_last(file: Content<'_>, head: &Head, most: u64) -> io::Result<Option<Millis>> {
    if most == 0 || head.calls < most {
        return Ok(None);
    }
    let wanted = head.calls - most + 1;
    // The first slot whose last call is that one or a later one. Without shared slots it is the first that is looked at.
    let (mut low, mut high) = (head.slots.saturating_sub(most.min(SLOTS)), head.slots.saturating_sub(1));
    let mut probe = low;
    while low < high {
        if read_slot(file, probe)?.number >= wanted {
            high = probe;
        } else {
            low = probe + 1;
        }
        probe = low.midpoint(high);
    }
    let found = read_slot(file, low)?;
    // A hole says nothing; the newest time is the strictest there is.
    Ok(Some(if found.number >= wanted { found.at.min(head.latest) } else { head.latest }))
}

fn append(file: Content<'_>, head: &mut Head, Mark { at, grain }: Mark) -> io::Result<()> {
    let shares = head.slots > 0 && head.latest / grain == at / grain;
    if !shares {
        head.slots += 1;
    }
    head.calls += 1;
    head.latest = at;
    write_slot(file, head.slots - 1, Slot { at, number: head.calls })?;
    write_head(file, head)
}

fn read_slot(file: Content<'_>, index: u64) -> io::Result<Slot> {
    let mut bytes = [0; 16];
    let read = file.read(2 * HEAD + index % SLOTS * SLOT, &mut bytes)?;
    let [at, told] = words(&bytes);
    let slot = Slot { at, number: told & NUMBER };
    Ok(if read == bytes.len() && slot.told() == told { slot } else { Slot::default() })
}

/// A slot's number has 48 bits, its sum the rest.
const NUMBER: u64 = (1 << 48) - 1;

impl Slot {
    fn told(self) -> u64 {
        self.number | sum([self.at, self.number]) & !NUMBER
    }
}

fn write_slot(file: Content<'_>, index: u64, slot: Slot) -> io::Result<()> {
    file.write(2 * HEAD + index % SLOTS * SLOT, &bytes::<2, 16>([slot.at, slot.told()]))
}

fn write_head(file: Content<'_>, head: &Head) -> io::Result<()> {
    write_head_at(file, head, head.calls)
}

/// Writes a head to one of the two places, in turn.
fn write_head_at(file: Content<'_>, head: &Head, place: u64) -> io::Result<()> {
    let Head { slots, calls, latest, tied: Tied { boot, offset, newest } } = *head;
    let told = [MAGIC, slots, calls, latest, boot, offset, newest];
    let whole = [MAGIC, slots, calls, latest, boot, offset, newest, sum(told)];
    file.write(place % 2 * HEAD, &bytes::<8, 64>(whole))
}

fn read_head(file: Content<'_>) -> io::Result<Head> {
    let mut both = [0; 128];
    let read = file.read(0, &mut both)?;
    let heads = both.chunks_exact(64).filter_map(|one| {
        let [magic, slots, calls, latest, boot, offset, newest, told] = words(one);
        let whole = sum([magic, slots, calls, latest, boot, offset, newest]) == told && magic == MAGIC;
        whole.then_some(Head { slots, calls, latest, tied: Tied { boot, offset, newest } })
    });
    let heads: Vec<Head> = heads.collect();
    match heads.iter().copied().max_by_key(|head| head.calls) {
        Some(head) if heads.len() == 2 => Ok(head),
        Some(head) => caught_up(file, head),
        None if read == 0 && file.is_empty()? => Ok(Head::default()),
        None => rebuild(file),
    }
}

/// One head was never written or is damaged, perhaps the newer one: the slot behind it tells.
fn caught_up(file: Content<'_>, mut head: Head) -> io::Result<Head> {
    for index in [head.slots.saturating_sub(1), head.slots] {
        let slot = read_slot(file, index)?;
        if slot.number == head.calls + 1 {
            head = Head { slots: index + 1, calls: slot.number, latest: slot.at.max(head.latest), ..head };
        }
    }
    Ok(head)
}

/// Both heads are damaged: the slots tell where the ring stands.
fn rebuild(file: Content<'_>) -> io::Result<Head> {
    let mut head = Head::default();
    for index in 0..SLOTS {
        let slot = read_slot(file, index)?;
        if slot.number > head.calls && slot.number < u64::MAX / 2 {
            // One more time around, so that every slot behind it is looked at.
            head =
                Head { slots: index + 1 + SLOTS, calls: slot.number, latest: slot.at, tied: Tied { newest: slot.at, ..Tied::default() } };
        }
    }
    Ok(head)
}

pub(super) fn words<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut words = [0; N];
    for (word, eight) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(eight.try_into().unwrap_or_default());
    }
    words
}

fn bytes<const N: usize, const M: usize>(words: [u64; N]) -> [u8; M] {
    let mut bytes = [0; M];
    for (eight, word) in bytes.chunks_exact_mut(8).zip(words) {
        eight.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}
