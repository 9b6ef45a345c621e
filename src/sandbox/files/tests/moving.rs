//! `create_directory`, `move` and `delete`: what carries what along.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn rename(house: &House, from: &str, to: &str) -> Result<Moved, Failure> {
    rename_opened(house, vec![house.try_look(from, Access::MoveFrom)?, house.try_look(to, Access::MoveTo)?])
}

fn rename_opened(house: &House, opened: Vec<Opened>) -> Result<Moved, Failure> {
    let [from, to] = [0, 1].map(|at| call_path(&opened[at].target.to_string()));
    house.roots.rename(house.permit(MoveFile { from, to }, opened), &stop())
}

fn delete(house: &House, path: &str, recursive: bool) -> Result<u64, Failure> {
    delete_opened(house, house.try_look(path, Access::Delete { recursive })?, recursive)
}

fn delete_opened(house: &House, opened: Opened, recursive: bool) -> Result<u64, Failure> {
    let path = call_path(&opened.target.to_string());
    house.roots.delete(house.permit(DeleteFile { path, recursive }, vec![opened]))
}

fn create(house: &House, path: &str) -> Result<u64, Failure> {
    let action = CreateDirectory { path: call_path(path) };
    house.roots.create_directory(house.permit(action, vec![house.try_look(path, Access::CreateDirectory)?]))
}

