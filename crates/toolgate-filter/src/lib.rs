#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod asked;
pub mod cut;
mod escape;
mod finding;
mod hidden;
mod injection;
mod link;
mod lookalike;
mod mask;
pub mod masked;
mod personal;
mod rule;
mod rules;
mod secret;
mod view;
mod work;

pub use asked::masked_for_person;
pub use escape::{escape, escape_line, is_shown_as_is};
pub use finding::{Finding, Kind};
pub use hidden::strip as strip_invisible;
pub use mask::{apply as mask, holds_secret_mask};
pub use rules::{Pattern, PatternFault, WordRules};

/// Which detectors look at a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Detectors(u8);

impl Detectors {
    /// None of them; the rules of [`WordRules`] look all the same.
    pub const NONE: Self = Self(0);
    /// Text that tries to instruct its reader.
    pub const INJECTION: Self = Self(1);
    /// Credentials.
    pub const SECRETS: Self = Self(2);
    /// What identifies or reaches a person.
    pub const PERSONAL_DATA: Self = Self(4);
    /// Characters that nobody sees.
    pub const HIDDEN: Self = Self(8);
    /// Links that are not what they seem.
    pub const LINKS: Self = Self(16);
    /// All of them.
    pub const ALL: Self = Self(31);

    /// These, and others where a condition holds.
    #[must_use]
    pub const fn and(self, others: Self, when: bool) -> Self {
        if when { Self(self.0 | others.0) } else { self }
    }

    const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Finds what the wanted detectors and the rules look for in a plain text, in order of place.
///
/// Secrets and personal data do not overlap each other; other kinds may overlap them. Scores are at least 0.5, offsets are bytes on character
/// boundaries.
pub fn scan(text: &str, wanted: Detectors, rules: &WordRules) -> Vec<Finding> {
    let mut findings = Vec::new();
    if wanted.has(Detectors::SECRETS) {
        secret::findings(text, &mut findings);
    }
    if wanted.has(Detectors::PERSONAL_DATA) {
        personal::findings(text, &mut findings);
    }
    let mut findings = finding::without_overlaps(findings);
    let mut folded = None;
    if wanted.has(Detectors::INJECTION) {
        findings.extend(injection::findings(text, folded.get_or_insert_with(|| view::fold(text)), &[]));
    }
    if wanted.has(Detectors::HIDDEN) {
        hidden::findings(text, &mut findings);
    }
    if wanted.has(Detectors::LINKS) {
        link::findings(text, &mut findings);
    }
    rules.findings(text, &mut folded, &mut findings);
    findings.retain(|finding| !finding.is_empty());
    findings.sort_by_key(|finding| (finding.start, finding.end, finding.kind));
    findings
}

/// Finds instructions in words that a page hides from people, where they weigh more than in the open.
pub fn scan_hidden(words: &str) -> Vec<Finding> {
    injection::findings(words, &view::fold(words), &[(0, words.len())])
}

/// Secrets and personal data, each byte claimed once.
fn values(text: &str) -> Vec<Finding> {
    scan(text, Detectors::SECRETS.and(Detectors::PERSONAL_DATA, true), &WordRules::default())
}
