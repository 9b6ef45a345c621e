//! The static check against `CPython`'s own reading: over the standard library no program is read in two ways, and none is accepted that
//! `CPython` would read otherwise.
//!
//! Every eighth file by default; `TOOLGATE_STDLIB=all` takes them all. Files that the check refuses by a rule of its own on sources (size,
//! encoding cookie, nesting) are counted and told.
#![expect(clippy::unwrap_used, reason = "a test that measures prints its counts, and its helpers may fail as it does")]

use std::io::Write;
use std::process::{Command, Stdio};

use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal};
use ruff_python_ast::{AnyNodeRef, ExprContext, PySourceType, PythonVersion};
use ruff_python_parser::{ParseOptions, parse_unchecked};
use ruff_text_size::Ranged;
use toolgate_pycheck::{Check, Reason, Rules, Version, check};

/// Names, attributes, imports, calls, definitions, arguments, keywords, captures and string constants of one program, a line each, sorted.
/// Places are lines and bytes; inside an f-string there are none, since `CPython` 3.11 gives them wrongly.
const DUMP: &str = r#"
import ast, json, sys
def dump(tree):
    out = []
    stack = [(tree, False)]
    while stack:
        node, inside = stack.pop()
        kind = type(node)
        at = '' if inside else f'{getattr(node, "lineno", 0)}:{getattr(node, "col_offset", 0)}'
        if kind is ast.Name: out.append(f'N {node.id} {type(node.ctx).__name__} {at}')
        elif kind is ast.Attribute: out.append(f'A {node.attr} {type(node.ctx).__name__} {at}')
        elif kind is ast.Call: out.append(f'C {len(node.args)} {len(node.keywords)} {at}')
        elif kind is ast.alias: out.append(f'I {node.name} {node.asname or "-"} {at}')
        elif kind is ast.ImportFrom: out.append(f'F {node.module or "-"} {node.level or 0} {at}')
        elif kind in (ast.FunctionDef, ast.AsyncFunctionDef): out.append(f'D {node.name}')
        elif kind is ast.ClassDef: out.append(f'K {node.name}')
        elif kind is ast.arg: out.append(f'P {node.arg} {at}')
        elif kind is ast.keyword: out.append(f'W {node.arg or "**"} {at}')
        elif kind in (ast.Global, ast.Nonlocal): out.extend(f'G {name}' for name in node.names)
        elif kind is ast.ExceptHandler: out.append(f'E {node.name or "-"} {at}')
        elif kind in (ast.MatchAs, ast.MatchStar): out.append(f'M {node.name or "-"}')
        elif kind is ast.MatchMapping: out.append(f'M {node.rest or "-"}')
        elif kind is ast.MatchClass: out.extend(f'm {name}' for name in node.kwd_attrs)
        elif kind is ast.Constant and isinstance(node.value, str) and not inside:
            text = node.value
            if text.isprintable() and text.isascii(): out.append(f'S {text} {at}')
        inside = inside or kind is ast.JoinedStr
        stack.extend((child, inside) for child in ast.iter_child_nodes(node))
    out.sort()
    return '\n'.join(out)
for line in sys.stdin:
    path = json.loads(line)
    with open(path, 'rb') as file: source = file.read()
    try: told = dump(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError): told = None
    print(json.dumps(told), flush=True)
"#;

/// The same of our parser's tree.
struct Dump<'s> {
    lines: Vec<String>,
    starts: &'s [usize],
    inside: usize,
}

impl<'a> SourceOrderVisitor<'a> for Dump<'_> {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        let start = node.range().start().to_usize();
        let line = self.starts.partition_point(|known| *known <= start);
        let at = if self.inside > 0 { String::new() } else { format!("{line}:{}", start - self.starts.get(line - 1).unwrap()) };
        let optional = |name: &Option<ruff_python_ast::Identifier>| name.as_ref().map_or("-".to_owned(), std::string::ToString::to_string);
        let context = |ctx: ExprContext| match ctx {
            ExprContext::Load => "Load",
            ExprContext::Store => "Store",
            ExprContext::Del => "Del",
            ExprContext::Invalid => "Invalid",
        };
        match node {
            AnyNodeRef::ExprName(name) => self.lines.push(format!("N {} {} {at}", name.id, context(name.ctx))),
            AnyNodeRef::ExprAttribute(node) => self.lines.push(format!("A {} {} {at}", node.attr, context(node.ctx))),
            AnyNodeRef::ExprCall(call) => {
                self.lines.push(format!("C {} {} {at}", call.arguments.args.len(), call.arguments.keywords.len()));
            }
            AnyNodeRef::Alias(alias) => self.lines.push(format!("I {} {} {at}", alias.name, optional(&alias.asname))),
            AnyNodeRef::StmtImportFrom(from) => self.lines.push(format!("F {} {} {at}", optional(&from.module), from.level)),
            AnyNodeRef::StmtFunctionDef(def) => self.lines.push(format!("D {}", def.name)),
            AnyNodeRef::StmtClassDef(class) => self.lines.push(format!("K {}", class.name)),
            AnyNodeRef::Parameter(parameter) => {
                self.lines.push(format!("P {} {}", parameter.name, self.place(parameter.name.range(), &at)));
            }
            AnyNodeRef::Keyword(keyword) => {
                let name = keyword.arg.as_ref().map_or("**".to_owned(), ToString::to_string);
                self.lines.push(format!("W {name} {at}"));
            }
            AnyNodeRef::StmtGlobal(names) => self.lines.extend(names.names.iter().map(|name| format!("G {name}"))),
            AnyNodeRef::StmtNonlocal(names) => self.lines.extend(names.names.iter().map(|name| format!("G {name}"))),
            AnyNodeRef::ExceptHandlerExceptHandler(handler) => self.lines.push(format!("E {} {at}", optional(&handler.name))),
            AnyNodeRef::PatternMatchAs(pattern) => self.lines.push(format!("M {}", optional(&pattern.name))),
            AnyNodeRef::PatternMatchStar(pattern) => self.lines.push(format!("M {}", optional(&pattern.name))),
            AnyNodeRef::PatternMatchMapping(pattern) => self.lines.push(format!("M {}", optional(&pattern.rest))),
            AnyNodeRef::PatternKeyword(keyword) => self.lines.push(format!("m {}", keyword.attr)),
            AnyNodeRef::ExprStringLiteral(text) if self.inside == 0 => {
                let text = text.value.to_str();
                if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
                    self.lines.push(format!("S {text} {at}"));
                }
            }
            AnyNodeRef::ExprFString(_) => self.inside += 1,
            _ => {}
        }
        TraversalSignal::Traverse
    }

    fn leave_node(&mut self, node: AnyNodeRef<'a>) {
        if matches!(node, AnyNodeRef::ExprFString(_)) {
            self.inside -= 1;
        }
    }
}

