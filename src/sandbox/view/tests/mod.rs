//! Which entries of a root are masked.

use std::path::PathBuf;

use super::*;
use crate::sandbox::files::{Location, RootConfig, Roots};

fn look(manifest: Manifest, roots: &Roots) -> Look {
    Look {
        manifest: Arc::new(manifest),
        name: "r".to_owned(),
        root: roots.folder("s", "r").unwrap(),
        hidden: Arc::new(roots.hidden("s", "r").unwrap()),
        roots: 1,
    }
}

fn masked(look: &Look) -> Vec<String> {
    paths(&look.now(&mut Kept::default(), MOST, &CancellationToken::new()).unwrap())
}

fn paths(view: &View) -> Vec<String> {
    view.masked.iter().map(|mask| mask.path.clone()).collect()
}

fn shown(patterns: &str, link: Option<&str>) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().canonicalize().unwrap().join(path);
    for path in ["root/conf", "root/state/audit", "root/src"] {
        std::fs::create_dir_all(at(path)).unwrap();
    }
    for path in ["root/conf/tools.toml", "root/conf/other.toml", "root/state/audit/log", "root/src/a.py"] {
        std::fs::write(at(path), path).unwrap();
    }
    if let Some(link) = link {
        std::fs::hard_link(at("root/conf/tools.toml"), at(link)).unwrap();
    }
    let text = format!("version = 1\n[roots.r]\npath = {:?}\nmode = \"ro\"\nallowed_paths = [\"**\"]\n{patterns}", at("root"));
    let manifest = crate::manifest::parse(&text, &[]).unwrap();
    let places = [RootConfig { name: "r".to_owned(), at: Location::Folder(at("root")), quota: None }];
    let protected: Vec<PathBuf> = vec![at("root/conf/tools.toml")];
    let roots = Roots::open(&places, &protected, Some(&at("root/state"))).unwrap();
    masked(&look(manifest, &roots))
}

#[test]
fn a_program_sees_neither_the_manifest_nor_the_state_folder_of_a_root_that_is_open_to_all() {
    assert_eq!(shown("", None), ["conf/tools.toml", "state"]);
}

#[test]
fn what_is_denied_is_masked_as_well_and_the_rest_is_shown() {
    assert_eq!(shown("denied_paths = [\"src/**\"]", None), ["conf/tools.toml", "src", "state"]);
}

#[test]
fn a_denied_name_is_masked_in_every_form_by_its_own_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in ["cafe\u{301}", "open"] {
        std::fs::create_dir(root.join(name)).unwrap();
    }
    for name in ["pri\u{200d}vate.txt", "open/cafe\u{301}", "\u{2764}\u{fe0f}"] {
        std::fs::write(root.join(name), "x").unwrap();
    }
    let text = format!(
        "version = 1\n[roots.r]\npath = {root:?}\nmode = \"ro\"\nallowed_paths = [\"**\"]\ndenied_paths = [\"private*\", \"caf\u{e9}/**\"]"
    );
    let manifest = crate::manifest::parse(&text, &[]).unwrap();
    let roots = Roots::open(&[RootConfig { name: "r".to_owned(), at: Location::Folder(root), quota: None }], &[], None).unwrap();
    assert_eq!(masked(&look(manifest, &roots)), ["cafe\u{301}", "pri\u{200d}vate.txt"]);
}

#[test]
fn a_name_that_is_no_text_hides_its_folder_and_says_so() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let odd = |above: &str| root.join(above).join(std::ffi::OsStr::from_bytes(b"odd\xff.pem"));
    std::fs::create_dir_all(root.join("src/deep/below")).unwrap();
    std::fs::write(root.join("src/a.py"), "x").unwrap();
    std::fs::write(root.join("src/deep/.env"), "x").unwrap();
    std::fs::write(odd("src/deep"), "x").unwrap();
    let text = format!("version = 1\n[roots.r]\npath = {root:?}\nmode = \"ro\"\nallowed_paths = [\"**\"]\ndenied_paths = [\"**/.env\"]");
    let manifest = crate::manifest::parse(&text, &[]).unwrap();
    let roots = Roots::open(&[RootConfig { name: "r".to_owned(), at: Location::Folder(root.clone()), quota: None }], &[], None).unwrap();
    let look = look(manifest, &roots);
    let mut kept = Kept::default();
    let view = look.now(&mut kept, MOST, &CancellationToken::new()).unwrap();
    assert_eq!((paths(&view), view.left_out), (vec!["src/deep".to_owned()], vec!["src/deep".to_owned()]));
    // Right in the root there is no folder to hide.
    std::fs::rename(odd("src/deep"), odd("")).unwrap();
    assert_eq!(look.now(&mut Kept::default(), MOST, &CancellationToken::new()), Err(Unshown::NotText));
    std::fs::remove_file(odd("")).unwrap();
    assert_eq!(masked(&look), ["src/deep/.env"]);
}

