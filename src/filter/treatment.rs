//! The treatment of findings: what the manifest says is done about them, in texts for the model and in the arguments of a call.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use toolgate_filter::{Detectors, Finding, Kind, WordRules, mask, strip_invisible};

use crate::manifest::{Filters, Treatment};
use crate::model::{Code, Refusal};

/// What a text is, which decides what is looked for in it and whether it may be altered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// A text in the argument of this name: never altered.
    Argument(&'a str),
    /// The caller's own: only secrets and the operator's rules are looked for, and only secrets are masked.
    Own,
    /// As `Own`; its secrets were masked when it was read.
    Masked,
    /// A file that others may have written: everything is looked for, and only secrets are masked.
    UntrustedFile,
    /// A page, the output of a program, a name: everything is looked for and masked.
    Untrusted,
}

/// How often one thing was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Count {
    /// What it is.
    pub kind: Kind,
    /// Which of its kind: the type of a finding, the name of a secret or of a rule.
    #[serde(rename = "type")]
    pub type_: String,
    /// How many.
    pub count: usize,
}

/// A text after its treatment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleaned<'t> {
    /// The text; owned only where it was altered.
    pub text: Cow<'t, str>,
    /// What was found, by kind and type.
    pub found: Vec<Count>,
}

/// Treats a text as the `[filters]` of the manifest say.
/// # Errors  `review_denied`, `argument_not_allowed` for an argument: the manifest denies what was found. The refusal never holds the value.
pub fn clean<'t>(text: &'t str, settings: &Filters, scope: Scope<'_>) -> Result<Cleaned<'t>, Refusal> {
    let treatment = |kind| scope.treatment(kind, settings);
    let is_value = |kind| matches!(kind, Kind::Secret | Kind::PersonalData);
    // A secret with an invisible character inside is still a secret, so values are looked for in the stripped text.
    let strips = treatment(Kind::HiddenText) == Treatment::Mask;
    let bare = if strips { Cow::Owned(strip_invisible(text).0) } else { Cow::Borrowed(text) };
    let mut findings = find(text, settings, |kind| !is_value(kind) && treatment(kind) != Treatment::Off);
    findings.extend(find(&bare, settings, |kind| is_value(kind) && treatment(kind) != Treatment::Off));
    let found = judge(&findings, settings, scope)?;
    let masks = |kind| kind != Kind::HiddenText && treatment(kind) == Treatment::Mask && findings.iter().any(|found| found.kind == kind);
    let mut masked = find(&bare, settings, |kind| masks(kind) && !is_value(kind));
    masked.extend(findings.iter().filter(|finding| is_value(finding.kind) && masks(finding.kind)));
    let text = if masked.is_empty() { bare } else { Cow::Owned(mask(&bare, masked, settings.rules.built())) };
    Ok(Cleaned { text, found })
}

/// How often each thing was found.
/// # Errors  As [`clean`].
pub(super) fn judge(findings: &[Finding], settings: &Filters, scope: Scope<'_>) -> Result<Vec<Count>, Refusal> {
    match findings.iter().find(|finding| scope.treatment(finding.kind, settings) == Treatment::Deny) {
        Some(first) => Err(denial(first, settings, scope)),
        None => Ok(counts(findings, settings)),
    }
}

/// How often each thing was found, whatever the manifest says is done about it.
pub(super) fn counts(findings: &[Finding], settings: &Filters) -> Vec<Count> {
    let count = |finding: &Finding| Count { kind: finding.kind, type_: name_of(finding, settings).to_owned(), count: 1 };
    Count::sum(findings.iter().map(count))
}

/// The findings of each wanted kind. Each kind is looked for alone: what is denied as one is not let through because it is more surely another.
fn find(text: &str, settings: &Filters, wanted: impl Fn(Kind) -> bool) -> Vec<Finding> {
    let none = WordRules::default();
    let detectors = DETECTORS.into_iter().filter(|(kind, _)| wanted(*kind));
    let mut findings: Vec<Finding> = detectors.flat_map(|(_, detector)| toolgate_filter::scan(text, detector, &none)).collect();
    if (0..).zip(settings.rules.iter()).any(|(place, _)| wanted(Kind::Rule(place))) {
        findings.extend(toolgate_filter::scan(text, Detectors::NONE, settings.rules.built()));
    }
    findings.retain(|finding| wanted(finding.kind));
    findings
}

