//! `toolgate serve`: MCP over standard input and output, or over HTTP.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::http::{self, HttpChoice};
use super::logs::LogFormat;
use super::run::{End, Fault, Globals, Report};
use super::setup::{self, Choice};
use super::watch::ManifestFile;
use crate::server;

/// Serve MCP over standard input and output, or over HTTP.
#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    pub(super) choice: Choice,
    #[command(flatten)]
    http: HttpChoice,
    /// The form of log lines on standard error. Default: `$TOOLGATE_LOG_FORMAT`, else text.
    #[arg(long, value_enum, value_name = "text|json")]
    pub(super) log_format: Option<LogFormat>,
}

/// The threads over standard input: one for the wire and one for a call that takes long.
const WORKERS: usize = 2;

pub(super) fn run(arguments: &Serve, globals: &Globals) -> Result<Report, Fault> {
    let form = LogFormat::asked(arguments.log_format).map_err(Fault::Use)?;
    form.begin(globals.quiet);
    let Serve { choice, http, .. } = arguments;
    let mut found = setup::find_trusted(globals.manifest.as_deref(), &choice.roots)?;
    let profile = setup::stdio_profile(&found.manifest, choice)?;
    http.adjust(&mut found.manifest, choice.profile.as_deref())?;
    let tls = http.tls()?;
    let base = found.file.as_deref().and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
    let file = ManifestFile::of(choice, http, &found)?;
    let mut server = setup::build(found)?;
    if let Some(file) = file {
        server = server.watching(Box::new(file));
    }
    let server = Arc::new(server);
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    if http.http.is_none() {
        threads.worker_threads(WORKERS);
    }
    let runtime = threads.enable_all().build()?;
    let outcome = match &http.http {
        Some(address) => runtime.block_on(http::serve(&server, address, http.sse, tls, base, form)),
        None => runtime.block_on(server::serve_stdio(Arc::clone(&server), profile)),
    };
    // What a call left behind on a blocking thread must not hold the exit.
    runtime.shutdown_timeout(Duration::from_millis(100));
    server.close();
    outcome?;
    Ok(End::Done.into())
}
