//! How `fetch` shows what came back: by what it is, in the form that was asked for, a piece at a time.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::answer::{heavy, known, names, with_folders};
use crate::filter::masked::{secrets_in, secrets_in_any_encoding, with_masks};
use crate::gate::Terms;
use crate::model::{Block, Bytes, Code, Failure, Fetch, Format, Links, Origin, Output};
use crate::sandbox::Sandbox;
use crate::sandbox::files::Written;
use crate::sandbox::pages::{Job, Source};
use crate::sandbox::web::Page;
use toolgate_page::{self as reader, Article, Kind, Mode};

/// The answer of a fetch whose body went into a file. `hides`: the manifest masks secrets; the digest of a content that is known but for a short
/// secret would tell the secret.
pub(super) fn saved(page: &Page, written: &Written, hides: bool) -> Output {
    let secrets = if hides { secrets_in_any_encoding(&page.body) } else { Vec::new() };
    let masked = if secrets.is_empty() { "" } else { ", with secrets that are masked where it is read" };
    let folders = with_folders(&written.folders);
    let text = format!("`{}` holds the {} bytes of {}{masked}{folders}", written.target, written.size, page.final_url.origin());
    let sha256 = written.sha256.as_ref().filter(|_| secrets.is_empty());
    let mut facts = facts(page);
    facts.extend(known(json!({"folders": names(&written.folders), "saved_to": written.target.to_string(), "sha256": sha256})));
    Output { bytes_written: written.size, ..with_facts(Output::text(text), facts) }
}

/// The answer of a fetch whose body is shown.
/// `left`: what is left of the call's time. The reader has a share of it, so that what it has read by then is still answered.
/// # Errors  `unreadable`, `response_too_large`, `timeout`, `sandbox_unavailable`.
pub(super) async fn shown(sandbox: &Sandbox, action: &Fetch, page: &Page, terms: &Terms, left: Duration) -> Result<Output, Failure> {
    if action.method == "HEAD" || page.body.is_empty() {
        return Ok(head_of(page));
    }
    let kind = reader::kind_of(page.content_type.as_deref(), &page.body);
    let read = async |source| {
        let format = match (action.format, action.links) {
            (Format::Text, _) => reader::Format::Text,
            (_, Links::Footnotes) => reader::Format::Footnotes,
            (_, Links::Inline) => reader::Format::Markdown,
        };
        let base = Some(page.final_url.as_str().to_owned());
        let job = Job { source, mode: Mode::Article, format, content_type: page.content_type.clone(), base };
        sandbox.readers.read(&job, &page.body, left * 3 / 4).await
    };
    let article = match (action.format, kind) {
        (Format::Markdown | Format::Text, Kind::Html) => Some(read(Source::Html).await?),
        (Format::Markdown | Format::Text, Kind::Pdf) => {
            whole(page, "PDF file")?;
            Some(read(Source::Pdf).await?)
        }
        // What calls itself a feed and is none is still a text.
        (Format::Markdown | Format::Text, Kind::Feed) => match read(Source::Feed).await {
            Err(failure) if failure.0.code == Code::Unreadable => None,
            read => Some(read?),
        },
        _ => None,
    };
    let hides = terms.manifest.filters.hides_secrets();
    heavy(page.body.len() > SMALL, || as_asked(action, page, kind, article, terms.max_answer, hides))
}

/// Pages up to this size are put into form where they are; larger ones keep no other call waiting.
const SMALL: usize = 16 * 1024;

/// The largest picture that is shown, in bytes; models take up to 5 MB in base64.
const PICTURE: usize = 3 << 20;

