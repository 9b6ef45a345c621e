//! What programs leave, listed and charged.

use super::*;

fn opened(path: &std::path::Path) -> OwnedFd {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap()
}

fn root(path: &std::path::Path) -> JailRoot {
    JailRoot { name: "work".to_owned(), dir: opened(path).into(), writable: true, masked: Vec::new(), quota: None }
}

#[test]
fn new_files_are_listed_with_size_digest_and_type_and_old_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("old.txt"), "old").unwrap();
    std::fs::write(folder.path().join("changed.csv"), "old").unwrap();
    tick::touched();
    // Whether all of this is one tick or not, the answer is the same.
    let before = Before::look(std::iter::once(&root(folder.path())), None);
    std::fs::write(folder.path().join("changed.csv"), "new").unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("sub/new.csv"), "a").unwrap();
    let harvest = before.gather("work", &opened(folder.path()));
    let changed = LeftFile {
        path: "work/changed.csv".to_owned(),
        size: 3,
        sha256: "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437".to_owned(),
        mime_type: "text/csv".to_owned(),
    };
    let new = LeftFile {
        path: "work/sub/new.csv".to_owned(),
        size: 1,
        sha256: "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb".to_owned(),
        mime_type: "text/csv".to_owned(),
    };
    assert_eq!(harvest.files, [changed, new]);
}

#[test]
fn what_is_not_listed_was_written_all_the_same_and_holes_were_not() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..MOST_FILES + 20 {
        std::fs::write(folder.path().join(format!("{number}")), "ab").unwrap();
    }
    let hole = std::fs::File::create(folder.path().join("hole")).unwrap();
    hole.set_len(1 << 30).unwrap();
    let harvest = Before::default().gather("work", &opened(folder.path()));
    assert_eq!((harvest.files.len(), harvest.written), (MOST_FILES, (MOST_FILES as u64 + 20) * ENTRY + 4096));
    assert!(harvest.cut);
}

#[test]
fn links_pipes_and_holes_are_left_out_and_nothing_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::os::unix::fs::symlink("/etc/passwd", path("link.txt")).unwrap();
    nix::unistd::mkfifo(&path("pipe.txt"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::fs::File::create(path("hole.bin")).unwrap().set_len(1 << 40).unwrap();
    std::fs::write(path("good.txt"), "good").unwrap();
    let harvest = Before::default().gather("work", &opened(folder.path()));
    let names: Vec<_> = harvest.files.iter().map(|file| file.path.as_str()).collect();
    assert!(names.iter().all(|name| *name == "work/good.txt"), "{names:?}");
}

/// What is charged for what `write` does to a folder.
fn charged(write: impl FnOnce(&std::path::Path)) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    Before::default().gather("work", &opened(folder.path())).written
}

#[test]
fn writes_are_charged_whatever_their_name_depth_number_and_kind() {
    use std::os::unix::ffi::OsStrExt;
    let large = vec![7_u8; 2 << 20];
    let is_charged = |written: u64| (2 << 20..3 << 20).contains(&written);
    assert!(is_charged(charged(|root| std::fs::write(root.join(std::ffi::OsStr::from_bytes(b"\xff")), &large).unwrap())));
    assert!(is_charged(charged(|root| {
        let deep = (0..40).fold(root.to_owned(), |at, _| at.join("d"));
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(deep.join("f"), &large).unwrap();
    })));
    let behind = charged(|root| {
        (0..20_100).for_each(|at| drop(std::fs::File::create(root.join(format!("{at:05}"))).unwrap()));
        std::fs::write(root.join("z"), &large).unwrap();
    });
    assert_eq!(behind, 20_100 * ENTRY + (2 << 20));
    let many = |make: fn(&std::path::Path)| charged(|root| (0..500).for_each(|at| make(&root.join(at.to_string()))));
    assert_eq!(many(|path| std::os::unix::fs::symlink("x", path).unwrap()), 500 * ENTRY);
    assert_eq!(many(|path| std::fs::create_dir(path).unwrap()), 500 * ENTRY);
    assert_eq!(many(|path| nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap()), 500 * ENTRY);
    // Deeper than one descent.
    let chain = |root: &std::path::Path| (0..200).fold(root.to_owned(), |at, _| at.join("d"));
    assert_eq!(charged(|root| std::fs::create_dir_all(chain(root)).unwrap()), 200 * ENTRY);
    assert!(is_charged(charged(|root| {
        std::fs::create_dir_all(chain(root)).unwrap();
        std::fs::write(chain(root).join("f"), &large).unwrap();
    })));
    // One file of many names is one file.
    let linked = charged(|root| {
        std::fs::write(root.join("0"), &large).unwrap();
        (1..10).for_each(|at| std::fs::hard_link(root.join("0"), root.join(at.to_string())).unwrap());
    });
    assert_eq!(linked, (2 << 20) + 9 * ENTRY);
}

