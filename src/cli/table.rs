//! Records of the log as lines of a table, 100 columns wide: widths are fixed, so that a table that goes on stays one.

use std::collections::BTreeMap;

use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::layout::Colour;
use crate::audit::{Filter, Stored, plain};

/// How records are printed.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// As they stand in the log.
    Json,
    /// As a table for a person.
    Table(Colour),
}

/// The records that a filter admits, as lines.
#[derive(Debug)]
pub(super) struct Table<'f> {
    form: Form,
    filter: &'f Filter,
    /// What the calls act on that have started and not finished: their last record does not repeat it.
    under_way: BTreeMap<String, String>,
}

impl<'f> Table<'f> {
    pub(super) const fn new(form: Form, filter: &'f Filter) -> Self {
        Self { form, filter, under_way: BTreeMap::new() }
    }

    /// The line above all others.
    pub(super) fn head(&self) -> Option<String> {
        let head = ["time (UTC)", "call", "caller", "tool", "acted on", "result", "took"];
        matches!(self.form, Form::Table(_)).then(|| row(head, str::to_owned))
    }

    /// The line of a record; `None` where the filter does not admit it.
    pub(super) fn line(&mut self, record: Stored) -> Option<String> {
        let colour = match self.form {
            Form::Json => return self.filter.admits(&record).then_some(record.line),
            Form::Table(colour) => colour,
        };
        let call = record.text("call");
        let own = about(&record);
        let about = match record.text("ev") {
            "call.finished" => self.under_way.remove(call).or(own),
            "call.started" => {
                self.under_way.extend(own.clone().map(|own| (call.to_owned(), own)));
                own
            }
            _ => own,
        };
        self.filter.admits(&record).then(|| line(&record, &about.unwrap_or_default(), colour))
    }
}

fn line(record: &Stored, about: &str, colour: Colour) -> String {
    let first = |names: &[&str]| names.iter().map(|name| record.text(name)).find(|text| !["", "ok"].contains(text)).unwrap_or_default();
    let (subject, verb) = record.text("ev").split_once('.').unwrap_or((record.text("ev"), ""));
    let outcome = first(&["decision", "status"]);
    let result = match subject {
        "call" | "tool" => [outcome, first(&["reason", "error_code"])],
        _ => [verb, first(&["reason", "decision", "why", "reason_given"])],
    };
    let code = match outcome {
        "allow" | "success" => "32",
        "deny" | "denied" | "error" | "timeout" | "killed" | "unknown" => "31",
        _ => "",
    };
    let time = record.time().map_or_else(|| record.text("ts").to_owned(), |time| time.strftime("%m-%d %H:%M:%S").to_string());
    let call: String = record.text("call").chars().take(CALL).collect();
    let tool = Some(record.text("tool")).filter(|tool| !tool.is_empty()).unwrap_or(subject);
    let duration = record.fields.get("duration_ms").and_then(Value::as_f64).map(took).unwrap_or_default();
    let caller = first(&["operator", "answerer", "principal"]);
    row([&time, &call, caller, tool, about, result.join(" ").trim_end(), &duration], |result| colour.paint(code, result))
}

/// What a record is about: a path, an address without its scheme, a query, a question, a program by its size.
fn about(record: &Stored) -> Option<String> {
    let args = record.fields.get("args");
    let argument = ["path", "from", "url", "query"].iter().find_map(|name| args?.get(name)?.as_str());
    let field = || ["question", "host", "manifest", "from", "file"].iter().map(|name| record.text(name)).find(|text| !text.is_empty());
    let program = || Some(format!("{} B of code", args?.get("code")?.get("len")?));
    let bare = |text: &str| text.trim_start_matches("https://").trim_start_matches("http://").to_owned();
    argument.or_else(field).map(bare).or_else(program)
}

/// A duration in at most six columns.
fn took(milliseconds: f64) -> String {
    match milliseconds {
        ..10.0 => format!("{milliseconds:.1} ms"),
        ..1000.0 => format!("{milliseconds:.0} ms"),
        ..100_000.0 => format!("{:.1} s", milliseconds / 1000.0),
        _ => format!("{:.0} s", milliseconds / 1000.0),
    }
}

