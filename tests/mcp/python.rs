//! Python through the whole server: the watch around a program, and state that lasts as long as its handle.

use serde_json::{Value, json};

use crate::home::{Home, Policy};
use crate::server::{Server, went_well};

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
