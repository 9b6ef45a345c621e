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

/// What of `secret` and `seen` is read of a page with this content, these resources and these objects, of which the first is the sixth.
fn read_page(resources: &str, more: &[String], content: &str) -> (String, String) {
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R/OCProperties<</OCGs[10 0 R 11 0 R]/D<</OFF[10 0 R]>>>>>>".to_owned(),
        "<</Type/Pages/Kids[4 0 R]/Count 1>>".to_owned(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
        format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>{resources}>>/Contents 5 0 R>>"),
        stream("", &format!("q {content} Q BT /F1 12 Tf 72 720 Td (seen) Tj ET")),
    ];
    objects.extend_from_slice(more);
    let read = whole(&file(&objects)).unwrap_or_else(|why| panic!("{content}: {why}"));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    (words(&read.markdown), words(&read.hidden))
}

/// Each row: resources, objects from the sixth on, content with the word `secret`, and whether it is seen.
fn judged(rows: &[(&str, &[String], &str, bool)]) {
    for (resources, more, content, shown) in rows {
        let expected = if *shown { ("secret seen", "") } else { ("seen", "secret") };
        let (markdown, hidden) = read_page(resources, more, content);
        assert_eq!((markdown.as_str(), hidden.as_str()), expected, "{resources} {content} {more:?}");
    }
}

fn whole(file: &[u8]) -> Result<Article, &'static str> {
    let mut whole = Article::default();
    read_pdf(file, |page| join_page(&mut whole, &page)).map(|()| whole)
}

#[test]
fn what_nobody_can_see_is_hidden_text() {
    let seen = "BT /F1 12 Tf 72 720 Td (seen) Tj ET";
    let text = |at: &str| format!("BT /F1 12 Tf {at} Td (secret) Tj ET");
    let dark = "0 g 60 400 200 100 re f 1 g";
    let rows = [
        (format!("q 3 Tr {} Q", text("72 500")), false),
        (format!("3 Tr q {} Q", text("72 500")), false),
        (format!("q 7 Tr Q {}", text("72 500")), true),
        (format!("1 g {}", text("72 500")), false),
        (format!("1 1 1 rg {}", text("72 500")), false),
        (format!("0 0 0 0 k {}", text("72 500")), false),
        (format!("/DeviceRGB cs 0.99 1 1 sc {}", text("72 500")), false),
        (format!("/DeviceGray cs {}", text("72 500")), true),
        (format!("q 1 g Q {}", text("72 500")), true),
        (format!("0.5 g {}", text("72 500")), true),
        (format!("{dark} {}", text("72 440")), true),
        (format!("{dark} {}", text("72 600")), false),
        (format!("{dark} 60 400 200 100 re f {}", text("72 440")), false),
        (format!("1 g 0 0 612 792 re f* 0 g {}", text("72 440")), true),
        ("BT /F1 0.1 Tf 72 500 Td (secret) Tj ET".to_owned(), false),
        ("BT /F1 1 Tf 0.1 0 0 0.1 72 500 Tm (secret) Tj ET".to_owned(), false),
        ("BT /F1 1 Tf 9 0 0 9 72 500 Tm (secret) Tj ET".to_owned(), true),
        ("BT /F1 1 Tf 0 9 -9 0 72 500 Tm (secret) Tj ET".to_owned(), true),
        (text("700 500"), false),
        (text("72 -50"), false),
        (text("72 5000"), false),
        ("BT /F1 12 Tf 14 TL 72 520 Td (secret) ' ET".to_owned(), true),
    ];
    for (content, shown) in rows {
        // The order of the two is that of the file; its state at the end of one is that of the next.
        let read = whole(&pdf(&[&format!("q {content} Q {seen}")])).unwrap();
        let expected = if shown { ("secret seen", "") } else { ("seen", "secret") };
        let words = read.markdown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!((words.as_str(), read.hidden.as_str()), expected, "{content}");
    }
}

