//! Any bytes as a page: it is read, its links lead where links may lead, and its pieces make the whole again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate_page::{Format, Mode, Options, decode, hidden_words, read_html, slice};
use url::Url;

fuzz_target!(|data: &[u8]| {
    let html = decode(data, None);
    let base = Url::parse("https://example.org/a/b").ok();
    assert!(hidden_words(&html).len() <= 64 * 1024);
    for mode in [Mode::Article, Mode::Page] {
        let options = Options { base: base.as_ref(), mode, format: Format::Markdown };
        let _ = read_html(&html, &Options { format: Format::Text, ..options });
        let article = read_html(&html, &options);
        let (mut from, mut whole) = (0, String::new());
        loop {
            let piece = slice(&article.text, from, 97);
            whole.push_str(piece.text);
            let Some(next) = piece.next else { break };
            assert!(next > from);
            from = next;
        }
        assert_eq!(whole, article.text);
    }
});
