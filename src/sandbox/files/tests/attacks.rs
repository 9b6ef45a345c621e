//! Ways out of a root, and objects that are not what they seem.

use std::ffi::CString;

use super::*;

#[test]
fn a_path_cannot_climb_or_begin_elsewhere() {
    for path in ["work/../outside/secret", "work/a/../../outside/secret", "work/./a", "work//a"] {
        assert_eq!(CallPath::parse(path).map_err(|refusal| refusal.code), Err(Code::PathMalformed), "{path}");
    }
    // A target can only be made of names; a twin of the root's name is another root, and there is none.
    let fixture = Fixture::new();
    assert_eq!(code(fixture.try_look("work_twin/secret", Access::Read)), Code::Internal);
    fixture.put("work/secret", "mine");
    assert_eq!(text(fixture.read("work/secret")), "mine");
}

#[test]
fn a_second_name_of_a_file_is_told_and_stays_closed() {
    let fixture = Fixture::new();
    std::fs::hard_link(fixture.path("outside/secret"), fixture.path("work/h")).unwrap();
    let opened = fixture.look("work/h", Access::Read);
    assert_eq!((opened.fact.kind, opened.fact.names), (Kind::File, 2));
    // The handle is a mere pointer: nothing can be read by it.
    assert!(fixture.read("work/h").is_err());
}

#[test]
fn pipes_devices_and_sockets_are_never_opened() {
    let fixture = Fixture::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, fixture.path("work/fifo"), rustix::fs::Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.path("work/socket")).unwrap();
    let zero = rustix::fs::makedev(1, 5);
    let device = rustix::fs::mknodat(
        rustix::fs::CWD,
        CString::new(fixture.path("work/zero").to_str().unwrap()).unwrap(),
        rustix::fs::FileType::CharacterDevice,
        rustix::fs::Mode::RWXU,
        zero,
    );
    if let Err(errno) = device {
        println!("no device made here: {errno}");
    }
    for path in ["work/fifo", "work/socket", "work/zero"] {
        if !fixture.path(path).exists() {
            continue;
        }
        assert_eq!(fixture.fact(path, Access::Read).kind, Kind::Other, "{path}");
        assert_eq!(code(fixture.read(path)), Code::NotARegularFile, "{path}");
        assert_eq!(code(fixture.write(path, "x", WriteMode::Overwrite)), Code::NotARegularFile, "{path}");
        assert_eq!(code(fixture.edit(path, &[("a", "b")], false)), Code::NotARegularFile, "{path}");
    }
    // Nobody was waiting on the pipe's other end: a writer that does not block still finds no reader.
    let writer =
        rustix::fs::open(fixture.path("work/fifo"), rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK, rustix::fs::Mode::empty());
    assert_eq!(writer.unwrap_err(), rustix::io::Errno::NXIO);
}

#[test]
fn a_sparse_file_of_a_pebibyte_costs_nothing() {
    let mut fixture = Fixture::new();
    fixture.terms.max_file_size = Bytes::mib(1);
    let file = std::fs::File::create(fixture.path("work/sparse")).unwrap();
    // Some file systems take less.
    let size = [1u64 << 50, 1 << 43, 1 << 40].into_iter().find(|size| file.set_len(*size).is_ok()).unwrap();
    let opened = fixture.look("work/sparse", Access::Read);
    assert_eq!((opened.fact.kind, opened.fact.size), (Kind::File, size));
    assert_eq!(code(fixture.read("work/sparse")), Code::FileTooLarge);
    assert_eq!(code(fixture.read_lines("work/sparse", 1, Some(3))), Code::NotText);
    // A line that never comes is looked for until the time is up, not longer.
    let action = ReadFile { offset: 2, limit: Some(1), encoding: Encoding::Base64, ..whole("work/sparse") };
    let late = Stop::new(tokio_util::sync::CancellationToken::new(), std::time::Duration::from_millis(10));
    assert_eq!(code(fixture.roots.read(fixture.permit(action, vec![fixture.look("work/sparse", Access::Read)]), &late)), Code::Timeout);
    assert_eq!(code(fixture.write("work/sparse", "x", WriteMode::Append)), Code::FileTooLarge);
    file.set_len(3).unwrap();
    assert_eq!(fixture.fact("work/sparse", Access::Read).size, 3);
}

#[test]
fn a_file_that_grows_while_it_is_read_ends_at_the_cap() {
    let mut fixture = Fixture::new();
    fixture.terms.max_file_size = Bytes(1000);
    fixture.put("work/log", "x".repeat(900));
    let opened = fixture.look("work/log", Access::Read);
    fixture.put("work/log", "x".repeat(2_000_000));
    let action = whole("work/log");
    assert_eq!(code(fixture.roots.read(fixture.permit(action, vec![opened]), &stop())), Code::FileTooLarge);
}

