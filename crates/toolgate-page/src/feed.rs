//! RSS, Atom and JSON feeds as Markdown: what is new somewhere, newest as the feed has it.

use std::borrow::Cow;

use feed_rs::model::{Entry, Text};
use url::Url;

use super::marked::escaped;
use super::write::Notes;
use super::{Article, Format, Mode, Options, read_html, read_part};

/// Reads a feed, all of it whatever the mode. `None` for what is no feed.
///
/// Each entry is a heading that links to it, its date and authors, and its text; the markup in it is read like a page's.
pub fn read_feed(bytes: &[u8], options: &Options<'_>) -> Option<Article> {
    let options = Options { mode: Mode::Page, ..*options };
    let parser = feed_rs::parser::Builder::new().base_uri(options.base.map(Url::as_str)).build();
    let (kept, dropped) = first_entries(bytes);
    let feed = parser.parse(kept.as_ref()).ok()?;
    let title = feed.title.as_ref().map(line_of).filter(|title| !title.is_empty());
    let mut article = Article { title: title.clone(), ..Article::default() };
    let mut notes = Notes::default();
    let line = |text: Option<String>| escaped(&text.unwrap_or_default());
    let head = format!("<h1>{}</h1><p>{}</p>", line(title), line(feed.description.as_ref().map(line_of)));
    let mut add = |article: &mut Article, markup: &str, deeper| {
        let read = read_part(markup, &options, deeper, &mut notes);
        let is_first = article.text.is_empty() || read.text.is_empty();
        article.text.extend([if is_first { "" } else { "\n" }, &read.text]);
        if article.hidden.len() < 16 * 1024 {
            article.hidden.push_str(&read.hidden);
        }
    };
    add(&mut article, &head, 0);
    for entry in feed.entries.iter().take(MOST_ENTRIES) {
        add(&mut article, &head_of(entry, options.base), 0);
        let content = entry.content.as_ref().and_then(|content| content.body.as_deref());
        // Headings of an entry's own stand below its title.
        add(&mut article, content.or(entry.summary.as_ref().map(|summary| summary.content.as_str())).unwrap_or_default(), 2);
        if article.text.len() > MOST_TEXT {
            break;
        }
    }
    article.truncated = dropped || feed.entries.len() > MOST_ENTRIES || article.text.len() > MOST_TEXT;
    article.date = feed.updated.or(feed.published).map(|date| date.format("%Y-%m-%d").to_string());
    notes.write(&mut article.text);
    Some(article)
}

/// A feed in XML without the entries that would not be shown, and whether there were such: the parser takes its time over each.
fn first_entries(bytes: &[u8]) -> (Cow<'_, [u8]>, bool) {
    let ends = |name: &[u8]| {
        let mut ends = bytes.windows(name.len()).enumerate().filter(|(_, at)| *at == name).map(|(at, _)| at + name.len());
        let first = ends.by_ref().nth(MOST_ENTRIES);
        first.map(|first| (first, ends.next_back().unwrap_or(first)))
    };
    match ends(b"</item>").or_else(|| ends(b"</entry>")) {
        Some((first, last)) if first < last => {
            let (head, tail) = (bytes.get(..first).unwrap_or_default(), bytes.get(last..).unwrap_or_default());
            (Cow::Owned([head, tail].concat()), true)
        }
        _ => (Cow::Borrowed(bytes), false),
    }
}

/// An entry's title with its link, its date and its authors, as markup.
fn head_of(entry: &Entry, base: Option<&Url>) -> String {
    let title = entry.title.as_ref().map_or_else(|| "(no title)".to_owned(), line_of);
    let link = entry
        .links
        .iter()
        .find(|link| link.rel.as_deref().is_none_or(|rel| rel == "alternate"))
        .and_then(|link| Url::options().base_url(base).parse(&link.href).ok());
    let date = entry.published.or(entry.updated).map(|date| date.format("%Y-%m-%d").to_string());
    let authors = entry.authors.iter().filter_map(|author| author.name.as_deref()).map(plain).collect::<Vec<_>>().join(", ");
    let facts: Vec<String> = date.into_iter().chain((!authors.is_empty()).then_some(authors)).collect();
    let href = link.map_or_else(String::new, |link| format!(" href=\"{}\"", escaped(link.as_str())));
    format!("<h2><a{href}>{}</a></h2><p>{}</p>", escaped(&title), escaped(&facts.join(" · ")))
}

