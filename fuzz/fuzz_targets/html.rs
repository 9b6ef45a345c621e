//! Any bytes as a page: it is read, its links lead where links may lead, and its pieces make the whole again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate::filter::reader::{Mode, decode, slice, to_text};
use toolgate::filter::scan_html;
use toolgate::model::HttpUrl;
use toolgate::sandbox::reading::read_page;

fuzz_target!(|data: &[u8]| {
    let html = decode(data, None);
    let base = HttpUrl::parse("https://example.org/a/b").ok();
    for finding in scan_html(&html) {
        assert!(html.get(finding.start..finding.end).is_some_and(|span| !span.is_empty()));
    }
    for mode in [Mode::Article, Mode::Page] {
        let article = read_page(&html, base.as_ref(), mode);
        let _ = to_text(&article.markdown);
        let (mut from, mut whole) = (0, String::new());
        loop {
            let piece = slice(&article.markdown, from, 97);
            whole.push_str(piece.text);
            let Some(next) = piece.next else { break };
            assert!(next > from);
            from = next;
        }
        assert_eq!(whole, article.markdown);
    }
});
