//! PDF files made by hand, and what is read of them.

use std::fmt::Write as _;

use super::Article;
use super::pdf::{join_page, read_pdf};

/// A PDF file of pages with one line each; its table of objects is right.
fn pdf(lines: &[&str]) -> Vec<u8> {
    let kids = (0..lines.len()).fold(String::new(), |kids, page| kids + &format!("{} 0 R ", 4 + page * 2));
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!("<</Type/Pages/Kids[{kids}]/Count {}>>", lines.len()),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</BaseEncoding/WinAnsiEncoding/Differences[1/fi/fl/ff/ffi/ffl]>>>>"
            .to_owned(),
    ];
    for (page, line) in lines.iter().enumerate() {
        let content = if line.contains(" Tj") { (*line).to_owned() } else { format!("BT /F1 12 Tf 72 720 Td ({line}) Tj ET") };
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents {} 0 R>>",
            5 + page * 2
        ));
        objects.push(stream("", &content));
    }
    file(&objects)
}

/// A PDF file of these objects, with a right table of them; the first is its root.
fn file(objects: &[String]) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (number, object) in (1..).zip(objects) {
        let _ = writeln!(table, "{:010} 00000 n ", file.len());
        file.extend_from_slice(format!("{number} 0 obj\n{object}\nendobj\n").as_bytes());
    }
    let end = format!("{table}trailer<</Size {}/Root 1 0 R>>\nstartxref\n{}\n%%EOF\n", objects.len() + 1, file.len());
    file.extend_from_slice(end.as_bytes());
    file
}

fn stream(head: &str, content: &str) -> String {
    format!("<<{head}/Length {}>>stream\n{content}\nendstream", content.len())
}

/// The words of a page with this content, these resources and these objects, of which the first is the sixth.
fn words(resources: &str, more: &[String], content: &str) -> String {
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[4 0 R]/Count 1/CropBox[0 0 600 790]>>".to_owned(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
        format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>{resources}>>/Contents 5 0 R>>"),
        stream("", &format!("q {content} Q BT /F1 12 Tf 72 720 Td (seen) Tj ET")),
    ];
    objects.extend_from_slice(more);
    let read = whole(&file(&objects)).unwrap_or_else(|why| panic!("{content}: {why}"));
    read.text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn whole(file: &[u8]) -> Result<Article, &'static str> {
    let mut whole = Article::default();
    read_pdf(file, |page| join_page(&mut whole, &page)).map(|()| whole)
}

#[test]
fn text_off_the_page_or_too_small_to_be_read_is_left_out() {
    let at = |place: &str| format!("BT /F1 12 Tf {place} Tm (word) Tj ET");
    for (content, shown) in [
        (at("1 0 0 1 72 500"), true),
        (at("1 0 0 1 605 500"), false),
        (at("1 0 0 1 72 -50"), false),
        (at("1 0 0 1 72 5000"), false),
        (at(".08 0 0 .08 72 500"), false),
        (at(".34 0 0 .34 72 500"), true),
        (at("0 1 -1 0 300 300"), true),
        (at("1 0 0 -1 72 500"), true),
        ("BT /F1 0.1 Tf 72 500 Td (word) Tj ET".to_owned(), false),
        ("BT /F1 1 Tf 9 0 0 9 72 500 Tm (word) Tj ET".to_owned(), true),
        ("BT /F1 12 Tf 14 TL 72 520 Td (word) ' ET".to_owned(), true),
        ("BT /F1 12 Tf 14 TL 72 520 Td 1 2 (word) \" ET".to_owned(), true),
    ] {
        assert_eq!(words("", &[], &content), if shown { "word seen" } else { "seen" }, "{content}");
    }
}

