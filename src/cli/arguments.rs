//! The command line, as clap reads it.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::approvals::ApprovalsCommand;
use super::http::Address;
use super::logs::LogFormat;
pub use super::subcommands::{AuditCommand, PackagesCommand};

/// Real tools for language models behind one gate.
#[derive(Debug, Parser)]
#[command(name = "toolgate", version, about, max_term_width = 110)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// The state folder (log, approvals, switch), in place of the manifest's and of `$TOOLGATE_STATE_DIR`.
    #[arg(long, value_name = "DIR", global = true)]
    pub state_dir: Option<PathBuf>,
    /// Print nothing but faults: the exit code tells. A server logs errors alone.
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// Which manifest.
#[derive(Debug, Clone, Args)]
pub struct ManifestChoice {
    /// The manifest. Default: `$TOOLGATE_MANIFEST`, tools.toml here or above (to the repository's top or home; it serves once `toolgate trust` has shown
    /// it), the configuration folder, then a built-in one (a scratch folder, nothing else).
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    /// The profile to judge by. Default: `[clients] stdio`.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Puts a root of the manifest at another folder.
    #[arg(long = "root", value_name = "NAME=PATH", value_parser = name_and_path)]
    pub roots: Vec<(String, PathBuf)>,
}

/// How to serve over HTTP.
#[derive(Debug, Clone, Args)]
pub struct HttpChoice {
    /// Serve MCP over HTTP at /mcp of this address: 127.0.0.1:8011, or unix:PATH.
    #[arg(long, value_name = "ADDR")]
    pub http: Option<Address>,
    /// Serve the HTTP+SSE transport of 2024-11-05 at /sse as well.
    #[arg(long, requires = "http")]
    pub sse: bool,
    /// Speak TLS with this certificate chain (PEM).
    #[arg(long, value_name = "FILE", requires_all = ["http", "tls_key"])]
    pub tls_cert: Option<PathBuf>,
    /// The key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires_all = ["http", "tls_cert"])]
    pub tls_key: Option<PathBuf>,
}

fn name_and_path(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.to_owned(), PathBuf::from(path))),
        _ => Err(format!("`{text}` is not NAME=PATH, e.g. project=/home/me/project")),
    }
}

/// A manifest that may be named with `--manifest` or without.
#[derive(Debug, Clone, Args)]
pub struct ManifestFile {
    /// The manifest; default as for `serve`.
    #[arg(conflicts_with = "manifest")]
    file: Option<PathBuf>,
    /// The same.
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
}

impl ManifestFile {
    /// The file that is named; none: the one that `serve` would find.
    pub fn path(&self) -> Option<&Path> {
        self.file.as_deref().or(self.manifest.as_deref())
    }
}

/// One text or many: a file, standard input, or JSON lines.
#[derive(Debug, Clone, Args)]
pub struct Input {
    /// The file; `-` reads standard input.
    #[arg(required_unless_present = "jsonl")]
    pub file: Option<PathBuf>,
    /// One JSON object a line in, one a line out; `-` reads standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub jsonl: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// The clients `install` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClientName {
    /// Claude Code.
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Visual Studio Code.
    Vscode,
    /// Cursor.
    Cursor,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Zed.
    Zed,
    /// Goose.
    Goose,
    /// Windsurf.
    Windsurf,
    /// Cline, in Visual Studio Code.
    Cline,
    /// opencode.
    Opencode,
    /// The AI Assistant in the editors of `JetBrains`.
    Jetbrains,
    /// Junie, the agent of `JetBrains`.
    Junie,
    /// LM Studio.
    LmStudio,
    /// Continue.
    Continue,
    /// Amp.
    Amp,
}

/// A case that works, for the help of `simulate`.
const SIMULATED: &str = r#"A case is a line of JSON: the manifest as JSON, the call, and the world it meets (files, hosts, clock), which need not exist. This one is denied
with `path_denied`; save it as case.jsonl and run `toolgate simulate case.jsonl`:

