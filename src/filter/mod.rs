//! Floor 1, `filter`: what untrusted text may not do to a reader. Values in, values out: no I/O, no clock.
//!
//! `scan` finds, `clean` acts on what was found as the manifest says, `escape` makes foreign text safe to show.
//! Everything here is linear in the length of its input: automata and one-pass readers, no backtracking.

mod asked;
mod clean;
mod css;
pub mod cut;
mod escape;
mod filtered;

pub use filtered::{Filtered, Known, Parts, Strange, glimpse, is_clean_name};
mod finding;
mod hidden;
mod injection;
mod input;
mod joined;
mod link;
mod lookalike;
mod markup;
mod mask;
pub mod masked;
mod media;
mod personal;
mod raw;
pub mod reader;
mod rules;
mod secret;
mod settings;
mod sheet;
mod style;
mod view;
mod work;

pub use asked::masked_for_person;
pub use clean::{Cleaned, Count, Origin, clean};
pub use escape::{escape, escape_line, is_shown_as_is};
pub use finding::{Finding, Kind};
pub use input::{Carried, carried};
pub use joined::{Part, Shown};
pub use mask::holds_secret_mask;
pub use rules::{ContentRule, ContentRules};
pub use settings::{Input, Settings, Stripping, Treatment, Trust, Watch};

/// Finds everything in a plain text, in order of place.
///
/// Spans of one kind do not overlap for secrets and personal data together; other kinds may overlap them. Scores are at
/// least 0.5, offsets are bytes on character boundaries.
pub fn scan(text: &str) -> Vec<Finding> {
    let mut findings = values(text);
    findings.extend(injection::findings(text, &view::fold(text), &[]));
    hidden::findings(text, &mut findings);
    link::findings(text, &mut findings);
    in_order(findings)
}

/// Finds everything in an HTML source: also text that a person does not see (styles, comments, attributes), where an
/// instruction weighs more. Offsets are of the source.
pub fn scan_html(html: &str) -> Vec<Finding> {
    let page = markup::read(html, &reader::sheet_of(html));
    let text = page.view.text.as_str();
    let mut inside = injection::findings(text, &view::fold(text), &page.hidden);
    for finding in &mut inside {
        if page.hidden.iter().any(|&(start, end)| start < finding.end && finding.start < end) {
            finding.sub = "hidden";
        }
    }
    let concealed: Vec<Finding> = inside
        .iter()
        .filter(|finding| finding.sub == "hidden")
        .map(|finding| Finding { kind: Kind::HiddenText, type_: "markup", ..*finding })
        .collect();
    inside.extend(concealed);
    for finding in &mut inside {
        (finding.start, finding.end) = page.view.source(html, finding.start, finding.end);
    }
    let mut findings = values(html);
    findings.extend(inside.into_iter().filter(|finding| !finding.is_empty()));
    hidden::findings(html, &mut findings);
    link::findings(html, &mut findings);
    in_order(findings)
}

/// Secrets and personal data, each byte claimed once.
fn values(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    secret::findings(text, &mut findings);
    personal::findings(text, &mut findings);
    finding::without_overlaps(findings)
}

/// What the operator's rules find in a text on its way to the model, with the name of the rule as `type`; in order of place.
pub fn scan_rules<'r>(text: &str, rules: &'r ContentRules) -> Vec<(&'r str, Finding)> {
    let mut findings = Vec::new();
    rules.findings(text, &mut None, rules::Way::Out, &mut findings);
    let name = |finding: Finding| match finding.kind {
        Kind::Rule(place) => rules.at(place).map(|(name, _)| (name, finding)),
        _ => None,
    };
    in_order(findings).into_iter().filter_map(name).collect()
}

fn in_order(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.retain(|finding| !finding.is_empty());
    findings.sort_by_key(|finding| (finding.start, finding.end, finding.kind));
    findings
}
