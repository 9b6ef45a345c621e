//! What the clients play, and the whole outcome each must have: answers, questions, files and records.

use serde_json::{Value, json};

use crate::drivers::{Driver, Told};
use crate::home::{Home, Policy};

/// One script and what must come of it.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// Whether a client that plays one request a run, and can ask nobody, can play it.
    pub(crate) for_inspector: bool,
    policy: Policy,
    /// What the person does at each question; `None` is a client that cannot ask.
    answers: Option<&'static [&'static str]>,
    steps: fn(&Home) -> Value,
    check: fn(&Home, &Told),
}

impl Scenario {
    pub(crate) fn play(&self, driver: &mut Driver) {
        let home = Home::new(self.policy);
        let told = driver.play(&home, self.answers, &(self.steps)(&home));
        let client = driver.client;
        if !client.is_inspector() {
            assert_eq!(told.value["protocol"], client.protocol, "{}", told.errors);
            // A client that was told the version beforehand does not ask who is there.
            let server = &told.value["server"];
            assert!(server["name"] == "toolgate" || (client.is_told_the_version() && server.is_null()), "{}", told.value);
        }
        (self.check)(&home, &told);
        home.verify();
    }
}

const PLAIN: Policy = Policy { approvals: "", limits: "", python: "" };

macro_rules! scenarios {
    ($(scenario $name:ident { $($field:ident: $value:expr),* $(,)? })*) => {
        pub(crate) const SCENARIOS: &[Scenario] = &[$(Scenario {
            $($field: $value,)*
            ..Scenario { name: stringify!($name), for_inspector: false, policy: PLAIN, answers: None, steps: |_| json!([]), check: |_, _| {} }
        }),*];
    };
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({"op": "call", "name": name, "arguments": arguments})
}

fn write(content: &str) -> Value {
    call("write_file", &json!({"path": "project/notes.txt", "content": content}))
}

const NOTES: &str = "first line\nsecond line\nthird line\n";

/// The file is as it was, and the log holds the refusal and no start of a write.
fn nothing_was_written(home: &Home, told: &Told, step: usize, code: &str) {
    let (given, text) = told.refused(step);
    assert_eq!(given, code, "{text}");
    assert!(!text.is_empty());
    assert_eq!(home.read("project/notes.txt"), NOTES);
    assert_eq!(home.told("call.started", "write_file").len(), 0);
    let denied = home.told("tool.denied", "write_file");
    assert_eq!(denied.len(), 1, "{denied:?}");
    assert_eq!(denied[0]["reason"], code, "{denied:?}");
}

/// Appends one byte at a time for half a minute to a file of a writable root.
fn beating() -> Value {
    let code = "import time\nfor _ in range(600):\n    with open('/roots/scratch/beat', 'a') as beat:\n        beat.write('x')\n    time.sleep(0.05)\n";
    json!({"code": code})
}

