//! Floor 1, `filter`: what the manifest says is done about what the detectors of `toolgate-filter` find. Values in, values out: no I/O, no clock.
//!
//! `clean` acts on a text on its way to the model, `input` on what a call carries.

mod clean;
mod filtered;
mod input;
mod joined;
mod rules;
mod settings;

pub use clean::{Cleaned, Count, Origin, clean};
pub use filtered::{Filtered, Known, Parts, Strange, glimpse, is_clean_name};
pub use input::{Carried, carried};
pub use joined::{Part, Shown};
pub use rules::{ContentRule, ContentRules};
pub use settings::{Input, Settings, Stripping, Treatment, Trust, Watch};
pub use toolgate_filter::{
    Finding, Kind, cut, escape, escape_line, holds_secret_mask, is_shown_as_is, masked, masked_for_person, scan_hidden,
};

use toolgate_filter::{Detectors, WordRules};

/// Finds everything in a plain text, in order of place.
pub fn scan(text: &str) -> Vec<Finding> {
    toolgate_filter::scan(text, Detectors::ALL, &WordRules::default())
}

/// What the operator's rules find in a text on its way to the model, with the name of the rule as `type`; in order of place.
pub fn scan_rules<'r>(text: &str, rules: &'r ContentRules) -> Vec<(&'r str, Finding)> {
    let mut findings = toolgate_filter::scan(text, Detectors::NONE, rules.built());
    rules.keep(rules::Way::Out, &mut findings);
    let name = |finding: Finding| match finding.kind {
        Kind::Rule(place) => rules.at(place).map(|(name, _)| (name, finding)),
        _ => None,
    };
    findings.into_iter().filter_map(name).collect()
}
