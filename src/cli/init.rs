//! `toolgate init`: four answers become a commented `tools.toml`.

#![expect(clippy::disallowed_methods, reason = "the command line is where a user's paths become files")]

use std::io::{self, BufRead, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;
use toml_edit::{Array, DocumentMut, Item, Value};

use super::arguments::{Answers, ClientName, YesNo};
use super::run::{End, Fault, Report};
use super::{doctor, install, text_file, trust};
use crate::sandbox::programs::Settings;
use crate::{manifest, tools};

/// The shipped manifest, every key with its comment; the answers change some of its lines.
const SHIPPED: &str = include_str!("../../tools.toml");

/// Whether a jail on this machine holds the layer `memory`, which is partial without a memory control group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryLayer {
    /// It does, or no jail could be tried: the manifest requires it.
    Required,
    /// In part: a manifest that requires it would run no program.
    LeftOut,
}

impl MemoryLayer {
    /// Tries the jails of this machine, as `toolgate doctor` does.
    pub async fn of_this_machine() -> Self {
        let report = doctor::examine(&Settings::default()).await;
        let chosen = report.backends.iter().find(|line| Some(&line.name) == report.chosen.as_ref());
        let is_partial = chosen.and_then(|line| line.probe.layers.get("memory")).is_some_and(|state| state.starts_with("partial: "));
        if is_partial { Self::LeftOut } else { Self::Required }
    }
}

/// `toolgate init`
pub(super) fn run(dir: Option<&Path>, mut answers: Answers, yes: bool, force: bool, out: &mut dyn Write) -> Result<Report, Fault> {
    if !yes {
        complete(&mut answers, &mut io::stdin().lock(), out)?;
    }
    let memory = match answers.python {
        Some(YesNo::No) => MemoryLayer::Required,
        _ => tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(MemoryLayer::of_this_machine()),
    };
    let file = write(dir.unwrap_or(Path::new(".")), &answers, memory, force)?;
    trust::keep(&file, &trust::digest(&text_file::read(&file)?))?;
    let mut text = format!("wrote {}\n", file.display());
    if memory == MemoryLayer::LeftOut {
        let why =
            "`[python] require` leaves out `memory`, which this machine holds in part only: `toolgate doctor` says why and how to mend it";
        text = format!("{text}{why}\n");
    }
    let (mut snippet, mut note) = (None, None);
    if let Some(client) = answers.client {
        let places = install::Places { project: file.parent().unwrap_or(Path::new("/")).to_owned(), ..install::Places::of_user()? };
        let (server, _) = install::server(client, Some(&file), &places)?;
        let (pasted, about) = (install::snippet(client, &server), install::note(client));
        text = format!("{text}\nRegister it (or: toolgate install … --write):\n\n{pasted}\n{}\n", about.as_deref().unwrap_or_default());
        (snippet, note) = (Some(pasted), about);
    }
    text = format!("{text}check it: toolgate check {}\n", file.display());
    let required = memory == MemoryLayer::Required;
    let json = json!({"manifest": file, "trusted": true, "requires_memory": required, "snippet": snippet, "note": note});
    Ok(Report { json, text, end: End::Done })
}

/// Asks for what no flag said, one line each; an empty line takes the default, and so does the end of the input.
/// # Errors  When nothing can be written or read.
fn complete(answers: &mut Answers, input: &mut dyn BufRead, out: &mut dyn Write) -> io::Result<()> {
    if answers.folder.is_none() {
        answers.folder = ask(input, out, "Which folder shall agents work in? [.]", |text| Some(PathBuf::from(text)))?;
    }
    if answers.network.is_none() {
        answers.network = yes_or_no(input, out, "May they fetch public web pages? yes/no [no]")?;
    }
    if answers.python.is_none() {
        answers.python = yes_or_no(input, out, "May they run Python in the sandbox? yes/no [yes]")?;
    }
    if answers.client.is_none() {
        answers.client = ask(input, out, &format!("Which client? {} [none]", client_names().join(", ")), client_name)?;
    }
    Ok(())
}

/// What a person answers to one question of yes or no; none where the answer is left open.
/// # Errors  When nothing can be written or read.
pub(super) fn yes_or_no(input: &mut dyn BufRead, out: &mut dyn Write, question: &str) -> io::Result<Option<YesNo>> {
    ask(input, out, question, |text| match text.to_lowercase().as_str() {
        "y" | "yes" => Some(YesNo::Yes),
        "n" | "no" => Some(YesNo::No),
        _ => None,
    })
}

fn ask<T>(input: &mut dyn BufRead, out: &mut dyn Write, question: &str, read: impl Fn(&str) -> Option<T>) -> io::Result<Option<T>> {
    loop {
        write!(out, "{question} ")?;
        out.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 || line.trim().is_empty() {
            return Ok(None);
        }
        match read(line.trim()) {
            Some(answer) => return Ok(Some(answer)),
            None => writeln!(out, "`{}` is no answer to that.", line.trim().escape_debug())?,
        }
    }
}

