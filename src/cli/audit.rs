//! `toolgate audit`: verify, tail, query, show, report, head.

use std::collections::{BTreeSet, VecDeque};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::audit::{self, End, Fault, Filter, FilterFault, Log, Network, Records, Stored, Tally, plain};
use crate::model::nearest;

/// Why a subcommand could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// There is no log, or it cannot be read.
    #[error(transparent)]
    Log(#[from] Fault),
    /// The filter is none.
    #[error(transparent)]
    Filter(#[from] FilterFault),
    /// A condition on a field that no record has.
    #[error("`{}` is no field of a record{}", plain(.0), .1)]
    Field(String, String),
    /// Nobody takes the output.
    #[error("the output cannot be written")]
    Output(#[from] std::io::Error),
}

/// How records are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A line a person can read.
    Text,
    /// The record as it stands in the log.
    Json,
}

/// The log, for a command that adds a record to it. How long files are kept is for servers to say, which have a manifest.
/// # Errors
/// Why nothing can be recorded.
pub fn open(state: &Path) -> Result<Log, Fault> {
    Log::open(state, audit::Settings { keep: Duration::MAX, ..audit::Settings::default() }, Arc::new(Timestamp::now))
}

/// Prints a digest of the whole log, to be kept elsewhere; `false`: the log is broken.
/// # Errors
/// `Failed`.
pub fn head(state: &Path, form: Form, out: &mut dyn Write) -> Result<bool, Failed> {
    let log = open(state)?;
    let report = audit::verify(state, None)?;
    if let Some((file, broken)) = report.broken() {
        writeln!(std::io::stderr(), "toolgate: broken at seq {} of {}: {}", broken.seq, plain(file), broken.why)?;
        return Ok(false);
    }
    let digest = audit::head(&log, &report)?;
    log.close()?;
    match form {
        Form::Text => writeln!(out, "{digest}")?,
        Form::Json => writeln!(out, "{}", json!({"head": digest}))?,
    }
    Ok(true)
}

/// Checks the whole log; `true`: it is whole. `head`: a digest that `head` printed.
/// # Errors
/// `Failed`.
pub fn verify(state: &Path, head: Option<&str>, form: Form, out: &mut dyn Write) -> Result<bool, Failed> {
    let report = audit::verify(state, head)?;
    let whole = report.broken().is_none();
    if form == Form::Json {
        let first = report.broken().map(|(file, broken)| json!({"file": file, "seq": broken.seq, "why": broken.why}));
        let unended: Vec<&str> = report.unended().collect();
        let answer = json!({"ok": whole, "records": report.records, "broken": first, "unended": unended, "files": report.files});
        writeln!(out, "{}", audit::json(&answer))?;
        return Ok(whole);
    }
    for file in &report.files {
        let end = match file.end {
            End::Closed => "closed",
            End::Recovered => "closed by a later start: its server died",
            End::Continued => "goes on in the next file",
            End::Live => "live",
            End::Missing => "NOT ENDED: its server died, and its last records may be missing",
        };
        match &file.broken {
            None => writeln!(out, "ok      {}  {} records, {end}", plain(&file.name), file.records)?,
            Some(broken) => writeln!(out, "BROKEN  {}  at seq {}: {}", plain(&file.name), broken.seq, broken.why)?,
        }
    }
    match report.broken() {
        None => writeln!(out, "whole: {} records in {} files", report.records, report.files.len())?,
        Some((file, broken)) => writeln!(out, "broken at seq {} of {}: {}", broken.seq, plain(file), broken.why)?,
    }
    Ok(whole)
}

/// Prints the last `count` records; then, with `wait`, what is added, looking again whenever `wait` returns `true`, until it returns `false`.
/// # Errors
/// `Failed`.
pub fn tail(
    state: &Path,
    count: usize,
    filter: &Filter,
    form: Form,
    wait: Option<&mut dyn FnMut() -> bool>,
    out: &mut dyn Write,
) -> Result<(), Failed> {
    known(state, filter)?;
    let mut records = Records::tail(state)?;
    let mut last = VecDeque::new();
    for record in records.by_ref().filter(|record| filter.admits(record)) {
        last.push_back(record);
        if last.len() > count {
            last.pop_front();
        }
    }
    columns(form, out)?;
    print(last, form, out)?;
    let Some(wait) = wait else { return Ok(()) };
    while wait() {
        records.look()?;
        print(records.by_ref().filter(|record| filter.admits(record)), form, out)?;
    }
    Ok(())
}

/// Prints the records a filter admits, at most `limit` where one is given; returns how many.
/// # Errors
/// `Failed`.
pub fn query(state: &Path, filter: &Filter, limit: Option<usize>, form: Form, out: &mut dyn Write) -> Result<usize, Failed> {
    known(state, filter)?;
    let mut printed = 0_usize;
    columns(form, out)?;
    let records = Records::open(state)?.filter(|record| filter.admits(record)).take(limit.unwrap_or(usize::MAX));
    print(records.inspect(|_| printed = printed.saturating_add(1)), form, out)?;
    Ok(printed)
}

/// Prints all records of one call as a timeline, with the question that was put to a person about it and the answer; `false`: there are none.
/// # Errors
/// `Failed`.
pub fn show(state: &Path, call: &str, form: Form, out: &mut dyn Write) -> Result<bool, Failed> {
    let own = Filter::call(call);
    // From 2026-07-28 on the call that was asked about and the one that came back with the answer are two, with one approval.
    let approvals: BTreeSet<String> = Records::open(state)?
        .filter(|record| own.admits(record))
        .map(|record| record.text("approval").to_owned())
        .filter(|approval| !approval.is_empty())
        .collect();
    let belongs = |record: &Stored| own.admits(record) || record.text("part_of") == call || approvals.contains(record.text("approval"));
    let records: Vec<Stored> = Records::open(state)?.filter(belongs).collect();
    if form == Form::Json {
        let is_there = !records.is_empty();
        print(records, form, out)?;
        return Ok(is_there);
    }
    let begun = records.first().and_then(Stored::time);
    for record in &records {
        let since = record.time().zip(begun).map(|(time, begun)| time.as_microsecond().saturating_sub(begun.as_microsecond()));
        let since = since.unwrap_or(0);
        writeln!(
            out,
            "+{}.{:03} ms  {}  {}  seq {} in {}",
            since / 1000,
            since % 1000,
            record.text("ts"),
            plain(record.text("ev")),
            record.seq(),
            record.file
        )?;
        for (name, value) in record.fields.iter().filter(|(name, _)| !FRAME.contains(&name.as_str())) {
            writeln!(out, "    {:<16} {}", plain(name), shown(value))?;
        }
    }
    Ok(!records.is_empty())
}

/// Prints what happened, in numbers.
/// # Errors
/// `Failed`.
pub fn report(state: &Path, filter: &Filter, form: Form, out: &mut dyn Write) -> Result<(), Failed> {
    let mut records = Records::open(state)?;
    let tally = Tally::of(records.by_ref().filter(|record| filter.admits(record)));
    if form == Form::Json {
        writeln!(out, "{}", audit::json(&serde_json::to_value(&tally).unwrap_or_default()))?;
        return Ok(());
    }
    let time = |time: &Option<String>| time.as_deref().map_or("-".to_owned(), plain);
    writeln!(out, "{} records from {} to {}", tally.records, time(&tally.from), time(&tally.to))?;
    writeln!(out, "{} calls, {} pulls of the emergency stop", tally.calls, tally.kills)?;
    for (title, counts) in [
        ("outcomes", &tally.statuses),
        ("denials by reason", &tally.denials),
        ("tools", &tally.tools),
        ("levels", &tally.levels),
        ("principals", &tally.principals),
        ("answers of persons", &tally.approvals.answers),
    ] {
        let mut counts: Vec<_> = counts.iter().collect();
        counts.sort_by(|one, other| other.1.cmp(one.1));
        section(out, title, counts)?;
    }
    section(out, "targets", tally.targets.iter().map(|(target, count)| (target, count)))?;
    let asked = &tally.approvals;
    if asked.requested > 0 {
        let wait = |wait: Option<i64>| wait.map_or("-".to_owned(), |wait| format!("{wait} ms"));
        let (median, longest) = (wait(asked.median_ms), wait(asked.longest_ms));
        writeln!(
            out,
            "{} questions to persons, {} unanswered; answers took {median} (median), {longest} (longest)",
            asked.requested, asked.expired
        )?;
    }
    section(out, "outcome unknown (a server died)", tally.unknown.iter().map(|call| (call, &1)))?;
    if records.damaged() > 0 {
        writeln!(out, "{} lines are no records: run `toolgate audit verify`", records.damaged())?;
    }
    Ok(())
}

/// Prints what was asked of the web, in numbers.
/// # Errors
/// `Failed`.
pub fn network(state: &Path, form: Form, out: &mut dyn Write) -> Result<(), Failed> {
    let network = Network::of(Records::open(state)?);
    match form {
        Form::Json => writeln!(out, "{}", audit::json(&serde_json::to_value(&network).unwrap_or_default()))?,
        Form::Text => write!(out, "{}", network.text())?,
    }
    Ok(())
}

fn section<'c>(out: &mut dyn Write, title: &str, counts: impl IntoIterator<Item = (&'c String, &'c u64)>) -> std::io::Result<()> {
    let mut counts = counts.into_iter().peekable();
    if counts.peek().is_some() {
        writeln!(out, "{title}")?;
    }
    counts.try_for_each(|(name, count)| writeln!(out, "  {count:>8}  {}", plain(name)))
}

