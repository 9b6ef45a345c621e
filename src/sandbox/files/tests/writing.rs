//! `write` and `edit`: what stands there afterwards.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[test]
fn a_file_is_created_replaced_and_lengthened() {
    let fixture = Fixture::new();
    let written = fixture.write("work/a", "one\n", WriteMode::Overwrite).unwrap();
    assert_eq!((written.created, written.size, fixture.text("work/a")), (true, 4, "one\n".to_owned()));
    let written = fixture.write("work/a", "two\n", WriteMode::Overwrite).unwrap();
    assert_eq!((written.created, fixture.text("work/a")), (false, "two\n".to_owned()));
    let written = fixture.write("work/a", "three\n", WriteMode::Append).unwrap();
    assert_eq!((written.size, fixture.text("work/a")), (10, "two\nthree\n".to_owned()));
    assert_eq!(written.sha256, fixture.read("work/a").unwrap().sha256);
    assert_eq!(Some(written.identity), fixture.fact("work/a", Access::Read).identity);
    fixture.write("work/b", "new", WriteMode::Append).unwrap();
    fixture.write("work/c", "new", WriteMode::Create).unwrap();
    assert_eq!(code(fixture.write("work/c", "other", WriteMode::Create)), Code::AlreadyExists);
    assert_eq!((fixture.text("work/b"), fixture.text("work/c")), ("new".to_owned(), "new".to_owned()));
    // Nothing else is left behind.
    assert_eq!(std::fs::read_dir(fixture.path("work")).unwrap().count(), 3);
}

#[test]
fn a_folder_is_no_place_for_a_file_nor_is_a_file_on_the_way() {
    let fixture = Fixture::new();
    fixture.put("work/d/x", "");
    assert_eq!(code(fixture.write("work/d", "x", WriteMode::Overwrite)), Code::IsADirectory);
    for path in ["work/d/x/y", "work/d/x/y/z"] {
        assert_eq!(code(fixture.write(path, "x", WriteMode::Overwrite)), Code::NotADirectory, "{path}");
    }
    assert_eq!(code(fixture.write("work", "x", WriteMode::Overwrite)), Code::RootItself);
}

#[test]
fn the_mode_of_what_is_replaced_is_kept_without_set_user_id() {
    let fixture = Fixture::new();
    let path = fixture.put("work/run.sh", "old");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4751)).unwrap();
    fixture.write("work/run.sh", "new", WriteMode::Overwrite).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o751);
}

#[test]
fn a_lost_update_is_a_conflict() {
    let fixture = Fixture::new();
    fixture.put("work/a", "one");
    let old = fixture.read("work/a").unwrap().sha256.unwrap();
    let open = || fixture.look("work/a", Access::Write(Bytes(3)));
    fixture.write_at(open(), "two", WriteMode::Overwrite, Some(&old)).unwrap();
    assert_eq!(code(fixture.write_at(open(), "three", WriteMode::Overwrite, Some(&old))), Code::Conflict);
    assert_eq!(fixture.text("work/a"), "two");
    assert_eq!(
        code(fixture.write_at(fixture.look("work/new", Access::Write(Bytes(1))), "x", WriteMode::Overwrite, Some(&old))),
        Code::Conflict
    );
}

#[test]
fn what_changed_after_it_was_judged_is_left_alone() {
    let fixture = Fixture::new();
    let open = |path: &str| fixture.look(path, Access::Write(Bytes(3)));
    fixture.put("work/a", "judged");
    // Another content, another object, a link, a folder, nothing.
    for change in [
        (|path: &Path| std::fs::write(path, "other words").unwrap()) as fn(&Path),
        |path| {
            std::fs::write(path.with_extension("new"), "judged").unwrap();
            std::fs::rename(path.with_extension("new"), path).unwrap();
        },
        |path| {
            std::fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("../outside/secret", path).unwrap();
        },
        |path| {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        },
        |path| std::fs::remove_file(path).unwrap(),
    ] {
        let path = fixture.path("work/a");
        let _ = std::fs::remove_dir_all(&path);
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, "judged").unwrap();
        let opened = open("work/a");
        change(&path);
        let before = std::fs::symlink_metadata(&path).ok().map(|facts| facts.file_type());
        assert_eq!(code(fixture.write_at(opened, "new", WriteMode::Overwrite, None)), Code::Conflict);
        assert_eq!(std::fs::symlink_metadata(&path).ok().map(|facts| facts.file_type()), before);
        assert_eq!(fixture.text("outside/secret"), "secret");
    }
    // What was absent and is there now is not replaced.
    let opened = open("work/b");
    fixture.put("work/b", "first");
    assert_eq!(code(fixture.write_at(opened, "second", WriteMode::Overwrite, None)), Code::Conflict);
    assert_eq!(fixture.text("work/b"), "first");
    // No temporary file stays behind.
    let names: Vec<_> = std::fs::read_dir(fixture.path("work")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["b"]);
}

