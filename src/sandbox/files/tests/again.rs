//! Files that are read again: what was found out about one content is never said of another.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use super::super::content::digest;
use super::*;
use crate::model::SearchFiles;

const KEY: &str = "AKIAQ7ZT3N5WXK2VPLMR";

/// Larger than what is hashed anew each time.
fn filler(lines: usize) -> String {
    (0..lines).fold(String::new(), |text, line| text + &format!("{line} nothing to see\n"))
}

fn search(fixture: &Fixture, query: &str) -> Vec<String> {
    let action = SearchFiles { path: call_path("work"), query: Some(query.to_owned()), glob: None, context_lines: 0, max_results: 100 };
    let permit = fixture.permit(action, vec![fixture.try_look("work", Access::List).unwrap()]);
    let found = fixture.roots.search(permit, &all_visible, &stop()).unwrap();
    found.matches.into_iter().map(|found| found.line.unwrap().text).collect()
}

fn shown(fixture: &Fixture, path: &str) -> (String, Option<String>) {
    let reading = fixture.read(path).unwrap();
    let Content::Text(text) = reading.content else { panic!("no text") };
    (text, reading.sha256)
}

/// What a cache might know a file by.
fn facts(path: &Path) -> [i64; 7] {
    let facts = std::fs::metadata(path).unwrap();
    let size = i64::try_from(facts.size()).unwrap();
    let inode = i64::try_from(facts.ino()).unwrap();
    [inode, size, facts.mtime(), facts.mtime_nsec(), facts.ctime(), facts.ctime_nsec(), i64::from(facts.mode())]
}

/// A process that has the file mapped and its first page dirty, and writes into it when told to.
struct Mapped {
    child: Child,
    told: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Mapped {
    /// Nothing where there is no Python to do it.
    fn start(path: &Path, text: &str) -> Option<Self> {
        const PROGRAM: &str = "import mmap, sys\n\
            with open(sys.argv[1], 'r+b') as file:\n\
            \u{20}   page = mmap.mmap(file.fileno(), 0)\n\
            page[0:1] = page[0:1]\n\
            print('ready', flush=True)\n\
            sys.stdin.readline()\n\
            page[0:len(sys.argv[2])] = sys.argv[2].encode()\n\
            print('written', flush=True)\n\
            sys.stdin.readline()\n";
        let child = Command::new("python3").args(["-c", PROGRAM]).arg(path).arg(text).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(fault) => {
                eprintln!("skipped: python3 cannot be started ({fault}), and a test writes to no memory it has mapped itself");
                return None;
            }
        };
        let (told, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut mapped = Self { child, told, answers };
        mapped.hears("ready");
        Some(mapped)
    }

    fn hears(&mut self, word: &str) {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), word);
    }

    fn writes(&mut self) {
        self.told.write_all(b"\n").unwrap();
        self.hears("written");
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_secret_that_a_mapping_writes_without_a_new_time_is_masked() {
    let fixture = Fixture::new();
    let path = fixture.put("work/a", format!("{}\n{}", ".".repeat(KEY.len()), filler(2000)));
    let Some(mut mapped) = Mapped::start(&path, KEY) else { return };
    // Until its times are as old as those of any file that rests.
    let begun = Instant::now();
    while SystemTime::now().duration_since(std::fs::metadata(&path).unwrap().modified().unwrap()).unwrap() < Duration::from_millis(1500) {
        assert!(begun.elapsed() < Duration::from_secs(30), "the clock stands still");
        std::thread::sleep(Duration::from_millis(10));
    }
    let before = facts(&path);
    let clean = fixture.text("work/a");
    for _ in 0..2 {
        assert_eq!(shown(&fixture, "work/a"), (clean.clone(), Some(digest(clean.as_bytes()))));
        assert_eq!(search(&fixture, "^[.]+$"), [".".repeat(KEY.len())]);
    }
    mapped.writes();
    assert!(fixture.text("work/a").starts_with(KEY));
    if facts(&path) != before {
        eprintln!("this file system told of the write: what is tested is weaker here");
    }
    assert_eq!(search(&fixture, "^([.]+|AKIA.*|.SECRET.*)$"), ["[SECRET:aws-access-key]"]);
    let (text, sha256) = shown(&fixture, "work/a");
    assert!(text.starts_with("[SECRET:aws-access-key]\n0 nothing") && !text.contains(KEY));
    assert_eq!(sha256, None);
}

#[test]
fn a_content_of_the_same_size_and_times_has_its_own_digest_and_masks() {
    let fixture = Fixture::new();
    let lines = filler(2000);
    let contents =
        [format!("{}\n{lines}", ".".repeat(KEY.len())), format!("{}\n{lines}", "-".repeat(KEY.len())), format!("{KEY}\n{lines}")];
    let path = fixture.put("work/a", &contents[0]);
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    for content in [0, 1, 0, 2, 1, 2, 0].map(|number| &contents[number]) {
        // Within one tick of the clock, for all that the times say.
        std::fs::write(&path, content).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        let (text, sha256) = shown(&fixture, "work/a");
        if content.starts_with(KEY) {
            assert_eq!((text.get(..23), sha256), (Some("[SECRET:aws-access-key]"), None));
        } else {
            assert_eq!((text.as_str(), sha256), (content.as_str(), Some(digest(content.as_bytes()))));
        }
    }
}
