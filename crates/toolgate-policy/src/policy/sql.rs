//! Line 10 for SQL: what a statement does, by its text. The database's engine holds what is decided here.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{OnConflictAction, OnInsert, SqliteOnConflict, Statement as Parsed, visit_relations, visit_statements};
use sqlparser::dialect::SQLiteDialect;
use sqlparser::parser::{Parser, ParserError};

use crate::model::{Code, Refusal, Statement, StatementKind};

/// Most levels of nesting of a statement. Each needs some KB of stack.
const MOST_NESTED: usize = 50;

/// Reads one statement.
///
/// # Errors
/// `syntax_error`, with its place; `statement_not_allowed` for several statements, or one of a kind that is not known here.
pub(super) fn classify(sql: &str) -> Result<Statement, Refusal> {
    let parser = Parser::new(&SQLiteDialect {}).with_recursion_limit(MOST_NESTED).try_with_sql(sql);
    let parsed = parser.and_then(|mut parser| parser.parse_statements()).map_err(|fault| unparsed(&fault))?;
    let [statement] = parsed.as_slice() else {
        let what = format!("`sql` has {} statements; one call runs exactly one", parsed.len());
        return Err(Refusal::new(Code::StatementNotAllowed, what).hint("make a call for each statement"));
    };
    let mut kind = StatementKind::Read;
    // A statement may hold others: after EXPLAIN, and in WITH.
    let unknown = visit_statements(statement, |part| match kind_of(part) {
        Some(one) => {
            kind = kind.max(one);
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(part.to_string()),
    });
    if let ControlFlow::Break(part) = unknown {
        let shown: String = part.chars().take(40).collect();
        return Err(Refusal::new(Code::StatementNotAllowed, format!("a statement of this kind is not allowed: `{shown}`")).hint(ALLOWED));
    }
    let mut tables = BTreeSet::new();
    let _ = visit_relations(statement, |name| {
        tables.insert(name.to_string());
        ControlFlow::<()>::Continue(())
    });
    Ok(Statement { kind, tables: tables.into_iter().collect() })
}

const ALLOWED: &str = "allowed are SELECT, EXPLAIN, INSERT, UPDATE, DELETE, and CREATE, ALTER and DROP of tables, views, indexes and triggers; without `sql`, \
                       the tables are listed";

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
        Parsed::Delete(_) => StatementKind::Delete,
        Parsed::CreateTable(_)
        | Parsed::CreateView(_)
        | Parsed::CreateIndex(_)
        | Parsed::CreateTrigger(_)
        | Parsed::AlterTable(_)
        | Parsed::Drop { .. }
        | Parsed::DropTrigger(_) => StatementKind::Define,
        _ => return None,
    })
}

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
            ("WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d", Delete, "d t"),
            ("EXPLAIN DELETE FROM t", Delete, "t"),
            ("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)", Define, "t"),
            ("DROP TABLE t", Define, ""),
            ("ALTER TABLE t ADD COLUMN b INTEGER", Define, "t"),
        ] {
            let found = classify(sql).unwrap_or_else(|refusal| panic!("{sql}: {refusal}"));
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
            ("BEGIN", Code::StatementNotAllowed),
            ("COMMIT", Code::StatementNotAllowed),
            ("SAVEPOINT a", Code::StatementNotAllowed),
            ("SELECT 'a", Code::SyntaxError),
            ("SELEC 1", Code::SyntaxError),
        ] {
            let refusal = classify(sql).expect_err(sql);
            assert_eq!(refusal.code, code, "{sql}: {refusal}");
        }
        let nested = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
        assert!(classify(&nested).unwrap_err().message.contains("nested deeper"));
        assert!(classify("SELECT a\nFROM FROM t").unwrap_err().message.contains("Line: 2"));
    }
}
