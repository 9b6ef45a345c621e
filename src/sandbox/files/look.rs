//! Looking: from targets to facts and held objects, before anything is judged. It changes nothing and wakes nothing: pipes,
//! devices and sockets are never opened, only regular files and folders are.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::Dir;
use rustix::io::Errno;

use super::below::Below;
use super::fault::fault;
use super::protect::{Nearness, Objects, Protected, nearness};
use super::repository::obeyed_as;
use super::resolve::{Led, follow, open, open_file, open_folder, step};
use super::roots::{Root, Roots};
use super::session::{ENVIRONMENTS, GONE, PLACE};
use super::stat::Stat;
use crate::gate::Opened;
use crate::manifest::Symlinks;
use crate::model::name::{self, Found};
use crate::model::{Access, Code, Failure, Kind, Link, PathFact, RelPath, Spelling, Target};

impl Roots {
    /// Opens what the targets lead to, each for what is wanted with it. What is missing, a link or a device is a fact, not an error.
    ///
    /// # Errors
    /// `path_not_allowed` where the operating system refuses; `internal`.
    pub fn look(&self, session: &str, targets: &[Target], accesses: &[Access], links: Symlinks) -> Result<Vec<Opened>, Failure> {
        if targets.len() != accesses.len() {
            return Err(Failure::new(Code::Internal, "one access is wanted for each target"));
        }
        targets
            .iter()
            .zip(accesses)
            .map(|(target, access)| {
                let root = self.find(session, &target.root)?;
                let guard = Guard::new(self, &root);
                look_at(&root, &guard, target, *access, links).map_err(|errno| fault(errno, target, "looked at"))
            })
            .collect()
    }
}

/// The only object of a permit.
pub(in crate::sandbox) fn single(opened: Vec<Opened>) -> Result<Opened, Failure> {
    opened.into_iter().next().ok_or_else(|| Failure::new(Code::Internal, "the permit holds no object"))
}

/// The two objects of a permit: where something comes from and where it goes.
pub(super) fn pair(opened: Vec<Opened>) -> Result<[Opened; 2], Failure> {
    opened.try_into().map_err(|_| Failure::new(Code::Internal, "the permit holds no two objects"))
}

fn look_at(root: &Root, guard: &Guard<'_>, target: &Target, access: Access, links: Symlinks) -> Result<Opened, Errno> {
    let (mut held, mut spelling) = find(root, &target.path)?;
    let mut path = spelling.of(&target.path).clone();
    let target = Target { root: target.root.clone(), path: path.clone() };
    let opened = |fact, held: Option<Held>| {
        let (folder, object) = held.map_or((None, None), |held| (held.folder, held.object.map(Arc::new)));
        Opened { target, fact, root: root.folder.clone(), folder, object }
    };
    let mut link = Link::None;
    // What removes or gives a name acts on the link itself, never on what it leads to.
    let by_name = matches!(access, Access::MoveFrom | Access::MoveTo | Access::Delete { .. });
    if links == Symlinks::Inside && held.is_link() {
        match follow(root.folder.as_fd(), &root.place, &path, !by_name) {
            Ok(Led::To(to)) if to != path => {
                let (there, spelled) = find(root, &to)?;
                (held, path) = (there, spelled.of(&to).clone());
                link = Link::Leads(path.clone());
                if matches!(spelled, Spelling::Unknown | Spelling::Ambiguous) {
                    spelling = spelled;
                }
            }
            Ok(Led::To(_)) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Ok(Led::Out) => return Ok(opened(PathFact { link: Link::Outside, spelling, ..PathFact::of(Kind::Symlink) }, None)),
            Err(errno) => return Err(errno),
        }
    }
    if held.is_link() {
        let kind = if held.object.is_some() { Kind::Symlink } else { Kind::Absent };
        return Ok(opened(PathFact { link: Link::OnTheWay, spelling, ..PathFact::of(kind) }, None));
    }
    let Some(seen) = held.seen else {
        let protected = guard.holds_place(&path, by_name) || guard.holds_way(&path, held.mount);
        let missing_folders = if access.makes_folders() && held.folder.is_none() { missing_folders(root, &path) } else { 0 };
        let obeyed_as = if access.writes() { obeyed_as(root, &path) } else { None };
        return Ok(opened(PathFact { spelling, link, missing_folders, obeyed_as, protected, ..PathFact::default() }, Some(held)));
    };
    let mut fact = PathFact {
        link,
        spelling,
        size: seen.size,
        names: seen.names,
        identity: Some(seen.identity),
        obeyed_as: if access.writes() { obeyed_as(root, &path) } else { None },
        protected: guard.holds(&path, &seen) || guard.holds_place(&path, by_name) || guard.holds_way(&path, held.mount),
        ..PathFact::of(seen.kind)
    };
    if let (Access::Database { .. }, Some(identity)) = (access, &mut fact.identity) {
        // Other programs change what is in a database; that it is this file is what counts.
        (identity.mtime_ns, identity.ctime_ns, fact.size) = (0, 0, 0);
    }
    if !fact.protected {
        held.open_for(access)?;
        let whole = matches!(access, Access::MoveFrom | Access::Delete { recursive: true });
        if let (true, Kind::Directory, Some(object)) = (whole, seen.kind, &held.object) {
            let below = Below::of(object.as_fd(), &path, guard)?;
            fact.protected = below.entries.iter().any(|entry| entry.protected);
            (fact.below, fact.cut) = (below.entries, below.cut);
        }
    }
    Ok(opened(fact, Some(held)))
}

