//! The backend for machines that withhold namespaces or mounts, as container profiles do: Landlock, the system call filter and a process group.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::jail::{Jail, prove_on};
use crate::backend::{Backend, Io, NotStarted, Probe, Running};
use crate::client::Client;
use crate::message::{Isolation, Plan};
use crate::spec::Spec;

/// Runs programs behind Landlock.
#[derive(Debug)]
pub struct Landlock {
    client: Arc<Client>,
    trial: Spec,
}

impl Landlock {
    /// `trial`: a program that leaves with 0, by which is found out what holds.
    pub fn new(client: Arc<Client>, trial: Spec) -> Self {
        Self { client, trial }
    }
}

impl Backend for Landlock {
    fn name(&self) -> &'static str {
        "landlock"
    }

    fn probe(&self) -> BoxFuture<'_, Probe> {
        Box::pin(prove_on(&self.client, Isolation::Landlock, &self.trial))
    }

    fn start<'a>(&'a self, spec: &'a Spec, io: Io, _: bool) -> BoxFuture<'a, Result<Box<dyn Running>, NotStarted>> {
        Box::pin(start(&self.client, Isolation::Landlock, spec, io))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.client.close())
    }
}

/// Starts a program with an isolation that shows folders from the start: none waits there.
pub(super) async fn start(client: &Client, isolation: Isolation, spec: &Spec, io: Io) -> Result<Box<dyn Running>, NotStarted> {
    let jail = Jail::build(client, Plan::of(spec, isolation), spec, (!spec.waits).then_some(&io)).await?;
    if !spec.waits {
        return Ok(Box::new(jail));
    }
    match jail.call(client, spec, &io, false).await? {
        Some(jail) => Ok(Box::new(jail)),
        None => Err(NotStarted::Fault("the jail was ended from outside before the program began".to_owned())),
    }
}
