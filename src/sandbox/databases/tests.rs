//! Queries of SQLite files: each attack next to the ordinary use it must not hinder.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::sqlite::query;
use super::{Answer, Cell, LONGEST_TEXT};
use crate::gate::{Permit, Terms};
use crate::manifest::{Manifest, Symlinks, parse};
use crate::model::{
    Access, Action, Bytes, Caller, Channel, ClientLabel, Code, Flag, Level, Link, QueryDatabase, Refusal, RelPath, STDIO, Target, ToolSpec,
};
use crate::policy::{State, admit};
use crate::sandbox::files::{Location, RootConfig, Roots, Stop};

static SPEC: ToolSpec = ToolSpec::new("query_database", &[Flag::DatabaseRead], &[]);

struct Fixture {
    dir: TempDir,
    roots: Roots,
    manifest: Arc<Manifest>,
    level: Option<Level>,
}

impl Fixture {
    /// A root `work` with a database `shop`, which also the name `readonly` is for; `more`: further keys of `shop`.
    fn new(more: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("work/data")).unwrap();
        let text = format!(
            "version = 1\n[clients]\nstdio = \"p\"\n[roots.work]\npath = \"/w\"\nmode = \"rw\"\nallowed_paths = [\"**\"]\n\
             [profiles.p]\npermissions = [\"FULL\"]\nallowed_tools = [\"*\"]\nroots = [\"work\"]\n\
             [databases.readonly]\nurl = \"sqlite:work/data/shop.db\"\n\
             [databases.shop]\nurl = \"sqlite:work/data/shop.db\"\nmode = \"rw\"\nmax_rows = 3\nmax_changes = 2\n{more}"
        );
        let manifest = Arc::new(parse(&text, &[&SPEC]).unwrap_or_else(|faults| panic!("{faults:?}")));
        let root = RootConfig { name: "work".to_owned(), at: Location::Folder(dir.path().join("work")), quota: None };
        let roots = Roots::open(&[root], &[], None).unwrap();
        let fixture = Self { dir, roots, manifest, level: None };
        let made = fixture.connect().execute_batch(
            "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, password TEXT);
             INSERT INTO users VALUES (1, 'Ada', 'p1'), (2, 'Bob', 'p2'), (3, 'Cy', 'p3'), (4, 'Di', 'p4');
             CREATE TABLE secrets (key TEXT);
             INSERT INTO secrets VALUES ('k');
             CREATE VIEW everything AS SELECT * FROM users, secrets;
             CREATE TABLE log (what TEXT);
             CREATE TABLE odd (a);
             CREATE TRIGGER wipes AFTER INSERT ON odd BEGIN DELETE FROM log; END;",
        );
        made.unwrap();
        fixture
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("work/data/shop.db")
    }

    fn connect(&self) -> Connection {
        Connection::open(self.file()).unwrap()
    }

    fn run(&self, database: &str, sql: Option<&str>, params: &Value) -> Result<Answer, Refusal> {
        let caller = Caller {
            principal: STDIO.to_owned(),
            session: "s".to_owned(),
            profile: Some("p".to_owned()),
            client: ClientLabel::default(),
            channel: Channel::None,
        };
        let capability = admit(&self.manifest, &caller, SPEC.name, Some(&SPEC), &State::default())?;
        let asked = QueryDatabase {
            database: database.to_owned(),
            sql: sql.map(str::to_owned),
            params: params.as_array().unwrap().clone(),
            max_rows: None,
            statement: None,
            file: None,
        };
        let asked = Action::QueryDatabase(asked);
        let screened = capability.screen(&asked)?;
        let action = screened.as_judged(asked);
        let accesses: Vec<_> = action.touches().iter().map(|touch| touch.access).collect();
        let opened = self.roots.look("s", &screened.targets, &accesses, Symlinks::Deny).map_err(|failure| failure.0)?;
        let Action::QueryDatabase(action) = action else { panic!() };
        let level = self.level.unwrap_or(action.kind().level());
        let terms = Terms { manifest: Arc::clone(&self.manifest), level, max_answer: Bytes::kib(64), ..Terms::for_test() };
        let stop = Stop::new(CancellationToken::new(), Duration::from_secs(10));
        query(Permit::for_test(action, opened, terms.into()), &stop).map_err(|failure| failure.0)
    }

    fn code(&self, sql: &str) -> Code {
        self.run("shop", Some(sql), &json!([])).expect_err(sql).code
    }

    fn rows(&self, sql: &str, params: &Value) -> Vec<Vec<Cell>> {
        self.run("shop", Some(sql), params).unwrap_or_else(|refusal| panic!("{sql}: {refusal}")).rows
    }
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

