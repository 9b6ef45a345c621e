//! What a person is asked: built from the judged action alone, never from words of the model; the consequence first.

use std::borrow::Cow;
use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::change::{Changes, LINES, Look, Mask, masked, shown};
use super::opened::Opened;
use crate::manifest::NetworkRules;
use crate::model::{Action, Bytes, EditFiles, Fetch, Kind, Level, RelPath, RunPython, StatementKind, Target, WriteMode};
use crate::policy::folders::made;
use crate::policy::later::{Later, programs_reach};
use crate::policy::{Capability, python_network, python_roots};

/// The text of a question about `action` on what was `opened`; `sentences` stand right after the consequence. `level`: of the action itself.
pub(super) fn text(action: &Action, opened: &[Opened], look: &Look<'_>, sentences: &[String], level: Level, now_ns: i128) -> String {
    let changes = Changes::of(action, opened, look);
    let mut text = consequence(action, opened, &changes, now_ns, look.mask);
    for sentence in sentences {
        let _ = write!(text, ". {sentence}");
    }
    let _ = write!(text, "\n{}", meaning(action, opened, level, !look.later.is_empty()));
    detail(&mut text, action, opened, &changes, look);
    if let (Action::DeleteFile(_), Some(folder)) = (action, opened.first()) {
        below(&mut text, folder, look.mask);
    }
    text
}

/// What the level of an action means, as a sentence. `is_later`: it changes what another program runs later.
const fn meaning(action: &Action, opened: &[Opened], level: Level, is_later: bool) -> &'static str {
    match (level, action) {
        (Level::Read, Action::Fetch(_)) => "This asks a web server for a page.",
        (Level::Read, _) => "This changes nothing.",
        (Level::Create, Action::RunPython(_)) => "This changes nothing that stays.",
        (Level::Create, Action::QueryDatabase(_)) => "This adds rows and changes none that exist.",
        (Level::Create, _) => "This creates something new and changes nothing that exists.",
        (Level::Change, Action::RunPython(_)) => "This can change files that exist.",
        (Level::Change, Action::QueryDatabase(_)) => "This changes rows that exist.",
        (Level::Change, Action::WriteFile(_) | Action::EditFiles(_)) if opened.len() == 1 => "This changes a file that exists.",
        (Level::Change, Action::EditFiles(_)) => "This changes files that exist.",
        (Level::Change, _) => "This changes what exists.",
        (Level::Destroy, Action::RunPython(_)) => "Some of what the program can do cannot be undone.",
        (Level::Destroy, Action::WriteFile(_) | Action::EditFiles(_) | Action::CopyFile(_)) if is_later => {
            "This changes what other programs do later."
        }
        (Level::Destroy, _) => "This cannot be undone.",
        (Level::System, _) => "This changes the system.",
    }
}

/// What goes with a folder, the first by name.
fn below(text: &mut String, folder: &Opened, mask: Mask) {
    const NAMED: usize = 8;
    let place = |path: &RelPath| spelled(&Target { root: folder.target.root.clone(), path: path.clone() });
    let mut paths: Vec<&RelPath> = folder.fact.below.iter().map(|entry| &entry.path).collect();
    paths.sort_unstable();
    for path in paths.iter().take(NAMED) {
        let _ = write!(text, "\n  - {}", masked(&place(path), mask).0);
    }
    if paths.len() > NAMED {
        let _ = write!(text, "\n  and {} more", paths.len() - NAMED);
    }
}