#[test]
fn a_form_stands_where_it_is_drawn_and_is_cut_to_its_box() {
    let text = "BT /F1 12 Tf 10 10 Td (secret) Tj ET";
    let form =
        |head: &str, content: &str| vec![stream(&format!("/Type/XObject/Subtype/Form{head}/Resources<</Font<</F1 3 0 R>>>>"), content)];
    let (plain, tiny) = (form("/BBox[0 0 200 100]", text), form("/BBox[0 0 200 100]/Matrix[.01 0 0 .01 50 50]", text));
    let (away, cut) = (form("/BBox[0 0 200 100]/Matrix[1 0 0 1 5000 0]", text), form("/BBox[0 0 1 1]", text));
    let below = form("/BBox[-300 -300 0 0]", "BT /F1 12 Tf -200 -200 Td (secret) Tj ET");
    let greedy = form("/BBox[0 0 200 100]", &format!("Q Q 1 g q {text}"));
    let bare = vec![stream("/Type/XObject/Subtype/Form/BBox[0 0 200 100]", &format!("/P gs {text}"))];
    let forms = "/XObject<</X 6 0 R>>/ExtGState<</P<</ca 0>>>>";
    judged(&[
        (forms, &plain, "/X Do", true),
        (forms, &plain, "q 1 0 0 1 300 300 cm /X Do Q", true),
        (forms, &tiny, "/X Do", false),
        (forms, &away, "/X Do", false),
        (forms, &cut, "/X Do", false),
        (forms, &plain, "q .01 0 0 .01 50 50 cm /X Do Q", false),
        (forms, &tiny, "q 100 0 0 100 50 50 cm /X Do Q", false),
        (forms, &tiny, "q 100 0 0 100 -4900 -4900 cm /X Do Q", true),
        (forms, &below, "q 1 0 0 1 300 300 cm /X Do Q", true),
        (forms, &below, "/X Do", false),
        (forms, &plain, "3 Tr /X Do", false),
        (forms, &plain, "1 g /X Do", false),
        (forms, &greedy, "0 g q /X Do Q", false),
        (forms, &bare, "/X Do", false),
    ]);
    // What a form changes ends with it, also what it leaves open.
    assert_eq!(read_page(forms, &greedy, "0 g /X Do BT /F1 12 Tf 72 400 Td (more) Tj ET"), ("more seen".to_owned(), "secret".to_owned()));
}

#[test]
fn letters_that_are_dots_or_lines_are_hidden_and_small_print_is_not() {
    let at = |matrix: &str| format!("BT /F1 12 Tf {matrix} Tm (secret) Tj ET");
    let states = "/ExtGState<</S<</Font[3 0 R .1]>>/L<</Font[3 0 R 12]>>>>";
    for (matrix, shown) in [
        (".1 0 0 1 72 500", false),
        ("1 0 0 .1 72 500", false),
        (".08 0 0 .8 72 500", false),
        ("1 0 .99 .01 72 500", false),
        (".4 0 0 .4 72 500", true),
        (".34 0 0 .34 72 500", true),
        (".6 0 0 1 72 500", true),
        ("0 1 -1 0 300 300", true),
        ("0 -1 1 0 300 300", true),
        (".7 .7 -.7 .7 300 300", true),
        ("1 0 .3 1 72 500", true),
        ("1 0 0 -1 72 500", true),
    ] {
        judged(&[("", &[], &at(matrix), shown)]);
    }
    judged(&[
        ("", &[], "BT /F1 12 Tf 5 Tz 72 500 Td (secret) Tj ET", false),
        ("", &[], "BT /F1 12 Tf 60 Tz 72 500 Td (secret) Tj ET", true),
        (states, &[], "BT /F1 12 Tf /S gs 72 500 Td (secret) Tj ET", false),
        (states, &[], "BT /F1 .1 Tf /L gs 72 500 Td (secret) Tj ET", true),
        (states, &[], "/L gs BT 72 500 Td (secret) Tj ET", true),
    ]);
}

