//! Line 10 for SQL: what a statement does, by its text. The database's engine holds what is decided here.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, ObjectName, ObjectNamePart, OnConflictAction, OnInsert, SetExpr, SqliteOnConflict, Statement as Parsed, visit_expressions,
    visit_relations, visit_statements,
};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::manifest::DatabaseUrl;
use crate::model::{Code, Refusal, Statement, StatementKind};

/// Most levels of brackets in a statement.
const MOST_NESTED: usize = 50;
/// Most words and signs of a statement, besides its values. A chain of operators is a tree of that depth, which is dropped level by level.
const MOST_WORDS: usize = 4_000;

/// Reads one statement.
///
/// # Errors
/// `syntax_error`, with its place; `statement_not_allowed` for several statements, or one of a kind that is not known here.
pub(super) fn classify(sql: &str, url: &DatabaseUrl) -> Result<Statement, Refusal> {
    let dialect: &dyn Dialect = match url {
        DatabaseUrl::Sqlite(_) => &SQLiteDialect {},
        DatabaseUrl::Postgres { .. } => &PostgreSqlDialect {},
    };
    let tokens = Tokenizer::new(dialect, sql).tokenize_with_location().map_err(|fault| unparsed(&fault.into()))?;
    if tokens.iter().filter(|token| !is_value(&token.token)).count() > MOST_WORDS {
        let what = format!("`sql` has more than {MOST_WORDS} words and signs");
        return Err(Refusal::new(Code::SyntaxError, what).hint("give values as `params`, or send several statements one after the other"));
    }
    let mut parser = Parser::new(dialect).with_recursion_limit(MOST_NESTED).with_tokens_with_locations(tokens);
    let parsed = parser.parse_statements().map_err(|fault| unparsed(&fault))?;
    let [statement] = parsed.as_slice() else {
        let what = format!("`sql` has {} statements; one call runs exactly one", parsed.len());
        return Err(Refusal::new(Code::StatementNotAllowed, what).hint("make a call for each statement"));
    };
    let mut kind = StatementKind::Read;
    // A statement may hold others: after EXPLAIN, and in WITH. How many rows a change in WITH changes, no answer tells.
    let explains = matches!(statement, Parsed::Explain { .. });
    let unknown = visit_statements(statement, |part| match kind_of(part) {
        Some(one)
            if one == StatementKind::Read || explains || std::ptr::eq(part, statement) || std::ptr::eq(part, after_with(statement)) =>
        {
            kind = kind.max(one);
            ControlFlow::Continue(())
        }
        _ => ControlFlow::Break(part.to_string()),
    });
    if let ControlFlow::Break(part) = unknown {
        let shown: String = part.chars().take(40).collect();
        return Err(
            Refusal::new(Code::StatementNotAllowed, format!("a statement of this kind is not allowed here: `{shown}`")).hint(ALLOWED)
        );
    }
    let mut tables = BTreeSet::new();
    // A function may stand where a table does.
    let is_postgres = matches!(url, DatabaseUrl::Postgres { .. });
    let closed = visit_relations(statement, |name| {
        tables.insert(name.to_string());
        if is_postgres { closed_function(name) } else { ControlFlow::Continue(()) }
    });
    let in_expressions = visit_expressions(statement, |expression| match expression {
        Expr::Function(function) if is_postgres => closed_function(&function.name),
        _ => ControlFlow::Continue(()),
    });
    if let Some(name) = closed.break_value().or(in_expressions.break_value()) {
        let what = format!("the function `{name}` is closed: it reaches files, other servers, or other sessions");
        return Err(Refusal::new(Code::StatementNotAllowed, what).hint("do without it"));
    }
    Ok(Statement { kind, tables: tables.into_iter().collect() })
}

const ALLOWED: &str = "allowed are SELECT, EXPLAIN, INSERT, UPDATE, DELETE, and CREATE, ALTER and DROP of tables, views, indexes and triggers; without `sql`, \
                       the tables are listed";

/// The statement that stands after WITH; the statement itself where none does.
fn after_with(statement: &Parsed) -> &Parsed {
    let Parsed::Query(query) = statement else { return statement };
    match &*query.body {
        SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner) | SetExpr::Merge(inner) => inner,
        _ => statement,
    }
}

