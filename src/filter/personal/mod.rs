//! Personal data: what identifies or reaches a person. Candidates are read whole, then validated, then classified once.

mod address;
mod card;
mod check;
mod context;
mod email;
mod iban;
mod lettered;
mod national;
mod number;
mod phone;

use super::finding::{Finding, Kind};

/// Finds personal data.
pub(super) fn findings(text: &str, out: &mut Vec<Finding>) {
    email::findings(text, out);
    iban::findings(text, out);
    lettered::findings(text, out);
    number::findings(text, out);
    address::findings(text, out);
}

fn found(type_: &'static str, sub: &'static str, start: usize, end: usize, score: f32) -> Finding {
    Finding { kind: Kind::PersonalData, type_, sub, start, end, score }
}