#[test]
fn white_is_white_in_every_space_of_colours() {
    let exponential = "<</FunctionType 2/Domain[0 1]/C0[0 0 0 0]/C1[0 0 0 1]/N 1>>";
    let inverse = "<</FunctionType 2/Domain[0 1]/C0[0 0 0 1]/C1[0 0 0 0]/N 1>>";
    let spaces = format!(
        "/ColorSpace<</Lab[/Lab<</WhitePoint[.9 1 1]>>]/Spot[/Separation/Ink/DeviceCMYK {exponential}]/Odd[/Separation/Ink/DeviceCMYK {inverse}]\
         /Calc[/Separation/Ink/DeviceCMYK 6 0 R]/None[/Separation/None/DeviceCMYK {exponential}]/Two[/DeviceN[/A/B]/DeviceCMYK 6 0 R]\
         /ICC[/ICCBased 7 0 R]/Idx[/Indexed/DeviceRGB 1<000000ffffff>]/IdxS[/Indexed[/ICCBased 7 0 R]1 8 0 R]/Short/DeviceCMYK/Odder[/Wild 1 2]\
         /Cal[/CalRGB<</WhitePoint[.9 1 1]>>]/Under[/Pattern/DeviceRGB]>>\
         /Pattern<</White 9 0 R/Dark 12 0 R/Empty 13 0 R/Bare 14 0 R/Pale<</PatternType 2/Shading<</ShadingType 2/ColorSpace/DeviceGray\
         /Coords[0 0 1 1]/Function<</FunctionType 2/Domain[0 1]/C0[1]/C1[1]/N 1>>>>>>/Fade<</PatternType 2/Shading<</ShadingType 2\
         /ColorSpace/DeviceGray/Coords[0 0 1 1]/Function<</FunctionType 2/Domain[0 1]/C0[1]/C1[0]/N 1>>>>>>>>"
    );
    let tiling = |paint: u8, content: &str| {
        stream(&format!("/PatternType 1/PaintType {paint}/TilingType 1/BBox[0 0 9 9]/XStep 9/YStep 9/Resources<<>>"), content)
    };
    let objects = [
        stream("/FunctionType 4/Domain[0 1]/Range[0 1 0 1 0 1 0 1]", "{0 0 0 4 -1 roll}"),
        stream("/N 3", "profile"),
        stream("", "\0\0\0~~~"),
        tiling(1, "1 1 1 rg 0 0 9 9 re f"),
        "<</Type/OCG/Name(off)>>".to_owned(),
        "<</Type/OCG/Name(on)>>".to_owned(),
        tiling(1, "1 0 0 rg 0 0 9 9 re f"),
        tiling(1, "0 0 9 9 re n"),
        tiling(2, "0 0 9 9 re f"),
    ];
    for (color, shown) in [
        ("/Lab cs 100 0 0 sc", false),
        ("/Lab cs 40 0 0 sc", true),
        ("/Lab cs 97 90 90 sc", true),
        ("/Spot cs 0 scn", false),
        ("/Spot cs 1 scn", true),
        ("/Spot cs", true),
        ("/Odd cs 1 scn", false),
        ("/Odd cs 0 scn", true),
        ("/Calc cs 0 scn", false),
        ("/Calc cs .8 scn", true),
        ("/None cs 1 scn", false),
        ("/Two cs 0 0 scn", false),
        ("/Two cs 0 1 scn", true),
        ("/ICC cs 1 1 1 scn", false),
        ("/ICC cs 0 0 0 scn", true),
        ("/Cal cs 1 1 1 scn", false),
        ("/Idx cs 1 sc", false),
        ("/Idx cs 0 sc", true),
        ("/Idx cs", true),
        ("/IdxS cs 0 sc", true),
        ("/IdxS cs 1 sc", true),
        ("/IdxS cs 9 sc", true),
        ("/Short cs 0 0 0 0 sc", false),
        ("/Short cs 0 0 0 1 sc", true),
        ("/Odder cs 1 sc", true),
        ("/Missing cs 1 sc", true),
        ("/Pattern cs /White scn", false),
        ("/Pattern cs /Dark scn", true),
        ("/Pattern cs /Empty scn", false),
        ("/Pattern cs /Pale scn", false),
        ("/Pattern cs /Fade scn", true),
        ("/Pattern cs /Missing scn", true),
        ("/Under cs 1 1 1 /Bare scn", false),
        ("/Under cs 1 0 0 /Bare scn", true),
        ("1 g q 0 g Q", false),
        ("/Lab cs 100 0 0 sc 0 g", true),
    ] {
        judged(&[(&spaces, &objects, &format!("{color} BT /F1 12 Tf 72 500 Td (secret) Tj ET"), shown)]);
    }
}

