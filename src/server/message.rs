//! One reading of what a client sends, the same on every transport: a message, or the error that JSON-RPC answers it with.

use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorData, InitializeRequestParams, JsonRpcMessage, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, RequestId, SubscriptionsListenRequestParams,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::strict;

/// What the transport noticed of a message and the handler must answer for; travels in the request's extensions.
#[derive(Debug, Clone)]
pub(super) struct Malformed(pub(super) String);

/// Why a message is answered with an error by the transport itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// The id it is answered under; `null` where the message has none that can be used (JSON-RPC 2.0, section 5).
    id: Value,
    code: i32,
    why: String,
    data: Option<Value>,
}

const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;
const NO_MESSAGE: &str = "the message is no JSON-RPC 2.0 request, response or notification";

impl Fault {
    fn new(id: Value, code: i32, why: impl Into<String>) -> Self {
        Self { id, code, why: why.into(), data: None }
    }

    /// A message that is no request, under the id it may have.
    pub(super) fn invalid(id: Option<Value>, why: impl Into<String>) -> Self {
        Self::new(id.unwrap_or_default(), INVALID_REQUEST, why)
    }

    /// A request that cannot be taken now.
    pub(super) fn busy(id: &RequestId, why: impl Into<String>) -> Self {
        // No code of the protocol says so; the internal error is the one that clients may try again after.
        Self { data: Some(json!({"retry_after_s": 1})), ..Self::new(json!(id), -32603, why) }
    }

    /// A request whose id is that of another one under way.
    pub(super) fn taken(id: &RequestId) -> Self {
        Self::invalid(Some(json!(id)), "a request with this id is under way; give each request an id of its own")
    }

    /// The answer.
    pub(super) fn answer(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.why});
        if let (Some(data), Some(error)) = (&self.data, error.as_object_mut()) {
            error.insert("data".to_owned(), data.clone());
        }
        json!({"error": error, "id": self.id, "jsonrpc": "2.0"})
    }
}

