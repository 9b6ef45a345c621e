//! `edit_files`: all files or none.

use std::io::BufRead as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::time::{Duration, Instant};

use super::*;

const CRASH: &str = "TOOLGATE_TEST_EDIT_UNTIL_KILLED";
const HALF: &str = "TOOLGATE_TEST_REPLACE_HALF_AND_DIE";
const STATE: &str = "TOOLGATE_TEST_STATE";

fn action(edits: &[(&str, &str, &str)], dry_run: bool) -> EditFiles {
    let edit = |(path, old, new): &(&str, &str, &str)| {
        (call_path(path), Edit { old_text: (*old).into(), new_text: (*new).into(), replace_all: false })
    };
    EditFiles { edits: edits.iter().map(edit).collect(), dry_run }
}

fn look(house: &House, action: &EditFiles) -> Vec<Opened> {
    action.files().into_iter().map(|(path, _)| house.look(&path.to_string(), Access::Edit)).collect()
}

fn edit(house: &House, edits: &[(&str, &str, &str)]) -> Result<Vec<Edited>, Failure> {
    let action = action(edits, false);
    let opened = look(house, &action);
    house.roots.edit_files(house.permit(action, opened))
}

fn three(house: &House) {
    for name in ["a", "b", "c"] {
        house.put(&format!("work/{name}"), format!("{name} one\n{name} two\n"));
    }
}

fn all(house: &House) -> String {
    ["a", "b", "c"].map(|name| house.text(&format!("work/{name}"))).concat()
}

const THREE: [(&str, &str, &str); 4] =
    [("work/a", "a one", "a 1"), ("work/b", "b one", "b 1"), ("work/a", "a two", "a 2"), ("work/c", "c two", "c 2")];

#[test]
fn several_files_are_changed_by_one_call_and_keep_their_modes() {
    let house = House::new();
    three(&house);
    std::fs::set_permissions(house.path("work/b"), std::fs::Permissions::from_mode(0o4750)).unwrap();
    let edited = edit(&house, &THREE).unwrap();
    assert_eq!(all(&house), "a 1\na 2\nb 1\nb two\nc one\nc 2\n");
    assert_eq!(edited.iter().map(|file| file.replacements).collect::<Vec<_>>(), [2, 1, 1]);
    assert!(edited[0].diff.contains("-a one\n-a two\n+a 1\n+a 2\n"), "{}", edited[0].diff);
    for file in &edited {
        assert_eq!(file.identity, house.fact(&file.target.to_string(), Access::Read).identity);
    }
    assert_eq!(std::fs::metadata(house.path("work/b")).unwrap().mode() & 0o7777, 0o750);
    assert_eq!(std::fs::read_dir(house.path("work")).unwrap().count(), 3, "nothing is left beside them");
    // And where only the change is asked for, nothing is written.
    let action = action(&[("work/a", "a 1", "x"), ("work/c", "c 2", "y")], true);
    let opened = action.files().into_iter().map(|(path, _)| house.look(&path.to_string(), Access::Read)).collect();
    let shown = house.roots.edit_files(house.permit(action, opened)).unwrap();
    assert!(shown.iter().all(|file| file.identity.is_none()) && shown[1].diff.contains("+y"));
    assert_eq!(all(&house), "a 1\na 2\nb 1\nb two\nc one\nc 2\n");
}

#[test]
fn one_file_that_says_no_keeps_all_files_as_they_are() {
    let house = House::new();
    three(&house);
    let before = all(&house);
    let failure = edit(&house, &[("work/a", "a one", "1"), ("work/b", "b one", "1"), ("work/c", "nowhere", "1")]).unwrap_err().0;
    assert_eq!(failure.code, Code::EditMismatch);
    assert!(failure.message.starts_with("`edits[2].old_text` is not in the file"), "{}", failure.message);
    // Changed, replaced or gone since it was judged, the last one as well as the first.
    for name in ["a", "b", "c"] {
        let action = action(&THREE, false);
        let opened = look(&house, &action);
        house.put(&format!("work/{name}"), format!("{name} one\n{name} two\nlate\n"));
        let with_late = all(&house);
        assert_eq!(code(house.roots.edit_files(house.permit(action, opened))), Code::Conflict, "{name}");
        assert_eq!(all(&house), with_late, "{name}");
        three(&house);
    }
    let action = action(&THREE, false);
    let opened = look(&house, &action);
    std::fs::remove_file(house.path("work/c")).unwrap();
    assert_eq!(code(house.roots.edit_files(house.permit(action, opened))), Code::Conflict);
    house.put("work/c", "c one\nc two\n");
    assert_eq!(all(&house), before);
    assert_eq!(std::fs::read_dir(house.path("work")).unwrap().count(), 3);
}

