//! `toolgate init`: four answers become a commented `tools.toml`.

#![expect(clippy::disallowed_methods, reason = "the command line is where a user's paths become files")]

use std::io::{self, BufRead, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;
use toml_edit::{Array, DocumentMut, Item, Value};

use clap::Args;
use clap::builder::BoolishValueParser;

use super::install::{self, Client};
use super::run::{End, Fault, Globals, Report};
use super::{text_file, trust};
use crate::{manifest, tools};

/// A first manifest: what people open or close. The answers change some of its lines.
const SHORT: &str = include_str!("init.toml");
/// The shipped manifest, every key with its comment.
const FULL: &str = include_str!("../../tools.toml");

/// Write a commented tools.toml and print the snippet for a client.
// What no flag says is asked, or takes its default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct Init {
    /// Where to. Default: here.
    pub dir: Option<PathBuf>,
    /// The folder agents work in, relative to the manifest or absolute. Default: its own.
    #[arg(long, value_name = "PATH")]
    pub folder: Option<PathBuf>,
    /// Whether pages may be fetched. Default: no.
    #[arg(long, value_name = "yes|no", value_parser = BoolishValueParser::new())]
    pub network: Option<bool>,
    /// Whether Python may run. Default: yes.
    #[arg(long, value_name = "yes|no", value_parser = BoolishValueParser::new())]
    pub python: Option<bool>,
    /// The client to print the snippet for.
    #[arg(long, value_parser = Client::parser())]
    pub client: Option<&'static Client>,
    /// An address agents may fetch, and no other: a domain (`docs.python.org`, `*.github.com`), or a server of this machine or network
    /// (`http://127.0.0.1:8080`). May be given several times.
    #[arg(long, value_name = "ADDRESS")]
    pub allow: Vec<String>,
    /// The Python that programs run in: the python of a virtual environment, or a name on the search path.
    #[arg(long, value_name = "PROGRAM")]
    pub interpreter: Option<String>,
    /// A module that is installed in that Python and that programs may import, e.g. `pandas`. May be given several times.
    #[arg(long = "import", value_name = "MODULE")]
    pub imports: Vec<String>,
    /// Write every key with its comment.
    #[arg(long)]
    pub full: bool,
    /// Ask nothing: what no flag says takes its default.
    #[arg(long, short)]
    pub yes: bool,
    /// Replace an existing tools.toml.
    #[arg(long)]
    pub force: bool,
}

pub(super) fn run(mut answers: Init, globals: &Globals, out: &mut dyn Write) -> Result<Report, Fault> {
    if !answers.yes && !globals.json {
        complete(&mut answers, &mut io::stdin().lock(), out)?;
    }
    let file = write(answers.dir.as_deref().unwrap_or(Path::new(".")), &answers)?;
    let kept = trust::keep(&file, &trust::digest(&text_file::read(&file)?));
    let mut text = format!("wrote {}\n", file.display());
    let (mut snippet, mut note) = (None, None);
    if let Some(client) = answers.client {
        let places = install::Places { project: file.parent().unwrap_or(Path::new("/")).to_owned(), ..install::Places::of_user()? };
        let (pasted, about) = (install::snippet(client, &install::server(client, Some(&file), &places)?.0), client.note());
        text = format!("{text}\nRegister it (or: toolgate install … --write):\n\n{pasted}\n{}\n", about.as_deref().unwrap_or_default());
        (snippet, note) = (Some(pasted), about);
    }
    text = format!("{text}check it: toolgate check {}\n", file.display());
    text += &trust::ending(&kept);
    Ok(Report { json: json!({"manifest": file, "trusted": kept.is_ok(), "snippet": snippet, "note": note}), text, end: End::Done })
}

/// Asks for what no flag said, one line each; an empty line takes the default, and so does the end of the input.
/// # Errors  When nothing can be written or read.
fn complete(answers: &mut Init, input: &mut dyn BufRead, out: &mut dyn Write) -> io::Result<()> {
    ask(&mut answers.folder, input, out, "Which folder shall agents work in? [.]", |text| Some(PathBuf::from(text)))?;
    ask(&mut answers.network, input, out, "May they fetch public web pages? yes/no [no]", yes_or_no)?;
    ask(&mut answers.python, input, out, "May they run Python in the sandbox? yes/no [yes]", yes_or_no)?;
    let clients: Vec<&str> = Client::all().iter().map(|client| client.name.as_str()).collect();
    ask(&mut answers.client, input, out, &format!("Which client? {} [none]", clients.join(", ")), Client::named)
}

fn yes_or_no(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    }
}

/// Asks until there is an answer, or an empty line leaves it open.
fn ask<T>(
    answer: &mut Option<T>,
    input: &mut dyn BufRead,
    out: &mut dyn Write,
    question: &str,
    read: impl Fn(&str) -> Option<T>,
) -> io::Result<()> {
    while answer.is_none() {
        write!(out, "{question} ")?;
        out.flush()?;
        let mut line = String::new();
        input.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        *answer = read(line.trim());
        if answer.is_none() {
            writeln!(out, "`{}` is no answer to that.", line.trim().escape_debug())?;
        }
    }
    Ok(())
}

