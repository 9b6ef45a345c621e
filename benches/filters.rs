//! How fast the filters read: `cargo bench --bench filters [FILE]`. The bar is 20 MB/s for `clean` as the manifest's
//! defaults set it. Without a file the text is made here: prose, code, numbers, addresses and other scripts.

#![expect(clippy::print_stdout, clippy::cast_precision_loss, reason = "a measuring program prints its numbers")]

use std::hint::black_box;
use std::time::Instant;

use toolgate::filter::{Origin, Settings, Treatment, clean, escape, scan, scan_html};

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

fn measure(name: &str, bytes: usize, mut work: impl FnMut()) {
    work();
    let mut best = f64::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{name:<28} {:>8.1} MB/s", bytes as f64 / 1e6 / best);
}

fn main() {
    let file = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let text = file.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_else(made);
    let origin = Origin::Untrusted { source: "bench", delimiter: "k3J9xQ" };
    let defaults = Settings::default();
    let everything = Settings { personal_data: Treatment::Mask, ..Settings::default() };
    measure("clean, defaults", text.len(), || drop(black_box(clean(&text, &defaults, origin))));
    measure("clean, personal data masked", text.len(), || drop(black_box(clean(&text, &everything, origin))));
    measure("clean, a file", text.len(), || drop(black_box(clean(&text, &defaults, Origin::File))));
    measure("scan", text.len(), || drop(black_box(scan(&text))));
    measure("scan_html", text.len(), || drop(black_box(scan_html(&text))));
    measure("escape", text.len(), || drop(black_box(escape(&text))));
}
