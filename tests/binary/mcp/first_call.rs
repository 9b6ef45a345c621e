//! What a first call would wait for is found out before it comes, remembered for the next server, and leaves nothing behind.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::packages::open_home;
use crate::mcp::server::{Server, any_runs, descendants, until, went_well};

const FREE: Policy = Policy { approvals: "level_2 = \"none\"", limits: "", python: "" };

/// A house whose interpreter writes its number to `starts` whenever it is asked where it lives: that question alone reads `base64` outside the
/// jail, and here a `base64` stands before the library's own, in the archive that the library may be kept in.
fn counted() -> Home {
    const ARCHIVE: &str =
        "import sys, zipfile\nwith zipfile.ZipFile(sys.argv[1], 'w') as archive: archive.writestr('base64.py', sys.argv[2])";
    let home = Home::new(FREE);
    let ask = "import os, sys; print(os.path.realpath(sys.executable), os.path.dirname(os.__file__), \"%d.%d\" % sys.version_info[:2], sep='\\n')";
    let told = Command::new("python3").args(["-I", "-c", ask]).output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    let [program, library, version] = told.lines().collect::<Vec<_>>()[..] else { panic!("{told}") };
    let site = home.path(&format!("env/lib/python{version}/site-packages"));
    for folder in [&site, &home.path("env/bin"), &home.path("base/bin"), &home.path("base/lib")] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::os::unix::fs::symlink(program, home.path("env/bin/python")).unwrap();
    std::os::unix::fs::symlink(library, home.path(&format!("base/lib/python{version}"))).unwrap();
    let settings = format!("home = {}\ninclude-system-site-packages = false\nversion = {version}\n", home.path("base/bin").display());
    std::fs::write(home.path("env/pyvenv.cfg"), settings).unwrap();
    let count = format!(
        "import os\ntry:\n    open('{}', 'a').write(f'{{os.getpid()}}\\n')\nexcept OSError:\n    pass\n\
         exec(open(os.path.dirname(os.__file__) + '/base64.py').read())\n",
        home.path("starts").display()
    );
    let archive = home.path(&format!("base/lib/python{}.zip", version.replace('.', "")));
    assert!(Command::new("python3").args(["-I", "-c", ARCHIVE]).arg(archive).arg(count).status().unwrap().success());
    std::fs::write(site.join("count.pth"), "# names no folder\n").unwrap();
    let python = home.path("env/bin/python");
    let text = home.read("tools.toml").replace("[python]\n", &format!("[python]\ninterpreter = \"{}\"\n", python.display()));
    std::fs::write(home.manifest(), text).unwrap();
    home
}

/// How often the interpreter was asked where it lives.
fn starts(home: &Home) -> usize {
    let text = std::fs::read_to_string(home.path("starts")).unwrap_or_default();
    text.lines().collect::<std::collections::BTreeSet<_>>().len()
}

/// What the state folder remembers of interpreters.
fn facts(home: &Home) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(home.state().join("facts")).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python-")))
        .collect()
}

/// A server runs a program and ends.
fn runs(home: &Home) {
    let mut server = Server::greeted(home, "2025-11-25");
    let answer = server.call("run_python", &json!({"code": "import math\nprint(math.factorial(5))"}));
    assert!(went_well(&answer) && answer["result"]["structuredContent"]["stdout"] == "120\n", "{answer}\n{}", server.errors());
    assert!(server.close().status.success());
}

/// The first word after the name of each process below the server: our own are told apart by it.
fn kinds(server: &Server) -> Vec<String> {
    let word =
        |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default().split(|byte| *byte == 0).nth(1).map(<[u8]>::to_vec);
    let words = server.children().iter().filter_map(word).collect::<Vec<_>>();
    words.into_iter().map(|word| String::from_utf8_lossy(&word).into_owned()).collect()
}

#[test]
fn the_interpreter_is_asked_and_the_walls_are_proven_before_the_first_program() {
    let home = counted();
    let mut server = Server::greeted(&home, "2025-11-25");
    until("the interpreter is asked", || starts(&home) == 1);
    until("the walls are tried", || kinds(&server).iter().any(|kind| kind == "__jail"));
    assert!(kinds(&server).iter().all(|kind| kind != "__reader"), "no list was read: {:?}", kinds(&server));
    let answer = server.call("run_python", &json!({"code": "print(1)"}));
    assert_eq!(answer["result"]["structuredContent"]["stdout"], "1\n", "{answer}");
    assert_eq!((starts(&home), home.told("call.started", "run_python").len()), (1, 1), "asked once");
    assert!(server.close().status.success());
    home.verify();
}

