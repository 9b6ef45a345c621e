//! `read` and `list`: contents, windows, cuts.

use super::*;

#[test]
fn a_file_comes_back_as_it_is() {
    let fixture = Fixture::new();
    fixture.put("work/a.txt", "one\r\ntwo\u{e9}\n");
    let reading = fixture.read("work/a.txt").unwrap();
    assert_eq!(reading.content, Content::Text("one\r\ntwo\u{e9}\n".to_owned()));
    assert_eq!((reading.size, reading.lines, reading.shown, reading.next, reading.next_column), (11, Some(2), 2, None, None));
    assert_eq!(reading.sha256.unwrap().len(), 64);
    assert_eq!(text(fixture.read("work/a.txt")), "one\r\ntwo\u{e9}\n");
    fixture.put("work/empty", "");
    assert_eq!(text(fixture.read("work/empty")), "");
}

#[test]
fn lines_are_read_by_offset_and_limit() {
    let fixture = Fixture::new();
    fixture.put("work/a", "1\n2\n3\n4\n5");
    for (offset, limit, expected, next) in [
        (1, Some(2), "1\n2\n", Some(3)),
        (3, Some(1), "3\n", Some(4)),
        (4, None, "4\n5", None),
        (5, Some(9), "5", None),
        (1, Some(5), "1\n2\n3\n4\n5", None),
    ] {
        let reading = fixture.read_lines("work/a", offset, limit).unwrap();
        assert_eq!((reading.content, reading.next), (Content::Text(expected.to_owned()), next), "{offset} {limit:?}");
    }
    assert_eq!(code(fixture.read_lines("work/a", 6, None)), Code::ArgumentInvalid);
}

#[test]
fn a_window_of_a_large_file_is_read_without_the_rest_and_answers_alike() {
    let mut fixture = Fixture::new();
    let lines: String = (1..=300_000).flat_map(|n| ["line ".to_owned(), n.to_string(), "\n".to_owned()]).collect();
    fixture.put("work/log", &lines);
    fixture.terms.max_file_size = Bytes::mib(1);
    let reading = fixture.read_lines("work/log", 299_999, Some(5)).unwrap();
    assert_eq!((reading.content, reading.next, reading.sha256), (Content::Text("line 299999\nline 300000\n".to_owned()), None, None));
    let reading = fixture.read_lines("work/log", 150_000, Some(2)).unwrap();
    assert_eq!((reading.content, reading.next), (Content::Text("line 150000\nline 150001\n".to_owned()), Some(150_002)));
    assert_eq!(code(fixture.read_lines("work/log", 300_001, Some(1))), Code::ArgumentInvalid);
    fixture.terms.max_answer = Bytes(30);
    let reading = fixture.read_lines("work/log", 10, None).unwrap();
    assert_eq!((reading.content, reading.next), (Content::Text("line 10\nline 11\nline 12\n".to_owned()), Some(13)));
    assert_eq!(code(fixture.read("work/log")), Code::FileTooLarge);
}

#[test]
fn a_long_answer_is_cut_after_a_line_and_says_how_to_go_on() {
    let mut fixture = Fixture::new();
    fixture.terms.max_answer = Bytes(10);
    fixture.put("work/a", "1234\n5678\n9");
    let reading = fixture.read("work/a").unwrap();
    assert_eq!((reading.content, reading.next, reading.next_column), (Content::Text("1234\n5678\n".to_owned()), Some(3), None));
    fixture.put("work/b", "12345678\u{e9}\u{e9}\u{e9}\nnext\n");
    let reading = fixture.read("work/b").unwrap();
    assert_eq!((reading.content, reading.next, reading.next_column), (Content::Text("12345678\u{e9}".to_owned()), Some(1), Some(10)));
    fixture.put("work/c", "123456789\u{e9}");
    let reading = fixture.read("work/c").unwrap();
    assert_eq!((reading.content, reading.next, reading.next_column), (Content::Text("123456789".to_owned()), Some(1), Some(10)));
}

#[test]
fn a_single_line_of_20_mb_is_cut_and_not_lost() {
    let mut fixture = Fixture::new();
    fixture.terms.max_answer = Bytes::kib(64);
    fixture.put("work/a", "x".repeat(20_000_000));
    let reading = fixture.read("work/a").unwrap();
    assert_eq!((reading.content, reading.next, reading.next_column), (Content::Text("x".repeat(65_536)), Some(1), Some(65_537)));
}

