//! The arguments of `toolgate approvals`, as clap reads them.

use clap::{Subcommand, ValueEnum};

use crate::policy::Scope;

/// What to do on the operator's channel.
#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    /// List what waits, on every server of the state folder.
    List,
    /// Show one question whole.
    Show {
        /// Its id, or enough of its beginning.
        id: String,
    },
    /// Allow it, this once. The passphrase is asked for on the terminal, or read as a line of standard input.
    Allow {
        /// Its id, or enough of its beginning.
        id: String,
        /// Who answers. Default: the only operator that has a passphrase.
        #[arg(long = "as", value_name = "NAME")]
        who: Option<String>,
        /// Why; kept in the log.
        #[arg(long)]
        reason: Option<String>,
        /// Allow the same tool on the same target until the session ends, where the manifest remembers (`first`).
        #[arg(long, conflicts_with = "scope")]
        session: bool,
        /// How far the yes goes, of what the question offers.
        #[arg(long, value_enum)]
        scope: Option<Scope>,
    },
    /// Deny it. Needs no passphrase.
    Deny {
        /// Its id, or enough of its beginning.
        id: String,
        /// Who answers.
        #[arg(long = "as", value_name = "NAME")]
        who: Option<String>,
        /// Why; kept in the log.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Show questions as they come and go, on the desktop too where notify-send(1) is, and answer them by a letter; with `--json` nothing is answered.
    Watch {
        /// Who answers. Default: the only operator that has a passphrase.
        #[arg(long = "as", value_name = "NAME")]
        who: Option<String>,
    },
    /// Who may allow, each with a passphrase.
    Secret {
        /// What to do.
        #[command(subcommand)]
        command: SecretCommand,
    },
}

/// What to do with the passphrases of operators.
#[derive(Debug, Subcommand)]
pub enum SecretCommand {
    /// Give an operator a passphrase. Where there are operators, two of them (or the only one) must give theirs first.
    Set {
        /// Who. Default: `operator`. Several names found the operators together, each with a passphrase of their own, where there are none yet.
        #[arg(long = "as", value_name = "NAME")]
        who: Vec<String>,
    },
    /// List the operators.
    List,
    /// Take an operator's passphrase away.
    Remove {
        /// Who.
        name: String,
    },
}

impl ValueEnum for Scope {
    fn value_variants<'a>() -> &'a [Self] {
        &Scope::ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.as_str()))
    }
}