impl Dump<'_> {
    /// `*args` begins at its star in one tree and at its name in the other.
    fn place(&self, range: ruff_text_size::TextRange, at: &str) -> String {
        let start = range.start().to_usize();
        let line = self.starts.partition_point(|known| *known <= start);
        if at.is_empty() { String::new() } else { format!("{line}:{}", start - self.starts.get(line - 1).unwrap()) }
    }
}

fn ours(source: &str, version: PythonVersion) -> String {
    let parsed = parse_unchecked(source, ParseOptions::from(PySourceType::Python).with_target_version(version));
    let starts: Vec<usize> = std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut dump = Dump { lines: Vec::new(), starts: &starts, inside: 0 };
    dump.visit_mod(parsed.syntax());
    dump.lines.sort();
    dump.lines.join("\n")
}

#[test]
fn the_standard_library_is_read_as_cpython_reads_it() {
    let ask = "import sys, sysconfig; print(sys.version_info.major, sys.version_info.minor, sysconfig.get_path('stdlib'))";
    let Ok(told) = Command::new("python3").args(["-I", "-c", ask]).output() else {
        println!("skipped: no python3");
        return;
    };
    let told = String::from_utf8(told.stdout).unwrap();
    let mut words = told.trim().splitn(3, ' ');
    let (Some(major), Some(minor), Some(folder)) = (words.next(), words.next(), words.next()) else {
        println!("skipped: no python3 that answers");
        return;
    };
    let (major, minor): (u8, u8) = (major.parse().unwrap(), minor.parse().unwrap());
    let mut files = Vec::new();
    let mut folders = vec![std::path::PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true if !path.ends_with("site-packages") => folders.push(path),
                false if path.extension().is_some_and(|extension| extension == "py") => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    if std::env::var("TOOLGATE_STDLIB").as_deref() != Ok("all") {
        files = files.into_iter().step_by(8).collect();
    }
    let mut child =
        Command::new("python3").args(["-I", "-W", "ignore", "-c", DUMP]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut asked = child.stdin.take().unwrap();
    let paths: String = files.iter().flat_map(|path| [serde_json::json!(path.to_str().unwrap()).to_string(), "\n".to_owned()]).collect();
    let writer = std::thread::spawn(move || asked.write_all(paths.as_bytes()).unwrap());
    let rules = Rules { check: Check::Imports, target: Version { major, minor }, ..Rules::strict(["*"]) };
    let (mut alike, mut by_rule, mut faults) = (0, Vec::new(), Vec::new());
    let answers = std::io::BufReader::new(child.stdout.take().unwrap());
    for (path, answer) in files.iter().zip(std::io::BufRead::lines(answers)) {
        let theirs: Option<String> = serde_json::from_str(&answer.unwrap()).unwrap();
        let report = check(&std::fs::read(path).unwrap(), &rules);
        let name = path.strip_prefix(folder).unwrap().display();
        let own_rule = report.findings.iter().find(|finding| finding.rule.starts_with("source."));
        let syntax = report.findings.iter().any(|finding| finding.reason == Reason::SyntaxError && !finding.rule.starts_with("source."));
        match (theirs, syntax, own_rule) {
            (_, _, Some(finding)) => by_rule.push(format!("{name}: {}", finding.rule)),
            (None, true, None) => alike += 1,
            (None, false, None) => faults.push(format!("{name}: accepted here, refused by CPython")),
            (Some(_), true, None) => faults.push(format!("{name}: refused here, accepted by CPython: {:?}", report.findings.first())),
            (Some(theirs), false, None) => {
                let ours = ours(&report.source, PythonVersion { major, minor });
                if ours == theirs {
                    alike += 1;
                } else {
                    let differ = ours.lines().zip(theirs.lines()).find(|(ours, theirs)| ours != theirs);
                    faults.push(format!("{name}: read otherwise: {differ:?}"));
                }
            }
        }
    }
    writer.join().unwrap();
    assert!(child.wait().unwrap().success());
    println!("{alike} of {} files alike; refused by a rule on sources: {by_rule:?}", files.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(alike > 100 && by_rule.len() * 50 <= files.len(), "{alike} alike, {} by rule", by_rule.len());
}