/// How many folders above a path are missing, for a path that had no parent folder when it was opened; 0 where something on the way is no folder.
/// A parent folder that another call made since then counts as missing: [`Roots::new_place`] uses the folder that it finds.
fn missing_folders(root: &Root, path: &RelPath) -> usize {
    let folders = path.segments().len().saturating_sub(1);
    for (depth, folder) in path.ancestors().enumerate().skip(1).take(folders) {
        match open(&root.folder, &folder).and_then(Stat::of) {
            Ok(seen) if seen.kind == Kind::Directory => {}
            Err(Errno::NOENT) => return folders + 1 - depth,
            _ => return 0,
        }
    }
    1
}

/// What stands at a path, and how the path is spelled there. Other spellings are looked for only where nothing stands.
fn find(root: &Root, path: &RelPath) -> Result<(Held, Spelling), Errno> {
    let held = Held::open(root, path)?;
    if held.seen.is_some() || held.is_link() || !path.has_spellings() {
        return Ok((held, Spelling::AsWritten));
    }
    let spelling = path.spelled(name::may_be_new, |folder, name| in_folder(root, folder, name))?;
    match &spelling {
        Spelling::Own(own) => Ok((Held::open(root, own)?, spelling)),
        _ => Ok((held, spelling)),
    }
}

/// What a folder holds for a name.
fn in_folder(root: &Root, folder: &RelPath, name: &str) -> Result<Found, Errno> {
    let handle = match open(&root.folder, folder) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Found::Nothing),
        Err(Errno::LOOP) => return Ok(Found::Beyond),
        answer => answer?,
    };
    match Stat::of(&handle)?.kind {
        Kind::Directory => {}
        Kind::Symlink => return Ok(Found::Beyond),
        _ => return Ok(Found::Nothing),
    }
    match step(&handle, name) {
        Err(Errno::NOENT) => {}
        answer => return answer.map(|_| Found::Same),
    }
    // A folder that may be passed through and not be read keeps its names: then only very bytes count.
    let Ok(readable) = open_folder(&handle) else { return Ok(Found::Nothing) };
    let entries = Dir::read_from(&readable)?.flatten();
    Ok(Found::among(name, entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned))))
}

/// What a path led to, before it is opened for anything.
struct Held {
    folder: Option<Arc<OwnedFd>>,
    object: Option<OwnedFd>,
    seen: Option<Stat>,
    /// The mount of the object, or of its folder where there is no object; unknown where there is no folder.
    mount: Option<u64>,
    /// A link lay on the way to the folder.
    way: bool,
}

