//! PostgreSQL, over one connection to a judged address. A statement that reads runs in a read-only transaction; what else it may reach is what the rights
//! of its user allow.

use std::time::Duration;

use futures::TryStreamExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, Error, Transaction};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{Answer, Cell, LONGEST_TEXT, MOST_COLUMNS, too_many};
use crate::gate::{Permit, Terms};
use crate::manifest::{Database, DatabaseUrl};
use crate::model::{Code, Failure, QueryDatabase, StatementKind};
use crate::sandbox::web::{Denied, Egress, SentSecrets};

/// How long a lock of another session is waited for.
const LOCKED: Duration = Duration::from_secs(2);

/// Runs the statement of a query, or lists the tables.
///
/// # Errors
/// `too_many_changes`, `query_failed`, `conflict` (locked), `timeout`, and what the network's rules say of the server's address.
pub async fn query(permit: Permit<QueryDatabase>, egress: &Egress) -> Result<Answer, Failure> {
    let (query, _, terms) = permit.spend();
    let Some(database) = terms.manifest.databases.get(&query.database) else {
        return Err(Failure::new(Code::Internal, "the permit is for no database"));
    };
    let mut connected = connect(database, egress, &terms).await?;
    run(&mut connected.client, &query, database, &terms).await.map_err(|fault| match fault {
        Fault::Postgres(fault) => failed(&fault, database),
        Fault::Failure(failure) => failure,
    })
}

/// What ends a statement.
enum Fault {
    Postgres(Error),
    Failure(Failure),
}

impl From<Error> for Fault {
    fn from(fault: Error) -> Self {
        Self::Postgres(fault)
    }
}

/// A client, and the task that moves its bytes and ends with it.
struct Connected {
    client: Client,
    task: JoinHandle<()>,
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn connect(database: &Database, egress: &Egress, terms: &Terms) -> Result<Connected, Failure> {
    let Some(DatabaseUrl::Postgres { user, server, name }) = &database.url else {
        return Err(Failure::new(Code::Internal, "the permit is for no database of PostgreSQL"));
    };
    let network = &terms.manifest.network;
    let (stream, peer) = egress.connect(server, network).await.map_err(Denied::into_failure)?;
    let mut config = Config::new();
    config.user(user).dbname(name).application_name("toolgate");
    // Without TLS only where the operator has opened the very address.
    config.ssl_mode(if network.internal.contains(&peer) { SslMode::Prefer } else { SslMode::Require });
    if let Some((name, secret)) = database.password.as_ref().and_then(|name| network.secrets.get_key_value(name)) {
        config.password(SentSecrets::default().value(name, secret)?);
    }
    let broken = |_| Failure::new(Code::QueryFailed, "no TLS with the database's server can be made");
    let mut tls = MakeRustlsConnect::new((*egress.tls().map_err(broken)?).clone());
    let tls = MakeTlsConnect::<TcpStream>::make_tls_connect(&mut tls, server.host_str());
    let tls = tls.map_err(|_| Failure::new(Code::QueryFailed, "the database's server has no name that a certificate can have"))?;
    let (client, connection) = config.connect_raw(stream, tls).await.map_err(|fault| failed(&fault, database))?;
    Ok(Connected { client, task: tokio::spawn(async move { drop(connection.await) }) })
}

async fn run(client: &mut Client, query: &QueryDatabase, database: &Database, terms: &Terms) -> Result<Answer, Fault> {
    let kind = query.kind();
    // Dropped without a commit, it is undone.
    let transaction = client.build_transaction().read_only(kind == StatementKind::Read).start().await?;
    let time = database.timeout.min(terms.timeout).as_millis().max(1);
    transaction.batch_execute(&format!("SET LOCAL statement_timeout = {time}; SET LOCAL lock_timeout = {}", LOCKED.as_millis())).await?;
    let most = if query.sql.is_some() { database.max_rows } else { MOST_COLUMNS };
    let mut answer = rows(&transaction, query, query.max_rows.unwrap_or(most).min(most), terms.max_answer.0).await?;
    if kind == StatementKind::Read {
        answer.changed = None;
        return Ok(answer);
    }
    // With what triggers and functions of the database changed.
    let changed: Option<i64> = transaction.query_one(CHANGED, &[]).await?.try_get(0)?;
    let changed = changed.and_then(|changed| u64::try_from(changed).ok()).max(answer.changed).unwrap_or(0);
    if changed > database.max_changes {
        return Err(Fault::Failure(too_many(&query.database, changed, database.max_changes)));
    }
    answer.changed = Some(changed);
    transaction.commit().await?;
    Ok(answer)
}

/// Runs the statement. Its values come as text: the server knows how each of its types is written.
async fn rows(transaction: &Transaction<'_>, query: &QueryDatabase, most: u64, mut room: u64) -> Result<Answer, Fault> {
    let sql = query.sql.as_deref().unwrap_or(TABLES).trim_end().trim_end_matches(';');
    let statement = transaction.prepare(sql).await?;
    let (wanted, given) = (statement.params().len(), query.params.len());
    if wanted != given {
        let what = format!("the statement has {wanted} parameter(s), and `params` has {given}");
        return Err(Fault::Failure(Failure::new(Code::ArgumentInvalid, what)));
    }
    let types: Vec<Type> = statement.columns().iter().map(|column| column.type_().clone()).collect();
    let mut answer = Answer { columns: statement.columns().iter().map(|column| column.name().to_owned()).collect(), ..Answer::default() };
    let params: Vec<Param> = query.params.iter().map(Param::of).collect();
    let explains = sql.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("explain"));
    let statement = if types.is_empty() || explains {
        statement
    } else {
        let names: Vec<String> = (0..types.len()).map(|at| format!("c{at}")).collect();
        let text = |(name, kind): (&String, &Type)| match *kind {
            Type::BYTEA => format!("octet_length({name})::text"),
            _ => format!("left({name}::text, {})", LONGEST_TEXT + 1),
        };
        let texts: Vec<String> = names.iter().zip(&types).map(text).collect();
        // A change gives rows only in WITH, a query that has WITH of its own only in FROM.
        let (names, texts) = (names.join(", "), texts.join(", "));
        let whole = match query.kind() {
            StatementKind::Read => format!("SELECT {texts} FROM (\n{sql}\n) AS q({names})"),
            _ => format!("WITH q({names}) AS (\n{sql}\n) SELECT {texts} FROM q"),
        };
        transaction.prepare(&whole).await?
    };
    let mut rows = std::pin::pin!(transaction.query_raw(&statement, params).await?);
    while let Some(row) = rows.try_next().await? {
        let cells = || types.iter().enumerate().map(|(at, kind)| cell(row.try_get(at).ok().flatten(), kind)).collect();
        if !answer.take(cells, most, &mut room) && query.kind() == StatementKind::Read {
            break;
        }
    }
    // None before the last row, and where the rows are those of a query around the statement.
    answer.changed = rows.rows_affected().filter(|_| types.is_empty());
    Ok(answer)
}

