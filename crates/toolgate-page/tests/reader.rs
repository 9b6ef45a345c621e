//! The reader on structures every page has, on hostile pages, and on the labelled pages where they are at hand.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use pulldown_cmark::{Event, Options as Extensions, Parser, Tag};
use toolgate_page::{Format, Mode, Options, pretty_json, read_html, slice};
use url::Url;

fn read(body: &str, format: Format) -> String {
    let base = Url::parse("https://a.example/d/p").ok();
    read_html(&format!("<html><body>{body}</body></html>"), &Options { base: base.as_ref(), format, ..Options::default() }).text
}

fn markdown(body: &str) -> String {
    read(body, Format::Markdown)
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table is as long as it has rows")]
fn the_structures_of_a_page_come_out_as_markdown() {
    let rows = [
        ("<ul><li>a<ul><li>b<ol><li>c</li></ol></li></ul></li><li>e</li></ul>", "- a\n  - b\n    1. c\n- e\n"),
        ("<ol start=5><li>five<li>six</ol>", "5. five\n6. six\n"),
        ("<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>x|y</td></tr></table>", "| A | B |\n| --- | --- |\n| 1 | x\\|y |\n"),
        ("<pre><code class='language-rust'>fn f() {\n    &lt;g&gt;\n}\n</code></pre>", "```rust\nfn f() {\n    <g>\n}\n```\n"),
        (
            "<div class='highlight highlight-source-python'><pre><span>def</span> f():\n  <b>pass</b></pre></div>",
            "```python\ndef f():\n  pass\n```\n",
        ),
        ("<table><tr><td class=linenos><pre>1\n2</pre><td><pre>a\nb</pre></table>", "```\na\nb\n```\n"),
        ("<p>use <code>a`b</code></p>", "use ``a`b``\n"),
        ("<figure><img src=x.png alt=Alt><figcaption>Cap</figcaption></figure>", "![Alt](https://a.example/d/x.png)\n\n*Cap*\n"),
        ("<dl><dt>T</dt><dd>D one</dd><dd><p>D two</p></dd></dl>", "T\n: D one\n: D two\n"),
        ("<blockquote><p>a</p><blockquote>b</blockquote></blockquote>", "> a\n>\n> > b\n"),
        ("<h1>a</h1><h6>b</h6><p>c<br>d</p><hr>", "# a\n\n###### b\n\nc  \nd\n\n---\n"),
        ("<p>  a\n b <b> c </b><del>d</del></p>", "a b **c** ~~d~~\n"),
        ("<ul><li><input type=checkbox checked> done<li><input type=checkbox> to do</ul>", "- [x] done\n- [ ] to do\n"),
        ("<ol><li><p>a</p><pre>x\ny</pre></li></ol>", "1. a\n\n   ```\n   x\n   y\n   ```\n"),
        ("<ul><li>a</li><ul><li>b</li></ul><li>c</li></ul>", "- a\n  - b\n- c\n"),
        ("<ul><li><p>a</p><p>b</p></li><li>c</li></ul>", "- a\n\n  b\n\n- c\n"),
        ("<blockquote><p>a</p><ul><li>b</li></ul></blockquote>", "> a\n>\n> - b\n"),
        ("<table><caption>C</caption><tr><td>1</td><td>2</td></tr></table>", "*C*\n\n| 1 | 2 |\n| --- | --- |\n"),
        (
            "<table><tr><th colspan=2>A</th></tr><tr><td>1<br>2</td><td><code>y|z</code></td></tr></table>",
            "| A | |\n| --- | --- |\n| 1 2 | `y\\|z` |\n",
        ),
        (
            "<p><a href=/x title=T>a</a> <a href=//b.example/y>b</a> <a href='/x_(y)'>c</a>",
            "[a](https://a.example/x \"T\") [b](https://b.example/y) [c](https://a.example/x_(y))\n",
        ),
        ("<p>t <a href=/x><img src=/i.png alt=Alt title=Ti></a></p>", "t [![Alt](https://a.example/i.png \"Ti\")](https://a.example/x)\n"),
        ("<a href=/x><h3>Title</h3><p>text</p></a>", "### [Title](https://a.example/x)\n\n[text](https://a.example/x)\n"),
        ("<p><strong>a <em>b</em></strong> <kbd>Ctrl</kbd> <q>c</q> H<sub>2</sub>O</p>", "**a *b*** `Ctrl` \"c\" H₂O\n"),
        ("<pre><code>```\ninner\n```</code></pre>", "````\n```\ninner\n```\n````\n"),
        ("<details><summary>S</summary><p>body</p></details>", "**S**\n\nbody\n"),
        (
            "<details open><summary><section><a href=/s>Source</a><h3>impl <a href=/c>Clone</a> for X</h3></section></summary><p>body</p></details>",
            "[Source](https://a.example/s)\n\n### impl [Clone](https://a.example/c) for X\n\nbody\n",
        ),
        (
            "<h3>impl !<a href=/s>Sync</a> for X</h3><p>No! <a href=/y>y</a>",
            "### impl \\![Sync](https://a.example/s) for X\n\nNo! [y](https://a.example/y)\n",
        ),
        ("<p>&amp; &copy; a_b_c 2 * 3 [1] x &lt; y</p>", "& © a_b_c 2 * 3 [1] x < y\n"),
        (
            "<p>*a* _b_ `c` &lt;b&gt; ~~d~~</p><p>1. e</p><p># f</p><p>- g</p>",
            "\\*a\\* \\_b\\_ \\`c\\` \\<b> \\~\\~d\\~\\~\n\n1\\. e\n\n\\# f\n\n\\- g\n",
        ),
        ("<p>a <code>*b* &lt;c&gt; _d_</code></p>", "a `*b* <c> _d_`\n"),
        ("<dl><dt>T</dt><dd>D</dd><dt>U</dt><dd>E</dd></dl>", "T\n: D\n\nU\n: E\n"),
        ("<div>a<div>b</div>c</div>", "a\n\nb\n\nc\n"),
        ("<ol><li>a<ul><li>b<ol><li>c</li></ol></li></ul></li><li>d</li></ol>", "1. a\n   - b\n     1. c\n2. d\n"),
        ("<h2>A <em>b</em> <code>c</code></h2>", "## A *b* `c`\n"),
        (
            "<table><tr><th align=right>A</th><th style='text-align: center'>B</th><th>C</th></tr><tr><td>1</td><td></td><td class='text-right'>2</td></tr></table>",
            "| A | B | C |\n| ---: | :---: | ---: |\n| 1 | | 2 |\n",
        ),
        ("<table><tr><td>a<table><tr><td>b</td></tr></table></td></tr></table>", "a\n\n| b |\n| --- |\n"),
        ("<table><tr><td rowspan=2>A</td><td>B</td></tr><tr><td>C</td></tr></table>", "| A | B |\n| --- | --- |\n| | C |\n"),
        ("<table><tr><th>A</th></tr><tr><td><ul><li>x</li><li>y</li></ul></td></tr></table>", "| A |\n| --- |\n| x y |\n"),
        ("<p><ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby> x<sup>2</sup> <ins>new</ins> <s>old</s></p>", "漢(kan) x² new ~~old~~\n"),
        ("<p>a <math><mi>x</mi><mo>=</mo><mn>2</mn></math> b</p>", "a x=2 b\n"),
        (
            "<p>a <math>\n<mfrac><mn>1</mn> <mn>2</mn></mfrac> <msup><mi>x</mi><mrow><mi>n</mi><mo>+</mo><mn>1</mn></mrow></msup>\
             <msqrt><mi>y</mi></msqrt><msubsup><mo>∑</mo><mn>0</mn><mi>n</mi></msubsup></math> b</p>",
            "a 1/2x^(n+1)√(y)∑\\_0^n b\n",
        ),
        (
            "<p>a <span class=katex><span class=katex-mathml><math><semantics><mrow><mi>x</mi></mrow><annotation encoding='application/x-tex'>x^2</annotation>\
             </semantics></math></span><span class=katex-html aria-hidden=true><span class=base>x2</span></span></span> b</p>",
            "a $x^2$ b\n",
        ),
        (
            "<h2 id=i>A<a class=headerlink href=#i title=Permalink>¶</a></h2><p>b <a href=#n>#1</a> c",
            "## A\n\nb [#1](https://a.example/d/p#n) c\n",
        ),
        (
            "<p>a <math><semantics><mrow><mi>x</mi><mo>=</mo></mrow><annotation encoding='application/x-tex'>x_1 = *</annotation></semantics></math> b</p>",
            "a $x_1 = *$ b\n",
        ),
        (
            "<p>t<sup><a href='#n'>1</a></sup></p><ol><li id=n>note <a href='#r'>^</a></li></ol>",
            "t[1](https://a.example/d/p#n)\n\n1. note [^](https://a.example/d/p#r)\n",
        ),
        ("<dl><div><dt>A</dt><dd>B</dd></div></dl><address>Street 1<br>Town</address>", "A\n: B\n\nStreet 1  \nTown\n"),
        ("<figure><pre><code>x</code></pre><figcaption>Listing</figcaption></figure>", "```\nx\n```\n\n*Listing*\n"),
    ];
    let read = rows.map(|(html, expected)| (html, markdown(html), expected));
    let wrong: Vec<_> = read.iter().filter(|(_, read, expected)| read != expected).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Pieces of code in the forms that highlighters and documentation tools give them, and the Markdown of each.
#[test]
fn code_comes_out_byte_for_byte() {
    let rows = [
        (
            "<pre><span>static</span><span> </span><b>int</b><span>\t</span>x;<span>\n\n\n</span>  y;  \n</pre>",
            "```\nstatic int\tx;\n\n\n  y;  \n```\n",
        ),
        ("<pre>\n\n a\n\n</pre>", "```\n\n a\n\n```\n"),
        ("<pre><!-- c -->\na</pre>", "```\n\na\n```\n"),
        ("<pre><div>a</div><div>b</div><table><tr><td>1</td></tr><tr><td>2</td></tr></table></pre>", "```\na\nb1\n2\n```\n"),
        ("<pre>T<div>where\n</div>x<button>Copy</button></pre>", "```\nTwhere\nx\n```\n"),
        ("<pre>|---|\n]: javascript:x\n[a](b)\n````\n</pre>", "`````\n|---|\n]: javascript:x\n[a](b)\n````\n`````\n"),
        ("<listing>a  b</listing>", "```\na  b\n```\n"),
        ("<p>t<xmp>\n<b>a</b>  &amp;\n\n</xmp>u", "t\n\n```\n\n<b>a</b>  &amp;\n\n```\n\nu\n"),
        ("<div style='white-space: pre'>if a:\n\n    b  <b>c</b></div><p>t", "```\nif a:\n\n    b  c\n```\n\nt\n"),
        ("<style>.c{white-space:pre}</style><div class=c>a\n  b</div><p class=c>one line</p>", "```\na\n  b\n```\n\none line\n"),
        ("<div style='white-space:pre-wrap'>a\n  b</div>", "a b\n"),
        ("<div style='white-space:pre'><h2>t</h2>\n<p>a</div>", "## t\n\na\n"),
        ("<pre>&#xf0001; &#x10fff7;0&#x10fff7;</pre><p>x&#x10fff7;0&#x10fff7;", "```\n\u{f0001} \u{10fff7}0\u{10fff7}\n```\n\nx0\n"),
        (
            "<ul><li><pre>a\n\n  b</pre><li><blockquote><p>q</p><pre>c\n\nd</pre></blockquote></ul>",
            "- ```\n  a\n\n    b\n  ```\n\n- > q\n  >\n  > ```\n  > c\n  >\n  > d\n  > ```\n",
        ),
        ("<ol reversed><li><pre> x</pre><li>y</ol>", "2. ```\n    x\n   ```\n\n1. y\n"),
        ("<a href=/x>t<pre>a\nb</pre>u</a>", "[t](https://a.example/x)\n\n```\na\nb\n```\n\n[u](https://a.example/x)\n"),
        ("<h2>t<pre>a</pre></h2><p><b>v<pre>b</pre></b>", "## t\n\n```\na\n```\n\n**v**\n\n```\nb\n```\n"),
        ("<table><tr><td>t<td><p><pre>a\n| b</pre></table>", "t\n\n```\na\n| b\n```\n"),
        ("<dl><dt>T<dd><pre>a</pre><dd>u</dl>", "T\n\n```\na\n```\n\nu\n"),
        ("<p>x <code><span>a</span> <span>*b</span>  c</code> y", "x `a *b  c` y\n"),
        (
            "<p><code>a</code><code>b</code> <kbd>`</kbd> <tt> </tt> <samp> x </samp> <code>``a`</code>",
            "`ab` `` ` `` ` ` `  x  ` ``` ``a` ```\n",
        ),
        ("<p>x<code>\n foo\n  bar\n</code>y", "x `foo bar` y\n"),
        ("<p><code>a<br>b</code>", "`a`  \n`b`\n"),
        ("<p><code><a href=/x>a]</a></code> <code>b <a href=/x>c</a></code>", "[`a]`](https://a.example/x) `b c`\n"),
        ("<table><tr><th>A<th>B<tr><td><code>a | `b`</code><td>c</table>", "| A | B |\n| --- | --- |\n| `` a \\| `b` `` | c |\n"),
        ("<code><div>a <b>b</b></div><p>c</p>", "`a b`\n\n`c`\n"),
        ("<p><b>a</b><span> </span><i>b</i> c<i> </i>d", "**a** *b* c d\n"),
    ];
    let read = rows.map(|(html, expected)| (html, markdown(html), expected));
    let wrong: Vec<_> = read.iter().filter(|(_, read, expected)| read != expected).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn text_keeps_code_and_brackets_as_they_are() {
    let rows = [
        (
            "<p>a[0]*b[i] <code>a[0]*b[i]</code> [1] f(x)[y] C:\\!x \\(y\\) <a href=/x>l [2]<br>m</a>",
            "a[0]*b[i] a[0]*b[i] [1] f(x)[y] C:\\!x \\(y\\) l [2]\nm\n",
        ),
        ("<p>1. a</p><p># b</p><p>> c</p><p>- d_e_ *f*", "1. a\n\n# b\n\n> c\n\n- d_e_ *f*\n"),
        ("<pre>a **b** `c`\n```\n# d\n\n\n</pre>", "a **b** `c`\n```\n# d\n\n\n"),
        ("<blockquote><ul><li>q<pre>  a\n\n[b](c)</pre></ul></blockquote>", "- q\n\n  a\n\n[b](c)\n"),
        ("<table><tr><th>A<th>B<tr><td><code>a | `b` \\| *</code><td>c|d</table>", "A\tB\na | `b` \\| *\tc|d\n"),
    ];
    let read = rows.map(|(html, expected)| (html, read(html, Format::Text), expected));
    let wrong: Vec<_> = read.iter().filter(|(_, read, expected)| read != expected).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn links_are_listed_below_the_text_each_once() {
    let rows = [
        (
            "<p>see <a href=https://b.example/x>a</a>, <a href='/y_(1)' title=T>b</a> and <a href=https://b.example/x>a</a> [e]",
            "see a[1], b[2] and a[1] [e]\n\n[1]: https://b.example/x\n[2]: https://a.example/y_(1)\n",
        ),
        ("<a href=/x><img src=/i.png alt=Alt></a> t", "![Alt](https://a.example/i.png)[1] t\n\n[1]: https://a.example/x\n"),
        ("<pre>[a](b)</pre><a href=javascript:x>t</a>", "```\n[a](b)\n```\n\nt\n"),
    ];
    for (html, expected) in rows {
        assert_eq!(read(html, Format::Footnotes), expected, "{html}");
    }
}

/// Pieces that are marks of Markdown in some place.
const SIGNS: &[&str] = &[
    "a",
    " ",
    " ",
    "*",
    "_",
    "`",
    "#",
    "1.",
    "2)",
    "-",
    "+",
    "=",
    "|",
    "[",
    "]",
    "(",
    ")",
    ":",
    "<",
    ">",
    "&amp;lt;",
    "\\",
    "!",
    "~~",
    "---",
    "<b>",
    "</b>",
    "<i>",
    "</i>",
    "<br>",
    "<code>c</code>",
    "<a href=/x>",
    "</a>",
    "<p>",
    "<li>",
    "<table><td>",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Another parser finds no markup in the words of a page but what the page itself has.
    #[test]
    fn words_of_a_page_are_no_markup(parts in proptest::collection::vec(0..SIGNS.len(), 1..12)) {
        let html: String = parts.iter().map(|at| SIGNS[*at]).collect();
        let markdown = read_html(&format!("<p>{html}"), &Options { mode: Mode::Page, ..Options::default() }).text;
        for event in Parser::new_ext(&markdown, Extensions::ENABLE_TABLES | Extensions::ENABLE_STRIKETHROUGH) {
            let is_own = match &event {
                Event::Start(Tag::Heading { .. } | Tag::BlockQuote(_) | Tag::CodeBlock(_) | Tag::Strikethrough | Tag::Image { .. })
                | Event::Html(_)
                | Event::InlineHtml(_)
                | Event::Rule => false,
                Event::Start(Tag::List(_) | Tag::Item) => html.contains("<li>"),
                Event::Start(Tag::Table(_)) => html.contains("<table>"),
                Event::Start(Tag::Link { dest_url, .. }) => &**dest_url == "/x",
                Event::Code(text) => text.chars().all(|c| c == 'c'),
                _ => true,
            };
            prop_assert!(is_own, "{} gave {:?}: {:?}", html, markdown, event);
        }
    }
}

#[test]
fn players_pictures_numbers_and_raised_words_keep_their_meaning() {
    let rows = [
        (
            "<p>a</p><iframe src=https://v.example></iframe><video src=/v.mp4>no video</video>",
            "a\n\n[embedded page](https://v.example/) [video](https://a.example/v.mp4)\n",
        ),
        (
            "<p>a</p><p><iframe title='The [flood]' data-src=//v.example/e/1></iframe></p><audio controls><source src=x.ogg><source src=x.mp3></audio>",
            "a\n\n[The \\[flood\\]](https://v.example/e/1)\n\n[audio](https://a.example/d/x.ogg)\n",
        ),
        (
            "<p>a</p><iframe src='javascript:x'></iframe><iframe src=/pixel width=1></iframe><iframe src=/h hidden></iframe><video></video>\
             <iframe title='Advertisement' src=/ad></iframe><iframe srcdoc='<p>x'></iframe><video src=/d.mp4 autoplay muted loop></video><video src='data:video/mp4,x'></video>",
            "a\n",
        ),
        ("<ol start=3 reversed><li>a<li>b<li>c</ol>", "3. a\n2. b\n1. c\n"),
        ("<ol reversed><li><p>a</p></li><li><b>b</b><ul><li>x</li></ul></li></ol>", "2. a\n\n1. **b**\n\n   - x\n"),
        ("<ol><li>a<li value=7>b<li>c</ol><ol><li>d</ol>", "1. a\n7. b\n8. c\n\n1) d\n"),
        ("<ol><li value=-3>a<li value=x>b<li value=99999999999>c</ol>", "1. a\n2. b\n3. c\n"),
        (
            "<p>10<sup>-3</sup> m<sup>3</sup>, e<sup>x</sup>, a<sup>i+1</sup>, the 1<sup>st</sup>, x<sub>0</sub>, x<sub>i</sub>, V<sub>max</sub></p>",
            "10⁻³ m³, e^x, aⁱ⁺¹, the 1st, x₀, x_i, V_max\n",
        ),
        (
            "<p>The <abbr title='World Health Organization'>WHO</abbr> met <abbr title='Monday, 6 May'>then</abbr>.</p>",
            "The WHO (World Health Organization) met then.\n",
        ),
        (
            "<p>a <img alt=i src=blank.gif data-src=/i.png> <img alt=j src='data:image/gif;base64,R' srcset='/s.png 100w, /l.png 900w'></p>",
            "a ![i](https://a.example/i.png) ![j](https://a.example/l.png)\n",
        ),
        (
            "<p>a</p><picture><source srcset='/w.webp 1x, /w2.webp 2x'><img alt=k></picture><picture><source srcset=/x.webp><img alt=l src=/y.png></picture>",
            "a\n\n![k](https://a.example/w2.webp)![l](https://a.example/y.png)\n",
        ),
    ];
    let read = rows.map(|(html, expected)| (html, markdown(html), expected));
    let wrong: Vec<_> = read.iter().filter(|(_, read, expected)| read != expected).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn links_are_resolved_and_lead_only_to_the_web_or_a_mailbox() {
    let rows = [
        ("<p><a href='../r?x=1'>a</a>", "[a](https://a.example/r?x=1)\n"),
        ("<p><a href=#f>a</a>", "[a](https://a.example/d/p#f)\n"),
        ("<p><a href=mailto:a@b.example>a</a>", "[a](mailto:a@b.example)\n"),
        (
            "<p><a href='javascript:alert(1)'>a</a> <a href=' jAva\tscript:x'>b</a> <a href='data:text/html,x'>c</a> <a href=vbscript:x>d</a>",
            "a b c d\n",
        ),
        ("<p>a<img src=javascript:x alt=i><img src='data:image/png;base64,x' alt=j></p>", "a\n"),
        ("<p onclick=x>a<a href=/b onmouseover=x>b</a>", "a[b](https://a.example/b)\n"),
    ];
    for (html, expected) in rows {
        assert_eq!(markdown(html), expected, "{html}");
    }
    let relative = read_html("<p><a href='/a b'>x</a><base href=javascript:x>", &Options::default());
    assert_eq!(relative.text, "[x](/a%20b)\n");
}

#[test]
fn what_a_page_spells_out_never_becomes_a_live_link() {
    let targets = |markdown: &str| {
        let target = |event| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.to_string()),
            _ => None,
        };
        Parser::new(markdown).filter_map(target).collect::<Vec<_>>()
    };
    for body in [
        "<p>[x](javascript:alert(1))</p>",
        "<p>[x](JavaScript:alert(1)) and ![y](javascript:z)</p>",
        "<p>[x]<b>(javascript:alert(1))</b></p>",
        "<p>[x](&amp;#106;avascript:alert(1))</p>",
        "<p>[x](java\\script:alert(1))</p>",
        "<p>![x](javascript:alert(1)) \\[x](https://b.example) [x]<!-- -->(https://b.example)</p>",
        "<p>[x]: https://b.example</p><p>[x] and [x][] and [a][x]</p>",
        "<p>[x]: javascript:alert(1)</p><p>[x]</p>",
        "<p>&lt;javascript:alert(1)&gt;</p>",
        "<ul><li>[x](vbscript:y) [z](data:text/html,w)</li></ul>",
        "<p>[x&#x10fffc;](&#x10fffd;javascript:alert(1))</p>",
        "<p>x <iframe src=/y title='x](javascript:alert(1))'></iframe></p>",
        "<p>x <abbr title='long [x](javascript:alert(1)) word'>LW</abbr> [x]<sup>(</sup>javascript:alert(1))</p>",
    ] {
        let markdown = markdown(body);
        assert!(targets(&markdown).iter().all(|target| target == "https://a.example/y"), "{body} gave {markdown}");
    }
    assert_eq!(markdown("<p>see [x](https://b.example/) and [y]: z</p>"), "see [x]\\(https://b.example/) and [y]\\: z\n");
}

#[test]
fn hidden_words_are_kept_apart() {
    let read = read_html("<p>seen</p><div style='display:none'>unseen</div>", &Options { mode: Mode::Page, ..Options::default() });
    assert_eq!((read.text.as_str(), read.hidden.as_str()), ("seen\n", "unseen"));
    let sheet = "<style>.x{display:none}.y{position:absolute;left:-9999px}#z{clip-path:inset(50%)}</style>";
    let read = read_html(
        &format!("{sheet}<p>seen</p><p class=x>a</p><p class=y>b</p><p id=z>c</p><p popover>d</p>"),
        &Options { mode: Mode::Page, ..Options::default() },
    );
    assert_eq!((read.text.as_str(), read.hidden.split_whitespace().collect::<String>().as_str()), ("seen\n", "abcd"));
}

#[test]
fn author_and_date_are_found() {
    let html = "<html><head><title>T</title><meta name=author content='Ann Example'><meta property='article:published_time' content='2024-05-06T07:08:09Z'></head><body><p>text</p></body></html>";
    let read = read_html(html, &Options::default());
    assert_eq!((read.title.as_deref(), read.byline.as_deref(), read.date.as_deref()), (Some("T"), Some("Ann Example"), Some("2024-05-06")));
}

#[test]
fn hostile_pages_cost_bounded_time_and_no_crash() {
    let wide = (0..200_000).fold(String::from("<p"), |html, n| html + " a" + &n.to_string() + "=x") + ">text</p>";
    let formatting = (0..30_000).fold(String::new(), |html, n| html + "<p><b id=" + &n.to_string() + ">x</p>");
    let pages = [
        ("<div>".repeat(50_000) + "text", "deep div"),
        ("<b>".repeat(50_000) + "text", "deep b"),
        ("<blockquote>".repeat(50_000) + "text", "deep blockquote"),
        ("<ul><li>".repeat(50_000) + "text", "deep ul"),
        ("<table><tr><td>".repeat(50_000) + "text", "deep table"),
        ("<a href=x>".repeat(50_000) + "text", "deep a"),
        (wide, "wide"),
        (formatting, "formatting"),
        ("<!-- x ".repeat(100_000) + "text", "comments"),
        ("<p ".repeat(100_000) + "text", "unclosed tags"),
        ("<table>".to_owned() + &"x<b>".repeat(50_000), "foster parents"),
        ("<svg><script>".to_owned() + &"<div>".repeat(50_000), "script in svg"),
        ("<p>x".to_owned() + &"<iframe src=/y></iframe>".repeat(20_000), "frames"),
        ("<table>".to_owned() + &"<tr><td>a<td>b".repeat(40_000), "rows"),
        ("<div style='display:none'>".repeat(500) + &"<p hidden>x".repeat(40_000), "hidden in hidden"),
        ("<ol reversed>".to_owned() + &"<li value=3>x".repeat(40_000), "numbers"),
        ("<p>".to_owned() + &"[](<![".repeat(100_000), "brackets"),
        ("<p>".to_owned() + &"x".repeat(2_000_000), "one word"),
        ("<p>text</p>".to_owned() + &"\u{10fffd}\u{f0000}".repeat(50_000), "marks"),
        (
            format!(
                "<style>{}</style>{}",
                "div div div div .x{display:none}".repeat(8000),
                "<div class=x>".repeat(200) + &"<p class='x a b c'>y".repeat(10_000)
            ),
            "rules",
        ),
        ("<style>".to_owned() + &"a{".repeat(200_000) + "</style><p>text", "open rules"),
        ("<div style='white-space:pre'>a\n".repeat(30_000), "white space in white space"),
        ("<table>".repeat(400) + &"<tr><td class=blob-code>x".repeat(20_000), "code in tables"),
    ];
    for (html, name) in pages {
        let began = Instant::now();
        let read = read_html(&html, &Options::default());
        let took = began.elapsed();
        println!("{name}: {took:?}, {} bytes", read.text.len());
        // Generous, since tests run unoptimised and beside others.
        assert!(took < Duration::from_mins(1), "{name} took {took:?}");
        assert!(!read.text.contains(['\u{10fffd}', '\u{f0000}']), "{name}");
    }
}

#[test]
fn json_comes_in_readable_form() {
    let json = pretty_json("{\"b\":[1.10,{}, []],\"a\":\"x, [\\\"{\" , \"n\":12345678901234567890}");
    let lines = "{\n  \"b\": [\n    1.10,\n    {},\n    []\n  ],\n  \"a\": \"x, [\\\"{\",\n  \"n\": 12345678901234567890\n}";
    assert_eq!(json.as_deref(), Some(lines));
    assert_eq!([pretty_json("{"), pretty_json(""), pretty_json(&"[".repeat(100_000))], [None, None, None]);
}

#[test]
fn a_long_page_is_read_in_pieces() {
    let page = markdown(&format!("<p>{}</p>", "é日 ".repeat(1000)));
    let first = slice(&page, 0, 100);
    assert_eq!((first.text.chars().count(), first.next, first.total), (100, Some(100), page.chars().count()));
}