const DETECTORS: [(Kind, Detectors); 5] = [
    (Kind::Injection, Detectors::INJECTION),
    (Kind::HiddenText, Detectors::HIDDEN),
    (Kind::Link, Detectors::LINKS),
    (Kind::Secret, Detectors::SECRETS),
    (Kind::PersonalData, Detectors::PERSONAL_DATA),
];

impl Scope<'_> {
    fn treatment(self, kind: Kind, settings: &Filters) -> Treatment {
        let input = settings.input;
        let (shown, carried) = match kind {
            Kind::Injection => (settings.injection, input.injection),
            Kind::Secret => (settings.secrets, input.secrets),
            Kind::PersonalData => (settings.personal_data, input.personal_data),
            Kind::HiddenText => (settings.hidden_unicode.into(), input.hidden_unicode),
            Kind::Link => (settings.links, input.links),
            Kind::Rule(place) => settings.rules.at(place).map(|(_, rule)| (rule.action, rule.input)).unwrap_or_default(),
        };
        match (self, kind) {
            (Scope::Argument(_), _) => carried.into(),
            (Scope::Untrusted, _) | (Scope::Own | Scope::UntrustedFile, Kind::Secret) => shown,
            // The bytes of a file stay as they are.
            (Scope::UntrustedFile, _) | (_, Kind::Rule(_)) if shown == Treatment::Mask => Treatment::Mark,
            (Scope::UntrustedFile, _) | (_, Kind::Rule(_)) => shown,
            (Scope::Own | Scope::Masked, _) => Treatment::Off,
        }
    }
}

fn denial(found: &Finding, settings: &Filters, scope: Scope<'_>) -> Refusal {
    let (name, (key, what)) = (name_of(found, settings), words(found.kind));
    let is_rule = matches!(found.kind, Kind::Rule(_));
    let key = if is_rule { format!("{key}.{name}") } else { key.to_owned() };
    match scope {
        Scope::Argument(argument) => {
            let argument: String = super::escape_line(argument).chars().take(64).collect();
            Refusal::new(Code::ArgumentNotAllowed, format!("the argument `{argument}` holds {what} ({name})"))
                .rule(if is_rule { format!("filters.{key}.input") } else { format!("filters.input.{key}") })
                .hint("remove it and call again; it may not be sent with this call")
        }
        // The list of codes has none for filters alone; the filter is a reviewer.
        _ => Refusal::new(Code::ReviewDenied, format!("the text holds {what} ({name})"))
            .rule(format!("filters.{key}"))
            .hint("use another source, or ask the operator to look at it"),
    }
}

fn name_of<'s>(finding: &Finding, settings: &'s Filters) -> &'s str {
    match finding.kind {
        Kind::Secret => finding.sub,
        Kind::Rule(place) => settings.rules.at(place).map_or("", |(name, _)| name),
        _ => finding.type_,
    }
}

/// The key of `[filters]` for a kind, and what its findings are called in answers.
pub(super) const fn words(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Injection => ("injection", "what reads as instructions"),
        Kind::Secret => ("secrets", "secrets"),
        Kind::PersonalData => ("personal_data", "personal data"),
        Kind::HiddenText => ("hidden_unicode", "hidden characters"),
        Kind::Link => ("links", "links that are not what they seem"),
        Kind::Rule(_) => ("rules", "what the operator's rules look for"),
    }
}

impl Count {
    /// One count of each kind and type, in this order.
    pub(super) fn sum(all: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut sums = BTreeMap::new();
        for Self { kind, type_, count } in all {
            *sums.entry((kind, type_)).or_insert(0) += count;
        }
        sums.into_iter().map(|((kind, type_), count)| Self { kind, type_, count }).collect()
    }
}

/// Whether text that reads as instructions is among what was found.
pub(super) fn instructs(found: &[Count]) -> bool {
    found.iter().any(|count| count.kind == Kind::Injection)
}

#[cfg(test)]
#[path = "treatment_tests.rs"]
mod tests;