scenarios! {
    scenario tools_are_listed_and_files_read {
        for_inspector: true,
        steps: |_| json!([
            {"op": "list_tools"},
            call("read_file", &json!({"path": "project/notes.txt"})),
            call("list_directory", &json!({"path": "project"})),
            call("search_files", &json!({"path": "project", "query": "second"})),
            call("file_info", &json!({"path": "project/src/apples.csv"})),
        ]),
        check: |home, told| {
            let mut names: Vec<&str> = told.ok(0)["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
            names.sort_unstable();
            assert_eq!(names, ["copy_file", "create_directory", "delete_file", "edit_file", "edit_files", "fetch", "fetch_many", "file_info", "list_directory", "move_file", "read_file", "read_files", "run_python", "search_files", "write_file"]);
            assert_eq!(told.text(1), NOTES);
            assert!(told.text(2).contains("notes.txt") && told.text(2).contains("src"), "{}", told.text(2));
            assert!(!told.text(2).contains("secrets/key.txt"), "{}", told.text(2));
            assert!(told.text(3).contains("second line"), "{}", told.text(3));
            assert_eq!(told.ok(4)["structuredContent"]["size"], 24, "{}", told.ok(4));
            assert_eq!(home.told("call.finished", "read_file")[0]["status"], "success");
        },
    }

    scenario the_policy_is_a_resource {
        for_inspector: true,
        steps: |_| json!([{"op": "list_resources"}, {"op": "read_resource", "uri": "toolgate://policy"}]),
        check: |_, told| {
            assert_eq!(told.ok(0)["resources"][0]["uri"], "toolgate://policy");
            let text = told.ok(1)["contents"][0]["text"].as_str().unwrap();
            for word in ["read_file", "project", "scratch"] {
                assert!(text.contains(word), "`{word}` is not in: {text}");
            }
        },
    }

    scenario an_undeclared_capability_is_no_method {
        steps: |_| json!([{"op": "list_prompts"}]),
        check: |_, told| assert_eq!(told.error(0), -32601),
    }

    scenario refusals_say_which_rule_and_nothing_of_the_host {
        steps: |_| json!([
            call("read_file", &json!({"path": "project/secrets/key.txt"})),
            call("read_file", &json!({"path": "/etc/passwd"})),
            call("read_file", &json!({"path": "project/../../etc/passwd"})),
            call("read_file", &json!({"path": "project/notes.txt", "lines": 3})),
            {"op": "call", "name": "format_disk", "arguments": {}},
        ]),
        check: |home, told| {
            for (step, code) in [(0, "path_denied"), (1, "path_outside_roots"), (2, "path_malformed"), (3, "unknown_argument")] {
                let (given, text) = told.refused(step);
                assert_eq!(given, code, "{text}");
                assert!(!text.contains("hidden") && !text.contains(home.path("").to_str().unwrap()), "{text}");
            }
            assert_eq!(told.error(4), -32602);
            assert_eq!(home.told("call.started", "read_file").len(), 0);
        },
    }

    scenario a_new_file_needs_no_question_and_a_change_one {
        answers: Some(&["once"]),
        steps: |_| json!([
            call("create_directory", &json!({"path": "project/other"})),
            call("write_file", &json!({"path": "project/new/plan.md", "content": "# Plan\n"})),
            call("edit_file", &json!({"path": "project/notes.txt", "edits": [{"old_text": "second", "new_text": "2nd"}]})),
        ]),
        check: |home, told| {
            assert_eq!(home.read("project/new/plan.md"), "# Plan\n", "{}", told.value["steps"]);
            assert!(told.text(2).contains("2nd"), "{}", told.text(2));
            assert_eq!(home.read("project/notes.txt"), "first line\n2nd line\nthird line\n");
            assert_eq!(told.questions().len(), 1, "{:?}", told.questions());
            let question = &told.questions()[0];
            let schema = &question["requestedSchema"];
            let decision = &schema["properties"]["decision"];
            let titled = decision["oneOf"].as_array().map(|choices| choices.iter().map(|choice| choice["const"].clone()).collect::<Vec<_>>());
            let values = titled.map_or_else(|| decision["enum"].clone(), |values| json!(values));
            assert_eq!(values, json!(["deny", "once", "session", "session_folder", "session_root"]));
            assert_eq!(schema["required"], json!(["decision"]));
            assert!(schema["properties"]["decision"]["default"].is_null());
            let message = question["message"].as_str().unwrap();
            assert!(message.contains("project/notes.txt") && message.contains("- second line") && message.contains("+ 2nd line"), "{message}");
            let finished = home.told("call.finished", "edit_file");
            assert_eq!(finished.len(), 1);
            assert_eq!(finished[0]["status"], "success");
        },
    }

    scenario a_yes_for_the_session_is_asked_once {
        answers: Some(&["session", "decline"]),
        steps: |_| json!([write("one\n"), write("two\n")]),
        check: |home, told| {
            told.text(0);
            told.text(1);
            assert_eq!(home.read("project/notes.txt"), "two\n");
            assert_eq!(told.questions().len(), 1);
        },
    }

    scenario a_yes_for_once_is_asked_again {
        answers: Some(&["once", "decline"]),
        steps: |_| json!([write("one\n"), write("two\n")]),
        check: |home, told| {
            told.text(0);
            assert_eq!(told.refused(1).0, "approval_refused");
            assert_eq!(home.read("project/notes.txt"), "one\n");
            assert_eq!(told.questions().len(), 2);
        },
    }

    scenario a_declined_write_changes_nothing {
        answers: Some(&["decline"]),
        steps: |_| json!([write("x")]),
        check: |home, told| nothing_was_written(home, told, 0, "approval_refused"),
    }

    scenario a_cancelled_question_changes_nothing {
        answers: Some(&["cancel"]),
        steps: |_| json!([write("x")]),
        check: |home, told| nothing_was_written(home, told, 0, "approval_refused"),
    }

    scenario a_form_that_says_deny_changes_nothing {
        answers: Some(&["deny"]),
        steps: |_| json!([write("x")]),
        check: |home, told| nothing_was_written(home, told, 0, "approval_refused"),
    }

    scenario an_accept_without_a_decision_is_a_no {
        answers: Some(&["bare_accept"]),
        steps: |_| json!([write("x")]),
        check: |home, told| nothing_was_written(home, told, 0, "approval_not_explicit"),
    }

    scenario a_client_that_cannot_ask_is_told_so {
        for_inspector: true,
        steps: |_| json!([write("x")]),
        check: |home, told| {
            nothing_was_written(home, told, 0, "no_approval_channel");
            assert_eq!(told.questions().len(), 0);
        },
    }

    scenario an_answer_that_comes_too_late_is_a_no {
        policy: Policy { approvals: "timeout = \"2s\"", ..PLAIN },
        answers: Some(&["slow"]),
        steps: |_| json!([write("x")]),
        check: |home, told| nothing_was_written(home, told, 0, "approval_expired"),
    }

    scenario a_delete_needs_its_code {
        answers: Some(&["wrong_code", "bare_accept", "once"]),
        steps: |_| {
            let delete = call("delete_file", &json!({"path": "project/src/apples.csv"}));
            json!([delete, delete, delete])
        },
        check: |home, told| {
            assert_eq!(told.refused(0).0, "approval_not_explicit");
            assert_eq!(told.refused(1).0, "approval_not_explicit");
            told.text(2);
            assert!(!home.path("project/src/apples.csv").exists());
            assert_eq!(told.questions().len(), 3);
            assert_eq!(told.questions()[0]["requestedSchema"]["required"], json!(["decision", "confirm"]));
            assert_eq!(home.told("call.started", "delete_file").len(), 1);
        },
    }

    scenario python_runs_and_its_failure_is_an_answer {
        for_inspector: true,
        steps: |_| json!([
            call("run_python", &json!({"code": "import math\nprint(math.factorial(20))"})),
            call("run_python", &json!({"code": "print('before')\n1 / 0"})),
        ]),
        policy: Policy { python: "", approvals: "level_2 = \"none\"", limits: "" },
        check: |home, told| {
            let run = &told.ok(0)["structuredContent"];
            assert_eq!((run["status"].as_str(), run["stdout"].as_str()), (Some("ok"), Some("2432902008176640000\n")), "{}", told.ok(0));
            let (_, text) = told.refused(1);
            assert!(text.contains("ZeroDivisionError"), "{text}");
            assert_eq!(told.ok(1)["structuredContent"]["status"], "exception");
            assert_eq!(home.told("call.finished", "run_python").len(), 2);
        },
    }

    scenario a_call_that_is_taken_back_stops {
        policy: Policy { approvals: "level_2 = \"none\"", ..PLAIN },
        steps: |home| {
            let beat = home.path("scratch/beat");
            let mut running = call("run_python", &beating());
            running["cancel_when"] = json!(beat);
            json!([running, {"op": "quiet", "file": beat}, call("read_file", &json!({"path": "project/notes.txt"}))])
        },
        check: |home, told| {
            assert_eq!(told.value["steps"][0]["cancelled"], true, "{}\n{}", told.value["steps"][0], told.errors);
            assert_eq!(told.ok(1), true, "the program went on after its call was taken back");
            assert!(home.read("scratch/beat").len() < 300);
            assert_eq!(told.text(2), NOTES);
            let finished = home.told("call.finished", "run_python");
            assert_eq!(finished.len(), 1, "{finished:?}");
            assert_eq!(finished[0]["status"], "killed", "{finished:?}");
        },
    }

    scenario a_long_call_tells_how_far_it_is {
        steps: |_| {
            let mut long = call("run_python", &json!({"code": "import time\ntime.sleep(4)\nprint('done')"}));
            long["progress"] = json!(true);
            json!([long])
        },
        policy: Policy { approvals: "level_2 = \"none\"", ..PLAIN },
        check: |_, told| {
            assert_eq!(told.ok(0)["structuredContent"]["stdout"], "done\n");
            let notes: Vec<f64> = told.value["progress"].as_array().unwrap().iter().map(|note| note[0].as_f64().unwrap()).collect();
            assert!(!notes.is_empty(), "no progress was told in 4 s");
            assert!(notes.is_sorted_by(|a, b| a < b), "{notes:?}");
        },
    }
}