#[test]
fn letters_are_seen_by_the_ink_of_their_render_mode() {
    let states = "/ExtGState<</C<</ca 0>>/H<</ca .5>>/N<</BM/Normal/SMask/None>>/S<</CA .01>>>>";
    for (before, shown) in [
        ("1 Tr 1 G 0 g", false),
        ("1 Tr 0 G 1 g", true),
        ("5 Tr 1 1 1 RG", false),
        ("2 Tr 1 G 1 g", false),
        ("2 Tr 0 G 1 g", true),
        ("2 Tr 1 G 0 g", true),
        ("6 Tr 1 G 1 g", false),
        ("1 Tr /DeviceGray CS 1 SC", false),
        ("4 Tr 1 g", false),
        ("4 Tr 0 g", true),
        ("/C gs", false),
        ("/C gs /N gs", false),
        ("/H gs", true),
        ("/S gs", true),
        ("1 Tr /S gs", false),
        ("/Missing gs", true),
    ] {
        judged(&[(states, &[], &format!("{before} BT /F1 12 Tf 72 500 Td (secret) Tj ET"), shown)]);
    }
}

#[test]
fn what_lies_below_or_outside_is_hidden() {
    let text = "BT /F1 12 Tf 72 500 Td (secret) Tj ET";
    let states = "/ExtGState<</H<</ca .5>>/M<</BM/Multiply>>>>";
    for (content, shown) in [
        (format!("{text} 0 g 60 490 200 30 re f"), false),
        (format!("{text} 1 g 60 490 200 30 re f"), false),
        (format!("{text} 0 g 60 490 m 260 490 l 260 520 l 60 520 l h f*"), false),
        (format!("{text} 0 g 60 490 200 30 re B"), false),
        (format!("{text} 0 g 60 590 200 30 re f"), true),
        (format!("{text} 60 490 200 30 re S"), true),
        (format!("{text} 60 490 200 30 re n"), true),
        (format!("{text} /H gs 1 1 0 rg 60 490 200 30 re f"), true),
        (format!("{text} /M gs 1 1 0 rg 60 490 200 30 re f"), true),
        (format!("{text} q 0 0 9 9 re W n 0 g 0 0 612 792 re f Q"), true),
        (format!("{text} q 0 0 m 9 0 l 400 700 l h W n 0 g 0 0 612 792 re f Q"), true),
        (format!("{text} 0 g 0 0 m 612 0 l 306 792 l f"), true),
        (format!("0 g 60 490 200 30 re f 1 g {text}"), true),
        (format!("0 G 30 w 60 505 m 300 505 l S 1 g {text}"), true),
        (format!("0 G 1 w 60 505 m 300 505 l S 1 g {text}"), false),
        (format!("60 490 200 30 re W n {text}"), true),
        (format!("71 498 60 10 re W* n {text}"), true),
        (format!("72 500 0 0 re W n {text}"), false),
        (format!("300 500 9 9 re W n {text}"), false),
        (format!("0 0 9 9 re W n 60 490 200 30 re W n {text}"), false),
        (format!("W n {text}"), true),
        (format!("7 Tr {text}"), false),
        (format!("7 Tr {text} 0 g 60 490 200 30 re f"), true),
        (format!("7 Tr {text} 1 g 60 490 200 30 re f"), false),
        (format!("q 7 Tr {text} Q 0 g 60 490 200 30 re f"), false),
        (format!("7 Tr {text} /Sh sh"), true),
        (format!("7 Tr {text} 72 500 0 0 re W n"), false),
    ] {
        judged(&[(states, &[], &content, shown)]);
    }
}

#[test]
fn a_layer_that_is_off_is_hidden() {
    let text = "BT /F1 12 Tf 10 10 Td (secret) Tj ET";
    let form = |layer: &str| stream(&format!("/Type/XObject/Subtype/Form/BBox[0 0 200 100]{layer}/Resources<</Font<</F1 3 0 R>>>>"), text);
    let objects = [
        form("/OC 10 0 R"),
        form("/OC 11 0 R"),
        form(""),
        "null".to_owned(),
        "<</Type/OCG/Name(off)>>".to_owned(),
        "<</Type/OCG/Name(on)>>".to_owned(),
    ];
    let resources = "/XObject<</Off 6 0 R/On 7 0 R/Any 8 0 R>>/Properties<</Off 10 0 R/On 11 0 R/All<</Type/OCMD/OCGs[10 0 R 11 0 R]/P/AllOn>>\
                     /Some<</Type/OCMD/OCGs[10 0 R 11 0 R]>>/One<</Type/OCMD/OCGs 10 0 R>>/None<</Type/OCMD/OCGs[11 0 R]/P/AllOff>>>>";
    for (content, shown) in [
        ("/Off Do".to_owned(), false),
        ("/On Do".to_owned(), true),
        ("/OC /Off BDC /Any Do EMC".to_owned(), false),
        ("/OC /On BDC /Any Do EMC".to_owned(), true),
        (format!("/OC /Off BDC {text} EMC"), false),
        (format!("/OC /Off BDC /Span BMC EMC {text} EMC"), false),
        (format!("/OC /Off BDC EMC {text}"), true),
        (format!("/OC /On BDC {text} EMC"), true),
        (format!("/OC /All BDC {text} EMC"), false),
        (format!("/OC /Some BDC {text} EMC"), true),
        (format!("/OC /One BDC {text} EMC"), false),
        (format!("/OC /None BDC {text} EMC"), false),
        (format!("/OC /Missing BDC {text} EMC"), true),
        (format!("/Span <</Lang(en)>> BDC {text} EMC"), true),
        (format!("{text} /OC /Off BDC 0 g 0 0 300 100 re f EMC"), true),
    ] {
        judged(&[(resources, &objects, &content, shown)]);
    }
}

