//! `[databases]`: the databases that `query_database` may use.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use smart_default::SmartDefault;

use super::fault::{Fault, Ledger};
use super::form::entries;
use super::{FoldedPath, Manifest, NetworkRules, Root, RootMode};
use crate::model::{CallPath, HttpUrl};

/// A database that `query_database` may use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema, SmartDefault)]
#[serde(default)]
pub struct Database {
    /// Where it is: `sqlite:ROOT/path/to/file.db`, a file of a root that the caller's profile has. `denied_paths` keep it from other tools, not
    /// from `query_database`. Or `postgres://USER@HOST:PORT/NAME`, where the rights of the user in the database are the wall.
    pub url: Option<DatabaseUrl>,
    /// The password for PostgreSQL, as `${secret:NAME}` of `[network.secrets]`. `hosts` of the secret must list the server.
    #[schemars(extend("format" = "secret"))]
    pub password: Option<String>,
    /// `ro`: only statements that read are allowed. `rw`: statements that change it are allowed as well.
    pub mode: RootMode,
    /// Longest run time of a statement, e.g. `5s`, within the time of a call.
    #[default(Duration::from_secs(5))]
    pub timeout: Duration,
    /// Most rows of an answer.
    #[schemars(range(min = 1))]
    #[default(100)]
    pub max_rows: u64,
    /// Most rows that one statement may change. A statement that would change more is undone as a whole.
    #[default(100)]
    pub max_changes: u64,
    /// Tables of a SQLite file that no statement may use, in any case of letters.
    #[schemars(extend("items" = entries("text")))]
    pub denied_tables: Vec<String>,
    /// Columns of a SQLite file that no statement may read, as `TABLE.COLUMN`, or `*.COLUMN` for every table.
    #[schemars(extend("items" = entries("column")))]
    pub denied_columns: Vec<String>,
}

/// Where a database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A SQLite file, by its path below a root.
    Sqlite(CallPath),
    /// A PostgreSQL database.
    Postgres {
        /// The database user. Its rights decide what statements reach.
        user: String,
        /// The host and port of its server, as `https`.
        server: HttpUrl,
        /// The database's name.
        name: String,
    },
}

impl DatabaseUrl {
    /// Reads `sqlite:ROOT/path` or `postgres://USER@HOST:PORT/NAME`; the port is 5432 where it is left out.
    ///
    /// # Errors
    /// A sentence for the manifest's list of faults.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix("postgres://") {
            return postgres(rest).ok_or_else(|| "this is no address of a database; write `postgres://USER@HOST:PORT/NAME`".to_owned());
        }
        let form = "write `sqlite:ROOT/path/to/file.db`, with the name of a root, or `postgres://USER@HOST:PORT/NAME`";
        let path = text.strip_prefix("sqlite:").ok_or_else(|| format!("this is no address of a database; {form}"))?;
        match CallPath::parse(path) {
            Ok(path) if path.segments().len() > 1 && !path.is_absolute() => Ok(Self::Sqlite(path)),
            Ok(_) => Err(format!("`{path}` is no file of a root; {form}")),
            Err(refusal) => Err(format!("{}; {form}", refusal.message)),
        }
    }
}

fn postgres(text: &str) -> Option<DatabaseUrl> {
    let (user, rest) = text.split_once('@')?;
    let (host, name) = rest.split_once('/')?;
    let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let url = if has_port { format!("https://{host}/") } else { format!("https://{host}:5432/") };
    let server = HttpUrl::parse(&url).ok().filter(|_| is_word(user) && is_word(name) && !host.contains(['?', '#', '@']))?;
    Some(DatabaseUrl::Postgres { user: user.to_owned(), server, name: name.to_owned() })
}

impl std::fmt::Display for DatabaseUrl {
    /// As the manifest has it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{path}"),
            Self::Postgres { user, server, name } => write!(f, "postgres://{user}@{}:{}/{name}", server.host_str(), server.port()),
        }
    }
}