/// Reads one message. Nothing where there is neither a message to take nor anybody who waits for an answer.
/// # Errors  What it is answered with.
pub(super) fn read(text: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Fault> {
    let unreadable = |why| {
        let id = strict::salvage_id(text).unwrap_or_default();
        Fault::new(id, -32700, format!("the message is no JSON that can be read: {why}"))
    };
    let (value, twice) = strict::parse(text).map_err(unreadable)?;
    let Some(fields) = value.as_object() else {
        let is_batch = value.is_array();
        let why = if is_batch { "a batch is not accepted; send one message at a time" } else { "a message is a JSON object" };
        return Err(Fault::invalid(None, why));
    };
    let written = fields.get("id");
    let fault = |code, why: &str| Fault::new(written.filter(|id| strict::is_whole(id)).cloned().unwrap_or_default(), code, why);
    let invalid = || fault(INVALID_REQUEST, NO_MESSAGE);
    let id = written.and_then(|id| RequestId::deserialize(id).ok());
    let Some(method) = fields.get("method") else {
        if !fields.contains_key("result") && !fields.contains_key("error") {
            return Err(invalid());
        }
        return Ok(match (twice, id) {
            // Parsers differ on the value that counts, so none does: the answer to a question is a no.
            (Some(twice), Some(id)) => Some(JsonRpcMessage::error(ErrorData::invalid_params(twice.to_string(), None), Some(id))),
            _ => serde_json::from_value(value).ok(),
        });
    };
    // A request or notification is one thing with one id.
    if let Some(twice) = twice.as_ref().filter(|twice| twice.is_top) {
        return Err(Fault::invalid(None, twice.to_string()));
    }
    let Some(method) = method.as_str().filter(|_| fields.get("jsonrpc").is_some_and(|version| version == "2.0")) else {
        return Err(invalid());
    };
    match id {
        None if written.is_some() => Err(fault(INVALID_REQUEST, "the id of a request is a text or a whole number below 2^63")),
        // Nobody waits for an answer.
        None => Ok(serde_json::from_value(value).ok()),
        Some(id) => {
            let method = method.to_owned();
            request(text, value, &method, &id, twice).map(|request| Some(JsonRpcMessage::request(request, id)))
        }
    }
}

/// Reads a request: its version and its params before rmcp does, which takes params of a wrong form for those of an unknown method.
fn request(text: &[u8], mut message: Value, method: &str, id: &RequestId, twice: Option<strict::Twice>) -> Result<ClientRequest, Fault> {
    let params = message.get_mut("params").map(Value::take).unwrap_or_default();
    if !params.is_object() && !params.is_null() {
        return Err(Fault::new(json!(id), INVALID_PARAMS, "the params of a request are an object"));
    }
    let version =
        params.pointer("/_meta/io.modelcontextprotocol~1protocolVersion").and_then(|name| ProtocolVersion::deserialize(name).ok());
    // From 2026-07-28 on there is no such method, whatever its params.
    let is_initialize = method == "initialize" && version.is_none();
    if method != "initialize" {
        check_version(version.as_ref(), id)?;
    }
    let fault = match method {
        // By far the most frequent: it skips rmcp's trial of every message type in turn.
        "tools/call" => match serde_path_to_error::deserialize::<_, CallToolRequestParams>(params) {
            Ok(params) => return Ok(call(params, twice)),
            Err(fault) => Some(fault),
        },
        "resources/read" => fault::<ReadResourceRequestParams>(&params),
        "subscriptions/listen" if version.is_some() => fault::<SubscriptionsListenRequestParams>(&params),
        "tools/list" | "resources/list" | "resources/templates/list" | "server/discover" => {
            fault::<Option<PaginatedRequestParams>>(&params)
        }
        _ if is_initialize => fault::<InitializeRequestParams>(&params),
        _ => None,
    };
    if let Some(fault) = fault {
        let why = if fault.path().iter().len() == 0 { fault.inner().to_string() } else { format!("`{}`: {}", fault.path(), fault.inner()) };
        let why = crate::filter::escape_line(&why).into_owned();
        let why = format!("the params of `{method}` do not have the form the protocol gives them: {why}");
        return Err(Fault::new(json!(id), INVALID_PARAMS, why));
    }
    match serde_json::from_slice::<ClientJsonRpcMessage>(text) {
        Ok(JsonRpcMessage::Request(request)) => Ok(request.request),
        _ => Err(Fault::invalid(Some(json!(id)), NO_MESSAGE)),
    }
}

/// What is wrong with params of the form the protocol gives them.
fn fault<T: DeserializeOwned>(params: &Value) -> Option<serde_path_to_error::Error<serde_json::Error>> {
    serde_path_to_error::deserialize::<_, T>(params).err()
}

fn call(mut params: CallToolRequestParams, twice: Option<strict::Twice>) -> ClientRequest {
    let meta = params.meta.take();
    let mut request = rmcp::model::Request::new(params);
    if let Some(meta) = meta {
        // Where rmcp's own reader puts it, and where its service loop looks for it.
        request.extensions.insert(meta);
    }
    if let Some(twice) = twice {
        request.extensions.insert(Malformed(twice.to_string()));
    }
    ClientRequest::CallToolRequest(request)
}

/// A version of the handshake is agreed on with `initialize`; a request alone cannot choose it (2026-07-28, basic/versioning).
fn check_version(version: Option<&ProtocolVersion>, id: &RequestId) -> Result<(), Fault> {
    let Some(version) = version.filter(|version| version.has_initialize() || version.as_str().is_empty()) else { return Ok(()) };
    let known: Vec<&ProtocolVersion> = ProtocolVersion::KNOWN_VERSIONS.iter().filter(|known| !known.has_initialize()).collect();
    let why = if version.as_str().is_empty() {
        "the version in `_meta` is empty".to_owned()
    } else {
        format!("the version `{version}` begins with `initialize`; `_meta` cannot name it")
    };
    Err(Fault { data: Some(json!({"supported": known, "requested": version})), ..Fault::new(json!(id), -32022, why) })
}

/// A JSON text without characters that some clients take for the end of a line: U+2028, U+2029 and U+0085 are escaped.
pub(super) fn in_one_line(json: Vec<u8>) -> Vec<u8> {
    // Their first bytes; in blocks without a branch, so that the compiler makes vector instructions of them.
    let may_begin = |byte: &u8| *byte == 0xe2 || *byte == 0xc2;
    if !json.chunks(64).any(|block| block.iter().fold(false, |found, byte| found | may_begin(byte))) {
        return json;
    }
    match String::from_utf8(json) {
        Ok(text) => text.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029").replace('\u{85}', "\\u0085").into_bytes(),
        Err(fault) => fault.into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Id, code.
    fn fault(text: &str) -> Option<(Value, i64)> {
        let answer = read(text.as_bytes()).err()?.answer();
        Some((answer["id"].clone(), answer["error"]["code"].as_i64().unwrap()))
    }

    #[test]
    fn what_is_no_request_is_answered_as_json_rpc_says() {
        for (text, id, code) in [
            ("5", Value::Null, -32600),
            ("null", Value::Null, -32600),
            ("true", Value::Null, -32600),
            (r#""text""#, Value::Null, -32600),
            ("{}", Value::Null, -32600),
            (r#"{"foo":"boo"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","method":1,"params":"bar"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":7,"method":1}"#, json!(7), -32600),
            (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, json!(7), -32600),
            (r#"{"id":"a","method":"ping"}"#, json!("a"), -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":true,"method":"tools/call","params":{"name":"x"}}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#, json!(u64::MAX), -32600),
            (r#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":5}}"#, json!(3), -32602),
            (r#"{"jsonrpc":"2.0","id":3,"method":"initialize"}"#, json!(3), -32602),
            (r#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":[]}"#, json!(3), -32602),
            (r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":["x"]}"#, json!(3), -32602),
            (r#"{"jsonrpc":"2.0","id":4,"method":"#, json!(4), -32700),
        ] {
            assert_eq!(fault(text), Some((id.clone(), code)), "{text}");
        }
    }

    #[test]
    fn what_nobody_waits_for_is_not_answered() {
        for text in [
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":5}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":9,"result":5}"#,
        ] {
            assert!(read(text.as_bytes()).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_version_of_the_handshake_is_no_version_of_one_request() {
        for (version, is_taken) in [("2024-11-05", false), ("2025-03-26", false), ("2025-11-25", false), ("2026-07-28", true)] {
            for method in ["tools/call", "tools/list", "server/discover"] {
                let params = json!({"name": "x", "_meta": {"io.modelcontextprotocol/protocolVersion": version}});
                let text = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
                let fault = read(text.as_bytes()).err();
                assert_eq!(fault.is_none(), is_taken, "{text}");
                if let Some(fault) = fault {
                    let answer = fault.answer();
                    assert_eq!(answer["error"]["code"], -32022, "{answer}");
                    assert_eq!(answer["error"]["data"], json!({"supported": ["2026-07-28"], "requested": version}));
                }
            }
        }
    }

    #[test]
    fn an_array_is_no_message_whatever_it_holds() {
        let code = |text: &str| read(text.as_bytes()).map(drop).unwrap_err().code;
        for text in ["[]", " \t[5]", r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, r#"["2.0",1,"tools/call",{"name":"x"}]"#] {
            assert_eq!(code(text), -32600, "{text}");
        }
        assert_eq!(code("[1,"), -32700);
    }

    #[test]
    fn a_tool_call_reads_the_same_on_the_short_way() {
        let text =
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":1},"_meta":{"progressToken":3}}}"#;
        let long: ClientJsonRpcMessage = serde_json::from_slice(text).unwrap();
        let short = read(text).unwrap().unwrap();
        for message in [&short, &long] {
            let JsonRpcMessage::Request(request) = message else { panic!("a request") };
            assert!(rmcp::model::GetMeta::get_meta(&request.request).get_progress_token().is_some());
        }
        assert_eq!(serde_json::to_value(short).unwrap(), serde_json::to_value(long).unwrap());
    }

    #[test]
    fn what_ends_a_line_for_some_readers_is_escaped() {
        let text = "a\u{2028}b\u{2029}c\u{85}d\u{a0}\u{201c}e";
        let json = in_one_line(serde_json::to_vec(text).unwrap());
        assert_eq!(String::from_utf8_lossy(&json), "\"a\\u2028b\\u2029c\\u0085d\u{a0}\u{201c}e\"");
        assert_eq!(serde_json::from_slice::<String>(&json).unwrap(), text);
    }
}
