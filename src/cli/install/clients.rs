//! What is known of each client: its file, how servers stand in it, whether it shows a server's questions.

use std::path::PathBuf;

use super::Places;
use crate::cli::arguments::ClientName;

/// What is known of one client, by its documentation of November 2026.
pub(super) struct Client {
    title: &'static str,
    base: Base,
    path: &'static str,
    pub(super) shape: Shape,
    questions: Questions,
}

/// Where a client's file lies.
#[derive(PartialEq, Eq)]
enum Base {
    /// In the project, and shared through its repository.
    Project,
    Home,
    Config,
    /// In no file: the path names the place in the client's settings.
    Settings,
}

/// How a client writes its configuration: the format, and the key its servers stand under.
#[derive(PartialEq, Eq)]
pub(super) enum Shape {
    Json(&'static str),
    Toml,
    Yaml,
}

/// Whether a client shows a server's questions.
enum Questions {
    Shown,
    Hidden,
    Unsaid,
}

impl Client {
    pub(super) fn of(name: ClientName) -> Self {
        use Base::{Config, Home, Project, Settings};
        use ClientName as Name;
        use Questions::{Hidden, Shown, Unsaid};
        use Shape::{Json, Toml, Yaml};
        let (title, base, path, shape, questions) = match name {
            Name::ClaudeCode => ("Claude Code", Project, ".mcp.json", Json("mcpServers"), Shown),
            Name::ClaudeDesktop => ("Claude Desktop", Config, "Claude/claude_desktop_config.json", Json("mcpServers"), Hidden),
            Name::Vscode => ("Visual Studio Code", Project, ".vscode/mcp.json", Json("servers"), Shown),
            Name::Cursor => ("Cursor", Home, ".cursor/mcp.json", Json("mcpServers"), Shown),
            Name::Codex => ("Codex", Home, ".codex/config.toml", Toml, Shown),
            Name::Gemini => ("Gemini CLI", Home, ".gemini/settings.json", Json("mcpServers"), Hidden),
            Name::Zed => ("Zed", Config, "zed/settings.json", Json("context_servers"), Hidden),
            Name::Goose => ("Goose", Config, "goose/config.yaml", Yaml, Shown),
            Name::Windsurf => ("Windsurf", Home, ".codeium/windsurf/mcp_config.json", Json("mcpServers"), Unsaid),
            Name::Cline => ("Cline", Config, CLINE, Json("mcpServers"), Unsaid),
            Name::Opencode => ("opencode", Config, "opencode/opencode.json", Json("mcp"), Unsaid),
            Name::Jetbrains => ("the AI Assistant", Settings, ASSISTANT, Json("mcpServers"), Unsaid),
            Name::Junie => ("Junie", Home, ".junie/mcp/mcp.json", Json("mcpServers"), Unsaid),
            Name::LmStudio => ("LM Studio", Home, ".lmstudio/mcp.json", Json("mcpServers"), Unsaid),
            // A file of its own: Continue reads what other clients write, too.
            Name::Continue => ("Continue", Home, ".continue/mcpServers/toolgate.json", Json("mcpServers"), Unsaid),
            Name::Amp => ("Amp", Config, "amp/settings.json", Json("amp.mcpServers"), Unsaid),
        };
        Self { title, base, path, shape, questions }
    }

    /// Whether its file lies in the project and is shared through its repository.
    pub(super) fn is_shared(&self) -> bool {
        self.base == Base::Project
    }

    /// Whether a person pastes the snippet: there is no file, or it is YAML, which is not edited.
    pub(super) fn is_pasted(&self) -> bool {
        self.base == Base::Settings || self.shape == Shape::Yaml
    }

    /// The file it reads.
    pub(super) fn file(&self, places: &Places) -> PathBuf {
        match self.base {
            Base::Project => places.project.join(self.path),
            Base::Home => places.home.join(self.path),
            Base::Config => places.config.join(self.path),
            Base::Settings => PathBuf::from(self.path),
        }
    }

    /// What to say of a client that shows no questions, or may not; nothing of one that does.
    pub(super) fn note(&self) -> Option<String> {
        let title = self.title;
        let about = match self.questions {
            Questions::Shown => return None,
            Questions::Hidden => format!("{title} shows no questions of a server, so a call that needs a person's yes is refused there."),
            Questions::Unsaid => format!(
                "The documentation of {title} does not say whether it shows questions of a server. Where it does not, a call that needs a \
                 person's yes is refused."
            ),
        };
        Some(format!(
            "{about}\n\
             To answer such calls (changes of files, deletions) on a terminal beside it instead:\n  \
             write no_client_channel = \"operator\" and timeout = \"5m\" under [approvals] of tools.toml\n  \
             toolgate approvals secret set       a passphrase that the yes is given with\n  \
             toolgate approvals watch            shows each question with its difference; y, n or d answers it\n"
        ))
    }
}

const CLINE: &str = "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
const ASSISTANT: &str = "Settings | Tools | AI Assistant | Model Context Protocol (MCP)";

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn a_client_that_shows_no_questions_is_told_of_the_operators_channel() {
        let shows_none = |name: &&ClientName| Client::of(**name).note().is_some_and(|note| note.contains("shows no questions"));
        let noted: Vec<&ClientName> = ClientName::value_variants().iter().filter(shows_none).collect();
        assert_eq!(noted, [&ClientName::ClaudeDesktop, &ClientName::Gemini, &ClientName::Zed]);
        let note = Client::of(ClientName::Zed).note().unwrap();
        for part in ["Zed shows no questions", "no_client_channel = \"operator\"", "approvals secret set", "approvals watch"] {
            assert!(note.contains(part), "{note}");
        }
    }
}
