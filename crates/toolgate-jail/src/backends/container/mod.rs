//! The backend that has a container engine, Docker or Podman, run programs: an image brings the system, the engine the walls.
//!
//! Each program waits ([`Spec::waits`]): it reads one line from its standard input before it does anything else. The folder that `TOOLGATE_CALL`
//! names then holds `task` and `stdin`, and takes what it reports in the file `report`. When its standard input ends first, it leaves.

mod engine;
mod plan;
mod program;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::OnceCell;

use self::engine::Engine;
use self::plan::Plan;
use self::program::Waiting;
use super::pool::Pool;
use super::prove;
use crate::backend::{Backend, Io, NotStarted, Probe, Running};
use crate::spawner::cgroup;
use crate::spec::Spec;

/// Which engine runs what.
#[derive(Debug, Clone)]
pub struct ContainerSettings {
    /// `docker`, `podman`, or the absolute path of one of them.
    pub engine: String,
    /// The image; it must be there.
    pub image: String,
    /// `runc`, `crun`, `runsc` or what else the engine knows or, for Podman, the absolute path of one. `None`: the engine's default.
    pub runtime: Option<String>,
    /// How long the engine may take to answer a command; ten seconds are plenty.
    pub patience: Duration,
}

/// Runs programs in containers. One container runs one program.
#[derive(Debug)]
pub struct Container {
    settings: ContainerSettings,
    trial: Spec,
    engine: OnceCell<Arc<Engine>>,
    pool: Pool<Plan>,
}

impl Container {
    /// `trial`: a program of the image that leaves with 0 once it has its line, by which is found out whether programs run.
    pub fn new(settings: ContainerSettings, trial: Spec) -> Self {
        Self { settings, trial, engine: OnceCell::new(), pool: Pool::new() }
    }

    /// What is to be made in the engine. The first use finds the engine out, and the next where that failed.
    async fn plan(&self, spec: &Spec) -> Result<Arc<Plan>, NotStarted> {
        let engine = self.engine.get_or_try_init(async || Engine::find(&self.settings).await.map(Arc::new)).await?;
        Plan::of(engine, spec).map(Arc::new)
    }

    async fn run(&self, spec: &Spec, io: Io, fresh: bool) -> Result<Box<dyn Running>, NotStarted> {
        let plan = self.plan(spec).await?;
        let mut waiting = if fresh { None } else { self.pool.take(&plan) };
        let program = match waiting.take_if(Waiting::lives) {
            Some(program) => program,
            None => Waiting::begin(&plan).await?,
        };
        Ok(Box::new(program.call(spec.limits, io).await?))
    }
}

impl Backend for Container {
    fn name(&self) -> &'static str {
        "container"
    }

    fn probe(&self) -> BoxFuture<'_, Probe> {
        Box::pin(prove(self.trial.waits, async |io| self.run(&self.trial, io, true).await))
    }

    fn prepare<'a>(&'a self, spec: &'a Spec, count: usize) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // Where that fails, the first call says what is wrong.
            if let Ok(plan) = self.plan(spec).await {
                self.pool.want(&plan, count, Duration::ZERO);
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
            self.pool.clear().join_all().await;
            if let Some(engine) = self.engine.get()
                && let Err(why) = engine.remove_all(cgroup::is_own).await
            {
                tracing::warn!(%why, "containers could not be removed; the next server tries again");
            }
        })
    }
}
