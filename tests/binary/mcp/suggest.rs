//! The change of the manifest that would let a call through.

use crate::mcp::home::{Home, Policy};

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
    home
}

#[test]
fn explain_names_every_change_that_is_needed_where_one_is_not_enough() {
    let home = home();
    let text = said(
        &home,
        &["explain", "write_file", "{\"path\":\"project/notes.txt\",\"content\":\"x\"}", "--manifest", home.manifest().to_str().unwrap()],
    );
    let (_, changes) = text.split_once("a change of the manifest that would let it through:").unwrap_or_else(|| panic!("{text}"));
    assert!(changes.contains("profiles.all.allowed_tools: add \"write_file\""), "{text}");
    assert!(changes.contains("roots.project.allowed_paths: add \"*.txt\""), "{text}");
    let text = said(&home, &["explain", "fetch", "{\"url\":\"http://docs.example.com/\"}"]);
    for needed in
        ["network.allowed_schemes: add \"http\"", "network.allowed_domains: add \"docs.example.com\"", "network.allowed_ports: add 80"]
    {
        assert!(text.contains(needed), "{needed}: {text}");
    }
}