#[test]
fn the_manifest_and_the_state_folder_are_known_by_place_and_by_inode() {
    let fixture = Fixture::new();
    let read = |path: &str| fixture.fact(path, Access::Read).protected;
    for path in [
        "home/conf/tools.toml",
        "home/state",
        "home/state/audit",
        "home/state/audit/1.jsonl",
        "home/state/new",
        "home/later.toml",
        "home/conf/TOOLS.toml",
    ] {
        assert!(read(path), "{path}");
        assert!(fixture.fact(path, Access::Write(Bytes(1))).protected, "{path}");
    }
    assert!(fixture.look("home/conf/tools.toml", Access::Read).object.is_some_and(|object| {
        let mut buffer = [0u8; 1];
        rustix::io::read(object, &mut buffer).is_err()
    }));
    // A second name of the manifest in the other root.
    std::fs::hard_link(fixture.path("home/conf/tools.toml"), fixture.path("work/copy")).unwrap();
    assert!(read("work/copy"));
    // Replaced as editors do, it is another inode and protected all the same; so is the old one.
    std::fs::write(fixture.path("home/conf/t.new"), "version = 1\n").unwrap();
    std::fs::rename(fixture.path("home/conf/t.new"), fixture.path("home/conf/tools.toml")).unwrap();
    assert!(read("home/conf/tools.toml") && read("work/copy"));
    std::fs::hard_link(fixture.path("home/conf/tools.toml"), fixture.path("work/copy2")).unwrap();
    assert!(read("work/copy2"));
    // The state folder under another name is still the state folder.
    std::fs::rename(fixture.path("home/state"), fixture.path("home/moved")).unwrap();
    assert!(read("home/moved/audit/1.jsonl") && read("home/moved"));
    // What lies beside them is free.
    fixture.put("home/conf/other.toml", "");
    assert!(!read("home/conf/other.toml") && !read("home/conf") && !read("home"));
}

#[test]
fn what_carries_the_manifest_or_the_state_folder_along_is_protected() {
    let fixture = Fixture::new();
    let moved = |path: &str| fixture.fact(path, Access::MoveFrom).protected;
    let deleted = |path: &str| fixture.fact(path, Access::Delete { recursive: true }).protected;
    assert!(moved("home/conf") && deleted("home/conf") && moved("home/state") && deleted("home/state/audit"));
    fixture.put("home/free/x", "");
    assert!(!moved("home/free") && !deleted("home/free"));
    std::fs::create_dir(fixture.path("home/free/deep")).unwrap();
    std::fs::hard_link(fixture.path("home/conf/tools.toml"), fixture.path("home/free/deep/copy")).unwrap();
    let fact = fixture.fact("home/free", Access::MoveFrom);
    assert!(fact.protected);
    let marked: Vec<_> = fact.below.iter().filter(|entry| entry.protected).map(|entry| entry.path.to_string()).collect();
    assert_eq!(marked, ["free/deep/copy"]);
}

#[test]
fn listings_show_nothing_that_is_protected() {
    let fixture = Fixture::new();
    fixture.put("home/conf/other.toml", "");
    let listing = fixture.list("home", 5, &all_visible).unwrap();
    assert_eq!((shown(&listing), listing.left_out), (vec!["conf".to_owned(), "conf/other.toml".to_owned()], 2));
}

#[test]
fn a_bind_mount_of_the_state_folder_is_recognised() {
    let fixture = Fixture::new();
    for (source, at) in [("home/state/audit", "work/bind"), ("home/state", "work/bind2")] {
        std::fs::create_dir(fixture.path(at)).unwrap();
        let flags = nix::mount::MsFlags::MS_BIND;
        if let Err(errno) = nix::mount::mount(Some(&fixture.path(source)), &fixture.path(at), None::<&str>, flags, None::<&str>) {
            println!("skipped: no bind mount here: {errno}");
            return;
        }
        let protected = [at.to_owned(), format!("{at}/1.jsonl"), format!("{at}/new"), format!("{at}/audit/1.jsonl")]
            .map(|path| fixture.fact(&path, Access::Read).protected);
        let listed = shown(&fixture.list("work", 3, &all_visible).unwrap());
        let below = fixture.fact("work/free", Access::Delete { recursive: true });
        nix::mount::umount(&fixture.path(at)).unwrap();
        assert_eq!((protected, listed), ([true; 4], Vec::<String>::new()), "{at}");
        assert_eq!(below.kind, Kind::Absent);
        std::fs::remove_dir(fixture.path(at)).unwrap();
    }
}

#[test]
fn an_ordinary_bind_mount_in_a_root_is_usable() {
    let fixture = Fixture::new();
    std::fs::create_dir(fixture.path("work/bind")).unwrap();
    let flags = nix::mount::MsFlags::MS_BIND;
    if let Err(errno) = nix::mount::mount(Some(&fixture.path("outside")), &fixture.path("work/bind"), None::<&str>, flags, None::<&str>) {
        println!("skipped: no bind mount here: {errno}");
        return;
    }
    let read = fixture.read("work/bind/secret");
    nix::mount::umount(&fixture.path("work/bind")).unwrap();
    assert_eq!(text(read), "secret");
}

#[test]
fn a_root_in_the_state_folder_does_not_open() {
    let fixture = Fixture::new();
    let inside = fixture.path("home/state/audit");
    let place = RootConfig { name: "audit".to_owned(), at: Location::Folder(inside), quota: None };
    assert!(Roots::open(&[place], &[], Some(&fixture.path("home/state"))).is_err());
}