/// One line. A result without a duration takes the columns of both.
fn row([time, call, caller, tool, about, result, duration]: [&str; 7], paint: impl Fn(&str) -> String) -> String {
    let columns = [(time, 14), (call, CALL), (caller, 8), (tool, 14), (about, 18)].map(|(text, width)| cell(text, width));
    let result = if duration.is_empty() { fit(result, 28) } else { cell(result, 20) };
    format!("{}  {}  {duration:>6}", columns.join("  "), paint(&result)).trim_end().to_owned()
}

/// The text in exactly these columns.
fn cell(text: &str, columns: usize) -> String {
    let text = fit(text, columns);
    let blanks = columns.saturating_sub(text.width());
    text + &" ".repeat(blanks)
}

/// The text with nothing hidden in it, in at most these columns: of a longer one, its beginning and its end.
fn fit(text: &str, columns: usize) -> String {
    let text = plain(text);
    if text.width() <= columns {
        return text;
    }
    let within = |letters: &mut dyn Iterator<Item = char>, columns: usize| {
        let mut used = 0;
        let fits = |letter: &char| {
            used += letter.width().unwrap_or(0);
            used <= columns
        };
        letters.take_while(fits).collect::<String>()
    };
    let start = within(&mut text.chars(), columns.saturating_sub(1) / 3);
    let end = within(&mut text.chars().rev(), columns.saturating_sub(1 + start.width()));
    format!("{start}…{}", end.chars().rev().collect::<String>())
}

/// How much of a call's id is shown; `audit show` takes it.
const CALL: usize = 8;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn records_are_lines_of_a_hundred_columns() {
        let filter = Filter::default();
        let mut table = Table::new(Form::Table(Colour(false)), &filter);
        let mut text = table.head().unwrap();
        for record in [
            json!({"ev": "manifest.loaded", "from": "/home/someone/projects/orchard/tools.toml"}),
            json!({"ev": "call.started", "call": "c_774bfae8dd0f", "principal": "stdio", "tool": "write_file", "decision": "allow",
                "reason": "ok", "args": {"path": "project/日本語の長い名前のファイル/notes.txt"}}),
            json!({"ev": "call.finished", "call": "c_774bfae8dd0f", "principal": "stdio", "tool": "write_file", "status": "error",
                "error_code": "response_too_large", "duration_ms": 1514.101}),
            json!({"ev": "call.started", "call": "c_98b795c97f2c", "principal": "build-bot", "tool": "run_python", "decision": "allow",
                "reason": "ok", "args": {"code": {"len": 8}}}),
            json!({"ev": "call.finished", "call": "c_98b795c97f2c", "principal": "build-bot", "tool": "run_python", "status": "success",
                "duration_ms": 86.419}),
            json!({"ev": "tool.denied", "call": "c_c4623e10370b", "principal": "a\u{1b}[2J\nb", "tool": "other__long_name_of_a_tool",
                "decision": "deny", "reason": "path_outside_roots", "args": {"url": "https://example.org/a"}}),
            json!({"ev": "approval.answered", "call": "c_c4623e10370b", "answerer": "ann", "tool": "delete_file", "decision": "once"}),
        ] {
            let mut fields = record.as_object().unwrap().clone();
            fields.insert("ts".to_owned(), json!("2026-11-30T00:14:42.745867Z"));
            text.push('\n');
            text += &table.line(Stored { file: String::new(), line: String::new(), fields }).unwrap();
        }
        assert!(text.lines().all(|line| line.width() <= 100), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_duration_has_six_columns() {
        assert_eq!(
            [0.04, 75.1, 999.4, 1514.1, 99_940.0, 3_600_000.0].map(took),
            ["0.0 ms", "75 ms", "999 ms", "1.5 s", "99.9 s", "3600 s"]
        );
    }
}
