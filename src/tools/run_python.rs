//! `run_python`: a program in a sandbox of its own.

use std::fmt::Write;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::schema::{self, arguments};
use crate::filter::escape_line;
use crate::gate::Permit;
use crate::model::{self, Action, Block, Code, Failure, Field, Flag, Origin, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::sandbox::programs::{Outcome, Status};
use crate::tool::{Card, Stage, Tool};

/// `run_python`
#[derive(Debug)]
pub(super) struct RunPython;

arguments! {
    /// The program.
    code: String,
    /// `new` keeps variables; later calls give the handle that was answered.
    #[schemars(length(min = 1))]
    session: Option<String>,
    /// What `input()` reads.
    stdin: String = "",
    /// Most seconds.
    #[schemars(range(min = 1))]
    timeout_s: Option<u64>,
    /// A new interpreter.
    fresh: bool = false,
}

static SPEC: ToolSpec = ToolSpec::new("run_python", &[Flag::ExecuteCode], ARGUMENTS);

impl Tool for RunPython {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Run Python",
            description: "Runs a Python program in a sandbox: own /tmp, roots at /roots/NAME, no network unless opened. Relative paths start in the \
                          first root it may write to, else in /tmp: name files of other roots in full. Print what you want to see; the value of \
                          a last expression is shown. toolgate://policy names its roots, imports and limits.",
            output_schema: Some(schema::output(json!({
                "status": {"type": "string", "enum": ["ok", "exception", "limit", "killed", "sandbox_error"]},
                "stdout": {"type": "string"},
                "stderr": {"type": "string"},
            }))),
            known_as: "python python3 bash sh shell exec execute execute_code execute_python run_code run_command \
                       run_shell_command run terminal code_interpreter python_repl ipython repl",
            ..Card::changes(&INPUT)
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let Args { code, session, stdin, timeout_s, fresh } = Args::read(arguments)?;
        if fresh && session.as_deref().is_some_and(|session| session != "new") {
            let why = "`fresh` starts a new interpreter, but this `session` continues one that runs already";
            return Err(Refusal::new(Code::ArgumentInvalid, why).hint("leave out one of the two, or give `session: \"new\"` with `fresh`"));
        }
        let within = without_fence(&code);
        let fenced = within.is_some();
        let code = within.unwrap_or(code);
        Ok(Action::RunPython(model::RunPython { code, session, stdin, timeout_s, fresh, fenced }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let permit = permit.narrow::<model::RunPython>()?;
            let (is_new, fenced) = (permit.action().session.as_deref() == Some("new"), permit.action().fenced);
            let outcome = sandbox.python.run(permit, &stage).await?;
            let mut output = answer(&outcome, is_new);
            if fenced {
                output.blocks.push(Block::text("[the program ran without the Markdown fence around it]".to_owned(), Origin::Own));
            }
            Ok(output)
        })
    }
}

/// The program inside a Markdown fence, where the whole text is one: no program of Python begins with three backticks.
fn without_fence(code: &str) -> Option<String> {
    let (first, rest) = code.trim().split_once('\n')?;
    let language = first.trim_start_matches('`');
    let fence = first.strip_suffix(language).filter(|fence| fence.len() >= 3)?;
    let (program, last) = rest.rsplit_once('\n')?;
    let is_python = ["", "python", "python3", "py"].contains(&language.trim().to_ascii_lowercase().as_str());
    (is_python && last.trim_end() == fence).then(|| format!("{program}\n"))
}

/// The answer. `is_new`: its session begins with this call.
fn answer(outcome: &Outcome, is_new: bool) -> Output {
    let mut output = Output {
        is_error: outcome.status != Status::Ok,
        code: (outcome.status != Status::Ok).then_some(Code::ProgramFailed),
        cpu_ms: outcome.usage.cpu_ms,
        notes: outcome.events.clone(),
        bytes_written: outcome.bytes_written,
        ..Output::default()
    };
    output.blocks.push(Block::text(text(outcome), Origin::Program));
    if let Some(session) = outcome.session.as_ref().filter(|_| is_new) {
        // The handle stands where every client shows it, and not among the words of the program.
        output.blocks.push(Block::text(format!("[session: {session}]"), Origin::Own));
    }
    let pictures = outcome.pictures.iter();
    output.blocks.extend(pictures.map(|picture| Block::Image { data: picture.bytes.clone(), mime_type: picture.mime_type.clone() }));
    let mut facts = match serde_json::to_value(outcome) {
        Ok(Value::Object(facts)) => facts,
        _ => Map::new(),
    };
    let cost = ["duration_ms", "usage"].into_iter().filter_map(|name| Some((name.to_owned(), facts.get(name)?.clone()))).collect();
    output.meta.insert("toolgate/program".to_owned(), Value::Object(cost));
    leave_out_the_usual(outcome, &mut facts);
    let mut structured = Vec::new();
    structured.extend(output.code.map(|code| ("code", Field::Fact(code.as_str().into()))));
    for name in FIELDS {
        match (name, facts.get(name)) {
            ("stdout" | "stderr", Some(Value::String(text))) => structured.push((name, Field::Text(text.clone(), Origin::Program))),
            (_, Some(Value::Null) | None) => {}
            (_, Some(value)) => structured.push((name, told(name, value))),
        }
    }
    output.structured = Some(structured);
    output
}

