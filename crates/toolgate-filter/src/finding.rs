//! What a filter says about a text: one finding is one span with a kind, a type and a score.

use serde::Serialize;

/// What the filters look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Text that tries to instruct the reader.
    Injection,
    /// A credential.
    Secret,
    /// Something that identifies or reaches a person.
    PersonalData,
    /// Characters or markup that a person does not see.
    HiddenText,
    /// A link that is not what it seems, or that carries data out.
    Link,
    /// What a rule of the operator looks for; the place of the rule among the manifest's.
    Rule(u8),
}

impl Kind {
    /// Every kind of our own, in the order in which the summary names them; the operator's rules come after.
    pub const ALL: [Kind; 5] = [Kind::Injection, Kind::HiddenText, Kind::Link, Kind::Secret, Kind::PersonalData];

    /// The kind as it is written in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Injection => "injection",
            Kind::Secret => "secret",
            Kind::PersonalData => "personal_data",
            Kind::HiddenText => "hidden_text",
            Kind::Link => "link",
            Kind::Rule(_) => "rule",
        }
    }
}

impl Serialize for Kind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One thing found in a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// Which of its kind: `EMAIL`, `SECRET`, `override`, `zero_width`, …
    pub type_: &'static str,
    /// The closer name where there is one: the country of a number, the issuer of a key.
    pub sub: &'static str,
    /// First byte of the span; on a character boundary.
    pub start: usize,
    /// One past the last byte of the span; on a character boundary.
    pub end: usize,
    /// How sure the filter is, 0 to 1. Findings under 0.5 are not reported.
    pub score: f32,
}

impl Finding {
    /// Length of the span in bytes.
    pub const fn len(&self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Whether the span holds nothing.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether two spans share a byte.
    pub const fn overlaps(&self, other: &Self) -> bool {
        self.start < other.end && other.start < self.end
    }
}

/// Keeps, of findings that overlap, the surest, then the longest; the rest in order of their start. A secret that overlaps others is not dropped:
/// the surest secret among them then spans all of them, so that no part of one shows beside the mask of another.
///
/// One pass over spans that share no byte is what makes masking safe: a mask is never masked again.
pub(crate) fn without_overlaps(mut findings: Vec<Finding>) -> Vec<Finding> {
    // Any order in which a span competes only with its neighbours would do; sorting keeps it n log n.
    findings.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.len().cmp(&a.len())).then(a.start.cmp(&b.start)));
    // INVARIANT: the spans of `kept` share no byte, so those that overlap another span lie side by side.
    let mut kept = std::collections::BTreeMap::<usize, Finding>::new();
    for finding in findings {
        if finding.is_empty() {
            continue;
        }
        let rivals: Vec<Finding> =
            kept.range(..finding.end).rev().map(|(_, kept)| *kept).take_while(|kept| kept.end > finding.start).collect();
        if rivals.is_empty() {
            kept.insert(finding.start, finding);
        } else if finding.kind == Kind::Secret {
            let secrets = rivals.iter().filter(|rival| rival.kind == Kind::Secret);
            let surest = secrets.max_by(|a, b| a.score.total_cmp(&b.score)).copied().unwrap_or(finding);
            let start = rivals.iter().map(|rival| rival.start).fold(finding.start, usize::min);
            let end = rivals.iter().map(|rival| rival.end).fold(finding.end, usize::max);
            for rival in rivals {
                kept.remove(&rival.start);
            }
            kept.insert(start, Finding { start, end, ..surest });
        }
    }
    kept.into_values().collect()
}

/// The nearest character boundary at or before `at`.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

/// The nearest character boundary at or after `at`.
pub(crate) fn ceil(text: &str, at: usize) -> usize {
    text.ceil_char_boundary(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(start: usize, end: usize, score: f32) -> Finding {
        Finding { kind: Kind::Secret, type_: "SECRET", sub: "", start, end, score }
    }

    #[test]
    fn of_overlapping_findings_the_surest_then_the_longest_stays() {
        let personal = |start, end, score| Finding { kind: Kind::PersonalData, ..finding(start, end, score) };
        let kept = without_overlaps(vec![
            personal(0, 5, 0.6),
            personal(4, 9, 0.9),
            personal(5, 20, 0.6),
            personal(9, 12, 0.6),
            finding(3, 3, 1.0),
        ]);
        assert_eq!(kept, vec![personal(4, 9, 0.9), personal(9, 12, 0.6)]);
    }

    #[test]
    fn of_overlapping_secrets_no_part_stays_uncovered() {
        let named = |sub, start, end, score| Finding { sub, ..finding(start, end, score) };
        let kept = without_overlaps(vec![named("password", 0, 40, 0.6), named("aws", 10, 30, 0.9), named("other", 50, 60, 0.7)]);
        assert_eq!(kept, vec![named("aws", 0, 40, 0.9), named("other", 50, 60, 0.7)]);
        let kept = without_overlaps(vec![finding(0, 5, 0.6), finding(4, 9, 0.9), finding(8, 20, 0.7), finding(20, 21, 0.5)]);
        assert_eq!(kept, vec![finding(0, 20, 0.9), finding(20, 21, 0.5)]);
        // Beside a surer finding of another kind the secret is what the whole is.
        let card = Finding { kind: Kind::PersonalData, ..finding(5, 15, 0.9) };
        assert_eq!(without_overlaps(vec![card, finding(0, 12, 0.6)]), vec![finding(0, 15, 0.6)]);
    }
}
