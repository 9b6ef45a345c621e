//! `create_directory`, `move` and `delete`: what carries what along.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn rename(fixture: &Fixture, from: &str, to: &str) -> Result<Moved, Failure> {
    rename_opened(fixture, vec![fixture.try_look(from, Access::MoveFrom)?, fixture.try_look(to, Access::MoveTo)?])
}

fn rename_opened(fixture: &Fixture, opened: Vec<Opened>) -> Result<Moved, Failure> {
    let [from, to] = [0, 1].map(|at| call_path(&opened[at].target.to_string()));
    fixture.roots.rename(fixture.permit(MoveFile { from, to }, opened), &stop())
}

fn delete(fixture: &Fixture, path: &str, recursive: bool) -> Result<u64, Failure> {
    delete_opened(fixture, fixture.try_look(path, Access::Delete { recursive })?, recursive)
}

fn delete_opened(fixture: &Fixture, opened: Opened, recursive: bool) -> Result<u64, Failure> {
    let path = call_path(&opened.target.to_string());
    fixture.roots.delete(fixture.permit(DeleteFile { path, recursive }, vec![opened]))
}

fn create(fixture: &Fixture, path: &str) -> Result<u64, Failure> {
    let action = CreateDirectory { path: call_path(path) };
    fixture.roots.create_directory(fixture.permit(action, vec![fixture.try_look(path, Access::CreateDirectory)?]))
}