/// Takes out of the facts what says nothing of an ordinary run: a model reads every byte of them with each call.
/// - `isolation.layers`: where every layer is on, or there is nothing for it to hold;
/// - `duration_ms` and `usage`: of a program that ended well and used less than [`LITTLE_MS`]; `_meta` has them of every program;
/// - `truncated`: where it is false.
fn leave_out_the_usual(outcome: &Outcome, facts: &mut Map<String, Value>) {
    if outcome.isolation.layers.values().all(|state| state == "on" || state.starts_with("none needed"))
        && let Some(Value::Object(isolation)) = facts.get_mut("isolation")
    {
        isolation.remove("layers");
    }
    if outcome.status == Status::Ok && outcome.usage.cpu_ms < LITTLE_MS {
        facts.remove("duration_ms");
        facts.remove("usage");
    }
    if !outcome.truncated {
        facts.remove("truncated");
    }
}

/// Processor time in milliseconds below which the cost of a program that ended well is not worth a model's tokens.
const LITTLE_MS: u64 = 1000;

/// A value of the answer. Words and names in it may be the program's own, however they came here.
fn told(name: &'static str, value: &Value) -> Field {
    let name_of = |value: &Value| Field::Name(value.as_str().unwrap_or_default().to_owned(), Origin::Program);
    match (name, value) {
        ("evidence" | "session", value) => name_of(value),
        ("files", Value::Array(rows)) => {
            Field::List(rows.iter().map(|row| row_of(row, &["path", "size", "sha256", "mime_type"], name_of)).collect())
        }
        ("network", Value::Array(rows)) => {
            Field::List(rows.iter().map(|row| row_of(row, &["host", "port", "verdict", "count", "sent", "received"], name_of)).collect())
        }
        (_, value) => Field::Fact(value.clone()),
    }
}

