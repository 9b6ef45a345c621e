//! `search` and `info`.

use super::*;
use crate::model::{FileInfo, SearchFiles};

fn search(fixture: &Fixture, query: Option<&str>, glob: Option<&str>, judge: Judge<'_>) -> Found {
    try_search(fixture, "work", query, glob, 100, 0, judge).unwrap()
}

fn try_search(
    fixture: &Fixture,
    path: &str,
    query: Option<&str>,
    glob: Option<&str>,
    max_results: u32,
    context_lines: u32,
    judge: Judge<'_>,
) -> Result<Found, Failure> {
    let action =
        SearchFiles { path: call_path(path), query: query.map(str::to_owned), glob: glob.map(str::to_owned), context_lines, max_results };
    fixture.roots.search(fixture.permit(action, vec![fixture.try_look(path, Access::List)?]), judge, &stop())
}

fn hits(found: &Found) -> Vec<String> {
    let line = |found: &Match| found.line.as_ref().map(|line| format!(":{}:{}", line.number, line.text)).unwrap_or_default();
    found.matches.iter().map(|found| format!("{}{}", found.path, line(found))).collect()
}

#[test]
fn lines_are_found_with_their_numbers_in_order_of_paths() {
    let fixture = Fixture::new();
    fixture.put("work/b.txt", "one\ntwo\nthree\r\n");
    fixture.put("work/a/c.txt", "two\n");
    fixture.put("work/bin", b"two\0");
    fixture.put("work/latin1", b"two caf\xe9\n");
    let found = search(&fixture, Some("^t"), None, &all_visible);
    assert_eq!(hits(&found), ["a/c.txt:1:two", "b.txt:2:two", "b.txt:3:three", "latin1:1:two café"]);
    assert_eq!((found.files, found.not_text, found.ended), (3, 1, None));
    assert_eq!(hits(&search(&fixture, Some("(?i)TWO$"), Some("*.txt"), &all_visible)), ["a/c.txt:1:two", "b.txt:2:two"]);
    assert_eq!(hits(&search(&fixture, None, Some("a/*"), &all_visible)), ["a/c.txt"]);
    assert_eq!(hits(&search(&fixture, None, None, &all_visible)), ["a/c.txt", "b.txt", "bin", "latin1"]);
}

