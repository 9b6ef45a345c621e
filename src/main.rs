//! The command line of toolgate.
fn main() {}
