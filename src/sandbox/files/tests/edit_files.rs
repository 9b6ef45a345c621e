//! `edit_files`: all files or none.

use std::io::BufRead as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::time::{Duration, Instant};

use super::*;

const CRASH: &str = "TOOLGATE_TEST_EDIT_UNTIL_KILLED";
const STATE: &str = "TOOLGATE_TEST_STATE";

fn action(edits: &[(&str, &str, &str)], dry_run: bool) -> EditFiles {
    let edit = |(path, old, new): &(&str, &str, &str)| {
        (call_path(path), Edit { old_text: (*old).into(), new_text: (*new).into(), replace_all: false })
    };
    EditFiles { edits: edits.iter().map(edit).collect(), dry_run }
}

fn look(fixture: &Fixture, action: &EditFiles) -> Vec<Opened> {
    action.files().into_iter().map(|(path, _)| fixture.look(&path.to_string(), Access::Edit)).collect()
}

fn edit(fixture: &Fixture, edits: &[(&str, &str, &str)]) -> Result<Vec<Edited>, Failure> {
    let action = action(edits, false);
    let opened = look(fixture, &action);
    fixture.roots.edit(fixture.permit(action, opened))
}

fn three(fixture: &Fixture) {
    for name in ["a", "b", "c"] {
        fixture.put(&format!("work/{name}"), format!("{name} one\n{name} two\n"));
    }
}

fn all(fixture: &Fixture) -> String {
    ["a", "b", "c"].map(|name| fixture.text(&format!("work/{name}"))).concat()
}

const THREE: [(&str, &str, &str); 4] =
    [("work/a", "a one", "a 1"), ("work/b", "b one", "b 1"), ("work/a", "a two", "a 2"), ("work/c", "c two", "c 2")];

#[test]
fn several_files_are_changed_by_one_call_and_keep_their_modes() {
    let fixture = Fixture::new();
    three(&fixture);
    std::fs::set_permissions(fixture.path("work/b"), std::fs::Permissions::from_mode(0o4750)).unwrap();
    let edited = edit(&fixture, &THREE).unwrap();
    assert_eq!(all(&fixture), "a 1\na 2\nb 1\nb two\nc one\nc 2\n");
    assert_eq!(edited.iter().map(|file| file.replacements).collect::<Vec<_>>(), [2, 1, 1]);
    assert!(edited[0].diff.contains("-a one\n-a two\n+a 1\n+a 2\n"), "{}", edited[0].diff);
    for file in &edited {
        assert_eq!(file.identity, fixture.fact(&file.target.to_string(), Access::Read).identity);
    }
    assert_eq!(std::fs::metadata(fixture.path("work/b")).unwrap().mode() & 0o7777, 0o750);
    assert_eq!(std::fs::read_dir(fixture.path("work")).unwrap().count(), 3, "nothing is left beside them");
    // And where only the change is asked for, nothing is written.
    let action = action(&[("work/a", "a 1", "x"), ("work/c", "c 2", "y")], true);
    let opened = action.files().into_iter().map(|(path, _)| fixture.look(&path.to_string(), Access::Read)).collect();
    let shown = fixture.roots.edit(fixture.permit(action, opened)).unwrap();
    assert!(shown.iter().all(|file| file.identity.is_none()) && shown[1].diff.contains("+y"));
    assert_eq!(all(&fixture), "a 1\na 2\nb 1\nb two\nc one\nc 2\n");
}

#[test]
fn one_file_that_says_no_keeps_all_files_as_they_are() {
    let fixture = Fixture::new();
    three(&fixture);
    let before = all(&fixture);
    let failure = edit(&fixture, &[("work/a", "a one", "1"), ("work/b", "b one", "1"), ("work/c", "nowhere", "1")]).unwrap_err().0;
    assert_eq!(failure.code, Code::EditMismatch);
    assert!(failure.message.starts_with("`edits[2].old_text` is not in the file"), "{}", failure.message);
    // Changed, replaced or gone since it was judged, the last one as well as the first.
    for name in ["a", "b", "c"] {
        let action = action(&THREE, false);
        let opened = look(&fixture, &action);
        fixture.put(&format!("work/{name}"), format!("{name} one\n{name} two\nlate\n"));
        let with_late = all(&fixture);
        assert_eq!(code(fixture.roots.edit(fixture.permit(action, opened))), Code::Conflict, "{name}");
        assert_eq!(all(&fixture), with_late, "{name}");
        three(&fixture);
    }
    let action = action(&THREE, false);
    let opened = look(&fixture, &action);
    std::fs::remove_file(fixture.path("work/c")).unwrap();
    assert_eq!(code(fixture.roots.edit(fixture.permit(action, opened))), Code::Conflict);
    fixture.put("work/c", "c one\nc two\n");
    assert_eq!(all(&fixture), before);
    assert_eq!(std::fs::read_dir(fixture.path("work")).unwrap().count(), 3);
}

#[test]
fn two_names_of_one_file_and_too_much_together_are_refused_before_anything_is_written() {
    let mut fixture = Fixture::new();
    fixture.links = Symlinks::Inside;
    three(&fixture);
    std::os::unix::fs::symlink("a", fixture.path("work/link")).unwrap();
    let failure = edit(&fixture, &[("work/a", "a one", "1"), ("work/link", "a two", "2")]).unwrap_err().0;
    assert_eq!((failure.code, failure.message.as_str()), (Code::ArgumentInvalid, "`work/a` and `work/link` are the same file"));
    for name in ["a", "b", "c"] {
        fixture.put(&format!("work/{name}"), "x".repeat(6 << 20) + "\nend\n");
    }
    let edits = [("work/a", "end", "END"), ("work/b", "end", "END"), ("work/c", "end", "END")];
    assert_eq!(code(edit(&fixture, &edits)), Code::FileTooLarge);
    assert!(fixture.text("work/a").ends_with("end\n"));
}

