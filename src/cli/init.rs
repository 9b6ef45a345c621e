//! `toolgate init`: four answers become a commented `tools.toml`.

#![expect(clippy::disallowed_methods, reason = "the command line is where a user's paths become files")]

use std::fmt::Write as _;
use std::io::{self, BufRead, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;
use toml_edit::{Array, DocumentMut, Item, Value};

use clap::Args;
use clap::builder::BoolishValueParser;

use super::install::{self, Client};
use super::run::{End, Fault, Globals, Report};
use super::{environment, text_file, trust};
use crate::manifest::{self, Manifest};
use crate::model::{Host, HttpUrl, Scheme};
use crate::sandbox::programs;
use crate::tools;

/// A first manifest: what people open or close. The answers change some of its lines.
const SHORT: &str = include_str!("init.toml");
/// The shipped manifest, every key with its comment.
const FULL: &str = include_str!("../../tools.toml");

/// Files and folders that a project is recognised by, each with a note for the user.
const PROJECTS: [(&str, &str); 5] = [
    ("Cargo.toml", "Rust"),
    ("package.json", "JavaScript"),
    ("pyproject.toml", "Python"),
    ("go.mod", "Go"),
    (".git", "agents can neither read nor change it"),
];
/// The interpreter of an environment, where Python projects have it.
const ENVIRONMENT: &str = ".venv/bin/python";

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
    /// (`http://127.0.0.1:8080`). Of a longer address, its host and port. May be given several times.
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
    /// Replace an existing tools.toml; a copy of it is kept beside it.
    #[arg(long)]
    pub force: bool,
}

pub(super) fn run(mut answers: Init, globals: &Globals, out: &mut dyn Write) -> Result<Report, Fault> {
    if !answers.yes && !globals.json {
        complete(&mut answers, &mut io::stdin().lock(), out)?;
    }
    let dir = answers.dir.as_deref().unwrap_or(Path::new("."));
    let folder = dir.join(answers.folder.as_deref().unwrap_or(Path::new("")));
    let found = PROJECTS.iter().filter(|(name, _)| folder.join(name).exists());
    let (found, notes): (Vec<_>, Vec<_>) = found.map(|(name, note)| (*name, format!("{name} ({note})"))).unzip();
    let (written, manifest) = manifest(&answers)?;
    let (file, former) = write(dir, &written, answers.force)?;
    let kept = trust::keep(&file, &trust::digest(&written));
    let mut text = format!("wrote {}{}\n", file.display(), text_file::kept(former.as_deref()));
    if !found.is_empty() {
        let _ = writeln!(text, "found {}", notes.join(", "));
    }
    if answers.interpreter.is_none() && folder.join(ENVIRONMENT).exists() {
        let _ = writeln!(
            text,
            "found {ENVIRONMENT}, which is not used: programs run with `python3`. To use it, run `init` again with `--force --interpreter {ENVIRONMENT}`"
        );
    }
    for url in answers.allow.iter().filter_map(|address| url_of(address).ok()) {
        if url.target() != "/" {
            let _ = writeln!(text, "`--allow` opens whole hosts: agents may fetch every page of `{}`", url.origin());
        }
    }
    let python = environment::program(&environment::base(&manifest, Some(&file))).filter(|_| !answers.imports.is_empty());
    let lacking = python.map(|python| programs::lacking(&python, &answers.imports)).unwrap_or_default();
    if !lacking.is_empty() {
        let _ = writeln!(
            text,
            "`{}` has no module {}. To install it, add its package under [python] in {name}, e.g. packages = {lacking:?}, then run\n  \
             toolgate trust\n  toolgate packages sync --manifest {name}",
            manifest.python.interpreter,
            lacking.join(", "),
            name = file.display()
        );
    }
    let (mut snippet, mut note) = (None, None);
    if let Some(client) = answers.client {
        let places = install::Places { project: file.parent().unwrap_or(Path::new("/")).to_owned(), ..install::Places::of_user()? };
        let (pasted, about) = (install::snippet(client, &install::server(client, Some(&file), &places)?.0), client.note());
        text = format!("{text}\nRegister it (or: toolgate install … --write):\n\n{pasted}\n{}\n", about.as_deref().unwrap_or_default());
        (snippet, note) = (Some(pasted), about);
    }
    text = format!("{text}check it: toolgate check {}\n", file.display());
    text += &trust::ending(&kept);
    let json = json!({
        "manifest": file, "trusted": kept.is_ok(), "backup": former, "found": found, "lacking": lacking, "snippet": snippet, "note": note,
    });
    Ok(Report { json, text, end: End::Done })
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

fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.into())
}

