//! `toolgate completions` and `toolgate man`: made from the command line itself.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::run::{End, Fault, Report, command_line};

/// Print the completions of a shell.
#[derive(Debug, Args)]
#[command(after_help = PLACES)]
pub(super) struct Completions {
    /// The shell.
    shell: Shell,
}

/// Print the man page, or write the pages of all commands into a folder.
#[derive(Debug, Args)]
pub(super) struct Man {
    /// The folder, e.g. `~/.local/share/man/man1`. It must exist.
    folder: Option<PathBuf>,
}

/// Where shells look for completions.
const PLACES: &str = "\
bash: toolgate completions bash > ~/.local/share/bash-completion/completions/toolgate
fish: toolgate completions fish > ~/.config/fish/completions/toolgate.fish
zsh:  toolgate completions zsh > FOLDER/_toolgate, where $fpath names FOLDER";

pub(super) fn completions(&Completions { shell }: &Completions, out: &mut dyn Write) -> Result<Report, Fault> {
    // The generator panics where its output cannot be written.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command_line(), "toolgate", &mut text);
    out.write_all(&text)?;
    Ok(End::Done.into())
}

pub(super) fn man(arguments: &Man, out: &mut dyn Write) -> Result<Report, Fault> {
    match &arguments.folder {
        Some(folder) => clap_mangen::generate_to(command_line(), folder)?,
        None => clap_mangen::Man::new(command_line()).render(out)?,
    }
    Ok(End::Done.into())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn completions_parse_and_pages_name_every_command() {
        let folder = tempfile::tempdir().unwrap();
        let mut text = Vec::new();
        completions(&Completions { shell: Shell::Bash }, &mut text).unwrap();
        let file = folder.path().join("toolgate.bash");
        std::fs::write(&file, &text).unwrap();
        assert!(Command::new("bash").arg("-n").arg(&file).status().unwrap().success());
        man(&Man { folder: Some(folder.path().to_owned()) }, &mut Vec::new()).unwrap();
        let (bash, page) = (String::from_utf8(text).unwrap(), std::fs::read_to_string(folder.path().join("toolgate.1")).unwrap());
        for command in command_line().get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = command.get_name();
            assert!(bash.contains(&format!("toolgate,{name})")), "{name}");
            assert!(page.contains(&format!("toolgate\\-{name}(1)")), "{name}: {page}");
            assert!(folder.path().join(format!("toolgate-{name}.1")).exists(), "{name}");
        }
    }
}
