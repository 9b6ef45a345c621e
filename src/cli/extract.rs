//! `toolgate extract`: the reader alone, one page or one page a line.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};

use crate::filter::reader::{Article, Mode};
use crate::model::HttpUrl;
use crate::sandbox::reading::read_page;

/// Why reading a file of pages stopped.
#[derive(Debug, thiserror::Error)]
pub enum ExtractFault {
    /// A line is not the JSON object it should be.
    #[error("line {line}: {source}; each line is `{{\"id\", \"html\", \"url\"?}}`")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What the reader of JSON says.
        source: serde_json::Error,
    },
    /// Input or output failed.
    #[error("cannot read or write: {0}")]
    Io(#[from] io::Error),
}

#[derive(Deserialize)]
struct Page {
    id: serde_json::Value,
    html: String,
    #[serde(default)]
    url: Option<String>,
}

#[derive(Serialize)]
struct Line<'a> {
    id: &'a serde_json::Value,
    markdown: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: &'a Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    byline: &'a Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: &'a Option<String>,
}

/// Reads one page's main content. An address that is no URL only leaves relative links as they are.
pub fn extract(html: &str, url: Option<&str>) -> Article {
    let base = url.and_then(|url| HttpUrl::parse(url).ok());
    read_page(html, base.as_ref(), Mode::Article)
}

/// Reads `{"id","html","url"?}` a line and writes `{"id","markdown","title"?,"byline"?,"date"?}` a line, in the same order. Empty lines are skipped.
///
/// # Errors
/// The first line that is no such object, or a failed read or write; what came before is written.
pub fn extract_jsonl(input: impl BufRead, mut output: impl Write) -> Result<(), ExtractFault> {
    for (index, line) in input.lines().enumerate() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let page: Page = serde_json::from_str(&line).map_err(|source| ExtractFault::Line { line: index + 1, source })?;
        let article = extract(&page.html, page.url.as_deref());
        let Article { markdown, title, byline, date, .. } = &article;
        serde_json::to_writer(&mut output, &Line { id: &page.id, markdown, title, byline, date }).map_err(io::Error::from)?;
        output.write_all(b"\n")?;
    }
    output.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(input: &str) -> (Result<(), String>, String) {
        let mut output = Vec::new();
        let done = extract_jsonl(input.as_bytes(), &mut output).map_err(|fault| fault.to_string());
        (done, String::from_utf8(output).unwrap())
    }

    #[test]
    fn a_line_in_is_a_line_out_with_the_same_id() {
        let input = "{\"id\":7,\"html\":\"<title>T</title><p>a <a href=b>b</a>\",\"url\":\"https://a.example/x/\"}\n\n{\"id\":\"y\",\"html\":\"\",\"more\":1}\n";
        let output = "{\"id\":7,\"markdown\":\"a [b](https://a.example/x/b)\\n\",\"title\":\"T\"}\n{\"id\":\"y\",\"markdown\":\"\"}\n";
        assert_eq!(run(input), (Ok(()), output.to_owned()));
    }

    #[test]
    fn a_line_that_is_no_page_is_named() {
        let (done, output) = run("{\"id\":1,\"html\":\"a\"}\n{\"id\":2}\n");
        assert!(done.as_ref().is_err_and(|fault| fault.starts_with("line 2: missing field `html`")), "{done:?}");
        assert_eq!(output, "{\"id\":1,\"markdown\":\"a\\n\"}\n");
    }
}
