//! `toolgate extract`: the reader alone, one page or one page a line, in the same walled process as the server's.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::jsonl::{self, Input, reader};
use super::run::{End, Fault, Report};
use crate::sandbox::pages::{Job, Readers, Source};
use crate::sandbox::programs::Client;
use toolgate_page::{Article, Format, Kind, Mode, kind_of};

#[derive(Deserialize)]
struct Page {
    html: String,
    #[serde(default)]
    url: Option<String>,
}

/// How long one page may take; slow machines and large pages included.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run(input: &Input, out: &mut dyn Write) -> Result<Report, Fault> {
    let readers = Readers::new(Arc::new(Client::new("/proc/self/exe".into())));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let read = |source: Source, content_type: Option<String>, base: Option<String>, bytes: &[u8]| {
        let job = Job { source, mode: Mode::Article, format: Format::Markdown, content_type, base };
        runtime.block_on(readers.read(&job, bytes, PATIENCE)).map_err(|failure| failure.0.message)
    };
    if let Some(lines) = &input.jsonl {
        // A page that ends its reader has an empty `markdown` and an `error`. An address that is no URL leaves relative links as they are.
        let faulty = jsonl::each(reader(lines)?, out, "{\"id\",\"html\",\"url\"?}", |page: Page| {
            let read = read(Source::Html, Some("text/html; charset=utf-8".to_owned()), page.url, page.html.as_bytes());
            Ok(jsonl::without_nulls(read.map_or_else(|why| json!({"markdown": "", "error": why}), |article| facts(&article))))
        })?;
        return Ok(End::of(faulty == 0).into());
    }
    let (name, bytes) = input.whole()?;
    // A file is told by what it begins with.
    let source = match [None, Some("application/xml"), Some("application/json")].map(|named| kind_of(named, &bytes)) {
        [Kind::Pdf, ..] => Source::Pdf,
        kinds if kinds.contains(&Kind::Feed) => Source::Feed,
        _ => Source::Html,
    };
    match read(source, None, None, &bytes) {
        Ok(article) => Ok(Report { json: facts(&article), text: article.text, end: End::Done }),
        Err(why) => Err(Fault::Negative(format!("{name}: {why}"))),
    }
}

/// The facts about an article; of those that it lacks, null.
fn facts(article: &Article) -> Value {
    json!({"markdown": article.text, "title": article.title, "byline": article.byline, "date": article.date})
}
