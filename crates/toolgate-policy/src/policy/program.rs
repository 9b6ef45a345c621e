//! Line 10: the static check of Python, under the manifest.

use std::collections::BTreeSet;

use toolgate_pycheck::{self as python, Check, Finding, Imports, Reason, Rules, Severity, Verdict};

use crate::manifest::{self, Python};
use crate::model::{Code, Refusal};

/// What the static check made of a program that it lets through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The source that was judged; exactly this must run.
    pub source: String,
    /// What is worth knowing before it runs, a line each.
    pub warnings: Vec<String>,
}

/// The walls that must be proven for `check = "imports"`: with all of them, what a program may import decides little about what it can reach.
pub const WALLS: [&str; 3] = ["filesystem", "network", "syscalls"];

/// Whether each program runs behind all of [`WALLS`] or not at all, because the manifest requires them.
pub fn requires_walls(python: &Python) -> bool {
    WALLS.iter().all(|wall| python.require.iter().any(|layer| layer == wall))
}

/// The first of [`WALLS`] that is not `on`, in words. `state` tells what a wall is on this machine.
pub fn lacking_wall<'s>(state: impl Fn(&str) -> Option<&'s str>) -> Option<String> {
    WALLS.iter().find_map(|wall| match state(wall) {
        Some("on") => None,
        other => Some(format!("the wall `{wall}` is not proven: {}", other.unwrap_or("off"))),
    })
}

/// The rules of the check, as the manifest has them.
pub fn rules(python: &Python) -> Rules {
    let names = |list: &[String]| list.iter().cloned().collect();
    Rules {
        check: match python.check {
            manifest::Check::Strict => Check::Strict,
            manifest::Check::Imports => Check::Imports,
            manifest::Check::Off => Check::Off,
        },
        imports: if python.allowed_imports.iter().any(|name| name == "*") {
            Imports::All
        } else {
            Imports::Listed(python.allowed_imports.iter().chain(&python.installed).cloned().collect())
        },
        modules: (python.check == manifest::Check::Imports && !python.roots.is_empty()).then(BTreeSet::new),
        allowed_calls: names(&python.allowed_calls),
        allowed_attributes: names(&python.allowed_attributes),
        ..Rules::default()
    }
}

/// The same where a wall is not proven: `imports` is `strict`.
pub fn rules_without_a_wall(python: &Python) -> Rules {
    let rules = rules(python);
    Rules { check: if rules.check == Check::Imports { Check::Strict } else { rules.check }, modules: None, ..rules }
}

/// The modules that may be looked for in roots for one program.
const MOST_MODULES: usize = 64;

/// The top-level modules that a program imports and the manifest does not allow, where modules of roots may be imported: which of them are modules
/// of a root is to be looked for, and is a fact for [`check`]. At most 64; each is a plain name.
pub fn modules_to_look_for(python: &Python, lacking: Option<&str>, code: &str) -> BTreeSet<String> {
    let rules = rules(python);
    if lacking.is_some() || rules.modules.is_none() {
        return BTreeSet::new();
    }
    let is_plain = |name: &String| name.chars().all(|c| c == '_' || c.is_alphanumeric()) && !rules.allows_import(name);
    python::imports(code).into_iter().filter(is_plain).take(MOST_MODULES).collect()
}

/// Checks a program. `lacking`: the wall that this machine does not hold, in words, where `imports` has to act as `strict`. `has_input`: the call
/// gives standard input, so that `input` reads what is there and waits for nothing. `modules`: those of [`modules_to_look_for`] that are modules of
/// a root which the program sees.
///
/// # Errors
/// `import_not_allowed`, `code_forbidden`, `syntax_error`: the first finding's code, and all findings in the message; each missing module once.
pub fn check(python: &Python, lacking: Option<&str>, code: &str, has_input: bool, modules: &BTreeSet<String>) -> Result<Program, Refusal> {
    let mut rules = if lacking.is_some() { rules_without_a_wall(python) } else { rules(python) };
    if let Some(known) = &mut rules.modules {
        known.clone_from(modules);
    }
    if has_input {
        rules.allowed_calls.insert("input".to_owned());
    }
    let report = python::check(code.as_bytes(), &rules);
    let of = |severity| report.findings.iter().filter(move |finding| finding.severity == severity);
    if report.verdict == Verdict::Deny {
        let Some(first) = of(Severity::Deny).next() else {
            return Err(Refusal::new(Code::CodeForbidden, "the program is refused by the static check"));
        };
        let (mut hints, mut modules) = (BTreeSet::new(), BTreeSet::new());
        // A module that is missing in ten places is missing once.
        let told = of(Severity::Deny).filter(|finding| finding.module.as_ref().is_none_or(|module| modules.insert(module)));
        let lines: Vec<String> = told.map(|finding| line(finding, hints.insert(&finding.hint))).collect();
        let why = lacking.map(|wall| format!("\n  (`check = \"imports\"` acts as `strict` on this machine: {wall})")).unwrap_or_default();
        let message = format!("the static check refuses the program, and nothing ran:\n{}{why}\n", lines.join("\n"));
        let missing = missing(&report.findings);
        let add = if missing.iter().all(|module| python::is_standard_module(module)) { "" } else { ADD };
        let hint = format!("change what is named and send the program again{add}");
        let mut refusal = Refusal::new(code_of(first.reason), message).rule("python").hint(hint);
        refusal.imports = missing.into();
        return Err(refusal);
    }
    let warnings = of(Severity::Warn).map(|finding| line(finding, true)).collect();
    Ok(Program { source: report.source, warnings })
}

/// How a package comes to programs.
const ADD: &str =
    "; to add a package, a person names it in `[python] packages` of tools.toml, runs `toolgate packages sync` and restarts the server";

