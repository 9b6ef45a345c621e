//! Readers of hostile pages: what they may do, what ends them, and that nothing else ends with them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flate2::write::ZlibEncoder;
use flate2::{Compress, Compression, FlushCompress};
use tempfile::TempDir;
use toolgate::model::Code;
use toolgate::sandbox::pages::{Job, Readers, Source};
use toolgate::sandbox::processes::below;
use toolgate::sandbox::programs::Client;
use toolgate_page::{Format, Mode};

const LONG: Duration = Duration::from_mins(2);

/// Readers whose processes are told from those of other tests by the name of their program.
struct Own {
    readers: Readers,
    folder: TempDir,
}

impl std::ops::Deref for Own {
    type Target = Readers;

    fn deref(&self) -> &Readers {
        &self.readers
    }
}

impl Own {
    fn helper(&self) -> PathBuf {
        self.folder.path().join("helper")
    }

    /// The process that starts jails, where it runs.
    fn spawner(&self) -> Option<u32> {
        let name = self.helper().into_os_string().into_encoded_bytes();
        children(std::process::id())
            .into_iter()
            .find(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default().starts_with(&name))
    }

    /// The readers that run, those that wait among them.
    fn running(&self) -> Vec<u32> {
        self.spawner().into_iter().flat_map(readers_below).collect()
    }

    /// The one reader that has a page, held before it has answered.
    async fn held(&self) -> u32 {
        held(|| self.running()).await
    }
}

fn readers() -> Own {
    let folder = tempfile::tempdir().unwrap();
    let helper = folder.path().join("helper");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_toolgate"), &helper).unwrap();
    Own { readers: Readers::new(Arc::new(Client::new(helper))), folder }
}

fn readers_below(spawner: u32) -> Vec<u32> {
    let is_reader = |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default().ends_with(b"\0__reader\0");
    below(spawner).into_iter().filter(|pid| is_reader(pid) && !is_dead(*pid)).collect()
}

fn job(source: Source) -> Job {
    Job { source, mode: Mode::Article, format: Format::Markdown, content_type: None, base: Some("https://a.example/d/".to_owned()) }
}

async fn read(readers: &Readers, source: Source, bytes: &[u8]) -> Result<String, Code> {
    readers.read(&job(source), bytes, LONG).await.map(|article| article.text).map_err(|failure| failure.0.code)
}

fn status(pid: u32, field: &str) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let lines = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).unwrap());
    lines.map(|text| text.lines().find_map(|line| line.strip_prefix(field)).unwrap().trim().to_owned()).collect()
}