#[test]
fn what_was_replaced_before_a_file_that_changed_is_put_back() {
    let house = House::new();
    three(&house);
    // All were prepared on what was judged; the third is replaced by another program between the first and the last replacement.
    let opened: Vec<Opened> = ["a", "b", "c"].iter().map(|name| house.look(&format!("work/{name}"), Access::Edit)).collect();
    let before = all(&house);
    let folder = opened[0].folder.clone().unwrap();
    {
        use super::super::replace::{Swap, Written as Content};
        let content = Content::usual(b"new", true);
        let mut swaps: Vec<Swap<'_>> = ["a", "b", "c"]
            .iter()
            .zip(&opened)
            .map(|(name, opened)| Swap::prepare(&folder, name, &opened.fact, content).unwrap())
            .collect();
        assert_eq!(all(&house), before);
        swaps[0].place().unwrap();
        swaps[1].place().unwrap();
        assert_eq!(house.text("work/a"), "new");
        std::fs::write(house.path("work/theirs"), "theirs").unwrap();
        std::fs::rename(house.path("work/theirs"), house.path("work/c")).unwrap();
        swaps[2].place().unwrap_err();
        assert!(swaps.iter_mut().take(2).rev().all(Swap::restore));
    }
    assert_eq!(all(&house), "a one\na two\nb one\nb two\ntheirs");
    assert_eq!(std::fs::read_dir(house.path("work")).unwrap().count(), 3);
}

#[test]
fn two_names_of_one_file_and_too_much_together_are_refused_before_anything_is_written() {
    let mut house = House::new();
    house.links = Symlinks::Inside;
    three(&house);
    std::os::unix::fs::symlink("a", house.path("work/link")).unwrap();
    let failure = edit(&house, &[("work/a", "a one", "1"), ("work/link", "a two", "2")]).unwrap_err().0;
    assert_eq!((failure.code, failure.message.as_str()), (Code::ArgumentInvalid, "`work/a` and `work/link` are the same file"));
    for name in ["a", "b", "c"] {
        house.put(&format!("work/{name}"), "x".repeat(6 << 20) + "\nend\n");
    }
    let edits = [("work/a", "end", "END"), ("work/b", "end", "END"), ("work/c", "end", "END")];
    assert_eq!(code(edit(&house, &edits)), Code::FileTooLarge);
    assert!(house.text("work/a").ends_with("end\n"));
}

#[test]
fn a_quota_that_the_third_file_would_pass_leaves_all_three() {
    let state = tempfile::tempdir().unwrap();
    let quota = Some(crate::manifest::Quota { bytes: Some(Bytes(100)), files: None });
    let roots = Roots::open(&[Place { name: "r".into(), at: Where::Session, quota }], &[], Some(state.path())).unwrap();
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
        roots.edit_files(Permit::for_test(action, opened, terms.clone()))
    };
    assert_eq!(code(grow(15)), Code::NoSpace, "two of them would fit");
    let sizes =
        || ["r/a", "r/b", "r/c"].map(|path| roots.look("s", &[target(path)], &[Access::Stat], Symlinks::Deny).unwrap()[0].fact.size);
    assert_eq!(sizes(), [20; 3]);
    grow(14).unwrap();
    assert_eq!(sizes(), [33; 3]);
}

#[test]
fn masks_of_each_file_stand_for_its_own_secrets_alone() {
    const KEY: &str = "AKIAQ7ZT3N5WXK2VPLMR";
    const OTHER: &str = "AKIAZ4XW9R2QTN7VBKDF";
    let house = House::new();
    house.put("work/a", format!("id = {KEY}\nport = 1\n"));
    house.put("work/b", format!("id = {OTHER}\nport = 1\n"));
    let mask = "id = [SECRET:aws-access-key]\nport = ";
    let [old, new] = [1, 2].map(|port| format!("{mask}{port}"));
    let edited = edit(&house, &[("work/a", &old, &new), ("work/b", &old, &new)]).unwrap();
    assert_eq!([house.text("work/a"), house.text("work/b")], [KEY, OTHER].map(|key| format!("id = {key}\nport = 2\n")));
    assert!(edited.iter().all(|file| file.sha256.is_none() && !file.diff.contains("AKIA")));
    // A mask carries no secret from one file to the other.
    house.put("work/c", "none\n");
    let moved = edit(&house, &[("work/a", "port = 2", "port = 3"), ("work/c", "none", "id = [SECRET:aws-access-key]")]).unwrap();
    assert_eq!((moved.len(), house.text("work/c")), (2, "id = [SECRET:aws-access-key]\n".to_owned()));
    assert_eq!(
        code(edit(
            &house,
            &[
                ("work/a", "id = ", "aws_id = "),
                ("work/b", "= [SECRET:aws-access-key]", "= x [SECRET:aws-access-key] [SECRET:aws-access-key]")
            ]
        )),
        Code::MaskedContent
    );
    assert_eq!(house.text("work/a"), format!("id = {KEY}\nport = 3\n"));
}