fn names(fixture: &Fixture, folder: &str) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(fixture.path(folder)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_folder_is_made_with_those_above_it() {
    let fixture = Fixture::new();
    assert_eq!(create(&fixture, "work/a/b/c"), Ok(3));
    assert_eq!(create(&fixture, "work/a/b/c"), Ok(0));
    assert_eq!(create(&fixture, "work"), Ok(0));
    fixture.put("work/file", "");
    assert_eq!(code(create(&fixture, "work/file")), Code::AlreadyExists);
    assert_eq!(code(create(&fixture, "work/file/below")), Code::NotADirectory);
}

#[test]
fn a_link_planted_after_the_judgement_makes_no_folder_elsewhere() {
    let fixture = Fixture::new();
    let opened = fixture.look("work/a/b", Access::CreateDirectory);
    std::os::unix::fs::symlink(fixture.path("outside"), fixture.path("work/a")).unwrap();
    let action = CreateDirectory { path: call_path("work/a/b") };
    assert_eq!(code(fixture.roots.create_directory(fixture.permit(action, vec![opened]))), Code::Conflict);
    assert_eq!(names(&fixture, "outside"), ["secret"]);
}

#[test]
fn files_and_folders_are_moved() {
    let fixture = Fixture::new();
    fixture.put("work/a.txt", "a");
    fixture.put("work/d/x/y", "y");
    assert!(!rename(&fixture, "work/a.txt", "work/d/b.txt").unwrap().replaced);
    rename(&fixture, "work/d", "work/e").unwrap();
    assert_eq!((fixture.text("work/e/b.txt"), fixture.text("work/e/x/y")), ("a".to_owned(), "y".to_owned()));
    rename(&fixture, "work/e", "home/e").unwrap();
    assert_eq!((names(&fixture, "work"), fixture.text("home/e/x/y")), (vec![], "y".to_owned()));
}

#[test]
fn a_move_replaces_only_the_file_that_was_judged() {
    let fixture = Fixture::new();
    fixture.put("work/a", "a");
    fixture.put("work/b", "b");
    assert!(rename(&fixture, "work/a", "work/b").unwrap().replaced);
    assert_eq!((names(&fixture, "work"), fixture.text("work/b")), (vec!["b".to_owned()], "a".to_owned()));
    // It appeared after the judgement: nothing is lost.
    let opened =
        ["work/b", "work/c"].into_iter().zip([Access::MoveFrom, Access::MoveTo]).map(|(path, access)| fixture.look(path, access)).collect();
    fixture.put("work/c", "late");
    assert_eq!(code(rename_opened(&fixture, opened)), Code::Conflict);
    // It became another file.
    let opened = vec![fixture.look("work/b", Access::MoveFrom), fixture.look("work/c", Access::MoveTo)];
    fixture.put("work/new", "other");
    std::fs::rename(fixture.path("work/new"), fixture.path("work/c")).unwrap();
    assert_eq!(code(rename_opened(&fixture, opened)), Code::Conflict);
    assert_eq!((fixture.text("work/b"), fixture.text("work/c")), ("a".to_owned(), "other".to_owned()));
    // Folders are never replaced, nor is one by a file.
    fixture.put("work/d/x", "");
    std::fs::create_dir(fixture.path("work/empty")).unwrap();
    for (from, to) in [("work/b", "work/empty"), ("work/d", "work/empty"), ("work/d", "work/b"), ("work/b", "work/b")] {
        assert_eq!(code(rename(&fixture, from, to)), Code::AlreadyExists, "{from} {to}");
    }
    assert_eq!(code(rename(&fixture, "work/d", "work/d/inside")), Code::ArgumentInvalid);
    assert_eq!(code(rename(&fixture, "work/none", "work/x")), Code::NotFound);
    assert_eq!(code(rename(&fixture, "work", "home/x")), Code::RootItself);
}

#[test]
fn every_entry_below_a_moved_folder_is_a_fact_and_what_came_later_stops_the_move() {
    let fixture = Fixture::new();
    fixture.put("work/a/secrets/k", "");
    fixture.put("work/a/b", "");
    let opened = vec![fixture.look("work/a", Access::MoveFrom), fixture.look("work/z", Access::MoveTo)];
    let mut below: Vec<_> = opened[0].fact.below.iter().map(|entry| (entry.path.to_string(), entry.kind)).collect();
    below.sort_by(|one, other| one.0.cmp(&other.0));
    let entry = |path: &str, kind| (path.to_owned(), kind);
    assert_eq!(below, [entry("a/b", Kind::File), entry("a/secrets", Kind::Directory), entry("a/secrets/k", Kind::File)]);
    fixture.put("work/a/secrets/late", "");
    assert_eq!(code(rename_opened(&fixture, opened)), Code::Conflict);
    assert_eq!(names(&fixture, "work"), ["a"]);
    let opened = fixture.look("work/a", Access::Delete { recursive: true });
    fixture.put("work/a/later", "");
    assert_eq!(code(delete_opened(&fixture, opened, true)), Code::Conflict);
    assert!(fixture.path("work/a/secrets/late").exists() && fixture.path("work/a/later").exists());
}

#[test]
fn too_many_entries_are_told_as_cut() {
    let fixture = Fixture::new();
    for n in 0..10_001 {
        fixture.put(&format!("work/many/{n}"), "");
    }
    let fact = fixture.fact("work/many", Access::MoveFrom);
    assert_eq!((fact.below.len(), fact.cut), (10_000, true));
    std::fs::remove_file(fixture.path("work/many/0")).unwrap();
    let fact = fixture.fact("work/many", Access::Delete { recursive: true });
    assert_eq!((fact.below.len(), fact.cut), (10_000, false));
    assert_eq!(delete(&fixture, "work/many", true), Ok(10_001));
    assert_eq!(names(&fixture, "work"), Vec::<String>::new());
}

#[test]
fn a_delete_follows_no_link_and_takes_only_what_was_judged() {
    let fixture = Fixture::new();
    fixture.put("work/d/x/y", "");
    std::os::unix::fs::symlink(fixture.path("outside"), fixture.path("work/d/link")).unwrap();
    assert_eq!(code(delete(&fixture, "work/d", false)), Code::DirectoryNotEmpty);
    assert_eq!(delete(&fixture, "work/d", true), Ok(4));
    assert_eq!((names(&fixture, "outside"), names(&fixture, "work")), (vec!["secret".to_owned()], vec![]));
    std::fs::create_dir(fixture.path("work/empty")).unwrap();
    assert_eq!(delete(&fixture, "work/empty", false), Ok(1));
    fixture.put("work/f", "judged");
    let opened = fixture.look("work/f", Access::Delete { recursive: false });
    fixture.put("work/f", "something else");
    assert_eq!(code(delete_opened(&fixture, opened, false)), Code::Conflict);
    assert_eq!(fixture.text("work/f"), "something else");
    assert_eq!(delete(&fixture, "work/f", false), Ok(1));
    assert_eq!(code(delete(&fixture, "work/f", false)), Code::NotFound);
    assert_eq!(code(delete(&fixture, "work", true)), Code::RootItself);
}

/// Puts another content of equal length into a file, which keeps its inode and its time.
fn swap(path: &Path) {
    use std::os::unix::fs::MetadataExt;
    let before = std::fs::metadata(path).unwrap();
    let written = || {
        std::fs::write(path, vec![b'!'; usize::try_from(before.len()).unwrap()]).unwrap();
        std::fs::File::options().write(true).open(path).unwrap().set_modified(before.modified().unwrap()).unwrap();
        std::fs::metadata(path).unwrap()
    };
    // Some file systems stamp two changes within a few milliseconds alike.
    let changed = |file: &std::fs::Metadata| (file.ctime(), file.ctime_nsec());
    std::iter::repeat_with(written).find(|after| changed(after) != changed(&before)).unwrap();
}

#[test]
fn what_was_swapped_at_equal_size_and_time_after_the_judgement_is_not_acted_on() {
    let fixture = Fixture::new();
    let file = fixture.put("work/a", "judged");
    let other = fixture.put("work/b", "judged");
    let below = fixture.put("work/d/x/y", "judged");
    let opened = fixture.look("work/a", Access::Write(Bytes(3)));
    swap(&file);
    assert_eq!(code(fixture.write_at(opened, "new", WriteMode::Overwrite, None)), Code::Conflict);
    let opened = fixture.look("work/a", Access::Delete { recursive: false });
    swap(&file);
    assert_eq!(code(delete_opened(&fixture, opened, false)), Code::Conflict);
    for swapped in [&file, &other] {
        let opened = vec![fixture.look("work/a", Access::MoveFrom), fixture.look("work/b", Access::MoveTo)];
        swap(swapped);
        assert_eq!(code(rename_opened(&fixture, opened)), Code::Conflict, "{swapped:?}");
    }
    let opened = vec![fixture.look("work/d", Access::MoveFrom), fixture.look("work/e", Access::MoveTo)];
    swap(&below);
    assert_eq!(code(rename_opened(&fixture, opened)), Code::Conflict);
    let opened = fixture.look("work/d", Access::Delete { recursive: true });
    swap(&below);
    assert_eq!(code(delete_opened(&fixture, opened, true)), Code::Conflict);
    assert_eq!(["work/a", "work/b", "work/d/x/y"].map(|path| fixture.text(path)), ["!!!!!!"; 3]);
    // Unchanged, each is done: our own renames of a file change its inode's time as well.
    fixture.write("work/a", "new", WriteMode::Overwrite).unwrap();
    rename(&fixture, "work/a", "work/b").unwrap();
    rename(&fixture, "work/d", "work/e").unwrap();
    delete(&fixture, "work/b", false).unwrap();
    delete(&fixture, "work/e", true).unwrap();
    assert_eq!(names(&fixture, "work"), Vec::<String>::new());
}

#[test]
fn a_file_is_carried_to_another_file_system() {
    let fixture = Fixture::new();
    let Some(_mount) = Tmpfs::on(&fixture, "home/disk", "size=1m") else { return };
    fixture.put("work/a", "a");
    rename(&fixture, "work/a", "home/disk/b").unwrap();
    assert_eq!((names(&fixture, "work"), fixture.text("home/disk/b")), (vec![], "a".to_owned()));
    fixture.put("work/d/x", "x");
    rename(&fixture, "work/d", "home/disk/d").unwrap();
    assert_eq!((names(&fixture, "work"), fixture.text("home/disk/d/x")), (vec![], "x".to_owned()));
}

#[test]
fn a_program_that_holds_what_was_moved_to_another_root_changes_nothing_there() {
    let fixture = Fixture::new();
    fixture.put("work/a", "judged");
    fixture.put("work/d/x", "judged");
    fixture.put("home/there", "replaced");
    let open = |path: &str| std::fs::OpenOptions::new().write(true).open(fixture.path(path)).unwrap();
    let folder = std::fs::File::open(fixture.path("work/d")).unwrap();
    for (from, to, file) in [("work/a", "home/a", ""), ("work/d", "home/e", "/x")] {
        let mut held = open(&format!("{from}{file}"));
        rename(&fixture, from, to).unwrap();
        std::io::Write::write_all(&mut held, b"unasked").unwrap();
        assert_eq!(fixture.text(&format!("{to}{file}")), "judged");
        assert!(!fixture.path(from).exists());
    }
    assert!(std::fs::write(format!("/proc/self/fd/{}/y", std::os::fd::AsRawFd::as_raw_fd(&folder)), "").is_err(), "the old folder is gone");
    assert_eq!(names(&fixture, "home/e"), ["x"]);
    fixture.put("work/b", "new");
    let mut held = open("work/b");
    rename(&fixture, "work/b", "home/there").unwrap();
    std::io::Write::write_all(&mut held, b"unasked").unwrap();
    assert_eq!(fixture.text("home/there"), "new");
}

#[test]
fn what_is_moved_to_another_root_keeps_its_rights_times_and_links() {
    let fixture = Fixture::new();
    let script = fixture.put("work/d/sub/run", "#!/bin/sh\n");
    let private = fixture.put("work/d/private", "p");
    std::fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&private, Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink("sub/run", fixture.path("work/d/link")).unwrap();
    std::fs::create_dir(fixture.path("work/d/empty")).unwrap();
    let changed = private.metadata().unwrap().modified().unwrap();
    rename(&fixture, "work/d", "home/d").unwrap();
    let mode = |path: &str| fixture.path(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("home/d/private"), mode("home/d/sub/run") & 0o700), (0o600, 0o700));
    assert_eq!(fixture.path("home/d/private").metadata().unwrap().modified().unwrap(), changed);
    assert_eq!(std::fs::read_link(fixture.path("home/d/link")).unwrap(), Path::new("sub/run"));
    assert_eq!(
        (names(&fixture, "home/d"), names(&fixture, "work")),
        (["empty", "link", "private", "sub"].map(str::to_owned).to_vec(), vec![])
    );
}