/// What a program could do besides what its text says: change what runs later, send, change and read files.
pub(super) fn of_program(capability: &Capability) -> Vec<String> {
    let (manifest, profile) = (&capability.manifest, &capability.profile);
    let mut sentences = Vec::new();
    let reached = programs_reach(capability);
    if !reached.is_empty() {
        let roots = reached.join(", ");
        sentences.push(format!("It can change what other programs run later (hooks, CI, editor settings) in {roots}"));
    }
    if python_network(manifest, profile) {
        sentences.push(format!("It may send to {} over the network", hosts(&manifest.network)));
    }
    let roots = python_roots(manifest, profile);
    let those = |writable: bool| roots.iter().filter(|(_, is)| *is == writable).map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let verbs = [("change", those(true)), ("read", those(false))];
    let parts: Vec<String> =
        verbs.iter().filter(|(_, roots)| !roots.is_empty()).map(|(verb, roots)| format!("{verb} files in {roots}")).collect();
    if !parts.is_empty() {
        sentences.push(format!("It may {}", parts.join(" and ")));
    }
    sentences
}

/// Where a program may send to, in words.
fn hosts(rules: &NetworkRules) -> String {
    const NAMED: usize = 5;
    if rules.any_public {
        return "any public host".to_owned();
    }
    let mut hosts: Vec<String> = rules.allowed_domains.iter().map(|host| shown(&host.to_string())).collect();
    hosts.extend(rules.internal.iter().map(ToString::to_string));
    let more = hosts.len().saturating_sub(NAMED);
    hosts.truncate(NAMED);
    if more > 0 {
        hosts.push(format!("{more} more"));
    }
    if hosts.is_empty() { "no host".to_owned() } else { hosts.join(", ") }
}

/// Says of what a call changes that other programs run it later: the reason why a person is asked as for a deletion.
pub(super) fn running_later(later: &[Later]) -> String {
    const NAMED: usize = 8;
    if let [one] = later {
        return format!("{} is run later by {}, outside the sandbox", spelled(&one.target), shown(&one.by));
    }
    let mut sorted: Vec<&Later> = later.iter().collect();
    sorted.sort_unstable_by(|one, other| one.target.cmp(&other.target));
    let named: Vec<String> = sorted.iter().take(NAMED).map(|one| format!("{} by {}", spelled(&one.target), shown(&one.by))).collect();
    let more = if later.len() > NAMED { format!(" and {} more", later.len() - NAMED) } else { String::new() };
    format!("These files are run later, outside the sandbox: {}{more}", named.join(", "))
}

