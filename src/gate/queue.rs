//! Calls that change the same file wait for each other here, in the order in which they arrived.

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use super::shared::lock;
use crate::model::Target;

/// The calls of one server that may still change something.
#[derive(Debug, Default, Clone)]
pub struct Queue(Arc<Calls>);

#[derive(Debug, Default)]
struct Calls {
    /// In the order of arrival, by rising number. A call of which is not known yet what it changes has no targets.
    places: Mutex<Vec<(u64, Option<Vec<Target>>)>>,
    changed: Notify,
}

/// The place of one call; given up with [`leave`](Self::leave) or when dropped.
#[derive(Debug)]
pub struct QueueEntry {
    queue: Queue,
    number: Mutex<u64>,
}

impl Queue {
    /// The last place, for a call that has just arrived.
    pub fn enter(&self) -> QueueEntry {
        QueueEntry { number: Mutex::new(self.last(None)), queue: self.clone() }
    }

    fn last(&self, targets: Option<Vec<Target>>) -> u64 {
        let mut places = lock(&self.0.places);
        let number = places.last().map_or(0, |(last, _)| last + 1);
        places.push((number, targets));
        number
    }

    /// Whether a call that arrived before this one changes the same, or may do so.
    fn is_behind(&self, number: u64) -> bool {
        let places = lock(&self.0.places);
        let own = places.iter().find(|(other, _)| *other == number).and_then(|(_, targets)| targets.as_ref());
        let in_the_way = |theirs: &Option<Vec<Target>>| {
            theirs.as_ref().is_none_or(|theirs| theirs.iter().any(|target| own.is_some_and(|own| own.contains(target))))
        };
        places.iter().take_while(|(other, _)| *other < number).any(|(_, theirs)| in_the_way(theirs))
    }
}

impl QueueEntry {
    /// Waits until no call that arrived earlier changes one of these targets. A call that left its place takes the last one. Cancel-safe.
    pub async fn turn(&self, targets: Vec<Target>) {
        let queue = &self.queue;
        let number = {
            let mut number = lock(&self.number);
            let mut places = lock(&queue.0.places);
            if let Some((_, known)) = places.iter_mut().find(|(other, _)| *other == *number) {
                *known = Some(targets);
            } else {
                drop(places);
                *number = queue.last(Some(targets));
            }
            *number
        };
        queue.0.changed.notify_waiters();
        loop {
            let changed = queue.0.changed.notified();
            if !queue.is_behind(number) {
                return;
            }
            changed.await;
        }
    }

    /// Gives the place up: the call changes nothing more, or waits for a person.
    pub fn leave(&self) {
        let number = *lock(&self.number);
        lock(&self.queue.0.places).retain(|(other, _)| *other != number);
        self.queue.0.changed.notify_waiters();
    }
}

impl Drop for QueueEntry {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;
    use crate::model::RelPath;

    fn files(names: &[&str]) -> Vec<Target> {
        names.iter().map(|name| Target { root: "work".to_owned(), path: RelPath::parse(name).unwrap() }).collect()
    }

    #[test]
    fn calls_on_one_file_go_in_the_order_of_their_arrival_and_others_pass() {
        let queue = Queue::default();
        let [first, second, third] = [(); 3].map(|()| queue.enter());
        let mut waiting = Box::pin(second.turn(files(&["a", "b"])));
        assert!(waiting.as_mut().now_or_never().is_none(), "what the first changes is not known yet");
        assert!(first.turn(files(&["a"])).now_or_never().is_some());
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(third.turn(files(&["c"])).now_or_never().is_some(), "another file");
        first.leave();
        assert!(waiting.now_or_never().is_some());
        // Who waited for a person is the last.
        let mut again = Box::pin(first.turn(files(&["b"])));
        assert!(again.as_mut().now_or_never().is_none());
        drop(second);
        assert!(again.now_or_never().is_some());
    }
}
