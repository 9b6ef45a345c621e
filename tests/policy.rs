//! The judge against the shared cases, and its properties.

mod common;

use std::path::PathBuf;

use serde_json::Value;
use toolgate::cli::simulate::simulate;

/// The folder of the shared cases: $TOOLGATE_CASES, or beside the repository.
fn cases(name: &str) -> Option<String> {
    let folder =
        std::env::var_os("TOOLGATE_CASES").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/cases"), PathBuf::from);
    let text = std::fs::read_to_string(folder.join(name)).ok();
    if text.is_none() {
        eprintln!("skipped: there is no {name} in {}; set TOOLGATE_CASES", folder.display());
    }
    text
}

#[test]
fn the_shared_cases_agree_on_verdict_code_and_level() {
    let Some(text) = cases("policy.jsonl") else { return };
    let tools = common::stand_in::tools();
    let mut output = Vec::new();
    assert_eq!(simulate(&tools, text.as_bytes(), &mut output).unwrap(), 0, "lines that are no case");
    let answers = String::from_utf8(output).unwrap();
    let lines = |text: &str| text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    let (cases, answers) = (lines(&text), lines(&answers));
    assert_eq!(cases.len(), answers.len());
    let mut wrong = Vec::new();
    for (case, answer) in cases.iter().zip(&answers) {
        let level_fits = case.get("level").is_none_or(|level| answer.get("level") == Some(level));
        if case["id"] != answer["id"] || case["expect"] != answer["verdict"] || case["reason"] != answer["code"] || !level_fits {
            wrong.push(format!(
                "{} ({}): expected {} {} {:?}, found {answer}",
                case["id"],
                case["why"],
                case["expect"],
                case["reason"],
                case.get("level")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