fn consequence(action: &Action, opened: &[Opened], changes: &Changes, now_ns: i128, mask: Mask) -> String {
    let change = changes.one();
    let name = |at: usize| opened.get(at).map_or_else(|| "?".to_owned(), named);
    let kind = |at: usize| opened.get(at).map_or(Kind::Absent, |o| o.fact.kind);
    let facts = |at: usize| opened.get(at).map_or_else(String::new, |o| size_and_age(o, now_ns));
    let folders = |at: usize| opened.get(at).map_or_else(String::new, with_folders);
    match action {
        Action::ReadFile(_) => format!("Read {}{}", name(0), facts(0)),
        Action::WriteFile(write) => match (kind(0), write.mode, change) {
            (Kind::Absent, ..) => format!("Create {} ({} bytes){}", name(0), write.content.len(), folders(0)),
            (_, _, Some(change)) => format!("{} {}{}", change.in_words(), name(0), facts(0)),
            (_, WriteMode::Append, None) => format!("Append {} bytes to {}{}", write.content.len(), name(0), facts(0)),
            (_, _, None) => format!("Replace {}{} with {} bytes", name(0), facts(0), write.content.len()),
        },
        Action::EditFiles(edit) => match change {
            Some(change) => format!("{} {}{}", change.in_words(), name(0), facts(0)),
            None => several(edit, opened, changes),
        },
        Action::ListDirectory(_) => format!("List {}", name(0)),
        Action::SearchFiles(_) => format!("Search {}", name(0)),
        Action::FileInfo(_) => format!("Look at {}", name(0)),
        Action::CreateDirectory(_) => format!("Create the folder {}", name(0)),
        Action::MoveFile(_) if kind(1) == Kind::Absent => format!("Move {} to {}{}", name(0), name(1), folders(1)),
        Action::MoveFile(_) => format!("Move {} over {}{}, which is lost", name(0), name(1), facts(1)),
        Action::CopyFile(_) if kind(1) == Kind::Absent => format!("Copy {} to {}{}", name(0), name(1), folders(1)),
        Action::CopyFile(_) => format!("Copy {} over {}{}, whose content is lost", name(0), name(1), facts(1)),
        Action::DeleteFile(_) => match (kind(0), opened.first()) {
            (Kind::Directory, Some(o)) if !o.fact.below.is_empty() => {
                let below = o.fact.below.len();
                format!("Delete the folder {} with {below} {} below it", name(0), if below == 1 { "entry" } else { "entries" })
            }
            (Kind::Directory, _) => format!("Delete the empty folder {}", name(0)),
            _ => format!("Delete {}{}", name(0), facts(0)),
        },
        Action::Fetch(fetch) => {
            let mut text = format!("Send {} to {}", shown(&fetch.method), shown(&masked(&fetch.url, mask).0));
            if let Some(body) = &fetch.body {
                let _ = write!(text, " with a body of {} bytes", body.len());
            }
            if fetch.save_to.is_some() {
                let place = if kind(0) == Kind::Absent { " to" } else { " over" };
                let _ = write!(text, " and save the answer{place} {}{}", name(0), facts(0));
                if kind(0) != Kind::Absent {
                    text.push_str(", which is lost");
                }
                text.push_str(&folders(0));
            }
            text
        }
        Action::RunPython(run) => format!("Run a Python program of {} lines", run.code.lines().count()),
        Action::SendEmail(mail) => {
            let to: Vec<_> = mail.to.iter().map(|to| shown(to)).collect();
            let cc: Vec<_> = mail.cc.iter().map(|cc| shown(cc)).collect();
            let copies = if cc.is_empty() { String::new() } else { format!(", with copies to {}", cc.join(", ")) };
            format!("Send a mail to {}{copies}", to.join(", "))
        }
        Action::QueryDatabase(query) => {
            let tables: Vec<String> = query.statement.iter().flat_map(|statement| &statement.tables).map(|table| shown(table)).collect();
            let tables = if tables.is_empty() { String::new() } else { format!(" (tables: {})", tables.join(", ")) };
            let what = match query.kind() {
                StatementKind::Read => "Read from",
                StatementKind::Insert => "Add rows to",
                StatementKind::Update => "Change rows in",
                StatementKind::Delete => "Delete rows in",
                StatementKind::Define => "Change the tables of",
            };
            format!("{what} the database {}{tables}", shown(&query.database))
        }
    }
}

/// What is done to several files.
fn several(edit: &EditFiles, opened: &[Opened], changes: &Changes) -> String {
    const NAMED: usize = 4;
    let names: Vec<String> = changes.order().iter().filter_map(|at| opened.get(*at)).take(NAMED).map(named).collect();
    let more = opened.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let files = if opened.len() == 1 { "1 file".to_owned() } else { format!("{} files", opened.len()) };
    let what = match changes.lines() {
        0 => format!("{} place(s)", edit.edits.len()),
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    };
    format!("Change {what} of {files}: {}{more}", names.join(", "))
}

/// The folders that are made for a target, as they stand after its name.
fn with_folders(opened: &Opened) -> String {
    const NAMED: usize = 3;
    let made = made(&opened.target, &opened.fact);
    let named: Vec<String> = made.iter().take(NAMED).map(spelled).collect();
    match made.len() {
        0 => String::new(),
        1 => format!(", making the folder {}", named.join(", ")),
        count if count > NAMED => format!(", making the folders {} and {} more below", named.join(", "), count - NAMED),
        _ => format!(", making the folders {}", named.join(", ")),
    }
}

/// A target as it was named, and the path that links led to.
fn named(opened: &Opened) -> String {
    let name = spelled(&opened.target);
    match opened.led_to() {
        Some(led) => format!("{name} (by a link: {})", spelled(&led)),
        None => name,
    }
}

