//! `toolgate extract`: the reader alone, one page or one page a line.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};

use super::jsonl;
use crate::filter::reader::{Article, Mode};
use crate::model::HttpUrl;
use crate::sandbox::reading::read_page;

#[derive(Deserialize)]
struct Page {
    id: serde_json::Value,
    html: String,
    #[serde(default)]
    url: Option<String>,
}

#[derive(Serialize)]
struct Line {
    id: serde_json::Value,
    markdown: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    byline: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
}

/// The longest line, in bytes.
const MAX_LINE: u64 = 64 << 20;

/// Reads one page's main content. An address that is no URL only leaves relative links as they are.
pub fn extract(html: &str, url: Option<&str>) -> Article {
    let base = url.and_then(|url| HttpUrl::parse(url).ok());
    read_page(html, base.as_ref(), Mode::Article)
}

/// Reads `{"id","html","url"?}` a line and writes `{"id","markdown","title"?,"byline"?,"date"?}` a line, in the same order. A line that is no such
/// object is answered with `{"id","error"}`. Gives the number of those.
///
/// # Errors
/// What reading or writing fails with.
pub fn extract_jsonl(input: impl BufRead, output: impl Write) -> io::Result<usize> {
    jsonl::each(input, output, MAX_LINE, "{\"id\",\"html\",\"url\"?}", |page: Page| {
        let Article { markdown, title, byline, date, .. } = extract(&page.html, page.url.as_deref());
        Line { id: page.id, markdown, title, byline, date }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(input: &str) -> (usize, String) {
        let mut output = Vec::new();
        let faulty = extract_jsonl(input.as_bytes(), &mut output).unwrap();
        (faulty, String::from_utf8(output).unwrap())
    }

    #[test]
    fn a_line_in_is_a_line_out_with_the_same_id() {
        let input = "{\"id\":7,\"html\":\"<title>T</title><p>a <a href=b>b</a>\",\"url\":\"https://a.example/x/\"}\n\n{\"id\":\"y\",\"html\":\"\",\"more\":1}\n";
        let output = "{\"id\":7,\"markdown\":\"a [b](https://a.example/x/b)\\n\",\"title\":\"T\"}\n{\"id\":\"y\",\"markdown\":\"\"}\n";
        assert_eq!(run(input), (0, output.to_owned()));
    }

    #[test]
    fn a_line_that_is_no_page_is_named_and_the_next_is_read() {
        let (faulty, output) = run("{\"id\":2}\n{\"id\":1,\"html\":\"a\"}\n");
        assert_eq!(faulty, 1);
        let lines: Vec<&str> = output.lines().collect();
        assert!(lines[0].contains("missing field `html`") && lines[0].contains("\"id\":2"), "{output}");
        assert_eq!(lines[1], "{\"id\":1,\"markdown\":\"a\\n\"}");
    }
}
