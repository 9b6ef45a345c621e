//! From arguments to a command, and from its outcome to an exit code: 0 done, 1 a negative answer, 2 wrong use.

#![expect(clippy::disallowed_methods, reason = "the command line is where a user's paths become files")]

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use serde_json::Value;

use super::arguments::{Arguments, Command, Globals, HttpChoice, Input, ManifestChoice};
use super::logs::LogFormat;
use super::packages::PackagesCommand;
use super::{
    approvals, audit as log, check, demo, doctor, explain, extract, init, install, lint, packages, python, scan, setup, simulate, switch,
    trust, watch,
};
use crate::audit;
use crate::filter::escape;
use crate::server;

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
    /// The manifest reads well, and must not be served: it is not trusted, or what it asks cannot be held here.
    #[error("the manifest is refused: {0}")]
    Refused(String),
    /// The log cannot be opened, read or written.
    #[error(transparent)]
    Log(#[from] audit::Fault),
    /// There is nobody to take an answer to a question.
    #[error("no server is running on the state folder `{0}`, so nothing waits and nothing can be answered")]
    NoServer(String),
    /// The words of the command line fit nothing, or what they name cannot be used.
    #[error("{0}")]
    Use(String),
    /// It was printed already; whether it was a no.
    #[error("")]
    Printed(bool),
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
        matches!(self, Fault::Printed(true) | Fault::NoServer(_) | Fault::Manifest { .. } | Fault::Refused(_))
    }
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
    if let Some(fault) = globals.state_dir.as_deref().and_then(|dir| setup::name_state(dir).err()) {
        LogFormat::Text.failed(&format!("--state-dir: {fault}"));
        return ExitCode::from(2);
    }
    let mut out = Output { is_closed: false, is_quiet: globals.quiet && !asks(&command, globals.json) };
    let ended = dispatch(command, &globals, &mut out).and_then(|report| {
        match report.json {
            _ if !globals.json => out.write_all(report.text.as_bytes())?,
            Value::Null => {}
            json => writeln!(out, "{}", audit::json(&json))?,
        }
        out.flush()?;
        Ok(report.end)
    });
    match ended {
        Ok(End::Done) => ExitCode::SUCCESS,
        Ok(End::Negative) => ExitCode::from(1),
        // The reader has seen enough: that is no fault, whatever the command made of it.
        Err(_) if out.is_closed => ExitCode::SUCCESS,
        Err(fault) => {
            if !matches!(fault, Fault::Printed(_)) {
                LogFormat::Text.failed(&escape(&fault.to_string()));
            }
            ExitCode::from(if fault.is_negative() { 1 } else { 2 })
        }
    }
}

/// Standard output, which knows whether its reader went away. Not locked: the server's own writer needs the lock when standard output is a file.
struct Output {
    is_closed: bool,
    /// `-q`: nothing is written.
    is_quiet: bool,
}

