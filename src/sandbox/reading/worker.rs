//! The reader itself: a fork of the nursery that reads one page, answers, and is over.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use seccompiler::BpfProgram;

use super::nursery::{NO_WALLS, keep_only};
use super::walls;
use super::wire::{Answer, Job, Source, give, take};
use crate::model::HttpUrl;
use toolgate_page::{Article, Mode, Options, decode, read_feed, read_html, read_pdf};

/// Reads the one page that comes over `channel`.
pub(super) fn serve(channel: OwnedFd, filter: &BpfProgram) -> ExitCode {
    if walls::tie().is_err() || keep_only(channel).is_err() || walls::put_on(filter).is_err() {
        return ExitCode::from(NO_WALLS);
    }
    let Ok(Some((job, bytes))) = take(&mut BufReader::with_capacity(BUFFER, Channel)) else { return ExitCode::FAILURE };
    let mut output = BufWriter::with_capacity(BUFFER, Channel);
    // What is read of a file before its time is over is not lost.
    let page = |page: Article| drop(give(&mut output, &Answer { read: Ok(page), more: true }));
    let read = read(&job, &bytes, page);
    let given = give(&mut output, &Answer { read, more: false });
    // What was built for the page goes with the process.
    std::mem::forget((job, bytes));
    if given.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The socket that stands at standard input.
#[derive(Debug)]
struct Channel;

impl Read for Channel {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(rustix::stdio::stdin(), into)?)
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(rustix::stdio::stdin(), bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn read(job: &Job, bytes: &[u8], mut page: impl FnMut(Article)) -> Result<Article, String> {
    let base = job.base.as_deref().and_then(|base| HttpUrl::parse(base).ok());
    let url = base.as_ref().map(HttpUrl::as_url);
    let broken = || Err("its reader broke on it".to_owned());
    let mut attempt = |mode: Mode| {
        let options = Options { base: url, mode, format: job.format };
        catch_unwind(AssertUnwindSafe(|| match job.source {
            Source::Html => Ok(read_html(&decode(bytes, job.content_type.as_deref()), &options)),
            Source::Feed => read_feed(bytes, &options).ok_or_else(|| "it is no feed that can be read".to_owned()),
            Source::Pdf => read_pdf(bytes, &mut page).map(|()| Article::default()).map_err(str::to_owned),
        }))
    };
    match (attempt(job.mode), job.source) {
        (Ok(read), _) => read,
        // An extractor panicked: the page is read without one.
        (Err(_), Source::Html) => attempt(Mode::Page).unwrap_or_else(|_| broken()),
        (Err(_), _) => broken(),
    }
}

const BUFFER: usize = 64 * 1024;