/// The manifest for these answers, as text and as read: the short or the full one with the lines changed that they are about.
/// # Errors  When the folder's name is no text, or the manifest would not be valid.
pub(super) fn manifest(answers: &Init) -> io::Result<(String, Manifest)> {
    let folder = answers.folder.as_deref().unwrap_or(Path::new(".")).to_str().ok_or_else(|| invalid("the folder's name is not UTF-8"))?;
    let mut permissions = vec!["READ_FILE", "WRITE_FILE"];
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
    open(&mut document, &answers.allow)?;
    add(&mut document, answers);
    let text = document.to_string();
    // What was asked for is read as any manifest is, before it is written.
    match manifest::parse(&text, tools::specs()) {
        Ok(read) => Ok((text, read)),
        Err(faults) => {
            let faults: Vec<String> = faults.iter().map(|fault| format!("{}: {}", fault.at, fault.what)).collect();
            Err(invalid(format!("that would be no valid manifest: {}", faults.join("; "))))
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

/// An address of `--allow` as a URL, without the `*.` of a pattern. Where no scheme is written it is `https`.
fn url_of(address: &str) -> io::Result<HttpUrl> {
    let bare = address.strip_prefix("*.").unwrap_or(address);
    let url = if bare.contains("://") { bare.to_owned() } else { format!("https://{bare}") };
    HttpUrl::parse(&url).map_err(|refusal| invalid(format!("--allow {}: {refusal}", address.escape_debug())))
}

/// Opens the hosts of `--allow`, with their schemes and ports.
fn open(document: &mut DocumentMut, allow: &[String]) -> io::Result<()> {
    let (mut domains, mut internal, mut ports, mut schemes) = (Vec::new(), Vec::new(), vec![443], vec!["https"]);
    for address in allow {
        let url = url_of(address)?;
        match url.host() {
            Host::Address(host) => internal.push(std::net::SocketAddr::new(host, url.port()).to_string()),
            Host::Name(name) => {
                domains.push(if address.starts_with("*.") { format!("*.{name}") } else { name.to_owned() });
                ports.push(url.port());
            }
        }
        if url.scheme() == Scheme::Http {
            schemes = vec!["https", "http"];
        }
    }
    ports.sort_unstable();
    ports.dedup();
    put(document, &["network", "allowed_domains"], Array::from_iter(domains));
    put(document, &["network", "internal"], Array::from_iter(internal));
    put(document, &["network", "allowed_ports"], ports.into_iter().map(i64::from).collect::<Array>());
    put(document, &["network", "allowed_schemes"], Array::from_iter(schemes));
    Ok(())
}

fn add(document: &mut DocumentMut, Init { interpreter, imports, .. }: &Init) {
    if let Some(interpreter) = interpreter {
        put(document, &["python", "interpreter"], interpreter);
    }
    if let Some(list) = at(document, &["python", "allowed_imports"]).and_then(Value::as_array_mut) {
        for module in imports {
            list.push_formatted(Value::from(module).decorated("\n  ", ""));
        }
    }
}

/// Writes `tools.toml` into `dir` and gives its absolute path, and where a former one is kept.
/// # Errors  When it exists and is not to be replaced, or cannot be written.
fn write(dir: &Path, text: &str, force: bool) -> io::Result<(PathBuf, Option<PathBuf>)> {
    std::fs::create_dir_all(dir)?;
    let file = dir.canonicalize()?.join("tools.toml");
    let is_new = file.symlink_metadata().is_err();
    if !force && !is_new {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("`{}` exists; --force replaces it and keeps a copy", file.display()),
        ));
    }
    let kept = if is_new { None } else { Some(text_file::keep(&file)?) };
    text_file::replace(&file, text)?;
    if is_new {
        // It holds no secret, and the user of an image or of a system service reads it as well. One that was there keeps its mode.
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644))?;
    }
    Ok((file, kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(answers: &Init) -> String {
        manifest(answers).unwrap().0
    }

    #[test]
    fn the_default_answers_give_a_short_manifest_or_the_shipped_one() {
        let short = text(&Init::default());
        assert_eq!(short, SHORT);
        assert!(short.lines().count() <= 40 && short.contains("docs/manifest.md"));
        assert!(!["READONLY", "DATABASE", "EMAIL"].iter().any(|flag| short.contains(flag)), "no tool needs it");
        assert_eq!(text(&Init { full: true, ..Init::default() }), FULL);
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
        let text = text(&answers);
        let changed: Vec<&str> = text.lines().zip(FULL.lines()).filter(|(new, old)| new != old).map(|(new, _)| new).collect();
        assert_eq!(
            changed,
            [
                "path  = '/home/a \"b\"'                        # relative to this file; `toolgate serve --root project=PATH` puts it elsewhere",
                "any_public      = true            # true: any host of the public internet but the denied ones",
                "permissions   = [\"READ_FILE\", \"WRITE_FILE\", \"NETWORK_ACCESS\"]",
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
            manifest(&answers).map(|(text, _)| text)
        };
        let text =
            with(&["https://docs.python.org:8443/3/library/os.html", "*.github.com", "http://127.0.0.1:8080/"], &["pandas", "matplotlib"])
                .unwrap();
        let changed: Vec<&str> = text.lines().filter(|new| FULL.lines().all(|old| *new != old)).collect();
        assert_eq!(
            changed,
            [
                "allowed_domains = [\"docs.python.org\", \"*.github.com\"]               # e.g. [\"api.github.com\", \"*.wikipedia.org\"]; `*.` is every subdomain, not the bare name",
                "allowed_ports   = [443, 8443]",
                "allowed_schemes = [\"https\", \"http\"]",
                "internal        = [\"127.0.0.1:8080\"]               # [\"10.1.2.3:8080\"] opens this one private address",
                "interpreter     = \"/envs/data/bin/python\"        # or the python of a virtual environment",
                "  \"pandas\",",
                "  \"matplotlib\",",
                "permissions   = [\"READ_FILE\", \"WRITE_FILE\", \"EXECUTE_CODE\", \"NETWORK_ACCESS\"]",
            ]
        );
        for wrong in ["ftp://example.com", "http://exa mple.com", "https://"] {
            let fault = with(&[wrong], &[]).unwrap_err().to_string();
            assert!(fault.contains(&format!("--allow {wrong}: ")), "{fault}");
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
        let mine = folder.path().join("tools.toml");
        std::fs::write(&mine, "mine").unwrap();
        assert_eq!(write(folder.path(), SHORT, false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let read = |file: &Path| std::fs::read_to_string(file).unwrap();
        assert_eq!(read(&mine), "mine");
        std::fs::set_permissions(&mine, std::fs::Permissions::from_mode(0o600)).unwrap();
        let (file, kept) = write(folder.path(), SHORT, true).unwrap();
        assert_eq!((read(&file).as_str(), read(&kept.unwrap()).as_str()), (SHORT, "mine"));
        let mode = |file: &Path| file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&file), 0o600, "its mode stays");
        let (file, kept) = write(&folder.path().join("new"), SHORT, false).unwrap();
        assert_eq!(kept, None);
        assert_eq!(mode(&file), 0o644, "other users of the machine can read a new one");
    }
}
