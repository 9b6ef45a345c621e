//! `CPython`'s own tests, run in the jail: what fails there must fail at a wall that is stated, or outside the jail as well.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::mcp::packages::open_home;

/// A wall, and what a test shows that meets it: words of its report, or its name where the report has none.
struct Wall {
    why: &'static str,
    shown: &'static [&'static [&'static str]],
    named: &'static [&'static str],
}

const WALLS: &[Wall] = &[
    Wall {
        why: "programs get no socket but pairs and local streams (`[python] network`)",
        // Listeners and servers begin with one.
        shown: &[
            &["_socket.socket.__init__(self", "PermissionError: [Errno 1]"],
            &[".sockets[0]", "IndexError"],
            &["len(server.sockets)", "AssertionError: 0 != 1"],
            &["AssertionError: Can not create socket."],
        ],
        // They note the refusal and go on without a listener, which they then miss.
        named: &["TestSSL.test_create_server_ssl_1", "TestSSL.test_create_server_ssl_over_ssl"],
    },
    Wall {
        why: "the jail has no terminals (`/dev/ptmx`) and no list of services (`/etc/services`)",
        shown: &[&["os.openpty()", "FileNotFoundError"], &["socket.gaierror", "Servname not supported"]],
        named: &[],
    },
    Wall {
        why: "the jail has an interpreter and a shell, and no other program of the host",
        shown: &[&["FileNotFoundError", "'cat'"], &["FileNotFoundError", "'sleep'"], &["FileNotFoundError", "'true'"]],
        // Both start `sleep`, which ends at once.
        named: &["test_run_with_shell_timeout_and_capture_output", "test_kill_issue43884"],
    },
    Wall {
        why: "the user namespace has one user, and no other can be taken on",
        shown: &[],
        named: &["POSIXProcessTestCase.test_user", "POSIXProcessTestCase.test_group", "POSIXProcessTestCase.test_extra_groups"],
    },
];

/// One failed test: its full name and its report.
struct Failed {
    name: String,
    report: String,
}

impl Failed {
    fn wall(&self) -> Option<&'static str> {
        let meets = |wall: &&Wall| {
            wall.shown.iter().any(|words| words.iter().all(|word| self.report.contains(word)))
                || wall.named.iter().any(|name| self.name.ends_with(name) || self.name.contains(&format!("{name}.")))
        };
        WALLS.iter().find(meets).map(|wall| wall.why)
    }
}

/// The interpreter with its own tests, where they are installed.
fn with_tests(suite: &str) -> Option<String> {
    let ask =
        format!("import sys, os, importlib.util as u\nprint(os.path.realpath(sys.executable) if u.find_spec('test.{suite}') else '')");
    let told = Command::new("python3").args(["-I", "-c", &ask]).stderr(Stdio::null()).output().map(|output| output.stdout);
    let python = String::from_utf8(told.unwrap_or_default()).unwrap().trim().to_owned();
    if python.is_empty() {
        eprintln!("skipped: python3 has no `test.{suite}` (Debian: libpython3-testsuite)");
        return None;
    }
    Some(python)
}

/// Reads the report of `unittest`: how many tests ran, and those that failed.
fn read(report: &str) -> (u64, Vec<Failed>) {
    let ran = report.lines().rev().find_map(|line| line.strip_prefix("Ran ")?.split(' ').next()?.parse().ok()).unwrap_or(0);
    let failed = report.split("\n======================================================================\n").skip(1).filter_map(|block| {
        let heading = block.lines().next()?;
        let inside = heading.strip_prefix("ERROR: ").or_else(|| heading.strip_prefix("FAIL: "))?;
        let (short, rest) = inside.split_once(" (")?;
        let full = rest.split(')').next()?;
        // Before 3.11 the name of the test itself is not in the parentheses.
        let name = if full.ends_with(short) { full.to_owned() } else { format!("{full}.{short}") };
        Some(Failed { name, report: block.to_owned() })
    });
    (ran, failed.collect())
}

