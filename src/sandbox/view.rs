//! What a program must not see of a root: computed over the opened folder before the program starts.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::root::Hidden;
use crate::manifest::Manifest;
use crate::model::RelPath;
use crate::policy::paths::{Visible, visible};

/// Most entries of a root that are looked at; a larger tree is refused rather than half masked.
pub(super) const MOST: usize = 50_000;
/// Entries that are looked at without leaving the thread, which takes about as long as another one needs to wake up.
pub(super) const FEW: usize = 100;

/// Why a root cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unshown {
    #[error("it has more than {0} entries, too many to judge one by one; give Python a smaller folder")]
    TooMany(usize),
    #[error("a folder in it cannot be read, so its denied entries cannot be masked ({0})")]
    Unreadable(Errno),
    #[error("an entry in it has a name that is not UTF-8, which no pattern can judge")]
    NotText,
}

/// The entries below `root` that must be masked: denied, matched by no allowed pattern, the server's own, and where anything is denied every
/// file that has another name as well (a hard link may be the second name of a denied file). Below a masked folder nothing more is listed.
/// At most `most` entries are looked at.
pub(super) fn masked(manifest: &Manifest, name: &str, root: &OwnedFd, hidden: &Hidden, most: usize) -> Result<Vec<String>, Unshown> {
    let open_to_all = |root: &crate::manifest::Root| root.denied.is_empty() && root.allowed.iter().any(|pattern| pattern.as_str() == "**");
    let all_is_open = manifest.files.denied.is_empty() && manifest.roots.get(name).is_some_and(open_to_all);
    if all_is_open && !hidden.is_inside() && !hidden.is_anywhere() {
        return Ok(Vec::new());
    }
    // Where all is open, only the way to what is the server's own has to be gone.
    let is_worth = |path: &RelPath| !all_is_open || hidden.is_anywhere() || hidden.is_below(path);
    let mut masked = Vec::new();
    let mut seen = 0;
    let mut waiting = vec![RelPath::ROOT];
    while let Some(folder) = waiting.pop() {
        let Some(opened) = descend(root, &folder)? else { continue };
        let entries = Dir::read_from(&opened).map_err(Unshown::Unreadable)?;
        for entry in entries {
            let entry = entry.map_err(Unshown::Unreadable)?;
            let bytes = entry.file_name().to_bytes();
            if matches!(bytes, b"." | b"..") {
                continue;
            }
            seen += 1;
            if seen > most {
                return Err(Unshown::TooMany(most));
            }
            let path = folder.join(std::str::from_utf8(bytes).map_err(|_| Unshown::NotText)?);
            let is_directory = match entry.file_type() {
                // Some file systems do not tell in the listing.
                FileType::Unknown => match statat(&opened, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(facts) => FileType::from_raw_mode(facts.st_mode) == FileType::Directory,
                    Err(Errno::NOENT) => continue,
                    Err(errno) => return Err(Unshown::Unreadable(errno)),
                },
                kind => kind == FileType::Directory,
            };
            if hidden.covers(&path, &opened, entry.file_name(), entry.ino()) {
                masked.push(path.to_string());
                continue;
            }
            // Another name of what is denied would show it: which of two names is the denied one cannot be seen from one of them.
            if !all_is_open && !is_directory && has_other_names(&opened, entry.file_name())? {
                masked.push(path.to_string());
                continue;
            }
            match visible(manifest, name, &path, is_directory) {
                Visible::No => masked.push(path.to_string()),
                Visible::Yes | Visible::OnTheWay if is_directory && is_worth(&path) => waiting.push(path),
                Visible::Yes | Visible::OnTheWay => {}
            }
        }
    }
    Ok(masked)
}

/// Whether an entry is a regular file with more than one name.
fn has_other_names(folder: &OwnedFd, name: &CStr) -> Result<bool, Unshown> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(facts) => Ok(FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile && facts.st_nlink > 1),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(Unshown::Unreadable(errno)),
    }
}

