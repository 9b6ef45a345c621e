//! Where hostile pages are read: a thread of its own with a large stack, so that depth cannot end the server, a panic in a parser costs that
//! page alone, and a page that takes too long is left behind.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::filter::reader::{Article, Mode, read_html};
use crate::model::{Code, Failure, HttpUrl};

/// Reads a page and waits for it. Where an extractor panics, the page is read without one.
pub fn read_page(html: &str, base: Option<&HttpUrl>, mode: Mode) -> Article {
    let on_deep_stack = |mode| {
        std::thread::scope(|scope| {
            let reader = builder().spawn_scoped(scope, || read_html(html, base, mode));
            reader.ok().and_then(|reader| reader.join().ok())
        })
    };
    on_deep_stack(mode).or_else(|| on_deep_stack(Mode::Page)).unwrap_or_default()
}

/// Reads a page without holding up the others; after `patience` the answer is a failure, and the thread ends by its own bounds.
///
/// # Errors
/// `timeout`.
pub async fn read_page_within(html: String, base: Option<HttpUrl>, mode: Mode, patience: Duration) -> Result<Article, Failure> {
    let (done, waiting) = oneshot::channel();
    let started = builder().spawn(move || {
        // Nobody listens any more when the patience ran out.
        let _ = done.send(read_page(&html, base.as_ref(), mode));
    });
    let too_long =
        || Failure::new(Code::Timeout, "the page is too tangled to be read in time").hint("ask for `format` html, or for another page");
    if started.is_err() {
        return Err(Failure::new(Code::Internal, "no thread to read the page on"));
    }
    timeout(patience, waiting).await.map_err(|_| too_long())?.map_err(|_| too_long())
}

fn builder() -> std::thread::Builder {
    std::thread::Builder::new().name("reader".to_owned()).stack_size(STACK)
}

/// Reserved, not used: pages of ordinary depth touch a few hundred KiB of it.
const STACK: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_page_is_read_aside_and_its_patience_ends() {
        let read = read_page_within("<title>T</title><p>text".to_owned(), None, Mode::Article, Duration::from_mins(1)).await;
        assert_eq!(read.map(|article| (article.title, article.markdown)), Ok((Some("T".to_owned()), "text\n".to_owned())));
        let tangled = "<div>".repeat(500) + &"<p>word</p>".repeat(30_000);
        let left = read_page_within(tangled, None, Mode::Article, Duration::from_millis(1)).await;
        assert_eq!(left.map_err(|failure| failure.0.code), Err(Code::Timeout));
    }
}