/// A value that the server has written as text.
fn cell(text: Option<&str>, kind: &Type) -> Cell {
    let Some(text) = text else { return Cell::Null };
    let number = match *kind {
        Type::INT2 | Type::INT4 | Type::INT8 => text.parse().ok().map(Cell::Integer),
        Type::FLOAT4 | Type::FLOAT8 => text.parse().ok().map(Cell::Real),
        Type::BYTEA => text.parse().ok().map(Cell::Bytes),
        _ => None,
    };
    number.unwrap_or_else(|| Cell::text(text))
}

/// A parameter as text, which the server reads as the type that it wants.
#[derive(Debug)]
struct Param(Option<String>);

impl Param {
    fn of(value: &serde_json::Value) -> Self {
        Self(match value {
            serde_json::Value::Null => None,
            serde_json::Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        })
    }
}

impl ToSql for Param {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match &self.0 {
            None => IsNull::Yes,
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                IsNull::No
            }
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// Rows that the present transaction has added, changed and removed.
const CHANGED: &str = "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::bigint FROM pg_catalog.pg_stat_xact_user_tables";

const TABLES: &str = "SELECT c.table_schema || '.' || c.table_name AS \"table\", lower(t.table_type) AS kind, c.column_name AS \"column\", \
     c.data_type AS type, CASE c.is_nullable WHEN 'NO' THEN 'not null' ELSE '' END AS rule \
     FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name) \
     WHERE c.table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, c.ordinal_position";

/// What the server says no with: its message, and the place in the statement.
fn failed(fault: &Error, database: &Database) -> Failure {
    let Some(known) = fault.as_db_error() else {
        tracing::info!(%fault, "a database's server could not be used");
        return Failure::new(Code::QueryFailed, "the database's server cannot be reached, or refuses TLS or the user");
    };
    match known.code().code() {
        "57014" => Failure::new(
            Code::Timeout,
            format!("the statement ran longer than its {} s, and nothing was changed", database.timeout.as_secs_f64()),
        ),
        "55P03" | "40P01" => {
            Failure::new(Code::Conflict, "another session has locked what the statement needs").hint("try again in a few seconds")
        }
        "25006" => Failure::new(Code::StatementNotAllowed, "the statement would change something, which its text does not say")
            .hint("write the change as an INSERT, UPDATE or DELETE"),
        _ => Failure::new(Code::QueryFailed, known.message().to_owned()).hint(super::WITHOUT_SQL),
    }
}
