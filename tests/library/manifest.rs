//! The loader of `tools.toml`: what it refuses, all at once and with places; what a missing key means.
#![expect(clippy::expect_used, clippy::string_slice, reason = "a test may stop at what should not be")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use toolgate::manifest::{self, Fault, Manifest, Mode, RootMode};
use toolgate::model::{Bytes, Inside, Level};
use toolgate::tools;

fn parse(text: &str) -> Result<Manifest, Vec<String>> {
    manifest::parse(text, tools::specs()).map_err(|faults| faults.iter().map(Fault::to_string).collect())
}

fn faults(text: &str) -> Vec<String> {
    parse(text).expect_err("the manifest should be refused")
}

fn json_faults(value: &Value) -> Vec<String> {
    manifest::parse_json(value, tools::specs()).expect_err("refused").iter().map(Fault::to_string).collect()
}

#[test]
fn every_fault_is_told_at_once_with_its_place_and_the_nearest_word() {
    let text = r#"version = 2
profile = {}
[roots.data]
path = "/data"
mod = "rw"
allowed_paths = ["ok/**", "/etc/**", "a/../b"]
[profiles.p]
permissions = ["READ_FILES"]
allowed_tools = ["read_fil"]
roots = ["dta"]
[tools.rm]
level = 3
[tools.read_file]
allowed_arguments = { pth = ["x"] }
level = 5
[limits]
timeout = "10 parsecs"
[network]
allowed_domains = ["*"]
"#;
    insta::assert_snapshot!(faults(text).join("\n"));
}

#[test]
fn a_text_that_is_not_toml_has_one_fault_where_a_bracket_or_quote_is_never_closed() {
    let entries = |open: &str, close: &str| format!("`{open}` is never closed; write `{close}` after the last entry");
    let quote = |quote: &str| format!("`{quote}` is never closed; write `{quote}` after the text");
    let rest = "[profiles.p]\nallowed_tools = [\"*\"]\npermissions = [\"FULL\"]\n[[test]]\nlevel = 1\n".repeat(50);
    for (text, at, told) in [
        (format!("[roots.a]\npath = \"/a\"\nallowed_paths = [\"**\"\nmode = \"rw\"\n{rest}"), "3:17", entries("[", "]")),
        (format!("a = [1,\n  2\n\n{rest}"), "1:5", entries("[", "]")),
        ("a = [[1], [2]\n".to_owned(), "1:5", entries("[", "]")),
        ("a = { b = [1 }\nc = 1\n".to_owned(), "1:11", entries("[", "]")),
        (format!("a = {{ b = 1\n{rest}"), "1:5", entries("{", "}")),
        ("x = 1\n[roots\nx = ".to_owned(), "2:1", "`[` is never closed; write `]` after the name of the table".to_owned()),
        (format!("a = \"/b\n{rest}"), "1:5", quote("\"")),
        ("a = [\"b\\\", 'c']\n".to_owned(), "1:6", quote("\"")),
        ("a = ['b, 1]\n".to_owned(), "1:6", quote("'")),
        (format!("a = \"\"\"\nb\n{rest}"), "1:5", quote("\"\"\"")),
        // Nothing is open: the parser's own fault, and the first alone.
        ("a = { b = 1,\n  c = [2], }\n[d]\ne = 1\ne = 2\nf = 3\nf = 4\n".to_owned(), "5:1", "duplicate key".to_owned()),
        ("a = [1]]\nb = [2\n".to_owned(), "1:8", "unexpected key or value".to_owned()),
    ] {
        let found = faults(&text);
        let wanted = format!("{at}: this is not TOML: {told}");
        assert!(found.len() == 1 && found[0].starts_with(&wanted), "{wanted}\n{found:?}");
    }
}