#[test]
fn a_line_longer_than_an_answer_is_read_on_from_a_column() {
    let body: String = (0..700_000).map(|n| ['a', '\u{e9}', '\u{1f600}'][n % 3]).collect();
    for (before, after) in [("", ""), ("", "\nlast\n"), ("one\ntwo\n", "\nlast")] {
        // Read whole, and in a window.
        for line in [body.split_at_checked(3 * 7 * 999).unwrap().0, &body] {
            let mut fixture = Fixture::new();
            fixture.put("work/a", format!("{before}{line}{after}"));
            fixture.terms.max_answer = Bytes(if line.len() < 100_000 { 1000 } else { 300_000 });
            let (mut read, mut at) = (String::new(), (before.lines().count() as u64 + 1, 1));
            loop {
                let reading = fixture.read_as(ReadFile { offset: at.0, column: at.1, ..whole("work/a") }).unwrap();
                let (next, column) = (reading.next, reading.next_column);
                read.push_str(&text(Ok(reading)));
                let Some(next) = next else { break };
                assert!((next, column.unwrap_or(1)) > at);
                at = (next, column.unwrap_or(1));
            }
            assert!(read == format!("{line}{after}"), "{} of {}", read.len(), line.len());
        }
    }
    let fixture = Fixture::new();
    fixture.put("work/a", "1234\n12\n");
    let columns = |offset, column| fixture.read_as(ReadFile { offset, column, ..whole("work/a") }).map(|reading| reading.content);
    assert_eq!(columns(1, 4), Ok(Content::Text("4\n12\n".to_owned())));
    assert_eq!(columns(1, 5), Ok(Content::Text("\n12\n".to_owned())));
    for (offset, column) in [(1, 6), (2, 4), (2, u64::MAX)] {
        let failure = columns(offset, column).unwrap_err().0;
        assert_eq!(failure.message, format!("line {offset} of `work/a` ends before column {column}"));
    }
    assert_eq!(columns(3, 1).unwrap_err().0.message, "`work/a` has 2 lines; line 3 is past its end");
    let bytes = ReadFile { column: 2, limit: Some(1), encoding: Encoding::Base64, ..whole("work/a") };
    assert_eq!(fixture.read_as(bytes).unwrap().content, Content::Base64("MjM0Cg==".to_owned()));
}

#[test]
fn what_is_no_text_is_said_so_and_comes_as_base64_on_demand() {
    let fixture = Fixture::new();
    fixture.put("work/noise", b"caf\xe9\x01\n");
    fixture.put("work/bin", b"a\0b");
    fixture.put("work/utf16", b"\xff\xfea\0\x01");
    for (path, why) in [("work/noise", "byte 3"), ("work/bin", "NUL at byte 1"), ("work/utf16", "UTF-16")] {
        let failure = fixture.read(path).unwrap_err().0;
        assert_eq!(failure.code, Code::NotText);
        assert!(failure.message.contains(why), "{failure}");
    }
    let action = ReadFile { encoding: Encoding::Base64, ..whole("work/bin") };
    let reading = fixture.roots.read(fixture.permit(action, vec![fixture.look("work/bin", Access::Read)]), &stop()).unwrap();
    assert_eq!(reading.content, Content::Base64("YQBi".to_owned()));
}

#[test]
fn a_picture_has_a_bound_of_its_own() {
    let fixture = Fixture::new();
    let png = |size: usize| [b"\x89PNG\r\n\x1a\n".as_slice(), &vec![7; size - 8]].concat();
    fixture.put("work/most.png", png(4 << 20));
    fixture.put("work/more.png", png((4 << 20) + 1));
    assert!(matches!(fixture.read("work/most.png").unwrap().content, Content::Image { .. }));
    let refused = fixture.read("work/more.png").unwrap_err().0;
    assert_eq!(refused.code, Code::FileTooLarge);
    assert!(refused.hint.is_some_and(|hint| hint.contains("base64")));
}

#[test]
fn a_picture_comes_as_a_picture() {
    let fixture = Fixture::new();
    let png = b"\x89PNG\r\n\x1a\n\0\0rest";
    fixture.put("work/a.png", png);
    assert_eq!(fixture.read("work/a.png").unwrap().content, Content::Image { data: png.to_vec(), mime_type: "image/png" });
}

#[test]
fn a_folder_is_listed_sorted_and_only_as_deep_as_asked() {
    let fixture = Fixture::new();
    for file in ["work/b.txt", "work/a/x/deep.rs", "work/a/y.rs"] {
        fixture.put(file, "12345");
    }
    assert_eq!(shown(&fixture.list("work", 1, &all_visible).unwrap()), ["a", "b.txt"]);
    let all = fixture.list("work", 9, &all_visible).unwrap();
    assert_eq!(shown(&all), ["a", "a/x", "a/x/deep.rs", "a/y.rs", "b.txt"]);
    assert_eq!(all.entries[4], Listed { path: RelPath::parse("b.txt").unwrap(), kind: Kind::File, size: 5 });
    assert_eq!(shown(&fixture.list("work/a", 1, &all_visible).unwrap()), ["a/x", "a/y.rs"]);
    assert_eq!(code(fixture.list("work/b.txt", 1, &all_visible)), Code::NotADirectory);
    assert_eq!(code(fixture.list("work/none", 1, &all_visible)), Code::NotFound);
}

