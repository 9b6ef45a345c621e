//! The ordinary use: a tool spends its permit on one verb.
use toolgate::gate::Permit;
use toolgate::model::{Failure, ReadFile};
use toolgate::sandbox::Sandbox;

fn execute(permit: Permit<ReadFile>, sandbox: &Sandbox) -> Result<(), Failure> {
    sandbox.roots.read(permit).map(drop)
}

fn main() {
    let _ = execute;
}
