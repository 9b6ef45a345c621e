//! The backend that has `bwrap` make the namespaces and the root, for machines where it may and our own program may not (a profile of `AppArmor`
//! that names it). Our own walls, bounds and clocks stand inside.

#![expect(clippy::disallowed_methods, reason = "bwrap is looked for before any program runs")]

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::jail::prove_on;
use super::landlock::start;
use crate::backend::{Backend, Io, NotStarted, Probe, Running};
use crate::client::Client;
use crate::message::Isolation;
use crate::spec::Spec;

/// Not the search path: what is run here decides what a program may reach.
const PLACES: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// Runs programs in namespaces that `bwrap` makes.
#[derive(Debug)]
pub struct Bubblewrap {
    client: Arc<Client>,
    trial: Spec,
    isolation: Isolation,
}

impl Bubblewrap {
    /// `trial`: a program that leaves with 0, by which is found out what holds.
    pub fn new(client: Arc<Client>, trial: Spec) -> Self {
        let found = PLACES.into_iter().find(|place| Path::new(place).exists());
        // Where it is nowhere, starting it at its usual place says so.
        Self { client, trial, isolation: Isolation::Bubblewrap(found.unwrap_or("/usr/bin/bwrap").to_owned()) }
    }
}

impl Backend for Bubblewrap {
    fn name(&self) -> &'static str {
        "bubblewrap"
    }

    fn probe(&self) -> BoxFuture<'_, Probe> {
        Box::pin(prove_on(&self.client, self.isolation.clone(), &self.trial))
    }

    fn start<'a>(&'a self, spec: &'a Spec, io: Io, _: bool) -> BoxFuture<'a, Result<Box<dyn Running>, NotStarted>> {
        Box::pin(start(&self.client, self.isolation.clone(), spec, io))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.client.close())
    }
}
