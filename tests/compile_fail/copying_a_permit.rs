//! A permit cannot be copied.
use toolgate::gate::Permit;
use toolgate::model::ReadFile;

fn copy(permit: &Permit<ReadFile>) -> Permit<ReadFile> {
    permit.clone()
}

fn main() {}