/// Gone, or dead and not yet taken away.
fn is_dead(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

/// The living processes that `pid` has started.
fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let all: Vec<u32> = lists.flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>()).collect();
    all.into_iter().filter(|pid| !is_dead(*pid)).collect()
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_mins(1), "{what} did not come about");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn signal(pid: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

/// A page that keeps its reader busy long enough to be held over it.
fn tangled() -> Vec<u8> {
    ("<div>".repeat(500) + &"<p>word <b>more</b></p>".repeat(6_000)).into_bytes()
}

/// Whether a reader has its page.
fn has_page(reader: u32) -> bool {
    std::fs::read_link(format!("/proc/{reader}/fd/0")).is_ok_and(|path| path.to_string_lossy().starts_with("/memfd:"))
}

/// The one of these readers that has a page, held before it has answered.
async fn held(readers: impl Fn() -> Vec<u32>) -> u32 {
    let is_held =
        |reader: u32| std::fs::read_to_string(format!("/proc/{reader}/status")).is_ok_and(|status| status.contains("\nState:\tT"));
    let held = || {
        let with_page = readers().into_iter().find(|reader| has_page(*reader))?;
        if !is_held(with_page) {
            let _ = Command::new("kill").args(["-STOP", &with_page.to_string()]).stderr(Stdio::null()).status();
        }
        Some(with_page).filter(|reader| is_held(*reader))
    };
    until("a reader with a page", || held().is_some()).await;
    held().unwrap()
}

#[tokio::test]
async fn pages_feeds_and_files_are_read_and_nothing_runs_before_the_first_or_after_the_end() {
    let readers = readers();
    assert_eq!(readers.spawner(), None);
    assert_eq!(read(&readers, Source::Html, b"<p>a <a href=b>b</a>").await, Ok("a [b](https://a.example/d/b)\n".to_owned()));
    let feed = b"<rss version='2.0'><channel><title>N</title><item><title>i</title></item></channel></rss>";
    assert_eq!(read(&readers, Source::Feed, feed).await, Ok("# N\n\n## i\n".to_owned()));
    assert_eq!(read(&readers, Source::Pdf, b"no pdf").await, Err(Code::Unreadable));
    assert_eq!(read(&readers, Source::Html, "<meta charset=gbk>x".as_bytes()).await, Ok("x\n".to_owned()));
    let spawner = readers.spawner().unwrap();
    readers.close().await;
    assert!(readers.spawner().is_none() && is_dead(spawner));
}

#[tokio::test]
async fn a_reader_can_open_nothing_and_win_nothing() {
    let readers = readers();
    let page = tangled();
    let look = async {
        let reader = readers.held().await;
        for (field, expected) in
            [("NoNewPrivs:", "1"), ("CapEff:", "0000000000000000"), ("CapPrm:", "0000000000000000"), ("CapBnd:", "0000000000000000")]
        {
            assert!(status(reader, field).iter().all(|found| found == expected), "{field} {:?}", status(reader, field));
        }
        assert_eq!(std::fs::read(format!("/proc/{reader}/environ")).unwrap(), b"MALLOC_ARENA_MAX=1\0");
        let open = std::fs::read_dir(format!("/proc/{reader}/fd")).unwrap().map(|fd| fd.unwrap().file_name());
        assert_eq!(open.collect::<Vec<_>>(), ["0", "1", "2"]);
        let limits = std::fs::read_to_string(format!("/proc/{reader}/limits")).unwrap();
        let limit =
            |name: &str| limits.lines().find_map(|line| line.strip_prefix(name)).unwrap().split_whitespace().next().unwrap().to_owned();
        let bounds = ["Max open files", "Max file size", "Max address space", "Max core file size"].map(limit);
        assert_eq!(bounds, ["64", "0", "1073741824", "0"]);
        reader
    };
    let reader = tokio::select! {
        told = read(&readers, Source::Html, &page) => panic!("{told:?}"),
        reader = look => reader,
    };
    until("the death of a reader that nobody waits for", || is_dead(reader)).await;
    readers.close().await;
}

#[tokio::test]
async fn every_page_has_a_reader_of_its_own_which_is_gone_with_it() {
    let readers = readers();
    let page = tangled();
    let look = async {
        let first = readers.held().await;
        assert_eq!(read(&readers, Source::Html, b"<p>y").await, Ok("y\n".to_owned()), "one page does not wait for another");
        until("the second reader to be gone", || readers.running().into_iter().all(|reader| reader == first || !has_page(reader))).await;
        signal(first, "-CONT");
        first
    };
    let (told, first) = tokio::join!(read(&readers, Source::Html, &page), look);
    assert!(told.unwrap().contains("word"));
    until("the first reader to be gone", || is_dead(first)).await;
    readers.close().await;
}

#[tokio::test]
async fn one_reader_waits_once_a_page_is_on_its_way_and_is_taken_for_it() {
    let readers = readers();
    readers.prepare().await;
    until("a reader that waits", || readers.running().len() == 1).await;
    let page = tangled();
    // Whether one is ready to be taken cannot be seen from outside.
    for round in 0.. {
        assert!(round < 20, "none that waited was taken");
        let waiting = readers.running();
        let hold = async {
            let reader = readers.held().await;
            signal(reader, "-CONT");
            reader
        };
        let (told, reader) = tokio::join!(read(&readers, Source::Html, &page), hold);
        assert!(told.unwrap().contains("word"));
        if waiting.contains(&reader) {
            break;
        }
    }
    readers.close().await;
}

#[tokio::test]
async fn a_page_that_takes_too_long_is_killed_and_the_next_one_is_read() {
    let readers = readers();
    let page = tangled();
    let (job, patience) = (job(Source::Html), Duration::from_secs(10));
    let (late, reader) = tokio::join!(readers.read(&job, &page, patience), readers.held());
    assert_eq!(late.map_err(|failure| failure.0.code), Err(Code::Timeout));
    until("the death of the reader", || is_dead(reader)).await;
    assert_eq!(read(&readers, Source::Html, b"<p>next").await, Ok("next\n".to_owned()));
    readers.close().await;
}

#[tokio::test]
async fn the_emergency_stop_ends_readers_with_and_without_a_page() {
    let readers = readers();
    let page = tangled();
    let stop = async {
        let reader = readers.held().await;
        let all = readers.running();
        readers.stop().await;
        assert!(all.contains(&reader));
        all
    };
    let (told, all) = tokio::join!(read(&readers, Source::Html, &page), stop);
    assert_eq!(told, Err(Code::Killed));
    until("the death of all", || all.iter().all(|reader| is_dead(*reader))).await;
    assert_eq!(read(&readers, Source::Html, b"<p>z").await, Ok("z\n".to_owned()), "a later page begins anew");
    readers.close().await;
}

#[tokio::test]
async fn deep_wide_and_endless_markup_cost_their_page_alone() {
    let readers = readers();
    let wide = (0..200_000).fold(String::from("<p"), |wide, n| wide + " a" + &n.to_string() + "=x") + ">told";
    for (name, page) in [
        ("depth", "<div>".repeat(50_000) + "told"),
        ("formats", "<b><i><font>".repeat(50_000) + "told"),
        ("tables", "<table><tr><td>".repeat(50_000) + "told"),
        ("attributes", wide),
        ("lists", "<ul><li>".repeat(50_000) + "told"),
    ] {
        assert!(read(&readers, Source::Html, page.as_bytes()).await.unwrap().contains("told"), "{name}");
    }
    readers.close().await;
}

/// A PDF file whose only page inflates, twice, to gigabytes.
fn pdf_bomb() -> Vec<u8> {
    let mut inner = vec![0x78, 0xda];
    let mut deflate = Compress::new(Compression::best(), false);
    let mut block = Vec::with_capacity(1 << 20);
    deflate.compress_vec(&vec![b' '; 16 << 20], &mut block, FlushCompress::Full).unwrap();
    inner.extend(block.repeat(256));
    let mut outer = ZlibEncoder::new(Vec::new(), Compression::best());
    outer.write_all(&inner).unwrap();
    let stream = outer.finish().unwrap();
    let mut file = b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>\nendobj\n".to_vec();
    file.extend(format!("4 0 obj\n<</Filter[/FlateDecode/FlateDecode]/Length {}>>stream\n", stream.len()).bytes());
    file.extend(stream);
    file.extend(b"\nendstream\nendobj\n");
    let table = file.len();
    file.extend(b"xref\n0 5\n0000000000 65535 f \n");
    for number in 1..=4 {
        let at = file.windows(7).position(|seven| seven == format!("{number} 0 obj").as_bytes()).unwrap();
        file.extend(format!("{at:010} 00000 n \n").bytes());
    }
    file.extend(format!("trailer<</Size 5/Root 1 0 R>>\nstartxref\n{table}\n%%EOF\n").bytes());
    file
}

#[tokio::test]
async fn a_file_that_inflates_to_gigabytes_ends_its_reader_and_nothing_else() {
    let readers = readers();
    let bomb = pdf_bomb();
    assert!(bomb.len() < 1 << 20, "{} bytes", bomb.len());
    assert_eq!(read(&readers, Source::Pdf, &bomb).await, Err(Code::Unreadable));
    assert_eq!(read(&readers, Source::Html, b"<p>next").await, Ok("next\n".to_owned()));
    readers.close().await;
}

/// A PDF file of these objects, the first of which is its root.
fn pdf(objects: &[String]) -> Vec<u8> {
    let mut file = "%PDF-1.5\n".to_owned();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (number, object) in objects.iter().enumerate() {
        let _ = writeln!(table, "{:010} 00000 n ", file.len());
        let _ = writeln!(file, "{} 0 obj\n{object}\nendobj", number + 1);
    }
    let at = file.len();
    (file + &format!("{table}trailer<</Size {}/Root 1 0 R>>\nstartxref\n{at}\n%%EOF\n", objects.len() + 1)).into_bytes()
}

/// A PDF file of one page with this content and these further resources and objects (from the sixth on).
fn pdf_page(content: &str, filter: &str, resources: &str, more: &[String]) -> Vec<u8> {
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Resources<</Font<</F1 4 0 R>>{resources}>>/Contents 5 0 R>>"),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
        format!("<</Length {}{filter}>>stream\n{content}\nendstream", content.len()),
    ];
    objects.extend_from_slice(more);
    pdf(&objects)
}

