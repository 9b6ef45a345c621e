//! A permit is spent by its verb.
use toolgate::gate::Permit;
use toolgate::model::FileInfo;
use toolgate::sandbox::Sandbox;

fn execute(permit: Permit<FileInfo>, sandbox: &Sandbox) {
    let _ = sandbox.roots.info(permit);
    let _ = sandbox.roots.info(permit);
}

fn main() {}
