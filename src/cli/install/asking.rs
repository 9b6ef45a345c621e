//! Which clients show a server's questions, and what to do beside one that does not.

use crate::cli::arguments::ClientName;

/// What to say of a client that shows no questions, or may not, by its documentation of November 2026; nothing of one that does.
pub fn note(client: ClientName) -> Option<String> {
    let shows_none = |name: &str| {
        format!(
            "{name} shows no questions of a server, so a call that needs a person's yes (a change of a file, a deletion) is refused there."
        )
    };
    let says_nothing = |name: &str| {
        format!(
            "The documentation of {name} does not say whether it shows questions of a server. Where it does not, a call that needs a person's yes \
             (a change of a file, a deletion) is refused."
        )
    };
    let told = match client {
        ClientName::ClaudeDesktop => shows_none("Claude Desktop"),
        ClientName::Gemini => shows_none("Gemini CLI"),
        ClientName::Zed => shows_none("Zed"),
        ClientName::Windsurf => says_nothing("Windsurf"),
        ClientName::Cline => says_nothing("Cline"),
        ClientName::Opencode => says_nothing("opencode"),
        ClientName::Jetbrains => says_nothing("the AI Assistant"),
        ClientName::Junie => says_nothing("Junie"),
        ClientName::LmStudio => says_nothing("LM Studio"),
        ClientName::Continue => says_nothing("Continue"),
        ClientName::Amp => says_nothing("Amp"),
        ClientName::ClaudeCode | ClientName::Vscode | ClientName::Cursor | ClientName::Codex | ClientName::Goose => return None,
    };
    Some(format!(
        "{told}\n\
         To answer such calls on a terminal beside it instead:\n  \
         write no_client_channel = \"operator\" and timeout = \"5m\" under [approvals] of tools.toml\n  \
         toolgate approvals secret set       a passphrase that the yes is given with\n  \
         toolgate approvals watch            shows each question with its difference; y, n or d answers it\n"
    ))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn a_client_that_shows_no_questions_is_told_of_the_operators_channel() {
        let is_told = |client: &&ClientName| note(**client).is_some_and(|told| told.contains("shows no questions"));
        let noted: Vec<&ClientName> = ClientName::value_variants().iter().filter(is_told).collect();
        assert_eq!(noted, [&ClientName::ClaudeDesktop, &ClientName::Gemini, &ClientName::Zed]);
        let told = note(ClientName::Zed).unwrap();
        for part in ["Zed shows no questions", "no_client_channel = \"operator\"", "approvals secret set", "approvals watch"] {
            assert!(told.contains(part), "{told}");
        }
    }
}
