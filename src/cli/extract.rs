//! `toolgate extract`: the reader alone, one page or one page a line, in the same walled process as the server's.

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::jsonl::{self, Input, reader};
use super::run::{End, Fault, Report};
use crate::filter::escape;
use crate::sandbox::pages::{Job, Readers, Source};
use crate::sandbox::programs::Client;
use toolgate_page::{Article, Format, Kind, Mode, kind_of};

#[derive(Deserialize)]
struct Page {
    html: String,
    #[serde(default)]
    url: Option<String>,
}

/// The longest line, in bytes.
const MAX_LINE: u64 = 64 << 20;

/// How long one page may take; slow machines and large pages included.
const PATIENCE: Duration = Duration::from_secs(30);

/// Run the reader alone: HTML to Markdown.
#[derive(Debug, Args)]
pub struct Extract {
    #[command(flatten)]
    input: Input,
}

pub(super) fn run(Extract { input }: &Extract, out: &mut dyn Write) -> Result<Report, Fault> {
    let extractor = Extractor::new()?;
    if let Some(lines) = &input.jsonl {
        return Ok(End::of(extractor.lines(reader(lines)?, out)? == 0).into());
    }
    let (name, bytes) = input.whole()?;
    match extractor.file(&bytes) {
        Ok(article) => Ok(Report { json: facts(&article), text: article.text, end: End::Done }),
        Err(why) => {
            writeln!(io::stderr(), "toolgate: {}: {}", escape(&name), escape(&why))?;
            Ok(End::Negative.into())
        }
    }
}

/// The facts about an article; of those that it lacks, null.
fn facts(article: &Article) -> Value {
    json!({"markdown": article.text, "title": article.title, "byline": article.byline, "date": article.date})
}

/// The readers of one command.
#[derive(Debug)]
struct Extractor {
    readers: Readers,
    runtime: tokio::runtime::Runtime,
}

impl Extractor {
    /// Readers that are not running yet.
    ///
    /// # Errors
    /// What a runtime cannot be built for.
    fn new() -> io::Result<Self> {
        let client = Arc::new(Client::new("/proc/self/exe".into()));
        Ok(Self { readers: Readers::new(client), runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()? })
    }

    /// Reads a file's main content: a page, a feed or a PDF file, told by what it begins with.
    ///
    /// # Errors
    /// A sentence: why it cannot be read.
    fn file(&self, bytes: &[u8]) -> Result<Article, String> {
        let source = match [None, Some("application/xml"), Some("application/json")].map(|named| kind_of(named, bytes)) {
            [Kind::Pdf, ..] => Source::Pdf,
            kinds if kinds.contains(&Kind::Feed) => Source::Feed,
            _ => Source::Html,
        };
        self.read(source, None, None, bytes)
    }

    fn read(&self, source: Source, content_type: Option<&str>, url: Option<&str>, bytes: &[u8]) -> Result<Article, String> {
        let (content_type, base) = (content_type.map(str::to_owned), url.map(str::to_owned));
        let job = Job { source, mode: Mode::Article, format: Format::Markdown, content_type, base };
        self.runtime.block_on(self.readers.read(&job, bytes, PATIENCE)).map_err(|failure| failure.0.message)
    }

    /// Reads `{"id","html","url"?}` a line and writes `{"id","markdown","title"?,"byline"?,"date"?}` a line, in the same order; a page that ends its
    /// reader has an empty `markdown` and an `error`. An address that is no URL only leaves relative links as they are. A line that is no such object
    /// is answered with `{"id","error"}`. Gives the number of those.
    ///
    /// # Errors
    /// What reading or writing fails with.
    fn lines(&self, input: impl BufRead, output: impl Write) -> io::Result<usize> {
        jsonl::each(input, output, MAX_LINE, "{\"id\",\"html\",\"url\"?}", |page: Page| {
            let read = self.read(Source::Html, Some("text/html; charset=utf-8"), page.url.as_deref(), page.html.as_bytes());
            let (article, error) = read.map_or_else(|why| (Article::default(), Some(why)), |article| (article, None));
            let mut line = facts(&article);
            if let Some(line) = line.as_object_mut() {
                line.insert("error".to_owned(), json!(error));
                line.retain(|_, value| !value.is_null());
            }
            Ok(line)
        })
    }
}