/// A title or a description as one line without markup.
fn line_of(text: &Text) -> String {
    let options = Options { mode: Mode::Page, format: Format::Text, ..Options::default() };
    if text.content.contains(['<', '&']) { plain(&read_html(&text.content, &options).text) } else { plain(&text.content) }
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Entries of one feed that are read; those that announce more hold whole archives.
const MOST_ENTRIES: usize = 200;

/// Bytes of Markdown after which no further entry is read.
const MOST_TEXT: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(feed: &str) -> Option<Article> {
        read_feed(feed.as_bytes(), &Options { base: Url::parse("https://a.example/feed").ok().as_ref(), ..Options::default() })
    }

    #[test]
    fn the_three_kinds_of_feeds_come_out_alike() {
        let rss = "<?xml version='1.0'?><rss version='2.0'><channel><title>News &amp; more</title><link>https://a.example/</link><description>Daily</description><item><title>One [1]</title><link>/one</link><pubDate>Mon, 06 May 2024 07:08:09 GMT</pubDate><description>&lt;p&gt;It &lt;b&gt;rose&lt;/b&gt;, see &lt;a href='/x'&gt;here&lt;/a&gt;.&lt;script&gt;x&lt;/script&gt;</description></item></channel></rss>";
        let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><title>News &amp; more</title><subtitle>Daily</subtitle><id>i</id><updated>2024-05-06T07:08:09Z</updated><entry><title>One [1]</title><id>e</id><link href='https://a.example/one'/><published>2024-05-06T07:08:09Z</published><updated>2024-05-06T07:08:09Z</updated><content type='html'>&lt;p&gt;It &lt;b&gt;rose&lt;/b&gt;, see &lt;a href='/x'&gt;here&lt;/a&gt;.</content></entry></feed>";
        let json = r#"{"version":"https://jsonfeed.org/version/1.1","title":"News & more","description":"Daily","items":[{"id":"1","url":"https://a.example/one","title":"One [1]","date_published":"2024-05-06T07:08:09Z","content_html":"<p>It <b>rose</b>, see <a href='/x'>here</a>."}]}"#;
        let expected = "# News & more\n\nDaily\n\n## [One \\[1\\]](https://a.example/one)\n\n2024-05-06\n\nIt **rose**, see [here](https://a.example/x).\n";
        for feed in [rss, atom, json] {
            let read = read(feed).unwrap();
            assert_eq!((read.title.as_deref(), read.text.as_str()), (Some("News & more"), expected), "{feed}");
        }
    }

    #[test]
    fn no_feed_and_hostile_feeds_are_no_trouble() {
        for text in ["", "<html>", "{}", "<rss>", "plain"] {
            assert!(read(text).is_none_or(|article| article.text.trim().is_empty()), "{text}");
        }
        let bomb = "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;&a;'>]><rss version='2.0'><channel><title>&b;</title></channel></rss>";
        assert!(read(bomb).is_none_or(|article| !article.text.contains("aaaa")));
        let many = format!("<rss version='2.0'><channel><title>t</title>{}</channel></rss>", "<item><title>i</title></item>".repeat(1000));
        let read = read(&many).unwrap();
        assert_eq!((read.text.matches("## i").count(), read.truncated), (200, true));
        let huge =
            format!("<rss version='2.0'><channel><title>t</title>{}<b/></channel></rss>", "<item><title>i</title></item>".repeat(60_000));
        let read = super::read_feed(huge.as_bytes(), &Options::default()).unwrap();
        assert_eq!((read.text.matches("## i").count(), read.truncated), (200, true));
        let link =
            "<rss version='2.0'><channel><title>t</title><item><title>i</title><link>javascript:alert(1)</link></item></channel></rss>";
        assert!(!super::read_feed(link.as_bytes(), &Options::default()).unwrap().text.contains("javascript"));
    }
}
