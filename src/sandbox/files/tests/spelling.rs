//! Names in other forms than normal form C, and with joiners: read and named by each of their spellings, and made anew under none.

use super::*;
use crate::model::Spelling;

/// `café` and `각` in normal form C and decomposed, as a tree from macOS has them.
const COMPOSED: &str = "caf\u{e9}";
const DECOMPOSED: &str = "cafe\u{301}";
const SYLLABLE: &str = "\u{ac01}";
const LETTERS: &str = "\u{1100}\u{1161}\u{11a8}";

fn own(path: &str) -> Spelling {
    Spelling::Own(RelPath::parse(path).unwrap())
}

#[test]
fn an_entry_in_another_form_is_reached_by_each_spelling_and_spoken_of_by_its_own() {
    let fixture = Fixture::new();
    fixture.put(&format!("work/{DECOMPOSED}/{LETTERS}.txt"), "one\ntwo\n");
    let entry = format!("{DECOMPOSED}/{LETTERS}.txt");
    for folder in [COMPOSED, DECOMPOSED] {
        for name in [SYLLABLE, LETTERS] {
            let path = format!("work/{folder}/{name}.txt");
            let seen = fixture.look(&path, Access::Read);
            let expected = if path == format!("work/{entry}") { Spelling::AsWritten } else { own(&entry) };
            assert_eq!(
                (seen.fact.kind, seen.fact.spelling, seen.target),
                (Kind::File, expected, target(&format!("work/{entry}"))),
                "{path:?}"
            );
            assert_eq!(text(fixture.read(&path)), "one\ntwo\n");
        }
    }
    let path = format!("work/{COMPOSED}/{SYLLABLE}.txt");
    fixture.edit(&path, &[("one", "ONE")], false).unwrap();
    let written = fixture.write(&path, "three\n", WriteMode::Append).unwrap();
    assert_eq!((written.created, written.target), (false, target(&format!("work/{DECOMPOSED}/{LETTERS}.txt"))));
    assert_eq!(code(fixture.write(&path, "x", WriteMode::Create)), Code::AlreadyExists);
    assert_eq!(fixture.text(&format!("work/{DECOMPOSED}/{LETTERS}.txt")), "ONE\ntwo\nthree\n");
    assert_eq!(shown(&fixture.list(&format!("work/{COMPOSED}"), 1, &all_visible).unwrap()), [format!("{DECOMPOSED}/{LETTERS}.txt")]);
    let (from, to) = (fixture.look(&path, Access::MoveFrom), fixture.look(&format!("work/{COMPOSED}/plain.txt"), Access::MoveTo));
    fixture.roots.rename(fixture.permit(MoveFile { from: call_path(&path), to: call_path("work/x") }, vec![from, to]), &stop()).unwrap();
    assert_eq!(std::fs::read_dir(fixture.path("work")).unwrap().count(), 1, "no twin of the folder was made");
    let gone = DeleteFile { path: call_path(&path), recursive: true };
    let opened = vec![fixture.look(&format!("work/{COMPOSED}"), Access::Delete { recursive: true })];
    assert_eq!(fixture.roots.delete(fixture.permit(gone, opened)).unwrap(), 2);
}

#[test]
fn joiners_and_selectors_are_read_where_an_entry_has_them_and_made_in_emoji_alone() {
    let fixture = Fixture::new();
    for name in ["a\u{200d}b", "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}", "\u{2764}\u{fe0e}", "\u{845b}\u{e0100}"] {
        fixture.put(&format!("work/{name}"), name);
        assert_eq!(text(fixture.read(&format!("work/{name}"))), name);
    }
    let spelling = |path: &str| fixture.fact(path, Access::Write(Bytes(1))).spelling;
    for name in ["a\u{200c}b", "x\u{200d}y", "x/y\u{fe0f}", DECOMPOSED, "x/cafe\u{301}", "\u{645}\u{200c}\u{62e}"] {
        assert_eq!(spelling(&format!("work/{name}")), Spelling::Unknown, "{name:?}");
    }
    // A name that only looks like an entry's is another name.
    for name in ["ab", COMPOSED, "\u{2764}", "\u{2764}\u{fe0f}", "\u{1f469}\u{200d}\u{1f4bb}.md"] {
        assert_eq!(spelling(&format!("work/{name}")), Spelling::AsWritten, "{name:?}");
        assert!(fixture.write(&format!("work/{name}"), "x", WriteMode::Create).unwrap().created);
    }
}

#[test]
fn of_two_entries_that_are_equal_each_is_reached_by_its_very_bytes_alone() {
    let fixture = Fixture::new();
    // Three spellings of one name: U+00C5, U+212B, and the letter with its ring.
    let [first, second, third] = ["\u{c5}", "A\u{30a}", "\u{212b}"];
    fixture.put(&format!("work/{second}"), "second");
    fixture.put(&format!("work/{third}"), "third");
    assert_eq!(
        (text(fixture.read(&format!("work/{second}"))), text(fixture.read(&format!("work/{third}")))),
        ("second".into(), "third".into())
    );
    for access in [Access::Read, Access::Write(Bytes(1)), Access::CreateDirectory, Access::MoveTo] {
        assert_eq!(fixture.fact(&format!("work/{first}"), access).spelling, Spelling::Ambiguous, "{access:?}");
        assert_eq!(fixture.fact(&format!("work/{first}/below"), access).spelling, Spelling::Ambiguous, "{access:?}");
    }
    // One of ASCII has a twin as well.
    fixture.put("work/\u{212a}", "kelvin");
    assert_eq!(fixture.fact("work/K", Access::Write(Bytes(1))).spelling, own("\u{212a}"));
}

#[test]
fn a_link_that_is_followed_leads_to_an_entry_in_another_form_and_past_no_twin() {
    let mut fixture = Fixture::new();
    fixture.put(&format!("work/real/{DECOMPOSED}/x"), "x");
    std::os::unix::fs::symlink(fixture.path("work/real"), fixture.path("work/link")).unwrap();
    std::os::unix::fs::symlink(format!("real/{DECOMPOSED}"), fixture.path("work/short")).unwrap();
    assert_eq!(fixture.fact(&format!("work/link/{COMPOSED}/x"), Access::Read).link, crate::model::Link::OnTheWay);
    fixture.links = Symlinks::Inside;
    let leads = crate::model::Link::Leads(RelPath::parse(&format!("real/{DECOMPOSED}/x")).unwrap());
    for path in [format!("work/link/{COMPOSED}/x"), "work/short/x".to_owned()] {
        let fact = fixture.fact(&path, Access::Read);
        assert_eq!((fact.kind, fact.link), (Kind::File, leads.clone()), "{path:?}");
    }
    fixture.write(&format!("work/link/{COMPOSED}/new"), "y", WriteMode::Create).unwrap();
    assert_eq!(fixture.text(&format!("work/real/{DECOMPOSED}/new")), "y");
    assert_eq!(fixture.fact("work/link/a\u{200d}b", Access::Write(Bytes(1))).spelling, Spelling::Unknown);
}
