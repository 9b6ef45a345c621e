//! `copy`: the bytes of one judged file at another judged place.

use super::fault::{changed, fault};
use super::leaks::Leak;
use super::look::pair;
use super::read::{read_judged, regular};
use super::roots::Roots;
use super::stat::Stat;
use super::write::Written;
use crate::gate::Opened;
use crate::gate::Permit;
use crate::model::{Code, CopyFile, Failure, Target};

impl Roots {
    /// Copies the file the permit names, atomically, as `write` does. A new file has the permission bits of its source, less what the umask takes
    /// and never set-user-ID; one that is replaced keeps its own. Gives the source and what was written.
    ///
    /// # Errors
    /// `not_found`, `is_a_directory`, `already_exists` (a file onto itself), `conflict`, `file_too_large`, `no_space`, `masked_content` (the file
    /// holds masked secrets, and programs that do not see it would see the copy).
    pub fn copy(&self, permit: Permit<CopyFile>) -> Result<(Target, Written), Failure> {
        let (_, opened, terms) = permit.spend();
        let [from, to] = &pair(opened)?;
        copyable(from, to)?;
        let bytes = read_judged(from, terms.max_file_size)?;
        let seen = Stat::of(regular(from)?).map_err(|errno| fault(errno, &from.target, "read"))?;
        if !seen.is_as_judged(&from.fact) {
            return Err(changed(&from.target));
        }
        let manifest = &terms.manifest;
        let names = if manifest.filters.hides_secrets() { self.known.names(&bytes) } else { Vec::new() };
        if let Some(leak) = Leak::between(manifest, from, to, &self.known) {
            leak.of_names(&names)?;
        }
        let mut written = self.put_judged(to, &terms, &bytes, seen.mode & 0o777)?;
        // The digest of a content that is known but for a short secret would tell the secret.
        written.sha256 = written.sha256.filter(|_| names.is_empty());
        Ok((from.target.clone(), written))
    }
}

/// Whether the first can be copied to the second, by what was judged.
pub(super) fn copyable(from: &Opened, to: &Opened) -> Result<(), Failure> {
    regular(from)?;
    if from.fact.identity.map(|id| (id.device, id.inode)) == to.fact.identity.map(|id| (id.device, id.inode)) {
        return Err(Failure::new(Code::AlreadyExists, format!("`{}` and `{}` are the same", from.target, to.target)));
    }
    super::folder::reachable(to)
}