{"id":"1","policy":{"version":1,"roots":{"project":{"path":"/srv/project","mode":"rw","allowed_paths":["**"],"denied_paths":["**/.env"]}},"profiles":{"dev":{"permissions":["READONLY"],"allowed_tools":["*"]}}},"request":{"profile":"dev","tool":"read_file","args":{"path":"project/.env"}},"state":{"fs":{"project/.env":"file"}}}"#;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve MCP over standard input and output, or over HTTP.
    Serve {
        /// Which manifest, profile and roots.
        #[command(flatten)]
        choice: ManifestChoice,
        /// Whether and how over HTTP.
        #[command(flatten)]
        http: HttpChoice,
        /// The form of log lines on standard error. Default: `$TOOLGATE_LOG_FORMAT`, else text.
        #[arg(long, value_enum, value_name = "text|json")]
        log_format: Option<LogFormat>,
    },
    /// Show the main job end to end, with no client and no set-up.
    Demo,
    /// Write a commented tools.toml and print the snippet for a client.
    Init {
        /// Where to. Default: here.
        dir: Option<PathBuf>,
        /// The folder agents work in.
        #[arg(long, value_name = "PATH")]
        folder: Option<PathBuf>,
        /// Whether pages may be fetched.
        #[arg(long, value_name = "yes|no")]
        network: Option<YesNo>,
        /// Whether Python may run.
        #[arg(long, value_name = "yes|no")]
        python: Option<YesNo>,
        /// The client to print the snippet for.
        #[arg(long, value_enum)]
        client: Option<ClientName>,
        /// What else is open.
        #[command(flatten)]
        additions: Additions,
        /// Ask nothing: what no flag says takes its default.
        #[arg(long, short)]
        yes: bool,
        /// Replace an existing tools.toml.
        #[arg(long)]
        force: bool,
        /// Print what was written as JSON; asks nothing, as `--yes`.
        #[arg(long)]
        json: bool,
    },
    /// Validate a manifest: every fault at once; runs its test cases. Refuses whatever `serve` would, in the same words.
    Check {
        /// Which manifest.
        #[command(flatten)]
        which: ManifestFile,
        /// Look at the rules alone: the folders, keys and interpreter need not be on this machine.
        #[arg(long)]
        policy_only: bool,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say what would happen to one call, and why.
    Explain {
        /// The tool.
        tool: String,
        /// Its arguments as a JSON object.
        #[arg(default_value = "{}")]
        arguments: String,
        /// Which manifest, profile and roots.
        #[command(flatten)]
        choice: ManifestChoice,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Judge recorded or invented calls in a described world, one JSON line each.
    #[command(after_help = SIMULATED)]
    Simulate {
        /// The cases; `-` reads standard input.
        cases: PathBuf,
    },
    /// Run the static check of Python alone.
    Lint {
        /// What to read.
        #[command(flatten)]
        input: Input,
        /// Allowed imports instead of the manifest's: `a,b,c`, or `*` for any.
        #[arg(long, value_name = "LIST")]
        imports: Option<String>,
        /// The manifest whose `[python]` rules hold. Default: none is read, nothing may be imported.
        #[arg(long, value_name = "FILE")]
        manifest: Option<PathBuf>,
    },
    /// Run the filters alone: secrets, personal data, injection, hidden text.
    Scan {
        /// What to read.
        #[command(flatten)]
        input: Input,
        /// Look for what `[filters.rules]` of this manifest look for, too.
        #[arg(long, value_name = "FILE")]
        manifest: Option<PathBuf>,
    },
    /// Run the reader alone: HTML to Markdown.
    Extract {
        /// What to read.
        #[command(flatten)]
        input: Input,
    },
    /// Run a program in the sandbox, under the manifest.
    Python {
        /// The program; `-` reads standard input.
        file: PathBuf,
        /// Which manifest, profile and roots.
        #[command(flatten)]
        choice: ManifestChoice,
        /// Print the whole answer as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Build the Python environment that `[python] packages` names.
    Packages {
        /// What to do with it.
        #[command(subcommand)]
        command: PackagesCommand,
    },
    /// Look at the audit log.
    Audit {
        /// The manifest whose state folder is meant; default as for `serve`.
        #[arg(long, value_name = "FILE", global = true)]
        manifest: Option<PathBuf>,
        /// What to do with it.
        #[command(subcommand)]
        command: AuditCommand,
    },
    /// The operator's channel: what waits for a person here, and the answer to it.
    Approvals {
        /// The manifest whose state folder is meant; default as for `serve`.
        #[arg(long, value_name = "FILE", global = true)]
        manifest: Option<PathBuf>,
        /// What to do.
        #[command(subcommand)]
        command: ApprovalsCommand,
    },
    /// Stop every server that shares the state folder, at once.
    Kill {
        /// Why; kept in the log.
        #[arg(long, default_value = "operator")]
        reason: String,
        /// The manifest whose state folder is meant; default as for `serve`.
        #[arg(long, value_name = "FILE")]
        manifest: Option<PathBuf>,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Lift the emergency stop, or the suspension of one caller.
    Resume {
        /// The caller that was suspended, as the log names it.
        #[arg(long, value_name = "P")]
        principal: Option<String>,
        /// The session that was suspended, as its refusals and the log name it (over standard input).
        #[arg(long, value_name = "ID", conflicts_with = "principal")]
        session: Option<String>,
        /// The manifest whose state folder is meant; default as for `serve`.
        #[arg(long, value_name = "FILE")]
        manifest: Option<PathBuf>,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say what this machine can enforce, layer by layer, proven by doing.
    Doctor {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
        /// The manifest whose interpreter is probed; default as for `serve`.
        #[arg(long, value_name = "FILE")]
        manifest: Option<PathBuf>,
    },
    /// Let a manifest serve that lies here or above and that no command line names: shows its path, its digest and what it opens, and asks.
    Trust {
        /// Which manifest.
        #[command(flatten)]
        which: ManifestFile,
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
        /// Take the trust away.
        #[arg(long, conflicts_with = "yes")]
        remove: bool,
        /// Print it as JSON; asks nothing, so that only `--yes` trusts.
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of tools.toml.
    Schema,
    /// Register the server in a client's configuration.
    Install {
        /// The client.
        #[arg(value_enum)]
        client: ClientName,
        /// Write it; without this it is only printed.
        #[arg(long)]
        write: bool,
        /// Print the result as JSON; asks nothing.
        #[arg(long)]
        json: bool,
        /// The manifest the client's server shall use.
        #[arg(long, value_name = "FILE")]
        manifest: Option<PathBuf>,
        /// Take the server out of the client's configuration again.
        #[arg(long, conflicts_with = "manifest")]
        remove: bool,
    },
    /// The same as `install CLIENT --remove`.
    #[command(hide = true)]
    Uninstall {
        /// The client.
        #[arg(value_enum)]
        client: ClientName,
        /// Write it; without this it is only told.
        #[arg(long)]
        write: bool,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
}

/// What a first manifest opens besides what `init` asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct Additions {
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
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum YesNo {
    /// Yes.
    Yes,
    /// No.
    No,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_flag_inside_a_value_stays_a_value() {
        let read = Arguments::try_parse_from(["toolgate", "explain", "read_file", "--", "--profile=full"]).unwrap();
        assert!(
            matches!(read.command, Command::Explain { arguments, choice, .. } if arguments == "--profile=full" && choice.profile.is_none())
        );
        let read = Arguments::try_parse_from(["toolgate", "serve", "--profile=--manifest=/tmp/x", "--root=a=--profile=full"]).unwrap();
        assert!(
            matches!(&read.command, Command::Serve { choice, .. } if choice.profile.as_deref() == Some("--manifest=/tmp/x") && choice.manifest.is_none()),
            "{read:?}"
        );
    }
}
