//! A program imports modules of the roots that it sees: which it finds, what these may import themselves, and what no file of a root stands for.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{Server, code, until, went_well};

/// A house whose programs see the project with some modules in it; `check` is the manifest's, and `more` stands below `[python]`.
fn home(check: &str, more: &str) -> Home {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"", ..Policy::default() });
    let text = home
        .read("tools.toml")
        .replacen("roots = [\"work\", \"scratch\"]", &format!("roots = [\"work\", {{ name = \"project\", mode = \"ro\" }}]\n{more}"), 1)
        .replacen("denied_paths = [\"secrets/**\"]", "denied_paths = [\"secrets/**\", \"vault/**\", \"**/hidden.py\"]", 1)
        .replacen("check = \"imports\"", check, 1)
        .replacen(
            "allowed_imports = [\"time\", \"sys\", \"os\", \"subprocess\", \"math\"]",
            "allowed_imports = [\"json\", \"sys\", \"math\"]",
            1,
        );
    std::fs::write(home.manifest(), text).unwrap();
    for (path, text) in MODULES {
        let path = home.path(&format!("project/{path}"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    home
}

const MODULES: [(&str, &str); 16] = [
    ("harvest.py", "import json\n\ndef total(baskets):\n    return sum(baskets)\n\ndef fails():\n    raise ValueError('rotten')\n"),
    ("src/orchard/__init__.py", "from .trees import COUNT\nfrom . import trees\nfrom ._private import NAME\n"),
    ("src/orchard/trees.py", "import harvest\nfrom ._private import NAME\nCOUNT = harvest.total([12, 17])\n"),
    ("src/orchard/_private.py", "NAME = 'apples'\n"),
    ("plain/one.py", "ONE = 1\n"),
    ("empty/notes.txt", "no module\n"),
    ("json.py", "print('a file of the project ran')\n"),
    ("random.py", "print('a file of the project ran')\n"),
    ("hidden.py", "KEY = 'swordfish'\n"),
    ("vault/__init__.py", "KEY = 'swordfish'\n"),
    ("asks_hidden.py", "import hidden\n"),
    ("asks_vault.py", "import vault\nprint(vault.KEY)\n"),
    ("reaches.py", "import ctypes\n"),
    ("reaches_late.py", "def reach():\n    import subprocess\n    return subprocess\n"),
    ("reaches_as.py", "x = __import__('util', {'__package__': 'ctypes'}, None, ('find_library',), 1)\n"),
    ("reaches_code.py", "exec('import ctypes')\n"),
];

fn run(server: &mut Server, code: &str) -> Value {
    server.call("run_python", &json!({"code": code}))
}

fn printed(server: &mut Server, code: &str) -> String {
    let answer = run(server, code);
    assert!(went_well(&answer), "{code}: {answer}");
    answer["result"]["structuredContent"]["stdout"].as_str().unwrap().to_owned()
}

/// What a program that fails says on standard error.
fn raised(server: &mut Server, code: &str) -> String {
    let answer = run(server, code);
    assert_eq!(answer["result"]["structuredContent"]["status"], "exception", "{code}: {answer}");
    answer["result"]["structuredContent"]["stderr"].as_str().unwrap().to_owned()
}

#[test]
fn a_program_imports_modules_of_the_roots_it_sees_and_they_import_each_other() {
    let home = home("check = \"imports\"", "");
    let mut server = Server::greeted(&home, "2025-11-25");
    assert_eq!(printed(&mut server, "from harvest import total\nprint(total([12, 17]))"), "29\n");
    let package = "import orchard.trees\nfrom orchard import *\nprint(orchard.COUNT, orchard.NAME, orchard.trees.__file__, COUNT)";
    assert_eq!(printed(&mut server, package), "29 apples /roots/project/src/orchard/trees.py 29\n");
    assert_eq!(printed(&mut server, "import plain.one\nfrom plain import one\nprint(plain.one.ONE + one.ONE)"), "2\n");
    assert_eq!(printed(&mut server, "print(__import__('harvest').total([1]))"), "1\n");
    let traceback = raised(&mut server, "import harvest\nharvest.fails()");
    assert!(traceback.contains("File \"/roots/project/harvest.py\", line 7, in fails"), "{traceback}");
    assert!(raised(&mut server, "from harvest import nothing").contains("cannot import name 'nothing' from 'harvest'"));
    // A folder without sources is no module; a name that nothing has is refused with what there is to do.
    for missing in ["import empty", "import nowhere", "from . import harvest", "import src.orchard"] {
        let refused = run(&mut server, missing);
        assert_eq!(code(&refused), "import_not_allowed", "{missing}: {refused}");
    }
    let told = run(&mut server, "import nowhere").to_string();
    assert!(told.contains("allowed modules: json, math, sys; also modules of your roots: `.py` files"), "{told}");
    let policy = server.request("resources/read", &json!({"uri": "toolgate://policy"})).to_string();
    assert!(policy.contains("and modules of these folders"), "{policy}");
}

#[test]
fn names_are_looked_for_with_each_call_also_of_a_session_and_nothing_is_written_beside_them() {
    let home = home("check = \"imports\"", "");
    let mut server = Server::greeted(&home, "2025-11-25");
    let begun = server.call("run_python", &json!({"code": "import harvest", "session": "new"}));
    let handle = begun["result"]["structuredContent"]["session"].as_str().unwrap().to_owned();
    let mut later = |arguments: Value| server.call("run_python", &arguments);
    assert_eq!(code(&later(json!({"code": "import later", "session": handle}))), "import_not_allowed");
    std::fs::write(home.path("project/later.py"), "LATER = 1\n").unwrap();
    let answer = later(json!({"code": "import later\nprint(later.LATER)", "session": handle}));
    assert_eq!(answer["result"]["structuredContent"]["stdout"], "1\n", "{answer}");
    let own = "open('own.py', 'w').write('OWN = 2')";
    assert!(went_well(&later(json!({"code": own, "session": handle}))));
    // What changed within the tick of the clock of files in which a call begins counts as its own.
    let ended = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    until("the next tick", || rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse) > ended);
    let answer = later(json!({"code": "import own\nprint(own.OWN)", "session": handle}));
    assert_eq!(answer["result"]["structuredContent"]["stdout"], "2\n", "{answer}");
    assert!(answer["result"]["structuredContent"].get("files").is_none_or(|files| files == &json!([])), "{answer}");
    std::fs::remove_file(home.path("project/later.py")).unwrap();
    assert_eq!(code(&later(json!({"code": "import later"}))), "import_not_allowed");
    assert!(!home.path("project/__pycache__").exists());
}

#[test]
fn a_file_of_a_root_never_stands_for_a_module_of_python() {
    let home = home("check = \"imports\"", "");
    let mut server = Server::greeted(&home, "2025-11-25");
    assert_eq!(printed(&mut server, "import json\nprint(json.dumps([1]))"), "[1]\n");
    assert_eq!(printed(&mut server, "import harvest\nprint(harvest.json.dumps([1]))"), "[1]\n");
    // A name of the standard library that is not on the list is no module of a root either.
    assert_eq!(code(&run(&mut server, "import random")), "import_not_allowed");
    let path = "import sys\nroots = [folder.startswith('/roots/') for folder in sys.path]\nprint(roots == sorted(roots), sys.path[-4:])";
    assert_eq!(printed(&mut server, path), "True ['/roots/work', '/roots/work/src', '/roots/project', '/roots/project/src']\n");
    // What is imported only once a program runs, by Python itself, is no file of a root.
    assert_eq!(printed(&mut server, "import math\nprint(math.floor(1.5), '%s' % 1)"), "1 1\n");
}

#[test]
fn what_a_program_may_not_see_is_no_module() {
    let home = home("check = \"imports\"", "");
    // A compiled file that holds without its source's stamps lies in the open.
    let compile =
        "import py_compile, sys\npy_compile.compile(sys.argv[1], invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)";
    for module in ["hidden.py", "harvest.py"] {
        let path = home.path(&format!("project/{module}"));
        let made = std::process::Command::new("python3").args(["-c", compile]).arg(path).stdin(Stdio::null()).status().unwrap();
        assert!(made.success());
    }
    let compiled = std::fs::read_dir(home.path("project/__pycache__")).unwrap().count();
    assert_eq!(compiled, 2);
    let mut server = Server::greeted(&home, "2025-11-25");
    for denied in ["import hidden", "from vault import KEY", "import vault"] {
        assert_eq!(code(&run(&mut server, denied)), "import_not_allowed", "{denied}");
    }
    for asks in ["import asks_hidden", "import asks_vault"] {
        let said = raised(&mut server, asks);
        assert!(!said.contains("swordfish"), "{asks}: {said}");
    }
    std::fs::write(home.path("project/harvest.py"), "def total(baskets):\n    return 'its source'\n").unwrap();
    assert_eq!(printed(&mut server, "import harvest\nprint(harvest.total([]))"), "its source\n");
    // A link is no way to a module.
    std::os::unix::fs::symlink("vault", home.path("project/linked")).unwrap();
    assert_eq!(code(&run(&mut server, "import linked")), "import_not_allowed");
}

#[test]
fn a_module_of_a_root_imports_what_the_program_may_import_and_no_more() {
    let home = home("check = \"imports\"", "");
    let mut server = Server::greeted(&home, "2025-11-25");
    for (program, module) in [
        ("import reaches", "ctypes"),
        ("import reaches_late\nreaches_late.reach()", "subprocess"),
        ("import reaches_as", "ctypes"),
        ("import reaches_code", "ctypes"),
    ] {
        let said = raised(&mut server, program);
        let last = said.lines().last().unwrap();
        assert!(last.starts_with("ImportError: ") && last.contains(&format!("`{module}")), "{program}: {said}");
        assert!(last.contains("is not on the import allowlist") && !said.contains("<prelude>"), "{program}: {said}");
    }
}

#[test]
fn under_strict_and_where_imports_acts_as_strict_nothing_of_a_root_is_imported() {
    let with_sys = "import sys\nprint([folder for folder in sys.path if folder.startswith('/roots/')])";
    let strict = home("check = \"strict\"", "");
    let mut server = Server::greeted(&strict, "2025-11-25");
    let refused = run(&mut server, "import harvest");
    assert_eq!(code(&refused), "import_not_allowed");
    assert!(!refused.to_string().contains("modules of your roots"), "{refused}");
    assert_eq!(printed(&mut server, with_sys), "[]\n");
    drop(server);
    let unproven = home("check = \"imports\"", "");
    let text = unproven.read("tools.toml");
    let text = text.replacen("require = []", "require = []\nbackend = \"landlock\"\ninterpreter = \"/usr/bin/python3\"", 1);
    std::fs::write(unproven.manifest(), text).unwrap();
    let mut server = Server::greeted(&unproven, "2025-11-25");
    let refused = run(&mut server, "import harvest");
    assert_eq!(code(&refused), "import_not_allowed");
    assert!(
        refused.to_string().contains("acts as `strict` on this machine") && !refused.to_string().contains("modules of your roots"),
        "{refused}"
    );
    drop(server);
    // Without a check, Python finds them as well.
    let off = home("check = \"off\"", "");
    let mut server = Server::greeted(&off, "2025-11-25");
    assert_eq!(printed(&mut server, "import harvest, json\nprint(harvest.total([1, 2]), json.dumps(1))"), "3 1\n");
}

#[test]
fn explain_simulate_and_the_tests_of_a_manifest_know_the_modules_of_roots() {
    let home = home("check = \"imports\"", "");
    let explained = |code: &str| {
        let arguments = json!({"code": code}).to_string();
        home.toolgate(&["explain", "run_python", &arguments, "--manifest", home.manifest().to_str().unwrap()])
            .output()
            .unwrap()
            .status
            .code()
    };
    assert_eq!(
        (explained("import harvest, orchard.trees"), explained("import hidden"), explained("import nowhere")),
        (Some(0), Some(1), Some(1))
    );
    let policy = json!({
        "version": 1, "roots": {"p": {"path": "/p", "mode": "ro", "allowed_paths": ["**"], "denied_paths": ["hidden.py"]}},
        "python": {"check": "imports", "roots": ["p"]}, "profiles": {"a": {"permissions": ["READONLY", "EXECUTE_CODE"], "allowed_tools": ["*"]}}
    });
    let verdict = |name: &str| {
        let fs = json!({"p/harvest.py": "file", "p/src/orchard/trees.py": "file", "p/hidden.py": "file", "p/json.py": "file", "p/empty/a.txt": "file"});
        let request = json!({"profile": "a", "tool": "run_python", "args": {"code": format!("import {name}")}});
        let case = json!({"id": name, "policy": policy, "request": request, "state": {"fs": fs}});
        std::fs::write(home.path("case.jsonl"), case.to_string()).unwrap();
        let out = home.toolgate(&["simulate", home.path("case.jsonl").to_str().unwrap()]).output().unwrap();
        let line: Value = serde_json::from_slice(&out.stdout).unwrap();
        line["code"].as_str().unwrap().to_owned()
    };
    for (name, code) in [
        ("harvest", "ok"),
        ("orchard.trees", "ok"),
        ("hidden", "import_not_allowed"),
        ("json", "import_not_allowed"),
        ("empty", "import_not_allowed"),
        ("nowhere", "import_not_allowed"),
    ] {
        assert_eq!(verdict(name), code, "{name}");
    }
    let checked = |expect: &str| {
        let test = format!(
            "\n[[test]]\nprofile = \"all\"\ncall = {{ tool = \"run_python\", args = {{ code = \"import pears\" }} }}\nexpect = \"{expect}\"\n\
             state = {{ fs = {{ \"project/pears.py\" = \"file\" }} }}\n"
        );
        std::fs::write(home.path("tested.toml"), home.read("tools.toml") + &test).unwrap();
        home.toolgate(&["check", "--policy-only", home.path("tested.toml").to_str().unwrap()]).output().unwrap().status.code()
    };
    assert_eq!((checked("allow"), checked("deny")), (Some(0), Some(1)));
}

#[test]
fn a_traceback_names_no_folder_above_the_modules_of_an_interpreter_outside_the_system() {
    let home = home("check = \"off\"", "");
    let mut server = Server::greeted(&home, "2025-11-25");
    let own =
        printed(&mut server, "import sys\nprint(*[folder for folder in sys.path if not folder.startswith(('/usr/', '/opt/', '/roots/'))])");
    let said = raised(&mut server, "import json\njson.loads('{')");
    assert!(said.contains("json/decoder.py\", line") && said.contains("JSONDecodeError"), "{said}");
    for folder in own.split_whitespace() {
        assert!(!said.contains(folder), "{folder}: {said}");
    }
}
