//! From arguments to a command, and from its outcome to an exit code: 0 done, 1 a negative answer, 2 wrong use.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};
use serde_json::Value;

use super::jsonl::Input;
use super::layout::Colour;
use super::logs::LogFormat;
use super::packages::PackagesCommand;
use super::table::Form;
use super::{
    approvals, audit as log, check, demo, doctor, explain, extract, init, install, lint, manual, packages, progress, python, scan, serve,
    setup, simulate, switch, trust,
};
use crate::audit;
use crate::state::StateFault;

/// Real tools for language models behind one gate.
#[derive(Debug, Parser)]
#[command(name = "toolgate", version, about, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    globals: Globals,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(super) struct Globals {
    /// The manifest. Default: the first of `$TOOLGATE_MANIFEST`, tools.toml in this folder or above, `~/.config/toolgate/tools.toml`, and a built-in
    /// one that opens a scratch folder only.
    #[arg(long, value_name = "FILE", global = true)]
    pub manifest: Option<PathBuf>,
    /// The state folder (log, questions, emergency stop). Default: `[state] dir`, else `$TOOLGATE_STATE_DIR`, else `~/.local/state/toolgate`.
    #[arg(long, value_name = "DIR", global = true)]
    pub state_dir: Option<PathBuf>,
    /// Print JSON and ask nothing. Records and questions are one object a line.
    #[arg(long, global = true)]
    pub json: bool,
    /// Print errors only. The exit code gives the result.
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// The commands. Each has its arguments, its help and its run in a file of its own.
#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Serve),
    /// Play an example session in this terminal. Needs no client and no manifest.
    Demo,
    Init(init::Init),
    Check(check::Check),
    Explain(explain::Explain),
    Simulate(simulate::Simulate),
    Lint(lint::Lint),
    /// Search a text for secrets, personal data, prompt injection and hidden text.
    Scan(Input),
    /// Convert HTML to Markdown, as the tool `fetch` does.
    Extract(Input),
    Python(python::Python),
    /// Install the Python packages that the manifest names.
    #[command(subcommand)]
    Packages(PackagesCommand),
    /// Read the audit log, and verify it.
    #[command(subcommand)]
    Audit(log::AuditCommand),
    /// Answer the questions that wait for an operator.
    #[command(subcommand)]
    Approvals(approvals::ApprovalsCommand),
    Kill(switch::Kill),
    Resume(switch::Resume),
    /// Test what the sandbox can enforce on this machine.
    Doctor,
    Trust(trust::Trust),
    /// Print the JSON Schema of tools.toml.
    Schema,
    Completions(manual::Completions),
    Man(manual::Man),
    Install(install::Install),
    /// The same as `install CLIENT --remove`.
    #[command(hide = true)]
    Uninstall(install::Install),
}

impl Command {
    fn run(self, globals: &Globals, out: &mut dyn Write) -> Result<Report, Fault> {
        let state = || setup::state_of(globals.manifest.as_deref());
        match self {
            Self::Serve(_) | Self::Demo if globals.json => Err(Fault::Use("--json is for commands with a result".to_owned())),
            Self::Serve(arguments) => serve::run(&arguments, globals),
            Self::Demo => demo::run(out),
            Self::Init(arguments) => init::run(arguments, globals, out),
            Self::Check(arguments) => check::run(&arguments, globals, out),
            Self::Explain(arguments) => explain::run(&arguments, globals),
            Self::Simulate(arguments) => simulate::run(&arguments, out),
            Self::Lint(arguments) => lint::run(&arguments, globals, out),
            Self::Scan(arguments) => scan::run(&arguments, globals, out),
            Self::Extract(arguments) => extract::run(&arguments, out),
            Self::Python(arguments) => python::run(&arguments, globals),
            Self::Packages(PackagesCommand::Sync(arguments)) => packages::sync(&arguments, globals, out),
            Self::Audit(command) => {
                let form = if globals.json { Form::Json } else { Form::Table(Colour::of_stdout()) };
                let _progress = matches!(command, log::AuditCommand::Verify { .. }).then(|| progress::spinner("reading the log", globals));
                log::run(&state()?, command, form, out)
            }
            Self::Approvals(command) => approvals::run(&state()?, command, globals.json, out),
            Self::Kill(arguments) => switch::kill(&arguments, &state()?),
            Self::Resume(arguments) => switch::resume(&arguments, &state()?),
            Self::Doctor => doctor::run(globals),
            Self::Trust(arguments) => trust::run(&arguments, globals, out),
            Self::Schema => {
                writeln!(out, "{:#}", crate::manifest::schema())?;
                Ok(End::Done.into())
            }
            Self::Completions(arguments) => manual::completions(&arguments, out),
            Self::Man(arguments) => manual::man(&arguments, out),
            Self::Install(arguments) => install::run(&arguments, globals),
            Self::Uninstall(arguments) => install::uninstall(&arguments),
        }
    }

