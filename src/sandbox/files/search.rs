//! `search`: names or lines below the judged folder. Our own walk over opened folders; of the search crates only the parts
//! that know nothing of paths on disk.

use std::io::{self, Read};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch};
use rustix::io::Errno;

use super::below::{DEEPEST, MOST_AT_ONCE, entries};
use super::fault::fault;
use super::form::{Utf8, by_form, in_its_encoding};
use super::ignored::Ignored;
use super::list::{Judge, below, directory, glob};
use super::look::Guard;
use super::masks::{MaskedLines, MaskedReader};
use super::pattern::{Pattern, line_matcher};
use super::resolve::{open_file, step};
use super::roots::{Root, Roots};
use super::seen::Seen;
use super::stop::Stop;
use crate::gate::Permit;
use crate::model::name::is_temporary;
use crate::model::{Bytes, Code, Failure, Kind, Link, Opened, RelPath, SearchFiles, Target};
use crate::policy::paths::Visible;

/// One line, or one file where only names are searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The file, below the root.
    pub path: RelPath,
    /// The line, where lines are searched.
    pub line: Option<MatchedLine>,
}

/// A matching line with those around it. Bytes that are no UTF-8 are shown as U+FFFD, long lines are cut around the match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatchedLine {
    /// Its number, from 1.
    pub number: u64,
    /// The line without its end.
    pub text: String,
    /// Lines before it that no earlier match shows.
    pub before: Vec<String>,
    /// Lines after it.
    pub after: Vec<String>,
}

/// Why a search ended before everything was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// There are more results than asked for, or than an answer may hold.
    Full,
    /// The time was up.
    Late,
    /// There are folders below the deepest that are looked in; everything above them was searched.
    Deep,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The folder.
    pub target: Target,
    /// The matches, file by file in order of their paths.
    pub matches: Vec<Match>,
    /// Files whose content was searched, or whose name was compared.
    pub files: u64,
    /// Files that are no text, or no text that can be read whole, so that they were not searched or in part.
    pub not_text: u64,
    /// Entries that were met and may not be seen.
    pub left_out: u64,
    /// Why it ended early.
    pub ended: Option<Ended>,
    /// Names of the secrets that are masked in the shown lines; none where the manifest masks none.
    pub masked: Option<Vec<&'static str>>,
}

impl Roots {
    /// Searches below the folder the permit names, or in the file. Below a folder it skips what `.gitignore` files name, `.git`, binary files, links and files
    /// with a second name. A notebook and a text that is no UTF-8 are searched as `read` shows them. Where secrets are masked, the expression is compared with what is shown: a match tells nothing of a secret. Ends at `max_results`, at `max_answer` or near the end of its time, and says so.
    ///
    /// # Errors
    /// `not_found`, `not_a_directory`, `cancelled`, `argument_invalid` (the expression or glob).
    pub fn search(&self, permit: Permit<SearchFiles>, judge: Judge<'_>, stop: &Stop) -> Result<Found, Failure> {
        let (action, opened, terms) = permit.spend();
        let opened = opened.into_iter().next().ok_or_else(|| Failure::new(Code::Internal, "the permit holds no object"))?;
        let root = self.find(&terms.session, &opened.target.root)?;
        let start = Start::of(&opened)?;
        let invalid = |why| Failure::new(Code::ArgumentInvalid, why);
        let hides = terms.manifest.filters.hides_secrets();
        let lines = action.query.as_deref().map(line_matcher).transpose().map_err(invalid)?;
        let context = usize::try_from(action.context_lines).unwrap_or(usize::MAX);
        let mut search = Search {
            judge,
            stop,
            roots: self,
            guard: Guard::new(self, &root),
            glob: glob(action.glob.as_deref())?,
            lines: lines.map(Rc::new),
            searcher: SearcherBuilder::new()
                // What the searcher decoded itself would never have been masked.
                .bom_sniffing(false)
                .binary_detection(BinaryDetection::quit(0))
                .before_context(context)
                .after_context(context)
                .heap_limit(Some(LONGEST_LINE))
                .build(),
            ignored: Ignored::default(),
            top: start.path().clone(),
            most: usize::try_from(action.max_results).unwrap_or(usize::MAX),
            // The text and the facts say the same twice.
            room: terms.max_answer.as_usize() / 2,
            max_file_size: terms.max_file_size,
            found: Found {
                target: opened.target.clone(),
                matches: Vec::new(),
                files: 0,
                not_text: 0,
                left_out: 0,
                ended: None,
                masked: hides.then(Vec::new),
            },
        };
        let walked = match start {
            Start::Folder(folder, top) => {
                search.ignored.enter_above(root.resolver, root.folder.as_fd(), &top);
                search.folder(folder, &top, 0)
            }
            Start::File(path) => search.only(&root, &path),
        };
        walked
            .map_err(|end| match end {
                End::Failure(failure) => Some(failure),
                End::Errno(errno) => Some(fault(errno, &opened.target, "searched")),
                End::Early(why) => {
                    search.found.ended = Some(why);
                    None
                }
            })
            .or_else(|failure| failure.map_or(Ok(()), Err))?;
        Ok(search.found)
    }
}

