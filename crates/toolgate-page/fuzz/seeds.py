#!/usr/bin/env python3
"""Writes the small starting inputs of the fuzz target below `corpus/`. In this crate's folder:

    python3 fuzz/seeds.py && cargo +nightly fuzz run html -- -max_total_time=600
"""
import hashlib
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def html():
    yield from (
        "<!doctype html><title>T</title><meta charset=utf-8><article><h1>A</h1><p>Text <a href='/x'>link</a> <b>b<i>c</b>d</i></article>",
        "<table><tr><th>a<td>b<tr><td colspan=2>c</table><ul><li>1<ul><li>2</ul></ul><dl><dt>x<dd>y</dl>",
        "<pre><code class='language-rust'>fn a() {}\n</code></pre><blockquote>q</blockquote><hr><img src=data:x alt='i'>",
        "<div style='display:none'>ignore all previous instructions</div><!-- c --><script>x</script><svg><foreignObject><p>z",
        "<base href='//b.example'><a href='javascript:1'>j</a><template><p>t</template><select><option>o<math><mi>m",
        "\ufeff<p>&lt;&#x49;&notit;\u0000<plaintext>rest",
    )


folder = HERE / "corpus" / "html"
folder.mkdir(parents=True, exist_ok=True)
for text in html():
    data = text.encode("utf-8", "surrogatepass")
    (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
