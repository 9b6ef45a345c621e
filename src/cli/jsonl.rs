//! One text or many, as JSON lines: what `lint`, `scan` and `extract` have in common.

#![expect(clippy::disallowed_methods, reason = "the command line is where a user's paths become files")]

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::run::Fault;

/// One text or many: a file, standard input, or JSON lines.
#[derive(Debug, Clone, Args)]
pub struct Input {
    /// The file; `-` reads standard input.
    #[arg(required_unless_present = "jsonl")]
    file: Option<PathBuf>,
    /// A file with one JSON object a line; each is answered with one. `-` reads standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub(super) jsonl: Option<PathBuf>,
}

impl Input {
    /// The one text, and its name.
    pub(super) fn whole(&self) -> Result<(String, Vec<u8>), Fault> {
        let file = self.file.as_deref().unwrap_or(Path::new("-"));
        let mut bytes = Vec::new();
        reader(file)?.read_to_end(&mut bytes)?;
        Ok((file.display().to_string(), bytes))
    }
}

/// A file by name, or standard input for `-`.
pub(super) fn reader(file: &Path) -> io::Result<Box<dyn BufRead>> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let opened = File::open(file).map_err(|fault| io::Error::new(fault.kind(), format!("`{}` cannot be read: {fault}", file.display())))?;
    Ok(Box::new(BufReader::new(opened)))
}

/// An object without the members that are null.
pub(super) fn without_nulls(mut object: Value) -> Value {
    object.as_object_mut().into_iter().for_each(|members| members.retain(|_, value| !value.is_null()));
    object
}

/// Answers every line of `input` that is a case. A line that is none is answered with `{"id","error"}` (the `id` where there is one), and the next
/// is read. Empty lines count for nothing. Gives the number of lines that were no case.
///
/// `form`: what a line must be, for the error.
///
/// # Errors
/// What reading or writing fails with.
pub fn each<Case: DeserializeOwned, Answer: Serialize>(
    input: impl BufRead,
    output: impl Write,
    form: &str,
    mut answer: impl FnMut(Case) -> Result<Answer, String>,
) -> io::Result<usize> {
    lines(input, output, |line| {
        let (id, read) = case(line, form);
        let (answer, error) = read.and_then(&mut answer).map_or_else(|error| (None, Some(error)), |answer| (Some(answer), None));
        let is_case = answer.is_some();
        (Answered { id, answer, error }, is_case)
    })
}

/// Answers every line of `input`, and says of each whether it was a case. Gives the number of those that were none.
///
/// # Errors
/// What reading or writing fails with.
pub(super) fn lines<Answer: Serialize>(
    input: impl BufRead,
    mut output: impl Write,
    mut answer: impl FnMut(&[u8]) -> (Answer, bool),
) -> io::Result<usize> {
    let mut faulty = 0;
    for line in input.split(b'\n') {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let (answer, is_case) = answer(&line);
        faulty += usize::from(!is_case);
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
    }
    output.flush()?;
    Ok(faulty)
}

#[derive(Serialize)]
struct Answered<Answer> {
    id: Value,
    #[serde(flatten)]
    answer: Option<Answer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

fn case<Case: DeserializeOwned>(line: &[u8], form: &str) -> (Value, Result<Case, String>) {
    match serde_json::from_slice::<Value>(line) {
        Ok(value) => {
            let id = value.get("id").cloned().unwrap_or_default();
            (id, serde_json::from_value(value).map_err(|fault| format!("the line is no case `{form}`: {fault}")))
        }
        Err(fault) => (Value::Null, Err(format!("the line is no JSON: {fault}"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(serde::Deserialize)]
    struct Number {
        n: u32,
    }

    #[test]
    fn a_bad_line_is_answered_and_the_next_one_is_read() {
        let input = "{\"id\":1,\"n\":2}\n\nno json\n{\"id\":3}\n{\"id\":4,\"n\":5}";
        let mut output = Vec::new();
        let double = |case: Number| Ok(json!({"n": case.n * 2}));
        assert_eq!(each(input.as_bytes(), &mut output, "{\"id\",\"n\"}", double).unwrap(), 2);
        let lines: Vec<Value> =
            output.split(|b| *b == b'\n').filter(|l| !l.is_empty()).map(|l| serde_json::from_slice(l).unwrap()).collect();
        assert_eq!((&lines[0], &lines[3]), (&json!({"id": 1, "n": 4}), &json!({"id": 4, "n": 10})));
        assert_eq!((&lines[1]["id"], &lines[2]["id"]), (&Value::Null, &json!(3)));
    }
}
