//! The command line, as clap reads it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::approvals::ApprovalsCommand;
use super::audit::AuditCommand;
use super::http::Address;
use super::init::Answers;
use super::install::Client;
use super::logs::LogFormat;
use super::packages::PackagesCommand;

/// Real tools for language models behind one gate.
#[derive(Debug, Parser)]
#[command(name = "toolgate", version, about, max_term_width = 110)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// What every command takes.
    #[command(flatten)]
    pub globals: Globals,
}

/// What every command takes.
#[derive(Debug, Args)]
pub struct Globals {
    /// The manifest. Default: `$TOOLGATE_MANIFEST`, tools.toml here or above (to the repository's top or home; it serves once `toolgate trust` has shown
    /// it), the configuration folder, then a built-in one (a scratch folder, nothing else). `lint` and `scan` read none by default.
    #[arg(long, value_name = "FILE", global = true)]
    pub manifest: Option<PathBuf>,
    /// The state folder (log, approvals, switch), in place of the manifest's and of `$TOOLGATE_STATE_DIR`.
    #[arg(long, value_name = "DIR", global = true)]
    pub state_dir: Option<PathBuf>,
    /// Print the result as JSON (records and questions one object a line), and ask nothing.
    #[arg(long, global = true)]
    pub json: bool,
    /// Print nothing but faults: the exit code tells. A server logs errors alone.
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// Which manifest, and how it is taken.
#[derive(Debug, Clone, Default, Args)]
pub struct ManifestChoice {
    /// The manifest that `--manifest` names.
    #[arg(skip)]
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

impl From<Option<PathBuf>> for ManifestChoice {
    fn from(manifest: Option<PathBuf>) -> Self {
        Self { manifest, ..Self::default() }
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
        /// What it opens.
        #[command(flatten)]
        answers: Answers,
        /// Ask nothing: what no flag says takes its default.
        #[arg(long, short)]
        yes: bool,
        /// Replace an existing tools.toml.
        #[arg(long)]
        force: bool,
    },
    /// Validate a manifest: every fault at once; runs its test cases. Refuses whatever `serve` would, in the same words.
    Check {
        /// The same as `--manifest`.
        file: Option<PathBuf>,
        /// Look at the rules alone: the folders, keys and interpreter need not be on this machine.
        #[arg(long)]
        policy_only: bool,
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
    },
    /// Run the filters alone: secrets, personal data, injection, hidden text.
    Scan {
        /// What to read.
        #[command(flatten)]
        input: Input,
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
    },
    /// Build the Python environment that `[python] packages` names.
    Packages {
        /// What to do with it.
        #[command(subcommand)]
        command: PackagesCommand,
    },
    /// Look at the audit log.
    Audit {
        /// What to do with it.
        #[command(subcommand)]
        command: AuditCommand,
    },
    /// The operator's channel: what waits for a person here, and the answer to it.
    Approvals {
        /// What to do.
        #[command(subcommand)]
        command: ApprovalsCommand,
    },
    /// Stop every server that shares the state folder, at once.
    Kill {
        /// Why; kept in the log.
        #[arg(long, default_value = "operator")]
        reason: String,
    },
    /// Lift the emergency stop, or the suspension of one caller.
    Resume {
        /// The caller that was suspended, as the log names it.
        #[arg(long, value_name = "P")]
        principal: Option<String>,
        /// The session that was suspended, as its refusals and the log name it (over standard input).
        #[arg(long, value_name = "ID", conflicts_with = "principal")]
        session: Option<String>,
    },
    /// Say what this machine can enforce, layer by layer, proven by doing.
    Doctor,
    /// Let a manifest serve that lies here or above and that no command line names: shows its path, its digest and what it opens, and asks.
    Trust {
        /// The same as `--manifest`.
        file: Option<PathBuf>,
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
        /// Take the trust away.
        #[arg(long, conflicts_with = "yes")]
        remove: bool,
    },
    /// Print the JSON Schema of tools.toml.
    Schema,
    /// Register the server in a client's configuration.
    Install {
        /// The client.
        #[arg(value_parser = Client::parser())]
        client: &'static Client,
        /// Write it; without this it is only printed.
        #[arg(long)]
        write: bool,
        /// Take the server out of the client's configuration again.
        #[arg(long)]
        remove: bool,
    },
    /// The same as `install CLIENT --remove`.
    #[command(hide = true)]
    Uninstall {
        /// The client.
        #[arg(value_parser = Client::parser())]
        client: &'static Client,
        /// Write it; without this it is only printed.
        #[arg(long)]
        write: bool,
    },
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
            matches!(&read.command, Command::Serve { choice, .. } if choice.profile.as_deref() == Some("--manifest=/tmp/x") && read.globals.manifest.is_none()),
            "{read:?}"
        );
    }
}