/// Opens a folder below the root without following links. Nothing when it has gone meanwhile.
fn descend(root: &OwnedFd, folder: &RelPath) -> Result<Option<OwnedFd>, Unshown> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = openat(root.as_fd(), ".", flags, Mode::empty()).map_err(Unshown::Unreadable)?;
    for name in folder.segments() {
        at = match openat(&at, name.as_str(), flags, Mode::empty()) {
            Ok(next) => next,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(errno) => return Err(Unshown::Unreadable(errno)),
        };
    }
    Ok(Some(at))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::sandbox::root::{Place, Roots, Where};

    fn shown(patterns: &str, link: Option<&str>) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().canonicalize().unwrap().join(path);
        for path in ["root/conf", "root/state/audit", "root/src"] {
            std::fs::create_dir_all(at(path)).unwrap();
        }
        for path in ["root/conf/tools.toml", "root/conf/other.toml", "root/state/audit/log", "root/src/a.py"] {
            std::fs::write(at(path), path).unwrap();
        }
        if let Some(link) = link {
            std::fs::hard_link(at("root/conf/tools.toml"), at(link)).unwrap();
        }
        let text = format!("version = 1\n[roots.r]\npath = {:?}\nmode = \"ro\"\nallowed_paths = [\"**\"]\n{patterns}", at("root"));
        let manifest = crate::manifest::parse(&text, crate::tools::specs()).unwrap();
        let places = [Place { name: "r".to_owned(), at: Where::Folder(at("root")), quota: None }];
        let protected: Vec<PathBuf> = vec![at("root/conf/tools.toml")];
        let roots = Roots::open(&places, &protected, Some(&at("root/state"))).unwrap();
        let mut masked = masked(&manifest, "r", &roots.folder("s", "r").unwrap(), &roots.hidden("s", "r").unwrap(), MOST).unwrap();
        masked.sort();
        masked
    }

    #[test]
    fn a_program_sees_neither_the_manifest_nor_the_state_folder_of_a_root_that_is_open_to_all() {
        assert_eq!(shown("", None), ["conf/tools.toml", "state"]);
    }

    #[test]
    fn what_is_denied_is_masked_as_well_and_the_rest_is_shown() {
        assert_eq!(shown("denied_paths = [\"src/**\"]", None), ["conf/tools.toml", "src", "state"]);
    }

    #[test]
    fn a_denied_name_is_masked_in_every_form_by_its_own_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["cafe\u{301}", "open"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        for name in ["pri\u{200d}vate.txt", "open/cafe\u{301}", "\u{2764}\u{fe0f}"] {
            std::fs::write(root.join(name), "x").unwrap();
        }
        let text = format!(
            "version = 1\n[roots.r]\npath = {root:?}\nmode = \"ro\"\nallowed_paths = [\"**\"]\ndenied_paths = [\"private*\", \"caf\u{e9}/**\"]"
        );
        let manifest = crate::manifest::parse(&text, crate::tools::specs()).unwrap();
        let roots = Roots::open(&[Place { name: "r".to_owned(), at: Where::Folder(root), quota: None }], &[], None).unwrap();
        let mut masked = masked(&manifest, "r", &roots.folder("s", "r").unwrap(), &roots.hidden("s", "r").unwrap(), MOST).unwrap();
        masked.sort();
        assert_eq!(masked, ["cafe\u{301}", "pri\u{200d}vate.txt"]);
    }

    #[test]
    fn a_second_name_of_the_manifest_is_masked_wherever_it_lies() {
        assert_eq!(shown("", Some("root/src/harmless.txt")), ["conf/tools.toml", "src/harmless.txt", "state"]);
    }

    #[test]
    fn where_something_is_denied_no_file_with_a_second_name_is_shown_and_elsewhere_it_is() {
        let link = |text: &str| {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            std::fs::write(root.join("secret.env"), "x").unwrap();
            std::fs::write(root.join("plain.txt"), "x").unwrap();
            std::fs::create_dir(root.join("sub")).unwrap();
            std::fs::hard_link(root.join("secret.env"), root.join("sub/harmless.txt")).unwrap();
            std::os::unix::fs::symlink("plain.txt", root.join("way")).unwrap();
            let text = format!("version = 1\n[roots.r]\npath = {root:?}\nmode = \"ro\"\nallowed_paths = [\"**\"]\n{text}");
            let manifest = crate::manifest::parse(&text, crate::tools::specs()).unwrap();
            let places = [Place { name: "r".to_owned(), at: Where::Folder(root), quota: None }];
            let roots = Roots::open(&places, &[], None).unwrap();
            let mut masked = masked(&manifest, "r", &roots.folder("s", "r").unwrap(), &roots.hidden("s", "r").unwrap(), MOST).unwrap();
            masked.sort();
            masked
        };
        assert_eq!(link("denied_paths = [\"*.env\"]"), ["secret.env", "sub/harmless.txt"]);
        assert_eq!(link(""), Vec::<String>::new());
    }
}