fn print(records: impl IntoIterator<Item = Stored>, form: Form, out: &mut dyn Write) -> std::io::Result<()> {
    for record in records {
        match form {
            Form::Json => writeln!(out, "{}", record.line)?,
            Form::Text => writeln!(out, "{}", one_line(&record))?,
        }
    }
    out.flush()
}

/// Says what the columns of [`one_line`] are.
fn columns(form: Form, out: &mut dyn Write) -> std::io::Result<()> {
    match form {
        Form::Json => Ok(()),
        Form::Text => {
            writeln!(out, "{:<27}  {:<18}  {:<16}  {:<28}  about, time taken, caller, call", "time", "event", "tool", "outcome: reason")
        }
    }
}

/// A record for a person: time, event, tool, what came of it and why, then what matters of the rest.
fn one_line(record: &Stored) -> String {
    let outcome = [record.text("status"), record.text("decision")].into_iter().find(|word| !word.is_empty()).unwrap_or_default();
    let why = ["reason", "error_code", "why", "reason_given"]
        .map(|name| record.text(name))
        .into_iter()
        .find(|why| !why.is_empty() && *why != "ok");
    let outcome = match (outcome, why) {
        ("", None) => "-".to_owned(),
        ("", Some(why)) => why.to_owned(),
        (outcome, None) => outcome.to_owned(),
        (outcome, Some(why)) => format!("{outcome}: {why}"),
    };
    let tool = if record.text("tool").is_empty() { "-" } else { record.text("tool") };
    let (event, tool, outcome) = (plain(record.text("ev")), plain(tool), plain(&outcome));
    let mut line = format!("{}  {event:<18}  {tool:<16}  {outcome:<28}", plain(record.text("ts")));
    let about = ["path", "from", "url", "query"].iter().find_map(|name| record.fields.get("args")?.get(name)?.as_str());
    let about =
        about.or_else(|| ["question", "host", "manifest", "from"].into_iter().map(|name| record.text(name)).find(|text| !text.is_empty()));
    let duration = record.fields.get("duration_ms").map(|took| format!("{took} ms"));
    let who = ["operator", "answerer", "principal"].into_iter().map(|name| record.text(name)).find(|text| !text.is_empty());
    for part in about.into_iter().chain(duration.as_deref()).chain(who).chain([record.text("call")]) {
        if !part.is_empty() {
            line.push_str("  ");
            line.push_str(&plain(part));
        }
    }
    line.trim_end().to_owned()
}

