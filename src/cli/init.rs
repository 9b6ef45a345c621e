//! `toolgate init`: four answers become a commented `tools.toml`.

#![expect(clippy::disallowed_methods, reason = "the command line is where a user's paths become files")]

use std::io::{self, BufRead, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::arguments::{ClientName, YesNo};
use super::{doctor, install};
use crate::sandbox::jail::Settings;

/// The shipped manifest, every key with its comment; the answers change some of its lines.
const SHIPPED: &str = include_str!("../../tools.toml");

/// The lines of the shipped manifest that answers change.
const FOLDER: &str = "path  = \".\"                        # relative to this file;";
const PERMISSIONS: &str = "permissions   = [\"READONLY\", \"WRITE_FILE\", \"EXECUTE_CODE\"]";
const PUBLIC: &str = "any_public      = false            # true: any host of the public internet but the denied ones";
const REQUIRE: &str = ", \"memory\"]   # one of these missing: no program runs";
const REQUIRE_LESS: &str = "]   # one of these missing: no program runs; \"memory\" is partial here (`toolgate doctor`)";

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

/// What the manifest shall allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    /// The folder agents work in; relative to the manifest, or absolute.
    pub folder: PathBuf,
    /// Whether pages of the public internet may be fetched.
    pub network: YesNo,
    /// Whether Python may run.
    pub python: YesNo,
    /// The client to print the snippet for.
    pub client: Option<ClientName>,
}

impl Default for Answers {
    fn default() -> Self {
        Self { folder: PathBuf::from("."), network: YesNo::No, python: YesNo::Yes, client: None }
    }
}

/// What is known without asking.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// The folder.
    pub folder: Option<PathBuf>,
    /// Network.
    pub network: Option<YesNo>,
    /// Python.
    pub python: Option<YesNo>,
    /// The client.
    pub client: Option<ClientName>,
}

impl Given {
    /// What was given, and the default for the rest.
    pub fn or_default(self) -> Answers {
        let default = Answers::default();
        Answers {
            folder: self.folder.unwrap_or(default.folder),
            network: self.network.unwrap_or(default.network),
            python: self.python.unwrap_or(default.python),
            client: self.client,
        }
    }

    /// Asks for the rest, one line each; an empty line takes the default, and so does the end of the input.
    /// # Errors  When nothing can be written or read.
    pub fn or_asked(self, input: &mut dyn BufRead, out: &mut dyn Write) -> io::Result<Answers> {
        let default = Answers::default();
        let folder = match self.folder {
            Some(folder) => folder,
            None => ask(input, out, "Which folder shall agents work in? [.]", |text| Some(PathBuf::from(text)))?.unwrap_or(default.folder),
        };
        let network = match self.network {
            Some(network) => network,
            None => ask(input, out, "May they fetch public web pages? yes/no [no]", yes_or_no)?.unwrap_or(default.network),
        };
        let python = match self.python {
            Some(python) => python,
            None => ask(input, out, "May they run Python in the sandbox? yes/no [yes]", yes_or_no)?.unwrap_or(default.python),
        };
        let client = match self.client {
            Some(client) => Some(client),
            None => ask(input, out, &format!("Which client? {} [none]", client_names().join(", ")), client_name)?,
        };
        Ok(Answers { folder, network, python, client })
    }
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

fn yes_or_no(text: &str) -> Option<YesNo> {
    match text.to_lowercase().as_str() {
        "y" | "yes" => Some(YesNo::Yes),
        "n" | "no" => Some(YesNo::No),
        _ => None,
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
    let Some(folder) = answers.folder.to_str() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the folder's name is not UTF-8"));
    };
    let mut permissions = vec!["READONLY", "WRITE_FILE"];
    if answers.python == YesNo::Yes {
        permissions.push("EXECUTE_CODE");
    }
    if answers.network == YesNo::Yes {
        permissions.push("NETWORK_ACCESS");
    }
    let mut text = SHIPPED.to_owned();
    if folder != "." {
        // A JSON text is a basic string of TOML.
        let path = serde_json::Value::from(folder).to_string();
        text = text.replacen(FOLDER, &FOLDER.replacen("\".\"", &path, 1), 1);
    }
    text = text.replacen(PERMISSIONS, &format!("permissions   = [\"{}\"]", permissions.join("\", \"")), 1);
    if answers.network == YesNo::Yes {
        text = text.replacen(PUBLIC, &PUBLIC.replacen("false", "true ", 1), 1);
    }
    if memory == MemoryLayer::LeftOut {
        text = text.replacen(REQUIRE, REQUIRE_LESS, 1);
    }
    Ok(text)
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
        let answers = Answers { folder: "/home/a \"b\"".into(), network: YesNo::Yes, python: YesNo::No, client: None };
        let text = manifest(&answers, MemoryLayer::Required).unwrap();
        let changed: Vec<&str> = text.lines().zip(SHIPPED.lines()).filter(|(new, old)| new != old).map(|(new, _)| new).collect();
        assert_eq!(
            changed,
            [
                "path  = \"/home/a \\\"b\\\"\"                        # relative to this file; `toolgate serve --root project=PATH` puts it elsewhere",
                "any_public      = true             # true: any host of the public internet but the denied ones",
                "permissions   = [\"READONLY\", \"WRITE_FILE\", \"NETWORK_ACCESS\"]",
            ]
        );
        let read: toml::Table = text.parse().unwrap();
        assert_eq!(read["roots"]["project"]["path"].as_str(), Some("/home/a \"b\""));
    }

    #[test]
    fn questions_are_asked_until_they_are_answered_and_only_where_no_flag_did() {
        let mut out = Vec::new();
        let given = Given { python: Some(YesNo::No), ..Given::default() };
        let answers = given.or_asked(&mut "src\nperhaps\nYES\nnetscape\nzed\n".as_bytes(), &mut out).unwrap();
        assert_eq!(answers, Answers { folder: "src".into(), network: YesNo::Yes, python: YesNo::No, client: Some(ClientName::Zed) });
        let asked = String::from_utf8(out).unwrap();
        assert!(!asked.contains("Python") && asked.contains("`perhaps` is no answer"), "{asked}");
        assert_eq!(Given::default().or_asked(&mut "".as_bytes(), &mut Vec::new()).unwrap(), Answers::default());
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