fn detail(text: &mut String, action: &Action, opened: &[Opened], changes: &Changes, look: &Look<'_>) {
    let mask = look.mask;
    let name = |at: usize| opened.get(at).map_or_else(|| "?".to_owned(), named);
    let is_folder = opened.first().is_some_and(|from| from.fact.kind == Kind::Directory);
    let mut hides = false;
    let mut masked = |text: &str| {
        let (shown, hid) = masked(text, mask);
        hides |= hid;
        shown.into_owned()
    };
    match action {
        Action::MoveFile(_) if is_folder || !look.is_later(opened.get(1)) => {}
        Action::CopyFile(_) if !look.is_later(opened.get(1)) && opened.get(1).is_none_or(|to| to.fact.kind == Kind::Absent) => {}
        Action::WriteFile(_) | Action::CopyFile(_) | Action::MoveFile(_) if changes.one().is_none() => {
            text.push_str("\nThe content is not text and is not shown.");
        }
        Action::WriteFile(_) | Action::EditFiles(_) | Action::CopyFile(_) | Action::MoveFile(_) => {
            changes.write(text, LINES, name);
        }
        Action::DeleteFile(_) => {
            if let Some(before) = &look.preview.before {
                excerpt(text, "It begins with", &masked(before), 5);
            }
        }
        Action::Fetch(Fetch { url, headers, body, .. }) => {
            // It stands in the first line.
            let _ = masked(url);
            for (name, value) in headers {
                // Some secrets are known by the name before them alone.
                let line = format!("{name}: {value}");
                let _ = write!(text, "\n  {}", shown(&masked(&line)));
            }
            if let Some(body) = body {
                excerpt(text, "The body", &masked(body), LINES);
            }
        }
        Action::RunPython(RunPython { code, stdin, session, timeout_s, fresh, fenced: _ }) => {
            excerpt(text, "The program", &masked(code), LINES);
            if !stdin.is_empty() {
                excerpt(text, "Its input", &masked(stdin), 5);
            }
            match session.as_deref() {
                Some("new") => text.push_str("\nIt starts an interpreter session, which stays open."),
                Some(session) => {
                    let _ =
                        write!(text, "\nIt runs in the interpreter session {} and sees what earlier programs left there.", shown(session));
                }
                None => {}
            }
            if *fresh {
                text.push_str("\nIt runs in a new interpreter, which shares nothing with earlier calls.");
            }
            if let Some(seconds) = timeout_s {
                let _ = write!(text, "\nIt may run for at most {seconds} s.");
            }
        }
        Action::SendEmail(mail) => {
            let _ = write!(text, "\nSubject: {}", shown(&masked(&mail.subject)));
            excerpt(text, "The text", &masked(&mail.body), LINES);
            for (at, file) in opened.iter().enumerate() {
                let _ = write!(text, "\nAttached: {} ({})", name(at), Bytes(file.fact.size));
            }
        }
        Action::QueryDatabase(query) => {
            excerpt(text, "The statement", &masked(query.sql.as_deref().unwrap_or_default()), LINES);
            if !query.params.is_empty() {
                let params: Vec<String> = query.params.iter().map(ToString::to_string).collect();
                excerpt(text, "Its parameters", &masked(&params.join("\n")), LINES);
            }
        }
        Action::ReadFile(_) | Action::ListDirectory(_) | Action::SearchFiles(_) | Action::FileInfo(_) | Action::CreateDirectory(_) => {}
    }
    if hides {
        text.push_str("\nSecrets are masked in this question. The call uses them unmasked.");
    }
}

