//! `toolgate audit`: verify, tail, query, show, report, head.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Subcommand;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::run::{End as Ended, Fault, Report};
use crate::audit::{self, End, Filter, Log, Network, Records, Stored, Tally, plain};
use crate::model::nearest;

/// What to do with the log.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Check that the log is whole; exits 1 with the first broken record when it is not.
    Verify {
        /// Check also that what stood in the log when `audit head` printed this digest is still in it.
        #[arg(long, value_name = "DIGEST")]
        head: Option<String>,
    },
    /// Print a digest of the log as it is, to be kept elsewhere: `audit verify --head` then misses what was taken away since.
    Head,
    /// Show the last records; with `-f --json` the bus for scripts: every record as it is written.
    Tail {
        /// Only those that fit, as for `query`, e.g. `ev=tool.denied`.
        terms: Vec<String>,
        /// How many.
        #[arg(short = 'n', long, default_value_t = 20)]
        lines: usize,
        /// Go on with new ones.
        #[arg(short, long)]
        follow: bool,
    },
    /// Show records that fit, e.g. `tool=write_file status=error since=1h`.
    Query {
        /// FIELD=VALUE, all must hold.
        terms: Vec<String>,
    },
    /// Show every record of one call.
    Show {
        /// The call's id.
        call: String,
    },
    /// Sum the log up: calls, denials by reason, approvals.
    Report {
        /// Count web requests alone: by method, status and host, and the last ten.
        #[arg(long)]
        network: bool,
    },
}

/// `toolgate audit`
/// # Errors  When the log cannot be read, or a term names no field.
pub fn run(state: &Path, command: AuditCommand, as_json: bool, out: &mut dyn Write) -> Result<Report, Fault> {
    // What is left of a log that was taken away is for `verify` to find.
    if !matches!(command, AuditCommand::Verify { .. }) && !state.join("audit").is_dir() {
        let why = "it begins with the first `toolgate serve`; another folder is named by TOOLGATE_STATE_DIR";
        return Err(Fault::Use(format!("there is no audit log in `{}` yet: {why}", state.display())));
    }
    match command {
        AuditCommand::Verify { head } => verify(state, head.as_deref()),
        AuditCommand::Head => head(state),
        AuditCommand::Tail { terms, lines, follow } => {
            let mut wait = || {
                if follow {
                    std::thread::sleep(Duration::from_millis(200));
                }
                follow
            };
            tail(state, lines, &filter(state, &terms)?, as_json, &mut wait, out)?;
            Ok(Ended::Done.into())
        }
        AuditCommand::Query { terms } => {
            let filter = filter(state, &terms)?;
            columns(as_json, out)?;
            print(Records::open(state)?.filter(|record| filter.admits(record)), as_json, out)?;
            Ok(Ended::Done.into())
        }
        AuditCommand::Show { call } => show(state, &call, as_json, out),
        AuditCommand::Report { network: true } => {
            let network = Network::of(Records::open(state)?);
            Ok(Report { json: json!(network), text: network.text(), end: Ended::Done })
        }
        AuditCommand::Report { network: false } => report(state),
    }
}

/// The log, for a command that adds a record to it. How long files are kept is for servers to say, which have a manifest.
pub(super) fn open(state: &Path) -> Result<Log, audit::Fault> {
    Log::open(state, audit::Settings { keep: Duration::MAX, ..audit::Settings::default() }, Arc::new(Timestamp::now))
}

/// A digest of the whole log, to be kept elsewhere.
fn head(state: &Path) -> Result<Report, Fault> {
    let log = open(state)?;
    let report = audit::verify(state, None)?;
    if let Some((file, broken)) = report.broken() {
        return Err(Fault::Negative(format!("broken at seq {} of {}: {}", broken.seq, plain(file), broken.why)));
    }
    let digest = audit::head(&log, &report)?;
    log.close()?;
    Ok(Report { json: json!({"head": digest}), text: format!("{digest}\n"), end: Ended::Done })
}