/// Where a search begins.
enum Start<'a> {
    /// A folder, open, and its path below the root.
    Folder(&'a OwnedFd, RelPath),
    /// The path of the only file that is searched.
    File(RelPath),
}

impl<'a> Start<'a> {
    fn of(opened: &'a Opened) -> Result<Self, Failure> {
        match (opened.fact.kind, &opened.fact.link) {
            (Kind::File, Link::Leads(path)) => Ok(Self::File(path.clone())),
            (Kind::File, _) => Ok(Self::File(opened.target.path.clone())),
            _ => directory(opened).map(|(folder, path)| Self::Folder(folder, path)),
        }
    }

    fn path(&self) -> &RelPath {
        match self {
            Self::Folder(_, path) | Self::File(path) => path,
        }
    }
}

/// Why a walk stops.
enum End {
    Early(Ended),
    Failure(Failure),
    Errno(Errno),
}

struct Search<'a> {
    judge: Judge<'a>,
    stop: &'a Stop,
    roots: &'a Roots,
    guard: Guard<'a>,
    glob: Option<Pattern>,
    lines: Option<Rc<RegexMatcher>>,
    searcher: Searcher,
    ignored: Ignored,
    top: RelPath,
    most: usize,
    room: usize,
    max_file_size: Bytes,
    found: Found,
}

