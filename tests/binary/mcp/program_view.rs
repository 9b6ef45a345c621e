//! What a program sees of a project: everything that is open, nothing that is denied, and no way to change any of it.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{Server, went_well};

/// A house whose programs see the project, which they cannot write; the manifest and the state folder lie in it.
fn home(more: &str) -> Home {
    let home = Home::new(Policy::default());
    let text = home.read("tools.toml");
    let text = text
        .replacen("roots = [\"work\", \"scratch\"]", &format!("roots = [\"work\", {{ name = \"project\", mode = \"ro\" }}]\n{more}"), 1)
        .replacen("denied_paths = [\"secrets/**\"]", "denied_paths = [\"secrets/**\", \"**/.env*\", \"state/deep/**\"]", 1)
        .replacen(
            "allowed_imports = [\"time\", \"sys\", \"os\", \"subprocess\", \"math\"]",
            "allowed_imports = [\"os\", \"sys\", \"csv\", \"pathlib\"]",
            1,
        );
    std::fs::write(home.path("project/tools.toml"), text).unwrap();
    std::fs::remove_file(home.manifest()).unwrap();
    symlink("project/tools.toml", home.manifest()).unwrap();
    std::fs::create_dir(home.path("project/state")).unwrap();
    symlink("project/state", home.state()).unwrap();
    for (path, text) in
        [("project/.env", "TOKEN=swordfish\n"), ("project/src/main.py", "print(1)\n"), ("project/src/.env.local", "TOKEN=swordfish\n")]
    {
        std::fs::write(home.path(path), text).unwrap();
    }
    home
}

fn run(server: &mut Server, code: &str) -> Value {
    server.call("run_python", &json!({"code": code}))
}

fn printed(server: &mut Server, code: &str) -> String {
    let answer = run(server, code);
    assert!(went_well(&answer), "{answer}");
    answer["result"]["structuredContent"]["stdout"].as_str().unwrap().to_owned()
}

/// Prints what each attempt came to; none may come to anything but an error.
const TRY: &str = "import os\ndef attempt(f):\n    try:\n        return f()\n    except OSError as e:\n        return type(e).__name__\n";

#[test]
fn a_program_walks_and_reads_the_project_as_it_is() {
    let home = home("");
    let mut server = Server::greeted(&home, "2025-11-25");
    let walk = "import os\nseen = []\nfor folder, _, files in os.walk('/roots/project'):\n    for name in files:\n        \
                path = os.path.join(folder, name)\n        try:\n            seen.append((path[len('/roots/project/'):], len(open(path).readlines())))\n        \
                except PermissionError:\n            pass\nprint(sorted(seen))";
    assert_eq!(printed(&mut server, walk), "[('notes.txt', 3), ('src/apples.csv', 3), ('src/main.py', 1)]\n");
    let sum = "import csv\nwith open('/roots/project/src/apples.csv') as file:\n    print(sum(int(row['apples']) for row in csv.DictReader(file)))";
    assert_eq!(printed(&mut server, sum), "29\n");
    let written = "import os\nopen('out.txt', 'w').write('x')\nprint(os.getcwd())";
    assert_eq!(printed(&mut server, written), "/roots/work\n", "the start is the root that can be written");
    assert_eq!(
        printed(&mut server, "import pathlib\nprint(sorted(p.name for p in pathlib.Path('/roots/project/src').glob('*.py')))"),
        "['main.py']\n"
    );
}

#[test]
fn a_view_cannot_be_written_by_any_call() {
    let home = home("");
    let mut server = Server::greeted(&home, "2025-11-25");
    let code = format!(
        "{TRY}p = '/roots/project/'\nprint({{attempt(f) for f in [\n    lambda: open(p + 'new', 'w'), lambda: open(p + 'notes.txt', 'a'), lambda: os.remove(p + 'notes.txt'),\n    \
         lambda: os.mkdir(p + 'd'), lambda: os.rename(p + 'notes.txt', p + 'n'), lambda: os.symlink('x', p + 'l'), lambda: os.link(p + 'notes.txt', p + 'l'),\n    \
         lambda: os.chmod(p + 'notes.txt', 0o777), lambda: os.utime(p), lambda: os.truncate(p + 'notes.txt', 0), lambda: os.mkfifo(p + 'f'),\n    \
         lambda: os.open('/proc/self/fd/' + str(os.open(p + 'notes.txt', os.O_RDONLY)), os.O_RDWR),\n    \
         lambda: os.setxattr(p + 'notes.txt', 'user.a', b'b'), lambda: os.link(p + 'notes.txt', '/tmp/n')]}})"
    );
    assert_eq!(printed(&mut server, &code), "{'OSError'}\n");
    assert_eq!(home.read("project/notes.txt"), "first line\nsecond line\nthird line\n");
    // Beside it, the person's own tools change the project as ever.
    let edited = server.call("write_file", &json!({"path": "project/new.txt", "content": "x"}));
    assert!(went_well(&edited), "{edited}");
    assert_eq!(printed(&mut server, "print(open('/roots/project/new.txt').read())"), "x\n");
}

