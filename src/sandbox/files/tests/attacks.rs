//! Ways out of a root, and objects that are not what they seem.

use std::ffi::CString;

use super::*;

#[test]
fn a_path_cannot_climb_or_begin_elsewhere() {
    for path in ["work/../outside/secret", "work/a/../../outside/secret", "work/./a", "work//a"] {
        assert_eq!(CallPath::parse(path).map_err(|refusal| refusal.code), Err(Code::PathMalformed), "{path}");
    }
    // A target can only be made of names; a twin of the root's name is another root, and there is none.
    let house = House::new();
    assert_eq!(code(house.try_look("work_twin/secret", Access::Read)), Code::Internal);
    house.put("work/secret", "mine");
    assert_eq!(text(house.read("work/secret")), "mine");
}

#[test]
fn a_second_name_of_a_file_is_told_and_stays_closed() {
    let house = House::new();
    std::fs::hard_link(house.path("outside/secret"), house.path("work/h")).unwrap();
    let opened = house.look("work/h", Access::Read);
    assert_eq!((opened.fact.kind, opened.fact.names), (Kind::File, 2));
    // The handle is a mere pointer: nothing can be read by it.
    assert!(house.read("work/h").is_err());
}

#[test]
fn pipes_devices_and_sockets_are_never_opened() {
    let house = House::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, house.path("work/fifo"), rustix::fs::Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(house.path("work/socket")).unwrap();
    let zero = rustix::fs::makedev(1, 5);
    let device = rustix::fs::mknodat(
        rustix::fs::CWD,
        CString::new(house.path("work/zero").to_str().unwrap()).unwrap(),
        rustix::fs::FileType::CharacterDevice,
        rustix::fs::Mode::RWXU,
        zero,
    );
    if let Err(errno) = device {
        println!("no device made here: {errno}");
    }
    for path in ["work/fifo", "work/socket", "work/zero"] {
        if !house.path(path).exists() {
            continue;
        }
        assert_eq!(house.fact(path, Access::Read).kind, Kind::Other, "{path}");
        assert_eq!(code(house.read(path)), Code::NotARegularFile, "{path}");
        assert_eq!(code(house.write(path, "x", WriteMode::Overwrite)), Code::NotARegularFile, "{path}");
        assert_eq!(code(house.edit(path, &[("a", "b")], false)), Code::NotARegularFile, "{path}");
    }
    // Nobody was waiting on the pipe's other end: a writer that does not block still finds no reader.
    let writer =
        rustix::fs::open(house.path("work/fifo"), rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK, rustix::fs::Mode::empty());
    assert_eq!(writer.unwrap_err(), rustix::io::Errno::NXIO);
}

#[test]
fn a_sparse_file_of_a_pebibyte_costs_nothing() {
    let mut house = House::new();
    house.terms.max_file_size = Bytes::mib(1);
    let file = std::fs::File::create(house.path("work/sparse")).unwrap();
    // Some file systems take less.
    let size = [1u64 << 50, 1 << 43, 1 << 40].into_iter().find(|size| file.set_len(*size).is_ok()).unwrap();
    let opened = house.look("work/sparse", Access::Read);
    assert_eq!((opened.fact.kind, opened.fact.size), (Kind::File, size));
    assert_eq!(code(house.read("work/sparse")), Code::FileTooLarge);
    assert_eq!(code(house.read_lines("work/sparse", 1, Some(3))), Code::NotText);
    // A line that never comes is looked for until the time is up, not longer.
    let action = ReadFile { offset: 2, limit: Some(1), encoding: Encoding::Base64, ..whole("work/sparse") };
    let late = Stop::new(tokio_util::sync::CancellationToken::new(), std::time::Duration::from_millis(10));
    assert_eq!(code(house.roots.read(house.permit(action, vec![house.look("work/sparse", Access::Read)]), &late)), Code::Timeout);
    assert_eq!(code(house.write("work/sparse", "x", WriteMode::Append)), Code::FileTooLarge);
    file.set_len(3).unwrap();
    assert_eq!(house.fact("work/sparse", Access::Read).size, 3);
}

#[test]
fn a_file_that_grows_while_it_is_read_ends_at_the_cap() {
    let mut house = House::new();
    house.terms.max_file_size = Bytes(1000);
    house.put("work/log", "x".repeat(900));
    let opened = house.look("work/log", Access::Read);
    house.put("work/log", "x".repeat(2_000_000));
    let action = whole("work/log");
    assert_eq!(code(house.roots.read(house.permit(action, vec![opened]), &stop())), Code::FileTooLarge);
}

