//! Landlock around a program that sees the host's own files: what is not named here cannot be read, written or executed.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, statat};

use super::site::Site;
use crate::sandbox::jail::order::{MOVED, Mask, Order};

/// Most entries that are let through one by one around what is denied.
const MOST_RULES: usize = 8192;

/// Closes everything but the interpreter, its libraries, a few devices, the scratch folder and the roots. Where `alone`, Landlock has to
/// hold signals and abstract sockets as well, and an older one is refused.
///
/// # Errors
/// The text of what went wrong, with what mends it.
pub(super) fn restrict(order: &Order, site: &Site, alone: bool) -> Result<(), String> {
    let level = if alone { CompatLevel::HardRequirement } else { CompatLevel::BestEffort };
    let rules = Fence::new(level).and_then(|fence| fence.around(order, site)).map_err(|e| format!("{e}; {MEND}"))?;
    let status = rules.restrict_self().map_err(|e| format!("{e}; {MEND}"))?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(format!("the kernel has no Landlock; {MEND}"));
    }
    Ok(())
}

const MEND: &str = "needs Linux 6.12 or newer with `landlock` in `CONFIG_LSM` (or the boot parameter `lsm=`), or namespaces";

struct Fence {
    rules: RulesetCreated,
    count: usize,
}

impl Fence {
    fn new(level: CompatLevel) -> Result<Self, String> {
        let abi = ABI::V6;
        let rules = Ruleset::default()
            .set_compatibility(level)
            .handle_access(AccessFs::from_all(abi))
            .and_then(|rules| rules.handle_access(AccessNet::from_all(abi)))
            .and_then(|rules| rules.scope(Scope::from_all(abi)))
            .and_then(Ruleset::create)
            .map_err(|e| e.to_string())?;
        Ok(Self { rules, count: 0 })
    }

    fn around(mut self, order: &Order, site: &Site) -> Result<RulesetCreated, String> {
        let (read, write) = (AccessFs::from_read(ABI::V6), writing());
        for need in &order.kind.interpreter.needs {
            self.path(Path::new(need), read)?;
        }
        for device in ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"] {
            self.path(Path::new(device), AccessFs::ReadFile | AccessFs::WriteFile)?;
        }
        self.path(&site.scratch, write)?;
        for ((root, masked), (_, dir)) in order.roots().zip(&site.roots) {
            let access = if root.writable { write } else { read };
            let paths: Vec<&str> = masked.iter().map(|mask| mask.path.as_str()).collect();
            self.folder(dir, &paths, access)?;
            // What was moved before the rules were made may have been let through under another name.
            if let Some(moved) = masked.iter().find(|mask| !is_there(dir, mask)) {
                return Err(format!("{MOVED} (`{}`)", moved.path));
            }
        }
        Ok(self.rules)
    }

    fn path(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), String> {
        let fd = PathFd::new(path).map_err(|e| e.to_string())?;
        self.allow(&fd, access)
    }

    fn allow(&mut self, fd: &impl AsFd, access: BitFlags<AccessFs>) -> Result<(), String> {
        self.count += 1;
        if self.count > MOST_RULES {
            return Err("more is denied in a root than can be gone around".to_owned());
        }
        let kind = FileType::from_raw_mode(fstat(fd).map_err(|e| e.to_string())?.st_mode);
        let access = if kind == FileType::Directory { access } else { access & AccessFs::from_file(ABI::V6) };
        (&mut self.rules).add_rule(PathBeneath::new(fd, access)).map(drop).map_err(|e| e.to_string())
    }

    /// Allows a folder but for what is masked below it. A rule cannot take away what one above it gives (landlock(7)), so a folder with
    /// something masked in it is not allowed itself, and cannot be listed: its other entries are, one by one.
    fn folder(&mut self, dir: &OwnedFd, masked: &[&str], access: BitFlags<AccessFs>) -> Result<(), String> {
        if masked.is_empty() {
            return self.allow(dir, access);
        }
        let listing = openat(dir, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(|e| e.to_string())?;
        for entry in Dir::read_from(&listing).map_err(|e| e.to_string())? {
            let entry = entry.map_err(|e| e.to_string())?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if matches!(name, "." | "..") || masked.contains(&name) {
                continue;
            }
            let Ok(found) = openat(dir, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) else { continue };
            let kind = FileType::from_raw_mode(fstat(&found).map_err(|e| e.to_string())?.st_mode);
            let below: Vec<&str> = masked.iter().filter_map(|path| path.strip_prefix(name)?.strip_prefix('/')).collect();
            match kind {
                // A link opens nothing: what it leads to has a rule of its own, or none.
                FileType::Symlink => {}
                FileType::Directory if !below.is_empty() => self.folder(&found, &below, access)?,
                _ => self.allow(&found, access)?,
            }
        }
        Ok(())
    }
}

/// Whether a masked entry is where it was looked at.
pub(super) fn is_there(dir: &OwnedFd, mask: &Mask) -> bool {
    mask.object.is_none() || statat(dir, mask.path.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|facts| mask.is(&facts))
}

fn writing() -> BitFlags<AccessFs> {
    AccessFs::from_all(ABI::V6) & !AccessFs::MakeBlock & !AccessFs::MakeChar
}
