//! SQLite. What was judged by the text of a statement is held by SQLite's own authorizer, which sees each table, column and function that a statement
//! uses, also within views and triggers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, Statement, TransactionBehavior, params_from_iter};

use super::{Answer, Cell, MOST_COLUMNS, WITHOUT_SQL, beneath, too_many};
use crate::gate::Permit;
use crate::manifest::{Database, RootMode};
use crate::model::{Bytes, Code, Failure, Level, QueryDatabase, Refusal, StatementKind, Target};
use crate::sandbox::files::{Stat, Stop, single};

/// How long a lock of another program is waited for.
const LOCKED: Duration = Duration::from_secs(2);
/// Steps of SQLite's machine between two looks at the time.
const STEPS: i32 = 1_000;
/// Memory of all statements of the process together.
const MEMORY: Bytes = Bytes::mib(256);
/// The largest text, blob or row that is read.
const LONGEST: Bytes = Bytes::mib(64);

/// Runs the statement of a query, or lists the tables.
///
/// # Errors
/// `statement_not_allowed`, `too_many_changes`, `query_failed`, `conflict` (locked, or the file was replaced), `timeout`, `cancelled`,
/// `argument_invalid` (another number of parameters).
pub fn query(permit: Permit<QueryDatabase>, stop: &Stop) -> Result<Answer, Failure> {
    let (query, opened, terms) = permit.spend();
    let opened = single(opened)?;
    let Some(database) = terms.manifest.databases.get(&query.database) else {
        return Err(Failure::new(Code::Internal, "the permit is for no database"));
    };
    let (Some(folder), Some(name)) = (&opened.folder, opened.path().segments().last()) else { return Err(gone(&opened.target)) };
    let found = Stat::at(folder, name.as_str()).map_err(|_| gone(&opened.target))?;
    if opened.fact.identity.map(|judged| (judged.device, judged.inode)) != Some(found.object()) {
        return Err(Failure::new(Code::Conflict, format!("another file is at `{}` now", opened.target)).hint("make the call again"));
    }
    let kind = query.kind();
    let is_fixed = terms.manifest.roots.get(&opened.target.root).is_none_or(|root| root.mode == RootMode::ReadOnly);
    let has_log = Stat::at(folder, format!("{name}-wal")).is_ok();
    let place = beneath::path(std::os::fd::AsFd::as_fd(folder), name);
    let late = Instant::now() + database.timeout.min(terms.timeout);
    let run = Run { query: &query, database, stop, late, level: terms.level, max_answer: terms.max_answer };
    let refused = Arc::default();
    // SQLite makes files beside a database in WAL mode, also to read it. In a read-only root nothing is made.
    let mut connection = open(&place, kind, is_fixed && !has_log).map_err(|fault| run.failure(&fault, &refused))?;
    run.answer(&mut connection, &refused).map_err(|fault| match fault {
        Fault::Sqlite(fault) => run.failure(&fault, &refused),
        Fault::Failure(failure) => failure,
    })
}

/// What ends a statement.
enum Fault {
    Sqlite(rusqlite::Error),
    Failure(Failure),
}

impl From<rusqlite::Error> for Fault {
    fn from(fault: rusqlite::Error) -> Self {
        Self::Sqlite(fault)
    }
}

/// Why the authorizer refused: SQLite's own error does not say enough.
type Refused = Arc<Mutex<Option<Failure>>>;

struct Run<'a> {
    query: &'a QueryDatabase,
    database: &'a Database,
    stop: &'a Stop,
    late: Instant,
    level: Level,
    max_answer: Bytes,
}

fn open(place: &str, kind: StatementKind, is_immutable: bool) -> rusqlite::Result<Connection> {
    let access = if kind > StatementKind::Read { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE | OpenFlags::SQLITE_OPEN_URI;
    let encoded: String = place.bytes().map(|byte| if byte == b'/' { "/".to_owned() } else { format!("%{byte:02x}") }).collect();
    let immutable = if is_immutable { "?immutable=1" } else { "" };
    let vfs = beneath::vfs().ok_or(rusqlite::Error::InvalidQuery)?;
    let connection = Connection::open_with_flags_and_vfs(format!("file:{encoded}{immutable}"), flags, vfs)?;
    connection.busy_timeout(LOCKED)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(LONGEST.0).unwrap_or(i32::MAX))?;
    // A database is bytes that somebody wrote: https://www.sqlite.org/security.html
    connection.execute_batch(&format!(
        "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON; PRAGMA hard_heap_limit = {}; PRAGMA query_only = {}",
        MEMORY.0,
        if kind > StatementKind::Read { "OFF" } else { "ON" },
    ))?;
    Ok(connection)
}

