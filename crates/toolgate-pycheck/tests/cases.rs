//! The static check against the shared cases, `CPython`'s own parser, and arbitrary text.
#![expect(clippy::print_stdout, clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests; what is skipped says why")]

use std::collections::BTreeSet;
use std::path::PathBuf;

use toolgate_pycheck::{Rules, Verdict, check};

/// The folder of the shared cases: `$TOOLGATE_CASES`, else beside the repository.
fn cases() -> Option<PathBuf> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let candidates =
        [std::env::var_os("TOOLGATE_CASES").map(PathBuf::from), Some(here.join("../shared/cases")), Some(here.join("../../shared/cases"))];
    let found = candidates.into_iter().flatten().map(|folder| folder.join("python")).find(|folder| folder.is_dir());
    if found.is_none() {
        println!("skipped: no cases at $TOOLGATE_CASES or ../shared/cases");
    }
    found
}

fn rules(folder: &std::path::Path) -> Rules {
    let policy: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(folder.join("policy.json")).unwrap()).unwrap();
    let imports: BTreeSet<String> =
        policy["allowed_imports"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    Rules::strict(imports)
}

fn lines(folder: &std::path::Path, name: &str) -> Vec<serde_json::Value> {
    std::fs::read_to_string(folder.join(name)).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_hostile_case_that_reading_can_stop_is_refused() {
    let Some(folder) = cases() else { return };
    let rules = rules(&folder);
    let hostile: Vec<_> = lines(&folder, "hostile.jsonl").into_iter().filter(|case| case["expected"] == "static").collect();
    let missed: Vec<String> = hostile
        .iter()
        .filter(|case| check(case["code"].as_str().unwrap().as_bytes(), &rules).verdict != Verdict::Deny)
        .map(|case| format!("{} {}\n{}", case["id"], case["technique"], case["code"].as_str().unwrap()))
        .collect();
    println!("refused {} of {}", hostile.len() - missed.len(), hostile.len());
    assert!(missed.is_empty(), "{}", missed.join("\n---\n"));
}

#[test]
fn hardly_any_ordinary_program_is_refused() {
    let Some(folder) = cases() else { return };
    let rules = rules(&folder);
    let benign = lines(&folder, "benign.jsonl");
    let refused: Vec<String> = benign
        .iter()
        .filter_map(|case| {
            let report = check(case["code"].as_str().unwrap().as_bytes(), &rules);
            let finding = report.refusal()?;
            Some(format!(
                "{} {}:{} {} {}\n    {}",
                case["id"], finding.line, finding.column, finding.rule, finding.message, finding.source_line
            ))
        })
        .collect();
    println!("refused {} of {}", refused.len(), benign.len());
    for line in &refused {
        println!("{line}");
    }
    assert!(refused.len() * 1000 <= benign.len() * 2, "{}", refused.join("\n"));
}

/// The interpreter to compare with, if there is one.
fn python() -> Option<&'static str> {
    let found = std::process::Command::new("python3").args(["-I", "-c", "pass"]).output().is_ok_and(|output| output.status.success());
    if !found {
        println!("skipped: no python3");
    }
    found.then_some("python3")
}

