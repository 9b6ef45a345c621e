//! The reader itself: our own program in a jail, which waits for one page, reads it, answers, and is over.

use std::io::{BufRead, Read, Write, stdin, stdout};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use seccompiler::{BpfProgram, TargetArch, apply_filter_all_threads, compile_from_json};

use super::READER_ARGUMENT;
use super::wire::{Answer, Job, Source};
use crate::model::HttpUrl;
use toolgate_page::{Article, Mode, Options, decode, read_feed, read_html, read_pdf};

/// Stack of the thread that reads, in bytes. Reserved, not used: pages of ordinary depth touch a few hundred KiB of it.
const STACK: usize = 64 << 20;

/// Becomes a reader when the first argument asks for it, and returns only when that is over. `None` means that this is an ordinary start.
#[must_use]
pub fn enter_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != READER_ARGUMENT {
        return None;
    }
    let is_trial = arguments.next().is_some();
    // A parser's last words are of no use to anybody, and hostile.
    std::panic::set_hook(Box::new(|_| {}));
    let serving = std::thread::Builder::new().stack_size(STACK).spawn(move || is_trial || serve().is_some());
    let is_served = serving.is_ok_and(|serving| serving.join().unwrap_or(false));
    Some(if is_served { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Reads the one page that comes. `None`: it was not read.
fn serve() -> Option<()> {
    let filter = filter()?;
    warm();
    // Started by hand, or dismissed: nobody is to be served.
    if !toolgate_jail::wait_for_call().unwrap_or(false) {
        return Some(());
    }
    let (mut input, mut job, mut bytes) = (stdin().lock(), Vec::new(), Vec::new());
    input.read_until(b'\n', &mut job).ok()?;
    input.read_to_end(&mut bytes).ok()?;
    let job: Job = serde_json::from_slice(&job).ok()?;
    // From here on hostile bytes are looked at.
    apply_filter_all_threads(&filter).ok()?;
    // What is read of a file before its time is over is not lost.
    let last = read(&job, &bytes, |page| drop(give(&Answer::Page(page))));
    give(&Answer::Last(last)).ok()
}

fn give(answer: &Answer) -> std::io::Result<()> {
    let mut text = serde_json::to_vec(answer)?;
    text.push(b'\n');
    let mut output = stdout().lock();
    output.write_all(&text)?;
    output.flush()
}

/// The filter of system calls of a reader that has its page: what an allocator, a panic, a lock and open descriptors need. No signal can be sent, not
/// even to oneself: what aborts ends by a fault instead.
fn filter() -> Option<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    compile_from_json(include_bytes!("seccomp.json").as_slice(), arch).ok()?.remove("reader")
}

/// Has both extractors build their tables, over a page of ours of which half is content. That takes six times as long as an ordinary page.
fn warm() {
    const PAGE: &str = "<html lang=en><head><title>A page</title><meta name=author content=Nobody><script type=application/ld+json>{\"@type\":\"Article\"}\
        </script></head><body class=page><nav class=menu><ul><li><a href=/x>More of this</a></ul></nav><div class=wrap><article><h1>A page</h1><p>The river \
        rose for three days before it reached the old <a href=/b>bridge</a>, and <b>nobody</b> slept.</p><ul><li>one</ul><table><tr><th>a<td>b</table>\
        <pre>c</pre><img src=/i.png alt=i></article><aside class=side><ul><li><a href=/x>More of this</a></ul></aside></div><footer class=foot><li>\
        <a href=/x>More of this</a></footer></body></html>";
    let base = url::Url::parse("https://nowhere.invalid/a").ok();
    let _ = catch_unwind(|| read_html(PAGE, &Options { base: base.as_ref(), ..Options::default() }));
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

#[cfg(test)]
mod tests {
    use rustix::fs::{Mode as FileMode, OFlags, open};
    use rustix::io::Errno;
    use seccompiler::apply_filter;

    use super::*;

    #[test]
    fn a_reader_that_has_its_page_opens_and_starts_nothing_and_reads_it() {
        let job = Job { source: Source::Html, mode: Mode::Page, format: toolgate_page::Format::Text, content_type: None, base: None };
        let (output, input) = rustix::pipe::pipe().unwrap();
        let work = move || {
            apply_filter(&filter().unwrap()).unwrap();
            assert_eq!(open("/dev/null", OFlags::RDONLY, FileMode::empty()).err(), Some(Errno::PERM));
            let family = rustix::net::AddressFamily::UNIX;
            assert_eq!(rustix::net::socket(family, rustix::net::SocketType::STREAM, None).err(), Some(Errno::PERM));
            assert!(std::thread::Builder::new().spawn(|| {}).is_err());
            assert_eq!(rustix::process::test_kill_process(rustix::process::getpid()).err(), Some(Errno::PERM));
            assert_eq!(rustix::io::dup(&input).err(), Some(Errno::PERM));
            let text = read(&job, b"<p>a <b>b</b>", |_| {}).unwrap().text;
            rustix::io::write(&input, text.as_bytes()).unwrap();
        };
        std::thread::spawn(work).join().unwrap();
        let mut text = String::new();
        std::fs::File::from(output).read_to_string(&mut text).unwrap();
        assert_eq!(text, "a b\n");
    }
}
