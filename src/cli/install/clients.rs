//! What is known of each client: its file, how servers stand in it, whether it shows a server's questions. The table is `clients.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Places;

/// What is known of one client.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    pub(crate) name: String,
    title: String,
    file: String,
    #[serde(default)]
    pub(super) key: String,
    #[serde(default)]
    questions: String,
    #[serde(default)]
    pub(super) entry: Map<String, Value>,
}

static CLIENTS: LazyLock<Vec<Client>> = LazyLock::new(|| {
    toml::from_str::<BTreeMap<String, Vec<Client>>>(include_str!("clients.toml")).unwrap_or_default().remove("client").unwrap_or_default()
});

/// How a client writes its configuration.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Toml,
    Yaml,
}

impl Client {
    /// Every client.
    pub(crate) fn all() -> &'static [Self] {
        &CLIENTS
    }

    /// The client of a name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// Reads a client's name on the command line.
    pub fn parser() -> impl TypedValueParser<Value = &'static Self> {
        let names = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name.as_str()));
        names.try_map(|name| Self::named(&name).ok_or("no such client"))
    }

    /// Whether its file lies in the project and is shared through its repository.
    pub(super) fn is_shared(&self) -> bool {
        self.file.starts_with("PROJECT/")
    }

    /// Whether a person pastes the snippet: there is no file, or it is YAML, which is not edited.
    pub(super) fn is_pasted(&self) -> bool {
        !["PROJECT/", "HOME/", "CONFIG/"].iter().any(|base| self.file.starts_with(base)) || self.format() == Format::Yaml
    }

    pub(super) fn format(&self) -> Format {
        match Path::new(&self.file).extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Format::Toml,
            Some("yaml") => Format::Yaml,
            _ => Format::Json,
        }
    }

    /// The file it reads.
    pub(super) fn file(&self, places: &Places) -> PathBuf {
        match self.file.split_once('/') {
            Some(("PROJECT", path)) => places.project.join(path),
            Some(("HOME", path)) => places.home.join(path),
            Some(("CONFIG", path)) => places.config.join(path),
            _ => PathBuf::from(&self.file),
        }
    }

    /// What to say of a client that shows no questions, or may not; nothing of one that does.
    pub(crate) fn note(&self) -> Option<String> {
        let title = &self.title;
        let about = match self.questions.as_str() {
            "shown" => return None,
            "hidden" => format!("{title} shows no questions of a server, so a call that needs a person's yes is refused there."),
            _ => {
                format!("{title} does not say whether it shows questions; where it does not, a call that needs a person's yes is refused.")
            }
        };
        Some(format!("{about}\n{OPERATORS_CHANNEL}"))
    }
}

const OPERATORS_CHANNEL: &str = "\
To answer such calls (changes of files, deletions) on a terminal beside it instead:
  write no_client_channel = \"operator\" and timeout = \"5m\" under [approvals] of tools.toml
  toolgate approvals secret set       a passphrase that the yes is given with
  toolgate approvals watch            shows each question with its difference; `toolgate approvals allow ID` or `deny ID` answers it
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_shows_no_questions_is_told_of_the_operators_channel() {
        assert_eq!(Client::all().len(), 16);
        let shows_none = |client: &&Client| client.note().is_some_and(|note| note.contains("shows no questions"));
        let noted: Vec<&str> = Client::all().iter().filter(shows_none).map(|client| client.name.as_str()).collect();
        assert_eq!(noted, ["claude-desktop", "gemini", "zed"]);
        let note = Client::named("zed").unwrap().note().unwrap();
        for part in ["Zed shows no questions", "no_client_channel = \"operator\"", "approvals secret set", "approvals watch"] {
            assert!(note.contains(part), "{note}");
        }
    }
}
