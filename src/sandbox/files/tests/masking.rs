//! Files with secrets, where the manifest masks them: what is shown and searched is the masked text, and no edit changes a masked line.

use super::super::content::digest;
use super::*;

const PEM: &str =
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\nq7Wxnc2V8bRyHsJ4kPz5Tg3L\n-----END PRIVATE KEY-----";
const CLOUD: &str = "AKIAQ7ZT3N5WXK2VPLMR";
const OTHER: &str = "AKIAZ4XW9R2QTN7VBKDF";
const PASSWORD: &str = "tG4#xw8Kd!Zq1nPy";

/// Lines that hold three secrets, one of them over four lines.
fn settings() -> String {
    format!("# app\nkey: |\n{PEM}\nid = {CLOUD}\ndb_password = {PASSWORD}\nport = 1\n")
}

#[test]
fn an_edit_beside_masked_lines_keeps_their_secrets() {
    for (edits, expected) in [
        (vec![("port = 1", "port = 2")], settings().replace("port = 1", "port = 2")),
        (vec![("port = 1\n", "port = 1\nhost = a\n")], settings().replace("port = 1\n", "port = 1\nhost = a\n")),
        (vec![("key: |\n", "private_key: |\n")], settings().replace("key: |", "private_key: |")),
        // Two edits, the second of which finds what the first made.
        (vec![("# app", "# my app"), ("# my", "# our")], settings().replace("# app", "# our app")),
    ] {
        for line_end in ["\n", "\r\n"] {
            let fixture = Fixture::new();
            fixture.put("work/a", settings().replace('\n', line_end));
            let dry = fixture.edit("work/a", &edits, true).unwrap();
            let done = fixture.edit("work/a", &edits, false).unwrap();
            assert_eq!(fixture.text("work/a"), expected.replace('\n', line_end), "{edits:?}");
            assert_eq!((dry.diff, dry.size), (done.diff.clone(), done.size));
            assert!(![CLOUD, PASSWORD, "MIIEvQ"].iter().any(|secret| done.diff.contains(secret)), "{}", done.diff);
        }
    }
}

#[test]
fn an_edit_of_a_masked_line_is_refused_with_its_number_and_an_edit_shows_no_secret() {
    let pem = ["[SECRET:pem]"; 4].join("\n");
    for (edits, expected) in [
        // A passage on a masked line, whatever of it stays.
        (vec![("id = ", "key = ")], Code::MaskedContent),
        (vec![("id = [SECRET:aws-access-key]\n", "id = ${ID}\n")], Code::MaskedContent),
        (vec![("id = [SECRET:aws-access-key]\ndb", "id = [SECRET:aws-access-key]\nmy_db")], Code::MaskedContent),
        (vec![("[SECRET:pem]\nid", "id")], Code::MaskedContent),
        (vec![(&*pem, "")], Code::MaskedContent),
        (vec![("db_password = ", "note ")], Code::MaskedContent),
        (vec![("[SECRET:credential]\nport = 1", "[SECRET:credential]\nport = 9")], Code::MaskedContent),
        // A mask is no text for another place.
        (vec![("port = 1", "copy = [SECRET:aws-access-key]")], Code::MaskedContent),
        // What is hidden is not found.
        (vec![(CLOUD, "x")], Code::EditMismatch),
        (vec![("AKIAQ7", "x")], Code::EditMismatch),
        (vec![("db_password = t", "x")], Code::EditMismatch),
    ] {
        let fixture = Fixture::new();
        fixture.put("work/a", settings());
        for dry_run in [true, false] {
            let failure = fixture.edit("work/a", &edits, dry_run).unwrap_err();
            assert_eq!(failure.0.code, expected, "{edits:?}: {failure}");
            assert!(![CLOUD, PASSWORD, "MIIEvQ"].iter().any(|secret| failure.to_string().contains(secret)), "{failure}");
        }
        assert_eq!(fixture.text("work/a"), settings());
    }
    let fixture = Fixture::new();
    fixture.put("work/a", settings());
    let failure = fixture.edit("work/a", &[("# app", "# x"), ("id = ", "key = ")], false).unwrap_err().0;
    assert_eq!(
        failure.message,
        "`edits[1].old_text` covers line 7 of `work/a`, where a secret is masked (aws-access-key); nothing was changed"
    );
    assert_eq!(failure.rule.as_deref(), Some("filters.secrets"));
    // The line that says what the value is may stand above it.
    fixture.put("work/b", "{\n  \"db_password\":\n    \"tG4#xw8Kd!Zq1nPy\"\n}\n");
    if text(fixture.read("work/b")).contains("[SECRET:") {
        assert_eq!(code(fixture.edit("work/b", &[("db_password", "note")], false)), Code::MaskedContent);
    }
}