#[tokio::test]
async fn files_that_are_built_to_break_their_parser_cost_one_answer_each() {
    let readers = readers();
    let text = "BT /F1 12 Tf 1 1 Td (told) Tj ET";
    assert_eq!(read(&readers, Source::Pdf, &pdf_page(text, "", "", &[])).await, Ok("told\n".to_owned()));
    let pages = |kids: &str| vec!["<</Type/Catalog/Pages 2 0 R>>".to_owned(), format!("<</Type/Pages/Kids[{kids}]/Count 2>>")];
    let grows = (2..11).map(|n| format!("<</Type/Pages/Kids[{}]/Count 9>>", format!("{} 0 R ", n + 1).repeat(10)));
    let form = "<</Length 5/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>>>stream\n/X Do\nendstream".to_owned();
    let map = "1 beginbfrange <00000000><ffffffff><0041> endbfrange endcmap";
    let wide = "/ToUnicode 7 0 R/Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[<</Type/Font/Subtype/CIDFontType2/BaseFont/X/W[0 2000000000 500]>>]";
    for (name, file) in [
        ("a tree of pages that holds itself", pdf(&pages("2 0 R 2 0 R"))),
        ("a tree of pages that grows tenfold", pdf(&pages("3 0 R").into_iter().take(1).chain(grows).collect::<Vec<_>>())),
        ("a deep array", pdf_page(text, "", &format!("/A {}{}", "[".repeat(200_000), "]".repeat(200_000)), &[])),
        ("a deep content", pdf_page(&("[".repeat(200_000) + &"]".repeat(200_000) + " TJ"), "", "", &[])),
        ("a form that draws itself", pdf_page("/X Do", "", "/XObject<</X 6 0 R>>", &[form])),
        ("a chain of filters", pdf_page(&"41".repeat(50_000), &format!("/Filter[{}]", "/ASCIIHexDecode".repeat(200)), "", &[])),
        (
            "a font of four thousand million signs",
            pdf_page(
                "BT /F2 12 Tf (x) Tj ET",
                "",
                "/Font<</F2 6 0 R>>",
                &[format!("<<{wide}>>"), format!("<</Length {}>>stream\n{map}\nendstream", map.len())],
            ),
        ),
        (
            "a length that lies",
            String::from_utf8(pdf_page(text, "", "", &[])).unwrap().replace("/Length 32", "/Length 999999999").into_bytes(),
        ),
        (
            "a count of objects that lies",
            String::from_utf8(pdf(&pages(""))).unwrap().replace("xref\n0 3", "xref\n0 2000000000").into_bytes(),
        ),
    ] {
        let read = read(&readers, Source::Pdf, &file).await;
        assert!(matches!(&read, Err(Code::Unreadable)) || read.as_ref().is_ok_and(|text| text.len() < 1000), "{name}: {read:?}");
    }
    assert_eq!(read(&readers, Source::Html, b"<p>next").await, Ok("next\n".to_owned()));
    readers.close().await;
}

