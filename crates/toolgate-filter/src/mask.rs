//! Masks: what stands in place of a secret or of personal data, and how to know one again. A mask stands on every line of what it hides,
//! so that lines keep their numbers.

use std::collections::HashMap;

use super::finding::{Finding, Kind, without_overlaps};
use super::rules::WordRules;

/// Puts masks in place of findings: one pass over spans that share no byte, so a mask is never masked.
///
/// A secret becomes `[SECRET:aws-access-key]`, personal data `[EMAIL_1]`; the same value gets the same number, numbers go
/// on after those that stand in the text already.
///
/// What a rule of the operator found becomes `[RULE:name]`, an instruction `[INSTRUCTION:override]`, a link `[LINK:mismatch]`.
pub fn apply(text: &str, findings: Vec<Finding>, rules: &WordRules) -> String {
    let mut names: HashMap<(&'static str, String), usize> = HashMap::new();
    let mut next: HashMap<&'static str, usize> = HashMap::new();
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for finding in disjoint(findings) {
        out.push_str(text.get(from..finding.start).unwrap_or_default());
        let value = text.get(finding.start..finding.end).unwrap_or_default();
        let label = match finding.kind {
            Kind::Secret => Some(("SECRET", finding.sub)),
            Kind::Rule(place) => Some(("RULE", rules.name(place))),
            Kind::Injection => Some(("INSTRUCTION", finding.type_)),
            Kind::Link => Some(("LINK", finding.type_)),
            Kind::PersonalData | Kind::HiddenText => None,
        };
        if let Some((what, name)) = label {
            write_lines(&mut out, &format!("[{what}:{name}]"), value);
        } else {
            let counter = next.entry(finding.type_).or_insert_with(|| highest(text, finding.type_));
            let number = *names.entry((finding.type_, value.to_lowercase())).or_insert_with(|| {
                *counter += 1;
                *counter
            });
            write_lines(&mut out, &format!("[{}_{number}]", finding.type_), value);
        }
        from = finding.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

/// Writes the mask once for each line of the value, with the line ends of the value.
pub(super) fn write_lines(out: &mut String, mask: &str, value: &str) {
    for line in value.split_inclusive('\n') {
        let end = line.strip_suffix("\r\n").map_or(usize::from(line.ends_with('\n')), |_| 2);
        out.push_str(mask);
        out.push_str(line.get(line.len() - end..).unwrap_or_default());
    }
}

/// Of values that overlap the surest stays; what else overlaps anything becomes one span with it, so that no half of it is left to read.
fn disjoint(findings: Vec<Finding>) -> Vec<Finding> {
    let (values, others): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| matches!(finding.kind, Kind::Secret | Kind::PersonalData));
    let mut all = without_overlaps(values);
    all.extend(others);
    all.sort_by_key(|finding| (finding.start, std::cmp::Reverse(finding.end)));
    let mut merged: Vec<Finding> = Vec::with_capacity(all.len());
    for finding in all {
        match merged.last_mut().filter(|last| finding.start < last.end) {
            Some(last) => last.end = last.end.max(finding.end),
            None => merged.push(finding),
        }
    }
    merged
}

/// The highest number among the masks of a type that stand in a text.
fn highest(text: &str, type_: &str) -> usize {
    masks(text).filter_map(|mask| mask.strip_prefix(type_)?.strip_prefix('_')?.parse().ok()).max().unwrap_or(0)
}

/// Whether a text holds what reads as the mask of a secret.
pub fn holds_secret_mask(text: &str) -> bool {
    masks(text).any(|inside| inside.starts_with("SECRET:"))
}

/// The insides of the masks in a text.
fn masks(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('[').filter_map(move |(at, _)| {
        let inside = text.get(at + 1..)?;
        let end = inside.bytes().take(48).position(|byte| byte == b']')?;
        let inside = inside.get(..end)?;
        is_mask(inside).then_some(inside)
    })
}

fn is_mask(inside: &str) -> bool {
    let named = ["SECRET:", "RULE:", "INSTRUCTION:", "LINK:"].iter().find_map(|what| inside.strip_prefix(what));
    if let Some(name) = named {
        return !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_'));
    }
    inside.rsplit_once('_').is_some_and(|(type_, number)| {
        matches!(type_, "EMAIL" | "PHONE" | "NATIONAL_ID" | "BANK_CARD" | "IBAN" | "ADDRESS")
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_known_again_and_ordinary_brackets_are_not_masks() {
        for text in [
            "x [SECRET:aws-access-key] y",
            "[EMAIL_1]",
            "a[NATIONAL_ID_12]",
            "[RULE:code_names-2]",
            "[INSTRUCTION:override]",
            "[LINK:mismatch]",
        ] {
            assert!(masks(text).next().is_some(), "{text}");
            assert_eq!(holds_secret_mask(text), text.contains("SECRET"), "{text}");
        }
        for text in ["[SECRET]", "[EMAIL]", "[link](x)", "[SECRET:]", "[a_1]", "array[EMAIL_ID]", "[[[["] {
            assert!(masks(text).next().is_none(), "{text}");
        }
    }

    #[test]
    fn the_same_value_has_the_same_number_and_numbers_go_on() {
        let text = "[EMAIL_3] a@x.org b@x.org A@x.org";
        let mut findings = Vec::new();
        super::super::personal::findings(text, &mut findings);
        assert_eq!(apply(text, findings, &WordRules::default()), "[EMAIL_3] [EMAIL_4] [EMAIL_5] [EMAIL_4]");
    }
}