#[test]
fn a_quota_that_the_third_file_would_pass_leaves_all_three() {
    let state = tempfile::tempdir().unwrap();
    let quota = Some(crate::manifest::Quota { bytes: Some(Bytes(100)), files: None });
    let roots = Roots::open(&[RootConfig { name: "r".into(), at: Location::Session, quota }], &[], Some(state.path())).unwrap();
    let terms = Arc::new(Terms::for_test());
    for name in ["a", "b", "c"] {
        let opened = roots.look("s", &[target(&format!("r/{name}"))], &[Access::Write(Bytes(20))], Symlinks::Deny).unwrap();
        let content = format!("{name}{}", "-".repeat(19)).into_bytes();
        let action = WriteFile { path: call_path(&format!("r/{name}")), content, mode: WriteMode::Create, expected_sha256: None };
        roots.write(Permit::for_test(action, opened, terms.clone())).unwrap();
    }
    let grow = |by: usize| {
        let long = |name: &str| name.repeat(by);
        let (a, b, c) = (long("a"), long("b"), long("c"));
        let action = action(&[("r/a", "a", &a), ("r/b", "b", &b), ("r/c", "c", &c)], false);
        let targets = ["r/a", "r/b", "r/c"].map(target);
        let opened = roots.look("s", &targets, &[Access::Edit; 3], Symlinks::Deny).unwrap();
        roots.edit(Permit::for_test(action, opened, terms.clone()))
    };
    assert_eq!(code(grow(15)), Code::NoSpace, "two of them would fit");
    let sizes =
        || ["r/a", "r/b", "r/c"].map(|path| roots.look("s", &[target(path)], &[Access::Stat], Symlinks::Deny).unwrap()[0].fact.size);
    assert_eq!(sizes(), [20; 3]);
    grow(14).unwrap();
    assert_eq!(sizes(), [33; 3]);
}

#[test]
fn a_masked_line_in_one_file_keeps_all_files_as_they_are() {
    let fixture = Fixture::new();
    let content = "id = AKIAQ7ZT3N5WXK2VPLMR\nport = 1\n";
    fixture.put("work/a", content);
    fixture.put("work/b", content);
    let edited = edit(&fixture, &[("work/a", "port = 1", "port = 2"), ("work/b", "port = 1", "port = 2")]).unwrap();
    assert_eq!([fixture.text("work/a"), fixture.text("work/b")], [content, content].map(|text| text.replace("port = 1", "port = 2")));
    assert!(edited.iter().all(|file| file.sha256.is_none() && !file.diff.contains("AKIA")));
    let before = fixture.text("work/a");
    assert_eq!(code(edit(&fixture, &[("work/a", "port = 2", "port = 3"), ("work/b", "id = ", "x = ")])), Code::MaskedContent);
    assert_eq!([fixture.text("work/a"), fixture.text("work/b")], [before.clone(), before]);
}

/// Run by the test below in a process of its own; without its variable it does nothing.
#[test]
fn edits_until_it_is_killed() {
    let Some(dir) = std::env::var_os(CRASH) else { return };
    let place = RootConfig { name: "work".to_owned(), at: Location::Folder(dir.into()), quota: None };
    let roots = Roots::open(&[place], &[], std::env::var_os(STATE).map(PathBuf::from).as_deref()).unwrap();
    let terms = Arc::new(Terms::for_test());
    let paths: Vec<String> = (0..6).map(|at| format!("work/f{at}")).collect();
    println!("ready");
    for round in 0u64.. {
        let (old, new) = (format!("version {round};"), format!("version {};", round + 1));
        let edits: Vec<(&str, &str, &str)> = paths.iter().map(|path| (path.as_str(), old.as_str(), new.as_str())).collect();
        let targets: Vec<Target> = paths.iter().map(|path| target(path)).collect();
        let opened = roots.look("s", &targets, &[Access::Edit; 6], Symlinks::Deny).unwrap();
        roots.edit(Permit::for_test(action(&edits, false), opened, terms.clone())).unwrap();
    }
}

#[test]
fn a_kill_at_any_moment_loses_neither_content_of_any() {
    let fixture = Fixture::new();
    let body = "x".repeat(100_000);
    for round in 0u64..8 {
        for at in 0..6 {
            fixture.put(&format!("work/f{at}"), format!("version 0;{body}"));
        }
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sandbox::files::tests::edit_files::edits_until_it_is_killed", "--nocapture", "--test-threads=1"])
            .env(CRASH, fixture.path("work"))
            .env(STATE, fixture.path("home/state"))
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("ready")));
        // Killed at another moment each time; the moment is the point, nothing is waited for.
        let until = Instant::now() + Duration::from_micros(9_000 + round * 3_700);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let versions: Vec<u64> = (0..6)
            .map(|at| {
                let text = fixture.text(&format!("work/f{at}"));
                let (version, rest) = text.strip_prefix("version ").unwrap().split_once(';').unwrap();
                assert!(rest == body, "a file is whole");
                version.parse().unwrap()
            })
            .collect();
        let (least, most) = (versions.iter().min().unwrap(), versions.iter().max().unwrap());
        assert!(most - least <= 1 && versions.is_sorted_by(|one, next| one >= next), "{versions:?}");
    }
    fixture.write("work/f0", "new", WriteMode::Overwrite).unwrap();
    assert_eq!(std::fs::read_dir(fixture.path("work")).unwrap().count(), 6, "what was prepared beside them is gone");
}