#[test]
fn a_move_to_another_root_that_cannot_be_whole_leaves_everything_as_it_was() {
    let fixture = Fixture::new();
    fixture.put("work/d/a", "a");
    let opened = vec![fixture.try_look("work/d", Access::MoveFrom).unwrap(), fixture.try_look("home/d", Access::MoveTo).unwrap()];
    let before = names(&fixture, "home");
    fixture.put("work/d/later", "not judged");
    assert_eq!(code(rename_opened(&fixture, opened)), Code::Conflict);
    rustix::fs::mknodat(rustix::fs::CWD, fixture.path("work/d/pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    assert_eq!(code(rename(&fixture, "work/d", "home/d")), Code::Conflict);
    std::fs::remove_file(fixture.path("work/d/pipe")).unwrap();
    let opened = vec![fixture.try_look("work/d", Access::MoveFrom).unwrap(), fixture.try_look("home/d", Access::MoveTo).unwrap()];
    let cancelled = tokio_util::sync::CancellationToken::new();
    cancelled.cancel();
    let stop = Stop::new(cancelled, std::time::Duration::from_secs(9));
    let (from, to) = (call_path("work/d"), call_path("home/d"));
    assert_eq!(code(fixture.roots.rename(fixture.permit(MoveFile { from, to }, opened), &stop)), Code::Cancelled);
    assert_eq!((names(&fixture, "home"), names(&fixture, "work/d")), (before, ["a", "later"].map(str::to_owned).to_vec()));
}
