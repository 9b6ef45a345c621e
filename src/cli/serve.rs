//! `toolgate serve`: MCP over standard input and output, or over HTTP.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::http::{self, HttpChoice};
use super::logs::LogFormat;
use super::run::{End, Fault, Globals, Report};
use super::setup::{self, Choice, Found};
use super::watch::{Adjust, ManifestFile};
use crate::context::ServerContext;
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

/// One thread for the wire and one for a call that takes long.
const WORKERS: usize = 2;

pub(super) fn run(arguments: &Serve, globals: &Globals) -> Result<Report, Fault> {
    let form = LogFormat::asked(arguments.log_format).map_err(Fault::Use)?;
    form.begin(globals.quiet);
    let Serve { choice, http, .. } = arguments;
    let found = setup::find_trusted(globals.manifest.as_deref(), &choice.roots)?;
    if let Some(address) = &http.http {
        return http::serve(http, address, found, choice, form).map(|()| End::Done.into());
    }
    let profile = setup::stdio_profile(&found.manifest, choice)?;
    let server = Arc::new(watched(choice, found, Box::new(|_| Ok(())))?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    let outcome = runtime.block_on(server::serve_stdio(Arc::clone(&server), profile));
    // What a call left behind on a blocking thread must not hold the exit.
    runtime.shutdown_timeout(Duration::from_millis(100));
    server.close();
    outcome?;
    Ok(End::Done.into())
}

/// A server whose manifest may change while it is served.
pub(super) fn watched(choice: &Choice, found: Found, adjust: Adjust) -> Result<ServerContext, Fault> {
    let file = ManifestFile::of(&choice.roots, &found, adjust)?;
    let server = setup::build(found)?;
    Ok(match file {
        Some(file) => server.watching(Box::new(file)),
        None => server,
    })
}
