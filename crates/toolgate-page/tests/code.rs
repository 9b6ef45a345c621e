//! Code of pages, read back from their Markdown by another parser: it is the page's own, byte for byte.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use toolgate_page::{Format, Mode, Options, read_html};

/// The fenced blocks and the code spans of a text in Markdown.
fn code_of(markdown: &str) -> (Vec<String>, Vec<String>) {
    let (mut blocks, mut spans, mut open) = (Vec::new(), Vec::new(), false);
    for event in Parser::new_ext(markdown, pulldown_cmark::Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                assert!(matches!(kind, CodeBlockKind::Fenced(_)), "an indented block in {markdown}");
                blocks.push(String::new());
                open = true;
            }
            Event::End(TagEnd::CodeBlock) => open = false,
            Event::Text(text) if open => blocks.last_mut().unwrap().push_str(&text),
            Event::Code(text) => spans.push(text.to_string()),
            _ => {}
        }
    }
    (blocks, spans)
}

/// A whole page as plain text.
fn text_of(page: &str) -> String {
    read_html(page, &Options { mode: Mode::Page, format: Format::Text, base: None }).text
}

/// A block of code as every parser gives it: with a line end.
fn ended(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Code as a highlighter writes it: some of its parts in elements of their own.
fn highlighted(parts: &[(String, bool)]) -> (String, String) {
    let text: String = parts.iter().map(|(part, _)| part.as_str()).collect();
    let wrap = |(part, alone): &(String, bool)| if *alone { format!("<span class=w>{}</span>", escaped(part)) } else { escaped(part) };
    (text, parts.iter().map(wrap).collect())
}

fn code(parts: &'static str) -> impl Strategy<Value = Vec<(String, bool)>> {
    proptest::collection::vec((parts, any::<bool>()), 1..16)
}

/// Elements around code, outermost first: what opens them and what closes them.
const AROUND: &[(&str, &str)] = &[
    ("<div>", "</div>"),
    ("<ul><li>", "</li></ul>"),
    ("<ol><li><p>t</p>", "</li></ol>"),
    ("<ol start=99 reversed><li>", "</li><li>t</li></ol>"),
    ("<blockquote>", "</blockquote>"),
    ("<table><tr><td>t</td><td>", "</td></tr></table>"),
    ("<a href=/x>t ", " t</a>"),
    ("<b>t ", "</b>"),
    ("<dl><dt>t</dt><dd>", "</dd></dl>"),
    ("<h2>t", "</h2>"),
    ("<figure>", "<figcaption>t</figcaption></figure>"),
    ("<p>t</p><section>t", "</section>"),
    ("<ul>", "</ul>"),
];

fn wrapped(around: &[usize], inside: &str) -> String {
    let names = || around.iter().filter_map(|at| AROUND.get(*at).copied());
    let open: String = names().map(|(open, _)| open).collect();
    let close: String = names().rev().map(|(_, close)| close).collect();
    format!("<body><p>first</p>{open}{inside}{close}<p>last</p>")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_block_of_code_is_read_back_byte_for_byte_wherever_it_stands(
        parts in code("(`{1,4}|\n|\n\n| |   |\t|a|\\*|\\[x\\]\\(y\\)|\\||> |- |1\\. |# |~~~|<|&|\\\\|\u{f0001}|é|---|: ){1,3}"),
        around in proptest::collection::vec(0..AROUND.len(), 0..4),
    ) {
        let (text, html) = highlighted(&parts);
        prop_assume!(!text.trim().is_empty());
        let page = wrapped(&around, &format!("<pre>\n{html}</pre>"));
        let markdown = read_html(&page, &Options { mode: Mode::Page, ..Options::default() }).text;
        prop_assert_eq!(code_of(&markdown).0, [ended(&text)], "{} gave {}", page, markdown);
        prop_assert!(text_of(&page).contains(&ended(&text)), "{} gave {:?}", page, text_of(&page));
        prop_assert!(markdown.starts_with("first\n") && markdown.ends_with("last\n"), "{}", markdown);
    }

    #[test]
    fn code_of_a_line_is_read_back_byte_for_byte_wherever_it_stands(
        parts in code("(`{1,3}| |  |\t|a|\\*|_|\\[x\\]\\(y\\)|> |# |~~|<|&|\\\\|\u{f0001}|é|&amp;){1,3}"),
        around in proptest::collection::vec(0..AROUND.len(), 0..3),
    ) {
        let (text, html) = highlighted(&parts);
        prop_assume!(!text.trim().is_empty());
        let page = wrapped(&around, &format!("<p>t <code>{html}</code> t</p>"));
        let markdown = read_html(&page, &Options { mode: Mode::Page, ..Options::default() }).text;
        let (blocks, spans) = code_of(&markdown);
        prop_assert!(blocks.is_empty() && spans == [text.clone()], "{} gave {} with {:?}", page, markdown, spans);
        prop_assert!(text_of(&page).contains(&text), "{} gave {:?}", page, text_of(&page));
    }
}

/// What the blocks of preformatted text of a page hold, by its tags alone.
fn preformatted(html: &str) -> Vec<String> {
    let (mut found, mut depth, mut text) = (Vec::new(), 0, String::new());
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        if depth > 0 {
            text.push_str(before);
        }
        let (tag, after) = tag.split_once('>').unwrap_or((tag, ""));
        rest = after;
        match tag.split([' ', '\n']).next() {
            Some("pre") => {
                depth += 1;
                rest = rest.strip_prefix('\n').unwrap_or(rest);
            }
            Some("/pre") => {
                depth -= 1;
                if depth == 0 {
                    found.push(std::mem::take(&mut text));
                }
            }
            _ => {}
        }
    }
    found.into_iter().map(|text| unescaped(&text)).filter(|text| !text.trim().is_empty()).map(|text| ended(&text)).collect()
}

