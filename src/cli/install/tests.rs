//! Registrations in the files of clients.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::*;

fn named(name: &str) -> &'static Client {
    Client::named(name).unwrap()
}

/// Those with a configuration that stands in a file, or is pasted into one.
fn all() -> impl Iterator<Item = &'static Client> {
    Client::all().iter().filter(|client| client.name != "jetbrains")
}

fn server() -> Server {
    Server { program: "/opt/tool gate/toolgate".into(), arguments: vec!["serve".into(), "--manifest".into(), "/a/\"b\"/tools.toml".into()] }
}

fn places(folder: &Path) -> Places {
    Places { home: folder.join("home"), config: folder.join("home/.config"), project: folder.join("project") }
}

fn register(client: &Client, places: &Places, server: &Server) -> Result<Written, Fault> {
    change(client, places, true, &|text| edit::with(client, text, server).map(Some))
}

fn remove(client: &Client, places: &Places, write: bool) -> Result<Written, Fault> {
    change(client, places, write, &|text| edit::without(client, text))
}

#[test]
fn the_examples_are_what_install_prints() {
    let server = Server { program: "toolgate".into(), arguments: vec!["serve".into(), "--manifest".into(), "/path/to/tools.toml".into()] };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/clients");
    for client in all() {
        let name = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().split('.').next() == Some(client.name.as_str());
        let file = std::fs::read_dir(&folder).unwrap().flatten().find(name).unwrap_or_else(|| panic!("{}", client.name));
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), snippet(client, &server), "{}", client.name);
    }
}

#[test]
fn quotes_and_spaces_in_a_path_stay_one_argument() {
    for client in all().filter(|client| client.name != "codex") {
        let text = snippet(client, &server());
        assert!(text.contains(r#""/opt/tool gate/toolgate""#) && text.contains(r#""/a/\"b\"/tools.toml""#), "{text}");
    }
}

#[test]
fn a_registration_written_twice_is_there_once_and_the_second_changes_nothing() {
    for client in all().filter(|client| client.name != "goose") {
        let folder = tempfile::tempdir().unwrap();
        let places = places(folder.path());
        let first = register(client, &places, &server()).unwrap();
        assert_eq!(first, Written { file: client.file(&places), backup: None, changed: true });
        assert_eq!(std::fs::read_to_string(&first.file).unwrap(), snippet(client, &server()), "{client:?}");
        assert_eq!(register(client, &places, &server()).unwrap(), Written { changed: false, ..first });
    }
}

#[test]
fn what_was_there_is_kept_beside_and_the_mode_stays() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(folder.path());
    let file = named("cursor").file(&places);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "{\"mcpServers\": {\"other\": {\"command\": \"x\"}}}").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let written = register(named("cursor"), &places, &server()).unwrap();
    let backup = written.backup.unwrap();
    assert_eq!(std::fs::read_to_string(&backup).unwrap(), "{\"mcpServers\": {\"other\": {\"command\": \"x\"}}}");
    for path in [&backup, &file] {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let read: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(read["mcpServers"]["other"], json!({"command": "x"}));
    assert_eq!(read["mcpServers"]["toolgate"]["command"], "/opt/tool gate/toolgate");
}

#[test]
fn a_file_that_cannot_be_read_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(folder.path());
    for (client, text) in [(named("cursor"), "{\"a\": "), (named("cursor"), "[]"), (named("codex"), "a = ")] {
        let file = client.file(&places);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        let fault = register(client, &places, &server()).unwrap_err();
        assert!(fault.to_string().contains("cannot be read as"), "{fault}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn what_was_registered_is_taken_out_again_and_nothing_else() {
    for (client, before) in [
        (named("cursor"), "{\n  // mine\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}, // kept\n  },\n}\n"),
        (named("amp"), "{\"amp.url\": \"x\", \"amp.mcpServers\": {\"other\": {}}}"),
        (named("codex"), "model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = \"x\"\n"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let places = places(folder.path());
        let file = client.file(&places);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, before).unwrap();
        assert!(!remove(client, &places, true).unwrap().changed, "{client:?} has none");
        register(client, &places, &server()).unwrap();
        let registered = std::fs::read_to_string(&file).unwrap();
        assert!(remove(client, &places, false).unwrap().changed);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), registered, "{client:?}: only told");
        let removed = remove(client, &places, true).unwrap();
        assert!(removed.changed && removed.backup.is_some());
        let words = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(words(&std::fs::read_to_string(&file).unwrap()), words(before), "{client:?}");
    }
    for client in all().filter(|client| client.name != "goose") {
        let text = snippet(client, &server());
        let left = edit::without(client, &text).unwrap().unwrap();
        assert!(!left.contains("toolgate"), "{client:?}: {left}");
        assert_eq!(edit::without(client, &left), Ok(None), "{client:?}");
    }
}

#[test]
fn a_client_that_is_configured_by_hand_has_no_file_that_is_written() {
    let folder = tempfile::tempdir().unwrap();
    for (client, key) in [(named("jetbrains"), "mcpServers"), (named("goose"), "extensions:")] {
        let places = places(folder.path());
        for done in [register(client, &places, &server()), remove(client, &places, true)] {
            assert!(done.unwrap_err().to_string().contains("configured by hand"));
        }
        assert!(snippet(client, &server()).contains(key) && !client.file(&places).exists());
    }
}

#[test]
fn a_link_of_a_repository_leads_no_registration_out_of_it() {
    let server = Server { program: "/opt/toolgate".to_owned(), arguments: vec!["serve".to_owned()] };
    for (client, link) in [(named("vscode"), ".vscode/mcp.json"), (named("vscode"), ".vscode"), (named("claude-code"), ".mcp.json")] {
        for is_there in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let places = Places {
                home: folder.path().join("home"),
                config: folder.path().join("home/.config"),
                project: folder.path().join("project"),
            };
            let (outside, link) = (folder.path().join("elsewhere"), places.project.join(link));
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            if is_there && link.ends_with(".vscode") {
                std::fs::create_dir(&outside).unwrap();
            } else if is_there {
                std::fs::write(&outside, "{\"servers\": {\"toolgate\": {}}, \"mcpServers\": {\"toolgate\": {}}}").unwrap();
            }
            std::os::unix::fs::symlink(&outside, &link).unwrap();
            let content = || (std::fs::read_to_string(&outside).ok(), std::fs::read_dir(&outside).map(Iterator::count).ok());
            let before = content();
            for done in [register(client, &places, &server), remove(client, &places, true)] {
                let fault = done.unwrap_err().to_string();
                assert!(fault.contains(&link.display().to_string()) && fault.contains("symbolic link"), "{fault}");
            }
            assert_eq!(content(), before);
            assert_eq!(
                std::fs::read_dir(folder.path())
                    .unwrap()
                    .flatten()
                    .filter(|entry| entry.file_name().to_string_lossy().contains("before-toolgate"))
                    .count(),
                0
            );
        }
    }
}

#[test]
fn a_linked_configuration_stays_linked() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(folder.path());
    let file = named("gemini").file(&places);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(folder.path().join("kept.json"), "{}").unwrap();
    std::os::unix::fs::symlink(folder.path().join("kept.json"), &file).unwrap();
    register(named("gemini"), &places, &server()).unwrap();
    assert!(file.is_symlink());
    assert!(std::fs::read_to_string(folder.path().join("kept.json")).unwrap().contains("toolgate"));
}
