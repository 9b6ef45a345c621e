//! Folders that are made above a new file.

use super::*;
use std::os::unix::fs::symlink;

fn names(fixture: &Fixture, folder: &str) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(fixture.path(folder)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn told(folders: &[Target]) -> Vec<String> {
    folders.iter().map(ToString::to_string).collect()
}

fn moving(fixture: &Fixture, from: &str, to: &str) -> Vec<Opened> {
    vec![fixture.look(from, Access::MoveFrom), fixture.look(to, Access::MoveTo)]
}

fn rename(fixture: &Fixture, opened: Vec<Opened>) -> Result<Moved, Failure> {
    let [from, to] = [0, 1].map(|at| call_path(&opened[at].target.to_string()));
    fixture.roots.rename(fixture.permit(MoveFile { from, to }, opened), &stop())
}

#[test]
fn a_write_and_a_move_make_the_folders_that_are_missing() {
    let fixture = Fixture::new();
    std::fs::create_dir(fixture.path("work/a")).unwrap();
    assert_eq!(fixture.fact("work/a/b/c/x", Access::Write(Bytes(1))).missing_folders, 2);
    assert_eq!(fixture.fact("work/a/x", Access::Write(Bytes(1))).missing_folders, 0);
    for access in [Access::Read, Access::Edit, Access::MoveFrom, Access::CreateDirectory] {
        assert_eq!(fixture.fact("work/a/b/c/x", access).missing_folders, 0, "{access:?}");
    }
    let written = fixture.write("work/a/b/c/x", "x", WriteMode::Append).unwrap();
    assert_eq!((told(&written.folders), fixture.text("work/a/b/c/x")), (vec!["work/a/b".into(), "work/a/b/c".into()], "x".to_owned()));
    assert!(fixture.write("work/a/b/c/y", "y", WriteMode::Create).unwrap().folders.is_empty());
    let moved = rename(&fixture, moving(&fixture, "work/a/b/c/x", "home/new/x")).unwrap();
    assert_eq!((told(&moved.folders), fixture.text("home/new/x")), (vec!["home/new".into()], "x".to_owned()));
    let moved = rename(&fixture, moving(&fixture, "work/a/b", "work/z/b")).unwrap();
    assert_eq!((told(&moved.folders), fixture.text("work/z/b/c/y")), (vec!["work/z".into()], "y".to_owned()));
}

#[test]
fn folders_that_others_made_meanwhile_are_used_and_stay() {
    let fixture = Fixture::new();
    let opened = [fixture.look("work/n/d/x", Access::Write(Bytes(1))), fixture.look("work/n/d/y", Access::Write(Bytes(1)))];
    // Two calls of one message: the second finds what the first one made.
    let [first, second] = opened.map(|opened| fixture.write_at(opened, "x", WriteMode::Create, None).unwrap());
    assert_eq!(
        (told(&first.folders), second.folders.len(), names(&fixture, "work/n/d")),
        (vec!["work/n".into(), "work/n/d".into()], 0, vec!["x".to_owned(), "y".to_owned()])
    );
    let opened = fixture.look("work/m/x", Access::Write(Bytes(1)));
    fixture.put("work/m/x", "theirs");
    assert_eq!(code(fixture.write_at(opened, "ours", WriteMode::Overwrite, None)), Code::Conflict);
    assert_eq!(fixture.text("work/m/x"), "theirs");
}

#[test]
fn calls_that_make_one_folder_at_the_same_time_all_write_below_it() {
    let fixture = Fixture::new();
    for round in 0..400 {
        let start = std::sync::Barrier::new(3);
        std::thread::scope(|scope| {
            for file in ["x", "y", "z"] {
                let (fixture, start) = (&fixture, &start);
                scope.spawn(move || {
                    start.wait();
                    fixture.write(&format!("work/{round}/d/{file}"), file, WriteMode::Create).unwrap();
                });
            }
        });
        assert_eq!(names(&fixture, &format!("work/{round}/d")), ["x", "y", "z"]);
    }
}

#[test]
fn a_call_that_conflicts_makes_no_folders() {
    let fixture = Fixture::new();
    fixture.put("work/from", "judged");
    let opened = moving(&fixture, "work/from", "work/n/d/to");
    fixture.put("work/from", "something else");
    assert_eq!(code(rename(&fixture, opened)), Code::Conflict);
    assert_eq!(names(&fixture, "work"), ["from"]);
}

#[test]
fn a_link_a_file_or_a_protected_folder_planted_in_a_parent_stops_the_write() {
    let fixture = Fixture::new();
    let look = |path: &str| fixture.look(path, Access::Write(Bytes(1)));
    let opened = [look("work/n/d/x"), look("work/m/d/x"), look("work/f/x"), look("home/p/x"), look("home/p/deep/x")];
    symlink(fixture.path("outside"), fixture.path("work/n")).unwrap();
    std::fs::create_dir(fixture.path("work/m")).unwrap();
    symlink(fixture.path("outside"), fixture.path("work/m/d")).unwrap();
    fixture.put("work/f", "a file");
    std::fs::rename(fixture.path("home/state"), fixture.path("home/p")).unwrap();
    for opened in opened {
        let target = opened.target.to_string();
        let expected = if target == "work/f/x" { Code::NotADirectory } else { Code::Conflict };
        assert_eq!(code(fixture.write_at(opened, "x", WriteMode::Overwrite, None)), expected, "{target}");
    }
    assert_eq!((names(&fixture, "outside"), names(&fixture, "work/m")), (vec!["secret".to_owned()], vec!["d".to_owned()]));
    assert!(!fixture.path("home/p/x").exists() && !fixture.path("home/p/deep").exists());
    // And with links that may be followed inside the root, a new folder is made where they lead.
    let mut fixture = Fixture::new();
    fixture.links = Symlinks::Inside;
    std::fs::create_dir(fixture.path("work/real")).unwrap();
    symlink("real", fixture.path("work/link")).unwrap();
    let written = fixture.write("work/link/n/x", "x", WriteMode::Create).unwrap();
    assert_eq!((told(&written.folders), fixture.text("work/real/n/x")), (vec!["work/real/n".into()], "x".to_owned()));
    symlink(fixture.path("outside"), fixture.path("work/out")).unwrap();
    assert!(fixture.write("work/out/n/x", "x", WriteMode::Create).is_err());
    assert_eq!(names(&fixture, "outside"), ["secret"]);
}

#[test]
fn new_folders_count_against_the_quota() {
    let state = tempfile::tempdir().unwrap();
    let quota = Some(crate::manifest::Quota { bytes: None, files: Some(3) });
    let roots = Roots::open(&[RootConfig { name: "r".into(), at: Location::Session, quota }], &[], Some(state.path())).unwrap();
    let write = |path: &str| {
        let opened = roots.look("s", &[target(path)], &[Access::Write(Bytes(1))], Symlinks::Deny)?;
        let action = WriteFile { path: call_path(path), content: b"x".to_vec(), mode: WriteMode::Create, expected_sha256: None };
        roots.write(Permit::for_test(action, opened, Arc::new(Terms::for_test())))
    };
    assert_eq!(code(write("r/a/b/c/x")), Code::NoSpace);
    assert!(roots.look("s", &[target("r/a")], &[Access::Stat], Symlinks::Deny).unwrap()[0].object.is_none(), "nothing was made");
    write("r/a/b/x").unwrap();
    assert_eq!(code(write("r/y")), Code::NoSpace);
}
