//! Floor 1: what the manifest says is done about what the detectors of `toolgate-filter` find. Values in, values out: no I/O, no clock.
//!
//! `treatment` judges, masks and counts; `cleaning` applies it to every text of an answer, a page's among them, `arguments` to what a call carries.

mod arguments;
mod cleaning;
mod filtered;
mod joined;
mod marks;
mod names;
mod treatment;

pub use arguments::scan_arguments;
pub use cleaning::{Parts, Provenance};
pub use filtered::Filtered;
pub use joined::{Part, Shown};
pub use names::{glimpse, is_clean_name};
pub use toolgate_filter::{Finding, Kind, cut, escape, escape_line, holds_secret_mask, masked, masked_for_person, scan_hidden};
pub use treatment::{Cleaned, Count, Scope, clean};

use crate::manifest::ContentRules;
use toolgate_filter::{Detectors, WordRules};

/// Finds everything in a plain text, in order of place.
pub fn scan(text: &str) -> Vec<Finding> {
    toolgate_filter::scan(text, Detectors::ALL, &WordRules::default())
}

/// What the operator's rules find in a text, with the name of the rule; in order of place.
pub fn scan_rules<'r>(text: &str, rules: &'r ContentRules) -> Vec<(&'r str, Finding)> {
    let named = |finding: Finding| match finding.kind {
        Kind::Rule(place) => rules.at(place).map(|(name, _)| (name, finding)),
        _ => None,
    };
    toolgate_filter::scan(text, Detectors::NONE, rules.built()).into_iter().filter_map(named).collect()
}
