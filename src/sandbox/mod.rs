//! Floor 4: the only code that touches disk, network and processes on behalf of a call.

pub mod egress;
pub mod root;

/// The world as tools may reach it, each part behind verbs that ask for a permit.
#[derive(Debug)]
pub struct Sandbox {}