#[test]
fn what_is_written_anew_behind_many_deep_folders_is_charged_though_nothing_grows() {
    let folder = tempfile::tempdir().unwrap();
    let edge = (0..100).fold(folder.path().to_owned(), |at, _| at.join("d"));
    for at in 0..200 {
        std::fs::create_dir_all(edge.join(format!("{at:03}/d"))).unwrap();
    }
    let file = edge.join("150/d/file");
    std::fs::write(&file, vec![1_u8; 2 << 20]).unwrap();
    tick::touched();
    // What others write on the same disk at that moment does not hide it.
    let before = Before::look(std::iter::once(&root(folder.path())), None);
    std::io::Write::write_all(&mut std::fs::OpenOptions::new().write(true).open(&file).unwrap(), &vec![2_u8; 2 << 20]).unwrap();
    let harvest = before.gather("work", &opened(folder.path()));
    let names: Vec<_> = harvest.files.iter().map(|file| file.path.rsplit('/').next().unwrap()).collect();
    assert_eq!((harvest.written, names), (2 << 20, vec!["file"]));
}

#[test]
fn attributes_are_charged_where_the_file_system_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let set = |path: &std::path::Path, name: &str| rustix::fs::setxattr(path, name, &[7; 1000], rustix::fs::XattrFlags::empty());
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    for (path, name) in [("", "user.a"), ("sub", "user.b")] {
        match set(&folder.path().join(path), name) {
            Err(rustix::io::Errno::OPNOTSUPP) => return,
            done => done.unwrap(),
        }
    }
    let harvest = Before::default().gather("work", &opened(folder.path()));
    assert!((2000..4000).contains(&harvest.written), "{}", harvest.written);
}

#[test]
fn what_the_server_wrote_in_the_same_tick_is_not_charged_to_the_program_and_a_change_of_it_is() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("a"), "old").unwrap();
    tick::touched();
    let before = Before::look(std::iter::once(&root(folder.path())), None);
    assert_eq!(before.gather("work", &opened(folder.path())).written, 0);
    std::fs::write(folder.path().join("a"), "new").unwrap();
    assert_eq!(before.gather("work", &opened(folder.path())).written, ENTRY);
}

#[test]
fn what_a_session_writes_between_two_calls_is_charged_to_the_later_one_and_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let look = |earlier| Before::look(std::iter::once(&root(folder.path())), earlier);
    let gather = |before: &Before| before.gather("work", &opened(folder.path()));
    let before = look(None);
    std::fs::write(folder.path().join("a"), "in the call").unwrap();
    let first = gather(&before);
    // Within the same tick, mostly.
    std::fs::write(folder.path().join("b"), "between the calls").unwrap();
    // Past the fine clock, from which a stamp may be taken: the coarse one lags behind where its processor is late.
    let written = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    while tick::now().0 <= (written.tv_sec, written.tv_nsec) {
        std::thread::yield_now();
    }
    assert_eq!((first.written, gather(&look(None)).written), (ENTRY, 0));
    let second = gather(&look(Some(first.seen)));
    assert_eq!((second.written, second.files), (ENTRY, Vec::new()));
}

#[test]
fn the_names_of_an_answer_have_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    for at in 0..MOST_FILES {
        std::fs::write(folder.path().join(format!("{at:03}{}", "\u{202e}".repeat(80))), "").unwrap();
    }
    let harvest = Before::default().gather("work", &opened(folder.path()));
    let shown: usize = harvest.files.iter().map(|file| escape_line(&file.path).len()).sum();
    assert!(harvest.cut && !harvest.files.is_empty() && shown <= MOST_NAMES, "{shown}");
}