impl Run<'_> {
    fn answer(&self, connection: &mut Connection, refused: &Refused) -> Result<Answer, Fault> {
        let (stop, late) = (self.stop.clone(), self.late);
        connection.progress_handler(STEPS, Some(move || stop.is_cancelled() || Instant::now() >= late))?;
        let Some(sql) = self.query.sql.as_deref() else { return Ok(self.tables(connection)?) };
        let guard = Guard {
            name: self.query.database.clone(),
            database: self.database.clone(),
            kind: self.query.kind(),
            level: self.level,
            refused: Arc::clone(refused),
        };
        connection.authorizer(Some(move |context: AuthContext<'_>| guard.judge(&context)))?;
        if self.query.kind() == StatementKind::Read {
            return self.rows(&mut connection.prepare(sql)?);
        }
        // Dropped without a commit, it is undone.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut answer = self.rows(&mut transaction.prepare(sql)?)?;
        let (changed, most) = (transaction.total_changes(), self.database.max_changes);
        if changed > most {
            return Err(Fault::Failure(too_many(&self.query.database, changed, most)));
        }
        answer.changed = Some(changed);
        transaction.commit()?;
        Ok(answer)
    }

    fn rows(&self, statement: &mut Statement<'_>) -> Result<Answer, Fault> {
        let (wanted, given) = (statement.parameter_count(), self.query.params.len());
        if wanted != given {
            let what = format!("the statement has {wanted} parameter(s), and `params` has {given}");
            return Err(Fault::Failure(Failure::new(Code::ArgumentInvalid, what)));
        }
        let mut answer = Answer { columns: statement.column_names().map(str::to_owned).collect(), ..Answer::default() };
        let most = self.query.max_rows.unwrap_or(u64::MAX).min(self.database.max_rows);
        let (width, mut room) = (statement.column_count(), self.max_answer.0);
        let mut rows = statement.query(params_from_iter(self.query.params.iter().map(parameter)))?;
        loop {
            match rows.next() {
                Ok(None) => return Ok(answer),
                Ok(Some(row)) => {
                    let cells = || (0..width).map(|at| row.get_ref(at).map_or(Cell::Null, cell)).collect();
                    // A statement that changes rows does so row by row: it is run to its end.
                    if !answer.take(cells, most, &mut room) && self.query.kind() == StatementKind::Read {
                        return Ok(answer);
                    }
                }
                // The rows that are there are an answer; how many more there are is not known.
                Err(fault)
                    if is_interrupt(&fault)
                        && !answer.rows.is_empty()
                        && !self.stop.is_cancelled()
                        && self.query.kind() == StatementKind::Read =>
                {
                    answer.is_cut = true;
                    return Ok(answer);
                }
                Err(fault) => return Err(fault.into()),
            }
        }
    }

    /// The tables and views with their columns.
    fn tables(&self, connection: &Connection) -> rusqlite::Result<Answer> {
        let mut statement = connection.prepare(TABLES)?;
        let columns = statement.column_names().map(str::to_owned).collect();
        let mut answer = Answer { columns, ..Answer::default() };
        let (most, mut room) = (self.query.max_rows.unwrap_or(MOST_COLUMNS), self.max_answer.0);
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (table, column): (String, String) = (row.get(0)?, row.get(2)?);
            if !self.database.hides_table(&table) && !self.database.hides_column(&table, &column) {
                answer.take(|| (0..5).map(|at| row.get_ref(at).map_or(Cell::Null, cell)).collect(), most, &mut room);
            }
        }
        Ok(answer)
    }

    fn failure(&self, fault: &rusqlite::Error, refused: &Refused) -> Failure {
        if let Some(failure) = refused.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return failure;
        }
        match fault {
            _ if self.stop.is_cancelled() => Failure::new(Code::Cancelled, "the call was cancelled"),
            fault if is_interrupt(fault) => {
                let what = format!("the statement ran longer than its {} s, and nothing was changed", self.database.timeout.as_secs_f64());
                Failure::new(Code::Timeout, what).hint("ask for fewer rows, or by a column that has an index")
            }
            fault if matches!(fault.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) => {
                Failure::new(Code::Conflict, "another program has locked the database").hint("try again in a few seconds")
            }
            rusqlite::Error::SqlInputError { msg, offset, .. } if *offset >= 0 => {
                Failure::new(Code::QueryFailed, format!("{msg}, at character {} of `sql`", offset + 1)).hint(WITHOUT_SQL)
            }
            rusqlite::Error::SqlInputError { msg, .. } => Failure::new(Code::QueryFailed, msg.clone()).hint(WITHOUT_SQL),
            fault => Failure::new(Code::QueryFailed, fault.to_string()),
        }
    }
}

const TABLES: &str = "SELECT m.name AS \"table\", m.type AS kind, c.name AS \"column\", c.type AS type, \
     CASE WHEN c.pk > 0 THEN 'primary key' WHEN c.\"notnull\" THEN 'not null' ELSE '' END AS rule \
     FROM sqlite_schema AS m, pragma_table_xinfo(m.name) AS c \
     WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY m.name, c.cid";

