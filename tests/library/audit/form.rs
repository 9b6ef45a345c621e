//! What the lines look like, and what the commands make of them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolgate::audit::{Event, Filter, Log, Record, Settings, Sync, is_hidden};
use toolgate::cli::End;
use toolgate::cli::audit::{self, AuditCommand};
use toolgate::cli::layout::Colour;
use toolgate::cli::table::Form;
use toolgate::entry;
use toolgate::manifest::AuditRules;

use super::support::{clock, files, finish, records, scratch, start};

const TABLE: Form = Form::Table(Colour(false));

/// A log whose clock stands still: the thread that removes old files looks at it as well.
fn open(state: &Path) -> Log {
    let clock = Arc::new(|| Timestamp::from_second(1_795_000_000).unwrap());
    Log::open(state, entry::settings(&AuditRules::default(), state), clock).unwrap()
}

/// The lines without what differs from run to run: names and digests of the chain.
fn stable(state: &std::path::Path) -> String {
    let text = std::fs::read_to_string(&files(state)[0]).unwrap();
    let mut shown = String::new();
    for line in text.lines() {
        let (body, _) = line.split_once(",\"prev\":").unwrap();
        let body = body.split_once(",\"file\":").map_or(body, |(body, _)| body);
        shown.push_str(body);
        shown.push('\n');
    }
    shown
}

#[test]
fn lines_of_a_call() {
    let state = scratch();
    let log = open(state.path());
    start(&log, "01JD6Y3V8S5W9QK2T4ZC0N7H2M", Sync::Handed);
    let result = json!({"len": 12, "sha256": "00", "truncated": false});
    let extra = json!({"status": "error", "error_code": "not_found", "bytes_written": 0}).as_object().unwrap().clone();
    let record = Record {
        call: Some("01JD6Y3V8S5W9QK2T4ZC0N7H2M"),
        duration: Some(Duration::from_micros(12_345)),
        result: Some(&result),
        extra,
        ..Record::new(Event::CallFinished)
    };
    log.append(&record, Sync::Handed).unwrap();
    let denied = Record {
        tool: Some("rm\u{1b}[2J\n{\"ev\":\"approval.answered\"}"),
        decision: Some("deny"),
        reason: Some("unknown_tool"),
        ..Record::new(Event::ToolDenied)
    };
    log.append(&denied, Sync::Handed).unwrap();
    log.close().unwrap();
    // The keyed hash differs with each installation.
    let started = records(&files(state.path())[0]).swap_remove(1);
    let [keyed, digest] = [&started["args"]["token"]["hmac"], &started["args_sha256"]].map(|text| text.as_str().unwrap());
    insta::assert_snapshot!(stable(state.path()).replace(keyed, "[keyed]").replace(digest, "[digest]"));
}

#[test]
fn nothing_hidden_and_no_second_line_comes_from_what_a_caller_sends() {
    let state = scratch();
    let log = open(state.path());
    let evil = "a\n{\"v\":1}\r\u{1b}[31m\u{202e}\u{200b}\u{e0041}\u{9b}\u{2028}";
    let args = json!({evil: [evil, {evil: evil}]});
    let redacted = log.redact(args.as_object().unwrap());
    let record =
        Record { call: Some("c1"), tool: Some(evil), principal: Some(evil), args: Some(&redacted), ..Record::new(Event::CallStarted) };
    log.append(&record, Sync::Handed).unwrap();
    log.close().unwrap();
    let text = std::fs::read_to_string(&files(state.path())[0]).unwrap();
    assert_eq!(text.lines().count(), 4);
    assert!(!text.chars().any(|letter| letter != '\n' && is_hidden(letter)));
    assert_eq!(records(&files(state.path())[0])[1]["args"], args);
    for form in [TABLE, Form::Json] {
        let mut out = Vec::new();
        let mut run = |command| audit::run(state.path(), command, form, &mut out).unwrap().text;
        run(AuditCommand::Query { terms: Vec::new() });
        let texts = run(AuditCommand::Show { call: "c1".to_owned() }) + &run(AuditCommand::Report { network: false });
        let out = String::from_utf8(out).unwrap() + &texts;
        assert!(!out.chars().any(|letter| letter != '\n' && is_hidden(letter)), "{out}");
        assert!(!out.lines().any(|line| line.starts_with("{\"v\":1}")), "{out}");
    }
}