/// Whether a token is a value, or stands around values.
const fn is_value(token: &Token) -> bool {
    matches!(
        token,
        Token::Whitespace(_)
            | Token::Comma
            | Token::LParen
            | Token::RParen
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::Placeholder(_)
    )
}

/// What one statement does; none for a kind that is not allowed.
fn kind_of(statement: &Parsed) -> Option<StatementKind> {
    Some(match statement {
        Parsed::Query(_) | Parsed::Explain { .. } => StatementKind::Read,
        Parsed::Insert(insert) => {
            let replaces = insert.replace_into || matches!(insert.or, Some(SqliteOnConflict::Replace));
            let updates =
                matches!(&insert.on, Some(OnInsert::OnConflict(conflict)) if matches!(conflict.action, OnConflictAction::DoUpdate(_)));
            if replaces || updates { StatementKind::Update } else { StatementKind::Insert }
        }
        Parsed::Update(_) => StatementKind::Update,
        Parsed::Delete(_) | Parsed::Merge(_) => StatementKind::Delete,
        Parsed::CreateTable(_)
        | Parsed::CreateView(_)
        | Parsed::CreateIndex(_)
        | Parsed::CreateTrigger(_)
        | Parsed::AlterTable(_)
        | Parsed::CreateSchema { .. }
        | Parsed::Drop { .. }
        | Parsed::DropTrigger(_) => StatementKind::Define,
        _ => return None,
    })
}

/// Breaks with the name of a function that reaches beyond the database, or changes what a transaction does not undo.
fn closed_function(name: &ObjectName) -> ControlFlow<String> {
    let last = name.0.last().and_then(ObjectNamePart::as_ident).map(|name| name.value.to_ascii_lowercase()).unwrap_or_default();
    let is_closed = CLOSED_FUNCTIONS.split(' ').any(|closed| match closed.strip_suffix('*') {
        Some(start) => last.starts_with(start),
        None => last == closed,
    });
    if is_closed { ControlFlow::Break(last) } else { ControlFlow::Continue(()) }
}

/// Such functions of PostgreSQL, each by its name or, before `*`, by its beginning; SQLite's authorizer holds those of SQLite. The rights of the user in
/// the database hold what is not listed.
const CLOSED_FUNCTIONS: &str = "pg_read_* pg_ls_* pg_stat_file pg_file_* lo_import lo_export dblink* set_config pg_terminate_backend pg_cancel_backend \
     pg_reload_conf pg_rotate_logfile pg_notify pg_advisory_* pg_try_advisory_* pg_logical_* pg_create_* pg_drop_* pg_switch_wal query_to_xml*";

