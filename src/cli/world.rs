//! An invented world: what `simulate` and the manifest's own tests describe instead of the machine. Nothing of the machine is looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value};

use crate::manifest::{Manifest, Symlinks};
use crate::model::name::{self, Found};
use crate::model::{Access, Action, CallPath, Entry, Facts, Host, HttpUrl, Kind, Link, PathFact, RelPath, Spelling, Target};
use crate::policy::paths::{Visible, place, visible};
use crate::policy::{Screened, python_roots};

/// A file system, names and redirects, as the `state` of a case has them.
#[derive(Debug, Default)]
pub struct World {
    // By absolute path; what lies in a session root is under a name that no path can have.
    things: BTreeMap<String, Thing>,
    sizes: BTreeMap<String, u64>,
    names: BTreeMap<String, Vec<IpAddr>>,
    redirects: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Thing {
    File,
    Directory,
    Link(String),
    HardLink,
    Special,
    /// Nothing is there, nor below it.
    Missing,
}

/// As many links as a kernel follows before it gives up (`path_resolution(7)`).
const MAX_LINKS: usize = 40;

/// The one public address of every host that the case does not list.
pub(super) const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 216, 34));

impl World {
    /// Reads `fs`, `sizes`, `dns` and `redirects`.
    pub fn read(state: &Map<String, Value>, manifest: &Manifest) -> Self {
        let table = |name: &str| state.get(name).and_then(Value::as_object).into_iter().flatten();
        // What cannot be read as an address stands for an internal one: an unreadable world is no reason to say yes.
        let addresses = |value: &Value| texts(value).map(|text| text.parse().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))).collect();
        Self {
            things: table("fs").map(|(path, value)| (key(manifest, path), thing(value.as_str().unwrap_or_default()))).collect(),
            sizes: table("sizes").filter_map(|(path, size)| Some((key(manifest, path), size.as_u64()?))).collect(),
            names: table("dns").map(|(host, value)| (host_key(host), addresses(value))).collect(),
            redirects: table("redirects").map(|(url, value)| (url_key(url), texts(value).collect())).collect(),
        }
    }

    /// What would be seen for an action.
    pub fn look(&self, manifest: &Manifest, action: &Action, screened: &Screened) -> Facts {
        let touches = action.touches();
        let paths = screened.targets.iter().zip(&touches).map(|(target, touch)| self.path(manifest, target, touch.access)).collect();
        let Some(url) = &screened.url else { return Facts { paths, ..Facts::default() } };
        Facts { paths, addresses: self.resolve(url), redirects: self.hops(url, manifest.network.max_redirects) }
    }

    /// Those of `names` that are modules of a root which the programs of a profile see, as the sandbox finds them.
    pub fn modules(&self, manifest: &Manifest, profile: &str, names: BTreeSet<String>) -> BTreeSet<String> {
        let is_file = |root: &str, path: &RelPath| {
            let at = format!("{}/{path}", base_of(manifest, root));
            visible(manifest, root, path, false) != Visible::No && matches!(self.things.get(&at), Some(Thing::File | Thing::HardLink))
        };
        let has_source = |root: &str, folder: &RelPath| {
            let at = format!("{}/{folder}", base_of(manifest, root));
            let mut names = self.paths_below(&at);
            visible(manifest, root, folder, true) != Visible::No
                && names.any(|name| name.strip_suffix(".py").is_some() && !name.contains('/') && is_file(root, &folder.join(name)))
        };
        let roots = python_roots(manifest, profile);
        let is_module = |name: &String| {
            let places = roots.iter().flat_map(|(root, _)| [(*root, RelPath::ROOT), (*root, RelPath::ROOT.join("src"))]);
            places
                .into_iter()
                .any(|(root, folder)| is_file(root, &folder.join(&format!("{name}.py"))) || has_source(root, &folder.join(name)))
        };
        names.into_iter().filter(is_module).collect()
    }

    fn path(&self, manifest: &Manifest, target: &Target, access: Access) -> PathFact {
        let base = base_of(manifest, &target.root);
        let spelling = self.spelled(manifest, target, name::may_be_new);
        let (at, link) = self.follow(manifest, &base, spelling.of(&target.path));
        let kind = self.kind(&at, &base);
        let names = if self.things.get(&at) == Some(&Thing::HardLink) { 2 } else { u64::from(kind != Kind::Absent) };
        let takes_all = matches!(access, Access::MoveFrom | Access::Delete { .. }) && kind == Kind::Directory;
        let below = if takes_all { self.below(&at, &base) } else { Vec::new() };
        // A case that does not say so leaves no folder out.
        let is_missing = |folder: &RelPath| self.things.get(&format!("{base}/{folder}")) == Some(&Thing::Missing);
        let path = if let Link::Leads(path) = &link { path } else { spelling.of(&target.path) };
        let folders = path.segments().len().saturating_sub(1);
        let missing = path.last_folders(folders).iter().position(is_missing).filter(|_| access.makes_folders() && kind == Kind::Absent);
        let missing_folders = missing.map_or(0, |depth| folders - depth);
        PathFact { spelling, link, names, missing_folders, size: self.sizes.get(&at).copied().unwrap_or(0), below, ..PathFact::of(kind) }
    }

    /// Whether an entry vouches for each name of a path that is not plain: joiners and selectors, and what is not in normal form C.
    pub fn vouches_for(&self, manifest: &Manifest, path: &CallPath) -> bool {
        let is_known = |target: &Target| {
            target.path.is_plain() || !matches!(self.spelled(manifest, target, name::is_plain), Spelling::Unknown | Spelling::Ambiguous)
        };
        path.is_plain() || place(manifest, path).is_ok_and(|target| is_known(&target))
    }

    fn spelled(&self, manifest: &Manifest, target: &Target, may_be_new: fn(&str) -> bool) -> Spelling {
        if !target.path.has_spellings() {
            return Spelling::AsWritten;
        }
        let base = base_of(manifest, &target.root);
        let look = |folder: &RelPath, name: &str| {
            let at = if folder.is_root() { base.clone() } else { format!("{base}/{folder}") };
            let entries: BTreeSet<&str> = self.paths_below(&at).filter_map(|path| path.split('/').next()).collect();
            Ok::<_, Infallible>(match self.things.get(&at) {
                Some(Thing::Link(_)) => Found::Beyond,
                _ if entries.contains(name) => Found::Same,
                _ => Found::among(name, entries.iter()),
            })
        };
        let Ok(spelling) = target.path.spelled(may_be_new, look);
        spelling
    }

    /// Where a path leads: goes along it as a kernel would, link by link.
    fn follow(&self, manifest: &Manifest, base: &str, path: &RelPath) -> (String, Link) {
        let inside = manifest.files.symlinks == Symlinks::Inside;
        let mut rest: Vec<String> = path.segments().to_vec();
        let mut links = 0;
        'again: loop {
            let mut at = base.to_owned();
            let whole = rest.clone();
            for (index, name) in std::iter::once("").chain(whole.iter().map(String::as_str)).enumerate() {
                if index > 0 {
                    at = format!("{at}/{name}");
                }
                let Some(Thing::Link(to)) = self.things.get(&at) else { continue };
                links += 1;
                if !inside || links > MAX_LINKS {
                    return (at, Link::OnTheWay);
                }
                let parent = at.rsplit_once('/').map_or("", |(parent, _)| parent);
                let joined = if to.starts_with('/') { to.clone() } else { format!("{parent}/{to}") };
                let beyond = whole.iter().skip(index).map(String::as_str);
                let full = normal(joined.split('/').chain(beyond));
                match full.strip_prefix(base).filter(|tail| tail.is_empty() || tail.starts_with('/')) {
                    Some(tail) => {
                        rest = tail.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
                        continue 'again;
                    }
                    None => return (at, Link::Outside),
                }
            }
            let link = if links == 0 { Link::None } else { RelPath::parse(&rest.join("/")).map_or(Link::Outside, Link::Leads) };
            return (at, link);
        }
    }

    fn kind(&self, at: &str, base: &str) -> Kind {
        match self.things.get(at) {
            Some(Thing::File | Thing::HardLink) => Kind::File,
            Some(Thing::Directory) => Kind::Directory,
            Some(Thing::Link(_)) => Kind::Symlink,
            Some(Thing::Special) => Kind::Other,
            None if self.sizes.contains_key(at) => Kind::File,
            None if at == base || self.paths_below(at).next().is_some() => Kind::Directory,
            None | Some(Thing::Missing) => Kind::Absent,
        }
    }

    /// The paths below a folder, relative to it.
    fn paths_below<'w>(&'w self, folder: &str) -> impl Iterator<Item = &'w str> {
        let prefix = format!("{folder}/");
        self.things.keys().chain(self.sizes.keys()).filter_map(move |key| key.strip_prefix(&prefix))
    }

    fn below(&self, at: &str, base: &str) -> Vec<Entry> {
        // Folders that the case names only on the way to something are entries as well.
        let mut paths = BTreeSet::new();
        for mut end in self.paths_below(at) {
            while !end.is_empty() {
                paths.insert(end);
                end = end.rsplit_once('/').map_or("", |(parent, _)| parent);
            }
        }
        let entry = |path: &str| {
            let path = format!("{at}/{path}");
            let rest = path.strip_prefix(base)?.strip_prefix('/')?;
            Some(Entry { path: RelPath::ROOT.join(rest), kind: self.kind(&path, base), size: 0, identity: None, protected: false })
        };
        paths.into_iter().filter_map(entry).collect()
    }

    fn resolve(&self, url: &HttpUrl) -> Vec<IpAddr> {
        let name = match url.host() {
            Host::Address(address) => return vec![address],
            Host::Name(name) => name,
        };
        if let Some(listed) = self.names.get(name) {
            return listed.clone();
        }
        if name == "localhost" || name.ends_with(".localhost") {
            return vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        }
        vec![PUBLIC]
    }

    /// The hops a fetch would make, each resolved against the one before it. One more than are followed is enough to be refused.
    fn hops(&self, url: &HttpUrl, most: u32) -> Vec<(String, Vec<IpAddr>)> {
        let mut hops: Vec<(String, Vec<IpAddr>)> = Vec::new();
        let mut from = url.clone();
        let mut queue: Vec<String> = Vec::new();
        while hops.len() <= most as usize {
            if queue.is_empty() {
                let Some(next) = self.redirects.get(from.as_str()) else { break };
                queue = next.iter().rev().cloned().collect();
            }
            let Some(next) = queue.pop() else { break };
            // A hop that is no URL is told by its text; what would follow it cannot matter.
            let Ok(hop) = from.join(&next) else {
                hops.push((next, Vec::new()));
                break;
            };
            hops.push((next, self.resolve(&hop)));
            from = hop;
        }
        hops
    }
}