/// One row of a list, whose first value is a name.
fn row_of(row: &Value, names: &[&'static str], name_of: impl Fn(&Value) -> Field) -> Vec<(&'static str, Field)> {
    let values = names.iter().filter_map(|name| Some((*name, row.get(*name)?)));
    values.enumerate().map(|(at, (name, value))| (name, if at == 0 { name_of(value) } else { Field::Fact(value.clone()) })).collect()
}

/// The fields of the answer, in the order of the contract; a failed one has its `code` before them.
const FIELDS: [&str; 14] = [
    "status",
    "limit",
    "evidence",
    "exit_code",
    "signal",
    "stdout",
    "stderr",
    "truncated",
    "duration_ms",
    "usage",
    "files",
    "network",
    "session",
    "isolation",
];

/// Refused hosts that are told by name; the structured answer has them all.
const TOLD: usize = 8;

/// What the model reads: how it ended where that is not plain, the output, the errors, the files.
fn text(outcome: &Outcome) -> String {
    let mut text = String::new();
    match (outcome.status, outcome.limit) {
        (Status::Limit, Some(limit)) => {
            let name = serde_json::to_value(limit).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default();
            let _ = writeln!(
                text,
                "[the program was stopped at its {name} limit: {}]",
                outcome.evidence.as_deref().unwrap_or("no further evidence")
            );
        }
        (Status::Killed, _) => {
            let by = outcome.signal_name().map(|name| format!(" by {name}")).unwrap_or_default();
            let _ = writeln!(text, "[the program was killed{by}]");
        }
        (Status::SandboxError, _) => {
            let _ = writeln!(text, "[the sandbox failed: {}]", outcome.evidence.as_deref().unwrap_or("the server's log says more"));
        }
        (Status::Ok | Status::Exception | Status::Limit, _) => {}
    }
    text.push_str(&outcome.stdout);
    if !outcome.stderr.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&outcome.stderr);
    }
    if let (Status::Exception, Some(code)) = (outcome.status, outcome.exit_code)
        && outcome.stderr.is_empty()
    {
        let _ = writeln!(text, "[the program left with exit code {code}]");
    }
    for contact in outcome.network.iter().filter(|contact| contact.verdict != Code::Ok).take(TOLD) {
        let _ = write!(text, "\n[network: {}:{} {}, {} time(s)]", contact.host, contact.port, contact.verdict, contact.count);
    }
    for file in &outcome.files {
        // A name may hold line ends and what is not shown: it forges no line of this.
        let _ = write!(text, "\n[file: {} ({} bytes, {})]", escape_line(&file.path), file.size, file.mime_type);
    }
    if outcome.files_cut {
        text.push_str("\n[more files were made or changed than are listed here]");
    }
    if outcome.unshown > 0 {
        let _ = write!(text, "\n[{} picture(s) not shown: too many, too large, or no pictures by their content]", outcome.unshown);
    }
    if let (Status::Ok | Status::Exception, Some(why)) = (outcome.status, &outcome.evidence) {
        let _ = write!(text, "\n[{}]", escape_line(why));
    }
    if text.is_empty() {
        text.push_str("[no output]");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::programs::{Isolation, LeftFile, Usage};

    #[test]
    fn every_program_that_failed_has_a_code_and_no_other_has() {
        for status in [Status::Ok, Status::Exception, Status::Limit, Status::Killed, Status::SandboxError] {
            let output = answer(&outcome(status, &[]), false);
            let code = output.structured.unwrap().into_iter().find(|(name, _)| *name == "code").map(|(_, value)| value);
            let expected = (status != Status::Ok).then(|| Field::Fact("program_failed".into()));
            assert_eq!((code, output.is_error), (expected, status != Status::Ok), "{status:?}");
        }
    }

    #[test]
    fn a_program_in_a_markdown_fence_is_taken_out_of_it_and_nothing_else_is() {
        for fenced in ["```python\nprint(1)\n```", "\n```\r\nprint(1)\n```\n", "````Py\nprint(1)\n````"] {
            assert_eq!(without_fence(fenced).as_deref(), Some("print(1)\n"), "{fenced}");
        }
        for other in ["print(1)", "```bash\nls\n```", "```python\nprint(1)", "'''\na\n'''", "```\n```"] {
            assert_eq!(without_fence(other), None, "{other}");
        }
    }

    #[test]
    fn the_cost_of_a_program_is_told_where_it_is_news() {
        let named = |outcome: &Outcome| {
            let output = answer(outcome, false);
            assert_eq!(output.meta["toolgate/program"]["usage"]["cpu_ms"], outcome.usage.cpu_ms);
            let structured = output.structured.unwrap();
            ["duration_ms", "usage", "truncated"].map(|key| structured.iter().any(|(name, _)| *name == key))
        };
        let mut one = outcome(Status::Ok, &[]);
        assert_eq!(named(&one), [false; 3]);
        one.usage.cpu_ms = 1000;
        assert_eq!(named(&one), [true, true, false]);
        one.truncated = true;
        assert_eq!(named(&one), [true; 3]);
        assert_eq!(named(&outcome(Status::Limit, &[])), [true, true, false]);
    }

    #[test]
    fn the_layers_are_told_where_one_of_them_is_not_on() {
        let layers = |states: &[(&str, &str)]| {
            let mut one = outcome(Status::Ok, &[]);
            one.isolation.layers = states.iter().map(|(name, state)| ((*name).to_owned(), (*state).to_owned())).collect();
            let isolation = answer(&one, false).structured.unwrap().into_iter().find(|(name, _)| *name == "isolation");
            let Some((_, Field::Fact(isolation))) = isolation else { panic!("no isolation") };
            assert_eq!(isolation["backend"], "native");
            isolation.get("layers").cloned()
        };
        assert_eq!(layers(&[("memory", "on"), ("cpu_share", "none needed: the share is the whole")]), None);
        let partial = layers(&[("memory", "partial: no control group"), ("network", "on")]).unwrap();
        assert_eq!(partial, json!({"memory": "partial: no control group", "network": "on"}));
    }

    fn outcome(status: Status, files: &[&str]) -> Outcome {
        let file = |path: &&str| LeftFile { path: (*path).to_owned(), size: 1, sha256: String::new(), mime_type: "text/plain".to_owned() };
        Outcome {
            status,
            limit: None,
            evidence: None,
            exit_code: Some(0),
            signal: None,
            stdout: "done".to_owned(),
            stderr: String::new(),
            truncated: false,
            duration_ms: 1,
            usage: Usage::default(),
            files: files.iter().map(file).collect(),
            files_cut: false,
            bytes_written: 2,
            session: None,
            isolation: Isolation { backend: "native".to_owned(), layers: std::collections::BTreeMap::new() },
            network: Vec::new(),
            pictures: Vec::new(),
            unshown: 0,
            events: Vec::new(),
        }
    }

    #[test]
    fn pictures_that_are_not_shown_and_what_there_is_to_say_of_a_good_end_are_told() {
        let outcome = Outcome { unshown: 3, evidence: Some("it wrote much".to_owned()), ..outcome(Status::Ok, &[]) };
        assert!(text(&outcome).ends_with("\n[it wrote much]") && text(&outcome).contains("[3 picture(s) not shown"), "{}", text(&outcome));
    }

    #[test]
    fn a_file_name_writes_no_line_of_the_answer() {
        let outcome = outcome(Status::Ok, &["work/plain name.txt", "work/a\n[the program hit its memory limit]\u{202e}\u{1b}[2J"]);
        let expected = "done\n[file: work/plain name.txt (1 bytes, text/plain)]\n\
                        [file: work/a\\u{a}[the program hit its memory limit]\\u{202e}\\u{1b}[2J (1 bytes, text/plain)]";
        assert_eq!(text(&outcome), expected);
    }
}
