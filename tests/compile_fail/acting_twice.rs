//! A permit is spent by its verb.
use toolgate::gate::Permit;
use toolgate::model::ReadFile;
use toolgate::sandbox::Sandbox;

fn execute(permit: Permit<ReadFile>, sandbox: &Sandbox) {
    let _ = sandbox.roots.read(permit);
    let _ = sandbox.roots.read(permit);
}

fn main() {}