fn thing(text: &str) -> Thing {
    match text {
        "file" => Thing::File,
        "dir" | "directory" => Thing::Directory,
        "hardlink" => Thing::HardLink,
        "missing" => Thing::Missing,
        other => other.strip_prefix("symlink:").map_or(Thing::Special, |to| Thing::Link(to.to_owned())),
    }
}

fn base_of(manifest: &Manifest, root: &str) -> String {
    match manifest.roots.get(root).and_then(|root| root.paths.first()) {
        Some(segments) => format!("/{}", segments.join("/")),
        None => format!("//session/{root}"),
    }
}

/// The key of a path as a case writes it: absolute, or `ROOT/rest`.
fn key(manifest: &Manifest, path: &str) -> String {
    if path.starts_with('/') {
        return normal(path.split('/'));
    }
    let (root, rest) = path.split_once('/').unwrap_or((path, ""));
    let rest = normal(rest.split('/'));
    format!("{}{}", base_of(manifest, root), if rest == "/" { "" } else { &rest })
}

/// An absolute path with `.` and `..` resolved by the text.
fn normal<'s>(parts: impl Iterator<Item = &'s str>) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for part in parts {
        match part {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            name => segments.push(name),
        }
    }
    format!("/{}", segments.join("/"))
}

/// The members of a list; what is no list stands for itself.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

/// One text or several.
pub(super) fn texts(value: &Value) -> impl Iterator<Item = String> {
    list(value).iter().filter_map(Value::as_str).map(str::to_owned)
}

fn host_key(host: &str) -> String {
    HttpUrl::parse(&format!("https://{host}/")).map_or_else(|_| host.to_lowercase(), |url| url.host_str().to_owned())
}

pub(super) fn url_key(url: &str) -> String {
    HttpUrl::parse(url).map_or_else(|_| url.to_owned(), |url| url.as_str().to_owned())
}