#[test]
fn what_a_scanner_read_is_text_wherever_its_picture_is_painted() {
    let words = "secret ".repeat(20);
    let text = |mode: u8| format!("BT {mode} Tr /F1 9 Tf 20 500 Td ({words}) Tj ET");
    let picture = [stream("/Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray", "x")];
    let mask = [stream("/Type/XObject/Subtype/Image/Width 1/Height 1/ImageMask true", "x")];
    let whole = "q 612 0 0 792 0 0 cm /Im Do Q";
    for (content, picture, shown) in [
        (format!("{whole} {}", text(3)), &picture, true),
        (format!("{} {whole}", text(3)), &picture, true),
        (format!("{} {whole}", text(0)), &picture, true),
        (format!("{} {whole}", text(0)), &mask, true),
        (format!("{} q 9 0 0 9 0 0 cm /Im Do Q", text(3)), &picture, false),
    ] {
        let (markdown, hidden) = read_page("/XObject<</Im 6 0 R>>", picture, &content);
        assert_eq!((markdown.contains("secret"), hidden.contains("secret")), (shown, !shown), "{content}");
    }
}

/// Content as producers of documents write it: all of it is seen.
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
    for (content, words) in [
        (table, "Head Sum row seen"),
        (office, "Word Cell seen"),
        (latex, "In te Foot12 note seen"),
        (cairo, "down scaled seen"),
        (rotated, "arXiv DRAFT seen"),
        (spot, "brand index seen"),
    ] {
        assert_eq!(read_page(resources, &[], content), (words.to_owned(), String::new()), "{content}");
    }
}

#[test]
fn ligatures_are_letters() {
    let file = pdf(&["BT /F1 12 Tf 72 720 Td (\\001ve \\002ies o\\003 e\\004cient ba\\005e) Tj ET"]);
    assert_eq!(whole(&file).unwrap().markdown, "five flies off efficient baffle\n");
}

#[test]
fn a_broken_page_costs_itself_alone() {
    let read = whole(&pdf(&["one", "BT /None 12 Tf 72 720 Td (lost) Tj ET", "three"])).unwrap();
    assert_eq!((read.markdown.as_str(), read.truncated), ("one\n\nthree\n", true));
}

#[test]
fn pages_give_their_text_in_order() {
    let read = whole(&pdf(&["The river rose.", "Nobody slept."]));
    assert_eq!(read.map(|article| article.markdown), Ok("The river rose.\n\nNobody slept.\n".to_owned()));
}

#[test]
fn what_is_no_pdf_or_has_no_text_says_so() {
    assert_eq!(whole(b"%PDF-1.4\nnonsense"), Err("it is encrypted, broken, or no PDF file"));
    assert_eq!(whole(&pdf(&[""])), Err("it holds no text, only pictures of it"));
}