/// The first lines of a text, and the last ones where it was cut: a hidden end must not run unseen.
fn excerpt(text: &mut String, what: &str, content: &str, most: usize) {
    let lines: Vec<&str> = content.lines().collect();
    let _ = write!(text, "\n{what}:");
    let head = if lines.len() > most { most.div_ceil(2) } else { lines.len() };
    for line in lines.iter().take(head) {
        let _ = write!(text, "\n  | {}", shown(line));
    }
    if lines.len() > head {
        let tail = most - head;
        let digest = Sha256::digest(content.as_bytes());
        let _ = write!(text, "\n  … {} line(s) not shown; {} bytes in all, sha256 ", lines.len() - head - tail, content.len());
        for byte in digest.iter().take(8) {
            let _ = write!(text, "{byte:02x}");
        }
        for line in lines.iter().skip(lines.len() - tail) {
            let _ = write!(text, "\n  | {}", shown(line));
        }
    }
}

/// A target in normal form C, and where that is not its spelling also by its own: two entries may look the same.
pub(super) fn spelled(target: &Target) -> String {
    match target.path.nfc() {
        Cow::Borrowed(_) => shown(&target.to_string()),
        Cow::Owned(path) => {
            let plain = Target { root: target.root.clone(), path };
            let own = target.to_string().chars().fold(String::new(), |mut own, c| {
                let _ = if c.is_ascii() { write!(own, "{c}") } else { write!(own, "\\u{{{:x}}}", u32::from(c)) };
                own
            });
            format!("{} (spelled {own})", shown(&plain.to_string()))
        }
    }
}

