//! Where the manifest is looked for when no flag names it, and what must hold of a file that was found.

#![expect(clippy::disallowed_methods, reason = "the command line is where a user's paths become files")]

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::run::Fault;

/// The name of a manifest.
pub const NAME: &str = "tools.toml";

/// A manifest's path, and how it came to be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Its path, not canonical.
    pub path: PathBuf,
    /// How it came to be meant.
    pub by: By,
}

/// How a manifest came to be meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The command line or the environment names it.
    Name,
    /// It lies in the user's own configuration folder.
    Folder,
    /// It lies in the working folder or above it, where a repository may have brought it.
    Place,
}

/// A path that the environment names.
pub(super) fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|text| !text.is_empty()).map(PathBuf::from)
}

/// The manifest that is meant: the flag, the environment, upward from here, the configuration folder. None: the built-in one.
/// # Errors  What keeps a file that was found from being used.
pub fn manifest(flag: Option<&Path>) -> Result<Option<Manifest>, Fault> {
    if let Some(file) = flag.map(Path::to_owned).or_else(|| variable("TOOLGATE_MANIFEST")) {
        return Ok(Some(Manifest { path: file, by: By::Name }));
    }
    let home = variable("HOME");
    if let Some(found) = std::env::current_dir().ok().and_then(|here| upward(&here, home.as_deref())) {
        of_caller(&found).map_err(Fault::Refused)?;
        // The one beside the user is spoken of as they see it.
        let path = if std::env::current_dir().is_ok_and(|here| found == here.join(NAME)) { PathBuf::from(NAME) } else { found };
        return Ok(Some(Manifest { path, by: By::Place }));
    }
    let configuration = variable("XDG_CONFIG_HOME").or_else(|| home.map(|home| home.join(".config")));
    let file = configuration.map(|folder| folder.join("toolgate").join(NAME)).filter(|file| file.exists());
    Ok(file.map(|path| Manifest { path, by: By::Folder }))
}

/// The manifest that a server which starts in this folder finds, where nothing names one.
pub fn above(here: &Path) -> Option<PathBuf> {
    upward(&here.canonicalize().ok()?, variable("HOME").as_deref())
}

/// The first manifest from `here` upward: to the top of its repository, else to the user's home. Outside of both it is looked for here alone.
fn upward(here: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let is_top = |folder: &Path| folder.join(".git").exists();
    let top = here.ancestors().find(|folder| is_top(folder)).or_else(|| home.filter(|home| here.starts_with(home))).unwrap_or(here);
    here.ancestors()
        .take_while(|folder| folder.starts_with(top))
        .map(|folder| folder.join(NAME))
        .find(|file| file.symlink_metadata().is_ok())
}

/// Whether a file is the caller's or root's and no other user may write it.
/// # Errors  Why not, and what to do.
pub fn of_caller(file: &Path) -> Result<(), String> {
    // What cannot be read is told by the reader.
    let Ok(seen) = file.metadata() else { return Ok(()) };
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let refused = |why: &str, mend: &str| {
        Err(format!("the manifest `{}` {why}, so it serves only where `--manifest` names it; {mend}", file.display()))
    };
    if seen.uid() != user && seen.uid() != 0 {
        return refused("belongs to another user", "take it over with chown");
    }
    // A group of one's own is how many systems set users up.
    if seen.mode() & 0o002 != 0 || (seen.mode() & 0o020 != 0 && seen.gid() != group) {
        return refused("may be written by others", "take that away with `chmod go-w`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_manifest_is_found_upward_to_the_repository_s_top_or_home() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("home/repo/src/deep")).unwrap();
        fs::create_dir_all(at("home/plain/deep")).unwrap();
        fs::create_dir_all(at("else/deep")).unwrap();
        for above in ["home/tools.toml", "tools.toml", "else/tools.toml"] {
            fs::write(at(above), "").unwrap();
        }
        let home = at("home");
        let found = |here: &str| upward(&at(here), Some(&home));
        assert_eq!(found("home/plain/deep"), Some(at("home/tools.toml")), "up to home");
        assert_eq!(found("else/deep"), None, "outside of both nothing above is looked at");
        assert_eq!(found("else"), Some(at("else/tools.toml")));
        fs::create_dir(at("home/repo/.git")).unwrap();
        assert_eq!(found("home/repo/src/deep"), None, "not past the top of a repository");
        fs::write(at("home/repo/tools.toml"), "").unwrap();
        assert_eq!(found("home/repo/src/deep"), Some(at("home/repo/tools.toml")));
        fs::write(at("home/repo/src/tools.toml"), "").unwrap();
        assert_eq!(found("home/repo/src/deep"), Some(at("home/repo/src/tools.toml")), "the nearest");
    }

    #[test]
    fn a_file_that_others_may_write_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(NAME);
        fs::write(&file, "").unwrap();
        for (mode, good) in [(0o600, true), (0o644, true), (0o664, true), (0o646, false), (0o666, false)] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(of_caller(&file).is_ok(), good, "{mode:o}");
        }
    }
}
