//! What the sandbox saw before the judgement: values only, so that an invented world serves as well as the real one.

use std::net::IpAddr;

use super::RelPath;

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Nothing is there.
    #[default]
    Absent,
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link, when it is judged as the entry it is (below a moved or deleted folder).
    Symlink,
    /// A device, pipe or socket.
    Other,
}

/// Whether a symbolic link lay on the way, the last name included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Link {
    /// None did.
    #[default]
    None,
    /// One did and it was not followed.
    OnTheWay,
    /// It was followed and leads to this path of the same root.
    Leads(RelPath),
    /// It leads out of the root.
    Outside,
}

/// How a caller's spelling of a path stands to the names in the folders.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Spelling {
    /// Each name is there in these very bytes, or is not there, may be new, and no entry has another spelling of it.
    #[default]
    AsWritten,
    /// The path in the entries' own bytes: each other name is another spelling of exactly one entry.
    Own(RelPath),
    /// A name that no entry has, and that no new entry may have.
    Unknown,
    /// A name of which more than one entry has a spelling.
    Ambiguous,
}

impl Spelling {
    /// The path by which the entry is opened.
    pub const fn of<'p>(&'p self, written: &'p RelPath) -> &'p RelPath {
        match self {
            Self::Own(own) => own,
            Self::AsWritten | Self::Unknown | Self::Ambiguous => written,
        }
    }
}

/// What makes a file that file and no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Last change of the content, nanoseconds since 1970; a program may set it.
    pub mtime_ns: i128,
    /// Last change of the inode, nanoseconds since 1970: of content, mode, owner or name. Only the kernel sets it.
    pub ctime_ns: i128,
}

/// One entry below a folder that is to be moved or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path below the root.
    pub path: RelPath,
    /// What it is.
    pub kind: Kind,
    /// Its size in bytes.
    pub size: u64,
    /// Which object it is; none when invented.
    pub identity: Option<Identity>,
    /// Whether it is the manifest, the state folder or on the way to one.
    pub protected: bool,
}

/// What was seen at one path; by default that nothing is there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathFact {
    /// What is there.
    pub kind: Kind,
    /// How the path is spelled there.
    pub spelling: Spelling,
    /// Whether a link lay on the way.
    pub link: Link,
    /// How many folders above it are missing, where the access makes them; 0 where none is, or a file stands on the way.
    pub missing_folders: usize,
    /// In a bare repository, or one that a change here makes: the path that stands for this one in an ordinary repository, as `.git/config`. Only of
    /// what git obeys there, and only where the access changes something.
    pub obeyed_as: Option<RelPath>,
    /// Size in bytes; 0 when absent.
    pub size: u64,
    /// Number of names of the file (`st_nlink`); 0 when absent.
    pub names: u64,
    /// Which object it is; none when absent or invented.
    pub identity: Option<Identity>,
    /// Whether it is the manifest, the state folder, inside it, or on the way to one that a change would carry along.
    pub protected: bool,
    /// Every entry below a folder that is to be moved or deleted.
    pub below: Vec<Entry>,
    /// Whether `below` was cut because there were too many entries.
    pub cut: bool,
}

impl PathFact {
    /// Where the path is in the entries' own spelling, once links were followed.
    pub const fn resolved<'p>(&'p self, written: &'p RelPath) -> &'p RelPath {
        match &self.link {
            Link::Leads(path) => path,
            Link::None | Link::OnTheWay | Link::Outside => self.spelling.of(written),
        }
    }

    /// A plain fact of this kind.
    pub fn of(kind: Kind) -> Self {
        Self { kind, names: u64::from(kind != Kind::Absent), ..Self::default() }
    }
}

/// All that was seen for one action.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// One for each of the action's touches, in order.
    pub paths: Vec<PathFact>,
    /// What the URL's host resolved to; empty without a URL.
    pub addresses: Vec<IpAddr>,
    /// Redirects known beforehand: each hop and the addresses of its host. Only an invented world knows them; the real one judges each hop as it comes.
    pub redirects: Vec<(String, Vec<IpAddr>)>,
}
