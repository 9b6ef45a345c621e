//! The rules against labelled programs: ways out that were tried on them, and ordinary code that must pass. The programs lie in `tests/programs`.
#![expect(clippy::expect_used, reason = "a helper of tests reads files of the repository")]

use serde::Deserialize;
use toolgate_pycheck::{Check, Reason, Report, Rules, Verdict, check};

fn rules() -> Rules {
    Rules::strict([
        "__future__",
        "abc",
        "bisect",
        "calendar",
        "collections",
        "contextlib",
        "copy",
        "dataclasses",
        "datetime",
        "decimal",
        "enum",
        "fractions",
        "functools",
        "hashlib",
        "heapq",
        "json",
        "math",
        "operator",
        "random",
        "re",
        "string",
        "time",
        "typing",
    ])
}

/// The programs of one file, each with its report.
fn reports(file: &str) -> Vec<(String, Report)> {
    #[derive(Deserialize)]
    struct File {
        programs: Vec<String>,
    }
    let file: File = toml::from_str(file).expect("a list of programs");
    let judged = file.programs.into_iter().map(|program| (program.clone(), check(program.as_bytes(), &rules())));
    judged.collect()
}

fn all_are_refused(file: &str) {
    for (program, report) in reports(file) {
        assert_eq!(report.verdict, Verdict::Deny, "{program}");
    }
}

#[test]
fn objects_of_allowed_modules_lead_nowhere() {
    all_are_refused(include_str!("programs/gadgets.toml"));
}

#[test]
fn no_binding_hides_what_a_name_stands_for() {
    all_are_refused(include_str!("programs/scoping.toml"));
}

#[test]
fn modules_are_reached_by_import_alone() {
    all_are_refused(include_str!("programs/modules.toml"));
}

#[test]
fn a_refused_word_is_refused_wherever_it_stands() {
    all_are_refused(include_str!("programs/places.toml"));
}

#[test]
fn ordinary_code_passes() {
    for (program, report) in reports(include_str!("programs/ordinary.toml")) {
        assert_eq!(report.verdict, Verdict::Allow, "{program}\n{:?}", report.findings);
    }
}

#[test]
fn what_the_manifest_loosens_passes_and_nothing_else_does() {
    let loosened = Rules { allowed_calls: ["input".to_owned()].into(), allowed_attributes: ["__dict__".to_owned()].into(), ..rules() };
    for (program, verdict) in [
        ("x = input()\n", Verdict::Allow),
        ("print(x.__dict__['a'])\n", Verdict::Allow),
        ("eval('1')\n", Verdict::Deny),
        ("x.__globals__\n", Verdict::Deny),
        ("import os\n", Verdict::Deny),
    ] {
        assert_eq!(check(program.as_bytes(), &loosened).verdict, verdict, "{program}");
    }
}

#[test]
fn with_imports_alone_only_the_allowlist_is_judged() {
    let imports = Rules { check: Check::Imports, ..rules() };
    for (program, verdict) in [
        ("eval('1')\nx.__class__\n", Verdict::Allow),
        ("__import__('json')\n", Verdict::Allow),
        ("__import__('os')\n", Verdict::Deny),
        ("__import__('o' + 's')\n", Verdict::Deny),
        ("import json\njson.codecs\n", Verdict::Deny),
        ("from . import json\n", Verdict::Deny),
        ("def f():\n    import os\n", Verdict::Deny),
    ] {
        assert_eq!(check(program.as_bytes(), &imports).verdict, verdict, "{program}");
    }
    let off = Rules { check: Check::Off, ..rules() };
    assert_eq!(check(b"import os\r\n", &off), Report { verdict: Verdict::Allow, findings: Vec::new(), source: "import os\n".to_owned() });
}

#[test]
fn packages_from_outside_are_used_as_their_manuals_say() {
    let rules = Rules::strict(["numpy", "pandas", "matplotlib", "math"]);
    let program = "import numpy as np\nimport pandas as pd\nimport matplotlib.pyplot as plt\nfrom matplotlib import pyplot\nfrom numpy.linalg import norm\nx = np.random.default_rng(0).normal(size=3)\nprint(np.linalg.norm(x), norm(x), np.__version__)\nplt.plot(x)\nplt.savefig('a.png')\ndf = pd.DataFrame({'a': [1]})\nprint(df.describe(), df['a'].apply(lambda v: v + 1))\n";
    let report = check(program.as_bytes(), &rules);
    assert_eq!(report.verdict, Verdict::Allow, "{:?}", report.findings);
    for program in [
        "import numpy as np\nnp.sys\n",
        "import numpy as np\nnp._core\n",
        "import numpy\nx = numpy\n",
        "import numpy.ctypeslib\n",
        "import numpy as np\nnp.ctypeslib\n",
        "import scipy\n",
        "from pandas import eval\n",
    ] {
        assert_eq!(check(program.as_bytes(), &rules).verdict, Verdict::Deny, "{program}");
    }
}

#[test]
fn a_star_turns_the_import_rule_off_and_no_other() {
    let rules = Rules::strict(["*"]);
    for (program, verdict) in [
        ("import os, json\nm = os\nprint(m.getcwd(), json.codecs)\n", Verdict::Allow),
        ("from os import *\n", Verdict::Allow),
        ("eval('1')\n", Verdict::Deny),
        ("x.__globals__\n", Verdict::Deny),
    ] {
        assert_eq!(check(program.as_bytes(), &rules).verdict, verdict, "{program}");
    }
}

#[test]
fn every_finding_comes_in_one_report() {
    let report = check(b"import os\nx = eval('1')\nprint(x.__globals__)\n", &rules());
    let found: Vec<_> = report.findings.iter().map(|finding| (finding.line, finding.column, finding.rule, finding.reason)).collect();
    assert_eq!(
        found,
        [
            (1, 8, "import", Reason::ImportNotAllowed),
            (2, 5, "builtin", Reason::CodeForbidden),
            (3, 9, "attribute.dunder", Reason::CodeForbidden),
        ]
    );
}

#[test]
fn deep_programs_are_answered_on_a_small_stack() {
    // The worst shapes the measure of nesting lets through, on half of what a worker thread has.
    let shapes = [
        format!("x{}", ".a".repeat(990)),
        "-".repeat(990) + "1",
        format!("{}1", "lambda: ".repeat(900)),
        format!("{}1{}", "[".repeat(195), "]".repeat(195)),
        format!("f{}", "(x)".repeat(900)),
        format!("1{}", "+1".repeat(990)),
        format!("{}x", "1 if 1 else ".repeat(900)),
        format!("f'{}{}'", "{x:".repeat(190), "}".repeat(190)),
        (0..95).flat_map(|depth| [" ".repeat(depth), "if 1:\n".to_owned()]).chain([" ".repeat(95), "pass\n".to_owned()]).collect(),
    ];
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        for shape in shapes {
            let _ = check(shape.as_bytes(), &rules());
        }
    });
    assert!(thread.is_ok_and(|thread| thread.join().is_ok()));
}