#[test]
fn what_is_denied_and_what_is_the_servers_own_is_read_under_no_name() {
    let home = home("");
    std::fs::hard_link(home.path("project/.env"), home.path("project/src/harmless.txt")).unwrap();
    std::fs::hard_link(home.path("project/tools.toml"), home.path("project/src/manifest.txt")).unwrap();
    std::fs::hard_link(home.path("scratch/seen.txt"), home.path("project/src/elsewhere.txt")).unwrap();
    symlink(".env", home.path("project/way")).unwrap();
    symlink("../secrets", home.path("project/src/way")).unwrap();
    symlink("/proc/self/root/roots/project/.env", home.path("project/magic")).unwrap();
    std::fs::hard_link(home.path("project/src/main.py"), home.path("project/src/twin.py")).unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    let names = [
        ".env",
        "src/.env.local",
        "src/harmless.txt",
        "src/manifest.txt",
        "src/elsewhere.txt",
        "way",
        "src/way/key.txt",
        "magic",
        "tools.toml",
        "secrets/key.txt",
        "state/audit",
        "src/../.env",
    ];
    let code = format!(
        "{TRY}p = '/roots/project/'\nnames = {names:?}\nprint({{attempt(lambda: open(p + n).read()) for n in names}})\n\
         print({{attempt(lambda: open('/proc/self/fd/%d' % os.open(p + n, os.O_PATH)).read()) for n in names}})\n\
         print({{attempt(lambda: os.listdir(p + n)) for n in ['secrets', 'state', 'src/way']}})\n\
         print(open(p + 'src/main.py').read() == open(p + 'src/twin.py').read())\n\
         print(attempt(lambda: open('/proc/self/mountinfo').read().count('swordfish')))"
    );
    let out = printed(&mut server, &code);
    let lines: Vec<&str> = out.lines().collect();
    for line in &lines[..3] {
        assert!(!line.contains('\n') && !line.contains("swordfish") && !line.contains("version") && !line.contains("hidden"), "{out}");
        assert!(
            line.trim_matches(|c| "{}".contains(c)).split(", ").all(|what| matches!(what, "'PermissionError'" | "'NotADirectoryError'")),
            "{out}"
        );
    }
    assert_eq!(lines[3], "True", "a file whose names are all seen is seen: {out}");
}

#[test]
fn each_call_sees_the_project_as_it_is_by_then_and_a_session_ends_where_its_masks_no_longer_fit() {
    let home = home("");
    let mut server = Server::greeted(&home, "2025-11-25");
    let begun = server.call("run_python", &json!({"code": "x = len(open('/roots/project/notes.txt').read())", "session": "new"}));
    let handle = begun["result"]["structuredContent"]["session"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    // What is ordinary comes and goes.
    std::fs::write(home.path("project/src/later.txt"), "later\n").unwrap();
    let went_on = server.call("run_python", &json!({"code": "print(x, open('/roots/project/src/later.txt').read())", "session": handle}));
    assert_eq!(went_on["result"]["structuredContent"]["stdout"], "34 later\n\n", "{went_on}");
    // A denied file that came in between is covered for the next program, and ends a session in which it would not be.
    std::fs::write(home.path("project/src/.env.test"), "TOKEN=swordfish\n").unwrap();
    let ended = server.call("run_python", &json!({"code": "print(open('/roots/project/src/.env.test').read())", "session": handle}));
    assert_eq!(ended["result"]["structuredContent"]["code"], "session_unknown", "{ended}");
    let refused = run(&mut server, "print(open('/roots/project/src/.env.test').read())");
    assert!(refused["result"]["structuredContent"]["stderr"].as_str().unwrap().contains("PermissionError"), "{refused}");
    // A seen file that got a second name below a denied folder is seen no longer.
    std::fs::hard_link(home.path("project/src/later.txt"), home.path("project/secrets/later.txt")).unwrap();
    let refused = run(&mut server, "print(open('/roots/project/src/later.txt').read())");
    assert!(refused["result"]["structuredContent"]["stderr"].as_str().unwrap().contains("PermissionError"), "{refused}");
}

#[test]
fn a_file_that_is_not_found_is_named_where_a_root_has_it_and_else_the_roots_are() {
    let home = home("");
    let mut server = Server::greeted(&home, "2025-11-25");
    for code in ["open('/roots/projekt/a.txt')", "open('data.csv')", "import os\nos.listdir('/roots/project/no')"] {
        let answer = run(&mut server, code);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains(
                "the program sees these roots, as `[python] roots` names them: `/roots/work` (read and write), `/roots/project` (read only)"
            ),
            "{code}: {text}"
        );
    }
    // A relative path is tried in every root that the program sees. What is denied there is not named.
    for (path, found) in [
        ("src/apples.csv", Some("`src/apples.csv` exists as `/roots/project/src/apples.csv`; relative paths start in `/roots/work`")),
        ("./src", Some("`./src` exists as `/roots/project/src`; relative paths start in `/roots/work`")),
        ("/project/src/apples.csv", Some("exists as `/roots/project/src/apples.csv`")),
        ("secrets/key.txt", None),
        ("src/.env.local", None),
        ("../project/.env", None),
        ("tools.toml", None),
    ] {
        let answer = run(&mut server, &format!("open({path:?})"));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text.contains(" exists as "), found.is_some(), "{text}");
        assert!(found.is_none_or(|found| text.contains(found)), "{text}");
    }
    for code in ["open('/etc/nothing')", "print('FileNotFoundError: [Errno 2]: \\'/roots/x\\'')", "raise ValueError('/roots/x')"] {
        let answer = run(&mut server, code);
        assert!(!answer["result"]["content"][0]["text"].as_str().unwrap().contains("the program sees these roots"), "{code}: {answer}");
    }
}

