//! `query_database` through the real server: what the model reads, what a person is asked, what the log keeps.

use std::path::PathBuf;
use std::process::Command;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::scopes::{ERAS, call, make, start};
use crate::mcp::server::{Server, code, went_well};

/// A project with a database of which `denied_paths` of its root keeps the file from other tools.
fn shop() -> Home {
    let home = Home::new(Policy::default());
    Connection::open(home.path("project/shop.db"))
        .unwrap()
        .execute_batch("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT); INSERT INTO orders VALUES (1, 'token = AKIAQ7ZT3N5WXK2VPLMR'), (2, 'a|b')")
        .unwrap();
    let text = home
        .read("tools.toml")
        .replace("\"secrets/**\"", "\"secrets/**\", \"shop.db*\"")
        .replace("[\"STANDARD\", \"EXECUTE_CODE\"]", "[\"STANDARD\", \"EXECUTE_CODE\", \"DATABASE_WRITE\"]");
    std::fs::write(home.manifest(), text + "\n[databases.shop]\nurl = \"sqlite:project/shop.db\"\nmode = \"rw\"\n").unwrap();
    home
}

#[test]
fn a_query_is_answered_with_its_cells_filtered_and_a_change_is_asked_about() {
    for era in ERAS {
        let home = shop();
        let mut server = start(&home, era);
        let query = |sql: &str, params: Value| call("query_database", &json!({"database": "shop", "sql": sql, "params": params}));
        let read = make(&mut server, era, &query("SELECT * FROM orders ORDER BY id", json!([])), "deny");
        assert!(read.question.is_none() && went_well(&read.answer), "{}", read.answer);
        let text = read.answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("| id | note |\n| --- | --- |\n| 1 | ") && text.contains("| 2 | a\\|b |"), "{text}");
        assert!(!read.answer.to_string().contains("AKIA"), "{}", read.answer);
        assert_eq!(read.answer["result"]["structuredContent"]["rows"][1], json!([2, "a|b"]));
        let other = make(&mut server, era, &call("read_file", &json!({"path": "project/shop.db"})), "deny");
        assert_eq!(code(&other.answer), "path_denied");
        let change = query("UPDATE orders SET note = ? WHERE id = ?", json!(["new\ntext", 2]));
        let refused = make(&mut server, era, &change, "deny");
        let message = refused.message();
        for line in
            ["Change rows in the database shop (tables: orders)", "  | UPDATE orders SET note = ? WHERE id = ?", "  | \"new\\ntext\""]
        {
            assert!(message.contains(line), "{line} is not in {message}");
        }
        assert_eq!(code(&refused.answer), "approval_refused");
        let note = || {
            Connection::open(home.path("project/shop.db")).unwrap().query_row("SELECT note FROM orders WHERE id = 2", (), |row| row.get(0))
        };
        assert_eq!(note(), Ok("a|b".to_owned()));
        let done = make(&mut server, era, &change, "once");
        assert_eq!(done.answer["result"]["structuredContent"]["changed"], 1, "{}", done.answer);
        assert_eq!(note(), Ok("new\ntext".to_owned()));
        drop(server);
        let started: Vec<_> =
            home.records().into_iter().filter(|record| record["tool"] == "query_database" && record["ev"] == "call.started").collect();
        assert_eq!(started.iter().map(|record| record["effect"].as_str().unwrap()).collect::<Vec<_>>(), ["read", "update"], "{started:?}");
    }
}

/// A PostgreSQL server of an ordinary user in a folder of its own, with TLS; stopped with the test.
struct Postgres {
    folder: tempfile::TempDir,
    programs: PathBuf,
    port: u16,
}

