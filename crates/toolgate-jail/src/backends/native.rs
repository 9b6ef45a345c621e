//! The backend that makes namespaces and a root of its own, and has programs wait in them.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::BoxFuture;

use super::jail::{Jail, prove_on};
use super::pool::{Pool, Template};
use crate::backend::{Backend, Io, NotStarted, Probe, Running};
use crate::client::Client;
use crate::message::{Isolation, Plan};
use crate::spec::{Layers, Spec};

/// Jails in which a call is tried until its program has it.
const TRIES: usize = 3;

/// Runs programs in namespaces.
#[derive(Debug)]
pub struct Native {
    client: Arc<Client>,
    trial: Spec,
    /// What holds here, once that was found out.
    isolation: OnceLock<Isolation>,
    pool: Pool<Waiting>,
}

/// How jails of one plan are built ahead. Their folders come with the call.
#[derive(Debug)]
struct Waiting {
    client: Arc<Client>,
    plan: Plan,
    /// The spec without its folders.
    spec: Spec,
}

impl Template for Waiting {
    type Program = Jail;

    fn serves(&self, other: &Self) -> bool {
        self.plan == other.plan
    }

    fn label(&self) -> &str {
        &self.spec.label
    }

    fn build(self: Arc<Self>) -> BoxFuture<'static, Result<Jail, NotStarted>> {
        Box::pin(async move { Jail::build(&self.client, self.plan.clone(), &self.spec, None).await })
    }
}

impl Native {
    /// `trial`: a program that leaves with 0, by which is found out what holds.
    pub fn new(client: Arc<Client>, trial: Spec) -> Self {
        Self { client, trial, isolation: OnceLock::new(), pool: Pool::new() }
    }

    /// Whether it was found out what holds here.
    pub fn is_proven(&self) -> bool {
        self.isolation.get().is_some()
    }

    fn isolation(&self) -> Isolation {
        self.isolation.get().cloned().unwrap_or(Isolation::Namespaces)
    }

    /// What jails that wait for such calls are built from.
    fn kind(&self, spec: &Spec) -> Arc<Waiting> {
        let plan = Plan::of(spec, self.isolation());
        Arc::new(Waiting { client: Arc::clone(&self.client), plan, spec: Spec { folders: Vec::new(), ..spec.clone() } })
    }

    async fn run(&self, spec: &Spec, io: Io, fresh: bool) -> Result<Box<dyn Running>, NotStarted> {
        let kind = self.kind(spec);
        if !spec.waits {
            return Ok(Box::new(Jail::build(&self.client, kind.plan.clone(), spec, Some(&io)).await?));
        }
        for _ in 0..TRIES {
            let jail = match if fresh { None } else { self.pool.take(&kind) } {
                Some(jail) => jail,
                None => Arc::clone(&kind).build().await?,
            };
            if let Some(jail) = jail.call(&self.client, spec, &io, true).await? {
                return Ok(Box::new(jail));
            }
        }
        Err(NotStarted::Fault("its jails were ended from outside before the program began".to_owned()))
    }
}

impl Backend for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn probe(&self) -> BoxFuture<'_, Probe> {
        Box::pin(async {
            let mut reasons = Vec::new();
            let rooted = rustix::process::geteuid().is_root().then_some(Isolation::Rooted);
            for isolation in [Isolation::Namespaces].into_iter().chain(rooted) {
                let probe = prove_on(&self.client, isolation.clone(), &self.trial).await;
                if probe.usable {
                    let _ = self.isolation.set(isolation);
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
            if spec.waits {
                self.pool.want(&self.kind(spec), count, Duration::ZERO);
            }
        })
    }

    fn start<'a>(&'a self, spec: &'a Spec, io: Io, fresh: bool) -> BoxFuture<'a, Result<Box<dyn Running>, NotStarted>> {
        Box::pin(self.run(spec, io, fresh))
    }

    fn waiting(&self) -> Vec<(String, usize, usize)> {
        self.pool.waiting()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.pool.clear().shutdown().await;
            self.client.close().await;
        })
    }
}
