//! A short text that every process on a state folder shares, e.g. the grants of one session. Written in place under a lock; a text that was
//! torn by a death reads as none.

use std::io;
use std::os::fd::OwnedFd;

use super::held::{Held, sum};
use super::ring::words;

/// The longest text.
const LONGEST: usize = 1 << 20;

/// One text.
#[derive(Debug)]
pub(super) struct Shelf(Held);

impl Shelf {
    pub(super) fn open(folder: &OwnedFd, name: &str) -> io::Result<Self> {
        Held::open(folder, name).map(Self)
    }

    /// Changes the text; `None` leaves it as it is.
    pub(super) fn change<R>(&self, change: impl FnOnce(&[u8]) -> (R, Option<Vec<u8>>)) -> io::Result<R> {
        self.0.alone(|file| {
            let mut head = [0; 16];
            let whole = file.read(0, &mut head)? == head.len();
            let [length, told] = words(&head);
            let mut text = vec![0; usize::try_from(length).unwrap_or(usize::MAX).min(LONGEST)];
            let whole = whole && file.read(16, &mut text)? == text.len() && of(&text) == told;
            let (done, new) = change(if whole { &text } else { &[] });
            if let Some(new) = new.filter(|new| new.len() <= LONGEST) {
                let mut all = Vec::with_capacity(16 + new.len());
                all.extend((new.len() as u64).to_le_bytes());
                all.extend(of(&new).to_le_bytes());
                all.extend(new);
                file.write(0, &all)?;
            }
            Ok(done)
        })
    }
}

fn of(text: &[u8]) -> u64 {
    let eight = text.chunks(8).map(|part| part.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    sum(eight.chain([text.len() as u64]))
}