#[test]
fn too_large_a_file_is_refused_before_anything_is_written() {
    let mut fixture = Fixture::new();
    fixture.terms.max_file_size = Bytes(5);
    assert_eq!(code(fixture.write("work/a", "123456", WriteMode::Overwrite)), Code::FileTooLarge);
    fixture.write("work/a", "12345", WriteMode::Overwrite).unwrap();
    assert_eq!(code(fixture.write("work/a", "6", WriteMode::Append)), Code::FileTooLarge);
    assert_eq!(fixture.text("work/a"), "12345");
}

#[test]
fn an_edit_gives_its_diff_and_a_dry_run_changes_nothing() {
    let fixture = Fixture::new();
    fixture.put("work/a.rs", "fn a() {}\r\nfn b() {}\r\n");
    let edited = fixture.edit("work/a.rs", &[("fn b() {}", "fn b() {\n    1\n}")], true).unwrap();
    assert_eq!(fixture.text("work/a.rs"), "fn a() {}\r\nfn b() {}\r\n");
    assert_eq!((edited.replacements, edited.identity), (1, None));
    assert!(edited.diff.starts_with("--- a/work/a.rs\n+++ b/work/a.rs\n@@ -1,2 +1,4 @@\n"), "{}", edited.diff);
    let edited = fixture.edit("work/a.rs", &[("fn b() {}", "fn b() {\n    1\n}"), ("    1", "    2")], false).unwrap();
    assert_eq!(fixture.text("work/a.rs"), "fn a() {}\r\nfn b() {\r\n    2\r\n}\r\n");
    assert_eq!(edited.sha256, fixture.read("work/a.rs").unwrap().sha256);
}

#[test]
fn an_edit_that_does_not_fit_changes_nothing_and_says_where() {
    let fixture = Fixture::new();
    fixture.put("work/a", "x = 1\ny = 1\n");
    let failure = fixture.edit("work/a", &[("x = 1", "x = 2"), (" = 1\n", "")], false);
    assert_eq!(failure.unwrap().replacements, 2);
    fixture.put("work/a", "x = 1\ny = 1\n");
    let failure = fixture.edit("work/a", &[("x = 1", "x = 2"), ("z", "")], false).unwrap_err().0;
    assert_eq!(failure.code, Code::EditMismatch);
    assert!(failure.message.contains("`edits[1].old_text` is not in the file"), "{failure}");
    let failure = fixture.edit("work/a", &[(" = 1\n", " = 2\n")], false).unwrap_err().0;
    assert!(failure.message.contains("2 times (lines 1, 2)"), "{failure}");
    assert_eq!(fixture.text("work/a"), "x = 1\ny = 1\n");
    fixture.put("work/latin1", b"caf\xe9\n");
    assert_eq!(code(fixture.edit("work/latin1", &[("caf", "tea")], false)), Code::NotText);
}

#[test]
fn leftovers_of_a_dead_server_are_hidden_and_removed_and_those_of_a_living_one_stay() {
    let fixture = Fixture::new();
    let dead = fixture.put(&format!("work/.toolgate-{}.tmp", "0".repeat(32)), "half");
    let living = fixture.put(&format!("work/.toolgate-{}.tmp", "1".repeat(32)), "half");
    let other = fixture.put("work/.toolgate-mine.tmp", "whole");
    let lock = std::fs::File::open(&living).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    assert_eq!(shown(&fixture.list("work", 1, &all_visible).unwrap()), [".toolgate-mine.tmp"]);
    fixture.write("work/a", "x", WriteMode::Overwrite).unwrap();
    assert_eq!([dead, living, other].map(|path| path.exists()), [false, true, true]);
}