#[test]
fn what_an_interpreter_said_is_asked_once_and_again_when_the_interpreter_is_another() {
    let home = counted();
    // Files that changed a moment ago are not relied on: the first servers ask.
    until("the interpreter is remembered", || {
        runs(&home);
        !facts(&home).is_empty()
    });
    let asked = starts(&home);
    runs(&home);
    runs(&home);
    assert_eq!(starts(&home), asked, "nobody has to ask what is known");
    let pth = std::fs::read_dir(home.path("env/lib")).unwrap().next().unwrap().unwrap().path().join("site-packages/count.pth");
    let text = std::fs::read_to_string(&pth).unwrap();
    std::fs::write(&pth, format!("{text}\n# another\n")).unwrap();
    runs(&home);
    assert_eq!(starts(&home), asked + 1, "a `.pth` file changed");
    // Another file by the same name: what ran behind it is no longer there to be asked of.
    let python = home.path("env/bin/python");
    let real = python.canonicalize().unwrap();
    std::fs::remove_file(&python).unwrap();
    std::fs::write(&python, format!("#!/bin/sh\necho shim >> {:?}\nexec {real:?} \"$@\"\n", home.path("shim"))).unwrap();
    std::fs::set_permissions(&python, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    runs(&home);
    assert!(home.read("shim").contains("shim"), "the new one is asked");
    // A shim may start another interpreter tomorrow, so it is asked each time.
    let before = home.read("shim").lines().count();
    runs(&home);
    assert_eq!(home.read("shim").lines().count(), before + 1);
}

#[test]
fn a_broken_or_foreign_file_of_facts_changes_nothing() {
    let home = counted();
    until("the interpreter is remembered", || {
        runs(&home);
        !facts(&home).is_empty()
    });
    let [file] = &facts(&home)[..] else { panic!("{:?}", facts(&home)) };
    let whole = std::fs::read(file).unwrap();
    // A program of another's choice in place of the interpreter: the digest at its head is not enough where others could write.
    let forged = String::from_utf8_lossy(&whole).replace("env/bin/python", "env/bin/other");
    for (text, mode) in [(b"".as_slice(), 0o600), (&whole[..whole.len() / 2], 0o600), (forged.as_bytes(), 0o600), (&whole, 0o666)] {
        let before = starts(&home);
        std::fs::write(file, text).unwrap();
        std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        runs(&home);
        assert_eq!(starts(&home), before + 1, "it is asked again: {mode:o}");
    }
    let before = starts(&home);
    runs(&home);
    assert_eq!(starts(&home), before, "and remembered again");
}

#[test]
fn nothing_stands_beside_a_server_whose_profile_may_run_no_program_and_read_no_page() {
    let home = Home::new(FREE);
    let text = home.read("tools.toml").replace("[\"STANDARD\", \"EXECUTE_CODE\"]", "[\"READ_FILE\"]");
    std::fs::write(home.manifest(), text).unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    server.request("tools/list", &json!({}));
    let read = server.call("read_file", &json!({"path": "project/notes.txt"}));
    assert!(went_well(&read), "{read}");
    assert_eq!((server.children(), facts(&home)), (Vec::new(), Vec::new()));
    assert!(server.close().status.success());
}

#[test]
fn nothing_is_got_ready_while_the_emergency_stop_is_pulled() {
    let home = Home::new(FREE);
    std::fs::create_dir(home.state()).unwrap();
    std::fs::write(home.state().join("KILL"), "test").unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    server.request("tools/list", &json!({}));
    let refused = server.call("run_python", &json!({"code": "print(1)"}));
    assert_eq!(refused["result"]["structuredContent"]["code"], "killed", "{refused}");
    assert_eq!((server.children(), facts(&home)), (Vec::new(), Vec::new()));
    assert!(server.close().status.success());
}

#[test]
fn a_server_that_ends_while_it_finds_things_out_leaves_no_process() {
    let home = counted();
    for round in 0..12_u64 {
        let mut server = Server::start(&home);
        if round % 3 > 0 {
            server.request("initialize", &crate::mcp::server::hello("2025-11-25"));
            server.request("tools/list", &json!({}));
        }
        // Not a wait for a condition: the end must fall at another moment each time.
        std::thread::sleep(Duration::from_millis(round * 11));
        let id = server.id();
        let children = descendants(id);
        if round % 2 == 0 {
            let ended = server.close();
            assert_eq!(ended.status.code(), Some(0), "round {round}");
        } else {
            server.signal("-KILL");
            server.wait();
        }
        until("the children to end", || !any_runs(&children) && asking(&home).is_empty());
    }
    home.verify();
    // What was given up halfway is begun anew.
    runs(&home);
}

/// Interpreters of this house that are being asked, by their numbers.
fn asking(home: &Home) -> Vec<u32> {
    let python = home.path("env/bin/python");
    let all = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let runs =
        |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(python.to_str().unwrap().as_bytes()));
    all.filter(runs).collect()
}

#[test]
fn a_call_right_behind_the_handshake_waits_for_the_search_and_is_answered() {
    let home = Home::new(FREE);
    let mut server = Server::start(&home);
    let hello = server.ask("initialize", &crate::mcp::server::hello("2025-11-25"));
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let calls: Vec<Value> =
        (0..3).map(|n| server.ask("tools/call", &json!({"name": "run_python", "arguments": {"code": format!("print({n})")}}))).collect();
    server.answer(&hello);
    for (n, id) in calls.iter().enumerate() {
        let answer = server.answer(id);
        assert_eq!(answer["result"]["structuredContent"]["stdout"], format!("{n}\n"), "{answer}");
    }
    assert!(server.close().status.success());
    home.verify();
}

#[test]
fn no_interpreter_waits_before_a_client_has_read_the_list_of_tools() {
    let is_python = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("python"));
    let home = open_home("");
    let mut server = Server::greeted(&home, "2025-11-25");
    let waits = |server: &Server| descendants(server.id()).iter().any(is_python);
    let is_spawner = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("__jail"));
    until("the walls to be proven", || descendants(server.id()).iter().any(is_spawner));
    // A program is tried, and is over; none waits, since nobody has read the list of tools.
    let mut none = 0;
    until("nothing to wait", || {
        assert!(went_well(&server.call("list_directory", &json!({"path": "project"}))));
        none = if waits(&server) { 0 } else { none + 1 };
        none == 20
    });
    let home = open_home("");
    let manifest = std::fs::read_to_string(home.manifest()).unwrap().replace("\"EXECUTE_CODE\"]", "\"SEND_EMAIL\"]");
    std::fs::write(home.manifest(), manifest).unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    for _ in 0..5 {
        assert!(went_well(&server.call("list_directory", &json!({"path": "project"}))));
    }
    assert_eq!(server.children(), Vec::<u32>::new());
}
