//! Only the gate makes a permit.
use std::sync::Arc;
use toolgate::gate::{Permit, Terms};
use toolgate::model::ReadFile;

fn forge(action: ReadFile, terms: Arc<Terms>) -> Permit<ReadFile> {
    Permit::new(action, Vec::new(), Vec::new(), terms)
}

fn main() {}
