//! How fast the static check reads: microseconds for 100 lines, megabytes per second, and the worst small program.
//! Aims: 100 µs for 100 lines, 50 MB/s over the standard library's sources, 2 ms for any program under 10 KB.
#![expect(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::unwrap_used,
    reason = "a measurement prints, reads sources and may fail"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use toolgate_pycheck::{MAX_SOURCE, Rules, check};

fn best(rounds: usize, mut work: impl FnMut()) -> Duration {
    (0..rounds)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .min()
        .unwrap()
}

fn main() {
    let rules = Rules::strict(["math", "json", "re", "collections", "itertools", "functools", "dataclasses", "typing"]);
    let program = hundred_lines();
    let lines = program.lines().count();
    let time = best(300, || drop(black_box(check(program.as_bytes(), &rules))));
    println!("{lines} lines: {:.0} µs (aim 100)", time.as_secs_f64() * 1e6);

    let sources = standard_library();
    let bytes: usize = sources.iter().map(Vec::len).sum();
    if bytes == 0 {
        println!("no python3: the standard library is not measured");
    } else {
        let time = best(3, || sources.iter().for_each(|source| drop(black_box(check(source, &rules)))));
        println!(
            "standard library: {} files, {:.1} MB, {:.0} MB/s (aim 50)",
            sources.len(),
            bytes as f64 / 1e6,
            bytes as f64 / 1e6 / time.as_secs_f64()
        );
    }

    let mut worst = (Duration::ZERO, "");
    for (name, program) in hostile() {
        let program: String = program.chars().take(10_000).collect();
        let time = best(3, || drop(black_box(check(program.as_bytes(), &rules))));
        println!("  {name}: {:.0} µs", time.as_secs_f64() * 1e6);
        worst = worst.max((time, name));
    }
    println!("worst program under 10 KB: {:.2} ms, {} (aim 2)", worst.0.as_secs_f64() * 1e3, worst.1);
    for (name, program) in hostile() {
        let time = best(1, || drop(black_box(check(program.as_bytes(), &rules))));
        println!("  {name} at {} KiB: {:.1} ms", program.len() / 1024, time.as_secs_f64() * 1e3);
    }
}

fn hundred_lines() -> String {
    let part = "from dataclasses import dataclass\nimport math\n\n@dataclass\nclass Point:\n    x: float\n    y: float = 0.0\n\n    def length(self) -> float:\n        return math.sqrt(self.x ** 2 + self.y ** 2)\n\ndef mean(values: list[float]) -> float:\n    total = 0.0\n    for index, value in enumerate(values):\n        if value is None or index > 1_000_000:\n            continue\n        total += value\n    return total / max(len(values), 1)\n\nresults = {f\"{n:>4}\": mean([p.length() for p in (Point(n, 1), Point(1, n))]) for n in range(10)}\nfor name, value in sorted(results.items(), key=lambda item: item[1]):\n    print(f\"{name}: {value:.3f}\".strip(), end=\"\\n\")\n\n# comment\nassert results\n";
    part.repeat(4)
}

fn standard_library() -> Vec<Vec<u8>> {
    let output = std::process::Command::new("python3").args(["-I", "-c", "import os; print(os.path.dirname(os.__file__))"]).output();
    let Ok(output) = output else { return Vec::new() };
    let mut folders = vec![std::path::PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("site-packages") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "py") {
                sources.extend(std::fs::read(&path).ok().filter(|source| source.len() < MAX_SOURCE));
            }
        }
    }
    sources
}

fn hostile() -> Vec<(&'static str, String)> {
    let size = 250_000;
    let repeat = |text: &str| text.repeat(size / text.len());
    vec![
        ("open brackets", repeat("(")),
        ("attributes", repeat("a.b.c.d.e.f.g.h.i\n")),
        ("long chains", format!("x{}\n", ".a".repeat(900)).repeat(size / 1802)),
        ("one name, rebound", repeat("x=x\n")),
        ("one module, rebound", repeat("import json as x;x.a\n")),
        ("refused names", repeat("eval\n")),
        ("type calls", repeat("type(x)\n")),
        ("classes", repeat("class A(A):x=1\n")),
        ("patterns", format!("match x:\n{}", " case A(b):pass\n".repeat(size / 16))),
        ("nested specifications", format!("f'{}'\n", "{x:".repeat(150) + &"}".repeat(150)).repeat(size / 608)),
        ("format strings", format!("'a'.format;{}", repeat("'{a.b.c';"))),
        ("braces", format!("'a'.format;'{}'", "{.".repeat(size / 2))),
        ("string annotations", repeat("a:'b.c'\n")),
        ("lambdas", repeat("lambda a:lambda b:0\n")),
        ("nested functions", repeat("def f(x=f):\n def g():return f\n")),
        ("syntax errors", repeat("x = = 1\n")),
        ("continuations", repeat("\\\n")),
        ("globals", repeat("def f():\n global x;x=x\n")),
        ("deletions", repeat("del x,y\nx.obj\n")),
        ("setattr", repeat("super().__setattr__(a,b)\n")),
        ("enumerations", format!("import enum\n{}", repeat("class A(enum.Enum):x=1\n"))),
    ]
}
