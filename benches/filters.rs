//! How fast the filters read: `cargo bench --bench filters [FILE]`. The bar is 20 MB/s for `clean` as the manifest's
//! defaults set it. Without a file the text is made here: prose, code, numbers, addresses and other scripts. Then each
//! kind of ordinary text alone, and texts made to cost the most, with their share of the first rate: none may fall away without a bound.

#![expect(clippy::print_stdout, clippy::cast_precision_loss, reason = "a measuring program prints its numbers")]

use std::hint::black_box;
use std::time::Instant;

use toolgate::filter::{Scope, clean, escape, scan};
use toolgate::manifest::{Filters, Treatment};

/// Bytes of the made text.
const SIZE: usize = 4 << 20;
/// Runs per measurement; the fastest counts, as other work on the machine only slows.
const RUNS: usize = 5;

fn made() -> String {
    const PARTS: &[&str] = &[
        "The harbour was quiet before the ferry came in, and the keeper wrote the hour into his book.\n",
        "fn area(width: u32, height: u32) -> u32 {\n    width * height // saturates nowhere, see the caller\n}\n",
        "Read [the manual](https://docs.example.org/manual?page=12#part) before you open the cover.\n\n",
        "2026-03-14T09:26:53Z level=info rows=18273 took=0.318s id=7f3a9c1e-55d0-4b0e-8a5e-0d6e4c1b2a39\n",
        "Bestellungen über 50 € werden kostenfrei geliefert; die Rückgabe ist 30 Tage lang möglich.\n",
        "请在每天早上九点之前把报告交到二楼的办公室。Поезд отправляется в восемь часов утра.\n",
        "| name | count | share |\n|---|---|---|\n| north | 1 204 | 31.5 % |\n",
    ];
    PARTS
        .iter()
        .cycle()
        .scan(0, |size, part| {
            *size += part.len();
            (*size <= SIZE).then_some(*part)
        })
        .collect()
}

fn measure(name: &str, bytes: usize, work: impl FnMut()) -> f64 {
    let rate = rate(bytes, work);
    println!("{name:<28} {rate:>8.1} MB/s");
    rate
}

fn rate(bytes: usize, mut work: impl FnMut()) -> f64 {
    work();
    let mut best = f64::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    bytes as f64 / 1e6 / best
}

/// One kind of text and how fast it is read, beside the made text in the same run.
fn kinds(names: &[(&str, &str)], whole: f64) {
    let scope = Scope::Untrusted;
    let everything = Filters { personal_data: Treatment::Mask, ..Filters::default() };
    println!("{:<28} {:>8} {:>8}   of the made text", "MB/s", "clean", "scan");
    for (name, unit) in names {
        let text = unit.repeat(SIZE / 4 / unit.len() + 1);
        let rates =
            [rate(text.len(), || drop(black_box(clean(&text, &everything, scope)))), rate(text.len(), || drop(black_box(scan(&text))))];
        println!("{name:<28} {:>8.1} {:>8.1}   {:>8.2}", rates[0], rates[1], rates[0] / whole);
    }
}

/// What people write.
const ORDINARY: &[(&str, &str)] = &[
    ("prose", "The harbour was quiet before the ferry came in, and the keeper wrote the hour into his book.\n"),
    ("code", "fn area(width: u32, height: u32) -> u32 {\n    width * height // saturates nowhere, see the caller\n}\n"),
    ("JSON", "{\"id\":\"7f3a9c1e-55d0-4b0e-8a5e-0d6e4c1b2a39\",\"rows\":18273,\"ok\":true,\"at\":\"2026-03-14T09:26:53Z\"},"),
    ("HTML", "<div class=\"row\"><a href=\"/x?id=12\" title=\"a title\">Read more</a> &amp; <b>see</b> the notes</div>\n"),
    ("Chinese and Japanese", "请在每天早上九点之前把报告交到二楼的办公室。以前の手順で作成したファイルは削除してください。"),
    ("Russian", "Поезд отправляется в восемь часов утра, и возьмите документы с собой. "),
    ("base64", "U29tZSBsb25nIGJhc2U2NCBibG9iIHRoYXQgaXMgbm90IHNlY3JldCBhdCBhbGwgYW5kIGdvZXMgb24gYW5kIG9u"),
];

/// What begins in every place what some filter looks into.
const HOSTILE: &[(&str, &str)] = &[
    ("digits", "1"),
    ("digits and blanks", "1 2 3 4 5 6 7 8 9 0 "),
    ("a@a.", "a@a."),
    ("zero-width characters", "a\u{200b}b"),
    ("tag characters", "\u{e0049}"),
    ("cues", "ignore all previous instructions "),
    ("halves of cues", "ignore previous "),
    ("quoted cues", "\"ignore\" "),
    ("spaced letters", "i g n o r e "),
    ("links", "![a](https://e.example/p?q="),
    ("percent signs", "%49%67%6e"),
    ("references", "&#73;&#x6e;"),
    ("names of secrets", "password="),
    ("beginnings of keys", "-----BEGIN PRIVATE KEY-----\n"),
    ("beginnings of tags", "<"),
    ("hidden elements", "<p style='display:none'>"),
    ("comments", "<!--"),
    ("directions", "\u{202e}x"),
];

fn main() {
    let file = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let text = file.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_else(made);
    let scope = Scope::Untrusted;
    let defaults = Filters::default();
    let everything = Filters { personal_data: Treatment::Mask, ..Filters::default() };
    measure("clean, defaults", text.len(), || drop(black_box(clean(&text, &defaults, scope))));
    let whole = measure("clean, personal data masked", text.len(), || drop(black_box(clean(&text, &everything, scope))));
    measure("clean, a file", text.len(), || drop(black_box(clean(&text, &defaults, Scope::Own))));
    measure("scan", text.len(), || drop(black_box(scan(&text))));
    measure("escape", text.len(), || drop(black_box(escape(&text))));
    kinds(ORDINARY, whole);
    kinds(HOSTILE, whole);
}