#[test]
fn right_and_wrong_guesses_of_a_secret_are_answered_alike() {
    let fixture = Fixture::new();
    fixture.put("work/a", settings());
    for edits in [
        |guess: &str| vec![(format!("id = {guess}"), "id = x".to_owned())],
        |guess: &str| vec![(guess.get(..8).unwrap().to_owned(), "x".to_owned())],
        |guess: &str| vec![("[SECRET:aws-access-key]".to_owned(), guess.to_owned())],
        |guess: &str| vec![("id = [SECRET:aws-access-key]".to_owned(), format!("id = {guess}\nold = {guess}"))],
    ] {
        let answers = [CLOUD, OTHER].map(|guess| {
            let edits = edits(guess);
            let edits: Vec<(&str, &str)> = edits.iter().map(|(old, new)| (old.as_str(), new.as_str())).collect();
            format!("{:?}", fixture.edit("work/a", &edits, true)).replace(guess, "GUESS").replace(guess.get(..8).unwrap(), "GUESS")
        });
        assert_eq!(answers[0], answers[1]);
    }
}

#[test]
fn a_text_that_mentions_masks_is_an_ordinary_text() {
    let fixture = Fixture::new();
    let content = "Keys are shown as [SECRET:aws-access-key], people as [EMAIL_1].\n";
    fixture.write("work/docs.md", content, WriteMode::Create).unwrap();
    fixture.edit("work/docs.md", &[("people as [EMAIL_1]", "people as [EMAIL_2] and [SECRET:pem]")], false).unwrap();
    fixture.write("work/docs.md", &format!("{content}{content}"), WriteMode::Overwrite).unwrap();
    fixture.write("work/docs.md", content, WriteMode::Append).unwrap();
    assert_eq!(text(fixture.read("work/docs.md")), content.repeat(3));
    // With a secret beside: what the file mentions already may stay, and no more.
    fixture.put("work/mixed", format!("{content}{CLOUD}\n"));
    let mask = "[SECRET:aws-access-key]";
    assert_eq!(code(fixture.write("work/mixed", &format!("{content}{mask}\n"), WriteMode::Overwrite)), Code::MaskedContent);
    assert_eq!(fixture.text("work/mixed"), format!("{content}{CLOUD}\n"));
    fixture.write("work/mixed", content, WriteMode::Overwrite).unwrap();
    assert_eq!(fixture.text("work/mixed"), content);
}

#[test]
fn a_write_puts_no_mask_over_a_secret_and_appends_nothing_to_one() {
    let fixture = Fixture::new();
    fixture.put("work/a", settings());
    let shown = text(fixture.read("work/a"));
    for content in [shown.as_str(), "id = [SECRET:aws-access-key]\n"] {
        assert_eq!(code(fixture.write("work/a", content, WriteMode::Overwrite)), Code::MaskedContent);
    }
    assert_eq!(fixture.text("work/a"), settings());
    fixture.write("work/copy", &shown, WriteMode::Overwrite).unwrap();
    fixture.write("work/a", "all = new\n", WriteMode::Overwrite).unwrap();
    assert_eq!(fixture.text("work/a"), "all = new\n");

    let end = format!("id = {CLOUD}");
    fixture.put("work/end", &end);
    assert_eq!(code(fixture.write("work/end", "x", WriteMode::Append)), Code::MaskedContent);
    let written = fixture.write("work/end", "\nport = 1\n", WriteMode::Append).unwrap();
    assert_eq!((fixture.text("work/end"), written.sha256), (format!("{end}\nport = 1\n"), None));
}

#[test]
fn where_the_manifest_masks_nothing_files_are_their_bytes() {
    let mut fixture = Fixture::new();
    let mut manifest = crate::manifest::Manifest::default();
    manifest.filters.secrets = crate::manifest::Treatment::Mark;
    fixture.terms.manifest = Arc::new(manifest);
    fixture.put("work/a", settings());
    let reading = fixture.read("work/a").unwrap();
    assert_eq!((reading.content, reading.masked), (Content::Text(settings()), None));
    fixture.edit("work/a", &[(&format!("id = {CLOUD}"), "id = [SECRET:aws-access-key]")], false).unwrap();
    fixture.write("work/a", "id = [SECRET:aws-access-key]\n", WriteMode::Overwrite).unwrap();
}