impl Search<'_> {
    fn folder(&mut self, folder: &OwnedFd, path: &RelPath, depth: usize) -> Result<(), End> {
        let (mut inside, more) = match entries(folder, MOST_AT_ONCE) {
            Ok(inside) => inside,
            Err(errno) if depth == 0 => return Err(End::Errno(errno)),
            // A folder below that went away or that the system keeps closed holds nothing for this caller.
            Err(_) => return Ok(()),
        };
        if more {
            self.found.ended = Some(Ended::Full);
        }
        inside.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let entered = self.ignored.enter(folder, path, inside.iter().any(|(name, seen)| name == ".gitignore" && seen.kind == Kind::File));
        for (name, seen) in inside {
            self.go_on()?;
            if is_temporary(name.as_encoded_bytes()) || name == ".git" {
                continue;
            }
            let text = name.to_string_lossy();
            let path = path.join(&text);
            // What no call can name is shown by none.
            if name.to_str().is_none() || RelPath::parse(&text).is_err() {
                self.found.left_out += 1;
                continue;
            }
            let is_folder = seen.kind == Kind::Directory;
            if self.ignored.names(&path, is_folder) {
                continue;
            }
            let visible = (self.judge)(&path, is_folder);
            if self.guard.holds(&path, &seen) || visible == Visible::No || (!is_folder && visible == Visible::OnTheWay) {
                self.found.left_out += 1;
                continue;
            }
            if is_folder {
                if depth == DEEPEST {
                    self.found.ended.get_or_insert(Ended::Deep);
                } else if let Ok(inner) = step(folder, name.as_os_str()) {
                    self.folder(&inner, &path, depth + 1)?;
                }
            } else if seen.kind == Kind::File && self.wants(&path) {
                self.file(folder, name.as_os_str(), &path)?;
            }
        }
        if entered {
            self.ignored.leave();
        }
        Ok(())
    }

    /// Searches the one file that was named. Ignore files and globs choose among many, and have no word on it.
    fn only(&mut self, root: &Root, path: &RelPath) -> Result<(), End> {
        if (self.judge)(path, false) != Visible::Yes {
            self.found.left_out += 1;
            return Ok(());
        }
        let (Some(folder), Some(name)) = (path.ancestors().nth(path.segments().len().saturating_sub(1)), path.segments().last()) else {
            return Ok(());
        };
        let folder = root.resolver.open(root.folder.as_fd(), &folder).map_err(End::Errno)?;
        self.file(&folder, std::ffi::OsStr::new(name), path)
    }

    fn wants(&self, path: &RelPath) -> bool {
        self.glob.as_ref().is_none_or(|glob| below(path, &self.top).is_some_and(|path| glob.matches(&path)))
    }

    fn go_on(&self) -> Result<(), End> {
        self.stop.check().map_err(End::Failure)?;
        if self.stop.is_late() { Err(End::Early(Ended::Late)) } else { Ok(()) }
    }

    fn file(&mut self, folder: &OwnedFd, name: &std::ffi::OsStr, path: &RelPath) -> Result<(), End> {
        let Some(lines) = self.lines.clone() else {
            self.found.files += 1;
            return self.add(Match { path: path.clone(), line: None });
        };
        let Ok(handle) = step(folder, name) else { return Ok(()) };
        let Ok(seen) = Seen::of(&handle) else { return Ok(()) };
        // What stands there now decides: a regular file with one name that is not protected.
        if seen.kind != Kind::File || seen.names != 1 || self.guard.holds(path, &seen) {
            self.found.left_out += 1;
            return Ok(());
        }
        let Ok(file) = open_file(&handle, folder, name) else { return Ok(()) };
        let Ok(derived) = by_form(&file, path, seen.size, self.max_file_size) else { return self.unread() };
        if let Some(text) = derived {
            return self.text(&lines, path, &text);
        }
        let mut utf8 = Utf8::default();
        // `^` holds behind a byte order mark.
        let mut mark = [0; 3];
        let is_marked = rustix::io::pread(&file, &mut mark, 0).is_ok() && mark == *b"\xef\xbb\xbf";
        let reader = Watched { file: file.as_fd(), at: if is_marked { 3 } else { 0 }, stop: self.stop, utf8: &mut utf8 };
        let searched = self.lines_of(&lines, reader);
        let is_text = !searched.binary && utf8.holds();
        if !is_text && let Some(text) = in_its_encoding(&file, searched.binary, seen.size, self.max_file_size) {
            return self.text(&lines, path, &text);
        }
        if searched.binary {
            return self.unread();
        }
        self.found.files += 1;
        self.found.not_text += u64::from(!is_text);
        self.take(path, searched)
    }

    /// A file that was not searched.
    fn unread(&mut self) -> Result<(), End> {
        self.found.not_text += 1;
        self.go_on()
    }

    /// Searches a text that was made of a file.
    fn text(&mut self, lines: &RegexMatcher, path: &RelPath, text: &str) -> Result<(), End> {
        self.found.files += 1;
        let searched = self.lines_of(lines, text.as_bytes());
        self.take(path, searched)
    }

    fn lines_of(&mut self, lines: &RegexMatcher, reader: impl Read) -> Searched {
        let most = self.most - self.found.matches.len();
        let mut sink = Lines { matcher: lines, most, found: Vec::new(), before: Vec::new(), binary: false };
        let mut masked = Vec::new();
        let done = if self.found.masked.is_none() {
            self.searcher.search_reader(lines, reader, &mut sink)
        } else {
            let mut reader = MaskedReader::new(reader, &self.roots.known);
            let done = self.searcher.search_reader(lines, &mut reader, &mut sink);
            masked = reader.into_masked();
            done
        };
        Searched { lines: sink.found, masked, binary: sink.binary, failed: done.is_err() }
    }

    fn take(&mut self, path: &RelPath, searched: Searched) -> Result<(), End> {
        let Searched { lines, mut masked, failed, .. } = searched;
        for line in lines {
            let shown = line.number.saturating_sub(line.before.len() as u64)..=line.number + line.after.len() as u64;
            self.add(Match { path: path.clone(), line: Some(line) })?;
            if let Some(names) = &mut self.found.masked {
                let inside = |secret: &mut MaskedLines| secret.lines.start() <= shown.end() && shown.start() <= secret.lines.end();
                names.extend(masked.extract_if(.., inside).map(|secret| secret.name));
            }
        }
        if failed { self.go_on() } else { Ok(()) }
    }

    fn add(&mut self, found: Match) -> Result<(), End> {
        let line =
            found.line.as_ref().map_or(0, |line| line.text.len() + line.before.iter().chain(&line.after).map(String::len).sum::<usize>());
        let size = found.path.to_string().len() + line + 16;
        if self.found.matches.len() >= self.most || self.room < size {
            return Err(End::Early(Ended::Full));
        }
        self.room -= size;
        self.found.matches.push(found);
        Ok(())
    }
}

