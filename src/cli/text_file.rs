//! A file of the operator's that is read as a text: regular, of a sane size, and without waiting for anybody.

#![expect(clippy::disallowed_methods, reason = "the manifest and its lock are files that a user named")]

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The largest manifest or lock that is read. A thousand roots with their patterns have some hundred KiB.
const LARGEST: u64 = 4 << 20;

/// Reads a file. Links are followed: the operator placed them.
/// # Errors  What is no regular file (a pipe would be waited for without end, a device never ends), is larger than 4 MiB, or no UTF-8.
pub(super) fn read(path: &Path) -> io::Result<String> {
    let odd = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    // The flag keeps the opening of a pipe from waiting (open(2), O_NONBLOCK); for a regular file it means nothing.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(i32::try_from(flags.bits()).unwrap_or(0)).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(odd("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(odd("it is larger than 4 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| odd("it is not UTF-8"))
}

/// Writes beside the file and renames: a reader sees the old or the new one, never a part.
pub(super) fn replace(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut draft = tempfile::Builder::new().prefix(".toolgate-").tempfile_in(folder)?;
    draft.write_all(text.as_bytes())?;
    if let Ok(found) = file.metadata() {
        draft.as_file().set_permissions(found.permissions())?;
    }
    draft.as_file().sync_all()?;
    draft.persist(file).map_err(|fault| fault.error)?;
    Ok(())
}

/// Copies a file, with its mode, under the first free name beside it.
pub(super) fn keep(file: &Path) -> io::Result<PathBuf> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    for number in 1..1000 {
        let backup = file.with_file_name(format!("{name}.before-toolgate-{number}"));
        match std::fs::File::create_new(&backup) {
            Ok(_) => return std::fs::copy(file, &backup).map(|_| backup),
            Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {}
            Err(fault) => return Err(fault),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Where the former content is, in words; nothing where there was none.
pub(super) fn kept(backup: Option<&Path>) -> String {
    backup.map(|backup| format!("; what was there is kept in {}", backup.display())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_a_device_a_folder_and_what_is_huge_or_no_text_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("device")).unwrap();
        std::os::unix::fs::symlink("loop", at("loop")).unwrap();
        std::fs::write(at("bytes"), b"version = 1 # \xff").unwrap();
        std::fs::File::create(at("huge")).unwrap().set_len(1 << 40).unwrap();
        for (name, why) in [
            ("pipe", "no regular file"),
            ("device", "no regular file"),
            ("", "no regular file"),
            ("bytes", "not UTF-8"),
            ("huge", "larger than"),
            ("loop", ""),
            ("gone", ""),
        ] {
            let fault = read(&at(name)).unwrap_err().to_string();
            assert!(fault.contains(why), "{name}: {fault}");
        }
        std::fs::write(at("text"), "version = 1").unwrap();
        std::os::unix::fs::symlink("text", at("link")).unwrap();
        assert_eq!(read(&at("link")).unwrap(), "version = 1");
    }
}
