//! Python through the whole server: the watch around a program, and state that lasts as long as its handle.

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{Server, went_well};

fn served(python: &'static str) -> (Home, Server) {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"", python, ..Policy::default() });
    let server = Server::greeted(&home, "2025-11-25");
    (home, server)
}

fn told(answer: &Value, field: &str) -> String {
    answer["result"]["structuredContent"][field].as_str().unwrap_or_default().to_owned()
}

#[test]
fn what_an_ordinary_program_does_not_do_is_in_its_record() {
    let (home, mut server) = served("");
    let odd = server.call("run_python", &json!({"code": "import os\nos.symlink('/etc', '/tmp/x')\nprint(os.readlink('/tmp/x'))"}));
    assert_eq!(told(&odd, "stdout"), "/etc\n", "{odd}");
    let ordinary = server.call("run_python", &json!({"code": "import math\nprint(math.floor(2.5))"}));
    assert_eq!(told(&ordinary, "stdout"), "2\n", "{ordinary}");
    drop(server);
    let finished = home.told("call.finished", "run_python");
    assert!(finished[0]["events"][0].as_str().unwrap().starts_with("os.symlink"), "{finished:?}");
    assert_eq!(finished[1]["events"], Value::Null, "{finished:?}");
}

#[test]
fn variables_last_under_a_handle_and_belong_to_it_alone() {
    let (_home, mut server) = served("");
    let first = server.call("run_python", &json!({"code": "basket = 41", "session": "new"}));
    assert!(went_well(&first), "{first}");
    let handle = told(&first, "session");
    let next = server.call("run_python", &json!({"code": "print(basket + 1)", "session": handle}));
    assert_eq!(told(&next, "stdout"), "42\n", "{next}");
    for arguments in [json!({"code": "print(basket)"}), json!({"code": "print(basket)", "session": "new"})] {
        let other = server.call("run_python", &arguments);
        assert_eq!(told(&other, "status"), "exception", "{other}");
    }
    let unknown = server.call("run_python", &json!({"code": "1", "session": "py_guessed"}));
    assert_eq!(told(&unknown, "code"), "session_unknown", "{unknown}");
}

#[test]
fn a_program_that_fills_its_root_is_ended_while_it_writes() {
    let (_home, mut server) = served("");
    let ordinary = server.call("run_python", &json!({"code": "open('/roots/work/a', 'w').write('x' * 1_000_000)\nprint('kept')"}));
    assert_eq!(told(&ordinary, "stdout"), "kept\n", "{ordinary}");
    let greedy = "import time\nfor i in range(2000):\n    open(f'/roots/work/{i}', 'w').write('x' * 1_000_000)\n    time.sleep(0.02)";
    let ended = server.call("run_python", &json!({"code": greedy}));
    assert_eq!((told(&ended, "status"), told(&ended, "limit")), ("limit".to_owned(), "disk".to_owned()), "{ended}");
    let listed = server.call("list_directory", &json!({"path": "work"}));
    let files = listed["result"]["structuredContent"]["entries"].as_array().map_or(0, Vec::len);
    assert!((8..2000).contains(&files), "{files} files of 1 MB in a root of 8 MiB");
    let again = server.call("run_python", &json!({"code": "print('more')"}));
    assert_eq!(told(&again, "code"), "no_space", "{again}");
}

#[test]
fn what_a_program_leaves_is_hostile_to_whoever_reads_it_and_is_read_as_such() {
    let (_home, mut server) = served("");
    let leave = "import os\nos.chdir('/roots/work')\nos.symlink('/etc/passwd', 'link')\nos.symlink('/proc/self/environ', 'process')\n\
                 os.mkfifo('pipe')\nwith open('hole', 'wb') as f:\n    f.truncate(4 << 20)\nopen('plain', 'w').write('well')\nprint('left')";
    let left = server.call("run_python", &json!({"code": leave}));
    assert_eq!(told(&left, "stdout"), "left\n", "{left}");
    for name in ["link", "process", "pipe"] {
        let read = server.call("read_file", &json!({"path": format!("work/{name}")}));
        assert!(!went_well(&read) && !read.to_string().contains("root:"), "{name}: {read}");
        let shown = server.call("file_info", &json!({"path": format!("work/{name}")}));
        assert!(!shown.to_string().contains("root:"), "{name}: {shown}");
    }
    // A hole is read as far as one read goes, and no further.
    let hole = server.call("read_file", &json!({"path": "work/hole"}));
    assert!(hole.to_string().len() < 2 << 20, "{} bytes came back", hole.to_string().len());
    let plain = server.call("read_file", &json!({"path": "work/plain"}));
    assert!(went_well(&plain) && plain.to_string().contains("well"), "{plain}");
    let found = server.call("search_files", &json!({"path": "work", "content": "root:"}));
    assert!(!found.to_string().contains("root:x"), "{found}");
}