#[test]
fn a_profile_sees_its_own_roots_alone_and_none_without_read_file() {
    for (profile, seen) in [
        ("permissions = [\"STANDARD\", \"EXECUTE_CODE\"]\nallowed_tools = [\"*\"]\nroots = [\"work\"]", "['work']\n"),
        ("permissions = [\"EXECUTE_CODE\", \"WRITE_FILE\"]\nallowed_tools = [\"*\"]", "[]\n"),
    ] {
        let home = home("");
        let text = home.read("tools.toml");
        let text = text.replacen("permissions = [\"STANDARD\", \"EXECUTE_CODE\"]\nallowed_tools = [\"*\"]", profile, 1);
        std::fs::write(home.path("project/tools.toml"), text).unwrap();
        let mut server = Server::greeted(&home, "2025-11-25");
        assert_eq!(printed(&mut server, "import os\nprint(sorted(os.listdir('/roots')))"), seen, "{profile}");
    }
}

#[test]
fn untrusted_files_in_view_mark_the_session() {
    let home = home("");
    let text = home.read("tools.toml").replacen(
        "denied_paths = [\"secrets/**\"",
        "untrusted_paths = [\"inbox/**\"]\ndenied_paths = [\"secrets/**\"",
        1,
    );
    std::fs::write(home.path("project/tools.toml"), text).unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    let answer = run(&mut server, "print(open('/roots/project/notes.txt').read())");
    assert!(answer["result"]["_meta"].to_string().contains("untrusted"), "{answer}");
}

#[test]
fn a_view_and_the_network_are_a_fault_of_the_manifest_and_check_says_what_serve_says() {
    let home = home("network = true");
    let manifest = home.manifest();
    let manifest = manifest.to_str().unwrap();
    for command in [&["check", manifest][..], &["serve", "--manifest", manifest]] {
        let told = home.toolgate(command).stdin(std::process::Stdio::null()).output().unwrap();
        let words = format!("{}{}", String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
        assert!(!told.status.success() && words.contains("could send what it reads there"), "{command:?}: {words}");
    }
}

#[test]
fn imports_acts_as_strict_on_a_backend_that_proves_no_walls() {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"", ..Policy::default() });
    let code = "print(eval('6 * 7'))";
    let mut server = Server::greeted(&home, "2025-11-25");
    assert_eq!(printed(&mut server, code), "42\n", "behind walls the imports alone are read");
    drop(server);
    // The system's interpreter and no root: what every user may run and see, since no wall shows things as another's here.
    let text =
        home.read("tools.toml").replacen("require = []", "require = []\nbackend = \"landlock\"\ninterpreter = \"/usr/bin/python3\"", 1);
    let text = text.replacen("roots = [\"work\", \"scratch\"]", "roots = []", 1);
    std::fs::write(home.manifest(), text).unwrap();
    let mut server = Server::greeted(&home, "2025-11-25");
    let refused = run(&mut server, code);
    let facts = &refused["result"]["structuredContent"];
    assert_eq!(facts["code"], "code_forbidden", "{refused}");
    assert!(
        facts["message"].as_str().unwrap().contains("acts as `strict` on this machine: the wall `filesystem` is not proven"),
        "{refused}"
    );
    assert_eq!(printed(&mut server, "import math\nprint(math.floor(1.5))"), "1\n");
    let told = home.toolgate(&["doctor", "--manifest", home.manifest().to_str().unwrap()]).output().unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("`check = \"imports\"` acts as `strict`: the wall `filesystem`"), "{told}");
}

