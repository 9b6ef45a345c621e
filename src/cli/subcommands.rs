//! What `packages` and `audit` can be told to do, as clap reads it.

use std::path::PathBuf;

use clap::Subcommand;

/// What to do with the packages.
#[derive(Debug, Subcommand)]
pub enum PackagesCommand {
    /// Install what the lock file beside the manifest names, each file by its digest; write the lock where there is none that fits.
    Sync {
        /// The manifest; default as for `serve`.
        #[arg(long, value_name = "FILE")]
        manifest: Option<PathBuf>,
        /// Refuse to write a lock: one that does not fit is a negative answer.
        #[arg(long, conflicts_with = "upgrade")]
        locked: bool,
        /// Write a new lock with the newest versions that the manifest lets in.
        #[arg(long)]
        upgrade: bool,
        /// Print what was installed as JSON, and no stages.
        #[arg(long)]
        json: bool,
    },
}

/// What to do with the log.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Check that the log is whole; exits 1 with the first broken record when it is not.
    Verify {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the last records; with `-f --json` the bus for scripts: every record as it is written.
    Tail {
        /// Only those that fit, as for `query`, e.g. `ev=tool.denied`.
        terms: Vec<String>,
        /// How many.
        #[arg(short = 'n', long, default_value_t = 20)]
        lines: usize,
        /// Go on with new ones.
        #[arg(short, long)]
        follow: bool,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Show records that fit, e.g. `tool=write_file status=error since=1h`.
    Query {
        /// FIELD=VALUE, all must hold.
        terms: Vec<String>,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Show every record of one call.
    Show {
        /// The call's id.
        call: String,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Sum the log up: calls, denials by reason, approvals.
    Report {
        /// Count web requests alone: by method, status and host, and the last ten.
        #[arg(long)]
        network: bool,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
}
