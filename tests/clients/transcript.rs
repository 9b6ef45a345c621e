//! A day as a person reads it, the same on every machine.

use std::fmt::Write as _;

use serde_json::Value;

/// Lines of an answer that are shown, and characters of a line.
const LINES: usize = 14;
const WIDE: usize = 140;

const HEAD: &str = "# A day of work\n\n\
    A client that reads only what the server tells it works through the task below, on a small project with the manifest that \
    `toolgate init` wrote. Written by the test `a_day_of_work_goes_through` (`tests/clients/day.rs`), which fails when the day goes otherwise; \
    `UPDATE_A_DAY=1 cargo test --test clients a_day` writes it anew. Times, digests, codes and the size of pictures are left out, and long answers are cut.\n\n\
    ```\ntoolgate init --yes --interpreter ENVIRONMENT/bin/python --import pandas --import matplotlib --allow http://127.0.0.1:8080\n\
    toolgate install claude-code --write\n```\n";

/// The day as Markdown. `home`: the folder that it was spent in.
pub(crate) fn transcript(day: &Value, home: &str) -> String {
    let steps = day["steps"].as_array().unwrap();
    let asked: usize = steps.iter().map(|step| step["questions"].as_array().unwrap().len()).sum();
    let mut page = HEAD.to_owned();
    let told = |name: &str| plain(day["told"][name].as_str().unwrap(), home);
    let _ = write!(
        page,
        "\n## The task\n\n{}\n## What it is told at first\n\n{}\n",
        quoted(&told("the task")),
        quoted(&told("the instructions"))
    );
    let _ = write!(page, "\nand the list of its tools.\n\n## The day: {} steps, {asked} questions, no refusal\n", steps.len());
    for (at, step) in steps.iter().enumerate() {
        let _ = write!(page, "\n### {}. {}\n\n`{}`", at + 1, step["aim"].as_str().unwrap(), plain(&request(step), home));
        let mut sources: Vec<&str> =
            step["sources"].as_object().unwrap().values().filter_map(Value::as_str).flat_map(|all| all.split(" and ")).collect();
        sources.sort_unstable();
        sources.dedup();
        if !sources.is_empty() {
            let _ = write!(page, " (told by {})", sources.join(", "));
        }
        page.push_str("\n\n");
        for question in step["questions"].as_array().unwrap() {
            let _ = write!(page, "The person is asked:\n\n{}", quoted(&plain(question["message"].as_str().unwrap(), home)));
            let pick = &question["pick"];
            let choices = question["choices"].as_object().unwrap().iter().map(|(value, title)| {
                let title = title.as_str().unwrap();
                if value == pick.as_str().unwrap() { format!("**{title}**") } else { title.to_owned() }
            });
            let _ = write!(page, ">\n> {}\n\n", choices.collect::<Vec<_>>().join(" · "));
        }
        let _ = write!(page, "```text\n{}```\n", shortened(&plain(step["text"].as_str().unwrap(), home)));
        for picture in step["pictures"].as_array().unwrap() {
            let _ = write!(page, "\nand a picture ({})\n", picture[0].as_str().unwrap());
        }
    }
    page
}

/// A call in one line.
fn request(step: &Value) -> String {
    let arguments = step["arguments"].as_object().unwrap().iter().map(|(name, value)| match (name.as_str(), value) {
        ("edits", Value::Array(edits)) => format!("edits=[{}]", edits.len()),
        (_, Value::String(text)) if text.contains('\n') => format!("{name}=({} lines)", text.lines().count()),
        _ => format!("{name}={value}"),
    });
    let line = std::iter::once(step["tool"].as_str().unwrap().to_owned()).chain(arguments).collect::<Vec<_>>().join(" ");
    cut(&line.replace('`', "'"))
}

fn quoted(text: &str) -> String {
    text.trim_end().lines().fold(String::new(), |page, line| page + format!("> {}", line.trim_end()).trim_end() + "\n")
}

fn shortened(text: &str) -> String {
    let lines: Vec<&str> = text.trim_matches('\n').lines().collect();
    let shown = if lines.len() > LINES + 1 { LINES } else { lines.len() };
    let mut short = lines.iter().take(shown).fold(String::new(), |page, line| page + cut(line).trim_end() + "\n");
    if lines.len() > shown {
        let _ = writeln!(short, "… ({} more lines)", lines.len() - shown);
    }
    short
}

fn cut(line: &str) -> String {
    if line.chars().count() <= WIDE { line.to_owned() } else { line.chars().take(WIDE).collect::<String>() + " …" }
}

/// A text without what differs from day to day.
fn plain(text: &str, home: &str) -> String {
    const PATTERNS: [(&str, &str); 10] = [
        (r"127\.0\.0\.1:\d+", "127.0.0.1:8080"),
        (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
        (r"sha256 [0-9a-f]{64}", "sha256 …"),
        (r"changed \d+ \w+ ago", "changed just now"),
        (r"c_[0-9a-f]{20}", "c_…"),
        (r"in \d+\.\d+s", "in 0.0s"),
        (r"(?m)^code: \S{4}$", "code: ABCD"),
        (r"(\.png[^\n]{0,20}?)\d[\d.]* (?:KiB|bytes)", "${1}N bytes"),
        (r"(\.mcp\.json  )\d+ B", "${1}N bytes"),
        (r"mode \d{4}", "mode 0644"),
    ];
    let text = text.replace(home.trim_end_matches('/'), "HOME");
    PATTERNS.iter().fold(text, |text, (pattern, with)| regex::Regex::new(pattern).unwrap().replace_all(&text, *with).into_owned())
}