#[test]
fn a_secret_is_in_no_file_of_the_state_directory() {
    let state = scratch();
    let log = open(state.path());
    start(&log, "c1", Sync::Durable);
    finish(&log, "c1");
    log.close().unwrap();
    for folder in ["audit", "keys"] {
        for entry in std::fs::read_dir(state.path().join(folder)).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            assert!(!bytes.windows(6).any(|window| window == b"s3cret"));
        }
    }
}

#[test]
fn tail_shows_the_last_records_and_then_what_is_added() {
    let state = scratch();
    let log = open(state.path());
    for number in 0..5 {
        start(&log, &format!("c{number}"), Sync::Handed);
    }
    let mut out = Vec::new();
    let mut looks = 0;
    let mut wait = || {
        looks += 1;
        finish(&log, &format!("c{looks}"));
        looks < 3
    };
    audit::tail(state.path(), 2, &Filter::default(), Form::Json, &mut wait, &mut out).unwrap();
    let seen: Vec<Value> = String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seen: Vec<_> =
        seen.iter().map(|record| format!("{} {}", record["ev"].as_str().unwrap(), record["call"].as_str().unwrap())).collect();
    assert_eq!(seen, ["call.started c3", "call.started c4", "call.finished c1", "call.finished c2"]);
}

#[test]
fn records_of_all_files_come_in_the_order_of_their_times() {
    let state = scratch();
    let clock = clock();
    let logs: Vec<Log> = (0..3).map(|_| Log::open(state.path(), Settings::default(), Arc::clone(&clock)).unwrap()).collect();
    for round in 0..10 {
        for (place, log) in logs.iter().enumerate() {
            start(log, &format!("c{round}-{place}"), Sync::Handed);
        }
    }
    let mut out = Vec::new();
    audit::run(state.path(), AuditCommand::Query { terms: vec!["ev=call.started".to_owned()] }, Form::Json, &mut out).unwrap();
    let times: Vec<String> =
        String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["ts"].to_string()).collect();
    assert!(times.len() == 30 && times.is_sorted());
}

#[test]
fn a_report_counts_calls_denials_and_answers() {
    let state = scratch();
    let log = open(state.path());
    start(&log, "c1", Sync::Handed);
    finish(&log, "c1");
    start(&log, "c2", Sync::Handed);
    log.append(&Record { reason: Some("path_denied"), ..Record::new(Event::ToolDenied) }, Sync::Handed).unwrap();
    log.append(&Record { approval: Some("a1"), ..Record::new(Event::ApprovalRequested) }, Sync::Handed).unwrap();
    log.append(&Record { approval: Some("a1"), decision: Some("once"), ..Record::new(Event::ApprovalAnswered) }, Sync::Handed).unwrap();
    log.close().unwrap();
    let report = audit::run(state.path(), AuditCommand::Report { network: false }, TABLE, &mut Vec::new()).unwrap();
    insta::assert_snapshot!(report.text);
}

#[test]
fn verify_says_whole_or_names_the_first_broken_record() {
    let state = scratch();
    let log = open(state.path());
    start(&log, "c1", Sync::Handed);
    log.close().unwrap();
    let verify = || audit::run(state.path(), AuditCommand::Verify { head: None }, TABLE, &mut Vec::new()).unwrap();
    let report = verify();
    assert!(report.end == End::Done && report.text.ends_with("whole: 4 records in 1 files\n"), "{}", report.text);
    let file = files(state.path()).remove(0);
    std::fs::write(&file, std::fs::read_to_string(&file).unwrap().replace("write_file", "read_file")).unwrap();
    let report = verify();
    assert_eq!((report.end, &report.json["broken"]["seq"]), (End::Negative, &json!(2)));
}

#[test]
fn without_its_key_nothing_of_a_secret_is_kept() {
    let state = scratch();
    let log = open(state.path());
    std::fs::create_dir(state.path().join("keys")).unwrap();
    std::fs::write(state.path().join("keys/audit-hash"), "").unwrap();
    start(&log, "c1", Sync::Durable);
    let record = &records(&files(state.path())[0])[1];
    assert_eq!(record["args"]["token"]["hmac"], "");
}