fn client_names() -> Vec<String> {
    use clap::ValueEnum;
    ClientName::value_variants().iter().filter_map(ClientName::to_possible_value).map(|value| value.get_name().to_owned()).collect()
}

fn client_name(text: &str) -> Option<ClientName> {
    <ClientName as clap::ValueEnum>::from_str(text, true).ok()
}

/// The manifest for these answers: the shipped one with the lines changed that they are about.
/// # Errors  When the folder's name is no text.
pub fn manifest(answers: &Answers, memory: MemoryLayer) -> io::Result<String> {
    let Some(folder) = answers.folder.as_deref().unwrap_or(Path::new(".")).to_str() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the folder's name is not UTF-8"));
    };
    let mut permissions = vec!["READONLY", "WRITE_FILE"];
    if answers.python != Some(YesNo::No) {
        permissions.push("EXECUTE_CODE");
    }
    if answers.network == Some(YesNo::Yes) || !answers.allow.is_empty() {
        permissions.push("NETWORK_ACCESS");
    }
    let mut document: DocumentMut = SHIPPED.parse().map_err(io::Error::other)?;
    put(&mut document, &["roots", "project", "path"], folder);
    put(&mut document, &["profiles", "standard", "permissions"], Array::from_iter(permissions));
    if answers.network == Some(YesNo::Yes) {
        put(&mut document, &["network", "any_public"], true);
    }
    add(&mut document, answers);
    if memory == MemoryLayer::LeftOut
        && let Some(layers) = at(&mut document, &["python", "require"]).and_then(Value::as_array_mut)
    {
        layers.retain(|layer| layer.as_str() != Some("memory"));
    }
    let text = document.to_string();
    // What was asked for is read as any manifest is, before it is written.
    match manifest::parse(&text, tools::specs()) {
        Ok(_) => Ok(text),
        Err(faults) => {
            let faults: Vec<String> = faults.iter().map(|fault| format!("{}: {}", fault.at, fault.what)).collect();
            Err(io::Error::new(io::ErrorKind::InvalidInput, format!("that would be no valid manifest: {}", faults.join("; "))))
        }
    }
}

fn at<'d>(document: &'d mut DocumentMut, key: &[&str]) -> Option<&'d mut Value> {
    key.iter().try_fold(document.as_item_mut(), |item, name| item.get_mut(*name)).and_then(Item::as_value_mut)
}

/// Another value, with the comment behind it kept.
fn put(document: &mut DocumentMut, key: &[&str], new: impl Into<Value>) {
    if let Some(old) = at(document, key) {
        let decor = old.decor().clone();
        *old = new.into();
        *old.decor_mut() = decor;
    }
}

fn add(document: &mut DocumentMut, Answers { allow, interpreter, imports, .. }: &Answers) {
    let (mut domains, mut internal) = (Array::new(), Array::new());
    for address in allow {
        // Another scheme is told as a fault of the manifest.
        let rest = address.strip_prefix("http://").or(address.strip_prefix("https://")).unwrap_or(address).trim_end_matches('/');
        if rest.parse::<std::net::SocketAddr>().is_ok() { internal.push(rest) } else { domains.push(rest) }
    }
    if allow.iter().any(|address| address.starts_with("http://")) {
        put(document, &["network", "allowed_schemes"], Array::from_iter(["https", "http"]));
    }
    for (key, list) in [("allowed_domains", domains), ("internal", internal)].into_iter().filter(|(_, list)| !list.is_empty()) {
        put(document, &["network", key], list);
    }
    if let Some(interpreter) = interpreter {
        put(document, &["python", "interpreter"], interpreter);
    }
    if let Some(list) = at(document, &["python", "allowed_imports"]).and_then(Value::as_array_mut) {
        for module in imports {
            list.push_formatted(Value::from(module).decorated("\n  ", ""));
        }
    }
}