#[test]
fn a_form_stands_where_it_is_drawn() {
    let form = |head: &str, content: &str| stream(&format!("/Type/XObject/Subtype/Form/BBox[0 0 200 100]{head}"), content);
    let text = "BT /F1 12 Tf 10 10 Td (word) Tj ET";
    let objects = [
        form("", text),
        form("/Matrix[.01 0 0 .01 50 50]", text),
        form("", "BT /F1 12 Tf -200 -200 Td (word) Tj ET"),
        form("/Resources<</Font<</F1 12 0 R>>>>", "BT /F1 12 Tf 10 10 Td (\\001) Tj ET"),
        form("", &format!("Q Q q 1 0 0 1 5000 0 cm {text}")),
        form("", "/Self Do"),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</BaseEncoding/WinAnsiEncoding/Differences[1/fi]>>>>".to_owned(),
    ];
    let forms = "/XObject<</Plain 6 0 R/Small 7 0 R/Below 8 0 R/Other 9 0 R/Open 10 0 R/Self 11 0 R>>";
    for (content, expected) in [
        ("/Plain Do", "word seen"),
        ("q 1 0 0 1 300 300 cm /Plain Do Q", "word seen"),
        ("q .01 0 0 .01 50 50 cm /Plain Do Q", "seen"),
        ("/Small Do", "seen"),
        ("q 100 0 0 100 -4900 -4900 cm /Small Do Q", "word seen"),
        ("/Below Do", "seen"),
        ("q 1 0 0 1 300 300 cm /Below Do Q", "word seen"),
        // The two fonts have one name.
        ("q 1 0 0 1 0 300 cm /Other Do Q /Plain Do", "fi word seen"),
        // What a form changes ends with it, also what it leaves open.
        ("/Open Do /Plain Do", "word seen"),
    ] {
        assert_eq!(words(forms, &objects, content), expected, "{content}");
    }
    let plain = format!("/F1 12 Tf BT (before) Tj ET /Self Do {text}");
    assert_eq!(words(forms, &objects, &plain), "before");
}

#[test]
fn colours_states_and_pictures_cost_no_text() {
    let resources = "/ColorSpace<</Lab[/Lab<<>>]/Odd[/Wild 1]/Two[/DeviceN[/A/B]/DeviceCMYK 6 0 R]/Idx[/Indexed/DeviceRGB 1<000000ffffff>]>>\
                     /ExtGState<</S<</Type/Odd/SMask/Odd>>>>/XObject<</Im 7 0 R>>";
    let objects = [
        stream("/FunctionType 4/Domain[0 1]/Range[0 1 0 1 0 1 0 1]", "{0 0 0 4 -1 roll}"),
        stream("/Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray", "BT (x) Tj"),
    ];
    for before in [
        "/Lab cs 100 0 0 sc",
        "/Odd cs 1 sc",
        "/Two cs 0 0 scn",
        "/Idx cs 1 sc",
        "/Missing cs",
        "/Pattern cs /P scn",
        "/S gs",
        "/Im Do",
        "/Missing Do",
        "0 0 9 9 re 1 2 3 4 v f",
        "1 g",
        "3 Tr",
    ] {
        assert_eq!(words(resources, &objects, &format!("{before} BT /F1 12 Tf 72 500 Td (word) Tj ET")), "word seen", "{before}");
    }
}

#[test]
fn ordinary_documents_keep_every_word() {
    let table = "q 0.2 0.3 0.6 rg 50 600 400 24 re f 1 1 1 rg BT /F1 11 Tf 56 607 Td (Head) Tj 100 0 Td (Sum) Tj ET Q \
                 q 50 560 400 24 re W n BT /F1 9 Tf 0 g 1 0 0 1 56 567 Tm [(ro)-20(w)] TJ ET Q";
    let office = "/Artifact BMC EMC /P <</MCID 0>> BDC q 0.000008871 0 595.32 841.92 re W* n BT /F1 11.04 Tf 1 0 0 1 72.024 759.84 Tm 0 g 0 G \
                  [(W)3(ord)] TJ ET Q EMC q 72.024 700 200 18 re W* n BT /F1 11.04 Tf 1 0 0 1 72.024 705 Tm (Cell) Tj ET Q";
    let latex = "BT /F1 9.9626 Tf 148.712 657.235 Td [(In)-333(te)] TJ 0 -11.955 Td [(Foot)] TJ /F1 4.9813 Tf 20 4 Td [(12)] TJ ET \
                 q 1 0 0 1 148.7 130 cm []0 d 0 J 0.398 w 0 0 m 137 0 l S Q BT /F1 4 Tf 150 120 Td (note) Tj ET";
    let cairo = "1 0 0 -1 0 792 cm q 0 0 0 rg BT 9 0 0 -9 40 100 Tm /F1 1 Tf (down) Tj ET Q q 0.24 0 0 0.24 0 0 cm BT 37.5 0 0 -37.5 200 800 Tm \
                 /F1 1 Tf (scaled) Tj ET Q";
    let rotated = "BT /F1 8 Tf 0 1 -1 0 30 300 Tm (arXiv) Tj ET BT /F1 40 Tf .7 .7 -.7 .7 100 100 Tm .9 g (DRAFT) Tj ET";
    let spot = "/CS0 cs 1 scn BT /F1 12 Tf 72 300 Td (brand) Tj ET /CS1 cs 0 sc BT /F1 12 Tf 72 280 Td (index) Tj ET /GS0 gs";
    let resources = "/ColorSpace<</CS0[/Separation/Pantone/DeviceCMYK<</FunctionType 2/Domain[0 1]/C0[0 0 0 0]/C1[0 1 1 0]/N 1>>]\
                     /CS1[/Indexed/DeviceRGB 1<000000ffffff>]>>/ExtGState<</GS0<</Type/ExtGState/SMask<</S/Luminosity>>/BM[/Multiply/Normal]>>>>";
    for (content, expected) in [
        (table, "Head Sum row seen"),
        (office, "Word Cell seen"),
        (latex, "In te Foot12 note seen"),
        (cairo, "down scaled seen"),
        (rotated, "arXiv DRAFT seen"),
        (spot, "brand index seen"),
    ] {
        assert_eq!(words(resources, &[], content), expected, "{content}");
    }
}

