//! The one thread that waits for the disk, signs heads, looks for room on a full disk and removes what is too old.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::chain::Receipt;
use super::commit::Job;
use super::fault::Fault;
use super::folder::Place;
use super::medium::Medium;
use super::shared::{LOOK_AGAIN, Shared};
use super::{heads, retain};

/// Works until the log closes.
pub(crate) fn run(shared: &Shared) {
    // On a full disk they are made later; without them there are no heads, but the records are kept.
    if let Err(fault) = shared.keys()
        && !fault.is_no_room()
    {
        shared.broke(&fault);
    }
    let mut keeper = Keeper::new(shared);
    loop {
        let look = shared.is_full().then(|| Instant::now() + LOOK_AGAIN);
        let head = keeper.unsigned.is_some().then(|| keeper.signed + BETWEEN_HEADS);
        let alarm = match (look, head) {
            (Some(look), Some(head)) => Some(look.min(head)),
            (look, head) => look.or(head),
        };
        let done = match shared.commit.next(alarm) {
            Job::Stop => return,
            Job::Sync => keeper.sync(),
            Job::Alarm => Ok(()),
        };
        if let Err(fault) = done.and_then(|()| keeper.sign_when_due()) {
            shared.broke(&fault);
        }
        if shared.is_full() {
            // Still full: it is looked at again.
            let _ = shared.with_writer(|writer| shared.find_room(writer, 0));
        }
    }
}

struct Keeper<'a> {
    shared: &'a Shared,
    /// The file's name is durable, too.
    named: bool,
    /// The file after whose beginning old ones were removed last.
    expired: String,
    signed: Instant,
    unsigned: Option<End>,
}

/// The end of a file that is on disk.
struct End {
    id: String,
    last: Receipt,
    size: u64,
}

impl<'a> Keeper<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self { shared, named: false, expired: String::new(), signed: Instant::now(), unsigned: None }
    }

    fn sync(&mut self) -> Result<(), Fault> {
        self.shared.commit.gather();
        let (medium, end, is_whole): (Arc<dyn Medium>, End, bool) = self.shared.with_writer(|writer| {
            let chain = &writer.chain;
            let is_whole = chain.medium.is_whole(&self.shared.folder, &chain.id, chain.size);
            (Arc::clone(&chain.medium), End { id: chain.id.clone(), last: chain.last, size: chain.size }, is_whole)
        })?;
        // What is written to a file that was taken away, alone or with its folder, or behind what another process wrote, is no record.
        if !is_whole || !self.shared.folder.is_in_place() {
            return Err(Fault::Changed);
        }
        medium.sync().map_err(|source| Fault::Sync { source })?;
        if !self.named {
            self.shared.folder.sync(Place::Audit)?;
            heads::note_begun(&self.shared.folder);
        }
        self.shared.commit.reached(end.last.seq);
        self.named = true;
        if self.expired != end.id {
            end.id.clone_into(&mut self.expired);
            retain::expire(self.shared)?;
        }
        self.unsigned = Some(end);
        Ok(())
    }

    /// Signs the last end that is on disk, never a later one: a head must not be ahead of its file after a loss of power.
    fn sign_when_due(&mut self) -> Result<(), Fault> {
        if self.signed.elapsed() < BETWEEN_HEADS {
            return Ok(());
        }
        let Some(end) = self.unsigned.take() else { return Ok(()) };
        self.signed = Instant::now();
        self.shared.sign(&end.id, end.last, end.size).map(drop)
    }
}

const BETWEEN_HEADS: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::{Event, Log, Record, Settings, Sync, verify};
    use super::*;

    #[test]
    fn after_ten_seconds_the_end_that_is_on_disk_is_signed_and_a_cut_behind_it_is_noticed() {
        let state = tempfile::tempdir().unwrap();
        let log = Log::open(state.path(), Settings::default(), Arc::new(Timestamp::now)).unwrap();
        let append = || log.append(&Record::new(Event::KillOn), Sync::Durable).unwrap().seq;
        append();
        let mut keeper = Keeper::new(log.shared());
        keeper.sync().unwrap();
        let signed = |state: &std::path::Path| verify(state, None).unwrap().files[0].signed_seq;
        keeper.sign_when_due().unwrap();
        assert_eq!(signed(state.path()), None, "not yet");
        keeper.signed -= BETWEEN_HEADS;
        append();
        keeper.sign_when_due().unwrap();
        assert_eq!(signed(state.path()), Some(2), "the end that was synced, not the newest");
        assert_eq!(verify(state.path(), None).unwrap().broken(), None);
        let head = std::fs::read_dir(state.path().join("heads")).unwrap().next().unwrap().unwrap().path();
        let early = std::fs::read(&head).unwrap();
        log.close().unwrap();
        let last = std::fs::read(&head).unwrap();
        std::fs::write(&head, early).unwrap();
        let broken = verify(state.path(), None).unwrap().broken().map(|(_, broken)| broken.seq);
        assert_eq!(broken, Some(3), "an early head does not vouch for what was put behind it");
        std::fs::write(&head, last).unwrap();
        keeper.unsigned = Some(End {
            id: log.shared().with_writer(|writer| writer.chain.id.clone()).unwrap(),
            last: Receipt::new(1, super::super::hex::NONE),
            size: 1,
        });
        assert_eq!(signed(state.path()), Some(4));
    }
}