fn unescaped(text: &str) -> String {
    let mut parts = text.split('&');
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let (name, after) = part.split_once(';').unwrap();
        out.push(match name {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "nbsp" => '\u{a0}',
            "apos" => '\'',
            _ => {
                let number = name.strip_prefix('#').unwrap();
                let read = number.strip_prefix('x').map_or_else(|| number.parse(), |hex| u32::from_str_radix(hex, 16));
                char::from_u32(read.unwrap()).unwrap()
            }
        });
        out.push_str(after);
    }
    out
}

/// The whole page has every block, and the article no other than the page's. Gives how many blocks the page and the article have.
fn check(name: &str, html: &str) -> (usize, usize) {
    let known = preformatted(html);
    let whole = read_html(html, &Options { mode: Mode::Page, ..Options::default() }).text;
    assert_eq!(code_of(&whole).0, known, "{name}");
    let article = read_html(html, &Options::default()).text;
    let kept = code_of(&article).0;
    for block in &kept {
        assert!(known.contains(block), "{name} has no such block: {block:?}");
    }
    let text = read_html(html, &Options { format: Format::Text, ..Options::default() }).text;
    assert!(kept.iter().all(|block| text.contains(block.as_str())), "{name}");
    (known.len(), kept.len())
}

/// Pages in the manner of Sphinx, rustdoc, mdBook and others.
const PAGES: &[(&str, &str)] = &[
    (
        "sphinx",
        "<div class=body role=main><section><h1>Extending</h1><p>The module begins so, as every module of this kind does:</p>\
         <div class=\"highlight-c notranslate\"><div class=highlight><pre><span></span><span class=k>static</span><span class=w> </span><span class=n>PyObject</span><span class=w> </span><span class=o>*</span>\n\
         <span class=nf>spam</span><span class=p>(</span><span class=n>PyObject</span><span class=w> </span><span class=o>*</span><span class=n>self</span><span class=p>)</span>\n\
         <span class=p>{</span>\n<span class=w>    </span><span class=k>return</span><span class=w> </span><span class=mi>0</span><span class=p>;</span>\n\n\n<span class=p>}</span>\n</pre></div></div>\
         <p>It is called <code><span class=pre>static</span> <span class=pre>spam</span></code> by those who know it.</p>\
         <dl class=function><dt><code>f</code></dt><dd><pre>&gt;&gt;&gt; f(  1)\n</pre></dd></dl></section></div>",
    ),
    (
        "rustdoc",
        "<main><section id=main-content class=content><pre class=\"rust item-decl\"><code>pub struct Iter&lt;'a, T&gt;<div class=where>where\n    T: 'a,</div>{ <span class=comment>/* private fields */</span> }</code></pre>\
         <details class=toggle open><summary class=hideme><span>Expand description</span></summary><div class=docblock><p>An iterator over the items of a slice, by reference.</p>\
         <div class=example-wrap><pre class=\"rust rust-example-rendered\"><code><span class=kw>let </span>slice = <span class=kw-2>&amp;</span>[<span class=number>1</span>];\n\n<span class=kw>for </span>x <span class=kw>in </span>slice {}</code></pre></div></div></details></section></main>",
    ),
    (
        "mdbook",
        "<main><p>Here is a program that prints a line, with the parts that are not shown:</p><pre><pre class=playground><code class=\"language-rust edition2021\"><span class=boring>fn main() {\n</span>    println!(\"```\");\n<span class=boring>}</span></code></pre></pre><p>It prints a line.</p></main>",
    ),
    ("bare", "<h1>a</h1><pre>\n\n  # no heading\n\n\n- no list\n</pre><p>b"),
];

#[test]
fn pages_of_documentation_keep_their_code() {
    for (name, html) in PAGES {
        let (known, kept) = check(name, html);
        assert_eq!(known, kept, "{name}");
    }
}

/// Pages below a folder, by name.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() && !entry.is_symlink() {
            pages(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "html") && std::fs::metadata(&entry).unwrap().len() < 150_000 {
            found.push(entry);
        }
    }
}

/// Folders that are there, below one that need not be.
fn below(folder: &Path, start: &str, rest: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let named = entries.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start)));
    named.map(|path| path.join(rest)).filter(|path| path.is_dir()).collect()
}

#[test]
fn installed_documentation_keeps_its_code() {
    let home = |name: &str, default: &str| {
        std::env::var_os(name).map_or_else(|| Path::new(&std::env::var("HOME").unwrap()).join(default), PathBuf::from)
    };
    let rust = below(&home("RUSTUP_HOME", ".rustup").join("toolchains"), "", "share/doc/rust/html").into_iter().take(1);
    let rust = rust.flat_map(|html| ["book", "reference", "nomicon", "std/vec", "std/iter"].map(|part| html.join(part)));
    let python = below(Path::new("/usr/share/doc"), "python3", "html")
        .into_iter()
        .flat_map(|html| ["extending", "tutorial", "howto", "library"].map(|part| html.join(part)));
    let (mut known, mut kept) = (0, 0);
    for folder in rust.chain(python) {
        let mut found = Vec::new();
        pages(&folder, &mut found);
        // A few of each, from all over it.
        for page in found.iter().step_by((found.len() / 6).max(1)) {
            let (all, chosen) = check(&page.display().to_string(), &std::fs::read_to_string(page).unwrap());
            (known, kept) = (known + all, kept + chosen);
        }
    }
    if known == 0 {
        println!("skipped: no HTML documentation of Rust or Python is installed");
        return;
    }
    println!("{kept} of {known} blocks are in the articles");
    assert!(kept * 10 >= known * 9, "{kept} of {known}");
}