/// `hides`: the manifest masks secrets.
fn as_asked(action: &Fetch, page: &Page, kind: Kind, article: Option<Article>, most: Bytes, hides: bool) -> Result<Output, Failure> {
    let mut facts = facts(page);
    if let Some(article) = article {
        let [title, byline, date] =
            [&article.title, &article.byline, &article.date].map(|value| value.as_deref().map(|value| without_sent(page, value)));
        facts.extend(known(json!({"title": title, "byline": byline, "date": date, "truncated": article.truncated.then_some(true)})));
        let unseen = without_sent(page, &article.hidden).into_owned();
        let missing = match kind {
            Kind::Pdf if article.truncated => Some("[parts of the file could not be read, or not in time; their text is missing]"),
            _ if article.truncated => Some("[the page is larger than what is read of one page; its end is missing]"),
            _ if article.scripted => Some(
                "[the page shows its text by scripts, which are not run: this is all it says without them; `format` html gives its source, \
                 which may hold the text as data]",
            ),
            _ => None,
        };
        return Ok(Output { unseen, ..page_of(action, page, &article.text, most, missing, hides, facts) });
    }
    let decoded = || reader::decode(&page.body, page.content_type.as_deref());
    let text = match (action.format, kind) {
        (Format::Json, Kind::Picture(_) | Kind::Pdf | Kind::Binary) => return Err(no_json(page)),
        (Format::Json, _) => {
            whole(page, "JSON")?;
            reader::pretty_json(&decoded()).ok_or_else(|| no_json(page))?
        }
        (_, Kind::Picture(mime_type)) => return picture(page, mime_type, facts),
        (_, Kind::Pdf | Kind::Binary) => {
            let kind = named(page).map_or_else(|| "an unnamed type".to_owned(), |kind| format!("`{kind}`"));
            let text = format!("The answer is {} bytes of {kind}, which is not shown; fetch it with save_to to keep it.", page.body.len());
            return Ok(with_facts(Output::text(text), facts));
        }
        (Format::Markdown | Format::Text, Kind::Json) => reader::pretty_json(&decoded()).unwrap_or_else(decoded),
        _ => decoded(),
    };
    let unseen = if kind == Kind::Html { reader::hidden_words(&text) } else { String::new() };
    Ok(Output { unseen, ..page_of(action, page, &text, most, None, hides, facts) })
}

fn head_of(page: &Page) -> Output {
    let mut text = format!("HTTP {}", page.status);
    for (name, value) in &page.headers {
        let _ = write!(text, "\n{name}: {value}");
    }
    let mut blocks = vec![Block::text(text, Origin::Page)];
    blocks.extend(note_of_status(page).filter(|_| page.status < 400).map(|text| Block::text(text, Origin::Own)));
    with_facts(Output { blocks, ..Output::default() }, facts(page))
}

/// What the status of an answer says that is not the page that was asked for. A redirect with a place to go was followed.
fn note_of_status(page: &Page) -> Option<String> {
    match page.status {
        301 | 302 | 303 | 307 | 308 => {
            Some(format!("[the server answered HTTP {} without saying where to go on (no Location)]", page.status))
        }
        400.. => Some(format!("[the server answered HTTP {}]", page.status)),
        _ => None,
    }
}

fn picture(page: &Page, mime_type: &str, facts: Map<String, Value>) -> Result<Output, Failure> {
    whole(page, "picture")?;
    if page.body.len() > PICTURE {
        let message = format!("the picture has {}; pictures up to {} are shown", Bytes(page.body.len() as u64), Bytes(PICTURE as u64));
        return Err(Failure::new(Code::ResponseTooLarge, message).hint("keep it with `save_to`"));
    }
    let picture = Block::Image { data: page.body.clone(), mime_type: mime_type.to_owned() };
    Ok(with_facts(Output { blocks: vec![picture], ..Output::default() }, facts))
}

/// The media type that the server names, where it has the form of one: these sentences of ours must not hold a sentence of its own.
fn named(page: &Page) -> Option<String> {
    let named = page.content_type.as_deref()?.split(';').next()?.trim().to_ascii_lowercase();
    let (kind, below) = named.split_once('/')?;
    let is_kind = matches!(kind, "application" | "audio" | "font" | "image" | "message" | "model" | "multipart" | "text" | "video");
    let is_plain = below.len() <= 80 && below.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-".contains(&byte));
    (is_kind && is_plain && !below.is_empty()).then_some(named)
}