/// Checks the whole log. `head`: a digest that `head` printed.
fn verify(state: &Path, head: Option<&str>) -> Result<Report, Fault> {
    let report = audit::verify(state, head)?;
    let mut text = String::new();
    for file in &report.files {
        let end = match file.end {
            End::Closed => "closed",
            End::Recovered => "closed by a later start: its server died",
            End::Continued => "goes on in the next file",
            End::Live => "live",
            End::Missing => "NOT ENDED: its server died, and its last records may be missing",
        };
        let _ = match &file.broken {
            None => writeln!(text, "ok      {}  {} records, {end}", plain(&file.name), file.records),
            Some(broken) => writeln!(text, "BROKEN  {}  at seq {}: {}", plain(&file.name), broken.seq, broken.why),
        };
    }
    let first = report.broken();
    let _ = match first {
        None => writeln!(text, "whole: {} records in {} files", report.records, report.files.len()),
        Some((file, broken)) => writeln!(text, "broken at seq {} of {}: {}", broken.seq, plain(file), broken.why),
    };
    let broken = first.map(|(file, broken)| json!({"file": file, "seq": broken.seq, "why": broken.why}));
    let unended: Vec<&str> = report.unended().collect();
    let json = json!({"ok": first.is_none(), "records": report.records, "broken": broken, "unended": unended, "files": report.files});
    Ok(Report { json, text, end: Ended::of(first.is_none()) })
}

/// Prints the last `count` records; then what is added, looking again whenever `wait` returns `true`, until it returns `false`.
/// # Errors  When the log cannot be read or the output not be written.
pub fn tail(
    state: &Path,
    count: usize,
    filter: &Filter,
    as_json: bool,
    wait: &mut dyn FnMut() -> bool,
    out: &mut dyn Write,
) -> Result<(), Fault> {
    let mut records = Records::tail(state)?;
    let mut last = VecDeque::new();
    for record in records.by_ref().filter(|record| filter.admits(record)) {
        last.push_back(record);
        if last.len() > count {
            last.pop_front();
        }
    }
    columns(as_json, out)?;
    print(last, as_json, out)?;
    while wait() {
        records.look()?;
        print(records.by_ref().filter(|record| filter.admits(record)), as_json, out)?;
    }
    Ok(())
}

/// All records of one call as a timeline, with the question that was put to a person about it and the answer.
fn show(state: &Path, call: &str, as_json: bool, out: &mut dyn Write) -> Result<Report, Fault> {
    let is_own = |record: &Stored| record.text("call") == call;
    // From 2026-07-28 on the call that was asked about and the one that came back with the answer are two, with one approval.
    let approvals: BTreeSet<String> = Records::open(state)?.filter(is_own).map(|record| record.text("approval").to_owned()).collect();
    let is_shared = |approval: &str| !approval.is_empty() && approvals.contains(approval);
    let belongs = |record: &Stored| is_own(record) || record.text("part_of") == call || is_shared(record.text("approval"));
    let records: Vec<Stored> = Records::open(state)?.filter(belongs).collect();
    let Some(first) = records.first() else {
        return Err(Fault::Negative(format!("no record of a call `{}`; `toolgate audit tail` names the last ones", plain(call))));
    };
    if as_json {
        print(records, as_json, out)?;
        return Ok(Ended::Done.into());
    }
    let mut text = String::new();
    let begun = first.time();
    for record in &records {
        let since = record.time().zip(begun).map_or(0, |(time, begun)| time.as_microsecond().saturating_sub(begun.as_microsecond()));
        let (time, event) = (record.text("ts"), plain(record.text("ev")));
        let _ = writeln!(text, "+{}.{:03} ms  {time}  {event}  seq {} in {}", since / 1000, since % 1000, record.seq(), record.file);
        for (name, value) in record.fields.iter().filter(|(name, _)| !FRAME.contains(&name.as_str())) {
            let value = value.as_str().map_or_else(|| audit::json(value), plain);
            let _ = writeln!(text, "    {:<16} {value}", plain(name));
        }
    }
    Ok(Report { json: Value::Null, text, end: Ended::Done })
}

/// What happened, in numbers.
fn report(state: &Path) -> Result<Report, Fault> {
    let mut records = Records::open(state)?;
    let tally = Tally::of(records.by_ref());
    let time = |time: &Option<String>| time.as_deref().map_or("-".to_owned(), plain);
    let mut text = format!("{} records from {} to {}\n", tally.records, time(&tally.from), time(&tally.to));
    let _ = writeln!(text, "{} calls, {} pulls of the emergency stop", tally.calls, tally.kills);
    for (title, counts) in [
        ("outcomes", &tally.statuses),
        ("denials by reason", &tally.denials),
        ("tools", &tally.tools),
        ("levels", &tally.levels),
        ("principals", &tally.principals),
        ("answers of persons", &tally.approvals.answers),
    ] {
        let mut counts: Vec<(&String, u64)> = counts.iter().map(|(name, count)| (name, *count)).collect();
        counts.sort_by_key(|(_, count)| Reverse(*count));
        text += &section(title, counts);
    }
    text += &section("targets", tally.targets.iter().map(|(target, count)| (target, *count)));
    let asked = &tally.approvals;
    if asked.requested > 0 {
        let [median, longest] = [asked.median_ms, asked.longest_ms].map(|wait| wait.map_or("-".to_owned(), |wait| format!("{wait} ms")));
        let (put, unanswered) = (asked.requested, asked.expired);
        let _ = writeln!(text, "{put} questions to persons, {unanswered} unanswered; answers took {median} (median), {longest} (longest)");
    }
    text += &section("outcome unknown (a server died)", tally.unknown.iter().map(|call| (call, 1)));
    if records.damaged() > 0 {
        let _ = writeln!(text, "{} lines are no records: run `toolgate audit verify`", records.damaged());
    }
    Ok(Report { json: json!(tally), text, end: Ended::Done })
}

