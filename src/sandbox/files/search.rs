//! `search`: names or lines below the judged folder. Of the search crates only the parts that know nothing of paths on disk.

use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch};
use rustix::buffer::spare_capacity;
use rustix::io::pread;

use super::content::read_whole;
use super::encoding::may_be_wide;
use super::form::text_of;
use super::look::{Guard, single};
use super::masks::{LOOKED_THROUGH, Masked};
use super::pattern::line_matcher;
use super::resolve::{open_file, step};
use super::roots::Roots;
use super::stat::Stat;
use super::stop::Stop;
use super::walk::{Judge, Next, Walk, glob, matches};
use crate::filter::masked::secrets_in;
use crate::gate::Permit;
use crate::model::{Code, Failure, Kind, RelPath, SearchFiles, Target};
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
    /// Files that are no text, or larger than 64 MiB, so that they were not searched or in part.
    pub not_text: u64,
    /// Entries that were met and may not be seen.
    pub left_out: u64,
    /// Why it ended early.
    pub ended: Option<Ended>,
    /// Names of the secrets that are masked in the shown lines; none where the manifest masks none.
    pub masked: Option<Vec<&'static str>>,
}

impl Roots {
    /// Searches below the folder the permit names, breadth first, or in the file. Below a folder it skips what `.gitignore` files name, `.git`, binary
    /// files, links and files with a second name. A notebook and a text that is no UTF-8 are searched as `read` shows them. Where secrets are
    /// masked, the expression is compared with what is shown: a match tells nothing of a secret. Ends at `max_results`, at `max_answer` or near
    /// the end of its time, and says so.
    ///
    /// # Errors
    /// `not_found`, `not_a_directory`, `cancelled`, `argument_invalid` (the expression or glob).
    pub fn search(&self, permit: Permit<SearchFiles>, judge: Judge<'_>, stop: &Stop) -> Result<Found, Failure> {
        let (action, opened, terms) = permit.spend();
        let opened = single(opened)?;
        let root = self.find(&terms.session, &opened.target.root)?;
        let invalid = |why| Failure::new(Code::ArgumentInvalid, why);
        let lines = action.query.as_deref().map(line_matcher).transpose().map_err(invalid)?;
        let glob = glob(action.glob.as_deref())?;
        let context = usize::try_from(action.context_lines).unwrap_or(usize::MAX);
        let guard = Guard::new(self, &root);
        let mut search = Search {
            roots: self,
            guard: &guard,
            lines: lines.as_ref(),
            searcher: SearcherBuilder::new().bom_sniffing(false).before_context(context).after_context(context).build(),
            most: usize::try_from(action.max_results).unwrap_or(usize::MAX),
            // The text and the facts say the same twice.
            left: terms.max_answer.as_usize() / 2,
            found: Found {
                target: opened.target.clone(),
                matches: Vec::new(),
                files: 0,
                not_text: 0,
                left_out: 0,
                ended: None,
                masked: terms.manifest.filters.hides_secrets().then(Vec::new),
            },
        };
        let top = opened.path();
        if let (Kind::File, Some(file)) = (opened.fact.kind, &opened.object) {
            // Ignore files and globs choose among many, and have no word on the one file that was named.
            if judge(top, false) == Visible::Yes {
                search.file(file, top);
            } else {
                search.found.left_out += 1;
            }
            return Ok(search.found);
        }
        let mut walk = Walk::new(&root, &guard, judge, stop);
        walk.run(&opened, |folder, path, seen| {
            let name = path.segments().last().map(String::as_str).unwrap_or_default();
            if seen.kind == Kind::Directory {
                return Ok(if name == ".git" { Next::Pass } else { Next::Enter });
            }
            if seen.kind != Kind::File || !matches(glob.as_ref(), path, top) {
                return Ok(Next::Pass);
            }
            Ok(step(folder, name).map_or(Next::Pass, |file| search.file(&file, path)))
        })?;
        let mut found = search.found;
        found.left_out += walk.left_out;
        found.ended = found.ended.or((walk.is_late || walk.is_cut).then_some(Ended::Late));
        found.matches.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }
}