fn gone(target: &Target) -> Failure {
    Failure::new(Code::NotFound, format!("the database's file `{target}` does not exist"))
}

fn is_interrupt(fault: &rusqlite::Error) -> bool {
    fault.sqlite_error_code() == Some(ErrorCode::OperationInterrupted)
}

/// A value of a cell.
fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(number) => Cell::Real(number),
        ValueRef::Text(text) => Cell::text(&String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.len()),
    }
}

/// A parameter as SQLite knows it: a truth value is a number there.
fn parameter(value: &serde_json::Value) -> Value {
    match value {
        serde_json::Value::Bool(is) => Value::Integer(i64::from(*is)),
        serde_json::Value::Number(number) => {
            number.as_i64().map_or_else(|| Value::Real(number.as_f64().unwrap_or(f64::NAN)), Value::Integer)
        }
        serde_json::Value::String(text) => Value::Text(text.clone()),
        _ => Value::Null,
    }
}

/// What a statement may do, as it was judged.
struct Guard {
    name: String,
    database: Database,
    kind: StatementKind,
    level: Level,
    refused: Refused,
}

impl Guard {
    fn judge(&self, context: &AuthContext<'_>) -> Authorization {
        let Err(refusal) = self.allows(context) else { return Authorization::Allow };
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(Failure(refusal));
        Authorization::Deny
    }

    fn allows(&self, context: &AuthContext<'_>) -> Result<(), Refusal> {
        use StatementKind::{Define, Delete, Insert, Update};
        match context.action {
            AuthAction::Function { function_name } if CLOSED_FUNCTIONS.iter().any(|name| name.eq_ignore_ascii_case(function_name)) => {
                Err(denied(format!("the function `{function_name}` is closed")))
            }
            AuthAction::Select | AuthAction::Recursive | AuthAction::Transaction { .. } | AuthAction::Function { .. } => Ok(()),
            AuthAction::Read { table_name, column_name } => {
                self.shows(table_name)?;
                // SQLite reads without a column where it only counts rows.
                if !column_name.is_empty() && self.database.hides_column(table_name, column_name) {
                    let refusal = denied(format!("the column `{table_name}.{column_name}` is denied"));
                    let rule = format!("databases.{}.denied_columns", self.name);
                    return Err(refusal.rule(rule).hint("name the columns that you need instead of `*`"));
                }
                Ok(())
            }
            AuthAction::Insert { table_name } => self.does(Insert, table_name, context.accessor),
            AuthAction::Update { table_name, .. } => self.does(Update, table_name, context.accessor),
            AuthAction::Delete { table_name } => self.does(Delete, table_name, context.accessor),
            AuthAction::AlterTable { table_name, .. } if self.database.hides_column(table_name, "") => {
                Err(denied(format!("the table `{table_name}` has denied columns, and cannot be altered")))
            }
            AuthAction::CreateIndex { table_name, .. }
            | AuthAction::CreateTable { table_name }
            | AuthAction::CreateTrigger { table_name, .. }
            | AuthAction::CreateView { view_name: table_name }
            | AuthAction::DropIndex { table_name, .. }
            | AuthAction::DropTable { table_name }
            | AuthAction::DropTrigger { table_name, .. }
            | AuthAction::DropView { view_name: table_name }
            | AuthAction::Reindex { index_name: table_name }
            | AuthAction::AlterTable { table_name, .. } => self.does(Define, table_name, context.accessor),
            _ => Err(denied("the statement uses what is closed: another database, a setting, a temporary or a virtual table")),
        }
    }

    /// A statement reads, or does what its text was judged as and what is below the level of its approval; a trigger of a table is a part of it.
    fn does(&self, kind: StatementKind, table: &str, trigger: Option<&str>) -> Result<(), Refusal> {
        self.shows(table)?;
        if self.kind > StatementKind::Read && (kind <= self.kind || kind.level() <= self.level) {
            return Ok(());
        }
        let by = trigger.map(|trigger| format!(", by the trigger `{trigger}`,")).unwrap_or_default();
        let what = format!("the statement does more than its text says{by} in the table `{table}`: it is one of the kind `{kind}`");
        Err(denied(what)
            .hint("the operator can set a higher `level` for `query_database`, so that a person is asked about such statements"))
    }

    fn shows(&self, table: &str) -> Result<(), Refusal> {
        if self.database.hides_table(table) {
            return Err(denied(format!("the table `{table}` is denied")).rule(format!("databases.{}.denied_tables", self.name)));
        }
        Ok(())
    }
}

fn denied(what: impl Into<String>) -> Refusal {
    Refusal::new(Code::StatementNotAllowed, what)
}

/// Functions of SQLite that reach beyond the database. Extensions cannot be loaded as it is; these names are closed besides.
const CLOSED_FUNCTIONS: [&str; 5] = ["load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"];