#[test]
fn a_module_that_was_refused_is_recorded_and_proposed_by_explain() {
    let home = home("");
    let mut server = Server::greeted(&home, "2025-11-25");
    for code in ["import pandas\nimport pandas", "import os\nfrom json import loads", "import os"] {
        run(&mut server, code);
    }
    server.close();
    let refused: Vec<Value> = home.told("tool.denied", "run_python").iter().map(|record| record["imports"].clone()).collect();
    assert_eq!(refused, [json!(["pandas"]), json!(["json"])]);
    let explained = home.toolgate(&["explain", "run_python", "{\"code\":\"import pandas\"}"]).output().unwrap();
    let explained = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(explained.contains("python.allowed_imports: add \"pandas\""), "{explained}");
}

#[test]
fn a_tree_of_packages_that_are_linked_from_elsewhere_is_left_out_whole_and_the_rest_is_seen() {
    let home = home("");
    std::fs::create_dir_all(home.path("store")).unwrap();
    for package in 0..60 {
        let folder = home.path(&format!("project/node_modules/p{package}"));
        std::fs::create_dir_all(&folder).unwrap();
        for file in 0..30 {
            let stored = home.path(&format!("store/{package}-{file}"));
            std::fs::write(&stored, "x").unwrap();
            std::fs::hard_link(&stored, folder.join(format!("{file}.js"))).unwrap();
        }
    }
    let mut server = Server::greeted(&home, "2025-11-25");
    assert_eq!(printed(&mut server, "print(len(open('/roots/project/notes.txt').readlines()))"), "3\n");
    let refused = run(&mut server, "print(open('/roots/project/node_modules/p1/1.js').read())");
    let text = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("PermissionError") && text.contains("left out whole") && text.contains("`/roots/project/node_modules"), "{text}");
}

#[test]
fn a_denied_file_that_appears_between_two_calls_is_read_by_no_thread_of_a_session() {
    let home = home("");
    let mut server = Server::greeted(&home, "2025-11-25");
    // A process of the session waits for the file; it leaves what it finds where the tools can read it.
    let wait = "import os\nif os.fork() == 0:\n    while True:\n        try:\n            found = open('/roots/project/late/.env').read()\n        \
                except OSError:\n            continue\n        open('/roots/work/stolen', 'w').write(found)\n        os.abort()\nx = 41";
    let begun = server.call("run_python", &json!({"code": wait, "session": "new"}));
    assert!(went_well(&begun), "{begun}");
    let handle = &begun["result"]["structuredContent"]["session"];
    std::fs::create_dir(home.path("project/late")).unwrap();
    std::fs::write(home.path("project/late/.env"), "TOKEN=swordfish\n").unwrap();
    // It would find the file within a millisecond; another program begins and ends meanwhile.
    assert_eq!(printed(&mut server, "print(6 * 7)"), "42\n");
    let stolen = server.call("read_file", &json!({"path": "work/stolen"}));
    assert_eq!(stolen["result"]["structuredContent"]["code"], "not_found", "{stolen}");
    let next = server.call("run_python", &json!({"code": "print(x)", "session": handle}));
    assert_eq!(next["result"]["structuredContent"]["code"], "session_unknown", "{next}");
    let stolen = server.call("read_file", &json!({"path": "work/stolen"}));
    assert_eq!(stolen["result"]["structuredContent"]["code"], "not_found", "{stolen}");
    // Where nothing denied has appeared, a session goes on.
    let begun = server.call("run_python", &json!({"code": "x = 41", "session": "new"}));
    let handle = &begun["result"]["structuredContent"]["session"];
    std::fs::write(home.path("project/late/open.txt"), "open").unwrap();
    let code = "print(x + 1, open('/roots/project/late/open.txt').read())";
    let next = server.call("run_python", &json!({"code": code, "session": handle}));
    assert_eq!(next["result"]["structuredContent"]["stdout"], "42 open\n", "{next}");
}
