//! Session roots: private, bounded, gone at the end.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::manifest::Quota;

fn scratch(dir: &Path, quota: Option<Quota>) -> Roots {
    Roots::open(&[RootConfig { name: "scratch".to_owned(), at: Location::Session, quota }], &[], Some(dir)).unwrap()
}

fn has_room(roots: &Roots) -> Result<(), Failure> {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(roots.has_space("t", "scratch"))
}

fn folders(fixture: &Fixture) -> Vec<PathBuf> {
    std::fs::read_dir(fixture.path("home/state/sessions")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn each_session_has_its_own_folder_and_it_is_wiped_at_the_end() {
    let fixture = Fixture::new();
    assert_eq!(folders(&fixture), Vec::<PathBuf>::new());
    fixture.write("scratch/a", "mine", WriteMode::Create).unwrap();
    let [folder] = folders(&fixture).try_into().unwrap();
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o7777, 0o700);
    let other = fixture.roots.look("other", &[target("scratch/a")], &[Access::Read], Symlinks::Deny).unwrap();
    assert_eq!((other[0].fact.kind, folders(&fixture).len()), (Kind::Absent, 2));
    assert_eq!(text(fixture.read("scratch/a")), "mine");
    std::fs::create_dir_all(folder.join("d/e")).unwrap();
    std::fs::set_permissions(folder.join("d"), std::fs::Permissions::from_mode(0o500)).unwrap();
    std::os::unix::fs::symlink(fixture.path("outside"), folder.join("link")).unwrap();
    fixture.roots.end_session("s");
    assert_eq!((folders(&fixture).len(), folder.exists(), fixture.text("outside/secret")), (1, false, "secret".to_owned()));
    drop(fixture.roots);
    assert_eq!(std::fs::read_dir(fixture.dir.path().join("home/state/sessions")).unwrap().count(), 0);
}

#[test]
fn folders_of_a_server_that_died_are_wiped_at_the_next_start_and_those_of_a_living_one_stay() {
    let fixture = Fixture::new();
    fixture.write("scratch/a", "living", WriteMode::Create).unwrap();
    let dead = fixture.path("home/state/sessions").join("0123456789abcdef0123456789abcdef");
    std::fs::create_dir_all(dead.join("x")).unwrap();
    let kept = fixture.path("home/state/sessions/not-ours");
    std::fs::create_dir(&kept).unwrap();
    let second = scratch(&fixture.path("home/state"), None);
    assert_eq!((dead.exists(), kept.exists(), text(fixture.read("scratch/a"))), (false, true, "living".to_owned()));
    drop(second);
    assert_eq!(text(fixture.read("scratch/a")), "living");
}

#[test]
fn a_tree_deeper_than_a_walk_goes_is_wiped_and_counts_as_full() {
    let mut fixture = Fixture::new();
    std::fs::create_dir(fixture.path("state2")).unwrap();
    fixture.roots = scratch(&fixture.path("state2"), Some(Quota { bytes: Some(Bytes::mib(1)), files: None }));
    fixture.write("scratch/a", "x", WriteMode::Overwrite).unwrap();
    let mut at = (*fixture.roots.folder("s", "scratch").unwrap()).try_clone().unwrap();
    for _ in 0..300 {
        rustix::fs::mkdirat(&at, "d", rustix::fs::Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, "d", rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
    }
    assert_eq!(code(fixture.write("scratch/b", "x", WriteMode::Overwrite)), Code::NoSpace);
    fixture.roots.end_session("s");
    assert_eq!(std::fs::read_dir(fixture.path("state2/sessions")).unwrap().count(), 0);
}

#[test]
fn a_session_root_takes_no_more_than_its_quota() {
    let mut fixture = Fixture::new();
    std::fs::create_dir(fixture.path("state2")).unwrap();
    fixture.roots = scratch(&fixture.path("state2"), Some(Quota { bytes: Some(Bytes(10)), files: Some(3) }));
    fixture.write("scratch/a", "12345", WriteMode::Overwrite).unwrap();
    fixture.write("scratch/b", "12345", WriteMode::Overwrite).unwrap();
    assert_eq!(code(fixture.write("scratch/c", "1", WriteMode::Overwrite)), Code::NoSpace);
    assert_eq!(code(fixture.write("scratch/a", "1", WriteMode::Append)), Code::NoSpace);
    fixture.write("scratch/a", "1", WriteMode::Overwrite).unwrap();
    fixture.write("scratch/c", "1", WriteMode::Overwrite).unwrap();
    let failure = fixture.write("scratch/d", "", WriteMode::Overwrite).unwrap_err().0;
    assert_eq!((failure.code, failure.message.contains("10 B and 3 files")), (Code::NoSpace, true), "{failure}");
    let action = CreateDirectory { path: call_path("scratch/d") };
    let opened = fixture.look("scratch/d", Access::CreateDirectory);
    assert_eq!(code(fixture.roots.create_directory(fixture.permit(action, vec![opened]))), Code::NoSpace);
    assert_eq!(text(fixture.read("scratch/a")), "1");
}

#[test]
fn a_root_over_its_quota_takes_no_program_and_one_at_it_does() {
    let fixture = Fixture::new();
    let roots = scratch(&fixture.path("home/state"), Some(Quota { bytes: Some(crate::model::Bytes(8)), files: None }));
    let folder = roots.folder("t", "scratch").unwrap();
    let put = |name: &str| {
        rustix::fs::openat(&*folder, name, rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY, rustix::fs::Mode::RWXU).unwrap()
    };
    rustix::io::write(put("a"), b"12345678").unwrap();
    assert_eq!(has_room(&roots), Ok(()));
    rustix::io::write(put("b"), b"9").unwrap();
    assert_eq!(has_room(&roots).unwrap_err().0.code, Code::NoSpace);
}

#[test]
fn what_a_program_closes_or_sets_aside_in_a_session_root_counts() {
    use rustix::fs::{Mode, OFlags, mkdirat, openat};
    let fixture = Fixture::new();
    let roots = scratch(&fixture.path("home/state"), Some(Quota { bytes: Some(crate::model::Bytes(8)), files: None }));
    let folder = roots.folder("t", "scratch").unwrap();
    mkdirat(&*folder, "closed", Mode::RWXU).unwrap();
    let closed = openat(&*folder, "closed", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    rustix::io::write(openat(&closed, "a", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap(), b"12345678").unwrap();
    rustix::fs::fchmod(&closed, Mode::empty()).unwrap();
    assert_eq!(has_room(&roots), Ok(()));
    let aside = openat(&*folder, "aside", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap();
    assert_eq!(has_room(&roots), Ok(()));
    if rustix::fs::fallocate(&aside, rustix::fs::FallocateFlags::KEEP_SIZE, 0, 4 << 20).is_ok() {
        assert_eq!(has_room(&roots).unwrap_err().0.code, Code::NoSpace, "of no size, and it takes the disk");
    }
    rustix::fs::unlinkat(&*folder, "aside", rustix::fs::AtFlags::empty()).unwrap();
    rustix::fs::fchmod(&closed, Mode::RWXU).unwrap();
    rustix::io::write(openat(&closed, "b", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap(), b"9").unwrap();
    rustix::fs::fchmod(&closed, Mode::empty()).unwrap();
    assert_eq!(has_room(&roots).unwrap_err().0.code, Code::NoSpace, "whoever runs the server");
}

#[test]
fn folders_of_any_depth_and_number_hold_up_neither_a_start_nor_the_end_of_a_session() {
    use rustix::fs::{Mode, OFlags, mkdirat, openat};
    let fixture = Fixture::new();
    let (state, places) = (fixture.path("home/state"), ["0", "1", "2"].map(|digit| digit.repeat(32)));
    for place in &places {
        let top = fixture.path("home/state/sessions").join(place);
        std::fs::create_dir(&top).unwrap();
        let mut at = rustix::fs::open(&top, OFlags::RDONLY, Mode::empty()).unwrap();
        for _ in 0..2500 {
            mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = openat(&at, "d", OFlags::RDONLY, Mode::empty()).unwrap();
        }
    }
    let begun = std::time::Instant::now();
    let opened = scratch(&state, None);
    let took = begun.elapsed();
    assert!(places.iter().all(|place| !fixture.path("home/state/sessions").join(place).exists()));
    let gone = || std::fs::read_dir(state.join("sessions-gone")).unwrap().count();
    while gone() > 0 {
        std::thread::yield_now();
    }
    assert!(took < begun.elapsed() / 2 || took < std::time::Duration::from_secs(2), "{took:?} of {:?}", begun.elapsed());
    drop(opened);
}
