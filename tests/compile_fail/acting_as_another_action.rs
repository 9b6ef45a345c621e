//! A permit to read is no permit to write.
use toolgate::gate::Permit;
use toolgate::model::ReadFile;
use toolgate::sandbox::Sandbox;

fn execute(permit: Permit<ReadFile>, sandbox: &Sandbox) {
    let _ = sandbox.roots.write(permit);
}

fn main() {}