fn names(house: &House, folder: &str) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(house.path(folder)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_folder_is_made_with_those_above_it() {
    let house = House::new();
    assert_eq!(create(&house, "work/a/b/c"), Ok(3));
    assert_eq!(create(&house, "work/a/b/c"), Ok(0));
    assert_eq!(create(&house, "work"), Ok(0));
    house.put("work/file", "");
    assert_eq!(code(create(&house, "work/file")), Code::AlreadyExists);
    assert_eq!(code(create(&house, "work/file/below")), Code::NotADirectory);
}

#[test]
fn a_link_planted_after_the_judgement_makes_no_folder_elsewhere() {
    let house = House::new();
    let opened = house.look("work/a/b", Access::CreateDirectory);
    std::os::unix::fs::symlink(house.path("outside"), house.path("work/a")).unwrap();
    let action = CreateDirectory { path: call_path("work/a/b") };
    assert_eq!(code(house.roots.create_directory(house.permit(action, vec![opened]))), Code::Conflict);
    assert_eq!(names(&house, "outside"), ["secret"]);
}

#[test]
fn files_and_folders_are_moved() {
    let house = House::new();
    house.put("work/a.txt", "a");
    house.put("work/d/x/y", "y");
    assert!(!rename(&house, "work/a.txt", "work/d/b.txt").unwrap().replaced);
    rename(&house, "work/d", "work/e").unwrap();
    assert_eq!((house.text("work/e/b.txt"), house.text("work/e/x/y")), ("a".to_owned(), "y".to_owned()));
    rename(&house, "work/e", "home/e").unwrap();
    assert_eq!((names(&house, "work"), house.text("home/e/x/y")), (vec![], "y".to_owned()));
}

#[test]
fn a_move_replaces_only_the_file_that_was_judged() {
    let house = House::new();
    house.put("work/a", "a");
    house.put("work/b", "b");
    assert!(rename(&house, "work/a", "work/b").unwrap().replaced);
    assert_eq!((names(&house, "work"), house.text("work/b")), (vec!["b".to_owned()], "a".to_owned()));
    // It appeared after the judgement: nothing is lost.
    let opened =
        ["work/b", "work/c"].into_iter().zip([Access::MoveFrom, Access::MoveTo]).map(|(path, access)| house.look(path, access)).collect();
    house.put("work/c", "late");
    assert_eq!(code(rename_opened(&house, opened)), Code::Conflict);
    // It became another file.
    let opened = vec![house.look("work/b", Access::MoveFrom), house.look("work/c", Access::MoveTo)];
    house.put("work/new", "other");
    std::fs::rename(house.path("work/new"), house.path("work/c")).unwrap();
    assert_eq!(code(rename_opened(&house, opened)), Code::Conflict);
    assert_eq!((house.text("work/b"), house.text("work/c")), ("a".to_owned(), "other".to_owned()));
    // Folders are never replaced, nor is one by a file.
    house.put("work/d/x", "");
    std::fs::create_dir(house.path("work/empty")).unwrap();
    for (from, to) in [("work/b", "work/empty"), ("work/d", "work/empty"), ("work/d", "work/b"), ("work/b", "work/b")] {
        assert_eq!(code(rename(&house, from, to)), Code::AlreadyExists, "{from} {to}");
    }
    assert_eq!(code(rename(&house, "work/d", "work/d/inside")), Code::ArgumentInvalid);
    assert_eq!(code(rename(&house, "work/none", "work/x")), Code::NotFound);
    assert_eq!(code(rename(&house, "work", "home/x")), Code::RootItself);
}

#[test]
fn every_entry_below_a_moved_folder_is_a_fact_and_what_came_later_stops_the_move() {
    let house = House::new();
    house.put("work/a/secrets/k", "");
    house.put("work/a/b", "");
    let opened = vec![house.look("work/a", Access::MoveFrom), house.look("work/z", Access::MoveTo)];
    let mut below: Vec<_> = opened[0].fact.below.iter().map(|entry| (entry.path.to_string(), entry.kind)).collect();
    below.sort_by(|one, other| one.0.cmp(&other.0));
    let entry = |path: &str, kind| (path.to_owned(), kind);
    assert_eq!(below, [entry("a/b", Kind::File), entry("a/secrets", Kind::Directory), entry("a/secrets/k", Kind::File)]);
    house.put("work/a/secrets/late", "");
    assert_eq!(code(rename_opened(&house, opened)), Code::Conflict);
    assert_eq!(names(&house, "work"), ["a"]);
    let opened = house.look("work/a", Access::Delete { recursive: true });
    house.put("work/a/later", "");
    assert_eq!(code(delete_opened(&house, opened, true)), Code::Conflict);
    assert!(house.path("work/a/secrets/late").exists() && house.path("work/a/later").exists());
}

#[test]
fn too_many_entries_are_told_as_cut() {
    let house = House::new();
    for n in 0..10_001 {
        house.put(&format!("work/many/{n}"), "");
    }
    let fact = house.fact("work/many", Access::MoveFrom);
    assert_eq!((fact.below.len(), fact.cut), (10_000, true));
    std::fs::remove_file(house.path("work/many/0")).unwrap();
    let fact = house.fact("work/many", Access::Delete { recursive: true });
    assert_eq!((fact.below.len(), fact.cut), (10_000, false));
    assert_eq!(delete(&house, "work/many", true), Ok(10_001));
    assert_eq!(names(&house, "work"), Vec::<String>::new());
}

#[test]
fn a_delete_follows_no_link_and_takes_only_what_was_judged() {
    let house = House::new();
    house.put("work/d/x/y", "");
    std::os::unix::fs::symlink(house.path("outside"), house.path("work/d/link")).unwrap();
    assert_eq!(code(delete(&house, "work/d", false)), Code::DirectoryNotEmpty);
    assert_eq!(delete(&house, "work/d", true), Ok(4));
    assert_eq!((names(&house, "outside"), names(&house, "work")), (vec!["secret".to_owned()], vec![]));
    std::fs::create_dir(house.path("work/empty")).unwrap();
    assert_eq!(delete(&house, "work/empty", false), Ok(1));
    house.put("work/f", "judged");
    let opened = house.look("work/f", Access::Delete { recursive: false });
    house.put("work/f", "something else");
    assert_eq!(code(delete_opened(&house, opened, false)), Code::Conflict);
    assert_eq!(house.text("work/f"), "something else");
    assert_eq!(delete(&house, "work/f", false), Ok(1));
    assert_eq!(code(delete(&house, "work/f", false)), Code::NotFound);
    assert_eq!(code(delete(&house, "work", true)), Code::RootItself);
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
    let house = House::new();
    let file = house.put("work/a", "judged");
    let other = house.put("work/b", "judged");
    let below = house.put("work/d/x/y", "judged");
    let opened = house.look("work/a", Access::Write(Bytes(3)));
    swap(&file);
    assert_eq!(code(house.write_at(opened, "new", WriteMode::Overwrite, None)), Code::Conflict);
    let opened = house.look("work/a", Access::Delete { recursive: false });
    swap(&file);
    assert_eq!(code(delete_opened(&house, opened, false)), Code::Conflict);
    for swapped in [&file, &other] {
        let opened = vec![house.look("work/a", Access::MoveFrom), house.look("work/b", Access::MoveTo)];
        swap(swapped);
        assert_eq!(code(rename_opened(&house, opened)), Code::Conflict, "{swapped:?}");
    }
    let opened = vec![house.look("work/d", Access::MoveFrom), house.look("work/e", Access::MoveTo)];
    swap(&below);
    assert_eq!(code(rename_opened(&house, opened)), Code::Conflict);
    let opened = house.look("work/d", Access::Delete { recursive: true });
    swap(&below);
    assert_eq!(code(delete_opened(&house, opened, true)), Code::Conflict);
    assert_eq!(["work/a", "work/b", "work/d/x/y"].map(|path| house.text(path)), ["!!!!!!"; 3]);
    // Unchanged, each is done: our own renames of a file change its inode's time as well.
    house.write("work/a", "new", WriteMode::Overwrite).unwrap();
    rename(&house, "work/a", "work/b").unwrap();
    rename(&house, "work/d", "work/e").unwrap();
    delete(&house, "work/b", false).unwrap();
    delete(&house, "work/e", true).unwrap();
    assert_eq!(names(&house, "work"), Vec::<String>::new());
}

#[test]
fn a_file_is_carried_to_another_file_system() {
    let house = House::new();
    let Some(_mount) = Tmpfs::on(&house, "home/disk", "size=1m") else { return };
    house.put("work/a", "a");
    rename(&house, "work/a", "home/disk/b").unwrap();
    assert_eq!((names(&house, "work"), house.text("home/disk/b")), (vec![], "a".to_owned()));
    house.put("work/d/x", "x");
    rename(&house, "work/d", "home/disk/d").unwrap();
    assert_eq!((names(&house, "work"), house.text("home/disk/d/x")), (vec![], "x".to_owned()));
}

#[test]
fn a_program_that_holds_what_was_moved_to_another_root_changes_nothing_there() {
    let house = House::new();
    house.put("work/a", "judged");
    house.put("work/d/x", "judged");
    house.put("home/there", "replaced");
    let open = |path: &str| std::fs::OpenOptions::new().write(true).open(house.path(path)).unwrap();
    let folder = std::fs::File::open(house.path("work/d")).unwrap();
    for (from, to, file) in [("work/a", "home/a", ""), ("work/d", "home/e", "/x")] {
        let mut held = open(&format!("{from}{file}"));
        rename(&house, from, to).unwrap();
        std::io::Write::write_all(&mut held, b"unasked").unwrap();
        assert_eq!(house.text(&format!("{to}{file}")), "judged");
        assert!(!house.path(from).exists());
    }
    assert!(std::fs::write(format!("/proc/self/fd/{}/y", std::os::fd::AsRawFd::as_raw_fd(&folder)), "").is_err(), "the old folder is gone");
    assert_eq!(names(&house, "home/e"), ["x"]);
    house.put("work/b", "new");
    let mut held = open("work/b");
    rename(&house, "work/b", "home/there").unwrap();
    std::io::Write::write_all(&mut held, b"unasked").unwrap();
    assert_eq!(house.text("home/there"), "new");
}

#[test]
fn what_is_moved_to_another_root_keeps_its_rights_times_and_links() {
    let house = House::new();
    let script = house.put("work/d/sub/run", "#!/bin/sh\n");
    let private = house.put("work/d/private", "p");
    std::fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&private, Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink("sub/run", house.path("work/d/link")).unwrap();
    std::fs::create_dir(house.path("work/d/empty")).unwrap();
    let changed = private.metadata().unwrap().modified().unwrap();
    rename(&house, "work/d", "home/d").unwrap();
    let mode = |path: &str| house.path(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("home/d/private"), mode("home/d/sub/run") & 0o700), (0o600, 0o700));
    assert_eq!(house.path("home/d/private").metadata().unwrap().modified().unwrap(), changed);
    assert_eq!(std::fs::read_link(house.path("home/d/link")).unwrap(), Path::new("sub/run"));
    assert_eq!((names(&house, "home/d"), names(&house, "work")), (["empty", "link", "private", "sub"].map(str::to_owned).to_vec(), vec![]));
}