/// Run by the test below in a process of its own; without its variable it does nothing.
#[test]
fn replaces_three_of_six_and_is_killed() {
    use super::super::replace::{Swap, Written as Content};
    let Some(dir) = std::env::var_os(HALF) else { return };
    let place = Place { name: "work".to_owned(), at: Where::Folder(dir.into()), quota: None };
    let roots = Roots::open(&[place], &[], std::env::var_os(STATE).map(PathBuf::from).as_deref()).unwrap();
    let names: Vec<String> = (0..6).map(|at| format!("f{at}")).collect();
    let targets: Vec<Target> = names.iter().map(|name| target(&format!("work/{name}"))).collect();
    let opened = roots.look("s", &targets, &[Access::Edit; 6], Symlinks::Deny).unwrap();
    roots.leftovers.clean(&roots.find("s", "work").unwrap(), &opened[0]);
    let folder = opened[0].folder.clone().unwrap();
    let mut swaps = Vec::new();
    for (name, opened) in names.iter().zip(&opened) {
        swaps.push(Swap::prepare(&folder, name, &opened.fact, Content::usual(b"new", true)).unwrap());
    }
    for swap in swaps.iter_mut().take(3) {
        swap.place().unwrap();
    }
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
}

#[test]
fn after_a_kill_between_two_files_each_is_old_or_new_and_a_start_removes_what_was_kept() {
    let house = House::new();
    for at in 0..6 {
        house.put(&format!("work/f{at}"), "old");
    }
    let ended = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sandbox::files::tests::several::replaces_three_of_six_and_is_killed", "--test-threads=1"])
        .env(HALF, house.path("work"))
        .env(STATE, house.path("home/state"))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(9));
    let texts = || (0..6).map(|at| house.text(&format!("work/f{at}"))).collect::<Vec<_>>();
    assert_eq!(texts(), ["new", "new", "new", "old", "old", "old"]);
    assert_eq!(std::fs::read_dir(house.path("work")).unwrap().count(), 12, "the other contents are beside them");
    sweep(&house);
    assert_eq!((texts(), std::fs::read_dir(house.path("work")).unwrap().count()), (texts(), 6));
    // The files are changed as any.
    edit(&house, &[("work/f0", "new", "newer"), ("work/f5", "old", "older")]).unwrap();
    assert_eq!([house.text("work/f0"), house.text("work/f5")], ["newer", "older"]);
}

/// Sweeps as a start does, until nothing is left beside the six files.
fn sweep(house: &House) {
    let until = Instant::now() + Duration::from_mins(1);
    while std::fs::read_dir(house.path("work")).unwrap().count() > 6 && Instant::now() < until {
        house.roots.sweep().unwrap().join().unwrap();
    }
}

/// Run by the test below in a process of its own; without its variable it does nothing.
#[test]
fn edits_until_it_is_killed() {
    let Some(dir) = std::env::var_os(CRASH) else { return };
    let place = Place { name: "work".to_owned(), at: Where::Folder(dir.into()), quota: None };
    let roots = Roots::open(&[place], &[], std::env::var_os(STATE).map(PathBuf::from).as_deref()).unwrap();
    let terms = Arc::new(Terms::for_test());
    let paths: Vec<String> = (0..6).map(|at| format!("work/f{at}")).collect();
    println!("ready");
    for round in 0u64.. {
        let (old, new) = (format!("version {round};"), format!("version {};", round + 1));
        let edits: Vec<(&str, &str, &str)> = paths.iter().map(|path| (path.as_str(), old.as_str(), new.as_str())).collect();
        let targets: Vec<Target> = paths.iter().map(|path| target(path)).collect();
        let opened = roots.look("s", &targets, &[Access::Edit; 6], Symlinks::Deny).unwrap();
        roots.edit_files(Permit::for_test(action(&edits, false), opened, terms.clone())).unwrap();
    }
}

#[test]
fn a_kill_at_any_moment_loses_neither_content_of_any() {
    let house = House::new();
    let body = "x".repeat(100_000);
    for round in 0u64..8 {
        for at in 0..6 {
            house.put(&format!("work/f{at}"), format!("version 0;{body}"));
        }
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sandbox::files::tests::several::edits_until_it_is_killed", "--nocapture", "--test-threads=1"])
            .env(CRASH, house.path("work"))
            .env(STATE, house.path("home/state"))
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
                let text = house.text(&format!("work/f{at}"));
                let (version, rest) = text.strip_prefix("version ").unwrap().split_once(';').unwrap();
                assert!(rest == body, "a file is whole");
                version.parse().unwrap()
            })
            .collect();
        let (least, most) = (versions.iter().min().unwrap(), versions.iter().max().unwrap());
        assert!(most - least <= 1 && versions.is_sorted_by(|one, next| one >= next), "{versions:?}");
    }
    sweep(&house);
    assert_eq!(std::fs::read_dir(house.path("work")).unwrap().count(), 6, "what was kept beside them is gone");
}