struct Search<'a> {
    roots: &'a Roots,
    guard: &'a Guard<'a>,
    lines: Option<&'a RegexMatcher>,
    searcher: Searcher,
    most: usize,
    /// Bytes that the answer may still have.
    left: usize,
    found: Found,
}

impl Search<'_> {
    fn file(&mut self, handle: &OwnedFd, path: &RelPath) -> Next {
        let Some(lines) = self.lines else {
            self.found.files += 1;
            return self.add(Match { path: path.clone(), line: None });
        };
        let Ok(seen) = Stat::of(handle) else { return Next::Pass };
        // What stands there now decides: a regular file with one name that is not protected.
        if seen.kind != Kind::File || seen.names != 1 || self.guard.holds(path, &seen) {
            self.found.left_out += 1;
            return Next::Pass;
        }
        let Ok(file) = open_file(handle) else { return Next::Pass };
        let Some(shown) = self.shown(&file, path, seen.size) else {
            self.found.not_text += 1;
            return Next::Pass;
        };
        self.found.files += 1;
        let mut sink = Lines { matcher: lines, most: self.most - self.found.matches.len(), found: Vec::new(), before: Vec::new() };
        // `^` holds behind a byte order mark.
        let content = shown.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&shown.bytes);
        // The sink never fails, and nothing is read.
        let _ = self.searcher.search_slice(lines, content, &mut sink);
        let mut masks: Vec<_> = shown.lines().collect();
        for line in sink.found {
            let number = usize::try_from(line.number).unwrap_or(usize::MAX).saturating_sub(1);
            let lines = number.saturating_sub(line.before.len())..=number + line.after.len();
            if self.add(Match { path: path.clone(), line: Some(line) }) == Next::End {
                return Next::End;
            }
            if let Some(names) = &mut self.found.masked {
                let is_shown =
                    |mask: &mut (_, std::ops::RangeInclusive<usize>)| mask.1.start() <= lines.end() && lines.start() <= mask.1.end();
                names.extend(masks.extract_if(.., is_shown).map(|(name, _)| name));
            }
        }
        Next::Pass
    }

    /// What a reading shows of a file; none where it is no text, or too large to be read whole.
    fn shown(&mut self, file: &OwnedFd, path: &RelPath, size: u64) -> Option<Masked> {
        let mut beginning = Vec::with_capacity(BEGINNING);
        pread(file, spare_capacity(&mut beginning), 0).ok()?;
        if beginning.contains(&0) && !may_be_wide(&beginning) {
            return None;
        }
        let bytes = read_whole(file, size, LOOKED_THROUGH).ok()??;
        let hides = self.found.masked.is_some();
        if let Some((text, _)) = text_of(path, &bytes) {
            let secrets = if hides { secrets_in(text.as_bytes()) } else { Vec::new() };
            return Some(Masked::new(text.into_bytes(), &secrets));
        }
        if beginning.contains(&0) {
            return None;
        }
        self.found.not_text += u64::from(std::str::from_utf8(&bytes).is_err());
        let secrets = if hides { self.roots.known.secrets(&bytes) } else { Vec::new() };
        Some(Masked::new(bytes, &secrets))
    }

    fn add(&mut self, found: Match) -> Next {
        let line =
            found.line.as_ref().map_or(0, |line| line.text.len() + line.before.iter().chain(&line.after).map(String::len).sum::<usize>());
        let size = found.path.to_string().len() + line + 16;
        if self.found.matches.len() >= self.most || self.left < size {
            self.found.ended = Some(Ended::Full);
            return Next::End;
        }
        self.left -= size;
        self.found.matches.push(found);
        Next::Pass
    }
}

/// Bytes in which a zero byte tells that a file is binary; an even number.
const BEGINNING: usize = 64 * 1024;

/// Collects matching lines of one file; one more than asked for, which tells that there are more.
struct Lines<'a> {
    matcher: &'a RegexMatcher,
    most: usize,
    found: Vec<MatchedLine>,
    before: Vec<String>,
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
