//! The arguments of `toolgate approvals`, as clap reads them.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};

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
        /// Which question, who answers and why.
        #[command(flatten)]
        reply: Reply,
        /// Allow the same tool on the same target until the session ends, where the manifest remembers (`first`).
        #[arg(long, conflicts_with = "scope")]
        session: bool,
        /// How far the yes goes, of what the question offers.
        #[arg(long, value_parser = scopes())]
        scope: Option<Scope>,
    },
    /// Deny it. Needs no passphrase.
    Deny {
        /// Which question, who answers and why.
        #[command(flatten)]
        reply: Reply,
    },
    /// Show each question as it comes, until it is stopped; `allow` and `deny` answer.
    Watch,
    /// Who may allow, each with a passphrase.
    Secret {
        /// What to do.
        #[command(subcommand)]
        command: SecretCommand,
    },
}

/// An answer to a question.
#[derive(Debug, Args)]
pub struct Reply {
    /// The question's id, or enough of its beginning.
    pub id: String,
    /// Who answers. Default: the only operator that has a passphrase.
    #[arg(long = "as", value_name = "NAME")]
    pub who: Option<String>,
    /// Why; kept in the log.
    #[arg(long)]
    pub reason: Option<String>,
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

fn scopes() -> impl TypedValueParser<Value = Scope> {
    PossibleValuesParser::new(Scope::ALL.map(Scope::as_str)).try_map(|text| Scope::parse(&text).ok_or("no such scope"))
}
