//! The static check against the shared cases, CPython's own parser, and arbitrary text.

use std::collections::BTreeSet;
use std::path::PathBuf;

use toolgate::python::{Rules, Verdict, check};

/// The folder of the shared cases: `$TOOLGATE_CASES`, else beside the repository.
fn cases() -> Option<PathBuf> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let candidates =
        [std::env::var_os("TOOLGATE_CASES").map(PathBuf::from), Some(here.join("../shared/cases")), Some(here.join("../../shared/cases"))];
    let found = candidates.into_iter().flatten().map(|folder| folder.join("python")).find(|folder| folder.is_dir());
    if found.is_none() {
        println!("skipped: no cases at $TOOLGATE_CASES or ../shared/cases");
    }
    found
}

fn rules(folder: &std::path::Path) -> Rules {
    let policy: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(folder.join("policy.json")).unwrap()).unwrap();
    let imports: BTreeSet<String> =
        policy["allowed_imports"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    Rules::strict(imports)
}

fn lines(folder: &std::path::Path, name: &str) -> Vec<serde_json::Value> {
    std::fs::read_to_string(folder.join(name)).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_hostile_case_that_reading_can_stop_is_refused() {
    let Some(folder) = cases() else { return };
    let rules = rules(&folder);
    let hostile: Vec<_> = lines(&folder, "hostile.jsonl").into_iter().filter(|case| case["expected"] == "static").collect();
    let missed: Vec<String> = hostile
        .iter()
        .filter(|case| check(case["code"].as_str().unwrap(), &rules).verdict != Verdict::Deny)
        .map(|case| format!("{} {}\n{}", case["id"], case["technique"], case["code"].as_str().unwrap()))
        .collect();
    println!("refused {} of {}", hostile.len() - missed.len(), hostile.len());
    assert!(missed.is_empty(), "{}", missed.join("\n---\n"));
}

#[test]
fn hardly_any_ordinary_program_is_refused() {
    let Some(folder) = cases() else { return };
    let rules = rules(&folder);
    let benign = lines(&folder, "benign.jsonl");
    let refused: Vec<String> = benign
        .iter()
        .filter_map(|case| {
            let report = check(case["code"].as_str().unwrap(), &rules);
            let finding = report.refusal()?;
            Some(format!(
                "{} {}:{} {} {}\n    {}",
                case["id"], finding.line, finding.column, finding.rule, finding.message, finding.source_line
            ))
        })
        .collect();
    println!("refused {} of {}", refused.len(), benign.len());
    for line in &refused {
        println!("{line}");
    }
    assert!(refused.len() * 1000 <= benign.len() * 2, "{}", refused.join("\n"));
}
