//! The verbs against a real file system: each attack next to the ordinary use it must not hinder.

mod again;
mod attacks;
mod copying;
mod crash;
mod edit_files;
mod folders;
mod forms;
mod links;
mod masking;
mod moving;
mod reading;
mod searching;
mod sessions;
mod spelling;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::*;
use crate::gate::Opened;
use crate::gate::{Permit, Terms};
use crate::manifest::Symlinks;
use crate::model::{
    Access, Bytes, CallPath, Code, CopyFile, CreateDirectory, DeleteFile, Edit, EditFiles, Encoding, Failure, Kind, ListDirectory,
    MoveFile, PathFact, ReadFile, RelPath, Target, WriteFile, WriteMode,
};
use crate::policy::paths::Visible;

/// A root `work`, a root `home` that holds the manifest and the state folder, and a folder outside of both.
struct Fixture {
    dir: TempDir,
    roots: Roots,
    links: Symlinks,
    terms: Terms,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["work", "home/conf", "home/state/audit", "outside", "work_twin"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        std::fs::write(dir.path().join("home/conf/tools.toml"), "version = 1\n").unwrap();
        std::fs::write(dir.path().join("home/state/audit/1.jsonl"), "{}\n").unwrap();
        std::fs::write(dir.path().join("outside/secret"), "secret").unwrap();
        std::fs::write(dir.path().join("work_twin/secret"), "secret").unwrap();
        let roots = Self::open(dir.path());
        Self { dir, roots, links: Symlinks::Deny, terms: Terms::for_test() }
    }

    fn open(dir: &Path) -> Roots {
        let place = |name: &str| RootConfig { name: name.to_owned(), at: Location::Folder(dir.join(name)), quota: None };
        let session = RootConfig { name: "scratch".to_owned(), at: Location::Session, quota: None };
        let places = [place("work"), place("home"), session];
        Roots::open(&places, &[dir.join("home/conf/tools.toml"), dir.join("home/later.toml")], Some(&dir.join("home/state"))).unwrap()
    }

    fn path(&self, rest: &str) -> PathBuf {
        self.dir.path().join(rest)
    }

    fn put(&self, rest: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(rest);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    fn text(&self, rest: &str) -> String {
        std::fs::read_to_string(self.path(rest)).unwrap()
    }

    fn look(&self, path: &str, access: Access) -> Opened {
        self.try_look(path, access).unwrap()
    }

    fn try_look(&self, path: &str, access: Access) -> Result<Opened, Failure> {
        self.roots.look("s", &[target(path)], &[access], self.links).map(|mut all| all.remove(0))
    }

    fn fact(&self, path: &str, access: Access) -> PathFact {
        self.look(path, access).fact
    }

    fn permit<A>(&self, action: A, opened: Vec<Opened>) -> Permit<A> {
        Permit::for_test(action, opened, Arc::new(self.terms.clone()))
    }

    fn read(&self, path: &str) -> Result<Reading, Failure> {
        self.read_lines(path, 1, None)
    }

    fn read_lines(&self, path: &str, offset: u64, limit: Option<u64>) -> Result<Reading, Failure> {
        self.read_as(ReadFile { offset, limit, ..whole(path) })
    }

    fn read_as(&self, action: ReadFile) -> Result<Reading, Failure> {
        let opened = self.try_look(&action.path.to_string(), Access::Read)?;
        self.roots.read(self.permit(action, vec![opened]), &stop())
    }

    fn write(&self, path: &str, content: &str, mode: WriteMode) -> Result<Written, Failure> {
        let opened = self.try_look(path, Access::Write(Bytes(content.len() as u64)))?;
        self.write_at(opened, content, mode, None)
    }

    fn write_at(&self, opened: Opened, content: &str, mode: WriteMode, expected: Option<&str>) -> Result<Written, Failure> {
        let path = CallPath::parse(&opened.target.to_string()).unwrap();
        let action = WriteFile { path, content: content.into(), mode, expected_sha256: expected.map(str::to_owned) };
        self.roots.write(self.permit(action, vec![opened]))
    }

    fn edit(&self, path: &str, edits: &[(&str, &str)], dry_run: bool) -> Result<Edited, Failure> {
        let edit = |(old, new): &(&str, &str)| Edit { old_text: (*old).into(), new_text: (*new).into(), replace_all: false };
        let access = if dry_run { Access::Read } else { Access::Edit };
        let action = EditFiles { edits: edits.iter().map(|one| (call_path(path), edit(one))).collect(), dry_run };
        self.roots.edit(self.permit(action, vec![self.try_look(path, access)?])).map(|mut edited| edited.remove(0))
    }

    fn fact_sha256(&self, path: &str) -> Option<String> {
        self.read_base64(path).sha256
    }

    fn read_base64(&self, path: &str) -> Reading {
        let action = ReadFile { path: call_path(path), offset: 1, limit: None, encoding: Encoding::Base64, column: 1, line_numbers: false };
        self.roots.read(self.permit(action, vec![self.look(path, Access::Read)]), &stop()).unwrap()
    }

    fn list(&self, path: &str, depth: u32, judge: Judge<'_>) -> Result<Listing, Failure> {
        let action = ListDirectory { path: Some(call_path(path)), depth, glob: None, limit: 500, ignored: false };
        self.roots.list(self.permit(action, vec![self.try_look(path, Access::List)?]), judge, &stop())
    }
}

fn target(path: &str) -> Target {
    let (root, rest) = path.split_once('/').unwrap_or((path, ""));
    Target { root: root.to_owned(), path: RelPath::parse(rest).unwrap() }
}

/// Reads a whole file.
fn whole(path: &str) -> ReadFile {
    ReadFile { path: call_path(path), offset: 1, limit: None, column: 1, line_numbers: false, encoding: Encoding::Utf8 }
}

fn call_path(path: &str) -> CallPath {
    CallPath::parse(path).unwrap()
}

fn stop() -> Stop {
    Stop::new(tokio_util::sync::CancellationToken::new(), std::time::Duration::from_secs(30))
}

fn all_visible(_: &RelPath, _: bool) -> Visible {
    Visible::Yes
}

fn text(reading: Result<Reading, Failure>) -> String {
    match reading.unwrap().content {
        Content::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, Failure>) -> Code {
    result.unwrap_err().0.code
}

fn shown(listing: &Listing) -> Vec<String> {
    listing.entries.iter().map(|entry| entry.path.to_string()).collect()
}

/// A small file system of its own on a folder, gone when dropped.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn on(fixture: &Fixture, folder: &str, options: &str) -> Option<Self> {
        let path = fixture.path(folder);
        std::fs::create_dir_all(&path).unwrap();
        match nix::mount::mount(Some("tmpfs"), &path, Some("tmpfs"), nix::mount::MsFlags::empty(), Some(options)) {
            Ok(()) => Some(Self(path)),
            Err(errno) => {
                println!("skipped: no tmpfs can be mounted here: {errno}");
                None
            }
        }
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        nix::mount::umount2(&self.0, nix::mount::MntFlags::MNT_DETACH).unwrap();
    }
}