fn run(interpreter: &str, program: &str, input: &str) -> String {
    use std::io::Write;
    let mut child = std::process::Command::new(interpreter)
        .args(["-I", "-S", "-B", "-c", program])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs `program` behind the hook, as the jail does.
fn hooked(interpreter: &str, rules: &Rules, program: &str) -> String {
    let boot = "import sys, json\nhook, source = json.loads(sys.stdin.read())\nspace = {}\nexec(hook, space)\nevents = []\nprogram = sys.modules['__main__'].__dict__\nspace['guard'](program, lambda event, detail: events.append(event))\nimport atexit\natexit.register(lambda: print('events', events))\nexec(compile(source, '<program>', 'exec'), program)\n";
    run(interpreter, boot, &serde_json::json!([toolgate_pycheck::import_hook(rules), program]).to_string())
}

#[test]
fn the_hook_holds_the_allowlist_where_a_name_is_worked_out_at_run_time() {
    let Some(interpreter) = python() else { return };
    let rules = Rules::strict(["json", "collections", "statistics", "datetime", "dataclasses"]);
    for (program, expected) in [
        (
            "print.__self__; import os",
            "`os` is not on the import allowlist; allowed modules: collections, dataclasses, datetime, json, statistics",
        ),
        ("from json import codecs", "`codecs` is not on the import allowlist"),
        ("import json.tool", "`json.tool` is not on the import allowlist"),
        ("from json import tool", "ImportError"),
        ("from . import x", "a relative import has nothing to start from"),
        ("def f():\n    import subprocess\nf()", "`subprocess` is not on the import allowlist"),
        ("eval('1')", "name 'eval' is not defined"),
        ("getattr(print, '__self__').__import__('os').system('true')", "events ['os.system']"),
    ] {
        let output = hooked(interpreter, &rules, program);
        assert!(output.contains(expected), "{program}\n{output}");
    }
    let ordinary = "import json, statistics as s, collections.abc\nfrom collections import abc, namedtuple\nfrom datetime import datetime\nfrom dataclasses import dataclass\nfrom json.decoder import *\n@dataclass\nclass A:\n    x: int\nprint(json.dumps([1]), s.mean([1, 2]), namedtuple('P', 'x y')(1, 2), A(1), datetime.strptime('2020', '%Y').year, abc.Mapping.__name__)\n1 / 0\n";
    let output = hooked(interpreter, &rules, ordinary);
    assert!(output.contains("[1] 1.5 P(x=1, y=2) A(x=1) 2020 Mapping"), "{output}");
    assert!(
        output.contains("File \"<program>\", line 10")
            && output.contains("ZeroDivisionError: division by zero")
            && output.contains("events []"),
        "{output}"
    );
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    /// Text that looks like Python often enough to reach the rules.
    #[expect(clippy::too_many_lines, reason = "a table is as long as it has rows")]
    fn programs() -> impl Strategy<Value = String> {
        let word = prop::sample::select(vec![
            "import ",
            "from ",
            "json",
            "os",
            "math",
            ".",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            ":",
            "\n",
            "\n    ",
            "    ",
            "class A",
            "def f",
            "lambda x",
            "=",
            ":=",
            ",",
            "'",
            "\"",
            "f'",
            "f\"",
            "{x",
            "!r",
            "#",
            "\\",
            "eval",
            "exec",
            "type",
            "getattr",
            "__class__",
            "_x",
            "self",
            "match x",
            "case ",
            "for x in ",
            "if ",
            "else",
            "try",
            "except E as e",
            "global x",
            "del x",
            "with a as b",
            "async ",
            "await ",
            "yield ",
            "*",
            "**",
            "@",
            "->",
            "0",
            "1e9",
            "𝐞val",
            "\u{feff}",
            "\r",
            "\t",
            "\x0c",
            "super()",
            "__dict__",
            "format",
            "dataclass",
            "Enum",
            "copy",
            "not ",
            "in ",
            "is ",
            "%",
            "+",
            "|",
            "type X",
            "T",
            ";",
            "return ",
            "pass",
            "nonlocal y",
            "obj",
            "\0",
            "é",
        ]);
        prop_oneof![
            prop::collection::vec(word, 0..60).prop_map(|words| words.concat()),
            any::<String>(),
            prop::collection::vec(any::<u8>(), 0..80).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_gets_a_verdict_and_its_findings_are_sorted(text in programs()) {
            let report = check(text.as_bytes(), &Rules::strict(["json", "math", "functools", "typing", "dataclasses", "enum", "copy"]));
            prop_assert!(report.findings.len() <= toolgate_pycheck::MAX_FINDINGS);
            prop_assert!(report.findings.is_sorted_by_key(|finding| (finding.line, finding.column)));
            for finding in &report.findings {
                let line = report.source.split('\n').nth(finding.line as usize - 1).unwrap_or_default();
                prop_assert!(finding.column as usize <= line.chars().count() + 1);
                prop_assert!(!finding.message.is_empty() && !finding.hint.is_empty());
            }
            // What was judged is judged alike again: it is the form that runs.
            if !report.source.is_empty() {
                let again = check(report.source.as_bytes(), &Rules::strict(["json", "math", "functools", "typing", "dataclasses", "enum", "copy"]));
                prop_assert_eq!(&again, &report);
            }
        }

        #[test]
        fn one_more_import_never_makes_a_verdict_stricter(text in programs(), base in prop::collection::btree_set(prop::sample::select(vec!["json", "math", "os", "typing", "numpy", "json.decoder", "copy", "enum"]), 0..4), more in prop::sample::select(vec!["json", "math", "os", "typing", "numpy", "json.scanner", "*", "copy", "enum", "functools"])) {
            let before = check(text.as_bytes(), &Rules::strict(base.iter().copied()));
            let after = check(text.as_bytes(), &Rules::strict(base.iter().copied().chain([more])));
            prop_assert!(after.verdict <= before.verdict, "{:?}\n{:?}", before.findings, after.findings);
        }
    }
}

/// Prints a canonical dump of what each file of a list binds, reads, imports and calls, as `CPython`'s own parser sees it.
const DUMP: &str = r#"
import ast, json, sys, warnings
warnings.simplefilter("ignore")
for path in sys.stdin.read().split("\n"):
    with open(path, "rb") as file:
        raw = file.read()
    try:
        text = raw.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        print(json.dumps(None))
        continue
    names, attributes, imports = [], [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names.append(node.id)
        elif isinstance(node, ast.Attribute):
            attributes.append(node.attr)
        elif isinstance(node, ast.Import):
            imports += [[alias.name, alias.asname or ""] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports += [["." * node.level + (node.module or "") + ":" + alias.name, alias.asname or ""] for alias in node.names]
    print(json.dumps([sorted(names), sorted(attributes), sorted(imports)]))
"#;

/// The same dump from the parser the check uses.
fn dump(source: &str) -> Option<serde_json::Value> {
    use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
    use ruff_python_ast::{Expr, Stmt};
    #[derive(Default)]
    struct Lists {
        names: Vec<String>,
        attributes: Vec<String>,
        imports: Vec<[String; 2]>,
    }
    impl<'a> Visitor<'a> for Lists {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            let alias = |module: String, alias: &ruff_python_ast::Alias| {
                [module + &alias.name, alias.asname.as_ref().map(ToString::to_string).unwrap_or_default()]
            };
            match stmt {
                Stmt::Import(node) => self.imports.extend(node.names.iter().map(|name| alias(String::new(), name))),
                Stmt::ImportFrom(node) => {
                    let module = format!(
                        "{}{}:",
                        ".".repeat(node.level as usize),
                        node.module.as_ref().map(ToString::to_string).unwrap_or_default()
                    );
                    self.imports.extend(node.names.iter().map(|name| alias(module.clone(), name)));
                }
                _ => {}
            }
            walk_stmt(self, stmt);
        }
        fn visit_expr(&mut self, expr: &'a Expr) {
            match expr {
                Expr::Name(node) => self.names.push(node.id.to_string()),
                Expr::Attribute(node) => self.attributes.push(node.attr.to_string()),
                _ => {}
            }
            walk_expr(self, expr);
        }
    }
    let parsed = ruff_python_parser::parse_module(source).ok()?;
    let mut lists = Lists::default();
    lists.visit_body(parsed.suite());
    lists.names.sort();
    lists.attributes.sort();
    lists.imports.sort();
    Some(serde_json::json!([lists.names, lists.attributes, lists.imports]))
}

#[test]
fn the_standard_library_reads_as_in_cpython() {
    let Some(interpreter) = python() else { return };
    let list = "import os, sys\nfor folder, _, files in os.walk(os.path.dirname(os.__file__)):\n    if 'site-packages' in folder or 'bad' in folder: continue\n    for file in files:\n        if file.endswith('.py'): print(os.path.join(folder, file))";
    let listed = run(interpreter, list, "");
    let mut files: Vec<&str> = listed.lines().collect();
    files.sort_unstable();
    // Every seventh file keeps the run short and still meets every folder.
    let sample: Vec<&str> = files.into_iter().step_by(7).collect();
    let dumps = run(interpreter, DUMP, &sample.join("\n"));
    let (mut compared, mut different) = (0, Vec::new());
    for (path, theirs) in sample.iter().zip(dumps.lines()) {
        let Ok(theirs) = serde_json::from_str::<serde_json::Value>(theirs) else { continue };
        let Ok(bytes) = std::fs::read(path) else { continue };
        let report = check(&bytes, &Rules { check: toolgate_pycheck::Check::Off, ..Rules::default() });
        // What we refuse is safe, whatever CPython makes of it.
        let Some(ours) = dump(&report.source).filter(|_| report.verdict == Verdict::Allow) else { continue };
        compared += 1;
        if !theirs.is_null() && ours != theirs {
            different.push(*path);
        }
    }
    println!("compared {compared} files");
    assert!(compared > 50, "{dumps}");
    assert!(different.is_empty(), "{different:?}");
}
