//! Programs in a container, through the whole server.

use std::process::Command;

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::Server;

#[test]
#[ignore = "needs a container engine"]
fn a_program_runs_in_a_container_and_the_answer_and_the_doctor_name_it() {
    let folder = format!("{}/container", env!("CARGO_TARGET_TMPDIR"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/toolgate-jail/tests/container-image.sh");
    let said = Command::new(script).args([folder, std::process::id().to_string()]).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    for engine in ["docker", "podman"] {
        if !said.lines().any(|line| line.starts_with(&format!("ready {engine} ")) && line.ends_with("runc")) {
            println!("not run here: {engine}: {said}");
            continue;
        }
        let home = Home::new(Policy { approvals: "level_2 = \"none\"", ..Policy::default() });
        let container = format!(
            "roots = []\nbackend = \"container\"\n[python.container]\nengine = \"{engine}\"\nimage = \"toolgate-jail-test\"\nruntime = \"runc\"\n"
        );
        let text = home.read("tools.toml").replace("roots = [\"work\", \"scratch\"]\n", "").replace("require = []\n", "");
        std::fs::write(home.manifest(), text.replace("[profiles.all]", &format!("{container}[profiles.all]"))).unwrap();
        let mut server = Server::greeted(&home, "2025-11-25");
        let answer = server.call("run_python", &json!({"code": "print(6 * 7)\nimport sys\nlen(sys.stdin.read())", "stdin": "four"}));
        let told = &answer["result"]["structuredContent"];
        assert_eq!((&told["stdout"], &told["isolation"]["backend"]), (&json!("42\n4\n"), &json!("container")), "{answer}");
        let failed = server.call("run_python", &json!({"code": "1/0"}));
        assert!(failed.to_string().contains("ZeroDivisionError"), "{failed}");
        let refused = server.call("run_python", &json!({"code": "print(1)", "session": "new"}));
        assert!(refused.to_string().contains("leave `session` out"), "{refused}");
        let doctor = home.toolgate(&["doctor", "--json", "--manifest", home.manifest().to_str().unwrap()]).output().unwrap();
        let doctor: Value = serde_json::from_slice(&doctor.stdout).unwrap();
        assert_eq!(doctor["chosen"], "container", "{doctor}");
    }
}