fn unparsed(fault: &ParserError) -> Refusal {
    let why = match fault {
        ParserError::TokenizerError(why) | ParserError::ParserError(why) => why.clone(),
        ParserError::RecursionLimitExceeded => format!("it is nested deeper than {MOST_NESTED} levels"),
    };
    Refusal::new(Code::SyntaxError, format!("`sql` cannot be read: {why}")).hint("mend the statement there and send it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sqlite(sql: &str) -> Result<Statement, Refusal> {
        classify(sql, &DatabaseUrl::parse("sqlite:w/a.db").unwrap())
    }

    fn postgres(sql: &str) -> Result<Statement, Refusal> {
        classify(sql, &DatabaseUrl::parse("postgres://u@h/d").unwrap())
    }

    #[test]
    fn statements_of_postgresql_reach_no_files_and_no_other_servers() {
        for (sql, kind) in [
            ("SELECT a::text, b->>'c' FROM s.t WHERE d = $1 AND e = ANY($2) LIMIT 5", StatementKind::Read),
            ("INSERT INTO t VALUES ($1) ON CONFLICT (a) DO UPDATE SET a = EXCLUDED.a", StatementKind::Update),
        ] {
            assert_eq!(postgres(sql).map(|statement| statement.kind), Ok(kind), "{sql}");
        }
        for sql in [
            "SELECT pg_read_file('/etc/passwd')",
            "SELECT * FROM pg_ls_dir('/')",
            "SELECT pg_catalog.\"pg_read_binary_file\"('/etc/passwd')",
            "SELECT 1 WHERE lo_export(1, '/tmp/x') = 1",
            "SELECT * FROM dblink('host=evil', 'SELECT 1') AS t(a int)",
            "WITH a AS (SELECT set_config('transaction_read_only', 'off', false)) SELECT * FROM a",
            "COPY t TO '/tmp/x'",
            "TRUNCATE t",
            "WITH d AS (DELETE FROM t RETURNING *) SELECT 1",
            "WITH d AS (DELETE FROM t) INSERT INTO u VALUES (1)",
            "COPY t FROM PROGRAM 'id'",
            "DO $$ BEGIN END $$",
            "CREATE FUNCTION f() RETURNS int AS 'SELECT 1' LANGUAGE sql",
            "SET ROLE postgres",
            "CALL p()",
        ] {
            let refusal = postgres(sql).expect_err(sql);
            assert!(matches!(refusal.code, Code::StatementNotAllowed | Code::SyntaxError), "{sql}: {refusal}");
        }
    }

    #[test]
    fn a_statement_is_what_the_strongest_of_its_parts_does() {
        use StatementKind::{Define, Delete, Insert, Read, Update};
        for (sql, kind, tables) in [
            ("SELECT a FROM t WHERE b = ?1", Read, "t"),
            ("select count(*) from main.t join u using (id);", Read, "main.t u"),
            ("WITH x AS (SELECT 1) SELECT * FROM x", Read, "x"),
            ("VALUES (1), (2)", Read, ""),
            ("EXPLAIN QUERY PLAN SELECT * FROM t", Read, "t"),
            ("INSERT INTO t (a) VALUES (?)", Insert, "t"),
            ("INSERT INTO t SELECT * FROM u RETURNING id", Insert, "t u"),
            ("INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING", Insert, "t"),
            ("INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 1", Update, "t"),
            ("INSERT OR REPLACE INTO t VALUES (1)", Update, "t"),
            ("REPLACE INTO t VALUES (1)", Update, "t"),
            ("UPDATE t SET a = 1 WHERE id = 2", Update, "t"),
            ("WITH x AS (SELECT 1) DELETE FROM t WHERE id IN (SELECT * FROM x)", Delete, "t x"),
            ("EXPLAIN DELETE FROM t", Delete, "t"),
            ("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)", Define, "t"),
            ("DROP TABLE t", Define, ""),
            ("ALTER TABLE t ADD COLUMN b INTEGER", Define, "t"),
        ] {
            let found = sqlite(sql).unwrap_or_else(|refusal| panic!("{sql}: {refusal}"));
            assert_eq!((found.kind, found.tables.join(" ").as_str()), (kind, tables), "{sql}");
        }
    }

    #[test]
    fn one_statement_of_a_known_kind_is_taken_and_nothing_else() {
        for (sql, code) in [
            ("", Code::StatementNotAllowed),
            ("SELECT 1; DROP TABLE t", Code::StatementNotAllowed),
            ("SELECT 1;;DELETE FROM t", Code::StatementNotAllowed),
            ("SELECT 1 DROP TABLE t", Code::SyntaxError),
            ("SELECT 1 --;\n; DELETE FROM t", Code::StatementNotAllowed),
            ("ATTACH DATABASE '/etc/x' AS x", Code::StatementNotAllowed),
            ("PRAGMA writable_schema = 1", Code::StatementNotAllowed),
            ("VACUUM INTO '/tmp/x'", Code::SyntaxError),
            ("WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d", Code::StatementNotAllowed),
            ("BEGIN", Code::StatementNotAllowed),
            ("COMMIT", Code::StatementNotAllowed),
            ("SAVEPOINT a", Code::StatementNotAllowed),
            ("SELECT 'a", Code::SyntaxError),
            ("SELEC 1", Code::SyntaxError),
        ] {
            let refusal = sqlite(sql).expect_err(sql);
            assert_eq!(refusal.code, code, "{sql}: {refusal}");
        }
        for (term, most) in [("+1", 3_990), (" OR 1", 3_990), (" UNION SELECT 1", 1_990), (" IS NULL", 1_990), ("::int", 1_330)] {
            let chain = |terms: usize| postgres(&format!("SELECT 1{}", term.repeat(terms)));
            assert_eq!(chain(most).map(|statement| statement.kind), Ok(StatementKind::Read), "{term}");
            assert!(chain(MOST_WORDS + 1).unwrap_err().message.contains("words and signs"), "{term}");
        }
        let nested = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
        assert!(sqlite(&nested).unwrap_err().message.contains("nested deeper"));
        assert!(sqlite("SELECT a\nFROM FROM t").unwrap_err().message.contains("Line: 2"));
    }
}
