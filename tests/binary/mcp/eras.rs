//! Both eras of the protocol: versions, discovery, what is declared and what is not, errors of form.

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy};
use crate::mcp::server::{STATELESS, Server, hello, with_meta};

fn home() -> Home {
    Home::new(Policy::default())
}

#[test]
fn every_handshake_version_is_spoken() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let home = home();
        let mut server = Server::start(&home);
        let answer = server.request("initialize", &hello(version));
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], version, "{answer}");
        assert_eq!(result["serverInfo"]["name"], "toolgate");
        assert!(result["capabilities"]["tools"].is_object() && result["capabilities"]["resources"].is_object(), "{result}");
        assert!(result["capabilities"]["prompts"].is_null() && result["capabilities"]["logging"].is_null(), "{result}");
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(server.request("ping", &json!({}))["result"], json!({}));
        let read = server.call("read_file", &json!({"path": "project/notes.txt"}));
        assert_eq!(read["result"]["content"][0]["text"], "first line\nsecond line\nthird line\n", "{version}: {read}");
        assert!(server.close().status.success());
        home.verify();
    }
}

#[test]
fn a_version_nobody_knows_is_answered_with_the_newest_of_the_handshake() {
    for version in ["1999-01-01", STATELESS] {
        let home = home();
        let answer = Server::start(&home).request("initialize", &hello(version));
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
    }
}

#[test]
fn the_stateless_revision_needs_no_handshake_and_names_the_server_in_every_result() {
    let home = home();
    let mut server = Server::start(&home);
    let found = server.stateless("server/discover", &json!({}));
    let versions = found["result"]["supportedVersions"].as_array().unwrap_or_else(|| panic!("{found}"));
    assert!(versions.contains(&json!(STATELESS)), "{found}");
    let read = json!({"name": "read_file", "arguments": {"path": "project/notes.txt"}});
    let refused = json!({"name": "read_file", "arguments": {"path": "project/secrets/key.txt"}});
    for (method, params) in [
        ("server/discover", &json!({})),
        ("tools/list", &json!({})),
        ("tools/call", &read),
        ("tools/call", &refused),
        ("resources/list", &json!({})),
        ("resources/read", &json!({"uri": "toolgate://policy"})),
    ] {
        let answer = server.stateless(method, params);
        let result = &answer["result"];
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "toolgate", "{method}: {answer}");
        assert_eq!(result["resultType"], "complete", "{method}: {answer}");
        if method.ends_with("list") {
            assert_eq!(result["cacheScope"], "private", "{method}: {answer}");
        }
    }
    assert!(server.close().status.success());
}

#[test]
fn the_stateless_revision_wants_its_meta_and_a_version_that_is_known() {
    let home = home();
    let mut server = Server::start(&home);
    server.stateless("tools/list", &json!({}));
    assert_eq!(server.request("tools/list", &json!({}))["error"]["code"], -32602);
    let unknown = server.request("tools/list", &with_meta(&json!({}), "2031-01-01"));
    assert_eq!(unknown["error"]["code"], -32022, "{unknown}");
    assert!(unknown["error"]["data"].to_string().contains(STATELESS), "{unknown}");
    server.is_alive();
}

#[test]
fn what_was_not_declared_is_no_method() {
    let home = home();
    let mut server = Server::greeted(&home, "2025-11-25");
    for (method, params) in [
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "x"})),
        ("completion/complete", json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}})),
        ("logging/setLevel", json!({"level": "debug"})),
        ("resources/subscribe", json!({"uri": "toolgate://policy"})),
        ("tasks/list", json!({})),
        ("no/such", json!({})),
    ] {
        assert_eq!(server.request(method, &params)["error"]["code"], -32601, "{method}");
        assert_eq!(server.stateless(method, &params)["error"]["code"], -32601, "{method}, stateless");
    }
}

#[test]
fn malformed_parameters_are_invalid_and_no_missing_method() {
    let home = home();
    let mut server = Server::greeted(&home, "2025-11-25");
    let cases: [(&str, Value); 8] = [
        ("tools/call", json!({"name": 5})),
        ("tools/call", json!({})),
        ("tools/call", json!({"name": "read_file", "arguments": [1]})),
        ("tools/call", json!({"name": "read_file", "arguments": "path"})),
        ("tools/call", json!({"name": "format_disk", "arguments": {}})),
        ("tools/list", json!({"cursor": "bogus"})),
        ("resources/read", json!({})),
        ("resources/read", json!({"uri": 7})),
    ];
    for (method, params) in cases {
        let answer = server.request(method, &params);
        assert_eq!(answer["error"]["code"], -32602, "{method} {params}: {answer}");
    }
    let missing = server.request("resources/read", &json!({"uri": "toolgate://nothing"}));
    assert!([-32002, -32602].contains(&missing["error"]["code"].as_i64().unwrap_or_default()), "{missing}");
    assert_eq!(server.stateless("resources/read", &json!({"uri": "toolgate://nothing"}))["error"]["code"], -32602);
    server.is_alive();
}

#[test]
fn params_of_another_form_are_invalid_for_every_method_in_its_eras() {
    let home = home();
    let mut server = Server::greeted(&home, "2025-11-25");
    // What each method's params must hold or may hold, with another type of value.
    let methods: [(&str, &[Value], bool); 7] = [
        ("tools/list", &[json!({"cursor": 5}), json!({"cursor": [1]})], true),
        ("tools/call", &[json!({}), json!({"name": null}), json!({"name": "read_file", "arguments": 5})], true),
        ("resources/list", &[json!({"cursor": 5}), json!({"cursor": {}})], true),
        ("resources/templates/list", &[json!({"cursor": 5})], true),
        ("resources/read", &[json!({}), json!({"uri": {}})], true),
        ("subscriptions/listen", &[json!({}), json!({"notifications": 5}), json!({"notifications": {"toolsListChanged": "x"}})], false),
        ("initialize", &[json!({}), json!({"protocolVersion": 5})], true),
    ];
    for (method, wrong, of_handshake) in methods {
        for params in wrong {
            let answer = server.request(method, params);
            let code = if of_handshake { -32602 } else { -32601 };
            assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
            let answer = server.stateless(method, params);
            // From 2026-07-28 there is no handshake.
            let code = if method == "initialize" { -32601 } else { -32602 };
            assert_eq!(answer["error"]["code"], code, "{method} {params}, stateless: {answer}");
        }
        for params in [json!([]), json!(5), json!("x"), json!(null)] {
            let answer = server.request(method, &params);
            let is_free = params.is_null() && method.ends_with("/list");
            let code = if is_free {
                Value::Null
            } else if of_handshake || !params.is_null() {
                json!(-32602)
            } else {
                json!(-32601)
            };
            assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
        }
    }
    server.is_alive();
}

#[test]
fn a_note_before_the_first_request_and_a_batch_do_no_harm() {
    let home = home();
    let mut server = Server::start(&home);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    server.send(&json!({"jsonrpc": "2.0", "id": 9, "result": {}}));
    server.send(&json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 2, "method": "ping"}]));
    let batch = server.next_message(crate::mcp::server::PATIENCE).unwrap();
    assert_eq!(batch["error"]["code"], -32600, "{batch}");
    assert_eq!(server.request("initialize", &hello("2025-11-25"))["result"]["protocolVersion"], "2025-11-25");
    assert!(server.close().status.success());
}