impl Held {
    fn open(root: &Root, path: &RelPath) -> Result<Self, Errno> {
        let mut held = Self { folder: None, object: None, seen: None, mount: None, way: false };
        let Some((parent, name)) = path.split_last() else {
            let object = open(&root.folder, path)?;
            held.mount = Some(root.mount);
            held.seen = Some(Stat::of(&object)?);
            held.object = Some(object);
            return Ok(held);
        };
        let folder = if parent.is_root() {
            held.mount = Some(root.mount);
            root.folder.clone()
        } else {
            let folder = match open(&root.folder, &parent) {
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(held),
                Err(Errno::LOOP) => return Ok(Self { way: true, ..held }),
                answer => answer?,
            };
            let seen = Stat::of(&folder)?;
            match seen.kind {
                Kind::Directory => held.mount = Some(seen.mount),
                Kind::Symlink => return Ok(Self { way: true, ..held }),
                _ => return Ok(held),
            }
            Arc::new(folder)
        };
        match step(&folder, name) {
            Ok(object) => {
                let seen = Stat::of(&object)?;
                (held.mount, held.seen, held.object) = (Some(seen.mount), Some(seen), Some(object));
            }
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
        held.folder = Some(folder);
        Ok(held)
    }

    fn is_link(&self) -> bool {
        self.way || self.seen.is_some_and(|seen| seen.kind == Kind::Symlink)
    }

    /// Opens a regular file or a folder for reading where the access needs its content.
    fn open_for(&mut self, access: Access) -> Result<(), Errno> {
        let (Some(seen), Some(object)) = (self.seen, &self.object) else { return Ok(()) };
        let opened = match (seen.kind, access) {
            (Kind::Directory, Access::List) => open_folder(object),
            // A second name of a file may be one that is denied; it stays closed.
            (Kind::File, Access::Read | Access::Stat | Access::Edit | Access::Write(_)) if seen.names == 1 => open_file(object),
            _ => return Ok(()),
        };
        match opened {
            Ok(opened) => self.object = Some(opened),
            // It can still be judged; the verb says that the system refuses.
            Err(Errno::ACCESS | Errno::PERM) => {}
            Err(errno) => return Err(errno),
        }
        Ok(())
    }
}

/// Knows for one root what is protected, by text and by object.
pub(super) struct Guard<'a> {
    root: &'a Root,
    protected: Arc<Protected>,
    objects: OnceCell<Objects>,
    /// Everything in the protected folders; collected only when another mount is met.
    everything: OnceCell<Option<HashSet<(u64, u64)>>>,
}

impl<'a> Guard<'a> {
    pub(super) fn new(roots: &'a Roots, root: &'a Root) -> Self {
        Self { root, protected: roots.protected(), objects: OnceCell::new(), everything: OnceCell::new() }
    }

    /// Whether the object at this path is protected or lies in something protected.
    pub(super) fn holds(&self, path: &RelPath, seen: &Stat) -> bool {
        // A file with one name, on the mount of its root, stands at no other path than this one.
        let is_elsewhere = seen.kind != Kind::File || seen.names != 1 || seen.mount != self.root.mount;
        self.protected.was(seen.object())
            || nearness(&self.root.protected, path) == Nearness::Within
            || (is_elsewhere && self.objects().hold(seen.object()))
            || (seen.mount != self.root.mount && self.holds_elsewhere(seen.object()))
    }

    fn objects(&self) -> &Objects {
        self.objects.get_or_init(|| self.protected.objects())
    }

    /// Whether the text of the path alone says so; for what takes the path away, also when something protected lies below.
    fn holds_place(&self, path: &RelPath, takes_away: bool) -> bool {
        match nearness(&self.root.protected, path) {
            Nearness::Within => true,
            Nearness::Above => takes_away,
            Nearness::Apart => false,
        }
    }

    /// Whether a folder on the way is protected. Walked only where it can be: a protected folder lies in this root, or the way
    /// left the root's mount (a bind mount shows a folder under a second path).
    fn holds_way(&self, path: &RelPath, mount: Option<u64>) -> bool {
        // Unknown where a folder on the way is missing.
        let elsewhere = mount != Some(self.root.mount);
        if !self.root.protected_folder && !elsewhere {
            return false;
        }
        path.ancestors().skip(1).any(|folder| {
            let handle = open(&self.root.folder, &folder);
            let Ok(seen) = handle.and_then(Stat::of) else { return false };
            self.objects().hold(seen.object()) || (seen.mount != self.root.mount && self.holds_elsewhere(seen.object()))
        })
    }

    fn holds_elsewhere(&self, object: (u64, u64)) -> bool {
        let everything = self.everything.get_or_init(|| self.protected.everything(&[PLACE, GONE, ENVIRONMENTS]));
        // Too much to compare: then it counts as protected.
        everything.as_ref().is_none_or(|all| all.contains(&object))
    }
}