#[test]
fn ligatures_are_letters() {
    let file = pdf(&["BT /F1 12 Tf 72 720 Td (\\001ve \\002ies o\\003 e\\004cient ba\\005e) Tj ET"]);
    assert_eq!(whole(&file).unwrap().text, "five flies off efficient baffle\n");
}

#[test]
fn a_broken_page_costs_itself_alone() {
    let read = whole(&pdf(&["one", "BT /None 12 Tf 72 720 Td (lost) Tj ET", "three"])).unwrap();
    assert_eq!((read.text.as_str(), read.truncated), ("one\n\nthree\n", true));
}

#[test]
fn pages_give_their_text_in_order() {
    let read = whole(&pdf(&["The river rose.", "Nobody slept."]));
    assert_eq!(read.map(|article| article.text), Ok("The river rose.\n\nNobody slept.\n".to_owned()));
}

#[test]
fn what_is_no_pdf_or_has_no_text_says_so() {
    assert_eq!(whole(b"%PDF-1.4\nnonsense"), Err("it is encrypted, broken, or no PDF file"));
    assert_eq!(whole(&pdf(&[""])), Err("it holds no text, only pictures of it"));
}

#[test]
fn what_annotations_show_is_given_as_notes() {
    let page = |annotations: &str| {
        let objects = [
            "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
            "<</Type/Pages/Kids[4 0 R]/Count 1>>".to_owned(),
            "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
            format!(
                "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents 5 0 R/Annots[{annotations}]>>"
            ),
            stream("", "BT /F1 12 Tf 72 720 Td (seen) Tj ET"),
            "<</Type/Annot/Subtype/FreeText/Rect[0 0 9 9]/Contents(in another object)>>".to_owned(),
        ];
        whole(&file(&objects)).unwrap().text
    };
    for (annotation, shown) in [
        ("<</Subtype/Text/Contents(a remark)>>", "[note: a remark]"),
        ("<</Subtype/FreeText/Contents<FEFF00E9007400E9>>>", "[note: \u{e9}t\u{e9}]"),
        ("6 0 R", "[note: in another object]"),
        ("<</Subtype/Highlight/Contents(once)>><</Subtype/Popup/Contents(once)>>", "[note: once]"),
        ("<</Subtype/Text/F 2/Contents(kept back)>>", ""),
        ("<</Subtype/FreeText/F 32/Contents(kept back)>>", ""),
        ("<</Subtype/Link/Rect[0 0 1 1]>><</Subtype/Text/Contents()>>99 0 R", ""),
    ] {
        let note = if shown.is_empty() { "seen\n".to_owned() } else { format!("seen\n\n{shown}\n") };
        assert_eq!(page(annotation), note, "{annotation}");
    }
    assert!(page(&"6 0 R ".repeat(100_000)).len() < 100);
}