#[test]
fn a_statement_reads_with_bound_parameters_and_the_rows_are_cut_with_a_count() {
    let fixture = Fixture::new("");
    let injected = "Ada' OR 1=1; DROP TABLE users --";
    assert_eq!(fixture.rows("SELECT id FROM users WHERE name = ?", &json!([injected])), Vec::<Vec<Cell>>::new());
    assert_eq!(fixture.rows("SELECT name FROM users WHERE id = :id", &json!([2])), [[text("Bob")]]);
    assert_eq!(
        fixture.rows("SELECT ?, ?, ?, ?, x'00ff'", &json!([null, true, 1.5, "é"])),
        [[Cell::Null, Cell::Integer(1), Cell::Real(1.5), text("é"), Cell::Bytes(2)]]
    );
    let all = fixture.run("readonly", Some("SELECT * FROM users"), &json!([])).unwrap();
    assert_eq!((all.columns.join(" ").as_str(), all.count, all.changed), ("id name password", 4, None));
    let cut = fixture.run("shop", Some("SELECT * FROM users"), &json!([])).unwrap();
    assert_eq!((cut.rows.len(), cut.count, cut.is_cut), (3, 4, false));
    let long = fixture.rows("SELECT printf('%.*c', 1000000, 'x')", &json!([]));
    assert!(matches!(&long[0][0], Cell::Text(text) if text.chars().count() == LONGEST_TEXT + 1));
    assert_eq!(fixture.run("shop", Some("SELECT ?"), &json!([])).unwrap_err().code, Code::ArgumentInvalid);
    assert_eq!(fixture.code("SELECT nothing FROM users"), Code::QueryFailed);
}

#[test]
fn tables_are_listed_without_what_is_denied() {
    let fixture = Fixture::new("denied_tables = [\"SECRETS\"]\ndenied_columns = [\"users.password\"]");
    let listed = fixture.run("shop", None, &json!([])).unwrap();
    assert_eq!(listed.columns, ["table", "kind", "column", "type", "rule"]);
    let names: Vec<_> = listed.rows.iter().map(|row| (row[0].clone(), row[2].clone())).collect();
    assert!(names.contains(&(text("users"), text("name"))) && !names.contains(&(text("users"), text("password"))), "{names:?}");
    assert!(!names.iter().any(|(table, _)| *table == text("secrets")), "{names:?}");
}

#[test]
fn what_is_denied_is_reached_by_no_way() {
    let fixture = Fixture::new("denied_tables = [\"SECRETS\"]\ndenied_columns = [\"users.password\", \"*.token\"]");
    for sql in [
        "SELECT * FROM secrets",
        "SELECT count(*) FROM secrets",
        "SELECT 1 FROM users WHERE EXISTS (SELECT 1 FROM \"Secrets\")",
        "WITH s AS (SELECT * FROM main.secrets) SELECT * FROM s",
        "SELECT * FROM users",
        "SELECT name FROM users ORDER BY password",
        "SELECT key FROM everything",
        "SELECT password FROM everything",
        "CREATE TABLE copy AS SELECT * FROM secrets",
        "INSERT INTO log SELECT password FROM users",
        "UPDATE users SET name = password WHERE id = 1",
        "ALTER TABLE users RENAME COLUMN password TO p",
        "ALTER TABLE secrets RENAME TO open",
        "DELETE FROM secrets",
    ] {
        assert_eq!(fixture.code(sql), Code::StatementNotAllowed, "{sql}");
    }
    assert_eq!(fixture.rows("SELECT count(*) FROM users WHERE name LIKE 'A%'", &json!([])), [[Cell::Integer(1)]]);
    let refusal = fixture.run("shop", Some("SELECT * FROM users"), &json!([])).unwrap_err();
    assert_eq!(refusal.rule.as_deref(), Some("databases.shop.denied_columns"), "{refusal}");
}

