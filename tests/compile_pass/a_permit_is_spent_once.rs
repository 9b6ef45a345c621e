//! The ordinary use: a tool spends its permit on one verb.
use toolgate::gate::Permit;
use toolgate::model::{Failure, FileInfo};
use toolgate::sandbox::Sandbox;

fn execute(permit: Permit<FileInfo>, sandbox: &Sandbox) -> Result<(), Failure> {
    sandbox.roots.info(permit).map(drop)
}

fn main() {
    let _ = execute;
}
