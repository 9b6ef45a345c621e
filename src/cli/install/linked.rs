//! Links on the way to a file of a project: a repository may hold them, and they lead wherever its author wants.

use std::path::{Path, PathBuf};

/// The first link on the way from a folder to a file below it, the file included; whether or not it leads anywhere.
pub(super) fn link_below(folder: &Path, file: &Path) -> Option<PathBuf> {
    let way = file.strip_prefix(folder).unwrap_or(file).ancestors().map(|part| folder.join(part)).collect::<Vec<_>>();
    way.into_iter().rev().find(|part| part != folder && part.is_symlink())
}

#[cfg(test)]
mod tests {
    use super::super::{Places, Server, remove, write};
    use crate::cli::arguments::ClientName;

    #[test]
    fn a_link_of_a_repository_leads_no_registration_out_of_it() {
        let server = Server { program: "/opt/toolgate".to_owned(), arguments: vec!["serve".to_owned()] };
        for (client, link) in
            [(ClientName::Vscode, ".vscode/mcp.json"), (ClientName::Vscode, ".vscode"), (ClientName::ClaudeCode, ".mcp.json")]
        {
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
                for done in [write(client, &places, &server), remove(client, &places, true)] {
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
}