/// The manifest for these answers: the short or the full one with the lines changed that they are about.
/// # Errors  When the folder's name is no text.
fn manifest(answers: &Init) -> io::Result<String> {
    let Some(folder) = answers.folder.as_deref().unwrap_or(Path::new(".")).to_str() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the folder's name is not UTF-8"));
    };
    let mut permissions = vec!["READONLY", "WRITE_FILE"];
    if answers.python != Some(false) {
        permissions.push("EXECUTE_CODE");
    }
    if answers.network == Some(true) || !answers.allow.is_empty() {
        permissions.push("NETWORK_ACCESS");
    }
    let mut document: DocumentMut = if answers.full { FULL } else { SHORT }.parse().map_err(io::Error::other)?;
    put(&mut document, &["roots", "project", "path"], folder);
    put(&mut document, &["profiles", "standard", "permissions"], Array::from_iter(permissions));
    if answers.network == Some(true) {
        put(&mut document, &["network", "any_public"], true);
    }
    add(&mut document, answers);
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

fn add(document: &mut DocumentMut, Init { allow, interpreter, imports, .. }: &Init) {
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
/// # Errors  When it exists and is not to be replaced, or cannot be written.
fn write(dir: &Path, answers: &Init) -> io::Result<PathBuf> {
    let text = manifest(answers)?;
    std::fs::create_dir_all(dir)?;
    let file = dir.canonicalize()?.join("tools.toml");
    let is_new = file.symlink_metadata().is_err();
    if !answers.force && !is_new {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("`{}` exists; --force replaces it", file.display())));
    }
    text_file::replace(&file, &text)?;
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
    fn the_default_answers_give_a_short_manifest_or_the_shipped_one() {
        let short = manifest(&Init::default()).unwrap();
        assert_eq!(short, SHORT);
        assert!(short.lines().count() <= 40);
        assert_eq!(manifest(&Init { full: true, ..Init::default() }).unwrap(), FULL);
        // What the short one leaves out has the values of the full one by default.
        let read = |text: &str| manifest::parse(text, tools::specs()).unwrap();
        let (short, full) = (read(SHORT), read(FULL));
        let shown = |manifest: &manifest::Manifest| format!("{:?}\n{:?}\n{:?}", manifest.approvals, manifest.filters, manifest.python);
        assert_eq!(shown(&short), shown(&full));
        assert_eq!(short.files.denied, full.files.denied);
    }

    #[test]
    fn each_answer_changes_its_line_and_no_other() {
        let answers =
            Init { folder: Some("/home/a \"b\"".into()), network: Some(true), python: Some(false), full: true, ..Init::default() };
        let text = manifest(&answers).unwrap();
        let changed: Vec<&str> = text.lines().zip(FULL.lines()).filter(|(new, old)| new != old).map(|(new, _)| new).collect();
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
            let answers = Init { allow: words(allow), interpreter, imports: words(imports), full: true, ..Init::default() };
            manifest(&answers)
        };
        let text = with(&["docs.python.org", "*.github.com", "http://127.0.0.1:8080/"], &["pandas", "matplotlib"]).unwrap();
        let changed: Vec<&str> = text.lines().filter(|new| FULL.lines().all(|old| *new != old)).collect();
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
        let mut answers = Init { python: Some(false), ..Init::default() };
        complete(&mut answers, &mut "src\nperhaps\nYES\nnetscape\nzed\n".as_bytes(), &mut out).unwrap();
        let wanted =
            Init { folder: Some("src".into()), network: Some(true), python: Some(false), client: Client::named("zed"), ..Init::default() };
        assert_eq!(answers, wanted);
        let asked = String::from_utf8(out).unwrap();
        assert!(!asked.contains("Python") && asked.contains("`perhaps` is no answer"), "{asked}");
        let mut none = Init::default();
        complete(&mut none, &mut "".as_bytes(), &mut Vec::new()).unwrap();
        assert_eq!(none, Init::default());
    }

    #[test]
    fn an_existing_manifest_is_kept_unless_forced() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tools.toml"), "mine").unwrap();
        assert_eq!(write(folder.path(), &Init::default()).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(folder.path().join("tools.toml")).unwrap(), "mine");
        std::fs::set_permissions(folder.path().join("tools.toml"), std::fs::Permissions::from_mode(0o600)).unwrap();
        let file = write(folder.path(), &Init { force: true, ..Init::default() }).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), SHORT);
        let mode = |file: &Path| file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&file), 0o600, "its mode stays");
        let file = write(&folder.path().join("new"), &Init::default()).unwrap();
        assert_eq!(mode(&file), 0o644, "other users of the machine can read a new one");
    }
}