/// Whether a command puts a question to the person at the terminal, which must be read.
fn asks(command: &Command, json: bool) -> bool {
    match command {
        Command::Init { yes, .. } => !yes && !json,
        Command::Trust { yes, .. } => !yes,
        Command::Approvals { .. } => true,
        _ => false,
    }
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

fn dispatch(command: Command, globals: &Globals, out: &mut dyn Write) -> Result<Report, Fault> {
    let Globals { manifest, json, quiet, .. } = globals;
    let named = |choice: ManifestChoice| ManifestChoice { manifest: manifest.clone(), ..choice };
    let choice = || named(ManifestChoice::default());
    let state = || setup::state_of(manifest.as_deref());
    match command {
        Command::Serve { .. } | Command::Demo if *json => Err(Fault::Use("--json is for commands with a result".to_owned())),
        Command::Serve { choice, http, log_format } => {
            serve(&named(choice), &http, LogFormat::asked(log_format).map_err(Fault::Use)?, *quiet).map(Report::from)
        }
        Command::Demo => demo::run(out),
        Command::Init { dir, answers, yes, force } => init::run(dir.as_deref(), answers, yes || *json, force, out),
        Command::Lint { input, imports } => lint::run(&input, imports.as_deref(), manifest.is_some().then(choice), out),
        Command::Audit { command } => log::run(&state()?, command, *json, out),
        Command::Approvals { command } => approvals::run(&state()?, command, *json, out),
        Command::Kill { reason } => switch::kill(&reason, &state()?),
        Command::Resume { principal, session } => switch::resume(principal.as_deref(), session.as_deref(), &state()?),
        Command::Doctor => doctor::run(&choice()),
        Command::Schema => {
            writeln!(out, "{:#}", crate::manifest::schema())?;
            Ok(End::Done.into())
        }
        Command::Trust { file, yes, remove } => trust::run(file.as_deref().or(manifest.as_deref()), yes, remove, *json, out),
        Command::Install { client, write, remove: true } | Command::Uninstall { client, write } => install::remove_from(client, write),
        Command::Install { client, write, remove: false } => install::run(client, write, manifest.as_deref()),
        Command::Check { file, policy_only } => check::run(file.as_deref().or(manifest.as_deref()), policy_only),
        Command::Explain { tool, arguments, choice } => explain::run(&tool, &arguments, &named(choice)),
        Command::Simulate { cases } => simulate::run(&cases, out).map(Report::from),
        Command::Python { file, choice } => python::run(&file, &named(choice)),
        Command::Packages { command: PackagesCommand::Sync { locked, upgrade } } => {
            let (found, mut silent) = (setup::find_trusted(&choice())?, io::sink());
            packages::sync(&found, locked, upgrade, if *json { &mut silent } else { out })
        }
        Command::Scan { input } => scan::run(&input, manifest.is_some().then(choice), out),
        Command::Extract { input } => extract::run(&input, out),
    }
}

fn serve(choice: &ManifestChoice, http: &HttpChoice, form: LogFormat, quiet: bool) -> Result<End, Fault> {
    form.begin(quiet);
    let ended = serve_in(choice, http, form);
    match ended {
        // Said here, in the form that was asked for.
        Err(fault) if form == LogFormat::Json => {
            form.failed(&fault.to_string());
            Err(Fault::Printed(fault.is_negative()))
        }
        ended => ended,
    }
}

fn serve_in(choice: &ManifestChoice, http: &HttpChoice, form: LogFormat) -> Result<End, Fault> {
    let found = setup::find_trusted(choice)?;
    if let Some(address) = &http.http {
        return super::http::serve(http, address, found, choice, form).map(|()| End::Done);
    }
    let profile = setup::stdio_profile(&found.manifest, choice)?;
    let server = Arc::new(watched(choice, found, Box::new(|_| Ok(())))?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    let outcome = runtime.block_on(server::serve_stdio(Arc::clone(&server), profile));
    // What a call left behind on a blocking thread must not hold the exit.
    runtime.shutdown_timeout(Duration::from_millis(100));
    server.close();
    outcome.map(|()| End::Done).map_err(Fault::from)
}

/// A server whose manifest may change while it is served.
pub(super) fn watched(choice: &ManifestChoice, found: setup::Found, adjust: watch::Adjust) -> Result<crate::context::ServerContext, Fault> {
    let file = watch::ManifestFile::of(choice, &found, adjust)?;
    let server = setup::build(found)?;
    Ok(match file {
        Some(file) => server.watching(Box::new(file)),
        None => server,
    })
}

/// One thread for the wire and one for a call that takes long.
const WORKERS: usize = 2;

/// A file by name, or standard input for `-`.
pub(super) fn reader(file: &Path) -> io::Result<Box<dyn BufRead>> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let opened = File::open(file).map_err(|fault| io::Error::new(fault.kind(), format!("`{}` cannot be read: {fault}", file.display())))?;
    Ok(Box::new(BufReader::new(opened)))
}

/// The one text of an input, and its name.
pub(super) fn whole(input: &Input) -> Result<(String, Vec<u8>), Fault> {
    let file = input.file.as_deref().ok_or_else(|| Fault::Use("name a file, or `-` for standard input".to_owned()))?;
    let mut bytes = Vec::new();
    reader(file)?.read_to_end(&mut bytes)?;
    Ok((file.display().to_string(), bytes))
}