fn size_and_age(opened: &Opened, now_ns: i128) -> String {
    let Some(identity) = opened.fact.identity else { return String::new() };
    let seconds = (now_ns - identity.mtime_ns).max(0) / 1_000_000_000;
    let age = match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    };
    format!(" ({}, changed {age} ago)", crate::model::Bytes(opened.fact.size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::preview::Preview;
    use crate::manifest::Treatment;

    #[test]
    fn a_name_in_another_form_is_shown_readable_and_by_its_own_spelling() {
        let shown = |path: &str| spelled(&Target { root: "work".to_owned(), path: RelPath::parse(path).unwrap() });
        assert_eq!(shown("caf\u{e9}/a"), "work/caf\u{e9}/a");
        assert_eq!(shown("cafe\u{301}/a"), r"work/café/a (spelled work/cafe\u{301}/a)");
        assert_eq!(shown("a\u{200d}b"), r"work/a\u{200d}b");
    }

    #[test]
    fn a_program_with_a_network_names_the_hosts_that_it_may_send_to() {
        let named = |names: &[&str]| names.iter().map(|name| crate::manifest::DomainPattern::parse(name).unwrap()).collect();
        let mut rules = NetworkRules { allowed_domains: named(&["a.example", "*.b.example"]), ..NetworkRules::default() };
        assert_eq!(hosts(&rules), "a.example, *.b.example");
        rules.allowed_domains = named(&["a.example", "b.example", "c.example", "d.example", "e.example", "f.example", "g.example"]);
        assert!(hosts(&rules).ends_with("e.example, 2 more"), "{}", hosts(&rules));
        rules.any_public = true;
        assert_eq!(hosts(&rules), "any public host");
    }
    use crate::model::{CallPath, WriteFile};

    fn write(content: &str) -> Action {
        Action::WriteFile(WriteFile {
            path: CallPath::parse("work/a.txt").unwrap(),
            content: content.as_bytes().to_vec(),
            mode: WriteMode::Overwrite,
            expected_sha256: None,
        })
    }

    #[test]
    fn a_program_with_a_secret_says_that_it_is_masked_and_hides_nothing_that_acts() {
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
        let code = format!(
            "x = \"\"\"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: \"\"\"; import os; y = \"\"\"\n\n{line}\n-----END RSA PRIVATE KEY-----\"\"\""
        );
        let action = |code: &str| {
            let code = code.to_owned();
            Action::RunPython(RunPython { code, session: None, stdin: String::new(), timeout_s: None, fresh: false, fenced: false })
        };
        let shown = |code: &str| text(&action(code), &[], &look(&Preview::default(), Treatment::Mask), &[], Level::Change, 0);
        let question = shown(&code);
        assert!(question.contains("import os; y") && !question.contains("MIIE"), "{question}");
        assert!(question.ends_with("Secrets are masked in this question. The call uses them unmasked."), "{question}");
        assert!(!shown("print(1)").contains("masked"));
    }

    fn look(preview: &Preview, mask: Mask) -> Look<'_> {
        Look { preview, mask, later: Vec::new() }
    }

    fn lines(count: usize, word: &str, end: &str) -> String {
        (0..count).map(|n| format!("{word} {n}")).chain([end.to_owned()]).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_change_is_shown_as_its_diff_and_the_rest_is_counted() {
        let before = lines(100, "line", "");
        let after = lines(100, "LINE", "");
        let preview = Preview { before: Some(before), after: Some(after.clone()), ..Preview::default() };
        let text = text(&write(&after), &[], &look(&preview, Treatment::Mask), &[], Level::Change, 0);
        assert!(
            text.contains("100 line(s) added, 100 removed:")
                && text.contains("and 160 more line(s) of the change, not shown: 60 added, 100 removed"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 2 + 1 + LINES + 1 + 1, "with a mark where lines between are left out");
    }

    #[test]
    fn nothing_an_argument_holds_can_forge_a_line_of_the_question() {
        let program = "print(1)\u{1b}[2K\u{202e}\u{200b}\r\nx = 'Approved by operator\u{2028}code: AAAA'";
        let action = Action::RunPython(RunPython {
            code: program.into(),
            session: None,
            stdin: String::new(),
            timeout_s: None,
            fresh: false,
            fenced: false,
        });
        let text = text(&action, &[], &look(&Preview::default(), Treatment::Mask), &[], Level::Destroy, 0);
        assert!(!text.lines().any(|line| line.starts_with("code: ")), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{200b}', '\u{2028}', '\r']), "{text}");
    }

    #[test]
    fn a_long_program_shows_its_end_as_well() {
        let code = lines(500, "x = x +", "import hidden_suffix");
        let action =
            Action::RunPython(RunPython { code, session: None, stdin: String::new(), timeout_s: None, fresh: false, fenced: false });
        let text = text(&action, &[], &look(&Preview::default(), Treatment::Mask), &[], Level::Create, 0);
        assert!(text.contains("x = x + 0") && text.contains("import hidden_suffix") && text.contains("461 line(s) not shown"), "{text}");
        // The same in one line: scrolled away to the right.
        let line = format!("x = 1;{};import hidden_suffix", " ".repeat(1 << 20));
        let shown = shown(&line);
        assert!(shown.starts_with("x = 1;") && shown.contains(";import hidden_suffix (1048") && shown.len() < 1000, "{shown}");
    }

    #[test]
    fn a_secret_of_the_persons_file_is_masked_in_the_question_and_its_change_is_told() {
        let key = |last: char| format!("name = x\naws_access_key_id = AKIAIOSFODNN7EXAMPL{last}\nend\n");
        let shown = |before: String, after: &str, mask| {
            let preview = Preview { before: Some(before), after: Some(after.to_owned()), ..Preview::default() };
            text(&write(after), &[], &look(&preview, mask), &[], Level::Change, 0)
        };
        let gone = shown(key('Q'), "name = x\nend\n", Treatment::Mask);
        assert!(gone.contains("- aws_access_key_id = [SECRET:") && gone.contains("writes them unmasked"), "{gone}");
        let other = shown(key('Q'), &key('R'), Treatment::Mask);
        assert!(other.contains("At most secrets change") && !other.contains("AKIA"), "{other}");
        assert_eq!(shown(key('R'), &key('R'), Treatment::Mask), other, "a right guess is shown like a wrong one");
        assert!(shown(key('Q'), &key('R'), Treatment::Off).contains("+ aws_access_key_id = AKIA"), "where the manifest masks nothing");
    }
}
