//! Numbers of the kernel as failures that a model can act on.

use rustix::io::Errno;

use crate::model::{Code, Failure, Target};

/// What the kernel said no with, told of the target alone: no host path, no descriptor.
pub(super) fn fault(errno: Errno, target: &Target, doing: &str) -> Failure {
    let failure = |code, why: &str| Failure::new(code, format!("`{target}` could not be {doing}: {why}"));
    match errno {
        Errno::NOENT => failure(Code::NotFound, "it does not exist").hint("list its folder to see what is there"),
        Errno::EXIST => failure(Code::AlreadyExists, "something of that name exists"),
        Errno::NOTDIR => failure(Code::NotADirectory, "a name on the way is no folder"),
        Errno::ISDIR => failure(Code::IsADirectory, "it is a folder"),
        Errno::NOTEMPTY => failure(Code::DirectoryNotEmpty, "the folder is not empty"),
        Errno::LOOP => failure(Code::Symlink, "a symbolic link lies on the way"),
        Errno::NOSPC | Errno::DQUOT => failure(Code::NoSpace, "the disk is full; nothing was changed"),
        Errno::FBIG => failure(Code::FileTooLarge, "the file system takes no file of that size"),
        Errno::ROFS => failure(Code::RootReadOnly, "the file system is read-only"),
        Errno::NAMETOOLONG => failure(Code::PathMalformed, "the name is too long for this file system"),
        Errno::BUSY | Errno::TXTBSY => failure(Code::Conflict, "it is in use"),
        Errno::ACCESS | Errno::PERM | Errno::BADF => failure(Code::PathNotAllowed, "the operating system does not permit it"),
        Errno::CANCELED => failure(Code::Cancelled, "the call was cancelled"),
        Errno::IO => failure(Code::DiskFailed, "the disk failed, and the present content of the file may be lost")
            .hint("tell the operator, and read it again before you use it"),
        other => failure(Code::Internal, &format!("the system answered {other}")),
    }
}

/// Nothing stands there.
pub(super) fn missing(target: &Target) -> Failure {
    Failure::new(Code::NotFound, format!("`{target}` does not exist")).hint("list its folder to see what is there")
}

/// It is not what was judged any more.
pub(super) fn changed(target: &Target) -> Failure {
    Failure::new(Code::Conflict, format!("`{target}` changed while the call was being checked; nothing was changed"))
        .hint("read it again and repeat the call")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RelPath;

    #[test]
    fn a_disk_that_fails_has_a_code_of_its_own() {
        let target = Target { root: "work".to_owned(), path: RelPath::parse("a").unwrap() };
        let codes = [Errno::IO, Errno::NOSPC, Errno::NODEV].map(|errno| fault(errno, &target, "written").0.code);
        assert_eq!(codes, [Code::DiskFailed, Code::NoSpace, Code::Internal]);
    }
}
