//! What the log suggests, and the smallest change that would let a call through.

use serde_json::json;

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{Server, went_well};

fn said(home: &Home, arguments: &[&str]) -> String {
    let out = home.toolgate(arguments).output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

fn home() -> Home {
    let home = Home::new(Policy::default());
    let text = home.read("tools.toml");
    let text = text.replacen("allowed_paths = [\"**\"]\ndenied_paths", "allowed_paths = [\"src/**\", \"docs/**\"]\ndenied_paths", 1);
    let text = text.replacen(
        "allowed_tools = [\"*\"]",
        "allowed_tools = [\"read_file\", \"list_directory\", \"fetch\"]\nroots = [\"project\", \"scratch\"]",
        1,
    );
    std::fs::write(home.manifest(), text).unwrap();
    let mut server = Server::start(&home);
    assert!(went_well(&server.stateless("tools/call", &json!({"name": "read_file", "arguments": {"path": "project/src/apples.csv"}}))));
    for (tool, arguments) in [
        ("read_file", json!({"path": "project/notes.txt"})),
        ("read_file", json!({"path": "project/notes.txt"})),
        ("read_file", json!({"path": "project/secrets/key.txt"})),
        ("fetch", json!({"url": "https://docs.example.com/a"})),
        ("search_files", json!({"path": "project/src"})),
    ] {
        server.stateless("tools/call", &json!({"name": tool, "arguments": arguments}));
    }
    server.close();
    home
}

/// The part of the text under a heading, up to the next one.
fn part<'t>(text: &'t str, heading: &str) -> &'t str {
    let from = text.find(heading).unwrap_or_else(|| panic!("{text}"));
    let rest = text.get(from..).unwrap();
    rest.get(..rest.find("\n# -- ").unwrap_or(rest.len())).unwrap()
}

#[test]
fn what_was_refused_and_what_was_never_used_become_lines_that_can_be_pasted() {
    let home = home();
    let text = said(&home, &["policy", "suggest"]);
    let allow: toml::Table = toml::from_str(part(&text, "# -- to allow")).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    assert_eq!(allow["roots"]["project"]["allowed_paths"].to_string(), "[\"src/**\", \"docs/**\", \"notes.txt\"]");
    assert_eq!(allow["network"]["allowed_domains"].to_string(), "[\"nowhere.invalid\", \"docs.example.com\"]");
    assert_eq!(allow["profiles"]["all"]["allowed_tools"].to_string(), "[\"read_file\", \"list_directory\", \"fetch\", \"search_files\"]");
    assert!(text.contains("# 2 × path_not_allowed: read_file project/notes.txt"), "{text}");
    let close: toml::Table = toml::from_str(part(&text, "# -- to close")).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    assert_eq!(close["roots"]["project"]["allowed_paths"].to_string(), "[\"src/**\"]");
    assert_eq!(close["profiles"]["all"]["allowed_tools"].to_string(), "[\"read_file\"]");
    assert_eq!(close["profiles"]["all"]["roots"].to_string(), "[\"project\"]");
    assert!(text.contains("1 call(s) were refused by a denial; it is left alone"), "{text}");
    assert!(!text.contains("secrets"), "what a denial names is not proposed: {text}");
}

#[test]
fn a_denial_is_proposed_away_only_where_it_was_asked_for() {
    let home = home();
    let text = said(&home, &["policy", "suggest", "--denied"]);
    let allow: toml::Table = toml::from_str(part(&text, "# -- to allow")).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    assert_eq!(allow["roots"]["project"]["denied_paths"].to_string(), "[]");
    let text = said(&home, &["policy", "suggest", "--tighten"]);
    assert!(!text.contains("# -- to allow") && text.contains("# -- to close"), "{text}");
}

#[test]
fn explain_names_every_change_that_is_needed_where_one_is_not_enough() {
    let home = home();
    let text = said(
        &home,
        &["explain", "write_file", "{\"path\":\"project/notes.txt\",\"content\":\"x\"}", "--manifest", home.manifest().to_str().unwrap()],
    );
    let (_, changes) = text.split_once("the smallest change that would let it through:").unwrap_or_else(|| panic!("{text}"));
    assert!(changes.contains("profiles.all.allowed_tools: add \"write_file\""), "{text}");
    assert!(changes.contains("roots.project.allowed_paths: add \"notes.txt\""), "{text}");
    let text = said(&home, &["explain", "fetch", "{\"url\":\"http://docs.example.com/\"}"]);
    for needed in
        ["network.allowed_schemes: add \"http\"", "network.allowed_domains: add \"docs.example.com\"", "network.allowed_ports: add 80"]
    {
        assert!(text.contains(needed), "{needed}: {text}");
    }
}
