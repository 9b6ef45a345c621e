//! From arguments to a command, and from its outcome to an exit code: 0 done, 1 a negative answer, 2 wrong use.

#![expect(clippy::disallowed_methods, reason = "the command line is where a user's paths become files")]

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use jiff::Timestamp;

use super::arguments::{Arguments, AuditCommand, Command, HttpChoice, Input, ManifestChoice, PackagesCommand, YesNo};
use super::audit::Form;
use super::layout::Colour;
use super::logs::LogFormat;
use super::{
    approvals, audit as log, demo, doctor, environment, extract, init, install, judging, lint, packages, register, scan, schema, setup,
    switch, trust, watch,
};
use crate::audit::Filter;
use crate::filter::escape;
use crate::policy::program;
use crate::sandbox::programs;
use crate::server;
use toolgate_pycheck::{Check, Rules, Verdict};

/// How a command ended.
pub(super) enum End {
    Done,
    /// A check failed, a log is broken, a call denied.
    Negative,
}

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error(transparent)]
    Unbuilt(#[from] setup::Unbuilt),
    #[error(transparent)]
    Log(#[from] log::Failed),
    #[error(transparent)]
    Approvals(#[from] approvals::Failed),
    #[error(transparent)]
    Install(#[from] install::Fault),
    #[error("{0}")]
    Use(String),
    /// Said already; whether it was a no.
    #[error("")]
    Told(bool),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Fault {
    /// Whether the command was used well, and the answer is no.
    fn is_negative(&self) -> bool {
        matches!(
            self,
            Fault::Told(true)
                | Fault::Unbuilt(setup::Unbuilt::Manifest { .. } | setup::Unbuilt::Refused(_))
                | Fault::Approvals(approvals::Failed::Nobody(_))
        )
    }
}

/// Runs the command of this process.
pub fn run() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(fault) => {
            // `--help` and `--version` are answers, not faults.
            let code = u8::from(fault.use_stderr()) * 2;
            let _ = fault.print();
            return ExitCode::from(code);
        }
    };
    let Arguments { command, state_dir, quiet } = arguments;
    if let Some(fault) = state_dir.and_then(|dir| setup::name_state(&dir).err()) {
        LogFormat::Text.failed(&format!("--state-dir: {fault}"));
        return ExitCode::from(2);
    }
    let mut out = Output { is_closed: false, is_quiet: quiet && !asks(&command) };
    let ended = dispatch(command, quiet, &mut out).and_then(|end| out.flush().map(|()| end).map_err(Fault::from));
    match ended {
        Ok(End::Done) => ExitCode::SUCCESS,
        Ok(End::Negative) => ExitCode::from(1),
        // The reader has seen enough: that is no fault, whatever the command made of it.
        Err(_) if out.is_closed => ExitCode::SUCCESS,
        Err(fault) => {
            if !matches!(fault, Fault::Told(_)) {
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
fn asks(command: &Command) -> bool {
    match command {
        Command::Init { yes, json, .. } => !yes && !json,
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

fn dispatch(command: Command, quiet: bool, out: &mut dyn Write) -> Result<End, Fault> {
    match command {
        Command::Serve { choice, http, log_format } => serve(&choice, &http, LogFormat::asked(log_format).map_err(Fault::Use)?, quiet),
        Command::Demo => demo::run(out).map(|()| End::Done).map_err(Fault::from),
        Command::Init { dir, folder, network, python, client, additions, yes, force, json } => {
            let given = init::Given { folder, network, python, client, additions };
            write_first(dir.as_deref(), given, Manner { yes, force, json }, out)
        }
        Command::Lint { input, imports, manifest } => run_lint(&input, imports.as_deref(), manifest, out),
        Command::Audit { manifest, command } => audit(&setup::state_of(manifest.as_deref())?, command, out),
        Command::Approvals { manifest, command } => {
            let said = approvals::run(&setup::state_of(manifest.as_deref())?, command, out)?;
            Ok(if said { End::Done } else { End::Negative })
        }
        Command::Kill { reason, manifest, json } => switch::kill(&reason, &setup::state_of(manifest.as_deref())?, json, out),
        Command::Resume { principal, session, manifest, json } => {
            let state = setup::state_of(manifest.as_deref())?;
            match principal.map(switch::Suspended::Principal).or(session.map(switch::Suspended::Session)) {
                Some(suspended) => switch::reset(&suspended, &state, json, out),
                None => switch::resume(&state, json, out),
            }
        }
        Command::Doctor { json, manifest } => examine(json, manifest, out),
        Command::Schema => {
            let mut out = out;
            schema::write(&mut out)?;
            Ok(End::Done)
        }
        Command::Trust { which, yes, remove, json } => {
            let task = match (remove, yes) {
                (true, _) => trust::Task::Remove,
                (_, true) => trust::Task::Take,
                _ => trust::Task::Ask,
            };
            trust::run(which.path(), task, json, out)
        }
        Command::Install { client, write, json, remove: true, .. } | Command::Uninstall { client, write, json } => {
            register::uninstall(client, write, json, out)
        }
        Command::Install { client, write, json, manifest, remove: false } => {
            let asks = !json && !quiet && io::stdin().is_terminal();
            register::install(client, write, json, asks, manifest.as_deref(), out)
        }
        Command::Check { which, policy_only, json } => {
            let reach = if policy_only { judging::Reach::Policy } else { judging::Reach::Machine };
            judging::check(which.path(), reach, json, out)
        }
        Command::Explain { tool, arguments, choice, json } => judging::explain(&tool, &arguments, &choice, json, out),
        Command::Simulate { cases } => judging::simulate(&cases, out),
        Command::Python { file, choice, json } => judging::python(&file, &choice, json, out),
        Command::Packages { command: PackagesCommand::Sync { manifest, locked, upgrade, json } } => {
            let found = setup::find_trusted(&ManifestChoice { manifest, profile: None, roots: Vec::new() })?;
            let reach = match (locked, upgrade) {
                (true, _) => packages::Reach::Locked,
                (_, true) => packages::Reach::Upgrade,
                _ => packages::Reach::Ordinary,
            };
            if json { packages::sync_as_json(&found, reach, out) } else { packages::sync(&found, reach, out, &mut serde_json::Map::new()) }
        }
        Command::Scan { input, manifest } => run_scan(&input, manifest, out),
        Command::Extract { input } => run_extract(&input, out),
    }
}

fn serve(choice: &ManifestChoice, http: &HttpChoice, form: LogFormat, quiet: bool) -> Result<End, Fault> {
    form.begin(quiet);
    let ended = serve_in(choice, http, form);
    match ended {
        // Said here, in the form that was asked for.
        Err(fault) if form == LogFormat::Json => {
            form.failed(&fault.to_string());
            Err(Fault::Told(fault.is_negative()))
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
    let house = Arc::new(watched(choice, found, Box::new(|_| Ok(())))?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    let outcome = runtime.block_on(server::serve_stdio(Arc::clone(&house), profile));
    // What a call left behind on a blocking thread must not hold the exit.
    runtime.shutdown_timeout(Duration::from_millis(100));
    house.close();
    outcome.map(|()| End::Done).map_err(Fault::from)
}

/// A house whose manifest may change while it is served.
pub(super) fn watched(choice: &ManifestChoice, found: setup::Found, adjust: watch::Adjust) -> Result<crate::house::House, Fault> {
    let file = watch::ManifestFile::of(choice, &found, adjust)?;
    let house = setup::build(found)?;
    Ok(match file {
        Some(file) => house.watching(Box::new(file)),
        None => house,
    })
}

/// One thread for the wire and one for a call that takes long.
const WORKERS: usize = 2;

/// How `toolgate init` goes about it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Manner {
    /// Nothing is asked.
    pub(super) yes: bool,
    /// An existing manifest is replaced.
    pub(super) force: bool,
    /// What was written is told as JSON, and nothing is asked.
    pub(super) json: bool,
}

/// `toolgate init`
pub(super) fn write_first(dir: Option<&Path>, given: init::Given, manner: Manner, out: &mut dyn Write) -> Result<End, Fault> {
    let answers = if manner.yes || manner.json { given.or_default() } else { given.or_asked(&mut io::stdin().lock(), out)? };
    let memory = match answers.python {
        YesNo::Yes => tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(init::MemoryLayer::of_this_machine()),
        YesNo::No => init::MemoryLayer::Required,
    };
    let file = init::write(dir.unwrap_or(Path::new(".")), &answers, memory, manner.force)?;
    trust::keep(&file, &trust::digest(&super::text_file::read(&file)?))?;
    let snippet = answers.client.map(|client| {
        let places = install::Places { project: file.parent().unwrap_or(Path::new("/")).to_owned(), ..install::Places::of_user()? };
        let (server, _) = register::server(client, Some(&file), &places)?;
        Ok::<_, Fault>((client, install::snippet(client, &server)))
    });
    let snippet = snippet.transpose()?;
    if manner.json {
        let report = serde_json::json!({
            "manifest": file, "trusted": true, "requires_memory": memory == init::MemoryLayer::Required,
            "snippet": snippet.as_ref().map(|(_, text)| text), "note": snippet.as_ref().and_then(|(client, _)| install::note(*client)),
        });
        writeln!(out, "{report}")?;
        return Ok(End::Done);
    }
    writeln!(out, "wrote {}", file.display())?;
    if memory == init::MemoryLayer::LeftOut {
        writeln!(
            out,
            "`[python] require` leaves out `memory`, which this machine holds in part only: `toolgate doctor` says why and how to mend it"
        )?;
    }
    if let Some((client, text)) = snippet {
        writeln!(out, "\nRegister it (or: toolgate install … --write):\n\n{text}")?;
        writeln!(out, "{}", install::note(client).unwrap_or_default())?;
    }
    writeln!(out, "check it: toolgate check {}", file.display())?;
    Ok(End::Done)
}

fn run_lint(input: &Input, imports: Option<&str>, manifest: Option<PathBuf>, out: &mut dyn Write) -> Result<End, Fault> {
    let mut rules = match manifest {
        Some(file) => {
            let choice = ManifestChoice { manifest: Some(file), profile: None, roots: Vec::new() };
            program::rules(&setup::find(&choice)?.manifest.python)
        }
        None => Rules { check: Check::Strict, ..Rules::default() },
    };
    if let Some(imports) = imports {
        rules.imports = lint::parse_imports(imports);
    }
    if let Some(lines) = &input.jsonl {
        let summary = lint::lint_jsonl(reader(lines)?, out, &rules)?;
        return Ok(if summary.is_clean() { End::Done } else { End::Negative });
    }
    let (name, bytes) = whole(input)?;
    let report = toolgate_pycheck::check(&bytes, &rules);
    let clean = report.verdict != Verdict::Deny;
    if input.json {
        writeln!(out, "{}", lint::json(&report))?;
    } else {
        write!(out, "{}", lint::pretty(&report, &name, Colour::of_stdout()))?;
    }
    Ok(if clean { End::Done } else { End::Negative })
}

fn run_scan(input: &Input, manifest: Option<PathBuf>, out: &mut dyn Write) -> Result<End, Fault> {
    let rules = match manifest {
        Some(file) => {
            let choice = ManifestChoice { manifest: Some(file), profile: None, roots: Vec::new() };
            setup::find(&choice)?.manifest.filters.rules
        }
        None => crate::filter::ContentRules::default(),
    };
    if let Some(lines) = &input.jsonl {
        let summary = scan::scan_jsonl(reader(lines)?, out, &rules)?;
        return Ok(if summary.faulty == 0 { End::Done } else { End::Negative });
    }
    let (name, bytes) = whole(input)?;
    let text = String::from_utf8_lossy(&bytes);
    let is_html = Path::new(&name).extension().is_some_and(|kind| kind.eq_ignore_ascii_case("html") || kind.eq_ignore_ascii_case("htm"));
    if input.json {
        writeln!(out, "{}", scan::scan_json(&text, is_html, &rules))?;
    } else {
        write!(out, "{}", scan::scan_pretty(&name, &text, is_html, &rules))?;
    }
    Ok(if scan::is_clean(&text, is_html, &rules) { End::Done } else { End::Negative })
}

fn run_extract(input: &Input, out: &mut dyn Write) -> Result<End, Fault> {
    let extractor = extract::Extractor::new()?;
    if let Some(lines) = &input.jsonl {
        let faulty = extractor.lines(reader(lines)?, out)?;
        return Ok(if faulty == 0 { End::Done } else { End::Negative });
    }
    let (name, bytes) = whole(input)?;
    let article = match extractor.file(&bytes) {
        Ok(article) => article,
        Err(why) => {
            writeln!(io::stderr(), "toolgate: {}: {}", escape(&name), escape(&why))?;
            return Ok(End::Negative);
        }
    };
    if input.json {
        let facts = serde_json::json!({
            "markdown": article.text, "title": article.title, "byline": article.byline, "date": article.date
        });
        writeln!(out, "{facts}")?;
    } else {
        write!(out, "{}", article.text)?;
    }
    Ok(End::Done)
}

/// A file by name, or standard input for `-`.
pub(super) fn reader(file: &Path) -> io::Result<Box<dyn BufRead>> {
    if file == Path::new("-") { Ok(Box::new(io::stdin().lock())) } else { Ok(Box::new(BufReader::new(open(file)?))) }
}

fn open(file: &Path) -> io::Result<File> {
    File::open(file).map_err(|fault| io::Error::new(fault.kind(), format!("`{}` cannot be read: {fault}", file.display())))
}

fn whole(input: &Input) -> Result<(String, Vec<u8>), Fault> {
    let file = input.file.as_deref().ok_or_else(|| Fault::Use("name a file, or `-` for standard input".to_owned()))?;
    let mut bytes = Vec::new();
    reader(file)?.read_to_end(&mut bytes)?;
    Ok((file.display().to_string(), bytes))
}

fn audit(state: &Path, command: AuditCommand, out: &mut dyn Write) -> Result<End, Fault> {
    // What is left of a log that was taken away is for `verify` to tell.
    if !matches!(command, AuditCommand::Verify { .. }) && !state.join("audit").is_dir() {
        let why = "it begins with the first `toolgate serve`; another folder is named by TOOLGATE_STATE_DIR";
        return Err(Fault::Use(format!("there is no audit log in `{}` yet: {why}", state.display())));
    }
    let form = |json| if json { Form::Json } else { Form::Text };
    let filter = |terms: &[String]| Filter::parse(&terms.join(" "), Timestamp::now()).map_err(|fault| Fault::Use(fault.to_string()));
    match command {
        AuditCommand::Verify { json } => {
            let whole = log::verify(state, None, form(json), out)?;
            return Ok(if whole { End::Done } else { End::Negative });
        }
        AuditCommand::Tail { terms, lines, follow, json } => {
            let mut wait = || {
                std::thread::sleep(Duration::from_millis(200));
                true
            };
            let wait: Option<&mut dyn FnMut() -> bool> = if follow { Some(&mut wait) } else { None };
            log::tail(state, lines, &filter(&terms)?, form(json), wait, out)?;
        }
        AuditCommand::Query { terms, json } => {
            log::query(state, &filter(&terms)?, None, form(json), out)?;
        }
        AuditCommand::Show { call, json } => {
            if !log::show(state, &call, form(json), out)? {
                writeln!(io::stderr(), "toolgate: no record of a call `{}`; `toolgate audit tail` names the last ones", escape(&call))?;
                return Ok(End::Negative);
            }
        }
        AuditCommand::Report { network: true, json } => log::network(state, form(json), out)?,
        AuditCommand::Report { network: false, json } => log::report(state, &filter(&[])?, form(json), out)?,
    }
    Ok(End::Done)
}

fn examine(json: bool, manifest: Option<PathBuf>, out: &mut dyn Write) -> Result<End, Fault> {
    let choice = ManifestChoice { manifest, profile: None, roots: Vec::new() };
    let found = match setup::find_trusted(&choice) {
        Err(setup::Unbuilt::Refused(why)) => {
            // Its interpreter is not started, and the machine can be told about without it.
            writeln!(io::stderr(), "toolgate: the built-in manifest is looked at: {why}")?;
            setup::Found::builtin()
        }
        found => found?,
    };
    let state = setup::state_path(&found.manifest, found.file.as_deref()).unwrap_or_default();
    let environment::Environment { interpreter, unready } = environment::find(&found.manifest, found.file.as_deref(), &state);
    let backend = found.manifest.python.backend.clone();
    let container = programs::container_settings(&found.manifest.python);
    let settings = programs::Settings { interpreter, unready, backend, container, ..programs::Settings::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut report = runtime.block_on(doctor::examine(&settings));
    report.quotas = doctor::quotas(&found.manifest, &state);
    report.imports_act_as_strict = report.lacking_wall(&found.manifest.python);
    if json {
        writeln!(out, "{}", serde_json::to_string(&report).map_err(io::Error::other)?)?;
    } else {
        write!(out, "{}", report.text())?;
    }
    Ok(if report.is_whole() { End::Done } else { End::Negative })
}
