//! Files that are no UTF-8 text as they are: other encodings, notebooks, PDF files.

use super::*;
use crate::sandbox::files::Form;

const CLOUD: &str = "AKIAQ7ZT3N5WXK2VPLMR";

fn utf16(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

#[test]
fn another_encoding_is_read_by_lines_and_columns_and_its_size_and_digest_stay_those_of_the_file() {
    let mut fixture = Fixture::new();
    let text = "eins\nzw\u{f6}lf\ndrei\n";
    let wide = utf16(text);
    fixture.put("work/wide", &wide);
    fixture.put("work/latin", b"eins\nzw\xf6lf\ndrei\n");
    for (path, encoding, size) in [("work/wide", "utf-16le", wide.len() as u64), ("work/latin", "windows-1252", 16)] {
        let reading = fixture.read(path).unwrap();
        assert_eq!((&reading.content, reading.form), (&Content::Text(text.to_owned()), Form::Decoded { encoding, broken: 0 }));
        assert_eq!((reading.size, reading.lines, reading.sha256.map(|digest| digest.len())), (size, Some(3), Some(64)));
        let part = fixture.read_as(ReadFile { offset: 2, column: 3, limit: Some(1), ..whole(path) }).unwrap();
        assert_eq!((part.content, part.next), (Content::Text("\u{f6}lf\n".to_owned()), Some(3)));
        assert_eq!(code(fixture.read_lines(path, 4, None)), Code::ArgumentInvalid);
    }
    // Also where a part of a large file is asked for, and an answer is short.
    fixture.terms.max_answer = Bytes(16);
    fixture.put("work/large", utf16(&"zeile \u{4e00}\n".repeat(200_000)));
    let part = fixture.read_lines("work/large", 150_000, None).unwrap();
    assert_eq!((part.content, part.next), (Content::Text("zeile \u{4e00}\n".to_owned()), Some(150_001)));
    // What is too large to be decoded is refused as before.
    fixture.terms.max_file_size = Bytes::mib(1);
    assert_eq!(code(fixture.read_lines("work/large", 150_000, None)), Code::NotText);
}

#[test]
fn a_secret_in_another_encoding_or_in_a_notebook_is_masked_in_every_part() {
    let mut fixture = Fixture::new();
    let text = format!("caf\u{e9} {}\nid = {CLOUD}\nend\n", "x".repeat(40));
    let latin: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let lines = |text: &str| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
    let (half, rest) = text.split_at_checked(60).unwrap();
    let notebook = serde_json::json!({"cells": [{"cell_type": "code", "source": lines(&text), "outputs": [
        {"output_type": "stream", "text": [half, rest]},
        {"output_type": "execute_result", "data": {"text/plain": format!("'{CLOUD}'")}},
    ]}]});
    // What the file's bytes were looked through for before says nothing of its text.
    fixture.put("work/wide", utf16(&text));
    // Where only its strings together hold it.
    let parts = serde_json::json!({"cells": [{"cell_type": "code", "source": ["id = AKIAQ7ZT", "3N5WXK2VPLMR"]}]});
    fixture.put("work/b.ipynb", parts.to_string());
    assert_eq!(code(fixture.read_as(ReadFile { encoding: Encoding::Base64, ..whole("work/b.ipynb") })), Code::MaskedContent);
    fixture.put("work/c.ipynb", parts.to_string().replace("LMR", " x"));
    assert!(fixture.read_as(ReadFile { encoding: Encoding::Base64, ..whole("work/c.ipynb") }).is_ok());
    fixture.put("work/latin", latin);
    fixture.put("work/a.ipynb", notebook.to_string());
    for path in ["work/wide", "work/latin", "work/a.ipynb"] {
        let base64 = ReadFile { encoding: Encoding::Base64, ..whole(path) };
        assert_eq!(code(fixture.read_as(base64)), Code::MaskedContent, "{path}");
        for answer in [20, 50, 10_000] {
            fixture.terms.max_answer = Bytes(answer);
            let (mut at, mut shown, mut masks) = ((1, 1), String::new(), 0);
            loop {
                let reading = fixture.read_as(ReadFile { offset: at.0, column: at.1, ..whole(path) }).unwrap();
                assert_eq!(reading.sha256, None);
                masks += reading.masked.as_ref().unwrap().len();
                at = (reading.next.unwrap_or_default(), reading.next_column.unwrap_or(1));
                shown.push_str(&super::text(Ok(reading)));
                if at.0 == 0 {
                    break;
                }
            }
            assert!(!shown.contains("AKIA") && !shown.contains("LMR"), "{path} {answer}: {shown}");
            assert!(shown.contains("id = [SECRET:aws-access-key]\nend\n"), "{path} {answer}: {shown}");
            assert_eq!(masks, if path == "work/a.ipynb" { 3 } else { 1 }, "{path} {answer}: {shown}");
        }
        // From any column of the line.
        for column in 1..=25 {
            let offset = if path == "work/a.ipynb" { 3 } else { 2 };
            let reading = fixture.read_as(ReadFile { offset, column, limit: Some(1), ..whole(path) }).unwrap();
            assert!(!format!("{reading:?}").contains("LMR"), "{path} {column}");
        }
    }
}

#[test]
fn an_edit_of_another_encoding_is_refused_with_its_name_and_changes_nothing() {
    let fixture = Fixture::new();
    for (path, content, name) in [
        ("work/wide", utf16("a = 1\n"), "utf-16le"),
        ("work/latin", b"caf\xe9\na = 1\n".to_vec(), "windows-1252"),
        ("work/torn", b"caf\xc3\xa9 \xff\na = 1\n".to_vec(), "UTF-8 with broken places"),
    ] {
        fixture.put(path, &content);
        let failure = fixture.edit(path, &[("a = 1", "a = 2")], false).unwrap_err().0;
        assert_eq!(failure.code, Code::NotText);
        assert!(failure.message.contains(&format!("is {name}, and an edit would write it as UTF-8")), "{failure}");
        assert_eq!(std::fs::read(fixture.path(path)).unwrap(), content);
    }
    // A byte order mark of UTF-8 stays where it is.
    fixture.put("work/marked", "\u{feff}a = 1\n");
    assert_eq!(text(fixture.read("work/marked")), "\u{feff}a = 1\n");
    fixture.edit("work/marked", &[("a = 1", "a = 2")], false).unwrap();
    assert_eq!(fixture.text("work/marked"), "\u{feff}a = 2\n");
}

#[test]
fn a_pdf_file_is_handed_on_whole_and_what_is_no_notebook_is_read_as_it_is() {
    let fixture = Fixture::new();
    fixture.put("work/a.pdf", "%PDF-1.4\nnonsense");
    let reading = fixture.read_lines("work/a.pdf", 7, Some(1)).unwrap();
    assert_eq!((&reading.content, reading.form), (&Content::Pdf(b"%PDF-1.4\nnonsense".to_vec()), Form::Pdf));
    let base64 = fixture.read_as(ReadFile { encoding: Encoding::Base64, ..whole("work/a.pdf") }).unwrap();
    assert_eq!(base64.content, Content::Base64("JVBERi0xLjQKbm9uc2Vuc2U=".to_owned()));
    for other in ["{\"worksheets\": []}", "no json", ""] {
        fixture.put("work/b.ipynb", other);
        let reading = fixture.read("work/b.ipynb").unwrap();
        assert_eq!((reading.content, reading.form), (Content::Text(other.to_owned()), Form::Text));
    }
    // Its name alone makes no file a notebook, and its form alone neither.
    fixture.put("work/c.json", "{\"cells\": []}");
    assert_eq!(fixture.read("work/c.json").unwrap().form, Form::Text);
}
