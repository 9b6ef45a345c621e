//! Lines 7 to 10 for a query: which database, what its statement is, and whether it may be changed.

use super::capability::{Capability, judge_flags};
use crate::manifest::{Database, DatabaseUrl, RootMode};
use crate::model::{Code, Flag, Flags, QueryDatabase, Refusal, Statement, StatementKind};

impl Capability {
    /// Judges a query by its text. Gives it with what its statement is, and with the file of its database.
    ///
    /// # Errors
    /// `argument_not_allowed` (no such database), `syntax_error`, `statement_not_allowed`, `permission_missing`, `database_read_only`.
    pub(super) fn judge_query(&self, query: &QueryDatabase) -> Result<QueryDatabase, Refusal> {
        let name = &query.database;
        let databases = &self.manifest.databases;
        let Some(Database { url: Some(url), mode, .. }) = databases.get(name) else {
            let shown: String = name.chars().take(64).flat_map(char::escape_debug).collect();
            let known: Vec<&str> = databases.keys().map(String::as_str).collect();
            return Err(Refusal::new(Code::ArgumentNotAllowed, format!("there is no database `{shown}`"))
                .rule("databases")
                .hint(format!("these are open: {}", known.join(", "))));
        };
        let statement = query.sql.as_deref().map(|sql| classify(sql, url)).transpose()?;
        if let Some(Statement { kind, .. }) = statement.as_ref().filter(|statement| statement.kind > StatementKind::Read) {
            if *mode == RootMode::ReadOnly {
                let what = format!("the database `{name}` is read only, and this statement is one of the kind `{kind}`");
                return Err(Refusal::new(Code::DatabaseReadOnly, what).rule(format!("databases.{name}.mode")).hint("only read from it"));
            }
            let held = self.rules().map_or(Flags::NONE, |rules| rules.permissions);
            judge_flags(&self.profile, held, self.spec, Flags::of(&[Flag::DatabaseWrite]))?;
        }
        let file = if let DatabaseUrl::Sqlite(file) = url { Some(file.clone()) } else { None };
        Ok(QueryDatabase { statement, file, ..query.clone() })
    }
}

#[cfg(feature = "sql")]
use super::sql::classify;

#[cfg(not(feature = "sql"))]
fn classify(_: &str, _: &DatabaseUrl) -> Result<Statement, Refusal> {
    Err(Refusal::new(Code::StatementNotAllowed, "this build of the server reads no SQL")
        .hint("use a build with the feature `sqlite` or `postgres`"))
}