/// Writes `tools.toml` into `dir` and gives its absolute path.
/// # Errors  When it exists and `force` is not set, or cannot be written.
pub fn write(dir: &Path, answers: &Answers, memory: MemoryLayer, force: bool) -> io::Result<PathBuf> {
    let text = manifest(answers, memory)?;
    std::fs::create_dir_all(dir)?;
    let file = dir.canonicalize()?.join("tools.toml");
    if !force && file.symlink_metadata().is_ok() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("`{}` exists; --force replaces it", file.display())));
    }
    let is_new = file.symlink_metadata().is_err();
    install::replace(&file, &text)?;
    if is_new {
        // It holds no secret, and the user of an image or of a system service reads it as well. One that was there keeps its mode.
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_answers_give_the_shipped_manifest() {
        assert_eq!(manifest(&Answers::default(), MemoryLayer::Required).unwrap(), SHIPPED);
    }

    #[test]
    fn where_memory_is_held_in_part_it_is_not_required() {
        let read = |memory| manifest(&Answers::default(), memory).unwrap().parse::<toml::Table>().unwrap()["python"]["require"].clone();
        let layers = |list: &[&str]| toml::Value::from(list.iter().map(|layer| (*layer).to_owned()).collect::<Vec<_>>());
        assert_eq!(read(MemoryLayer::LeftOut), layers(&["filesystem", "network", "processes", "syscalls"]));
        assert_eq!(read(MemoryLayer::Required), layers(&["filesystem", "network", "processes", "syscalls", "memory"]));
    }

    #[test]
    fn each_answer_changes_its_line_and_no_other() {
        let answers =
            Answers { folder: Some("/home/a \"b\"".into()), network: Some(YesNo::Yes), python: Some(YesNo::No), ..Answers::default() };
        let text = manifest(&answers, MemoryLayer::Required).unwrap();
        let changed: Vec<&str> = text.lines().zip(SHIPPED.lines()).filter(|(new, old)| new != old).map(|(new, _)| new).collect();
        assert_eq!(
            changed,
            [
                "path  = '/home/a \"b\"'                        # relative to this file; `toolgate serve --root project=PATH` puts it elsewhere",
                "any_public      = true            # true: any host of the public internet but the denied ones",
                "permissions   = [\"READONLY\", \"WRITE_FILE\", \"NETWORK_ACCESS\"]",
            ]
        );
        let read: toml::Table = text.parse().unwrap();
        assert_eq!(read["roots"]["project"]["path"].as_str(), Some("/home/a \"b\""));
    }

    #[test]
    fn what_else_is_open_changes_its_lines_and_is_read_before_it_is_written() {
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let with = |allow: &[&str], imports: &[&str]| {
            let interpreter = Some("/envs/data/bin/python".to_owned());
            let answers = Answers { allow: words(allow), interpreter, imports: words(imports), ..Answers::default() };
            manifest(&answers, MemoryLayer::Required)
        };
        let text = with(&["docs.python.org", "*.github.com", "http://127.0.0.1:8080/"], &["pandas", "matplotlib"]).unwrap();
        let changed: Vec<&str> = text.lines().filter(|new| SHIPPED.lines().all(|old| *new != old)).collect();
        assert_eq!(
            changed,
            [
                "allowed_domains = [\"docs.python.org\", \"*.github.com\"]               # e.g. [\"api.github.com\", \"*.wikipedia.org\"]; `*.` is every subdomain, not the bare name",
                "allowed_schemes = [\"https\", \"http\"]",
                "internal        = [\"127.0.0.1:8080\"]               # [\"10.1.2.3:8080\"] opens this one private address",
                "interpreter     = \"/envs/data/bin/python\"        # or the python of a virtual environment",
                "  \"pandas\",",
                "  \"matplotlib\",",
                "permissions   = [\"READONLY\", \"WRITE_FILE\", \"EXECUTE_CODE\", \"NETWORK_ACCESS\"]",
            ]
        );
        for wrong in ["ftp://example.com", "http://exa mple.com", "example.com/path"] {
            let fault = with(&[wrong], &[]).unwrap_err().to_string();
            assert!(fault.contains("network.allowed_domains[0]"), "{wrong}: {fault}");
        }
        assert!(with(&[], &["pan das"]).unwrap_err().to_string().contains("python.allowed_imports"));
    }

    #[test]
    fn questions_are_asked_until_they_are_answered_and_only_where_no_flag_did() {
        let mut out = Vec::new();
        let mut answers = Answers { python: Some(YesNo::No), ..Answers::default() };
        complete(&mut answers, &mut "src\nperhaps\nYES\nnetscape\nzed\n".as_bytes(), &mut out).unwrap();
        let wanted = Answers {
            folder: Some("src".into()),
            network: Some(YesNo::Yes),
            python: Some(YesNo::No),
            client: Some(ClientName::Zed),
            ..Answers::default()
        };
        assert_eq!(answers, wanted);
        let asked = String::from_utf8(out).unwrap();
        assert!(!asked.contains("Python") && asked.contains("`perhaps` is no answer"), "{asked}");
        let mut none = Answers::default();
        complete(&mut none, &mut "".as_bytes(), &mut Vec::new()).unwrap();
        assert_eq!(none, Answers::default());
    }

    #[test]
    fn an_existing_manifest_is_kept_unless_forced() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tools.toml"), "mine").unwrap();
        assert_eq!(
            write(folder.path(), &Answers::default(), MemoryLayer::Required, false).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(std::fs::read_to_string(folder.path().join("tools.toml")).unwrap(), "mine");
        std::fs::set_permissions(folder.path().join("tools.toml"), std::fs::Permissions::from_mode(0o600)).unwrap();
        let file = write(folder.path(), &Answers::default(), MemoryLayer::Required, true).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), SHIPPED);
        let mode = |file: &Path| file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&file), 0o600, "its mode stays");
        let file = write(&folder.path().join("new"), &Answers::default(), MemoryLayer::Required, false).unwrap();
        assert_eq!(mode(&file), 0o644, "other users of the machine can read a new one");
    }
}
