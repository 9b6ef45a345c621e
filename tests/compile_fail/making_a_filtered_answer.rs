//! Only the filter makes a filtered answer.
use toolgate::filter::{Filtered, Parts};

fn forge(parts: Parts) -> Filtered {
    Filtered(parts)
}

fn main() {}