#[test]
fn what_annotations_say_is_told_as_notes_and_what_they_hide_as_hidden() {
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
        let read = whole(&file(&objects)).unwrap();
        (read.markdown, read.hidden)
    };
    for (annotation, shown, hidden) in [
        ("<</Subtype/Text/Contents(a remark)>>", "[note: a remark]", ""),
        ("<</Subtype/FreeText/Contents<FEFF00E9007400E9>>>", "[note: \u{e9}t\u{e9}]", ""),
        ("6 0 R", "[note: in another object]", ""),
        ("<</Subtype/Highlight/Contents(once)>><</Subtype/Popup/Contents(once)>>", "[note: once]", ""),
        ("<</Subtype/Text/F 2/Contents(kept back)>>", "", "kept back"),
        ("<</Subtype/FreeText/F 32/Contents(kept back)>>", "", "kept back"),
        ("<</Subtype/Link/Rect[0 0 1 1]>><</Subtype/Text/Contents()>>99 0 R", "", ""),
    ] {
        let note = if shown.is_empty() { "seen\n".to_owned() } else { format!("seen\n\n{shown}\n") };
        assert_eq!(page(annotation), (note, if hidden.is_empty() { String::new() } else { format!("\n{hidden}\n") }), "{annotation}");
    }
    assert!(page(&"6 0 R ".repeat(100_000)).0.len() < 100);
}

#[test]
fn words_in_the_colour_of_their_ground_or_under_a_line_a_shading_or_a_mask_are_hidden() {
    let text = "BT /F1 12 Tf 72 500 Td (secret) Tj ET";
    let mask = |content: &str, more: &str| {
        let group = stream("/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Group<</S/Transparency/CS/DeviceGray>>", content);
        let state = format!("<</SMask<</S/Luminosity/G 6 0 R{more}>>>>");
        vec![group, state]
    };
    let (nothing, light, lit) = (mask("", ""), mask("1 g 0 0 612 792 re f", ""), mask("", "/BC[1]"));
    let gs = "/ExtGState<</G0 7 0 R>>";
    let shading = |more: &str| {
        format!(
            "/Shading<</S1<</ShadingType 2/ColorSpace/DeviceGray/Coords[0 0 1 0]{more}/Function<</FunctionType 2/Domain[0 1]/C0[1]/C1[1]/N 1>>>>>>"
        )
    };
    let (over, part) = (shading("/Extend[true true]"), shading(""));
    let shaded = format!("{text} q 60 490 500 40 re W n /S1 sh Q");
    let small = |size: f64| format!("BT /F1 {size} Tf 72 500 Td (secret) Tj ET");
    let plain: Vec<(String, bool)> = vec![
        (format!("0 g 60 490 500 40 re f {text}"), false),
        (format!("60 490 500 40 re f {text}"), false),
        (format!("0 0 1 rg 60 490 500 40 re f {text}"), false),
        (format!("0 0 1 rg 60 490 500 40 re f 0.02 0 0.98 rg {text}"), false),
        (format!("0.9 g 0 0 612 792 re f {text}"), false),
        (format!("0 0 0 1 k 60 490 500 40 re f 0 g {text}"), false),
        (format!("0 0 1 rg 60 490 500 40 re f 1 g {text}"), true),
        (format!("0 0 1 rg 60 490 500 40 re f 0 g {text}"), true),
        (format!("1 1 0 rg 60 490 500 40 re f 0 g {text}"), true),
        (format!("0 g 60 490 500 40 re f 0.5 g 70 495 300 30 re f 0 g {text}"), true),
        (format!("0 g 60 503 500 0.5 re f {text}"), true),
        (format!("0 g 60 300 500 40 re f {text}"), true),
        (format!("0 g 60 490 m 560 490 l 60 620 l f {text}"), true),
        (format!("{text} 1 G 60 w 60 505 m 560 505 l S"), false),
        (format!("{text} 1 G 60 w 100 400 m 100 600 l S"), false),
        (format!("{text} [3 20] 0 d 1 G 60 w 60 505 m 560 505 l S"), true),
        (format!("{text} 1 G 60 w 300 505 m 560 505 l S"), true),
        (format!("{text} 1 G 60 w 300 300 m 560 505 l S"), true),
        (small(1.0), false),
        (small(4.0), true),
    ];
    let mut rows: Vec<(&str, &[String], &str, bool)> =
        plain.iter().map(|(content, shown)| ("", &[][..], content.as_str(), *shown)).collect();
    let masked = format!("q /G0 gs {text} Q");
    rows.extend([(gs, &nothing[..], masked.as_str(), false), (gs, &light, &masked, true), (gs, &lit, &masked, true)]);
    rows.extend([(over.as_str(), &[][..], shaded.as_str(), false), (&part, &[], &shaded, true)]);
    judged(&rows);
}