#[tokio::test]
async fn a_file_whose_reader_runs_out_of_time_or_depth_gives_the_pages_before() {
    let readers = readers();
    let page = |content: u32| {
        format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Resources<</Font<</F1 7 0 R>>/XObject<</X 8 0 R>>>>/Contents {content} 0 R>>"
        )
    };
    let stream = |head: &str, content: &str| format!("<<{head}/Length {}>>stream\n{content}\nendstream", content.len());
    // A long form that is drawn often, which no time is enough for, and a form that draws itself, which no depth is.
    for (name, drawn, form) in
        [("time", "/X Do ".repeat(10_000), "0 0 m ".repeat(100_000)), ("depth", "/X Do".to_owned(), "/X Do".to_owned())]
    {
        let objects = [
            "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
            "<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2>>".to_owned(),
            page(5),
            page(6),
            stream("", "BT /F1 12 Tf 1 1 Td (told) Tj ET"),
            stream("", &drawn),
            "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
            stream("/Type/XObject/Subtype/Form/BBox[0 0 9 9]", &form),
        ];
        let read = readers.read(&job(Source::Pdf), &pdf(&objects), Duration::from_secs(10)).await.unwrap();
        assert_eq!((read.text.as_str(), read.truncated), ("told\n", true), "{name}");
    }
    readers.close().await;
}

