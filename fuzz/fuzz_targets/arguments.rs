//! Any bytes as arguments: every tool plans an action or refuses, and a case of `simulate` has a verdict, whatever it holds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use toolgate::cli::simulate;
use toolgate::tools;

fuzz_target!(|data: &[u8]| {
    let _ = simulate::simulate(data, &mut Vec::new());
    let Ok(Value::Object(arguments)) = serde_json::from_slice(data) else { return };
    let policy = json!({"version": 1, "clients": {"stdio": "p"}, "roots": {"work": {"path": "session", "mode": "rw", "allowed_paths": ["**"]}},
        "network": {"any_public": true}, "python": {"roots": ["work"], "allowed_imports": ["json"]},
        "profiles": {"p": {"permissions": ["FULL"], "allowed_tools": ["*"], "roots": ["work"]}}});
    for tool in tools::all() {
        let _ = tool.plan(arguments.clone());
        let case = json!({"policy": policy, "request": {"profile": "p", "tool": tool.spec().name, "args": arguments}});
        let verdict = simulate::judge_case(&case);
        assert!(verdict.code != toolgate::model::Code::PolicyInvalid, "{}", verdict.message);
    }
});
