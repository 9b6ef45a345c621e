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
use super::table::{Form, Table};
use crate::audit::{self, End, Filter, Log, Network, Records, Stored, Tally, plain};
use crate::model::nearest;

/// What to do with the log.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Check that no record was changed or removed. Names the first broken record and exits 1 otherwise.
    Verify {
        /// A digest that `audit head` printed: check also that every record of that time is still there.
        #[arg(long, value_name = "DIGEST")]
        head: Option<String>,
    },
    /// Print a digest of the log as it is now. Keep it on another machine, for `audit verify --head`.
    Head,
    /// Show the last records. `-f --json` gives a script every new record.
    Tail {
        /// Conditions, as for `audit query`, e.g. `ev=tool.denied`.
        terms: Vec<String>,
        /// How many records.
        #[arg(short = 'n', long, default_value_t = 20)]
        lines: usize,
        /// Wait for new records and show them too.
        #[arg(short, long)]
        follow: bool,
    },
    /// Show the records that fulfil all conditions, e.g. `tool=write_file status=error since=1h`.
    Query {
        /// FIELD=VALUE, also with `!=`, `>=`, `<=` or `~` (contains); `since=1h`, `until=TIME`, `denied`.
        terms: Vec<String>,
    },
    /// Show every record of one call.
    Show {
        /// The call's id, or the beginning of it that `audit tail` shows.
        call: String,
    },
    /// Count calls, denials by reason, and approvals.
    Report {
        /// Count web requests only, by method, status and host; show the last ten.
        #[arg(long)]
        network: bool,
    },
}

/// `toolgate audit`
/// # Errors  When the log cannot be read, or a term names no field.
pub fn run(state: &Path, command: AuditCommand, form: Form, out: &mut dyn Write) -> Result<Report, Fault> {
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
            tail(state, lines, &filter(state, &terms)?, form, &mut wait, out)?;
            Ok(Ended::Done.into())
        }
        AuditCommand::Query { terms } => {
            let filter = filter(state, &terms)?;
            let mut table = Table::new(form, &filter);
            print(table.head(), out)?;
            print(Records::open(state)?.filter_map(|record| table.line(record)), out)?;
            Ok(Ended::Done.into())
        }
        AuditCommand::Show { call } => show(state, &call, form, out),
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
    form: Form,
    wait: &mut dyn FnMut() -> bool,
    out: &mut dyn Write,
) -> Result<(), Fault> {
    let mut records = Records::tail(state)?;
    let mut last = VecDeque::new();
    let mut table = Table::new(form, filter);
    for line in records.by_ref().filter_map(|record| table.line(record)) {
        last.push_back(line);
        if last.len() > count {
            last.pop_front();
        }
    }
    print(table.head().into_iter().chain(last), out)?;
    while wait() {
        records.look()?;
        print(records.by_ref().filter_map(|record| table.line(record)), out)?;
    }
    Ok(())
}

/// All records of one call as a timeline, with the question that was put to a person about it and the answer.
fn show(state: &Path, call: &str, form: Form, out: &mut dyn Write) -> Result<Report, Fault> {
    let ids: BTreeSet<String> =
        Records::open(state)?.map(|record| record.text("call").to_owned()).filter(|id| !call.is_empty() && id.starts_with(call)).collect();
    let call = match (ids.first(), ids.len()) {
        (Some(id), 1) => id,
        (None, _) => {
            return Err(Fault::Negative(format!("no record of a call `{}`; `toolgate audit tail` names the last ones", plain(call))));
        }
        (Some(_), calls) => {
            return Err(Fault::Negative(format!("`{}` is the beginning of {calls} calls; give more of the id", plain(call))));
        }
    };
    let is_own = |record: &Stored| record.text("call") == call;
    // From 2026-07-28 on the call that was asked about and the one that came back with the answer are two, with one approval.
    let approvals: BTreeSet<String> = Records::open(state)?.filter(is_own).map(|record| record.text("approval").to_owned()).collect();
    let is_shared = |approval: &str| !approval.is_empty() && approvals.contains(approval);
    let belongs = |record: &Stored| is_own(record) || record.text("part_of") == call || is_shared(record.text("approval"));
    let records: Vec<Stored> = Records::open(state)?.filter(belongs).collect();
    if matches!(form, Form::Json) {
        print(records.into_iter().map(|record| record.line), out)?;
        return Ok(Ended::Done.into());
    }
    let mut text = String::new();
    let begun = records.first().and_then(Stored::time);
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

fn print(lines: impl IntoIterator<Item = String>, out: &mut dyn Write) -> io::Result<()> {
    lines.into_iter().try_for_each(|line| writeln!(out, "{line}"))?;
    out.flush()
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
