//! Landlock around a program that sees the host's own files: what is not named here cannot be read, written or executed.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{Dir, FileType, Mode, OFlags, Stat, fstat, openat};

use crate::backend::NotStarted;
use crate::init::host_folders::HostFolders;
use crate::init::root::below;
use crate::message::Plan;
use crate::spec::Cover;

/// Most entries that are let through one by one around what is denied.
const MOST_RULES: usize = 8192;

/// Closes everything but what the plan shows, a few devices, the scratch folder and the folders of the plan. Landlock has to hold signals and
/// abstract sockets as well; an older one is refused.
///
/// # Errors
/// Why not, and how to fix it.
pub(super) fn restrict(plan: &Plan, covers: &[Vec<Cover>], host: &HostFolders) -> Result<(), NotStarted> {
    let without = |why: String| NotStarted::Unavailable("filesystem".to_owned(), why);
    let too_old = |why: String| without(format!("{why}; {FIX}"));
    let mut ruleset = HostRuleset::new().map_err(too_old)?;
    ruleset.around_all(plan, host).map_err(without)?;
    for ((folder, covers), (_, dir)) in plan.folders.iter().zip(covers).zip(&host.folders) {
        let access = if folder.writable { writing() } else { AccessFs::from_read(ABI::V6) };
        ruleset.around(dir, covers, access).map_err(|why| match why {
            NotShown::Moved => NotStarted::Moved(folder.name.clone()),
            NotShown::For(why) => without(why),
        })?;
    }
    let status = ruleset.rules.restrict_self().map_err(|e| too_old(e.to_string()))?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(too_old("the kernel has no Landlock".to_owned()));
    }
    Ok(())
}

/// Why a folder is not shown.
enum NotShown {
    /// Something that is covered in it was moved after the look at it.
    Moved,
    /// The text says why.
    For(String),
}

impl From<String> for NotShown {
    fn from(reason: String) -> Self {
        Self::For(reason)
    }
}

/// Device and inode.
type Object = (u64, u64);

fn object(facts: &Stat) -> Object {
    (facts.st_dev, facts.st_ino)
}

fn look(dir: &OwnedFd, path: &str) -> Result<Stat, rustix::io::Errno> {
    fstat(below(dir, path)?)
}

const FIX: &str = "this needs Linux 6.12 or newer with `landlock` in `CONFIG_LSM` (or in the boot parameter `lsm=`); without it, user namespaces are needed";

struct HostRuleset {
    rules: RulesetCreated,
    count: usize,
}

impl HostRuleset {
    fn new() -> Result<Self, String> {
        let abi = ABI::V6;
        let rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(abi))
            .and_then(|rules| rules.handle_access(AccessNet::from_all(abi)))
            .and_then(|rules| rules.scope(Scope::from_all(abi)))
            .and_then(Ruleset::create)
            .map_err(|e| e.to_string())?;
        Ok(Self { rules, count: 0 })
    }

    /// Lets through what every program sees.
    fn around_all(&mut self, plan: &Plan, host: &HostFolders) -> Result<(), String> {
        let (read, write) = (AccessFs::from_read(ABI::V6), writing());
        for need in &plan.shown {
            self.path(Path::new(need), read)?;
        }
        for device in ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"] {
            self.path(Path::new(device), AccessFs::ReadFile | AccessFs::WriteFile)?;
        }
        self.path(&host.scratch, write)
    }

    /// Lets a root through but for what is masked in it.
    fn around(&mut self, dir: &OwnedFd, covers: &[Cover], access: BitFlags<AccessFs>) -> Result<(), NotShown> {
        let held = Held::below(dir, covers)?;
        let paths: Vec<&str> = covers.iter().map(|cover| cover.path.as_str()).collect();
        self.folder(dir, &paths, &held, access)?;
        // What came into the way meanwhile, and was let through as something else, may lead to what is masked by now.
        if Held::below(dir, covers)? == held { Ok(()) } else { Err(NotShown::Moved) }
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
    fn folder(&mut self, dir: &OwnedFd, covered: &[&str], held: &Held, access: BitFlags<AccessFs>) -> Result<(), NotShown> {
        if covered.is_empty() {
            return Ok(self.allow(dir, access)?);
        }
        let listing = openat(dir, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(|e| e.to_string())?;
        for entry in Dir::read_from(&listing).map_err(|e| e.to_string())? {
            let entry = entry.map_err(|e| e.to_string())?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if matches!(name, "." | "..") || covered.contains(&name) {
                continue;
            }
            let Ok(found) = openat(dir, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) else { continue };
            let facts = fstat(&found).map_err(|e| e.to_string())?;
            let kind = FileType::from_raw_mode(facts.st_mode);
            let below: Vec<&str> = covered.iter().filter_map(|path| path.strip_prefix(name)?.strip_prefix('/')).collect();
            match kind {
                // A link opens nothing: what it leads to has a rule of its own, or none.
                FileType::Symlink => {}
                FileType::Directory if !below.is_empty() => self.folder(&found, &below, held, access)?,
                // Under another name by now. A rule is for the object and stays with it.
                _ if held.0.contains(&object(&facts)) => return Err(NotShown::Moved),
                _ => self.allow(&found, access)?,
            }
        }
        Ok(())
    }
}

/// What no rule may be for: masked objects, and the folders that lead to them.
#[derive(Debug, PartialEq, Eq)]
struct Held(BTreeSet<Object>);

impl Held {
    /// Those below a root, where each is where it was looked at.
    fn below(dir: &OwnedFd, covers: &[Cover]) -> Result<Self, NotShown> {
        let mut held = BTreeSet::new();
        for cover in covers {
            match look(dir, &cover.path) {
                Ok(facts) if cover.is(&facts) => held.insert(object(&facts)),
                Err(_) if cover.object.is_none() => continue,
                _ => return Err(NotShown::Moved),
            };
            for (at, _) in cover.path.match_indices('/') {
                let above = cover.path.get(..at).unwrap_or_default();
                held.insert(object(&look(dir, above).map_err(|_| NotShown::Moved)?));
            }
        }
        Ok(Self(held))
    }
}

fn writing() -> BitFlags<AccessFs> {
    AccessFs::from_all(ABI::V6) & !AccessFs::MakeBlock & !AccessFs::MakeChar
}
