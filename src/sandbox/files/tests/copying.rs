//! `copy_file`: the same bytes, and no way around masks.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::*;

const KEY: &str = "AKIAQ7ZT3N5WXK2VPLMR";

fn look(house: &House, from: &str, to: &str) -> Vec<Opened> {
    vec![house.look(from, Access::Read), house.look(to, Access::Write(Bytes(0)))]
}

fn copy_opened(house: &House, opened: Vec<Opened>) -> Result<Written, Failure> {
    let [from, to] = [0, 1].map(|at| call_path(&opened[at].target.to_string()));
    house.roots.copy(house.permit(CopyFile { from, to }, opened)).map(|(_, written)| written)
}

fn copy(house: &House, from: &str, to: &str) -> Result<Written, Failure> {
    copy_opened(house, look(house, from, to))
}

fn mode(house: &House, path: &str) -> u32 {
    std::fs::metadata(house.path(path)).unwrap().mode() & 0o7777
}

#[test]
fn a_copy_has_the_bytes_and_no_more_rights_than_its_source() {
    let house = House::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    for (name, mode) in [("plain", 0o644), ("run", 0o4755), ("private", 0o600)] {
        let path = house.put(&format!("work/{name}"), &bytes);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let written = copy(&house, "work/plain", "home/new/deep/plain").unwrap();
    assert_eq!((written.created, written.size, written.folders.len()), (true, 100_000, 2));
    assert_eq!(written.sha256, house.fact_sha256("home/new/deep/plain"));
    assert_eq!(std::fs::read(house.path("home/new/deep/plain")).unwrap(), bytes);
    assert_eq!(std::fs::read(house.path("work/plain")).unwrap(), bytes, "the source stays");
    copy(&house, "work/run", "work/run2").unwrap();
    copy(&house, "work/private", "work/private2").unwrap();
    assert_eq!([mode(&house, "work/run2") & 0o7700, mode(&house, "work/private2")], [0o700, 0o600]);
    // What is replaced keeps its own.
    house.put("work/old", "old");
    std::fs::set_permissions(house.path("work/old"), std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(!copy(&house, "work/run", "work/old").unwrap().created);
    assert_eq!((mode(&house, "work/old"), std::fs::read(house.path("work/old")).unwrap().len()), (0o640, 100_000));
}

#[test]
fn a_copy_is_of_what_was_judged_to_where_it_was_judged() {
    let house = House::new();
    house.put("work/a", "judged");
    house.put("work/b", "judged");
    let opened = look(&house, "work/a", "work/new");
    house.put("work/a", "changed since");
    assert_eq!(code(copy_opened(&house, opened)), Code::Conflict);
    assert!(!house.path("work/new").exists());
    let opened = look(&house, "work/a", "work/b");
    house.put("work/b", "changed since");
    assert_eq!(code(copy_opened(&house, opened)), Code::Conflict);
    let opened = look(&house, "work/a", "work/c");
    std::os::unix::fs::symlink(house.path("outside/secret"), house.path("work/c")).unwrap();
    assert_eq!(code(copy_opened(&house, opened)), Code::Conflict);
    assert_eq!((house.text("work/b"), house.text("outside/secret")), ("changed since".to_owned(), "secret".to_owned()));
    std::fs::create_dir(house.path("work/d")).unwrap();
    for (from, to, expected) in [
        ("work/d", "work/e", Code::IsADirectory),
        ("work/a", "work/d", Code::IsADirectory),
        ("work/a", "work/a", Code::AlreadyExists),
        ("work/none", "work/e", Code::NotFound),
        ("work/a", "work/b/c", Code::NotADirectory),
    ] {
        assert_eq!(code(copy(&house, from, to)), expected, "{from} {to}");
    }
    // A second name of a file elsewhere stays closed.
    std::fs::hard_link(house.path("outside/secret"), house.path("work/h")).unwrap();
    assert!(copy(&house, "work/h", "work/e").is_err() && !house.path("work/e").exists());
}

/// Programs see `home` and `scratch`, and not `work`. The caller has no programs; those of another profile read the same folder.
fn masking(specs: &[&'static crate::model::ToolSpec], rest: &str) -> Arc<crate::manifest::Manifest> {
    let text = format!(
        "version = 1\n[roots.work]\npath = \"/w\"\nmode = \"rw\"\nallowed_paths = [\"**\"]\n[roots.home]\npath = \"/h\"\nmode = \"rw\"\nallowed_paths = [\"**\"]\n[roots.scratch]\n\
         path = \"session\"\nmode = \"rw\"\nallowed_paths = [\"**\"]\n[python]\nroots = [\"home\", \"scratch\"]\n[profiles.p]\npermissions = [\"READ_FILE\", \
         \"WRITE_FILE\"]\nallowed_tools = [\"*\"]\n[profiles.q]\npermissions = [\"FULL\"]\nallowed_tools = [\"*\"]\n{rest}"
    );
    Arc::new(crate::manifest::parse(&text, specs).unwrap())
}

#[test]
fn a_masked_file_is_not_copied_to_where_programs_would_read_it() {
    let mut house = House::new();
    house.put("work/conf", format!("id = {KEY}\n"));
    house.put("work/plain", "nothing\n");
    house.put("home/seen", format!("id = {KEY}\n"));
    house.terms.manifest = masking(crate::tools::specs(), "");
    for to in ["home/copy", "scratch/copy"] {
        let failure = copy(&house, "work/conf", to).unwrap_err().0;
        assert_eq!((failure.code, failure.rule.as_deref()), (Code::MaskedContent, Some("filters.secrets")), "{to}");
    }
    assert!(!house.path("home/copy").exists());
    // Within the masks, of what programs see already, and without a secret it is an ordinary copy; no digest tells the secret.
    assert_eq!(copy(&house, "work/conf", "work/copy").unwrap().sha256, None);
    assert_eq!(house.text("work/copy"), format!("id = {KEY}\n"));
    copy(&house, "home/seen", "scratch/copy").unwrap();
    assert!(copy(&house, "work/plain", "home/copy").unwrap().sha256.is_some());
    house.terms.manifest = masking(crate::tools::specs(), "[filters]\nsecrets = \"off\"\n");
    copy(&house, "work/conf", "home/copy2").unwrap();
}

#[test]
fn a_masked_file_is_not_moved_to_where_programs_would_read_it() {
    const SIZE: usize = 17 << 20;
    let mut house = House::new();
    house.terms.manifest = masking(crate::tools::specs(), "");
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let secret = format!("id = {KEY}\n");
    let filler = "x y\n".repeat(SIZE / 4);
    // Larger than what is read whole: on both sides of where a piece ends, and at the end.
    house.terms.max_file_size = Bytes::mib(1);
    for at in [(8 << 20) - 12, SIZE - 24] {
        house.put("work/large", [filler.get(..at).unwrap(), "\n", &secret, filler.get(at..).unwrap()].concat());
        assert_eq!(code(moved(&house, "work/large", "home/large")), Code::MaskedContent, "{at}");
    }
    house.put("work/large", wide(&[filler.get(..(8 << 20) - 12).unwrap(), &secret].concat()));
    assert_eq!(code(moved(&house, "work/large", "home/large")), Code::MaskedContent);
    house.put("work/conf", &secret);
    house.put("work/d/deep/conf", &secret);
    house.put("work/d/plain", "nothing\n");
    for (from, to) in [("work/conf", "home/conf.ini"), ("work/conf", "scratch/conf"), ("work/d", "home/d"), ("work/d/deep", "scratch/deep")]
    {
        let failure = moved(&house, from, to).unwrap_err().0;
        assert_eq!((failure.code, failure.rule.as_deref()), (Code::MaskedContent, Some("filters.secrets")), "{from}");
        assert!(house.path(from).exists() && !house.path(to).exists());
    }
    assert_eq!(house.text("work/d/deep/conf"), secret);

    // Within the masks, from what programs see already, and without a secret it is an ordinary move.
    moved(&house, "work/conf", "work/renamed").unwrap();
    moved(&house, "work/d", "work/e").unwrap();
    house.put("home/seen", &secret);
    moved(&house, "home/seen", "scratch/seen").unwrap();
    moved(&house, "work/e/plain", "home/plain").unwrap();
    house.put("work/large", &filler);
    moved(&house, "work/large", "home/large").unwrap();
    assert_eq!(house.path("home/large").metadata().unwrap().len(), filler.len() as u64);
    house.terms.manifest = masking(crate::tools::specs(), "[filters]\nsecrets = \"off\"\n");
    moved(&house, "work/e", "home/e").unwrap();
    assert_eq!(house.text("home/e/deep/conf"), secret);
}

fn moved(house: &House, from: &str, to: &str) -> Result<Moved, Failure> {
    let opened = vec![house.look(from, Access::MoveFrom), house.look(to, Access::MoveTo)];
    house.roots.rename(house.permit(MoveFile { from: call_path(from), to: call_path(to) }, opened), &stop())
}