#[test]
fn nothing_but_the_database_is_reached() {
    let fixture = Fixture::new("");
    for sql in [
        "SELECT load_extension('/tmp/x.so')",
        "SELECT writefile('/tmp/x', 'y')",
        "SELECT * FROM pragma_database_list",
        "SELECT * FROM pragma_table_info('users')",
        "ATTACH 'file:/tmp/x.db' AS x",
        "PRAGMA writable_schema = ON",
        "CREATE TEMP TABLE t (a)",
        "UPDATE sqlite_schema SET sql = 'x'",
    ] {
        let code = fixture.code(sql);
        assert!(matches!(code, Code::StatementNotAllowed | Code::QueryFailed | Code::SyntaxError), "{sql}: {code}");
    }
    assert_eq!(fixture.rows("SELECT upper(name) FROM users WHERE id = 1", &json!([])), [[text("ADA")]]);
}

#[test]
fn a_statement_that_changes_runs_once_in_one_transaction() {
    let fixture = Fixture::new("");
    let run = |sql: &str| fixture.run("shop", Some(sql), &json!([])).unwrap();
    assert_eq!(run("INSERT INTO log VALUES ('a'), ('b')").changed, Some(2));
    let returned = run("UPDATE users SET name = 'Eve' WHERE id = 1 RETURNING name");
    assert_eq!((returned.changed, returned.rows), (Some(1), vec![vec![text("Eve")]]));
    let refusal = fixture.run("shop", Some("DELETE FROM users"), &json!([])).unwrap_err();
    assert_eq!(refusal.code, Code::TooManyChanges);
    assert!(refusal.message.contains("would have changed 4 rows"), "{refusal}");
    assert_eq!(fixture.rows("SELECT count(*) FROM users", &json!([])), [[Cell::Integer(4)]]);
    run("CREATE TABLE made (a INTEGER)");
    run("DROP TABLE made");
    let refused = |sql| fixture.run("readonly", Some(sql), &json!([])).unwrap_err().code;
    assert_eq!(refused("DELETE FROM log"), Code::DatabaseReadOnly);
    assert_eq!(refused("WITH d AS (SELECT 1) DELETE FROM log"), Code::DatabaseReadOnly);
}

#[test]
fn a_trigger_does_no_more_than_was_approved() {
    let mut fixture = Fixture::new("");
    let refusal = fixture.run("shop", Some("INSERT INTO odd VALUES (1)"), &json!([])).unwrap_err();
    assert!(refusal.code == Code::StatementNotAllowed && refusal.message.contains("by the trigger `wipes`"), "{refusal}");
    assert_eq!(fixture.rows("SELECT count(*) FROM odd", &json!([])), [[Cell::Integer(0)]]);
    fixture.level = Some(Level::Destroy);
    assert_eq!(fixture.run("shop", Some("INSERT INTO odd VALUES (1)"), &json!([])).unwrap().changed, Some(1));
}

#[test]
fn a_statement_ends_with_its_time() {
    let fixture = Fixture::new("timeout = \"300ms\"");
    let began = Instant::now();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    assert_eq!(fixture.code(endless), Code::Timeout);
    assert!(began.elapsed() < Duration::from_secs(5));
    // What was found is an answer.
    let cut =
        fixture.run("shop", Some("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"), &json!([])).unwrap();
    assert_eq!((cut.rows.len(), cut.is_cut), (3, true));
}