#[test]
fn a_second_name_of_the_manifest_is_masked_wherever_it_lies() {
    assert_eq!(shown("", Some("root/src/harmless.txt")), ["conf/tools.toml", "src/harmless.txt", "state"]);
}

/// A root with these patterns, whose files are its own.
struct Tree {
    folder: tempfile::TempDir,
    roots: Roots,
    look: Look,
    kept: Kept,
}

impl Tree {
    fn new(patterns: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("root");
        std::fs::create_dir(&root).unwrap();
        let text = format!("version = 1\n[roots.r]\npath = {root:?}\nmode = \"rw\"\nallowed_paths = [\"**\"]\n{patterns}");
        let manifest = crate::manifest::parse(&text, &[]).unwrap();
        let places = [RootConfig { name: "r".to_owned(), at: Location::Folder(root), quota: None }];
        let roots = Roots::open(&places, &[], None).unwrap();
        let look = look(manifest, &roots);
        Self { folder, roots, look, kept: Kept::default() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("root").join(path)
    }

    fn write(&self, path: &str) {
        std::fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        std::fs::write(self.at(path), path).unwrap();
    }

    fn link(&self, from: &str, to: &str) {
        std::fs::create_dir_all(self.at(to).parent().unwrap()).unwrap();
        std::fs::hard_link(self.at(from), self.at(to)).unwrap();
    }

    fn view(&mut self) -> View {
        self.look.hidden = Arc::new(self.roots.hidden("s", "r").unwrap());
        self.look.now(&mut self.kept, MOST, &CancellationToken::new()).unwrap()
    }
}

#[test]
fn a_file_with_several_names_is_seen_where_each_of_them_is() {
    let mut tree = Tree::new("denied_paths = [\"**/*.env\", \"secrets/**\"]");
    for path in ["a.env", "plain.txt", "target/deps/app-1f", "store.txt", "secrets/key"] {
        tree.write(path);
    }
    tree.link("target/deps/app-1f", "target/app");
    tree.link("a.env", "sub/harmless.txt");
    tree.link("secrets/key", "sub/also.txt");
    // The other name lies outside of the root, as in a store of packages.
    std::fs::hard_link(tree.at("store.txt"), tree.folder.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("a.env", tree.at("way")).unwrap();
    assert_eq!(paths(&tree.view()), ["a.env", "secrets", "store.txt", "sub/also.txt", "sub/harmless.txt"]);
}

#[test]
fn where_nothing_is_denied_every_name_is_seen() {
    let mut tree = Tree::new("");
    tree.write("plain.txt");
    tree.link("plain.txt", "sub/again.txt");
    assert_eq!(tree.view(), View::default());
}

#[test]
fn a_later_look_sees_what_changed_and_reads_the_rest_from_memory() {
    let mut tree = Tree::new("denied_paths = [\"**/*.env\"]");
    for path in ["src/a.txt", "src/deep/b.txt", "docs/c.txt", "src/d.txt"] {
        tree.write(path);
    }
    assert_eq!(paths(&tree.view()), Vec::<String>::new());
    // A denied file comes, in a folder that was listed; a seen one gets a second name that is not; both within a tick of the clock.
    tree.write("src/deep/x.env");
    tree.link("docs/c.txt", "docs/y.env");
    std::fs::rename(tree.at("src/d.txt"), tree.at("src/d.env")).unwrap();
    let view = tree.view();
    assert_eq!(paths(&view), ["docs/c.txt", "docs/y.env", "src/d.env", "src/deep/x.env"]);
    for mask in &view.masked {
        assert_eq!(mask.object, rustix::fs::lstat(tree.at(&mask.path)).ok().map(|facts| (facts.st_dev, facts.st_ino)), "{mask:?}");
    }
    // A second name outside of every listed folder changes nothing but the file.
    std::fs::remove_file(tree.at("docs/y.env")).unwrap();
    std::fs::hard_link(tree.at("src/a.txt"), tree.folder.path().join("elsewhere")).unwrap();
    assert_eq!(paths(&tree.view()), ["src/a.txt", "src/d.env", "src/deep/x.env"]);
}

#[test]
fn listings_of_folders_that_rest_are_kept_and_those_of_others_are_read_anew() {
    let mut tree = Tree::new("denied_paths = [\"**/*.env\"]");
    tree.write("old/a.txt");
    tree.view();
    let stop = CancellationToken::new();
    let bound = Bound { most: MOST, left: MOST, stop: &stop };
    let listings = tree.kept.take(&tree.look.manifest);
    assert_eq!(listings.len(), 2, "{listings:?}");
    // Written a moment ago: a change of the same tick would not show, so neither is trusted.
    for (path, listing) in &listings {
        let at = RelPath::parse(path).unwrap();
        let folder = descend(&tree.look.root, &at).unwrap().unwrap();
        let list = |kept: &Arc<Listing>, now| list(&tree.look, &at, &folder, Some(Arc::clone(kept)), now, bound).unwrap();
        let again = list(listing, clock());
        assert!(!Arc::ptr_eq(listing, &again), "{path}");
        // As if it were later: from then on it is, until the folder changes.
        let rested = list(listing, clock() + 10);
        assert!(Arc::ptr_eq(&rested, &list(&rested, clock())), "{path}");
        std::fs::write(tree.at(path).join("new.txt"), "x").unwrap();
        assert!(!Arc::ptr_eq(&rested, &list(&rested, clock())), "{path}");
    }
    let other = Arc::new(Manifest::default());
    tree.kept.keep(&tree.look.manifest, listings);
    assert!(tree.kept.take(&other).is_empty(), "another manifest judges names otherwise");
}

#[test]
fn sixty_thousand_files_are_looked_through_off_the_loop() {
    let mut tree = Tree::new("denied_paths = [\"**/*.env\"]");
    for folder in 0..60 {
        std::fs::create_dir_all(tree.at(&format!("d{folder}"))).unwrap();
        for file in 0..1000 {
            std::fs::File::create(tree.at(&format!("d{folder}/f{file}.txt"))).unwrap();
        }
    }
    tree.write("d7/x.env");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let views = Views::default();
    let look = tree.look.clone();
    runtime.block_on(async {
        let mut looked = std::pin::pin!(views.look(look));
        // The loop goes on while the look runs on a thread of its own.
        let mut turns = 0_u64;
        let view = loop {
            tokio::select! {
                biased;
                view = &mut looked => break view,
                () = tokio::task::yield_now() => turns += 1,
            }
        };
        assert_eq!(paths(&view.unwrap().unwrap()), ["d7/x.env"]);
        assert!(turns > 10, "the loop stood still: {turns}");
    });
    assert_eq!(paths(&tree.view()), ["d7/x.env"]);
}

#[test]
fn a_look_that_nobody_waits_for_ends_and_a_tree_beyond_the_bound_is_refused() {
    let tree = Tree::new("denied_paths = [\"**/*.env\"]");
    tree.write("sub/a.txt");
    let stop = CancellationToken::new();
    assert_eq!(tree.look.now(&mut Kept::default(), 1, &stop), Err(Unshown::TooMany(1)));
    stop.cancel();
    assert_eq!(tree.look.now(&mut Kept::default(), MOST, &stop), Err(Unshown::Cancelled));
}

#[test]
fn a_flat_folder_is_read_no_further_than_its_bound_and_no_longer_than_its_call() {
    let tree = Tree::new("denied_paths = [\"**/*.env\"]");
    for file in 0..5000 {
        std::fs::File::create(tree.at(&format!("f{file}.txt"))).unwrap();
    }
    let read = |most, stop: &CancellationToken| {
        listing::READ.set(0);
        let looked = tree.look.now(&mut Kept::default(), most, stop);
        (looked.map(drop), listing::READ.get())
    };
    let stop = CancellationToken::new();
    assert_eq!(read(FEW, &stop), (Err(Unshown::TooMany(FEW)), FEW + 1));
    assert_eq!(read(4999, &stop), (Err(Unshown::TooMany(4999)), 5000));
    assert_eq!(read(5000, &stop), (Ok(()), 5000));
    stop.cancel();
    let (cancelled, count) = read(MOST, &stop);
    assert!(cancelled == Err(Unshown::Cancelled) && count <= 1024, "{cancelled:?} after {count}");
}

#[test]
fn listings_of_roots_that_a_later_manifest_took_away_are_not_kept() {
    let mut tree = Tree::new("denied_paths = [\"**/*.env\"]");
    for file in 0..=FEW {
        tree.write(&format!("f{file}.txt"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let views = Views::default();
    let names = || views.0.lock().unwrap().keys().cloned().collect::<Vec<_>>();
    runtime.block_on(views.look(tree.look.clone())).unwrap().unwrap();
    assert_eq!(names(), ["r"]);
    let later = format!("version = 1\n[roots.other]\npath = {:?}\nmode = \"ro\"\nallowed_paths = [\"**\"]", tree.at(""));
    tree.look.manifest = Arc::new(crate::manifest::parse(&later, &[]).unwrap());
    tree.look.name = "other".to_owned();
    runtime.block_on(views.look(tree.look.clone())).unwrap().unwrap();
    assert_eq!(names(), ["other"]);
}

#[test]
fn a_root_in_which_what_is_masked_is_moved_about_all_the_time_is_refused_and_shown_when_it_rests() {
    let mut tree = Tree::new("denied_paths = [\"**/*.env\"]");
    for file in 0..12 {
        tree.write(&format!("{file}.env"));
    }
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                for (from, to) in [("env", "x.env"), ("x.env", "env")] {
                    for file in 0..12 {
                        std::fs::rename(tree.at(&format!("{file}.{from}")), tree.at(&format!("{file}.{to}"))).unwrap();
                    }
                }
            }
        });
        let look = || tree.look.now(&mut Kept::default(), MOST, &CancellationToken::new());
        while look() != Err(Unshown::Restless) {}
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(paths(&tree.view()).len(), 12);
}