#[test]
fn what_is_shown_of_a_file_names_the_masks_in_it_and_no_others() {
    let mut fixture = Fixture::new();
    fixture.put("work/a", settings());
    for (offset, limit, names) in [
        (1, None, vec!["pem", "aws-access-key", "credential"]),
        (1, Some(2), vec![]),
        (4, Some(1), vec!["pem"]),
        (7, Some(1), vec!["aws-access-key"]),
    ] {
        assert_eq!(fixture.read_lines("work/a", offset, limit).unwrap().masked, Some(names), "{offset}");
    }
    let edited = fixture.edit("work/a", &[("port = 1", "port = 2")], true).unwrap();
    assert_eq!(edited.masked, Some(vec!["pem", "aws-access-key", "credential"]), "{}", edited.diff);
    // An answer that would end within a mask ends before it, and columns count what the mask hides.
    fixture.terms.max_answer = Bytes(24);
    fixture.put("work/line", format!("x {CLOUD} yz"));
    let from = |column| fixture.read_as(ReadFile { column, ..whole("work/line") }).unwrap();
    for (column, shown, next) in [(1, "x ", Some(3)), (3, "[SECRET:aws-access-key] ", Some(24)), (24, "yz", None)] {
        let reading = from(column);
        assert_eq!((reading.content, reading.next_column), (Content::Text(shown.to_owned()), next));
    }
    // Whatever column a caller makes up shows no more of it.
    for column in 3..=22 {
        let shown = format!("{:?}", from(column).content);
        assert!(shown.contains("[SECRET:aws-access-key]"), "{column}: {shown}");
    }
}

/// A mixed run of letters and digits.
fn run(length: usize) -> String {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[usize::try_from(state >> 58).unwrap()])
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn no_answer_shows_a_part_of_a_secret_however_long_it_is() {
    const LONG: usize = 64 * 1024;
    let lines = |length: usize| -> String {
        run(length).as_bytes().chunks(64).map(|line| format!("{}\n", String::from_utf8_lossy(line))).collect::<Vec<_>>().concat()
    };
    let word = run(LONG).replace(['+', '/'], "x9");
    for (name, secret) in [
        ("token", format!("xoxb-{word}\n")),
        ("pem", format!("-----BEGIN PRIVATE KEY-----\n{}-----END PRIVATE KEY-----\n", lines(8 << 10))),
        ("jwt", format!("eyJhbGciOiJSUzI1NiJ9.{word}.{word}\n")),
    ] {
        let mut fixture = Fixture::new();
        fixture.terms.max_file_size = Bytes(8 << 20);
        fixture.terms.max_answer = Bytes(8 << 20);
        // Behind a file that is read whole, and one that is read in pieces.
        let fillers = ["x y\n".repeat(64), "x y\n".repeat(1 << 18)];
        for filler in fillers.iter().take(if name == "pem" { 2 } else { 1 }) {
            let content = format!("{filler}{secret}{filler}the last line\n");
            fixture.put("work/a", &content);
            let first = filler.lines().count() as u64 + 1;
            let count = secret.lines().count() as u64;
            let mut answers = vec![format!("{:?}", fixture.read("work/a").unwrap())];
            for offset in [first, first + 1, first + count / 2] {
                answers.extend(fixture.read_lines("work/a", offset, Some(3)).map(|reading| format!("{reading:?}")).ok());
            }
            let action = crate::model::SearchFiles {
                path: call_path("work"),
                query: Some("[0-9A-Z]".into()),
                glob: None,
                context_lines: 2,
                max_results: 50,
            };
            let found =
                fixture.roots.search(fixture.permit(action, vec![fixture.look("work", Access::List)]), &all_visible, &stop()).unwrap();
            answers.push(format!("{found:?}"));
            for old in ["the last line", &*format!("{}\n", secret.lines().next().unwrap())] {
                answers.push(format!("{:?}", fixture.edit("work/a", &[(old, "another")], true)));
            }
            let answers: Vec<String> = answers.iter().map(|answer| answer.replace("x y\\n", "")).collect();
            let shown: std::collections::HashSet<&[u8]> = answers.iter().flat_map(|answer| answer.as_bytes().windows(8)).collect();
            let body = secret.lines().flat_map(|line| line.split([' ', '.', '-']).filter(|word| word.len() >= 40));
            for part in body.flat_map(|word| word.as_bytes().chunks_exact(8)) {
                assert!(!shown.contains(part), "{name}: {}", String::from_utf8_lossy(part));
            }
        }
    }
}