#[test]
fn files_of_each_state_are_read_or_say_what_is_wrong() {
    let fixture = Fixture::new("timeout = \"1s\"");
    // Larger than a file that is read whole may be.
    fixture.connect().execute("INSERT INTO secrets VALUES (zeroblob(3000000))", ()).unwrap();
    assert!(fixture.file().metadata().unwrap().len() > fixture.manifest.files.max_file_size.0);
    assert_eq!(fixture.rows("SELECT length(key) FROM secrets ORDER BY 1 DESC", &json!([]))[0], [Cell::Integer(3_000_000)]);
    // A log that another program holds open, and one that nobody has.
    let other = fixture.connect();
    other.pragma_update(None, "journal_mode", "wal").unwrap();
    other.execute("INSERT INTO log VALUES ('from outside')", ()).unwrap();
    assert_eq!(fixture.rows("SELECT what FROM log", &json!([])), [[text("from outside")]]);
    fixture.run("shop", Some("INSERT INTO log VALUES ('from here')"), &json!([])).unwrap();
    assert_eq!(other.query_row("SELECT count(*) FROM log", (), |row| row.get::<_, i64>(0)), Ok(2));
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(fixture.rows("SELECT count(*) FROM log", &json!([])), [[Cell::Integer(2)]]);
    assert_eq!(fixture.code("INSERT INTO log VALUES ('x')"), Code::Conflict);
    drop(other);
    assert_eq!(fixture.rows("SELECT count(*) FROM log", &json!([])), [[Cell::Integer(2)]]);
    let whole = std::fs::read(fixture.file()).unwrap();
    std::fs::write(fixture.file(), &whole[..whole.len() / 2]).unwrap();
    assert_eq!(fixture.code("SELECT * FROM users, log, odd, secrets"), Code::QueryFailed);
    std::fs::write(fixture.file(), "no database, but a text that is long enough for one".repeat(40)).unwrap();
    assert_eq!(fixture.code("SELECT 1 FROM users"), Code::QueryFailed);
}

#[test]
fn a_link_or_a_renamed_folder_leads_nowhere_else() {
    let fixture = Fixture::new("");
    let [data, outside] = ["work/data", "outside"].map(|name| fixture.dir.path().join(name));
    std::fs::create_dir(&outside).unwrap();
    Connection::open(outside.join("shop.db")).unwrap().execute_batch("CREATE TABLE stolen (a)").unwrap();
    // The folder is replaced between the look and the statement: the file that was looked at is the one that is read.
    let opened = fixture.roots.look("s", &[target()], &[Access::Database { writes: true }], Symlinks::Deny).unwrap();
    std::fs::rename(&data, fixture.dir.path().join("work/moved")).unwrap();
    std::os::unix::fs::symlink(&outside, &data).unwrap();
    let action = QueryDatabase { database: "shop".to_owned(), sql: None, params: Vec::new(), max_rows: None, statement: None, file: None };
    let terms = Terms { manifest: Arc::clone(&fixture.manifest), ..Terms::for_test() };
    let stop = Stop::new(CancellationToken::new(), Duration::from_secs(10));
    let answer = query(Permit::for_test(action, opened, terms.into()), &stop).unwrap();
    assert!(answer.rows.iter().any(|row| row[0] == text("users")) && !answer.rows.iter().any(|row| row[0] == text("stolen")));
    let opened = fixture.roots.look("s", &[target()], &[Access::Database { writes: true }], Symlinks::Deny).unwrap();
    assert_ne!(opened[0].fact.link, Link::None, "a link on the way is judged as one");
}

fn target() -> Target {
    Target { root: "work".to_owned(), path: RelPath::parse("data/shop.db").unwrap() }
}
