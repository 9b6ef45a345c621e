//! How fast pages are read, and how much of their content is found where labelled pages are at hand.
//!
//! `cargo bench --bench reader`; the pages are looked for in `$TOOLGATE_CASES/extract/pages.jsonl.gz`, else in a folder `shared/cases` above.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use toolgate_page::{Format, Options, read_html};
use url::Url;

fn main() {
    small_page();
    labelled_pages();
}

fn small_page() {
    let paragraph = "<p>The river rose for three days before it reached the old <a href=/b>bridge</a>, and nobody slept.</p>";
    let html = format!(
        "<html><head><title>Flood</title></head><body><nav><a href=/>Home</a></nav><main>{}</main></body></html>",
        paragraph.repeat(95)
    );
    let runs = 50;
    let began = Instant::now();
    let length: usize = (0..runs).map(|_| read_html(&html, &Options::default()).text.len()).sum();
    println!("a page of {} bytes: {:?} each, {} bytes of Markdown", html.len(), began.elapsed() / runs, length / 50);
}

fn labelled_pages() {
    let given = std::env::var_os("TOOLGATE_CASES").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared/cases"));
    let Some(file) = given.into_iter().chain(above).find_map(|folder| std::fs::File::open(folder.join("extract/pages.jsonl.gz")).ok())
    else {
        println!("no labelled pages; set TOOLGATE_CASES");
        return;
    };
    let (mut bytes, mut spent, mut slowest) = (0, Duration::ZERO, Duration::ZERO);
    let mut scores: HashMap<String, Vec<f64>> = HashMap::new();
    for line in BufReader::new(flate2::read::GzDecoder::new(file)).lines().map_while(Result::ok) {
        let Ok(page) = serde_json::from_str::<Value>(&line) else { continue };
        let text = |key: &str| page.get(key).and_then(Value::as_str).unwrap_or_default();
        let url = Url::parse(text("url")).ok();
        let began = Instant::now();
        let read = read_html(text("html"), &Options { base: url.as_ref(), format: Format::Text, ..Options::default() });
        let took = began.elapsed();
        bytes += text("html").len();
        spent += took;
        slowest = slowest.max(took);
        let score = f1(&words(&read.text), &words(text("expect")));
        scores.entry("all".to_owned()).or_default().push(score);
        scores.entry(text("type").to_owned()).or_default().push(score);
    }
    println!("{bytes} bytes in {spent:?}, slowest page {slowest:?}");
    let mut kinds: Vec<_> = scores.into_iter().collect();
    kinds.sort_by_key(|(_, scores)| std::cmp::Reverse(scores.len()));
    for (kind, scores) in kinds {
        println!("{kind:14} {:5} {:.3}", scores.len(), scores.iter().sum::<f64>() / f64::from(u32::try_from(scores.len()).unwrap_or(1)));
    }
}

fn words(text: &str) -> HashMap<String, u32> {
    let mut words = HashMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()) {
        *words.entry(word.to_lowercase()).or_default() += 1;
    }
    words
}

/// Harmonic mean of precision and recall over words as multisets.
fn f1(found: &HashMap<String, u32>, wanted: &HashMap<String, u32>) -> f64 {
    let size = |words: &HashMap<String, u32>| words.values().map(|count| f64::from(*count)).sum::<f64>();
    let same: f64 = found.iter().filter_map(|(word, count)| wanted.get(word).map(|other| f64::from(*count.min(other)))).sum();
    if same == 0.0 { 0.0 } else { 2.0 * same / (size(found) + size(wanted)) }
}
