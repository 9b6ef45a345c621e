//! Line 10: the static check of Python, under the manifest.

use std::collections::BTreeSet;

use crate::manifest::{self, Python};
use crate::model::Refusal;
use crate::python::{self, Check, Finding, Imports, Rules, Severity, Verdict};

/// What the static check made of a program that it lets through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The source that was judged; exactly this must run.
    pub source: String,
    /// What is worth knowing before it runs, a line each.
    pub warnings: Vec<String>,
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
            Imports::Listed(names(&python.allowed_imports))
        },
        allowed_calls: names(&python.allowed_calls),
        allowed_attributes: names(&python.allowed_attributes),
        ..Rules::default()
    }
}

/// Checks a program. `has_input`: the call gives standard input, so that `input` reads what is there and waits for nothing.
///
/// # Errors
/// `import_not_allowed`, `code_forbidden`, `syntax_error`: the first finding's code, and all findings in the message.
pub fn check(python: &Python, code: &str, has_input: bool) -> Result<Program, Refusal> {
    let mut rules = rules(python);
    if has_input {
        rules.allowed_calls.insert("input".to_owned());
    }
    let report = python::check(code, &rules);
    let of = |severity| report.findings.iter().filter(move |finding| finding.severity == severity);
    if report.verdict == Verdict::Deny {
        let Some(first) = of(Severity::Deny).next() else {
            return Err(Refusal::new(crate::model::Code::CodeForbidden, "the program is refused by the static check"));
        };
        let mut hints = BTreeSet::new();
        let lines: Vec<String> = of(Severity::Deny).map(|finding| line(finding, hints.insert(&finding.hint))).collect();
        let message = format!("the program is refused by reading it, nothing ran:\n{}\n", lines.join("\n"));
        return Err(Refusal::new(first.code, message).rule("python").hint("change all of these and send the program again"));
    }
    let warnings = of(Severity::Warn).map(|finding| line(finding, true)).collect();
    Ok(Program { source: report.source, warnings })
}

/// The modules that a program imports and the allowlist lacks, each once, in the order of the program. Of packages from outside the standard
/// library it is the package, which opens its public modules.
pub fn missing_imports(python: &Python, code: &str) -> Vec<String> {
    let mut missing = Vec::new();
    for module in python::check(code, &rules(python)).findings.into_iter().filter_map(|finding| finding.module) {
        let module = if python::is_standard_module(&module) { &module } else { module.split('.').next().unwrap_or_default() };
        if !missing.iter().any(|known| known == module) {
            missing.push(module.to_owned());
        }
    }
    missing
}

/// One finding: where, what, what to write instead where an earlier one has not said it, and below it the line of the program.
fn line(finding: &Finding, with_hint: bool) -> String {
    /// Enough of a line to know it again, in code points.
    const SHOWN: usize = 100;
    let message = crate::filter::escape_line(&finding.message);
    let hint = if with_hint { format!("; {}", crate::filter::escape_line(&finding.hint)) } else { String::new() };
    let source = finding.source_line.trim();
    let more = if source.chars().nth(SHOWN).is_some() { "…" } else { "" };
    let source: String = source.chars().take(SHOWN).collect();
    let source = crate::filter::escape_line(&source);
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
        let refusal = check(&python, "import os\nimport math\nimport socket\n", false).unwrap_err();
        assert_eq!(refusal.code, Code::ImportNotAllowed);
        assert!(refusal.message.contains("line 1") && refusal.message.contains("line 3"), "{refusal}");
        assert!(refusal.message.contains("\n    | import socket\n"), "{refusal}");
        assert_eq!(refusal.message.matches("allowed modules: math").count(), 1, "{refusal}");
        assert_eq!(
            missing_imports(&python, "import os.path\nfrom numpy import linalg\nimport os.path, math\nimport numpy.fft\n"),
            ["os.path", "numpy"]
        );
        let program = check(&python, "import math\r\nprint(math.pi)\r\n", false).unwrap();
        assert_eq!(program.source, "import math\nprint(math.pi)\n");
    }

    #[test]
    fn input_is_read_where_the_call_gives_some() {
        let python = Python::default();
        let code = "name = input()\nprint(name)\n";
        assert!(check(&python, code, true).is_ok());
        let refusal = check(&python, code, false).unwrap_err();
        assert!(refusal.code == Code::CodeForbidden && refusal.message.contains("give `stdin` with the call"), "{refusal}");
        // Nothing else is opened by it.
        assert!(check(&python, "eval(input())\n", true).is_err());
        assert!(check(&python, "import fileinput\nfileinput.input('/etc/passwd')\n", true).is_err());
    }
}
