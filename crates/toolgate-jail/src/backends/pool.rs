//! Programs that were started ahead and wait for their calls.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use tokio::task::JoinSet;

use crate::backend::NotStarted;

/// Templates of programs that wait: a few profiles. The one that was used longest ago makes room.
const MOST_TEMPLATES: usize = 3;
/// How long a program waits for a call.
const IDLE: Duration = Duration::from_mins(10);
/// A program that waited has the processors for so long before another is started in its place: most are over by then.
const LEAD: Duration = Duration::from_millis(6);

/// What programs that wait are started from.
pub(super) trait Template: Debug + Send + Sync + 'static {
    /// A program that waits. Dropping it ends it.
    type Program: Debug + Send + 'static;

    /// Whether a program of this template serves the calls of another.
    fn serves(&self, other: &Self) -> bool;

    /// See [`crate::Spec::label`].
    fn label(&self) -> &str;

    /// Starts one.
    ///
    /// # Errors
    /// Why not.
    fn build(self: Arc<Self>) -> BoxFuture<'static, Result<Self::Program, NotStarted>>;
}

/// The programs that wait, the template that was used last first.
#[derive(Debug)]
pub(super) struct Pool<K: Template> {
    rows: Arc<Rows<K>>,
    builds: Mutex<JoinSet<()>>,
}

type Rows<K> = Mutex<VecDeque<Row<K>>>;

/// The programs of one template.
#[derive(Debug)]
struct Row<K: Template> {
    template: Arc<K>,
    wanted: usize,
    ready: VecDeque<K::Program>,
    starting: usize,
    used: Instant,
}

impl<K: Template> Pool<K> {
    /// Nothing waits.
    pub(super) fn new() -> Self {
        Self { rows: Arc::default(), builds: Mutex::default() }
    }

    /// Has so many programs of a template wait; what is missing is started after `pause`.
    pub(super) fn want(&self, template: &Arc<K>, count: usize, pause: Duration) {
        let mut rows = locked(&self.rows);
        let at = rows.iter().position(|row| row.template.serves(template));
        let mut row = at.and_then(|at| rows.remove(at)).unwrap_or_else(|| {
            tokio::spawn(expire(Arc::downgrade(&self.rows), Arc::clone(template)));
            Row { template: Arc::clone(template), wanted: 0, ready: VecDeque::new(), starting: 0, used: Instant::now() }
        });
        (row.wanted, row.used) = (count, Instant::now());
        let missing = count.saturating_sub(row.ready.len() + row.starting);
        row.starting += missing;
        rows.truncate(MOST_TEMPLATES - 1);
        rows.push_front(row);
        drop(rows);
        let mut builds = self.builds.lock().unwrap_or_else(PoisonError::into_inner);
        while builds.try_join_next().is_some() {}
        for _ in 0..missing {
            let (rows, template) = (Arc::downgrade(&self.rows), Arc::clone(template));
            builds.spawn(async move {
                tokio::time::sleep(pause).await;
                let built = Arc::clone(&template).build().await;
                let Some(rows) = rows.upgrade() else { return };
                with(&rows, &template, |row| {
                    row.starting = row.starting.saturating_sub(1);
                    // The next call that builds one for itself says what is wrong.
                    row.ready.extend(built.ok());
                });
            });
        }
    }

    /// A program that waits for such a call, if there is one; another is started in its place. One waits from the first call of a template on.
    pub(super) fn take(&self, template: &Arc<K>) -> Option<K::Program> {
        let (wanted, program) = with(&self.rows, template, |row| (row.wanted, row.ready.pop_front())).unwrap_or((1, None));
        self.want(template, wanted, if program.is_some() { LEAD } else { Duration::ZERO });
        program
    }

    /// By label: how many are ready, and how many are being started.
    pub(super) fn waiting(&self) -> Vec<(String, usize, usize)> {
        locked(&self.rows).iter().map(|row| (row.template.label().to_owned(), row.ready.len(), row.starting)).collect()
    }

    /// Ends all that wait. Those that are still being started are ended once they wait, or with what comes back.
    pub(super) fn clear(&self) -> JoinSet<()> {
        locked(&self.rows).clear();
        std::mem::take(&mut *self.builds.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn locked<K: Template>(rows: &Rows<K>) -> MutexGuard<'_, VecDeque<Row<K>>> {
    rows.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with the row of a template, where it is still there.
fn with<K: Template, T>(rows: &Rows<K>, template: &K, what: impl FnOnce(&mut Row<K>) -> T) -> Option<T> {
    locked(rows).iter_mut().find(|row| row.template.serves(template)).map(what)
}

/// Ends the programs of a template that wait when no call has come for so long.
async fn expire<K: Template>(rows: Weak<Rows<K>>, template: Arc<K>) {
    let mut left = IDLE;
    loop {
        tokio::time::sleep(left).await;
        let Some(rows) = rows.upgrade() else { return };
        let Some(idle) = with(&rows, &template, |row| row.used.elapsed()) else { return };
        left = IDLE.saturating_sub(idle);
        if left.is_zero() {
            locked(&rows).retain(|row| !row.template.serves(&template));
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs of a name, which start when the second number is odd.
    #[derive(Debug)]
    struct Named(&'static str, u32);

    impl Template for Named {
        type Program = u32;

        fn serves(&self, other: &Self) -> bool {
            self.0 == other.0
        }

        fn label(&self) -> &str {
            self.0
        }

        fn build(self: Arc<Self>) -> BoxFuture<'static, Result<u32, NotStarted>> {
            Box::pin(std::future::ready(if self.1 % 2 == 1 { Ok(self.1) } else { Err(NotStarted::Fault(String::new())) }))
        }
    }

    fn waiting(name: &str, ready: usize) -> (String, usize, usize) {
        (name.to_owned(), ready, 0)
    }

    #[tokio::test]
    async fn one_waits_from_the_first_call_of_a_kind_on_and_the_oldest_kind_makes_room() {
        let pool = Pool::new();
        let templates = ["a", "b", "c", "d"].map(|name| Arc::new(Named(name, 1)));
        let taken = async |template: &Arc<Named>| {
            let program = pool.take(template);
            let builds = std::mem::take(&mut *pool.builds.lock().unwrap());
            builds.join_all().await;
            program
        };
        assert_eq!((taken(&templates[0]).await, taken(&templates[0]).await), (None, Some(1)));
        for template in &templates[1..] {
            assert_eq!(taken(template).await, None);
        }
        assert_eq!(pool.waiting(), ["d", "c", "b"].map(|name| waiting(name, 1)));
        pool.want(&templates[1], 2, Duration::ZERO);
        assert_eq!(taken(&Arc::new(Named("b", 3))).await, Some(1));
        assert_eq!(pool.waiting().first(), Some(&waiting("b", 2)));
        pool.clear().join_all().await;
        assert_eq!(pool.waiting(), []);
        // One that does not start is not counted as being started for ever.
        assert_eq!((taken(&Arc::new(Named("e", 2))).await, pool.waiting()), (None, vec![waiting("e", 0)]));
    }
}