#[test]
fn a_text_in_another_encoding_is_searched_as_it_is_read_and_what_is_no_text_is_told() {
    let fixture = Fixture::new();
    let wide = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> { "\u{feff}la clé\nend\n".encode_utf16().flat_map(unit).collect() };
    fixture.put("work/be", wide(u16::to_be_bytes));
    fixture.put("work/latin1", b"la cl\xe9\n");
    fixture.put("work/le", wide(u16::to_le_bytes));
    fixture.put("work/program", b"\x7fELF\x02\x01\x01\0\0\0\0cl\xe9");
    fixture.put("work/utf8", "la clé\n");
    let found = search(&fixture, Some("clé$"), None, &all_visible);
    assert_eq!(hits(&found), ["be:1:la clé", "latin1:1:la clé", "le:1:la clé", "utf8:1:la clé"]);
    assert_eq!((found.files, found.not_text, found.left_out), (4, 1, 0));
    // What is masked there when it is read is masked here.
    let secret = "key AKIAQ7ZT3N5WXK2VPLMR clé\n";
    fixture.put("work/latin1", secret.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect::<Vec<u8>>());
    fixture.put("work/le", secret.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    assert_eq!(hits(&search(&fixture, Some("AKIA"), None, &all_visible)), Vec::<String>::new());
    let shown = hits(&search(&fixture, Some("^key"), None, &all_visible));
    assert_eq!(shown, ["latin1:1:key [SECRET:aws-access-key] clé", "le:1:key [SECRET:aws-access-key] clé"]);
}

#[test]
fn a_notebook_is_searched_as_its_cells_so_that_no_half_of_a_secret_is_found() {
    let fixture = Fixture::new();
    let (one, other) = ("ghp_aB3dE5fG7hJ9kL", "1mN2pQ4rS6tU8vW0xY2zA4");
    let cell = format!(r#"{{"cells": [{{"cell_type": "code", "source": ["t = '{one}", "{other}'\n", "print(2)"]}}]}}"#);
    fixture.put("work/a.ipynb", &cell);
    fixture.put("work/broken.ipynb", "no notebook");
    for query in ["ghp_a", "1mN2", "cell_type"] {
        assert_eq!(hits(&search(&fixture, Some(query), None, &all_visible)), Vec::<String>::new(), "{query}");
    }
    // The lines are those that a reading numbers.
    assert_eq!(hits(&search(&fixture, Some("print|no"), None, &all_visible)), ["a.ipynb:3:print(2)", "broken.ipynb:1:no notebook"]);
}

#[test]
fn what_no_call_can_name_is_shown_by_no_search_and_no_listing() {
    use std::os::unix::ffi::OsStrExt as _;
    let fixture = Fixture::new();
    fixture.put("work/a", "here\n");
    fixture.put("work/key.pem ", "here\n");
    let odd = fixture.dir.path().join("work").join(std::ffi::OsStr::from_bytes(b"b\xff"));
    std::fs::write(odd, "here\n").unwrap();
    let found = search(&fixture, Some("here"), None, &all_visible);
    assert_eq!((hits(&found), found.left_out), (vec!["a:1:here".to_owned()], 2));
    let listed = fixture.list("work", 1, &all_visible).unwrap();
    assert_eq!((shown(&listed), listed.left_out), (vec!["a".to_owned()], 2));
}

#[test]
fn a_tree_is_searched_to_its_deepest_folder() {
    let fixture = Fixture::new();
    fixture.put(&format!("work/{}far", "d/".repeat(70)), "here\n");
    fixture.put("work/e", "here\n");
    let found = search(&fixture, Some("here"), None, &all_visible);
    assert_eq!((found.matches.len(), found.ended), (2, None));
}

#[test]
fn lines_around_a_match_come_with_it() {
    let fixture = Fixture::new();
    fixture.put("work/a", "1\n2\nhit\n4\n5\nhit\n7\n");
    let found = try_search(&fixture, "work", Some("hit"), None, 10, 1, &all_visible).unwrap();
    let lines: Vec<_> = found.matches.into_iter().map(|found| found.line.unwrap()).collect();
    let line = |number, before: &str, after: &str| MatchedLine {
        number,
        text: "hit".into(),
        before: vec![before.into()],
        after: vec![after.into()],
    };
    assert_eq!(lines, [line(3, "2", "4"), line(6, "5", "7")]);
}

#[test]
fn what_gitignore_names_is_skipped_whole_and_an_inner_file_can_take_it_back() {
    let fixture = Fixture::new();
    for file in ["work/target/a", "work/src/a.log", "work/src/keep.log", "work/src/a.rs", "work/.git/config", "work/sub/x.tmp"] {
        fixture.put(file, "hit\n");
    }
    fixture.put("work/.gitignore", "/target\n*.log\n*.tmp\n");
    fixture.put("work/src/.gitignore", "!keep.log\n");
    assert_eq!(hits(&search(&fixture, Some("hit"), None, &all_visible)), ["src/a.rs:1:hit", "src/keep.log:1:hit"]);
    // Also those of the folders above the one that is searched.
    let found = try_search(&fixture, "work/sub", Some("hit"), None, 10, 0, &all_visible).unwrap();
    assert_eq!(hits(&found), Vec::<String>::new());
}

#[test]
fn nothing_is_read_that_may_not_be_seen() {
    let fixture = Fixture::new();
    for file in ["work/.env", "work/secret/a", "work/open/a"] {
        fixture.put(file, "hit\n");
    }
    std::os::unix::fs::symlink(fixture.path("outside/secret"), fixture.path("work/link")).unwrap();
    std::os::unix::fs::symlink(fixture.path("outside"), fixture.path("work/linkdir")).unwrap();
    std::fs::hard_link(fixture.path("outside/secret"), fixture.path("work/hard")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, fixture.path("work/fifo"), rustix::fs::Mode::RWXU).unwrap();
    let judge = |path: &RelPath, _: bool| match path.segments()[0].as_str() {
        ".env" | "secret" => Visible::No,
        _ => Visible::Yes,
    };
    let found = search(&fixture, Some("hit|secret"), None, &judge);
    assert_eq!((hits(&found), found.left_out), (vec!["open/a:1:hit".to_owned()], 3));
    // The manifest and the state folder.
    let found = try_search(&fixture, "home", Some("version|\\{"), None, 10, 0, &all_visible).unwrap();
    assert_eq!((hits(&found), found.left_out), (vec![], 2));
    let on_the_way = |_: &RelPath, is_folder: bool| if is_folder { Visible::OnTheWay } else { Visible::No };
    assert_eq!(hits(&search(&fixture, Some("hit"), None, &on_the_way)), Vec::<String>::new());
}

#[test]
fn a_long_line_is_shown_around_its_match_with_marks_where_it_is_cut() {
    let fixture = Fixture::new();
    let fill = |count: usize| "é, ".repeat(count);
    let shown = |content: String, query: &str| {
        fixture.put("work/a", content);
        hits(&search(&fixture, Some(query), None, &all_visible)).pop().unwrap().split_off("a:1:".len())
    };
    let middle = shown(format!("{}needle{}\r\n", fill(2000), fill(2000)), "needle");
    assert!(middle.starts_with('…') && middle.ends_with('…') && middle.contains("é, needleé, "), "{middle}");
    assert!((500..=520).contains(&middle.chars().count()), "{}", middle.chars().count());
    let first = shown(format!("needle{}", fill(2000)), "needle");
    assert!(first.starts_with("needleé") && first.ends_with('…'), "{first}");
    let last = shown(format!("{}needle", fill(2000)), "needle$");
    assert!(last.starts_with('…') && last.ends_with("é, needle") && last.chars().count() >= 500, "{last}");
    for end in ["", "\n", "\r\n"] {
        for query in ["needle$", "e$", ", needle$", "(?i)NEEDLE$", "needle$|^zz", "^.*needle$"] {
            let found = shown(format!("{}needle{end}", fill(2000)), query);
            assert!(found.contains("é, needle") || query.starts_with('^'), "{query} {end:?}: {found}");
        }
    }
    assert!(shown(format!("{}needle\n", fill(2000)), r"needle\z").contains("é, needle"));
    // A match that is longer than what is shown is shown from its beginning.
    let long = shown(format!("{}needle{}", fill(9), fill(2000)), "needle.*");
    assert!(long.starts_with("…needleé, ") && long.ends_with('…'), "{long}");
    // What fits stays as it is, and no cut goes through a word that a filter would know whole.
    assert_eq!(shown(format!("needle {}", "a b ".repeat(123)), "needle"), format!("needle {}", "a b ".repeat(123)));
    let key = "k3y-".repeat(25);
    for distance in 230..260 {
        let line = shown(format!("{}{key} {} needle", fill(2000), "x".repeat(distance)), "needle");
        assert!(line.contains(&key) || !line.contains("k3y"), "{distance} {line}");
        let line = shown(format!("needle {} {key}{}", "x".repeat(distance), fill(2000)), "needle");
        assert!(line.contains(&key) || !line.contains("k3y"), "{distance} {line}");
    }
    // Bytes that are no text do not hide the match.
    fixture.put("work/a", [b"\x01\xff".repeat(1500), b"needle".to_vec(), b"\xff\x01".repeat(1500)].concat());
    assert!(hits(&search(&fixture, Some("needle"), None, &all_visible))[0].contains("\u{fffd}needle\u{fffd}"));
}

#[test]
fn a_search_decodes_no_text_whose_secrets_were_not_masked() {
    let fixture = Fixture::new();
    let text = "\u{feff}id = AKIAQ7ZT3N5WXK2VPLMR\n";
    let wide = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    for content in [wide(u16::to_le_bytes), wide(u16::to_be_bytes)] {
        fixture.put("work/a", content);
        assert_eq!(hits(&search(&fixture, Some("AKIA|Q7ZT"), None, &all_visible)), Vec::<String>::new());
        for query in ["id", "."] {
            assert_eq!(hits(&search(&fixture, Some(query), None, &all_visible)), ["a:1:id = [SECRET:aws-access-key]"], "{query}");
        }
    }
    // The same bytes as UTF-8 are a text.
    fixture.put("work/a", "\u{feff}id = 7\n");
    assert_eq!(hits(&search(&fixture, Some("^id"), None, &all_visible)), ["a:1:id = 7"]);
}

#[test]
fn a_search_is_bounded_in_results_bytes_and_time() {
    let mut fixture = Fixture::new();
    fixture.put("work/a", "hit\n".repeat(1000));
    fixture.put("work/long", format!("hit {}\n", "x".repeat(100_000)));
    let found = try_search(&fixture, "work", Some("hit"), None, 10, 0, &all_visible).unwrap();
    assert_eq!((found.matches.len(), found.ended), (10, Some(Ended::Full)));
    let found = try_search(&fixture, "work", Some("^hit x"), None, 10, 0, &all_visible).unwrap();
    assert_eq!((found.matches[0].line.as_ref().unwrap().text.chars().count(), found.ended), (501, None));
    fixture.terms.max_answer = Bytes(200);
    let found = try_search(&fixture, "work", Some("hit"), None, 1000, 0, &all_visible).unwrap();
    assert_eq!((found.matches.len() < 10, found.ended), (true, Some(Ended::Full)));
    let action = SearchFiles { path: call_path("work"), query: Some("hit".into()), glob: None, context_lines: 0, max_results: 9 };
    let late = Stop::new(tokio_util::sync::CancellationToken::new(), std::time::Duration::ZERO);
    let found =
        fixture.roots.search(fixture.permit(action.clone(), vec![fixture.look("work", Access::List)]), &all_visible, &late).unwrap();
    assert_eq!(found.ended, Some(Ended::Late));
    let cancel = tokio_util::sync::CancellationToken::new();
    cancel.cancel();
    let gone = Stop::new(cancel, std::time::Duration::from_secs(9));
    assert_eq!(
        code(fixture.roots.search(fixture.permit(action, vec![fixture.look("work", Access::List)]), &all_visible, &gone)),
        Code::Cancelled
    );
}

#[test]
fn a_sparse_file_and_a_deep_tree_do_not_hold_a_search_up() {
    let fixture = Fixture::new();
    let file = std::fs::File::create(fixture.path("work/sparse")).unwrap();
    let size = [1u64 << 50, 1 << 43, 1 << 40].into_iter().find(|size| file.set_len(*size).is_ok());
    let deep = (0..300).fold(fixture.path("work"), |path, _| path.join("d"));
    std::fs::create_dir_all(&deep).unwrap();
    fixture.put("work/z", "hit\n");
    let found = search(&fixture, Some("hit"), None, &all_visible);
    assert_eq!((hits(&found), size.is_some()), (vec!["z:1:hit".to_owned()], true));
}

#[test]
fn facts_of_a_path_are_told_without_its_content() {
    let fixture = Fixture::new();
    fixture.put("work/a.txt", "one\ntwo\n");
    let info = |path: &str| {
        let action = FileInfo { path: call_path(path) };
        fixture.roots.info(fixture.permit(action, vec![fixture.look(path, Access::Stat)]))
    };
    let facts = info("work/a.txt").unwrap();
    let content = facts.content.unwrap();
    assert_eq!((facts.kind, facts.size, content.lines, content.mime_type), (Kind::File, 8, Some(2), "text/plain"));
    assert_eq!(content.sha256, fixture.read("work/a.txt").unwrap().sha256);
    assert_eq!(info("work").unwrap().kind, Kind::Directory);
    assert_eq!(code(info("work/none")), Code::NotFound);
}

#[test]
fn one_file_is_searched_by_its_name_as_strictly_as_it_is_found_below_a_folder() {
    let fixture = Fixture::new();
    fixture.put("work/.gitignore", "*.log\n");
    fixture.put("work/logs/a.log", "one\nneedle\nthree\nneedle again\n");
    fixture.put("work/logs/b.log", "needle\n");
    let one = |path: &str, query, judge: Judge<'_>| try_search(&fixture, path, query, None, 100, 1, judge).unwrap();
    let found = one("work/logs/a.log", Some("needle$"), &all_visible);
    assert_eq!((hits(&found), found.files, found.left_out), (vec!["logs/a.log:2:needle".to_owned()], 1, 0));
    assert_eq!(found.matches[0].line.as_ref().map(|line| line.before.clone()), Some(vec!["one".to_owned()]));
    assert_eq!(one("work/logs/a.log", None, &all_visible).matches.len(), 1);
    // What may not be seen, has a second name or is no regular file stays closed.
    for hidden in [Visible::No, Visible::OnTheWay] {
        let found = one("work/logs/a.log", Some("needle"), &|path, is_folder| {
            if is_folder || path.segments().len() < 2 { Visible::Yes } else { hidden }
        });
        assert_eq!((found.matches.len(), found.left_out), (0, 1));
    }
    std::fs::hard_link(fixture.path("work/logs/b.log"), fixture.path("work/logs/c.log")).unwrap();
    let found = one("work/logs/c.log", Some("needle"), &all_visible);
    assert_eq!((found.matches.len(), found.left_out), (0, 1));
    let absent = try_search(&fixture, "work/logs/none", Some("needle"), None, 9, 0, &all_visible);
    assert_eq!(code(absent), Code::NotFound);
}