/// The modules that a program imports and the allowlist lacks, each once, in the order of the program. Of packages from outside the standard
/// library it is the package, which opens its public modules.
pub fn missing_imports(python: &Python, code: &str) -> Vec<String> {
    missing(&python::check(code.as_bytes(), &rules(python)).findings)
}

fn missing(findings: &[Finding]) -> Vec<String> {
    let mut missing = Vec::new();
    for module in findings.iter().filter_map(|finding| finding.module.as_deref()) {
        let module = if python::is_standard_module(module) { module } else { module.split('.').next().unwrap_or_default() };
        if !missing.iter().any(|known| known == module) {
            missing.push(module.to_owned());
        }
    }
    missing
}

const fn code_of(reason: Reason) -> Code {
    match reason {
        Reason::SyntaxError => Code::SyntaxError,
        Reason::ImportNotAllowed => Code::ImportNotAllowed,
        Reason::CodeForbidden => Code::CodeForbidden,
    }
}

/// One finding: where, what, what to write instead where an earlier one has not said it, and below it the line of the program.
fn line(finding: &Finding, with_hint: bool) -> String {
    /// Enough of a line to know it again, in code points.
    const SHOWN: usize = 100;
    let message = toolgate_filter::escape_line(&finding.message);
    let hint = if with_hint { format!("; {}", toolgate_filter::escape_line(&finding.hint)) } else { String::new() };
    let source = finding.source_line.trim();
    let more = if source.chars().nth(SHOWN).is_some() { "…" } else { "" };
    let source: String = source.chars().take(SHOWN).collect();
    let source = toolgate_filter::escape_line(&source);
    let place = format!("  line {}, column {} [{}]", finding.line, finding.column, finding.rule);
    if source.is_empty() { format!("{place}: {message}{hint}") } else { format!("{place}: {message}{hint}\n    | {source}{more}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Code;

    #[test]
    fn all_findings_are_told_at_once_and_what_passes_is_what_runs() {
        let python = Python { allowed_imports: vec!["math".to_owned()], ..Python::default() };
        let refusal = check(&python, None, "import os\nimport math\nimport socket\nimport os\n", false, &BTreeSet::new()).unwrap_err();
        assert_eq!(refusal.code, Code::ImportNotAllowed);
        assert!(refusal.message.contains("line 1") && refusal.message.contains("line 3"), "{refusal}");
        assert!(refusal.message.contains("\n    | import socket\n"), "{refusal}");
        assert_eq!(refusal.message.matches("`os` is not on the import allowlist").count(), 1, "{refusal}");
        assert_eq!(*refusal.imports, ["os", "socket"]);
        assert_eq!(refusal.message.matches("allowed modules: math").count(), 1, "{refusal}");
        assert_eq!(
            missing_imports(&python, "import os.path\nfrom numpy import linalg\nimport os.path, math\nimport numpy.fft\n"),
            ["os.path", "numpy"]
        );
        let program = check(&python, None, "import math\r\nprint(math.pi)\r\n", false, &BTreeSet::new()).unwrap();
        assert_eq!(program.source, "import math\nprint(math.pi)\n");
    }

    #[test]
    fn input_is_read_where_the_call_gives_some() {
        let python = Python::default();
        let code = "name = input()\nprint(name)\n";
        assert!(check(&python, None, code, true, &BTreeSet::new()).is_ok());
        let refusal = check(&python, None, code, false, &BTreeSet::new()).unwrap_err();
        assert!(refusal.code == Code::CodeForbidden && refusal.message.contains("give `stdin` with the call"), "{refusal}");
        // Nothing else is opened by it.
        assert!(check(&python, None, "eval(input())\n", true, &BTreeSet::new()).is_err());
        assert!(check(&python, None, "import fileinput\nfileinput.input('/etc/passwd')\n", true, &BTreeSet::new()).is_err());
    }

    #[test]
    fn without_a_proven_wall_imports_is_strict_and_a_missing_key_is_strict_anyway() {
        let python = Python { check: manifest::Check::Imports, ..Python::default() };
        let code = "print(eval('1'))";
        assert!(check(&python, None, code, false, &BTreeSet::new()).is_ok());
        let refusal = check(&python, Some("`network` is off"), code, false, &BTreeSet::new()).unwrap_err();
        assert_eq!(refusal.code, Code::CodeForbidden);
        assert!(refusal.message.contains("acts as `strict`") && refusal.message.contains("`network` is off"), "{refusal}");
        assert_eq!(check(&Python::default(), None, code, false, &BTreeSet::new()).unwrap_err().code, Code::CodeForbidden);
        let off = Python { check: manifest::Check::Off, ..Python::default() };
        assert!(check(&off, Some("`network` is off"), code, false, &BTreeSet::new()).is_ok(), "what the operator turned off stays off");
    }

    #[test]
    fn what_an_installed_package_brings_may_be_imported_with_its_public_modules() {
        let python = Python { installed: vec!["apples".to_owned()], ..Python::default() };
        assert!(check(&python, None, "import apples.trees\nprint(apples.trees.count())", false, &BTreeSet::new()).is_ok());
        let refusal = check(&python, None, "import apples._core, pears, os", false, &BTreeSet::new()).unwrap_err();
        assert_eq!(*refusal.imports, ["apples", "pears", "os"]);
        let is_package = |code: &str| {
            let refusal = check(&python, None, code, false, &BTreeSet::new()).unwrap_err();
            refusal.hint.is_some_and(|hint| hint.contains("toolgate packages sync"))
        };
        assert!(is_package("import pears") && !is_package("import os"));
    }
}
