//! The reader itself: our own program, executed again with a hidden first argument.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use super::walls;
use super::wire::{Answer, Job, Source, give, take};
use crate::filter::reader::{Article, Mode, decode, read_feed, read_html, read_pdf};
use crate::model::HttpUrl;

/// The hidden first argument that makes our program a reader.
pub(super) const READER_ARGUMENT: &str = "__reader";
/// How a reader ends that could not put up its walls: it has read nothing.
pub(super) const UNWALLED: u8 = 71;

/// Becomes a reader when the first argument asks for it, and returns only when the server has closed its end.
///
/// `None` means that this is an ordinary start.
#[must_use]
pub fn enter_if_asked() -> Option<ExitCode> {
    let first = std::env::args_os().nth(1)?;
    (first == READER_ARGUMENT).then(serve)
}

fn serve() -> ExitCode {
    if crate::sandbox::jail::close_inherited().is_err() || walls::enclose().is_err() {
        return ExitCode::from(UNWALLED);
    }
    // A parser's last words are of no use to anybody, and hostile.
    std::panic::set_hook(Box::new(|_| {}));
    let reader = std::thread::Builder::new().name("reader".to_owned()).stack_size(STACK).spawn(|| {
        // From here on: after this no thread can be started any more.
        if walls::filter().is_err() {
            return ExitCode::from(UNWALLED);
        }
        read_all();
        ExitCode::SUCCESS
    });
    reader.ok().and_then(|reader| reader.join().ok()).unwrap_or(ExitCode::FAILURE)
}

fn read_all() {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    while let Ok(Some((job, bytes))) = take(&mut input) {
        walls::grant_time();
        let read = read(&job, &bytes);
        if give(&mut output, &Answer { read, spent: walls::has_grown() }).is_err() {
            return;
        }
    }
}

fn read(job: &Job, bytes: &[u8]) -> Result<Article, String> {
    let base = job.base.as_deref().and_then(|base| HttpUrl::parse(base).ok());
    let broken = || Err("its reader broke on it".to_owned());
    let attempt = |mode: Mode| {
        catch_unwind(AssertUnwindSafe(|| match job.source {
            Source::Html => Ok(read_html(&decode(bytes, job.content_type.as_deref()), base.as_ref(), mode)),
            Source::Feed => read_feed(bytes, base.as_ref()).ok_or_else(|| "it is no feed that can be read".to_owned()),
            Source::Pdf => read_pdf(bytes).map_err(str::to_owned),
        }))
    };
    match (attempt(job.mode), job.source) {
        (Ok(read), _) => read,
        // An extractor panicked: the page is read without one.
        (Err(_), Source::Html) => attempt(Mode::Page).unwrap_or_else(|_| broken()),
        (Err(_), _) => broken(),
    }
}

/// Reserved, not used: pages of ordinary depth touch a few hundred KiB of it.
const STACK: usize = 64 << 20;