impl Database {
    /// Whether a table is denied. The names of tables have no case.
    pub fn hides_table(&self, table: &str) -> bool {
        self.denied_tables.iter().any(|denied| denied.eq_ignore_ascii_case(table))
    }

    /// Whether a column of a table is denied. An empty name stands for any column.
    pub fn hides_column(&self, table: &str, column: &str) -> bool {
        self.denied_columns
            .iter()
            .filter_map(|denied| denied.split_once('.'))
            .any(|(of, denied)| (of == "*" || of.eq_ignore_ascii_case(table)) && (column.is_empty() || denied.eq_ignore_ascii_case(column)))
    }
}

impl Manifest {
    /// A warning for each SQLite database whose denied tables or columns other tools can read in its file, and for each PostgreSQL database: only the
    /// rights of its user limit it.
    pub(super) fn database_warnings(&self) -> Vec<Fault> {
        let warning = |(name, database): (&String, &Database)| {
            let path = match &database.url {
                Some(DatabaseUrl::Sqlite(path)) => path,
                Some(DatabaseUrl::Postgres { user, .. }) => {
                    let what = format!(
                        "only the rights of `{user}` in PostgreSQL decide what statements reach; grant it no more than agents need"
                    );
                    return Some(self.fault(&format!("databases.{name}"), what));
                }
                None => return None,
            };
            let root = path.segments().first()?;
            let file = path.below(std::slice::from_ref(root))?;
            let patterns = self.roots.get(root)?.denied.iter().chain(&self.files.denied);
            let is_denied = patterns.into_iter().any(|pattern| pattern.covers(&FoldedPath::of(&file)));
            if is_denied || database.denied_tables.is_empty() && database.denied_columns.is_empty() {
                return None;
            }
            let what =
                format!("other tools read its file, with what is denied here; add `denied_paths = [\"{file}*\"]` to `[roots.{root}]`");
            Some(self.fault(&format!("databases.{name}"), what))
        };
        self.databases.iter().filter_map(warning).collect()
    }
}

/// A table, or `*`, and a column.
pub(super) fn column(text: &str) -> Result<(), String> {
    match text.split_once('.') {
        Some((table, column)) if !table.is_empty() && !column.is_empty() && !column.contains('.') => Ok(()),
        _ => Err(format!("`{}` is no column; write `TABLE.COLUMN`, or `*.COLUMN` for every table", text.escape_debug())),
    }
}

impl Ledger<'_> {
    pub(super) fn databases(&mut self, databases: &BTreeMap<String, Database>, roots: &BTreeMap<String, Root>, network: &NetworkRules) {
        for (name, database) in databases {
            let at = format!("databases.{name}");
            match &database.url {
                Some(DatabaseUrl::Sqlite(path)) => {
                    let root = path.segments().first().map(String::as_str).unwrap_or_default();
                    match roots.get(root) {
                        None => self.unknown(&format!("{at}.url"), "root", root, roots.keys().map(String::as_str)),
                        Some(root) if root.mode == RootMode::ReadOnly && database.mode == RootMode::ReadWrite => {
                            self.fault(&format!("{at}.mode"), "its file is in a read-only root; write `mode = \"ro\"`, or open the root");
                        }
                        Some(_) => {}
                    }
                }
                Some(DatabaseUrl::Postgres { server, .. }) => {
                    self.password(&format!("{at}.password"), database.password.as_deref(), network, server);
                    if !(database.denied_tables.is_empty() && database.denied_columns.is_empty()) {
                        self.fault(&at, "tables and columns are denied for SQLite alone; take the rights from the user in the database");
                    }
                }
                None if self.holds(&format!("{at}.url")) => {}
                None => self.fault(&at, "write where it is: `url = \"sqlite:ROOT/path/to/file.db\"`"),
            }
        }
    }
}
