//! A day of work: a client drives the built binary with a model that knows only what it was told (`day/model.py`, `day/work.py`), on a small project with the
//! manifest that `init` wrote and the registration that `install` wrote. What came of it is `docs/a-day.md`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::drivers::{PYTHON_2, Process};
use crate::home::{Home, Policy, repository};
use crate::transcript::transcript;

pub(crate) const NAME: &str = "a_day_of_work_goes_through";

/// Questions that a person is put in a day, at most, and steps of it, at least.
const QUESTIONS: usize = 6;
const STEPS: usize = 60;
/// What replaces the transcript instead of comparing it.
const UPDATE: &str = "UPDATE_A_DAY";

fn folder() -> PathBuf {
    repository().join("tests/clients")
}

fn interpreter() -> PathBuf {
    folder().join(".venv-jail/bin/python")
}

/// Why it cannot be played.
pub(crate) fn missing() -> Option<String> {
    let whole = folder().join(PYTHON_2).exists() && interpreter().exists();
    (!whole).then(|| "the client or the packages of programs are not installed; `./check --setup` installs them".to_owned())
}

pub(crate) fn spend() {
    // A machine that is busy with other tests may need more than a program's time for a plot: then the day is begun anew.
    let is_slow =
        |day: &Value| day["steps"].as_array().unwrap().iter().any(|step| text(step).contains("the program was stopped at its wall limit"));
    let played = (0..3).map(|_| play()).find(|(_, day)| !is_slow(day));
    let (home, day) = played.expect("no program hits its wall limit in three days");
    let steps = day["steps"].as_array().unwrap();
    assert_eq!(day["fault"], Value::Null, "{:#?}", &steps[steps.len().saturating_sub(3)..]);
    assert!(steps.len() >= STEPS, "{} steps", steps.len());
    // The model reads a whole answer of each call; none of them is a refusal or a failure.
    for step in steps {
        assert_eq!(step["is_error"], false, "{step:#}");
    }
    let questions: Vec<&Value> = steps.iter().flat_map(|step| step["questions"].as_array().unwrap()).collect();
    assert!(!questions.is_empty() && questions.len() <= QUESTIONS, "{questions:#?}");
    what_was_done(&home, steps);
    what_was_told(&day, steps);
    home.verify();
    let written = transcript(&day, &home.path("").display().to_string());
    let file = repository().join("docs/a-day.md");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, &written).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let other = kept.lines().zip(written.lines()).enumerate().find(|(_, (kept, new))| kept != new);
    assert!(kept == written, "docs/a-day.md is another day, first at {other:#?}; {UPDATE}=1 writes this one there");
}