#[test]
fn a_move_to_another_root_that_cannot_be_whole_leaves_everything_as_it_was() {
    let house = House::new();
    house.put("work/d/a", "a");
    let opened = vec![house.try_look("work/d", Access::MoveFrom).unwrap(), house.try_look("home/d", Access::MoveTo).unwrap()];
    let before = names(&house, "home");
    house.put("work/d/later", "not judged");
    assert_eq!(code(rename_opened(&house, opened)), Code::Conflict);
    rustix::fs::mknodat(rustix::fs::CWD, house.path("work/d/pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    assert_eq!(code(rename(&house, "work/d", "home/d")), Code::Conflict);
    std::fs::remove_file(house.path("work/d/pipe")).unwrap();
    let opened = vec![house.try_look("work/d", Access::MoveFrom).unwrap(), house.try_look("home/d", Access::MoveTo).unwrap()];
    let cancelled = tokio_util::sync::CancellationToken::new();
    cancelled.cancel();
    let stop = Stop::new(cancelled, std::time::Duration::from_secs(9));
    let (from, to) = (call_path("work/d"), call_path("home/d"));
    assert_eq!(code(house.roots.rename(house.permit(MoveFile { from, to }, opened), &stop)), Code::Cancelled);
    assert_eq!((names(&house, "home"), names(&house, "work/d")), (before, ["a", "later"].map(str::to_owned).to_vec()));
}
