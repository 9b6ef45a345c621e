//! `query_database` through the real server: what the model reads, what a person is asked, what the log keeps.

use rusqlite::Connection;
use serde_json::json;

use crate::mcp::home::{Home, Policy};
use crate::mcp::scopes::{ERAS, call, make, start};
use crate::mcp::server::{code, went_well};

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
        let query =
            |sql: &str, params: serde_json::Value| call("query_database", &json!({"database": "shop", "sql": sql, "params": params}));
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