impl Postgres {
    fn start() -> Self {
        let versions = std::fs::read_dir("/usr/lib/postgresql").unwrap();
        let programs = versions.map(|version| version.unwrap().path().join("bin")).find(|bin| bin.join("initdb").exists()).unwrap();
        let folder = tempfile::Builder::new().prefix("toolgate-pg-").tempdir().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Self { folder, programs, port };
        let authority = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(server.path("cert.pem"), authority.cert.pem()).unwrap();
        std::fs::write(server.path("key.pem"), authority.signing_key.serialize_pem()).unwrap();
        std::fs::write(server.path("password"), "root\n").unwrap();
        std::fs::set_permissions(server.path("key.pem"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let at = server.folder.path().to_str().unwrap();
        if rustix::process::geteuid().is_root() {
            assert!(Command::new("chown").args(["-R", "nobody", at]).status().unwrap().success());
        }
        server.run("initdb", &["-D", &format!("{at}/data"), "-A", "scram-sha-256", "-U", "postgres", &format!("--pwfile={at}/password")]);
        let options = format!(
            "-p {port} -k {at} -c listen_addresses=127.0.0.1 -c ssl=on -c ssl_cert_file={at}/cert.pem -c ssl_key_file={at}/key.pem -c fsync=off"
        );
        server.run("pg_ctl", &["-D", &format!("{at}/data"), "-o", &options, "-l", &format!("{at}/log"), "-w", "start"]);
        server
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a program of PostgreSQL, which refuses to be root.
    fn run(&self, program: &str, arguments: &[&str]) {
        let program = self.programs.join(program);
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "nobody", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        let out = command.args(arguments).current_dir(self.folder.path()).env("PGPASSWORD", "root").output().unwrap();
        assert!(out.status.success(), "{command:?}: {}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    }

    fn sql(&self, text: &str) {
        self.run("psql", &["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-q", "-c", text]);
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.run("pg_ctl", &["-D", &self.path("data").display().to_string(), "-m", "immediate", "-w", "stop"]);
    }
}

#[test]
#[ignore = "needs PostgreSQL: ./check --all"]
fn postgresql_runs_what_was_judged_with_the_rights_of_its_user() {
    let postgres = Postgres::start();
    postgres.sql(
        "CREATE ROLE agent LOGIN PASSWORD 'swordfish'; CREATE TABLE orders (id int, note text, price numeric, made date); \
         INSERT INTO orders VALUES (1, 'a|b', 2.50, '2026-01-02'), (2, NULL, NULL, NULL); CREATE TABLE hidden (a int); \
         CREATE FUNCTION wipe() RETURNS int LANGUAGE sql AS 'DELETE FROM orders RETURNING 1'; CREATE TABLE seen (a int); CREATE TABLE noted (a int); \
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO noted VALUES (1); RETURN NEW; END'; \
         CREATE TRIGGER notes AFTER INSERT ON seen FOR EACH ROW EXECUTE FUNCTION note(); GRANT ALL ON orders, seen, noted TO agent",
    );
    let home = Home::new(Policy::default());
    let port = postgres.port;
    let text = home
        .read("tools.toml")
        .replace("[\"STANDARD\", \"EXECUTE_CODE\"]", "[\"STANDARD\", \"DATABASE_WRITE\"]")
        .replace("[network]\n", &format!("[network]\ninternal = [\"127.0.0.1:{port}\", \"[::1]:{port}\"]\n"));
    let more = format!(
        "[network.secrets.db]\nfile = \"db.txt\"\nhosts = [\"localhost\"]\n[databases.orders]\nurl = \"postgres://agent@localhost:{port}/postgres\"\n\
         password = \"${{secret:db}}\"\nmode = \"rw\"\nmax_changes = 1\ntimeout = \"1s\"\n"
    );
    std::fs::write(home.manifest(), text + &more).unwrap();
    std::fs::write(home.path("db.txt"), "swordfish\n").unwrap();
    let certificate = postgres.path("cert.pem").display().to_string();
    let mut server = Server::start_with(&home, &[], &[("SSL_CERT_FILE", &certificate)]);
    let mut ask = |sql: &str, params: Value| {
        let params = call("query_database", &json!({"database": "orders", "sql": sql, "params": params}));
        make(&mut server, ERAS[0], &params, "once").answer
    };
    let rows = |answer: &Value| answer["result"]["structuredContent"]["rows"].clone();
    let read = ask("SELECT *, id AS id FROM orders WHERE id = $1 OR note = $2 ORDER BY 1;", json!([1, "x' OR 1=1 --"]));
    assert_eq!(rows(&read), json!([[1, "a|b", "2.50", "2026-01-02", 1]]), "{read}");
    assert_eq!(rows(&ask("SELECT decode(repeat('ab', 9000), 'hex')", json!([]))), json!([["[9000 bytes]"]]));
    assert_eq!(rows(&ask("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", json!([]))), json!([["true"]]));
    assert_eq!(rows(&ask("UPDATE orders SET price = $1 WHERE id = 2 RETURNING price, id", json!([9.99]))), json!([["9.99", 2]]));
    for (sql, refusal) in [
        ("DELETE FROM orders", "too_many_changes"),
        // With the row of its trigger.
        ("INSERT INTO seen VALUES (1)", "too_many_changes"),
        ("DELETE FROM orders RETURNING id", "too_many_changes"),
        ("WITH d AS (DELETE FROM orders RETURNING id) SELECT * FROM d", "statement_not_allowed"),
        ("SELECT wipe()", "statement_not_allowed"),
        ("SELECT pg_sleep(30)", "timeout"),
        ("SELECT * FROM hidden", "query_failed"),
        ("SELECT 1) AS q(c0); DELETE FROM orders; --", "syntax_error"),
        ("COPY orders TO '/tmp/x'", "statement_not_allowed"),
        ("SELECT pg_read_file('/etc/passwd')", "statement_not_allowed"),
    ] {
        assert_eq!(code(&ask(sql, json!([]))), refusal, "{sql}");
    }
    assert_eq!(rows(&ask("SELECT count(*) FROM orders", json!([]))), json!([[2]]));
}