/// Some contents mean nothing when their end is missing.
fn whole(page: &Page, what: &str) -> Result<(), Failure> {
    if page.truncated {
        let message = format!("the {what} is larger than the {} that were read of it", Bytes(page.body.len() as u64));
        return Err(Failure::new(Code::ResponseTooLarge, message).hint("`network.max_response` limits what is read of one response"));
    }
    Ok(())
}

fn no_json(page: &Page) -> Failure {
    let named = named(page).map_or_else(String::new, |named| format!(", `{named}`,"));
    let message = format!("`{}` answered HTTP {}{named} with no JSON, or JSON nested too deep", page.final_url.origin(), page.status);
    Failure::new(Code::Unreadable, message).hint("ask with `format` markdown or html")
}

/// The text that pieces are cut from. Where only a part of it is shown its secrets are masked first, so that none is shown by halves; those
/// of a whole text are the filter's.
fn masked<'t>(action: &Fetch, text: &'t str, most: Bytes, hides: bool) -> (Cow<'t, str>, Vec<(Range<usize>, &'static str)>) {
    let is_whole = action.start_index == 0 && action.max_length.is_none() && text.len() <= most.as_usize();
    let secrets = if hides && !is_whole { secrets_in(text.as_bytes()) } else { Vec::new() };
    if secrets.is_empty() {
        return (Cow::Borrowed(text), Vec::new());
    }
    let (shown, masks) = with_masks(text.as_bytes(), &secrets);
    let masks = masks.into_iter().zip(secrets.iter().map(|secret| secret.name)).collect();
    (Cow::Owned(String::from_utf8_lossy(&shown).into_owned()), masks)
}

/// A text without the secrets that the request sent: what a decoder or a reader has put together may be one.
fn without_sent<'t>(page: &Page, text: &'t str) -> Cow<'t, str> {
    if page.secrets.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(page.secrets.mask_text(text)) }
}

/// The asked piece of a text, with how to go on. `missing` says what the text lacks.
fn page_of(
    action: &Fetch,
    page: &Page,
    text: &str,
    most: Bytes,
    missing: Option<&str>,
    hides: bool,
    mut facts: Map<String, Value>,
) -> Output {
    let text = without_sent(page, text);
    let (text, masks) = masked(action, &text, most, hides);
    // A character has at most four bytes in UTF-8, but most have one; the cut below holds the bound in bytes.
    let length = action.max_length.map_or(most.as_usize(), |asked| usize::try_from(asked).unwrap_or(usize::MAX).min(most.as_usize()));
    let start = usize::try_from(action.start_index).unwrap_or(usize::MAX);
    let mut piece = reader::slice(&text, start, length);
    while piece.text.len() > most.as_usize() {
        let shorter = piece.text.chars().count() * most.as_usize() / piece.text.len().max(1);
        piece = reader::slice(&text, start, shorter.max(1));
    }
    let is_cut = piece.next.is_some() || page.truncated || facts.contains_key("truncated");
    let start_index = start.min(piece.total);
    facts.extend(known(json!({"start_index": start_index, "total_length": piece.total, "next_index": piece.next, "truncated": is_cut})));
    let mut blocks = vec![Block::text(piece.text, Origin::Page)];
    let mut notes = Vec::new();
    if let Some(next) = piece.next {
        notes.push(format!("[cut at character {next} of {}; go on with start_index {next}]", piece.total));
    }
    if start > 0 && start >= piece.total {
        notes.push(format!("[the text has {} characters; nothing is left at start_index {start}]", piece.total));
    }
    if page.truncated {
        notes.push("[the response was longer than max_response and its end was not read]".to_owned());
    } else if let Some(missing) = missing {
        notes.push(missing.to_owned());
    }
    notes.extend(note_of_status(page));
    if piece.text.is_empty() && notes.is_empty() {
        notes.push("[the page has no text]".to_owned());
    }
    if !notes.is_empty() {
        blocks.push(Block::text(notes.join("\n"), Origin::Own));
    }
    let from = text.char_indices().nth(start).map_or(text.len(), |(at, _)| at);
    let shown = masks.iter().filter(|(at, _)| at.start < from + piece.text.len() && from < at.end);
    let masked = (!masks.is_empty()).then(|| shown.map(|(_, name)| *name).collect());
    with_facts(Output { blocks, masked, ..Output::default() }, facts)
}

