//! The backend that makes namespaces and a root of its own, and has programs wait in them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;

use super::jail::{Jail, prove};
use crate::backend::{Backend, Io, NotStarted, Probe, Running};
use crate::client::Client;
use crate::message::{Ground, Plan};
use crate::spec::{Folder, Layers, Spec};

/// Kinds of programs that wait: a few profiles. The one that was used longest ago makes room.
const MOST_KINDS: usize = 3;
/// How long a program waits for a call.
const IDLE: Duration = Duration::from_mins(10);
/// Jails in which a call is tried until its program has it.
const TRIES: usize = 3;

/// Runs programs in namespaces.
#[derive(Debug)]
pub struct Native {
    client: Arc<Client>,
    trial: Spec,
    /// What holds here, once that was found out.
    ground: OnceLock<Ground>,
    pool: Arc<Pool>,
}

/// The programs that wait.
#[derive(Debug, Default)]
struct Pool(Mutex<VecDeque<Kind>>);

/// Programs of one plan, whose folders come with their call.
#[derive(Debug)]
struct Kind {
    plan: Plan,
    /// The spec without its folders.
    spec: Spec,
    wanted: usize,
    ready: VecDeque<Jail>,
    starting: usize,
    used: Instant,
}

impl Native {
    /// `trial`: a program that leaves with 0, by which is found out what holds.
    pub fn new(client: Arc<Client>, trial: Spec) -> Self {
        Self { client, trial, ground: OnceLock::new(), pool: Arc::default() }
    }

    /// Whether it was found out what holds here.
    pub fn is_proven(&self) -> bool {
        self.ground.get().is_some()
    }

    fn ground(&self) -> Ground {
        self.ground.get().cloned().unwrap_or(Ground::Namespaces)
    }

    /// A jail that waits for such a call, if there is one; another is started in its place. One waits from the first call of a kind on.
    fn take(&self, plan: &Plan, spec: &Spec) -> Option<Jail> {
        let mut kinds = self.pool.kinds();
        let Some(at) = kinds.iter().position(|kind| kind.plan == *plan) else {
            drop(kinds);
            self.want(plan, spec, 1);
            return None;
        };
        let mut kind = kinds.remove(at)?;
        kind.used = Instant::now();
        let jail = kind.ready.pop_front();
        kinds.push_front(kind);
        drop(kinds);
        fill(&self.pool, &self.client, plan);
        jail
    }

    /// Has so many jails wait for such calls.
    fn want(&self, plan: &Plan, spec: &Spec, count: usize) {
        if self.pool.with(plan, |kind| (kind.wanted, kind.used) = (count, Instant::now())).is_none() {
            let spec = Spec { folders: Vec::<Folder>::new(), ..spec.clone() };
            let kind = Kind { plan: plan.clone(), spec, wanted: count, ready: VecDeque::new(), starting: 0, used: Instant::now() };
            let mut kinds = self.pool.kinds();
            kinds.truncate(MOST_KINDS - 1);
            kinds.push_front(kind);
            drop(kinds);
            tokio::spawn(expire(Arc::downgrade(&self.pool), plan.clone()));
        }
        fill(&self.pool, &self.client, plan);
    }

    async fn run(&self, spec: &Spec, io: Io, fresh: bool) -> Result<Box<dyn Running>, NotStarted> {
        let plan = Plan::of(spec, self.ground());
        if !plan.waits {
            return Ok(Box::new(Jail::build(&self.client, plan, spec, Some(&io)).await?));
        }
        for _ in 0..TRIES {
            let jail = match if fresh { None } else { self.take(&plan, spec) } {
                Some(jail) => jail,
                None => Jail::build(&self.client, plan.clone(), spec, None).await?,
            };
            if let Some(jail) = jail.call(&self.client, spec, &io, true).await? {
                return Ok(Box::new(jail));
            }
        }
        Err(NotStarted::Fault("its jails were ended from outside before the program began".to_owned()))
    }
}

impl Pool {
    fn kinds(&self) -> std::sync::MutexGuard<'_, VecDeque<Kind>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the kind of a plan, where it is still there.
    fn with<T>(&self, plan: &Plan, what: impl FnOnce(&mut Kind) -> T) -> Option<T> {
        self.kinds().iter_mut().find(|kind| kind.plan == *plan).map(what)
    }
}

/// Starts as many jails as are wanted and neither wait nor are being started.
fn fill(pool: &Arc<Pool>, client: &Arc<Client>, plan: &Plan) {
    let begin = |kind: &mut Kind| {
        let missing = kind.wanted.saturating_sub(kind.ready.len() + kind.starting);
        kind.starting += missing;
        (missing, kind.spec.clone())
    };
    let Some((missing, spec)) = pool.with(plan, begin) else { return };
    for _ in 0..missing {
        let (pool, client, plan, spec) = (Arc::downgrade(pool), Arc::clone(client), plan.clone(), spec.clone());
        tokio::spawn(async move {
            let built = Jail::build(&client, plan.clone(), &spec, None).await;
            let Some(pool) = pool.upgrade() else { return };
            pool.with(&plan, |kind| {
                kind.starting = kind.starting.saturating_sub(1);
                // The next call that builds one for itself says what is wrong.
                kind.ready.extend(built.ok());
            });
        });
    }
}

/// Ends the programs of a kind that wait when no call has come for so long.
async fn expire(pool: Weak<Pool>, plan: Plan) {
    let mut left = IDLE;
    loop {
        tokio::time::sleep(left).await;
        let Some(pool) = pool.upgrade() else { return };
        let Some(idle) = pool.with(&plan, |kind| kind.used.elapsed()) else { return };
        left = IDLE.saturating_sub(idle);
        if left.is_zero() {
            pool.kinds().retain(|kind| kind.plan != plan);
            return;
        }
    }
}

impl Backend for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn probe(&self) -> BoxFuture<'_, Probe> {
        Box::pin(async {
            let mut reasons = Vec::new();
            let rooted = rustix::process::geteuid().is_root().then_some(Ground::Rooted);
            for ground in [Ground::Namespaces].into_iter().chain(rooted) {
                let probe = prove(&self.client, ground.clone(), &self.trial).await;
                if probe.usable {
                    let _ = self.ground.set(ground);
                    return probe;
                }
                // What is missing for both is said once.
                reasons.extend(probe.why_not.filter(|why| !reasons.contains(why)));
            }
            Probe { usable: false, layers: Layers::new(), why_not: Some(reasons.join("; ")) }
        })
    }

    fn prepare<'a>(&'a self, spec: &'a Spec, count: usize) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let plan = Plan::of(spec, self.ground());
            if !plan.waits {
                return;
            }
            self.want(&plan, spec, count);
        })
    }

    fn start<'a>(&'a self, spec: &'a Spec, io: Io, fresh: bool) -> BoxFuture<'a, Result<Box<dyn Running>, NotStarted>> {
        Box::pin(self.run(spec, io, fresh))
    }

    fn waiting(&self) -> Vec<(String, usize, usize)> {
        self.pool.kinds().iter().map(|kind| (kind.spec.label.clone(), kind.ready.len(), kind.starting)).collect()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.pool.kinds().clear();
            self.client.close().await;
        })
    }
}