#[tokio::test]
async fn a_page_is_read_again_when_all_readers_were_killed_from_outside_and_a_killed_reader_is_told() {
    let readers = readers();
    let page = tangled();
    let kill = async {
        let reader = readers.held().await;
        signal(readers.spawner().unwrap(), "-9");
        reader
    };
    let (told, reader) = tokio::join!(read(&readers, Source::Html, &page), kill);
    assert!(told.unwrap().contains("word"));
    until("the death of the reader", || is_dead(reader)).await;

    let kill = async { signal(readers.held().await, "-9") };
    let (told, ()) = tokio::join!(read(&readers, Source::Html, &page), kill);
    assert_eq!(told, Err(Code::Unreadable));
    readers.close().await;
}

#[tokio::test]
async fn readers_die_with_the_program_that_had_them_started() {
    let mut server =
        Command::new(env!("CARGO_BIN_EXE_toolgate")).args(["extract", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    server.stdin.take().unwrap().write_all(&tangled()).unwrap();
    let reader = held(|| readers_below(server.id())).await;
    let all = below(server.id());
    server.kill().unwrap();
    server.wait().unwrap();
    until("the death of all", || is_dead(reader) && all.iter().all(|pid| is_dead(*pid))).await;
}

fn extract(arguments: &[&str], input: &[u8]) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .arg("extract")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn extract_answers_a_line_for_a_line_with_the_same_id() {
    let input = "{\"id\":7,\"html\":\"<title>T</title><p>a <a href=b>b</a>\",\"url\":\"https://a.example/x/\"}\n\n{\"id\":\"y\",\"html\":\"\",\"more\":1}\n";
    let output = "{\"id\":7,\"markdown\":\"a [b](https://a.example/x/b)\\n\",\"title\":\"T\"}\n{\"id\":\"y\",\"markdown\":\"\"}\n";
    assert_eq!(extract(&["--jsonl", "-"], input.as_bytes()), (Some(0), output.to_owned(), String::new()));
    let (code, output, _) = extract(&["--jsonl", "-"], b"{\"id\":2}\n{\"id\":1,\"html\":\"a\"}\n");
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[0].contains("missing field `html`") && lines[0].contains("\"id\":2"), "{output}");
    assert_eq!((code, lines[1]), (Some(1), "{\"id\":1,\"markdown\":\"a\\n\"}"));
}

#[test]
fn extract_tells_pages_feeds_and_files_apart_and_says_why_it_cannot() {
    let feed = b"<?xml version='1.0'?><rss version='2.0'><channel><title>N</title></channel></rss>";
    assert_eq!(extract(&["-"], feed), (Some(0), "# N\n".to_owned(), String::new()));
    assert_eq!(extract(&["-"], b"<b>x</b>").1, "**x**\n");
    let (code, output, error) = extract(&["-"], &pdf_bomb());
    assert_eq!((code, output.as_str()), (Some(1), ""));
    assert!(error.contains("ended its reader"), "{error}");
}

#[test]
fn a_reader_that_gets_no_page_ends_at_once() {
    let helper = Path::new(env!("CARGO_BIN_EXE_toolgate"));
    let reader = Command::new(helper).arg("__reader").stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    assert_eq!(reader.code(), Some(0));
}
