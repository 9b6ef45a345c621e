//! Symbolic links, and that a path is resolved as a slow walk does it.

use std::os::unix::fs::symlink;

use proptest::prelude::*;
use rustix::io::Errno;

use super::super::resolve::open;
use super::super::stat::Stat;
use super::*;
use crate::model::Link;

fn linked() -> Fixture {
    let fixture = Fixture::new();
    fixture.put("work/real/file", "inside");
    symlink("../outside/secret", fixture.path("work/out")).unwrap();
    symlink("../outside", fixture.path("work/outdir")).unwrap();
    symlink("real/file", fixture.path("work/in")).unwrap();
    symlink(fixture.path("work/real"), fixture.path("work/absolute")).unwrap();
    symlink("real", fixture.path("work/indir")).unwrap();
    symlink("../outside/not-there", fixture.path("work/dangling")).unwrap();
    symlink("loop", fixture.path("work/loop")).unwrap();
    fixture
}

#[test]
fn a_link_is_not_followed_whichever_name_it_has_on_the_way() {
    let fixture = linked();
    for path in [
        "work/out",
        "work/outdir/secret",
        "work/in",
        "work/indir/file",
        "work/absolute/file",
        "work/dangling",
        "work/loop",
        "work/outdir/a/b",
    ] {
        for access in
            [Access::Read, Access::Write(Bytes(1)), Access::Edit, Access::Delete { recursive: true }, Access::MoveTo, Access::List]
        {
            let opened = fixture.look(path, access);
            assert_eq!(opened.fact.link, Link::OnTheWay, "{path} {access:?}");
            assert!(opened.object.is_none() && opened.folder.is_none(), "{path} {access:?}");
        }
        assert!(fixture.read(path).is_err() && fixture.write(path, "x", WriteMode::Overwrite).is_err(), "{path}");
    }
    assert!(!fixture.path("outside/not-there").exists());
    assert_eq!(text(fixture.read("work/real/file")), "inside");
}

#[test]
fn links_inside_a_root_are_followed_where_the_manifest_says_so_and_judged_by_where_they_lead() {
    let mut fixture = linked();
    fixture.links = Symlinks::Inside;
    let leads = |path: &str| Link::Leads(RelPath::parse(path).unwrap());
    for (path, link) in [
        ("work/in", leads("real/file")),
        ("work/indir/file", leads("real/file")),
        ("work/absolute/file", leads("real/file")),
        ("work/out", Link::Outside),
        ("work/outdir/secret", Link::Outside),
        ("work/dangling", Link::Outside),
        ("work/loop", Link::Outside),
        ("work/indir/new", leads("real/new")),
        ("work/real/file", Link::None),
    ] {
        assert_eq!(fixture.fact(path, Access::Read).link, link, "{path}");
    }
    assert_eq!(text(fixture.read("work/in")), "inside");
    fixture.write("work/indir/new", "through", WriteMode::Create).unwrap();
    assert_eq!(fixture.text("work/real/new"), "through");
    // A change of what a link leads to goes to the file and leaves the link.
    fixture.write("work/in", "changed", WriteMode::Overwrite).unwrap();
    assert_eq!(fixture.text("work/real/file"), "changed");
    assert!(std::fs::symlink_metadata(fixture.path("work/in")).unwrap().is_symlink());
    // A name is taken from the link, not from what it leads to: refused as a link.
    assert_eq!(fixture.fact("work/in", Access::Delete { recursive: false }).link, Link::OnTheWay);
    assert_eq!(fixture.fact("work/indir/file", Access::Delete { recursive: false }).link, leads("real/file"));
}

#[test]
fn a_root_that_is_a_link_does_not_open() {
    let fixture = Fixture::new();
    symlink(fixture.path("outside"), fixture.path("root")).unwrap();
    let place = RootConfig { name: "root".to_owned(), at: Location::Folder(fixture.path("root")), quota: None };
    assert!(Roots::open(&[place], &[], None).is_err());
}

#[test]
fn a_path_is_resolved_as_by_a_slow_walk() {
    let fixture = linked();
    let root = fixture.roots.folder("s", "work").unwrap();
    let names = ["real", "file", "out", "outdir", "in", "indir", "absolute", "loop", "secret", "none", "dangling"];
    let paths: Vec<String> = names
        .iter()
        .flat_map(|one| std::iter::once((*one).to_owned()).chain(names.iter().map(move |two| format!("{one}/{two}"))))
        .collect();
    for path in paths {
        let rel = RelPath::parse(&path).unwrap();
        let answer = open(&root, &rel).and_then(Stat::of).map(|seen| (seen.kind, seen.object()));
        assert_eq!(answer, slow(&fixture.path("work"), &rel), "{path}");
    }
}

/// The same by whole paths and `lstat(2)`: right while nobody changes anything.
fn slow(root: &Path, path: &RelPath) -> Result<(Kind, (u64, u64)), Errno> {
    use std::os::unix::fs::MetadataExt as _;
    let mut at = root.to_owned();
    let (last, parents) = path.segments().split_last().unwrap();
    let facts = |path: &Path| std::fs::symlink_metadata(path).map_err(|fault| Errno::from_io_error(&fault).unwrap());
    for parent in parents {
        at.push(parent);
        let kind = facts(&at)?.file_type();
        match () {
            () if kind.is_symlink() => return Err(Errno::LOOP),
            () if !kind.is_dir() => return Err(Errno::NOTDIR),
            () => {}
        }
    }
    let facts = facts(&at.join(last))?;
    let kind = match facts.file_type() {
        kind if kind.is_symlink() => Kind::Symlink,
        kind if kind.is_dir() => Kind::Directory,
        kind if kind.is_file() => Kind::File,
        _ => Kind::Other,
    };
    Ok((kind, (facts.dev(), facts.ino())))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Random worlds of folders, files and links, asked by random paths: a path is resolved as by a slow walk, and nothing outside is ever held.
    #[test]
    fn paths_of_random_worlds_are_resolved_as_by_a_slow_walk(
        makes in proptest::collection::vec((0..3u8, "[ab]{1,2}(/[ab]{1,2}){0,2}", "(\\.\\./){0,3}[ab]{1,2}(/[ab]{1,2}){0,1}|outside"), 1..12),
        asks in proptest::collection::vec("[ab]{1,2}(/[ab]{1,2}){0,3}", 1..12),
    ) {
        let fixture = Fixture::new();
        for (what, path, to) in makes {
            let path = fixture.path("work").join(path);
            let _ = match what {
                0 => std::fs::create_dir_all(&path),
                1 => std::fs::write(&path, "x"),
                _ => symlink(&to, &path),
            };
        }
        let root = fixture.roots.folder("s", "work").unwrap();
        for ask in asks {
            let rel = RelPath::parse(&ask).unwrap();
            let answer = open(&root, &rel).and_then(Stat::of).map(|seen| (seen.kind, seen.object()));
            prop_assert_eq!(answer, slow(&fixture.path("work"), &rel));
            if let Ok(opened) = fixture.roots.look("s", &[Target { root: "work".into(), path: rel }], &[Access::Read], Symlinks::Inside)
                && let Some(object) = &opened[0].object
            {
                let real = std::fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(object))).unwrap();
                prop_assert!(real.starts_with(fixture.path("work")), "{}", real.display());
            }
        }
    }
}
