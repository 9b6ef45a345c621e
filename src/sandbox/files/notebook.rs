//! Notebooks (Jupyter, nbformat 4) as readable text: sources, text outputs, and pictures by their kind and size.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
struct Notebook {
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Cell {
    #[serde(rename = "cell_type")]
    kind: String,
    #[serde(default)]
    source: Text,
    #[serde(default)]
    outputs: Vec<Output>,
    #[serde(default)]
    execution_count: Option<u64>,
}

#[derive(Deserialize)]
struct Output {
    #[serde(rename = "output_type")]
    kind: String,
    #[serde(default)]
    text: Text,
    #[serde(default)]
    data: Map<String, Value>,
    #[serde(default)]
    ename: String,
    #[serde(default)]
    evalue: String,
    #[serde(default)]
    traceback: Vec<String>,
}

/// A text, or its lines with their ends.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    One(String),
    Lines(Vec<String>),
}

impl Default for Text {
    fn default() -> Self {
        Self::One(String::new())
    }
}

impl Text {
    fn joined(self) -> String {
        match self {
            Self::One(text) => text,
            Self::Lines(lines) => lines.concat(),
        }
    }
}

/// The cells of a notebook in order, each under a line that says what it is; none for what is no notebook.
pub(super) fn cells(bytes: &[u8]) -> Option<String> {
    let notebook: Notebook = serde_json::from_slice(bytes).ok()?;
    let mut out = String::new();
    for (number, cell) in (1..).zip(notebook.cells) {
        let run = cell.execution_count.map(|count| format!(", run {count}")).unwrap_or_default();
        let _ = writeln!(out, "[cell {number}: {}{run}]", one_line(&cell.kind));
        put(&mut out, &cell.source.joined());
        for output in cell.outputs {
            write_output(&mut out, output);
        }
        out.push('\n');
    }
    Some(out)
}

fn write_output(out: &mut String, output: Output) {
    let Output { kind, text, data, ename, evalue, traceback } = output;
    if kind == "error" {
        out.push_str("[error]\n");
        let told = if traceback.is_empty() { format!("{ename}: {evalue}") } else { traceback.join("\n") };
        return put(out, &told);
    }
    let text = text.joined();
    if !text.is_empty() {
        out.push_str("[output]\n");
        put(out, &text);
    }
    let shown = SHOWN.iter().find_map(|kind| Some((kind, data.get(*kind)?)));
    if let Some((_, value)) = shown {
        out.push_str("[output]\n");
        put(out, &text_of(value));
    }
    // HTML beside a plain form says the same again.
    let left_out = |kind: &str| !SHOWN.contains(&kind) && (shown.is_none() || !matches!(kind, "text/html" | "application/javascript"));
    for (kind, value) in data.iter().filter(|(kind, _)| left_out(kind)) {
        let _ = writeln!(out, "[output: {}, {} bytes, not shown]", one_line(kind), text_of(value).len());
    }
}

/// The forms of an output that are shown, the first that is there.
const SHOWN: [&str; 4] = ["text/plain", "text/markdown", "text/latex", "application/json"];

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) if lines.iter().all(Value::is_string) => lines.iter().filter_map(Value::as_str).collect(),
        other => other.to_string(),
    }
}

/// A text without the colours of terminals, ended by a line end.
fn put(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        let end = after.find(|c: char| !(c.is_ascii_digit() || c == ';'));
        rest = end.and_then(|end| after.get(end..)).map_or("", |rest| rest.strip_prefix(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest));
    }
    out.push_str(rest);
    if !out.ends_with('\n') {
        out.push('\n');
    }
}

/// A name of the notebook's own within a line of ours.
fn one_line(name: &str) -> String {
    name.chars().take(60).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_notebook_is_read_as_its_cells_and_pictures_are_named() {
        let notebook = json!({"nbformat": 4, "metadata": {}, "cells": [
            {"cell_type": "markdown", "source": ["# Apples\n", "of 2026"]},
            {"cell_type": "code", "execution_count": 3, "source": "print(1)\nplot()", "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
                {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo", "text/plain": ["<Figure>"], "text/html": "<b>"}},
                {"output_type": "execute_result", "data": {"text/html": ["<table>"]}},
                {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u{1b}[0;31mE\u{1b}[0m: v"]},
            ]},
            {"cell_type": "raw", "source": ""},
        ]});
        let expected = "[cell 1: markdown]\n# Apples\nof 2026\n\n[cell 2: code, run 3]\nprint(1)\nplot()\n[output]\n1\n[output]\n<Figure>\n\
                        [output: image/png, 11 bytes, not shown]\n[output: text/html, 7 bytes, not shown]\n[error]\nE: v\n\n[cell 3: raw]\n\n";
        assert_eq!(cells(notebook.to_string().as_bytes()).unwrap(), expected);
        for other in ["{}", "[]", "{\"cells\": 1}", "", "\u{1b}["] {
            assert_eq!(cells(other.as_bytes()), None);
        }
    }
}
