//! The filters over labelled texts: what share they find, what they mark wrongly.
//!
//! The cases lie outside the repository: `TOOLGATE_CASES`, else `../shared/cases` beside it. Each set is split in two
//! halves by a hash of the id; both halves must reach the goals. `TOOLGATE_MISSES=A` prints what half A misses.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::cast_precision_loss,
    reason = "a measuring test prints its numbers, and its helpers may fail as its tests do"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use toolgate::filter::{self, Finding, Kind};

#[derive(Debug, Deserialize)]
struct Case {
    id: String,
    text: String,
    kind: String,
    #[serde(default)]
    lang: Option<String>,
    #[serde(default)]
    cue: Option<bool>,
    #[serde(default)]
    spans: Vec<Span>,
}

#[derive(Debug, Deserialize)]
struct Span {
    start: usize,
    end: usize,
    #[serde(rename = "type")]
    type_: String,
    sub: String,
}

fn cases(name: &str) -> Option<Vec<Case>> {
    let folder = std::env::var_os("TOOLGATE_CASES")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/cases")), PathBuf::from);
    let folder = if folder.is_dir() { folder } else { PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/cases")) };
    let path = folder.join("filters").join(name);
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: no labelled cases at {} (set TOOLGATE_CASES)", path.display());
        return None;
    };
    Some(text.lines().map(|line| serde_json::from_str(line).expect("a case is a JSON object")).collect())
}

/// Half A or B of a set, by FNV-1a of the id.
fn half(id: &str) -> char {
    let hash = id.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    if (hash >> 13) & 1 == 0 { 'A' } else { 'B' }
}

/// Hits and totals per group and half.
#[derive(Default)]
struct Tally(BTreeMap<String, [(usize, usize); 2]>);

impl Tally {
    fn add(&mut self, group: impl Into<String>, id: &str, hit: bool) {
        let row = self.0.entry(group.into()).or_default();
        let cell = &mut row[usize::from(half(id) == 'B')];
        cell.0 += usize::from(hit);
        cell.1 += 1;
    }

    /// The lowest and the highest share over the two halves and both together.
    fn share(&self, group: &str) -> [f64; 3] {
        let [a, b] = self.0.get(group).copied().unwrap_or_default();
        [a, b, (a.0 + b.0, a.1 + b.1)].map(|(hits, total)| if total == 0 { 0.0 } else { hits as f64 / total as f64 })
    }

    fn print(&self, title: &str) {
        println!("{title}");
        for (group, [a, b]) in &self.0 {
            let total = 100.0 * (a.0 + b.0) as f64 / (a.1 + b.1).max(1) as f64;
            println!("  {group:<38} A {:>3}/{:<3}  B {:>3}/{:<3}  {total:5.1} %", a.0, a.1, b.0, b.1);
        }
    }
}

fn verbose(id: &str) -> bool {
    std::env::var("TOOLGATE_MISSES").is_ok_and(|wanted| wanted.contains(half(id)))
}

fn injections(text: &str) -> Vec<Finding> {
    filter::scan(text).into_iter().filter(|finding| finding.kind == Kind::Injection).collect()
}

#[test]
fn instructions_are_found_and_ordinary_texts_are_left_alone() {
    let (Some(positive), Some(negative)) = (cases("injection_pos.jsonl"), cases("injection_neg.jsonl")) else { return };
    let mut tally = Tally::default();
    for case in &positive {
        let found = !injections(&case.text).is_empty();
        let cue = match case.cue {
            Some(true) => "cue-bearing",
            Some(false) => "no cue",
            None => "payload list",
        };
        tally.add(format!("+ {cue}"), &case.id, found);
        if case.lang.is_some() {
            tally.add("+ other languages", &case.id, found);
        }
        let family = case.kind.split('-').take(2).collect::<Vec<_>>().join("-");
        tally.add(format!("+ {cue} / {family}"), &case.id, found);
        if !found && case.cue != Some(false) && verbose(&case.id) {
            println!(
                "MISS {} {} {:?} | {}",
                case.id,
                case.kind,
                case.lang,
                filter::escape_line(&case.text.chars().take(420).collect::<String>())
            );
        }
    }
    for case in &negative {
        let found = injections(&case.text);
        tally.add("- benign", &case.id, !found.is_empty());
        if ["web", "docs", "code", "email", "tool"].iter().any(|start| case.kind.starts_with(start)) {
            tally.add("- ordinary web, docs, code, mail", &case.id, !found.is_empty());
        }
        tally.add(format!("- / {}", case.kind), &case.id, !found.is_empty());
        if !found.is_empty() && verbose(&case.id) {
            for finding in found {
                let text: String = case.text[finding.start..finding.end].chars().take(300).collect();
                println!("FALSE {} {} {} {:.2} | {}", case.id, case.kind, finding.type_, finding.score, filter::escape_line(&text));
            }
        }
    }
    tally.print("injection");
    for part in [0, 1, 2] {
        assert!(tally.share("+ cue-bearing")[part] >= 0.80);
        assert!(tally.share("+ other languages")[part] >= 0.55);
        assert!(tally.share("- benign")[part] <= 0.03);
        assert!(tally.share("- ordinary web, docs, code, mail")[part] <= 0.005);
    }
}

#[test]
fn personal_data_and_secrets_are_covered_and_look_alikes_are_left_alone() {
    let (Some(positive), Some(negative)) = (cases("personal_data_and_secrets_pos.jsonl"), cases("personal_data_and_secrets_neg.jsonl"))
    else {
        return;
    };
    let mut tally = Tally::default();
    for case in &positive {
        let findings: Vec<Finding> =
            filter::scan(&case.text).into_iter().filter(|finding| matches!(finding.kind, Kind::Secret | Kind::PersonalData)).collect();
        let points = |byte: usize| case.text[..byte].chars().count();
        for span in &case.spans {
            let cover = findings.iter().find(|finding| points(finding.start) <= span.start && points(finding.end) >= span.end);
            if span.type_ != "ADDRESS" {
                tally.add("+ spans, addresses apart", &case.id, cover.is_some());
            }
            tally.add(format!("+ {}", span.type_), &case.id, cover.is_some());
            tally.add(format!("+ {} / {}", span.type_, span.sub), &case.id, cover.is_some());
            if let Some(finding) = cover {
                tally.add("= right type", &case.id, finding.type_ == span.type_);
                let tight = points(finding.start) == span.start && points(finding.end) == span.end;
                tally.add("= exact span", &case.id, tight);
            }
            if verbose(&case.id) && cover.is_none_or(|finding| finding.type_ != span.type_) {
                println!("MISS {} {} {} | {} | {findings:?}", case.id, span.type_, span.sub, filter::escape_line(&case.text));
            }
        }
    }
    for case in &negative {
        let found: Vec<Finding> =
            filter::scan(&case.text).into_iter().filter(|finding| matches!(finding.kind, Kind::Secret | Kind::PersonalData)).collect();
        tally.add("- negatives touched", &case.id, !found.is_empty());
        if verbose(&case.id) {
            for finding in found {
                println!(
                    "FALSE {} {} {} {} | {}",
                    case.id,
                    case.kind,
                    finding.type_,
                    finding.sub,
                    filter::escape_line(&case.text[finding.start..finding.end])
                );
            }
        }
    }
    tally.print("personal data and secrets");
    for part in [0, 1, 2] {
        assert!(tally.share("+ spans, addresses apart")[part] >= 0.90);
        assert!(tally.share("+ SECRET")[part] >= 0.90);
        assert!(tally.share("- negatives touched")[part] <= 0.02);
    }
}
