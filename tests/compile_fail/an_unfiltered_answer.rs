//! An entry is closed with a filtered answer, not with a tool's output.
use toolgate::audit::{Entry, Reply, Status};
use toolgate::model::Output;

fn close(entry: Entry, output: Output) -> Reply {
    entry.close(output, Status::Success)
}

fn main() {}