/// A title with a line for each count; nothing where there is none.
fn section<'c>(title: &str, counts: impl IntoIterator<Item = (&'c String, u64)>) -> String {
    let mut text = format!("{title}\n");
    let lines = counts.into_iter().map(|(name, count)| writeln!(text, "  {count:>8}  {}", plain(name))).count();
    if lines > 0 { text } else { String::new() }
}

fn print(records: impl IntoIterator<Item = Stored>, as_json: bool, out: &mut dyn Write) -> io::Result<()> {
    for record in records {
        writeln!(out, "{}", if as_json { record.line } else { one_line(&record) })?;
    }
    out.flush()
}

/// Says what the columns of [`one_line`] are.
fn columns(as_json: bool, out: &mut dyn Write) -> io::Result<()> {
    if as_json {
        return Ok(());
    }
    writeln!(out, "{:<27}  {:<18}  {:<16}  {:<28}  about, time taken, caller, call", "time", "event", "tool", "outcome: reason")
}

/// A record for a person: time, event, tool, what came of it and why, then what matters of the rest.
fn one_line(record: &Stored) -> String {
    let first = |names: &[&str]| names.iter().map(|name| record.text(name)).find(|text| !text.is_empty());
    let why =
        ["reason", "error_code", "why", "reason_given"].map(|name| record.text(name)).into_iter().find(|why| !["", "ok"].contains(why));
    let outcome = first(&["status", "decision"]).into_iter().chain(why).collect::<Vec<_>>().join(": ");
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { plain(text) };
    let (event, tool, outcome) = (plain(record.text("ev")), or_dash(record.text("tool")), or_dash(&outcome));
    let mut line = format!("{}  {event:<18}  {tool:<16}  {outcome:<28}", plain(record.text("ts")));
    let about = ["path", "from", "url", "query"].iter().find_map(|name| record.fields.get("args")?.get(name)?.as_str());
    let about = about.or_else(|| first(&["question", "host", "manifest", "from"]));
    let duration = record.fields.get("duration_ms").map(|took| format!("{took} ms"));
    let who = first(&["operator", "answerer", "principal"]);
    for part in about.into_iter().chain(duration.as_deref()).chain(who).chain([record.text("call")]) {
        if !part.is_empty() {
            line.push_str("  ");
            line.push_str(&plain(part));
        }
    }
    line.trim_end().to_owned()
}

/// The filter of these terms. Records have the fields that it names: some event writes them, or one stands in this log.
fn filter(state: &Path, terms: &[String]) -> Result<Filter, Fault> {
    let filter = Filter::parse(&terms.join(" "), Timestamp::now()).map_err(|fault| Fault::Use(fault.to_string()))?;
    let mut unknown: Vec<&str> = filter.fields().filter(|name| !FIELDS.split_whitespace().any(|known| known == *name)).collect();
    if !unknown.is_empty() {
        for record in Records::open(state)? {
            unknown.retain(|name| !record.fields.iter().any(|(known, _)| known == name));
        }
    }
    let Some(name) = unknown.first() else { return Ok(filter) };
    let hint = nearest(name, FIELDS.split_whitespace()).map_or_else(
        || format!("it has e.g. {}", FIELDS.split_whitespace().take(12).collect::<Vec<_>>().join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    Err(Fault::Use(format!("`{}` is no field of a record; {hint}", plain(name))))
}

/// What events write, the most asked for first.
const FIELDS: &str = "ev tool status reason decision principal session profile level rule call approval part_of v seq ts client args args_sha256 \
    effect manifest_sha256 duration_ms result prev hash error_code http_status bytes_written bytes_sent bytes_received question \
    channel answerer operator uid by why reason_given from host port how untrusted untrusted_from filtered carried warnings \
    leads_to targets traceparent events file pid version";

/// Fields that a timeline does not repeat.
const FRAME: [&str; 7] = ["v", "seq", "ts", "ev", "call", "prev", "hash"];