#[test]
fn a_root_without_a_profile_or_an_allowed_path_is_warned_of() {
    let warnings = |text: &str| parse(text).expect("valid").warnings().iter().map(Fault::to_string).collect::<Vec<_>>();
    let text = "version = 1\n[roots.a]\npath = \"/a\"\nallowed_paths = [\"**\"]\n[roots.b]\npath = \"session\"\n";
    let profile = "[profiles.p]\npermissions = [\"FULL\"]\nallowed_tools = [\"*\"]\n";
    let [profiles, paths] = [
        "no profile has this root; add `\"a\"` to `roots` of a profile",
        "this root allows no path; add `allowed_paths = [\"**\"]`, or narrower patterns",
    ];
    assert_eq!(warnings(&format!("{text}{profile}")), [format!("5:8: roots.b: {paths}")]);
    assert_eq!(
        warnings(&format!("{text}{profile}roots = [\"b\"]\n")),
        [format!("2:8: roots.a: {profiles}"), format!("5:8: roots.b: {paths}")]
    );
}

#[test]
fn the_shipped_example_loads_whole() {
    let Some(path) = ["TOOLGATE_EXAMPLE", ""].iter().find_map(|name| std::env::var_os(name).map(PathBuf::from)).or_else(|| {
        let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tools.toml");
        beside.exists().then_some(beside)
    }) else {
        eprintln!("skipped: no tools.toml in the repository and $TOOLGATE_EXAMPLE is not set");
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let mut manifest = parse(&text).unwrap();
    assert_eq!(manifest.resolve_roots("/home/someone/project"), Ok(()));
    assert!(!manifest.profiles.is_empty());
}

#[test]
fn every_section_of_the_reference_is_read() {
    let text = r#"
version = 1
[clients]
stdio = "standard"
http = "none"
[[clients.token]]
name = "ci"
sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
profile = "standard"
[[clients.oauth]]
issuer = "https://id.example.com"
audience = "https://tools.example.com/mcp"
jwks = "https://id.example.com/jwks.json"
claims = { groups = "developers", scope = ["a", "b"] }
profile = "standard"
[roots.work]
path = "session"
mode = "rw"
allowed_paths = ["**"]
quota = { bytes = "200 MiB", files = 2000 }
[roots.project]
path = "."
mode = "rw"
allowed_paths = ["**"]
denied_paths = ["**/generated/**"]
[files]
denied_paths = ["**/.env*"]
[python]
roots = ["work"]
sessions = { max = 4, idle = "10m" }
cpu_share = "50%"
[profiles.standard]
permissions = ["STANDARD", "EXECUTE_CODE"]
allowed_tools = ["*"]
[approvals]
level_1 = "every"
[limits]
breaker = { denials = 10, within = "1m" }
[filters]
secrets = "mask"
[review]
from_level = 3
reviewers = [{ command = ["/usr/local/bin/review"] }]
rule = "any-deny"
[audit]
keep = "400d"
[state]
dir = ""
[[test]]
profile = "standard"
call = { tool = "read_file", args = { path = "/etc/passwd" } }
expect = "deny"
"#;
    let mut manifest = parse(text).unwrap();
    manifest.resolve_roots("/home/someone/x/../project").unwrap_err();
    manifest.resolve_roots("/home/someone/project").unwrap();
    assert_eq!(manifest.clients.stdio.as_deref(), Some("standard"));
    assert_eq!(manifest.clients.http, None);
    assert_eq!(manifest.clients.tokens[0].sha256[..2], [0x9f, 0x86]);
    assert_eq!(manifest.clients.oauth[0].claims["scope"], ["a", "b"]);
    assert_eq!(manifest.roots["project"].paths, [["home", "someone", "project"]]);
    assert!(manifest.roots["work"].is_session() && manifest.roots["work"].paths.is_empty());
    assert_eq!(manifest.python.cpu_share, 50);
    assert_eq!(manifest.review.reviewers[0].command, ["/usr/local/bin/review"]);
    assert_eq!(manifest.audit.keep, Duration::from_hours(400 * 24));
    assert_eq!(manifest.state.dir, None);
    assert_eq!(manifest.tests[0].call.args, *json!({"path": "/etc/passwd"}).as_object().unwrap());
    // A level is never laxer than a lower one.
    assert_eq!(Level::ALL.map(|level| manifest.approvals.mode(level)), [Mode::None, Mode::Every, Mode::Every, Mode::Every, Mode::Operator]);
    let place = manifest.spans.locate("roots.project.denied_paths[0]").unwrap();
    assert_eq!(text.lines().nth(place.line - 1).unwrap()[place.column - 1..].trim_end_matches(']'), "\"**/generated/**\"");
}

#[test]
fn what_is_missing_takes_the_values_of_the_contract() {
    let manifest = parse("version = 1\n[roots.r]\npath = \"/r\"\n[profiles.p]\n").unwrap();
    assert_eq!(manifest.files.max_file_size, Bytes::mib(1));
    assert_eq!(manifest.limits.timeout, Duration::from_secs(10));
    assert_eq!(manifest.roots["r"].mode, RootMode::ReadOnly);
    assert!(manifest.roots["r"].allowed.is_empty());
    assert!(manifest.network.allowed_domains.is_empty() && manifest.python.allowed_imports.is_empty());
    assert_eq!(manifest.profiles["p"].roots, None);
    assert_eq!(manifest.approvals.modes(), [Mode::None, Mode::None, Mode::First, Mode::Every, Mode::Operator]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table is as long as it has rows")]
fn a_manifest_as_json_is_read_by_the_same_rules() {
    let json = json!({"version": 1, "roots": {"d": {"path": "/d", "mode": "rw", "allowed_paths": ["**"]}}});
    assert!(manifest::parse_json(&json, tools::specs()).is_ok());
    for (broken, word) in [
        (json!({}), "version"),
        (json!({"version": "1"}), "whole number"),
        (json!({"version": 1.0}), "fraction"),
        (json!({"version": true}), "truth value"),
        (json!({"version": null}), "null"),
        (json!([]), "table"),
        (json!({"version": 1, "roots": []}), "table"),
        (json!({"version": 1, "roots": {"d": {"path": "/d", "mode": "RW"}}}), "`rw`"),
        (json!({"version": 1, "roots": {"d": {"mode": "rw"}}}), "`path` is missing"),
        (json!({"version": 1, "roots": {"d": {"path": "/"}}}), "whole machine"),
        (json!({"version": 1, "roots": {"d": {"path": "/a/../b"}}}), "climbs"),
        (json!({"version": 1, "roots": {"d/e": {"path": "/d"}}}), "name for a root"),
        (json!({"version": 1, "roots": {"a": {"path": "/d"}, "b": {"path": "/d/e"}}}), "lies inside"),
        (json!({"version": 1, "roots": {"a": {"path": "/d/"}, "b": {"path": "/d"}}}), "lies inside"),
        (json!({"version": 1, "files": {"denied_paths": ["a**"]}}), "whole segment"),
        (json!({"version": 1, "files": {"denied_paths": ["[a"]}}), "not closed"),
        (json!({"version": 1, "files": {"max_file_size": "1 XiB"}}), "amount of data"),
        (json!({"version": 1, "files": {"max_file_size": "-1"}}), "amount of data"),
        (json!({"version": 1, "files": {"max_file_size": 1024}}), "text in quotes"),
        (json!({"version": 1, "network": {"allowed_domains": ["*.com"]}}), "top-level"),
        (json!({"version": 1, "network": {"allowed_domains": ["a.*.example"]}}), "no domain"),
        (json!({"version": 1, "network": {"allowed_ports": [70000]}}), "65535"),
        (json!({"version": 1, "network": {"allowed_schemes": ["ftp"]}}), "no scheme"),
        (json!({"version": 1, "network": {"internal": ["10.0.0.1"]}}), "with a port"),
        (json!({"version": 1, "approvals": {"level_3": "ask"}}), "`every`"),
        (json!({"version": 1, "approvals": {"level_5": "deny"}}), "did you mean"),
        (json!({"version": 1, "approvals": {"two_persons": ["delet_file"]}}), "did you mean `delete_file`"),
        (json!({"version": 1, "approvals": {"on_timeout": "allow"}}), "unknown key"),
        (json!({"version": 1, "profiles": {"p": {"denied_tools": ["rm"]}}}), "matches no tool"),
        (json!({"version": 1, "profiles": {"p": {"rate_limit_per_minute": -1}}}), "less than 0"),
        (json!({"version": 1, "profiles": {"p": {"permissions": "FULL"}}}), "a list"),
        (json!({"version": 1, "profiles": {"none": {}}}), "no access"),
        (json!({"version": 1, "clients": {"stdio": "p"}}), "no profile"),
        (json!({"version": 1, "clients": {"token": [{"name": "x", "sha256": "12", "profile": "none"}]}}), "64 hex"),
        (
            json!({"version": 1, "profiles": {"p": {}}, "clients": {"token": [{"name": "a\0b", "sha256": "00", "profile": "p"}]}}),
            "control character",
        ),
        (
            json!({"version": 1, "profiles": {"p": {}}, "clients": {"token": [{"name": "", "sha256": "00", "profile": "p"}]}}),
            "`name` is missing",
        ),
        (json!({"version": 1, "profiles": {"p": {}}, "clients": {"token": [{"name": "a ", "sha256": "00", "profile": "p"}]}}), "no blank"),
        (
            json!({"version": 1, "profiles": {"p": {}}, "clients": {"token": [{"name": "a".repeat(201), "sha256": "00", "profile": "p"}]}}),
            "200",
        ),
        (
            json!({"version": 1, "profiles": {"p": {}}, "clients": {"token": [{"name": "a\u{200b}", "sha256": "00", "profile": "p"}]}}),
            "not shown",
        ),
        (json!({"version": 1, "profiles": {"a\0b": {}}}), "control character"),
        (issuer("x", "https://id.example/keys"), "no issuer"),
        (issuer("http://id.example", "https://id.example/keys"), "no issuer"),
        (issuer("https://id.example?x", "https://id.example/keys"), "no issuer"),
        (issuer("https://a@id.example", "https://id.example/keys"), "no issuer"),
        (issuer("https://id.example ", "https://id.example/keys"), "no issuer"),
        (issuer("https://id.example", "http://id.example/keys"), "over https or from a file"),
        (issuer("https://id.example", "https://"), "URL"),
        (issuer("https://id.example", "keys\0.json"), "control character"),
        (json!({"version": 1, "python": {"interpreter": ""}}), "empty"),
        (json!({"version": 1, "python": {"interpreter": "a\0b"}}), "control character"),
        (json!({"version": 1, "python": {"backend": ""}}), "is not one of `auto`"),
        (json!({"version": 1, "python": {"backend": "rlimits"}}), "was removed; write `landlock`"),
        (json!({"version": 1, "http": {"head_timeout": "1s"}}), "was removed; the head of a request always has 10 seconds"),
        (json!({"version": 1, "python": {"env": {"A": "a\0b"}}}), "no NUL"),
        (json!({"version": 1, "state": {"dir": "a\0b"}}), "control character"),
        (json!({"version": 1, "state": {"dir": " "}}), "empty"),
        (json!({"version": 1, "network": {"secrets": {"a": {"file": "a\0b", "hosts": ["a.example"]}}}}), "control character"),
        (json!({"version": 1, "audit": {"hash_args": ["contnet"]}}), "did you mean `content`"),
        (json!({"version": 1, "audit": {"hash_args": ["token"]}}), "no argument"),
        (json!({"version": 1, "audit": {"redact": ["pasword"]}}), "did you mean `password`"),
        (json!({"version": 1, "audit": {"redact": ["haeders.cookie"]}}), "no argument"),
        (json!({"version": 1, "audit": {"redact": ["headers."]}}), "no argument"),
        (json!({"version": 1, "audit": {"redact": [""]}}), "no argument"),
        (json!({"version": 1, "audit": {"hash_args": ["edits.new_txt"]}}), "did you mean `edits.new_text`"),
        (json!({"version": 1, "audit": {"redact": ["edits.password"]}}), "no argument"),
        (json!({"version": 1, "audit": {"redact": ["path.token"]}}), "no argument"),
        (json!({"version": 1, "audit": {"hash_args": ["Content.x"]}}), "no argument"),
        (with_claims(json!({"": "x"})), "a claim has a name"),
        (with_claims(json!({" ": "x"})), "a claim has a name"),
        (with_claims(json!({"role": []})), "no value"),
        (with_rule("algorithms", json!([])), "the list is empty"),
        (json!({"version": 1, "tools": {"read_file": {"remember": "envelope"}}}), "envelope"),
        (json!({"version": 1, "tools": {"fetch": {"allowed_arguments": {"method": []}}}}), "empty"),
        (json!({"version": 1, "tools": {"fetch": {"allowed_arguments": {"max_length": {"min": 3, "max": 2}}}}}), "greater"),
        (json!({"version": 1, "tools": {"fetch": {"allowed_arguments": {"max_length": {"least": 3}}}}}), "unknown key"),
        (json!({"version": 1, "python": {"roots": ["x"]}}), "no root"),
        (json!({"version": 1, "python": {"memory": "much"}}), "amount of data"),
        (json!({"version": 1, "review": {"rule": "majority"}}), "`any-deny`"),
        (json!({"version": 1, "test": [{"profile": "p", "call": {"tool": "read_file"}, "expect": "deny"}]}), "no profile"),
    ] {
        let told = json_faults(&broken);
        assert!(told.iter().any(|fault| fault.contains(word)), "{broken} {told:?}");
    }
}

#[expect(clippy::indexing_slicing, reason = "a helper of tests may stop at what should not be")]
fn with_rule(key: &str, value: Value) -> Value {
    let mut manifest = issuer("https://id.example", "https://id.example/keys");
    manifest["clients"]["oauth"][0][key] = value;
    manifest
}

fn with_claims(claims: Value) -> Value {
    with_rule("claims", claims)
}

fn issuer(issuer: &str, jwks: &str) -> Value {
    let rule = json!({"issuer": issuer, "audience": "https://tools.example/mcp", "jwks": jwks, "profile": "p"});
    json!({"version": 1, "profiles": {"p": {}}, "clients": {"oauth": [rule]}})
}

#[test]
fn names_that_exist_are_taken_and_those_inside_an_argument_are_looked_for_by_themselves() {
    let audit = json!({"redact": ["password", "Headers.X-Ticket", "url.session"], "hash_args": ["content", "edits.new_text", "CODE"]});
    let manifest = manifest::parse_json(&json!({"version": 1, "audit": audit}), tools::specs()).unwrap();
    assert_eq!(manifest.audit.redact, ["password", "X-Ticket", "session"]);
    assert_eq!(manifest.audit.hash_args, ["content", "new_text", "CODE"]);
    let usual = manifest::AuditRules::default();
    let again = json!({"version": 1, "audit": {"redact": usual.redact, "hash_args": usual.hash_args}});
    assert_eq!(manifest::parse_json(&again, tools::specs()).unwrap().audit, usual, "the defaults exist");
    for ordinary in ["https://id.example/realms/a", "http://localhost:8080/realms/a", "http://127.0.0.1:1", "https://id.example/"] {
        assert!(manifest::parse_json(&issuer(ordinary, "keys.json"), tools::specs()).is_ok(), "{ordinary}");
    }
}

#[test]
fn names_inside_an_argument_are_those_that_its_schema_has() {
    for tool in tools::all() {
        let schema = Value::Object(tool.card().input_schema.clone());
        for (argument, inside) in tool.spec().inside {
            let own = &schema["properties"][argument];
            let fields = own["items"]["properties"].as_object().or(own["properties"].as_object());
            let names = fields.map(|fields| fields.keys().map(String::as_str).collect::<BTreeSet<_>>());
            match inside {
                Inside::Names(written) => assert_eq!(names, Some(written.iter().copied().collect()), "{argument}"),
                Inside::Free => assert_eq!(names, None, "{argument}"),
            }
        }
        for (name, argument) in schema["properties"].as_object().unwrap() {
            let has_fields = argument["items"]["properties"].is_object() || argument["properties"].is_object();
            assert!(!has_fields || tool.spec().inside.iter().any(|(known, _)| known == name), "{} {name}", tool.spec().name);
        }
    }
}

#[test]
fn python_may_write_only_where_nothing_is_denied() {
    let with = |root: Value, files: Value| json!({"version": 1, "roots": {"d": root}, "files": files, "python": {"roots": ["d"]}});
    let judged = |value: Value| manifest::parse_json(&value, tools::specs()).map(|_| ()).map_err(|faults| faults[0].what.clone());
    let rw = json!({"path": "/d", "mode": "rw", "allowed_paths": ["**"]});
    assert_eq!(judged(with(rw.clone(), json!({}))), Ok(()));
    let denied = json!({"denied_paths": ["**/.env"]});
    assert!(judged(with(rw, denied.clone())).unwrap_err().starts_with("root_not_enforceable"));
    let part = json!({"path": "/d", "mode": "rw", "allowed_paths": ["a/**"]});
    assert!(judged(with(part, json!({}))).unwrap_err().starts_with("root_not_enforceable"));
    let read_only = json!({"path": "/d", "mode": "ro", "allowed_paths": ["a/**"], "denied_paths": ["a/b"]});
    assert_eq!(judged(with(read_only, denied.clone())), Ok(()));
    let session = json!({"path": "session", "mode": "rw", "allowed_paths": ["**"]});
    assert_eq!(judged(with(session, denied)), Ok(()));
}

#[test]
fn the_order_of_tables_never_matters() {
    let parts = [
        "[roots.a]\npath = \"/a\"\nmode = \"rw\"\nallowed_paths = [\"**\"]\n",
        "[roots.b]\npath = \"/b\"\nallowed_paths = [\"x\"]\n",
        "[profiles.p]\npermissions = [\"FULL\"]\nallowed_tools = [\"*\"]\n",
        "[files]\ndenied_paths = [\"**/.env\"]\n",
    ];
    let shown = |order: [usize; 4]| {
        let text = format!("version = 1\n{}", order.map(|at| parts[at]).concat());
        let mut manifest = parse(&text).unwrap();
        (manifest.sha256, manifest.spans) = Default::default();
        format!("{manifest:?}")
    };
    assert_eq!(shown([0, 1, 2, 3]), shown([3, 2, 1, 0]));
    assert_eq!(shown([0, 1, 2, 3]), shown([1, 3, 0, 2]));
}

proptest! {
    #[test]
    fn no_text_makes_the_loader_panic(text in "\\PC{0,200}|([a-z._\\[\\]{}=\", 0-9\n-]|version = 1\n|\\[roots\\.a\\]\n|path = |allowed_paths = ){0,40}") {
        let _ = parse(&text);
    }
}

#[test]
fn a_secret_has_a_name_one_source_and_hosts() {
    let base = "version = 1\n[network.secrets.";
    assert!(parse(&format!("{base}gh]\nenv = \"X\"\nhosts = [\"api.example.com\", \"127.0.0.1\"]")).is_ok());
    for (text, told) in [
        ("gh]\nhosts = [\"a.example\"]", "`env` with the name of a variable, or `file` with a path"),
        ("gh]\nenv = \"X\"\nfile = \"x\"\nhosts = [\"a.example\"]", "and not both"),
        ("gh]\nenv = \"X\"", "write the `hosts`"),
        ("gh]\nenv = \"X\"\nhosts = [\"*\"]", "would be every host"),
        ("\"a b\"]\nenv = \"X\"\nhosts = [\"a.example\"]", "letters, digits"),
        ("gh]\nvalue = \"x\"\nenv = \"X\"\nhosts = [\"a.example\"]", "value"),
    ] {
        let faults = faults(&format!("{base}{text}"));
        assert!(faults.iter().any(|fault| fault.contains(told)), "{text}: {faults:?}");
    }
}
