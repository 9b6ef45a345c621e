//! `copy_file`: the same bytes, and no way around masks.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::*;

const KEY: &str = "AKIAQ7ZT3N5WXK2VPLMR";

fn look(fixture: &Fixture, from: &str, to: &str) -> Vec<Opened> {
    vec![fixture.look(from, Access::Read), fixture.look(to, Access::Write(Bytes(0)))]
}

fn copy_opened(fixture: &Fixture, opened: Vec<Opened>) -> Result<Written, Failure> {
    let [from, to] = [0, 1].map(|at| call_path(&opened[at].target.to_string()));
    fixture.roots.copy(fixture.permit(CopyFile { from, to }, opened)).map(|(_, written)| written)
}

fn copy(fixture: &Fixture, from: &str, to: &str) -> Result<Written, Failure> {
    copy_opened(fixture, look(fixture, from, to))
}

fn mode(fixture: &Fixture, path: &str) -> u32 {
    std::fs::metadata(fixture.path(path)).unwrap().mode() & 0o7777
}

#[test]
fn a_copy_has_the_bytes_and_no_more_rights_than_its_source() {
    let fixture = Fixture::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    for (name, mode) in [("plain", 0o644), ("run", 0o4755), ("private", 0o600)] {
        let path = fixture.put(&format!("work/{name}"), &bytes);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let written = copy(&fixture, "work/plain", "home/new/deep/plain").unwrap();
    assert_eq!((written.created, written.size, written.folders.len()), (true, 100_000, 2));
    assert_eq!(written.sha256, fixture.fact_sha256("home/new/deep/plain"));
    assert_eq!(std::fs::read(fixture.path("home/new/deep/plain")).unwrap(), bytes);
    assert_eq!(std::fs::read(fixture.path("work/plain")).unwrap(), bytes, "the source stays");
    copy(&fixture, "work/run", "work/run2").unwrap();
    copy(&fixture, "work/private", "work/private2").unwrap();
    assert_eq!([mode(&fixture, "work/run2") & 0o7700, mode(&fixture, "work/private2")], [0o700, 0o600]);
    // What is replaced keeps its own.
    fixture.put("work/old", "old");
    std::fs::set_permissions(fixture.path("work/old"), std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(!copy(&fixture, "work/run", "work/old").unwrap().created);
    assert_eq!((mode(&fixture, "work/old"), std::fs::read(fixture.path("work/old")).unwrap().len()), (0o640, 100_000));
}

#[test]
fn a_copy_is_of_what_was_judged_to_where_it_was_judged() {
    let fixture = Fixture::new();
    fixture.put("work/a", "judged");
    fixture.put("work/b", "judged");
    let opened = look(&fixture, "work/a", "work/new");
    fixture.put("work/a", "changed since");
    assert_eq!(code(copy_opened(&fixture, opened)), Code::Conflict);
    assert!(!fixture.path("work/new").exists());
    let opened = look(&fixture, "work/a", "work/b");
    fixture.put("work/b", "changed since");
    assert_eq!(code(copy_opened(&fixture, opened)), Code::Conflict);
    let opened = look(&fixture, "work/a", "work/c");
    std::os::unix::fs::symlink(fixture.path("outside/secret"), fixture.path("work/c")).unwrap();
    assert_eq!(code(copy_opened(&fixture, opened)), Code::Conflict);
    assert_eq!((fixture.text("work/b"), fixture.text("outside/secret")), ("changed since".to_owned(), "secret".to_owned()));
    std::fs::create_dir(fixture.path("work/d")).unwrap();
    for (from, to, expected) in [
        ("work/d", "work/e", Code::IsADirectory),
        ("work/a", "work/d", Code::IsADirectory),
        ("work/a", "work/a", Code::AlreadyExists),
        ("work/none", "work/e", Code::NotFound),
        ("work/a", "work/b/c", Code::NotADirectory),
    ] {
        assert_eq!(code(copy(&fixture, from, to)), expected, "{from} {to}");
    }
    // A second name of a file elsewhere stays closed.
    std::fs::hard_link(fixture.path("outside/secret"), fixture.path("work/h")).unwrap();
    assert!(copy(&fixture, "work/h", "work/e").is_err() && !fixture.path("work/e").exists());
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
    let mut fixture = Fixture::new();
    fixture.put("work/conf", format!("id = {KEY}\n"));
    fixture.put("work/plain", "nothing\n");
    fixture.put("home/seen", format!("id = {KEY}\n"));
    fixture.terms.manifest = masking(crate::tools::specs(), "");
    for to in ["home/copy", "scratch/copy"] {
        let failure = copy(&fixture, "work/conf", to).unwrap_err().0;
        assert_eq!((failure.code, failure.rule.as_deref()), (Code::MaskedContent, Some("filters.secrets")), "{to}");
    }
    assert!(!fixture.path("home/copy").exists());
    // Within the masks, of what programs see already, and without a secret it is an ordinary copy; no digest tells the secret.
    assert_eq!(copy(&fixture, "work/conf", "work/copy").unwrap().sha256, None);
    assert_eq!(fixture.text("work/copy"), format!("id = {KEY}\n"));
    copy(&fixture, "home/seen", "scratch/copy").unwrap();
    assert!(copy(&fixture, "work/plain", "home/copy").unwrap().sha256.is_some());
    fixture.terms.manifest = masking(crate::tools::specs(), "[filters]\nsecrets = \"off\"\n");
    copy(&fixture, "work/conf", "home/copy2").unwrap();
}

#[test]
fn a_masked_file_is_not_moved_to_where_programs_would_read_it() {
    const SIZE: usize = 17 << 20;
    let mut fixture = Fixture::new();
    fixture.terms.manifest = masking(crate::tools::specs(), "");
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let secret = format!("id = {KEY}\n");
    let filler = "x y\n".repeat(SIZE / 4);
    // Larger than what is read whole: on both sides of where a piece ends, and at the end.
    fixture.terms.max_file_size = Bytes::mib(1);
    for at in [(8 << 20) - 12, SIZE - 24] {
        fixture.put("work/large", [filler.get(..at).unwrap(), "\n", &secret, filler.get(at..).unwrap()].concat());
        assert_eq!(code(moved(&fixture, "work/large", "home/large")), Code::MaskedContent, "{at}");
    }
    fixture.put("work/large", wide(&[filler.get(..(8 << 20) - 12).unwrap(), &secret].concat()));
    assert_eq!(code(moved(&fixture, "work/large", "home/large")), Code::MaskedContent);
    fixture.put("work/conf", &secret);
    fixture.put("work/d/deep/conf", &secret);
    fixture.put("work/d/plain", "nothing\n");
    for (from, to) in [("work/conf", "home/conf.ini"), ("work/conf", "scratch/conf"), ("work/d", "home/d"), ("work/d/deep", "scratch/deep")]
    {
        let failure = moved(&fixture, from, to).unwrap_err().0;
        assert_eq!((failure.code, failure.rule.as_deref()), (Code::MaskedContent, Some("filters.secrets")), "{from}");
        assert!(fixture.path(from).exists() && !fixture.path(to).exists());
    }
    assert_eq!(fixture.text("work/d/deep/conf"), secret);

    // Within the masks, from what programs see already, and without a secret it is an ordinary move.
    moved(&fixture, "work/conf", "work/renamed").unwrap();
    moved(&fixture, "work/d", "work/e").unwrap();
    fixture.put("home/seen", &secret);
    moved(&fixture, "home/seen", "scratch/seen").unwrap();
    moved(&fixture, "work/e/plain", "home/plain").unwrap();
    fixture.put("work/large", &filler);
    moved(&fixture, "work/large", "home/large").unwrap();
    assert_eq!(fixture.path("home/large").metadata().unwrap().len(), filler.len() as u64);
    fixture.terms.manifest = masking(crate::tools::specs(), "[filters]\nsecrets = \"off\"\n");
    moved(&fixture, "work/e", "home/e").unwrap();
    assert_eq!(fixture.text("home/e/deep/conf"), secret);
}

fn moved(fixture: &Fixture, from: &str, to: &str) -> Result<Moved, Failure> {
    let opened = vec![fixture.look(from, Access::MoveFrom), fixture.look(to, Access::MoveTo)];
    fixture.roots.rename(fixture.permit(MoveFile { from: call_path(from), to: call_path(to) }, opened), &stop())
}