#[test]
fn a_part_of_a_large_file_is_masked_by_what_stands_around_it() {
    const NEAR: usize = crate::filter::masked::REACH;
    let mut fixture = Fixture::new();
    fixture.terms.max_file_size = Bytes(32 << 20);
    let filler = "An ordinary line.\n".repeat(1 << 18);
    let body: Vec<String> = run(NEAR * 3 / 4).as_bytes().chunks(64).map(|line| format!("{}\n", String::from_utf8_lossy(line))).collect();
    for (name, first, last) in [
        ("pem", "-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----\n"),
        ("ssh2", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: \"a\"\n", "---- END SSH2 ENCRYPTED PRIVATE KEY ----\n"),
    ] {
        fixture.put("work/a", format!("{filler}{first}{}{last}the last line\n{filler}", body.concat()));
        let skipped = (filler.lines().count() + first.lines().count()) as u64;
        for at in [1, body.len() / 2, body.len() - 2] {
            let reading = fixture.read_lines("work/a", skipped + at as u64 + 1, Some(2)).unwrap();
            assert_eq!(reading.masked, Some(vec![name]), "{name} {at}");
            let shown = text(Ok(reading));
            assert!(!shown.contains(body[at].get(8..20).unwrap()) && shown.lines().count() == 2, "{name} {at}: {shown}");
        }
        let action = crate::model::SearchFiles {
            path: call_path("work"),
            query: Some(body[body.len() / 2].get(..8).unwrap().into()),
            glob: None,
            context_lines: 0,
            max_results: 50,
        };
        let found = fixture.roots.search(fixture.permit(action, vec![fixture.look("work", Access::List)]), &all_visible, &stop()).unwrap();
        assert!(found.matches.is_empty(), "{name}: {:?}", found.matches.first());
        let end = fixture.read_lines("work/a", skipped + body.len() as u64 + 2, Some(1)).unwrap();
        assert_eq!(text(Ok(end)), "the last line\n", "what comes after is shown");
    }
}

#[test]
fn a_write_says_of_no_guess_of_a_hidden_value_whether_it_is_right() {
    let fixture = Fixture::new();
    fixture.put("work/a", settings());
    let wrong = settings().replace(PASSWORD, "tG4#xw8Kd!Zq1nPx");
    let answers = [settings(), wrong].map(|guess| {
        let opened = fixture.look("work/a", Access::Write(Bytes(1)));
        fixture.write_at(opened, "x", WriteMode::Overwrite, Some(&digest(guess.as_bytes()))).unwrap_err().to_string()
    });
    assert_eq!(answers[0], answers[1]);
    assert_eq!(fixture.text("work/a"), settings());
    // A file that hides nothing is compared as ever, and what is new is as the caller brought it.
    fixture.put("work/plain", "port = 1\n");
    for (guess, works) in [("port = 2\n", false), ("port = 1\n", true)] {
        let opened = fixture.look("work/plain", Access::Write(Bytes(1)));
        let written = fixture.write_at(opened, "port = 3\n", WriteMode::Overwrite, Some(&digest(guess.as_bytes())));
        assert_eq!(written.is_ok(), works, "{guess}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(96))]
    #[test]
    fn no_edits_of_what_is_shown_show_what_is_hidden(
        edits in proptest::collection::vec((0_usize..200, 1_usize..60, "|x|note |\n|\"|>|=|password = |-----BEGIN PRIVATE KEY-----\n|-----END X-----|[A-Z0-9]{1,4}|\\[SECRET:pem\\]\n|\\[SECRET:credential\\]|\\[SECRET:aws-access-key\\]", proptest::bool::ANY), 1..4),
    ) {
        let fixture = Fixture::new();
        fixture.put("work/a", settings());
        let pieces: Vec<String> = PEM.lines().skip(1).take(2).chain([CLOUD, PASSWORD])
            .flat_map(|value| (0..value.len() - 6).map(|at| value.get(at..at + 7).unwrap().to_owned()))
            .collect();
        let hides = |what: &str| !pieces.iter().any(|piece| what.contains(piece));
        for (start, length, put, keeps) in edits {
            let shown = text(fixture.read("work/a"));
            let start = start.min(shown.len() - 1);
            let old = shown.get(start..(start + length).min(shown.len())).unwrap();
            let new = if keeps { format!("{old}{put}") } else { put };
            for dry_run in [true, false] {
                let answer = fixture.edit("work/a", &[(old, &new)], dry_run);
                proptest::prop_assert!(hides(&format!("{answer:?}")), "{old:?} {new:?}: {answer:?}");
            }
            let shown = text(fixture.read("work/a"));
            proptest::prop_assert!(hides(&shown), "{old:?} {new:?}: {shown}");
            // A mask stands for a secret that is still there: none was written in the place of one.
            let masks = |name: &str| crate::filter::masked::mentions(&fixture.text("work/a"), name);
            proptest::prop_assert_eq!(["pem", "aws-access-key", "credential"].map(masks), [0; 3], "{:?} {:?}", old, new);
            if shown.is_empty() {
                break;
            }
        }
    }
}
