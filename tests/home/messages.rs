//! Messages at the edges of JSON-RPC, for the tests of every transport.

use serde_json::{Value, json};

/// Messages that are no requests, each with the id and the code of the error that answers it.
pub(crate) fn no_requests() -> Vec<(&'static str, Value, i64)> {
    vec![
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#, Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#, json!(u64::MAX), -32600),
        ("5", Value::Null, -32600),
        ("\"text\"", Value::Null, -32600),
        ("null", Value::Null, -32600),
        ("{}", Value::Null, -32600),
        // Whose answer it would be, or what it asks for, differs between two readers.
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#, Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":63,"method":"initialize","params":{"protocolVersion":7}}"#, json!(63), -32602),
    ]
}

/// A call that reads a file.
pub(crate) fn read(id: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "read_file", "arguments": {"path": "project/notes.txt"}}})
}