#[test]
fn the_manifest_and_the_state_folder_are_known_by_place_and_by_inode() {
    let house = House::new();
    let read = |path: &str| house.fact(path, Access::Read).protected;
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
        assert!(house.fact(path, Access::Write(Bytes(1))).protected, "{path}");
    }
    assert!(house.look("home/conf/tools.toml", Access::Read).object.is_some_and(|object| {
        let mut buffer = [0u8; 1];
        rustix::io::read(object, &mut buffer).is_err()
    }));
    // A second name of the manifest in the other root.
    std::fs::hard_link(house.path("home/conf/tools.toml"), house.path("work/copy")).unwrap();
    assert!(read("work/copy"));
    // Replaced as editors do, it is another inode and protected all the same; so is the old one.
    std::fs::write(house.path("home/conf/t.new"), "version = 1\n").unwrap();
    std::fs::rename(house.path("home/conf/t.new"), house.path("home/conf/tools.toml")).unwrap();
    assert!(read("home/conf/tools.toml") && read("work/copy"));
    std::fs::hard_link(house.path("home/conf/tools.toml"), house.path("work/copy2")).unwrap();
    assert!(read("work/copy2"));
    // The state folder under another name is still the state folder.
    std::fs::rename(house.path("home/state"), house.path("home/moved")).unwrap();
    assert!(read("home/moved/audit/1.jsonl") && read("home/moved"));
    // What lies beside them is free.
    house.put("home/conf/other.toml", "");
    assert!(!read("home/conf/other.toml") && !read("home/conf") && !read("home"));
}

#[test]
fn what_carries_the_manifest_or_the_state_folder_along_is_protected() {
    let house = House::new();
    let moved = |path: &str| house.fact(path, Access::MoveFrom).protected;
    let deleted = |path: &str| house.fact(path, Access::Delete { recursive: true }).protected;
    assert!(moved("home/conf") && deleted("home/conf") && moved("home/state") && deleted("home/state/audit"));
    house.put("home/free/x", "");
    assert!(!moved("home/free") && !deleted("home/free"));
    std::fs::create_dir(house.path("home/free/deep")).unwrap();
    std::fs::hard_link(house.path("home/conf/tools.toml"), house.path("home/free/deep/copy")).unwrap();
    let fact = house.fact("home/free", Access::MoveFrom);
    assert!(fact.protected);
    let marked: Vec<_> = fact.below.iter().filter(|entry| entry.protected).map(|entry| entry.path.to_string()).collect();
    assert_eq!(marked, ["free/deep/copy"]);
}

#[test]
fn listings_show_nothing_that_is_protected() {
    let house = House::new();
    house.put("home/conf/other.toml", "");
    let listing = house.list("home", 5, &all_visible).unwrap();
    assert_eq!((shown(&listing), listing.left_out), (vec!["conf".to_owned(), "conf/other.toml".to_owned()], 2));
}

#[test]
fn a_bind_mount_of_the_state_folder_is_recognised() {
    let house = House::new();
    for (source, at) in [("home/state/audit", "work/bind"), ("home/state", "work/bind2")] {
        std::fs::create_dir(house.path(at)).unwrap();
        let flags = nix::mount::MsFlags::MS_BIND;
        if let Err(errno) = nix::mount::mount(Some(&house.path(source)), &house.path(at), None::<&str>, flags, None::<&str>) {
            println!("skipped: no bind mount here: {errno}");
            return;
        }
        let protected = [at.to_owned(), format!("{at}/1.jsonl"), format!("{at}/new"), format!("{at}/audit/1.jsonl")]
            .map(|path| house.fact(&path, Access::Read).protected);
        let listed = shown(&house.list("work", 3, &all_visible).unwrap());
        let below = house.fact("work/free", Access::Delete { recursive: true });
        nix::mount::umount(&house.path(at)).unwrap();
        assert_eq!((protected, listed), ([true; 4], Vec::<String>::new()), "{at}");
        assert_eq!(below.kind, Kind::Absent);
        std::fs::remove_dir(house.path(at)).unwrap();
    }
}

#[test]
fn an_ordinary_bind_mount_in_a_root_is_usable() {
    let house = House::new();
    std::fs::create_dir(house.path("work/bind")).unwrap();
    let flags = nix::mount::MsFlags::MS_BIND;
    if let Err(errno) = nix::mount::mount(Some(&house.path("outside")), &house.path("work/bind"), None::<&str>, flags, None::<&str>) {
        println!("skipped: no bind mount here: {errno}");
        return;
    }
    let read = house.read("work/bind/secret");
    nix::mount::umount(&house.path("work/bind")).unwrap();
    assert_eq!(text(read), "secret");
}

#[test]
fn a_root_in_the_state_folder_does_not_open() {
    let house = House::new();
    let inside = house.path("home/state/audit");
    let place = Place { name: "audit".to_owned(), at: Where::Folder(inside), quota: None };
    assert!(Roots::open(&[place], &[], Some(&house.path("home/state"))).is_err());
}