/// Runs a suite in the jail, and what fails at no wall outside of it. `first`: Python that runs before, in the same process.
fn run(suite: &str, at_least: u64, first: &str) {
    let Some(python) = with_tests(suite) else { return };
    let walls = "timeout = \"15m\"\ncpu = \"15m\"\nmemory = \"4 GiB\"\nprocesses = 64\nopen_files = 1024\noutput = \"8 MiB\"\n";
    let home = open_home(&format!("interpreter = {}\n{walls}", Value::from(python.as_str())));
    let manifest = std::fs::read_to_string(home.manifest())
        .unwrap()
        .replacen("timeout = \"60s\"\n", "", 1)
        .replace("timeout = \"60s\"", "timeout = \"15m\"");
    std::fs::write(home.manifest(), manifest).unwrap();
    let main = Value::from(format!("{first}import unittest\nunittest.main(module=None, argv=['unittest', 'test.{suite}'])"));
    let program = format!(
        "import subprocess, sys\nran = subprocess.run([sys.executable, '-c', {main}], stdin=subprocess.DEVNULL,\n    \
         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)\nprint(ran.stdout.decode('utf-8', 'replace'))"
    );
    std::fs::write(home.path("suite.py"), program).unwrap();
    let manifest = home.manifest();
    let file = home.path("suite.py");
    let told = home.toolgate(&["python", file.to_str().unwrap(), "--json", "--manifest", manifest.to_str().unwrap()]).output().unwrap();
    let answer: Value = serde_json::from_slice(&told.stdout).unwrap_or_default();
    assert_eq!(answer["status"], "ok", "{suite}: {answer}{}", String::from_utf8_lossy(&told.stderr));
    let (ran, failed) = read(answer["stdout"].as_str().unwrap());
    assert!(ran >= at_least, "{suite}: only {ran} tests ran: {answer}");
    let mut unexplained = Vec::new();
    for failed in &failed {
        match failed.wall() {
            Some(why) => eprintln!("{}: {why}", failed.name),
            None => unexplained.push(failed),
        }
    }
    let names: std::collections::BTreeSet<&str> = unexplained.iter().map(|failed| failed.name.as_str()).collect();
    for name in names {
        let outside = Command::new(&python).args(["-m", "unittest", name]).stdin(Stdio::null()).output().unwrap();
        let reports = || unexplained.iter().filter(|failed| failed.name == name).map(|failed| failed.report.as_str()).collect::<String>();
        assert!(!outside.status.success(), "{name} fails in the jail alone, and no stated wall explains it:\n{}", reports());
        eprintln!("{name}: fails outside the jail as well");
    }
    eprintln!("{suite}: {ran} tests ran, {} failed, all of them explained", failed.len());
}

#[test]
#[ignore = "takes minutes; `./check --all` runs it"]
fn subprocess_works_as_its_own_tests_say() {
    run("test_subprocess", 250, "");
}

#[test]
#[ignore = "takes minutes; `./check --all` runs it"]
fn the_main_module_of_multiprocessing_works_as_its_own_tests_say() {
    run("test_multiprocessing_main_handling", 30, "");
}

#[test]
#[ignore = "takes minutes; `./check --all` runs it"]
fn asyncio_works_as_its_own_tests_say() {
    // `test_drain_raises` waits without end for the address of a server in a thread, which gets no socket here.
    let first = "import test.test_asyncio.test_streams as streams\nstreams.StreamTests.test_drain_raises = None\n";
    run("test_asyncio", 1200, first);
}

#[test]
#[ignore = "takes minutes; `./check --all` runs it"]
fn tempfile_works_as_its_own_tests_say() {
    run("test_tempfile", 80, "");
}

#[test]
#[ignore = "takes minutes; `./check --all` runs it"]
fn threading_works_as_its_own_tests_say() {
    run("test_threading", 130, "");
}

#[test]
#[ignore = "takes minutes; `./check --all` runs it"]
fn json_works_as_its_own_tests_say() {
    run("test_json", 100, "");
}

#[test]
#[ignore = "takes minutes; `./check --all` runs it"]
fn sqlite3_works_as_its_own_tests_say() {
    run("test_sqlite3", 250, "");
}