/// One day in a fresh folder.
fn play() -> (Home, Value) {
    let home = Home::new(Policy::default());
    let project = home.path("orchard");
    copy(&folder().join("day/project"), &project);
    for (path, text) in [(".env", "TOKEN=swordfish\n"), (".gitignore", "build/\n__pycache__/\n"), ("build/out.log", "built\n")] {
        let path = project.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let site = format!("http://127.0.0.1:{}", site());
    let run = |arguments: &[&str]| {
        let out = home.toolgate(arguments).current_dir(&project).output().unwrap();
        assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    };
    let interpreter = interpreter();
    let interpreter = interpreter.to_str().unwrap();
    run(&["init", "--yes", "--interpreter", interpreter, "--import", "pandas", "--import", "matplotlib", "--allow", &site]);
    run(&["install", "claude-code", "--write"]);
    let manifest = std::fs::read_to_string(project.join("tools.toml")).unwrap();
    // As the client starts it.
    let registered: Value = serde_json::from_str(&std::fs::read_to_string(project.join(".mcp.json")).unwrap()).unwrap();
    let server = &registered["mcpServers"]["toolgate"];
    let task = std::fs::read_to_string(folder().join("day/task.txt")).unwrap().replace("{site}", &site);
    let script = json!({
        "command": server["command"],
        "args": server["args"],
        "env": home.environment().into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "cwd": project,
        "mode": "legacy",
        "task": task,
    });
    let mut command = Command::new(folder().join(PYTHON_2));
    command.args(["-B", "model.py"]).current_dir(folder().join("day"));
    let day = Process::start(command).play(&script, Duration::from_mins(10));
    assert!(!day["steps"].as_array().unwrap().is_empty(), "{day}");
    assert_eq!(std::fs::read_to_string(project.join("tools.toml")).unwrap(), manifest, "the manifest is as `init` wrote it");
    (home, day)
}

/// The work is done: in the files, and in the answers that show it.
fn what_was_done(home: &Home, steps: &[Value]) {
    let file = |path: &str| home.read(&format!("orchard/{path}"));
    assert!(file("src/harvest/money.py").contains("Decimal(text)") && file("tests/test_money.py").contains("0.29"));
    for path in ["src/harvest/__init__.py", "src/harvest/basket.py", "src/harvest/report.py", "tests/test_basket.py", "docs/guide.md"] {
        assert!(file(path).contains("sum_up") && !file(path).contains("total"), "{path}");
    }
    assert!(file("pyproject.toml").contains("1.1.0") && file("docs/changes.md").contains("## 1.1.0"));
    assert!(file("docs/sales.md").contains("| 2026-06 | 189.89 |") && file("docs/prices.md").contains("| pear | 0.35 | 0.33 |"));
    assert!(file("docs/notes/ideas.txt").contains("pears") && !home.path("orchard/ideas.txt").exists());
    assert!(!home.path("orchard/scripts").exists() && home.path("orchard/.env").exists());
    assert!(std::fs::read(home.path("orchard/docs/monthly.png")).unwrap().starts_with(b"\x89PNG"));
    assert!(file("data/monthly.csv").starts_with("date,amount\n2026-06,189.89\n"));
    let of = |tool: &str| steps.iter().filter(|step| step["tool"] == tool).collect::<Vec<_>>();
    let edited: BTreeSet<&str> = of("edit_file").iter().map(|step| step["arguments"]["path"].as_str().unwrap()).collect();
    assert!(edited.len() >= 6, "{edited:?}");
    let drawn = of("run_python").into_iter().find(|step| step["arguments"]["code"].as_str().unwrap().contains("savefig")).unwrap();
    assert_eq!(drawn["pictures"].as_array().unwrap().len(), 1, "{drawn}");
    assert!(of("run_python").iter().filter(|step| text(step).contains("\nOK\n")).count() >= 3, "the tests of the project run");
    for tool in ["search_files", "fetch", "move_file", "create_directory", "delete_file", "write_file"] {
        assert!(!of(tool).is_empty(), "{tool}");
    }
    assert!(steps.iter().all(|step| !step.to_string().contains("swordfish")));
}

/// Each name of a call stands in the texts that are said to have told it, all of which came before.
fn what_was_told(day: &Value, steps: &[Value]) {
    const OWN: [&str; 9] = ["content", "new_text", "code", "query", "glob", "depth", "limit", "recursive", "edits"];
    for (at, step) in steps.iter().enumerate() {
        let sources = step["sources"].as_object().unwrap();
        let named = step["arguments"].as_object().unwrap().iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
        for (name, value) in named {
            let value = value.as_str().unwrap();
            let parts: Vec<&str> = sources[name].as_str().unwrap_or_else(|| panic!("{step}")).split(" and ").collect();
            let told = |part: &str| {
                let number = part.strip_prefix("answer ").map(|number| number.parse::<usize>().unwrap());
                assert!(number.is_none_or(|number| number <= at), "{step}");
                day["told"][part].as_str().unwrap_or_else(|| panic!("{part} was not told"))
            };
            let held = |name: &str| parts.iter().any(|part| told(part).contains(name));
            let (above, last) = value.rsplit_once('/').unwrap_or(("", value));
            assert!(held(value) || (held(above) && held(last)), "{value}: {step}");
        }
        for (place, source) in sources.iter().filter(|(place, _)| place.contains(".old_text") || place.starts_with("code: ")) {
            assert!(day["told"].get(source.as_str().unwrap().split(" and ").next().unwrap()).is_some(), "{place}: {step}");
        }
    }
}

pub(crate) fn text(step: &Value) -> &str {
    step["text"].as_str().unwrap()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            std::fs::copy(&from, &to).unwrap();
        }
    }
}

/// A site with one page and no robots.txt; gives its port.
fn site() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let mut page = String::new();
            if request.starts_with(b"GET /prices ") {
                let rows = [("apple", "0.31"), ("pear", "0.33"), ("plum", "0.15"), ("cherry", "0.08")];
                let rows: String = rows.map(|(fruit, price)| format!("<tr><td>{fruit}</td><td>{price}</td></tr>")).concat();
                let _ = write!(
                    page,
                    "<html><head><title>Prices</title></head><body><nav>Home</nav><article><h1>Prices of the week</h1><p>What members of the \
                     cooperative ask for one piece, in this and the next week.</p><table><tr><th>fruit</th><th>price</th></tr>{rows}</table></article></body></html>"
                );
            }
            let status = if page.is_empty() { "404 Not Found" } else { "200 OK" };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", page.len());
            let _ = stream.write_all((head + &page).as_bytes());
        }
    });
    port
}