/// Whether records have the fields that a filter names: some event writes them, or one stands in this log.
fn known(state: &Path, filter: &Filter) -> Result<(), Failed> {
    let strange: Vec<&str> = filter.fields().filter(|name| !FIELDS.split(' ').any(|known| known == *name)).collect();
    if strange.is_empty() {
        return Ok(());
    }
    let mut seen = BTreeSet::new();
    for record in Records::open(state)? {
        seen.extend(record.fields.into_iter().map(|(name, _)| name));
    }
    let Some(name) = strange.into_iter().find(|name| !seen.contains(*name)) else { return Ok(()) };
    let all = FIELDS.split(' ').chain(seen.iter().map(String::as_str));
    let hint = nearest(name, all).map_or_else(
        || format!("; it has e.g. {}", FIELDS.split(' ').take(12).collect::<Vec<_>>().join(", ")),
        |near| format!("; did you mean `{near}`?"),
    );
    Err(Failed::Field(name.to_owned(), hint))
}

/// What events write, the most asked for first.
const FIELDS: &str = "ev tool status reason decision principal session profile level rule call approval part_of v seq ts client args args_sha256 \
    effect manifest_sha256 duration_ms result prev hash error_code http_status bytes_written bytes_sent bytes_received question \
    channel answerer operator uid by why reason_given from host port how untrusted untrusted_from filtered carried warnings \
    leads_to targets traceparent events file pid version";

/// A value on one line, its strings without quotes.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => plain(text),
        other => audit::json(other),
    }
}

/// Fields that a timeline does not repeat.
const FRAME: [&str; 7] = ["v", "seq", "ts", "ev", "call", "prev", "hash"];