/// The matching lines of one content.
struct Searched {
    lines: Vec<MatchedLine>,
    masked: Vec<MaskedLines>,
    /// A zero byte ended it.
    binary: bool,
    /// It ended before the content did.
    failed: bool,
}

/// A file's bytes as long as the caller waits and there is time.
struct Watched<'a> {
    file: BorrowedFd<'a>,
    at: u64,
    stop: &'a Stop,
    utf8: &'a mut Utf8,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() || self.stop.is_late() {
            return Err(io::Error::other("stopped"));
        }
        let count = rustix::io::pread(self.file, &mut *buffer, self.at)?;
        self.at += count as u64;
        self.utf8.feed(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

/// Collects matching lines of one file; one more than asked for, which tells that there are more.
struct Lines<'a> {
    matcher: &'a RegexMatcher,
    most: usize,
    found: Vec<MatchedLine>,
    before: Vec<String>,
    binary: bool,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let line = found.bytes();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let at = self.matcher.find(line).ok().flatten();
        let text = shown(line, at.map_or(0..0, |at| at.start()..at.end()));
        self.found.push(MatchedLine {
            number: found.line_number().unwrap_or_default(),
            text,
            before: std::mem::take(&mut self.before),
            after: Vec::new(),
        });
        Ok(self.found.len() <= self.most)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        match (context.kind(), self.found.last_mut()) {
            (SinkContextKind::After, Some(last)) => last.after.push(shown(context.bytes(), 0..0)),
            (SinkContextKind::Before, _) => self.before.push(shown(context.bytes(), 0..0)),
            _ => {}
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.binary = true;
        Ok(false)
    }
}

/// A line as it is shown, without its end: whole, or some [`LONGEST_SHOWN`] characters around the match with `…` where something is left out.
fn shown(line: &[u8], at: Range<usize>) -> String {
    let end = line.len() - line.iter().rev().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    let start = at.start.min(end);
    // No character takes more than four bytes; one more on each side tells that there is more.
    let most = (LONGEST_SHOWN + LONGEST_WORD + 1) * 4;
    let from = (start.saturating_sub(most)..start).find(|from| line.get(*from).is_some_and(|byte| byte & 0xc0 != 0x80)).unwrap_or(start);
    let to = end.min(start + most);
    let characters = |range: Range<usize>| String::from_utf8_lossy(line.get(range).unwrap_or_default()).chars().collect::<Vec<_>>();
    let (before, rest) = (characters(from..start), characters(start..to));
    let hit = characters(start..at.end.clamp(start, to)).len().min(LONGEST_SHOWN);
    let room = LONGEST_SHOWN - hit;
    // Each side has half of the room, and what the other one leaves.
    let ahead = before.len().min(room - (rest.len() - hit).min(room / 2));
    let behind = rest.len().min(LONGEST_SHOWN - ahead);
    let ahead = ahead + word(before.iter().rev().skip(ahead));
    let behind = behind + word(rest.iter().skip(behind));
    let mark = |is_cut: bool| if is_cut { "…" } else { "" };
    let text: String = before.iter().skip(before.len() - ahead).chain(rest.iter().take(behind)).collect();
    format!("{}{text}{}", mark(from > 0 || ahead < before.len()), mark(to < end || behind < rest.len()))
}

/// Characters up to the end of the word that a cut would go through: a filter knows a key only where it is whole.
fn word<'a>(rest: impl Iterator<Item = &'a char>) -> usize {
    let is_inside = |c: &&char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '/' | '=' | '.');
    let count = rest.take(LONGEST_WORD).take_while(is_inside).count();
    if count < LONGEST_WORD { count } else { 0 }
}

const LONGEST_SHOWN: usize = 500;
/// A longer run of letters is no key but data, and is cut anywhere.
const LONGEST_WORD: usize = 256;
/// A line that does not fit is no line of a text; the file is then skipped from there.
const LONGEST_LINE: usize = 4 << 20;