    /// Whether the command puts a question to the person at the terminal, which must be read.
    fn asks(&self, json: bool) -> bool {
        match self {
            Self::Init(init) => !init.yes && !json,
            Self::Trust(trust) => !trust.yes,
            Self::Approvals(_) => true,
            _ => false,
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// What was asked for is done.
    Done,
    /// A check failed, a log is broken, a call denied.
    Negative,
}

impl End {
    pub(super) fn of(is_done: bool) -> Self {
        if is_done { Self::Done } else { Self::Negative }
    }
}

/// What a command came to: for scripts and for a person. [`run`] prints one of the two.
#[derive(Debug)]
pub struct Report {
    /// For scripts; null where all was printed on the way.
    pub json: Value,
    /// For a person.
    pub text: String,
    /// How the command ended.
    pub end: End,
}

impl From<End> for Report {
    /// Of a command that printed all there is on its way.
    fn from(end: End) -> Self {
        Self { json: Value::Null, text: String::new(), end }
    }
}

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The manifest has faults.
    #[error("{}", all(.file, .faults))]
    Manifest {
        /// Its path.
        file: PathBuf,
        /// All of them.
        faults: Vec<crate::manifest::Fault>,
    },
    /// The manifest reads well, and must not be served: what it asks cannot be held here.
    #[error("the manifest is refused: {0}")]
    Refused(String),
    /// The manifest reads well, and its user has not trusted it as it is.
    #[error("{0}")]
    Untrusted(String),
    /// The log cannot be opened, read or written.
    #[error(transparent)]
    Log(#[from] audit::Fault),
    /// The state folder cannot be used.
    #[error(transparent)]
    State(#[from] StateFault),
    /// The command was used well, and the answer is no.
    #[error("{0}")]
    Negative(String),
    /// There is nobody to take an answer to a question.
    #[error("no server is running on the state folder `{0}`, so nothing waits and nothing can be answered")]
    NoServer(String),
    /// The words of the command line fit nothing, or what they name cannot be used.
    #[error("{0}")]
    Use(String),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn all(file: &Path, faults: &[crate::manifest::Fault]) -> String {
    let lines: Vec<String> = faults.iter().map(|fault| format!("  {}:{fault}", file.display())).collect();
    format!("the manifest is refused, {} fault(s):\n{}", faults.len(), lines.join("\n"))
}

impl Fault {
    /// Whether the command was used well, and the answer is no.
    fn is_negative(&self) -> bool {
        matches!(self, Fault::Negative(_) | Fault::NoServer(_) | Fault::Manifest { .. } | Fault::Refused(_) | Fault::Untrusted(_))
    }
}

/// The command line as data: completions and man pages are made of it.
pub(super) fn command_line() -> clap::Command {
    Arguments::command()
}

/// Runs the command of this process.
pub fn run() -> ExitCode {
    let Arguments { command, globals } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(fault) => {
            // `--help` and `--version` are answers, not faults.
            let code = u8::from(fault.use_stderr()) * 2;
            let _ = fault.print();
            return ExitCode::from(code);
        }
    };
    let form = match &command {
        Command::Serve(serve) => LogFormat::asked(serve.log_format).unwrap_or_default(),
        _ => LogFormat::Text,
    };
    let mut out = Output { is_closed: false, is_quiet: globals.quiet && !command.asks(globals.json) };
    match run_and_print(command, &globals, &mut out) {
        Ok(End::Done) => ExitCode::SUCCESS,
        Ok(End::Negative) => ExitCode::from(1),
        // The reader has seen enough: that is no fault, whatever the command made of it.
        Err(_) if out.is_closed => ExitCode::SUCCESS,
        Err(fault) => {
            form.failed(&fault.to_string());
            ExitCode::from(if fault.is_negative() { 1 } else { 2 })
        }
    }
}

fn run_and_print(command: Command, globals: &Globals, out: &mut Output) -> Result<End, Fault> {
    if let Some(dir) = &globals.state_dir {
        setup::name_state(dir).map_err(|fault| Fault::Use(format!("--state-dir: {fault}")))?;
    }
    let report = command.run(globals, out)?;
    match report.json {
        _ if !globals.json => out.write_all(report.text.as_bytes())?,
        Value::Null => {}
        json => writeln!(out, "{}", audit::json(&json))?,
    }
    out.flush()?;
    Ok(report.end)
}

/// Standard output, which knows whether its reader went away. Not locked: the server's own writer needs the lock when standard output is a file.
struct Output {
    is_closed: bool,
    /// `-q`: nothing is written.
    is_quiet: bool,
}

impl Output {
    fn noted<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        self.is_closed |= done.as_ref().is_err_and(|fault| fault.kind() == io::ErrorKind::BrokenPipe);
        done
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_quiet {
            return Ok(bytes.len());
        }
        let done = io::stdout().write(bytes);
        self.noted(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = io::stdout().flush();
        self.noted(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_flag_inside_a_value_stays_a_value() {
        let read = Arguments::try_parse_from(["toolgate", "explain", "read_file", "--", "--profile=full"]).unwrap();
        assert!(
            matches!(&read.command, Command::Explain(explain) if explain.arguments == "--profile=full" && explain.choice.profile.is_none())
        );
        let read = Arguments::try_parse_from(["toolgate", "serve", "--profile=--manifest=/tmp/x", "--root=a=--profile=full"]).unwrap();
        assert!(
            matches!(&read.command, Command::Serve(serve) if serve.choice.profile.as_deref() == Some("--manifest=/tmp/x") && read.globals.manifest.is_none()),
            "{read:?}"
        );
    }
}
