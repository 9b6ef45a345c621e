//! Only an entry of the log makes a reply.
use toolgate::audit::{Answer, Reply};

fn forge(answer: Answer) -> Reply {
    Reply(answer)
}

fn main() {}