#[test]
fn entries_that_may_not_be_seen_are_left_out_and_counted() {
    let fixture = Fixture::new();
    for file in ["work/.env", "work/a/.env", "work/a/b.txt"] {
        fixture.put(file, "");
    }
    let judge =
        |path: &RelPath, _: bool| if path.segments().last().is_some_and(|name| name == ".env") { Visible::No } else { Visible::Yes };
    let listing = fixture.list("work", 3, &judge).unwrap();
    assert_eq!((shown(&listing), listing.left_out), (vec!["a".to_owned(), "a/b.txt".to_owned()], 2));
}

#[test]
fn a_glob_and_a_limit_bound_a_listing() {
    let fixture = Fixture::new();
    for n in 0..10_000 {
        fixture.put(&format!("work/many/{n:05}.txt"), "");
    }
    fixture.put("work/one.rs", "");
    let list = |path: &str, glob: Option<&str>, limit| {
        let action = ListDirectory { path: Some(call_path(path)), depth: 2, glob: glob.map(str::to_owned), limit, ignored: false };
        fixture.roots.list(fixture.permit(action, vec![fixture.look(path, Access::List)]), &all_visible, &stop()).unwrap()
    };
    assert_eq!(shown(&list("work", Some("*.rs"), 10)), ["one.rs"]);
    let cut = list("work", None, 5);
    assert_eq!((shown(&cut).len(), cut.truncated), (5, true));
    // What is near comes first.
    assert!(shown(&cut).contains(&"one.rs".to_owned()));
    let whole = list("work/many", None, 10_000);
    assert_eq!((whole.entries.len(), whole.truncated), (10_000, false));
}

#[test]
fn what_gitignore_names_is_left_out_of_a_listing_counted_and_listed_when_asked_for() {
    let fixture = Fixture::new();
    for name in [".gitignore", "a.rs", "b.log", "target/x", "node_modules/m/index.js", "src/c.rs", "src/keep.log", "src/gen/y", "src/.env"]
    {
        fixture.put(&format!("work/{name}"), "");
    }
    std::fs::write(fixture.path("work/.gitignore"), "target/\nnode_modules\n*.log\n").unwrap();
    std::fs::write(fixture.path("work/src/.gitignore"), "!keep.log\n/gen\n.env\n").unwrap();
    let judge =
        |path: &RelPath, _: bool| if path.segments().last().is_some_and(|name| name == ".env") { Visible::No } else { Visible::Yes };
    let list = |path: &str, ignored| {
        let action = ListDirectory { path: Some(call_path(path)), depth: 9, glob: None, limit: 500, ignored };
        fixture.roots.list(fixture.permit(action, vec![fixture.look(path, Access::List)]), &judge, &stop()).unwrap()
    };
    let short = list("work", false);
    assert_eq!(shown(&short), [".gitignore", "a.rs", "src", "src/.gitignore", "src/c.rs", "src/keep.log"]);
    // What is judged is counted as judged, whatever an ignore file says of it.
    assert_eq!((short.ignored, short.left_out), (4, 1));
    let whole = list("work", true);
    assert_eq!((whole.entries.len(), whole.ignored, whole.left_out), (14, 0, 1), "{:?}", shown(&whole));
    // The rules of the folders above hold below, and a folder that is asked for by its name is shown.
    assert_eq!(shown(&list("work/src", false)), ["src/.gitignore", "src/c.rs", "src/keep.log"]);
    assert_eq!(shown(&list("work/node_modules", false)), ["node_modules/m", "node_modules/m/index.js"]);
}

#[test]
fn a_cancelled_listing_ends() {
    let fixture = Fixture::new();
    fixture.put("work/a", "");
    let cancel = tokio_util::sync::CancellationToken::new();
    cancel.cancel();
    let action = ListDirectory { path: Some(call_path("work")), depth: 1, glob: None, limit: 9, ignored: false };
    let stop = Stop::new(cancel, std::time::Duration::from_secs(1));
    assert_eq!(
        code(fixture.roots.list(fixture.permit(action, vec![fixture.look("work", Access::List)]), &all_visible, &stop)),
        Code::Cancelled
    );
}