fn facts(page: &Page) -> Map<String, Value> {
    known(json!({
        "final_url": page.final_url.as_str(),
        "status": page.status,
        "content_type": page.content_type,
        "size": page.body.len(),
        "redirects": page.hops.len().saturating_sub(1),
    }))
}

fn with_facts(mut output: Output, facts: Map<String, Value>) -> Output {
    output.meta.insert("toolgate/page".to_owned(), Value::Object(facts));
    output
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::{HttpUrl, Identity, RelPath, Target};

    fn page(content_type: &str, body: &[u8]) -> Page {
        Page {
            final_url: HttpUrl::parse("https://a.example/x").unwrap(),
            status: 200,
            headers: BTreeMap::new(),
            content_type: Some(content_type.to_owned()),
            body: body.to_vec(),
            truncated: false,
            hops: Vec::new(),
            secrets: crate::sandbox::web::SentSecrets::default(),
        }
    }

    fn action(format: Format, start_index: u64) -> Fetch {
        Fetch {
            url: "https://a.example/x".to_owned(),
            method: "GET".to_owned(),
            headers: BTreeMap::new(),
            body: None,
            format,
            start_index,
            max_length: None,
            save_to: None,
            links: Links::Inline,
        }
    }

    fn show(format: Format, start_index: u64, page: &Page) -> Result<Output, Failure> {
        let kind = reader::kind_of(page.content_type.as_deref(), &page.body);
        as_asked(&action(format, start_index), page, kind, None, Bytes(1000), true)
    }

    fn code(shown: Result<Output, Failure>) -> Option<Code> {
        shown.err().map(|failure| failure.0.code)
    }

    #[test]
    fn of_a_saved_body_that_holds_a_secret_no_digest_is_told() {
        let target = Target { root: "work".to_owned(), path: RelPath::parse("a").unwrap() };
        let written = |page: &Page| Written {
            target: target.clone(),
            created: true,
            size: page.body.len() as u64,
            sha256: Some("ab".repeat(32)),
            identity: Identity { device: 1, inode: 1, mtime_ns: 1, ctime_ns: 1 },
            folders: Vec::new(),
        };
        let told = |page: &Page, hides: bool| {
            let output = saved(page, &written(page), hides);
            serde_json::to_string(&output.meta).unwrap().contains("abab")
        };
        let plain = page("text/plain", b"nothing of worth");
        let secret = page("text/plain", b"id AKIAQ7ZT3N5WXK2VPLMR");
        let wide: Vec<u8> = secret.body.iter().flat_map(|byte| [*byte, 0]).collect();
        assert!(told(&plain, true) && !told(&secret, true) && !told(&page("text/plain", &wide), true));
        assert!(told(&secret, false), "where the manifest masks nothing");
    }

    #[test]
    fn a_piece_past_the_end_says_where_the_end_is() {
        let output = show(Format::Markdown, 9, &page("text/plain", b"12345")).unwrap();
        let Some(Block::Text { text, origin: Origin::Own }) = output.blocks.last() else { panic!("{output:?}") };
        assert_eq!(text, "[the text has 5 characters; nothing is left at start_index 9]");
    }

    #[test]
    fn a_redirect_to_nowhere_says_so_with_a_text_and_without() {
        for (body, output) in [
            ("moved", show(Format::Markdown, 0, &Page { status: 302, ..page("text/plain", b"moved") }).unwrap()),
            ("HTTP 302", head_of(&Page { status: 302, ..page("text/plain", b"") })),
        ] {
            let [Block::Text { text: first, .. }, Block::Text { text: note, origin: Origin::Own }] = &output.blocks[..] else {
                panic!("{output:?}")
            };
            assert_eq!(
                (first.as_str(), note.as_str()),
                (body, "[the server answered HTTP 302 without saying where to go on (no Location)]")
            );
        }
    }

    #[test]
    fn no_piece_of_a_text_shows_a_piece_of_a_secret() {
        let body = format!("key AKIAQ7ZT3N5WXK2VPLMR and more {}", "words ".repeat(300));
        let page = page("text/plain", body.as_bytes());
        for start in 0..30 {
            let output = show(Format::Markdown, start, &page).unwrap();
            let Some(Block::Text { text, .. }) = output.blocks.first() else { panic!("{output:?}") };
            assert!(!(0..17).any(|at| text.contains("AKIAQ7ZT3N5WXK2VPLMR".get(at..at + 4).unwrap())), "{start}: {text}");
            assert_eq!(output.masked, Some(if start < 27 { vec!["aws-access-key"] } else { vec![] }), "{start}");
        }
    }

    #[test]
    fn json_is_indented_and_what_is_none_is_refused() {
        let output = show(Format::Json, 0, &page("text/plain", b"{\"a\":[1]}")).unwrap();
        assert_eq!(output.blocks[0], Block::Text { text: "{\n  \"a\": [\n    1\n  ]\n}".to_owned(), origin: Origin::Page });
        for (named, body) in [
            ("text/html", &b"<p>no"[..]),
            ("application/json", b"{\"a\":"),
            ("image/png", b"\x89PNG\r\n\x1a\n"),
            ("application/json", b"\0"),
        ] {
            let failure = show(Format::Json, 0, &page(named, body)).unwrap_err();
            assert_eq!(failure.0.code, Code::Unreadable);
            assert!(failure.0.message.contains("`https://a.example` answered HTTP 200") && failure.0.message.contains(named), "{failure}");
        }
        let cut = Page { truncated: true, ..page("application/json", b"{}") };
        assert_eq!(code(show(Format::Json, 0, &cut)), Some(Code::ResponseTooLarge));
    }

    #[test]
    fn pictures_are_pictures_by_their_bytes_and_up_to_a_size() {
        let output = show(Format::Markdown, 0, &page("text/plain", b"\x89PNG\r\n\x1a\n..")).unwrap();
        assert_eq!(output.blocks, [Block::Image { data: b"\x89PNG\r\n\x1a\n..".to_vec(), mime_type: "image/png".to_owned() }]);
        let svg = show(Format::Markdown, 0, &page("image/svg+xml", b"<svg onload='x'/>")).unwrap();
        assert_eq!(svg.blocks, [Block::Text { text: "<svg onload='x'/>".to_owned(), origin: Origin::Page }]);
        let claimed = show(Format::Markdown, 0, &page("image/png", b"<svg/>")).unwrap();
        assert!(matches!(&claimed.blocks[..], [Block::Text { text, .. }] if text.contains("bytes of `image/png`, which is not shown")));
        let large = [b"\xff\xd8\xff".as_slice(), &vec![0; PICTURE]].concat();
        assert_eq!(code(show(Format::Markdown, 0, &page("image/jpeg", &large))), Some(Code::ResponseTooLarge));
        let cut = Page { truncated: true, ..page("image/gif", b"GIF89a") };
        assert_eq!(code(show(Format::Markdown, 0, &cut)), Some(Code::ResponseTooLarge));
    }
}
