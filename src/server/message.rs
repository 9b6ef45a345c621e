//! One reading of what a client sends, the same on every transport: a message, or the error that JSON-RPC answers it with.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorData, GetMeta, InitializeRequestParams, JsonRpcMessage,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, RequestId,
};
use serde::de::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::params::Params;
use super::strict::{self, Oddity};

/// What the transport noticed of a message and the handler must answer for; travels in the request's extensions.
#[derive(Debug, Clone)]
pub(super) struct Malformed(pub(super) String);

/// Why a message is answered with an error by the transport itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// The id it is answered under, as JSON; `null` where the message has none that can be used (JSON-RPC 2.0, section 5).
    id: String,
    code: i32,
    why: String,
    data: Option<Value>,
}

const BATCH: &str = "a batch is not accepted; send one message at a time";
/// The longest id that is sent back although it cannot be used, in bytes.
const LONGEST_ID: usize = 128;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

impl Fault {
    /// A message that is no request, under the id it may have.
    pub(super) fn invalid(id: Option<&Value>, why: impl Into<String>) -> Self {
        Self { id: id.map_or_else(null, Value::to_string), code: INVALID_REQUEST, why: why.into(), data: None }
    }

    /// A request that cannot be taken now.
    pub(super) fn busy(id: &RequestId, why: impl Into<String>) -> Self {
        // No code of the protocol says so; the internal error is the one that clients may try again after.
        Self { id: json!(id).to_string(), code: -32603, why: why.into(), data: Some(json!({"retry_after_s": 1})) }
    }

    /// A request whose id is that of another one under way.
    pub(super) fn taken(id: &RequestId) -> Self {
        Self::invalid(Some(&json!(id)), "a request with this id is under way; give each request an id of its own")
    }

    fn unreadable(text: &[u8], why: &str) -> Self {
        let id = strict::salvage_id(text).map_or_else(null, |id| id.to_string());
        Self { id, code: -32700, why: format!("the message is no JSON that can be read: {why}"), data: None }
    }

    /// The answer, without an end of line.
    pub(super) fn answer(&self) -> String {
        let mut error = json!({"code": self.code, "message": self.why});
        if let (Some(data), Some(error)) = (&self.data, error.as_object_mut()) {
            error.insert("data".to_owned(), data.clone());
        }
        format!(r#"{{"error":{error},"id":{},"jsonrpc":"2.0"}}"#, self.id)
    }
}

fn null() -> String {
    "null".to_owned()
}

/// Reads one message. Nothing where there is neither a message to take nor anybody who waits for an answer.
/// # Errors  What it is answered with.
pub(super) fn read(text: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Fault> {
    let duplicate = match strict::inspect(text) {
        Some(Oddity::Unreadable(why)) => return Err(Fault::unreadable(text, &why)),
        // Before anything is deserialized: serde reads an array as a struct, too.
        _ if is_batch(text) => return Err(Fault::invalid(None, BATCH)),
        Some(Oddity::DuplicateHead(key)) => {
            unambiguous(text, &key)?;
            Some(key)
        }
        Some(Oddity::DuplicateKey(key)) => Some(key),
        None => None,
    };
    let Ok(mut message) = parse(text) else { return no_message(text).map(|()| None) };
    match &mut message {
        JsonRpcMessage::Request(request) => {
            if let ClientRequest::InitializeRequest(_) = &request.request {
                return Ok(Some(message));
            }
            let version = request.request.get_meta().protocol_version();
            check_version(version.as_ref(), &request.id)?;
            match &mut request.request {
                ClientRequest::CallToolRequest(call) => {
                    if let Some(key) = duplicate {
                        call.extensions.insert(Malformed(twice(&key)));
                    }
                }
                // From 2026-07-28 on there is no such method, whatever its params.
                ClientRequest::CustomRequest(custom) if custom.method == "initialize" && version.is_none() => {
                    return Err(malformed_params(odd_params("initialize", custom.params.as_ref()), &request.id));
                }
                other if LISTS.contains(&other.method()) => {
                    let params = serde_json::from_slice::<Asked>(text).ok().and_then(|asked| asked.params);
                    check_cursor(other.method(), params.as_ref(), &request.id)?;
                }
                _ => {}
            }
        }
        // rmcp reads a request as a notification where its id is none.
        JsonRpcMessage::Notification(_) => no_message(text)?,
        JsonRpcMessage::Response(response) => {
            if let Some(key) = duplicate {
                return Ok(Some(ambiguous(&response.id, &key)));
            }
        }
        JsonRpcMessage::Error(_) => {}
    }
    Ok(Some(message))
}

/// What is taken in the place of a response that has a name twice: an error. Parsers differ on the value that counts, so none does;
/// the answer to a question is a no.
fn ambiguous(id: &RequestId, key: &str) -> ClientJsonRpcMessage {
    JsonRpcMessage::error(ErrorData::invalid_params(twice(key), None), Some(id.clone()))
}

/// A request or notification is one thing with one id. An answer that is ambiguous is a no: see [`ambiguous`].
/// # Errors  What a request is answered with; its id is not known.
fn unambiguous(text: &[u8], key: &str) -> Result<(), Fault> {
    let fields = serde_json::from_slice::<BTreeMap<Cow<'_, str>, &RawValue>>(text).unwrap_or_default();
    if fields.contains_key("method") { Err(Fault::invalid(None, twice(key))) } else { Ok(()) }
}

fn twice(key: &str) -> String {
    format!("the name `{key}` occurs twice in one object")
}

/// Reads one message. Tool calls, by far the most frequent, skip rmcp's trial of every message type in turn.
fn parse(text: &[u8]) -> Result<ClientJsonRpcMessage, serde_json::Error> {
    #[derive(serde::Deserialize)]
    struct Short<'a> {
        #[serde(borrow)]
        jsonrpc: Option<Cow<'a, str>>,
        id: Option<RequestId>,
        #[serde(borrow)]
        method: Option<Cow<'a, str>>,
        #[serde(borrow)]
        params: Option<&'a RawValue>,
    }
    if let Ok(Short { jsonrpc: Some(version), id: Some(id), method: Some(method), params: Some(params) }) = serde_json::from_slice(text)
        && version == "2.0"
        && method == "tools/call"
        && let Ok(mut params) = serde_json::from_str::<CallToolRequestParams>(params.get())
    {
        let meta = params.meta.take();
        let mut request = rmcp::model::Request::new(params);
        if let Some(meta) = meta {
            // Where rmcp's own reader puts it, and where its service loop looks for it.
            request.extensions.insert(meta);
        }
        return Ok(JsonRpcMessage::request(ClientRequest::CallToolRequest(request), id));
    }
    serde_json::from_slice(text)
}

/// What JSON-RPC 2.0 answers a JSON text with that is no request: nothing to a notification or a response, `invalid request` to all else.
fn no_message(text: &[u8]) -> Result<(), Fault> {
    let Ok(fields) = serde_json::from_slice::<BTreeMap<Cow<'_, str>, &RawValue>>(text) else {
        return Err(Fault::invalid(None, "a message is a JSON object"));
    };
    let has = |name: &str| fields.contains_key(name);
    let is_method = fields.get("method").is_some_and(|method| method.get().starts_with('"'));
    let is_version = fields.get("jsonrpc").is_some_and(|version| version.get() == "\"2.0\"");
    let is_response = !has("method") && (has("result") || has("error"));
    if is_response || (is_method && is_version && !has("id")) {
        return Ok(());
    }
    let has_id = fields.get("id").is_some_and(|id| is_id(id));
    let is_params = fields.get("params").is_none_or(|params| params.get().starts_with('{'));
    let (code, why) = if has("id") && !has_id {
        (INVALID_REQUEST, NO_ID)
    } else if is_method && is_version && !is_params {
        (INVALID_PARAMS, "the params of a request are an object")
    } else {
        (INVALID_REQUEST, "the message is no JSON-RPC 2.0 request, response or notification")
    };
    Err(Fault { id: fields.get("id").map_or_else(null, |id| shown_id(id)), code, why: why.to_owned(), data: None })
}

const NO_ID: &str = "the id of a request is a text or a whole number below 2^63";

fn is_id(id: &RawValue) -> bool {
    serde_json::from_str::<RequestId>(id.get()).is_ok()
}

/// The id as it is sent back: a text, or a whole number however large; `null` for what is no id.
fn shown_id(id: &RawValue) -> String {
    let text = id.get();
    let is_whole = text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit());
    if is_id(id) || (is_whole && text.len() <= LONGEST_ID) { text.to_owned() } else { null() }
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
    let data = Some(json!({"supported": known, "requested": version}));
    Err(Fault { id: json!(id).to_string(), code: -32022, why, data })
}

fn malformed_params(why: String, id: &RequestId) -> Fault {
    Fault { id: json!(id).to_string(), code: INVALID_PARAMS, why, data: None }
}

fn odd_form(method: &str) -> String {
    format!("the params of `{method}` do not have the form the protocol gives them")
}

/// What is wrong with params that do not have the form the protocol gives them: the field, and what was expected of it.
pub(super) fn odd_params(method: &str, params: Option<&Value>) -> String {
    fn fault<T: serde::de::DeserializeOwned>(params: &Value) -> Option<String> {
        let fault = serde_path_to_error::deserialize::<_, T>(params).err()?;
        Some(if fault.path().iter().len() == 0 { fault.inner().to_string() } else { format!("`{}`: {}", fault.path(), fault.inner()) })
    }
    let params = params.unwrap_or(&Value::Null);
    let why = match method {
        "initialize" => fault::<InitializeRequestParams>(params),
        "tools/call" => fault::<CallToolRequestParams>(params),
        "resources/read" => fault::<ReadResourceRequestParams>(params),
        _ => fault::<PaginatedRequestParams>(params),
    };
    let why = why.map(|why| format!(": {}", crate::filter::escape_line(&why))).unwrap_or_default();
    odd_form(method) + &why
}

#[derive(serde::Deserialize)]
struct Asked {
    params: Option<Params>,
}

/// The methods whose params may hold a cursor. rmcp reads params of them that it cannot read as none.
const LISTS: [&str; 3] = ["tools/list", "resources/list", "resources/templates/list"];

fn check_cursor(method: &str, params: Option<&Params>, id: &RequestId) -> Result<(), Fault> {
    let is_odd = LISTS.contains(&method) && params.is_some_and(|params| params.is_odd_cursor);
    if is_odd { Err(malformed_params(format!("{}: `cursor` is a text", odd_form(method)), id)) } else { Ok(()) }
}

/// What an HTTP request's body says of itself; the rest is rmcp's to read.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) method: Option<String>,
    /// Of a request that can be answered.
    pub(super) id: Option<RequestId>,
    /// What the handler must answer for.
    pub(super) malformed: Option<Malformed>,
    /// What is read in the place of the text: of a response that has a name twice.
    pub(super) instead: Option<Vec<u8>>,
}

/// Reads the head of one message as strictly as [`read`]; `is_modern` where the headers name a version without a handshake.
/// # Errors  What it is answered with.
pub(super) fn head(text: &[u8], is_modern: bool) -> Result<Head, Fault> {
    #[derive(serde::Deserialize)]
    struct Fields<'a> {
        method: Option<String>,
        #[serde(borrow, default, deserialize_with = "present")]
        id: Option<&'a RawValue>,
        params: Option<Params>,
    }
    let malformed = match strict::inspect(text) {
        Some(Oddity::Unreadable(why)) => return Err(Fault::unreadable(text, &why)),
        // Before anything is deserialized: serde reads an array as a struct, too.
        _ if is_batch(text) => return Err(Fault::invalid(None, BATCH)),
        Some(Oddity::DuplicateHead(key)) => {
            unambiguous(text, &key)?;
            Some(Malformed(twice(&key)))
        }
        Some(Oddity::DuplicateKey(key)) => Some(Malformed(twice(&key))),
        None => None,
    };
    let invalid = || no_message(text).err().unwrap_or_else(|| Fault::invalid(None, "the message is no JSON-RPC 2.0 message"));
    let Ok(Fields { method, id: written, params }) = serde_json::from_slice(text) else { return Err(invalid()) };
    let id = written.and_then(|id| serde_json::from_str::<RequestId>(id.get()).ok());
    match (&method, &id, written) {
        (Some(_), None, Some(_)) => return Err(invalid()),
        (Some(method), Some(id), _) => {
            let version = params.as_ref().and_then(|params| params.version.as_ref());
            if method == "initialize" {
                let read = serde_json::from_slice::<ClientJsonRpcMessage>(text);
                let is_whole = read.is_ok_and(
                    |read| matches!(read, JsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::InitializeRequest(_))),
                );
                if !is_whole && !is_modern && version.is_none() {
                    let message = serde_json::from_slice::<Value>(text).unwrap_or_default();
                    return Err(malformed_params(odd_params("initialize", message.get("params")), id));
                }
            } else {
                check_version(version, id)?;
                check_cursor(method, params.as_ref(), id)?;
            }
        }
        _ => {}
    }
    let instead = match (&method, &id, &malformed) {
        (None, Some(id), Some(Malformed(why))) => {
            serde_json::to_vec(&ClientJsonRpcMessage::error(ErrorData::invalid_params(why.clone(), None), Some(id.clone()))).ok()
        }
        _ => None,
    };
    Ok(Head { method, id, malformed, instead })
}

/// A field that is there, be it `null`.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
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

/// Whether a text is a batch: a JSON array.
fn is_batch(text: &[u8]) -> bool {
    text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Id, code.
    fn fault(text: &str) -> Option<(Value, i64)> {
        let answer: Value = serde_json::from_str(&read(text.as_bytes()).err()?.answer()).unwrap();
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
            // HTTP reads the same; what only a whole reading tells is rmcp's to refuse there.
            if let Err(fault) = head(text.as_bytes(), false) {
                let answer: Value = serde_json::from_str(&fault.answer()).unwrap();
                assert_eq!((answer["id"].clone(), answer["error"]["code"].as_i64()), (id, Some(code)), "{text}");
            }
        }
        // A whole number of any size comes back as it was written.
        let large = r#"{"jsonrpc":"2.0","id":340282366920938463463374607431768211456,"method":"ping"}"#;
        assert!(read(large.as_bytes()).unwrap_err().answer().contains(r#""id":340282366920938463463374607431768211456,"#));
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
                let faults = [read(text.as_bytes()).err(), head(text.as_bytes(), false).err()];
                for fault in faults {
                    assert_eq!(fault.is_none(), is_taken, "{text}");
                    if let Some(fault) = fault {
                        let answer: Value = serde_json::from_str(&fault.answer()).unwrap();
                        assert_eq!(answer["error"]["code"], -32022, "{answer}");
                        assert_eq!(answer["error"]["data"], json!({"supported": ["2026-07-28"], "requested": version}));
                    }
                }
            }
        }
    }

    #[test]
    fn an_array_is_no_message_whatever_it_holds() {
        let code = |text: &str| read(text.as_bytes()).map(drop).unwrap_err().code;
        for text in ["[]", " \t[5]", r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, r#"["2.0",1,"tools/call",{"name":"x"}]"#] {
            assert_eq!((code(text), head(text.as_bytes(), false).map(drop).unwrap_err().code), (-32600, -32600), "{text}");
        }
        assert_eq!(code("[1,"), -32700);
    }

    #[test]
    fn a_tool_call_reads_the_same_on_the_short_way() {
        let text =
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":1},"_meta":{"progressToken":3}}}"#;
        let long: ClientJsonRpcMessage = serde_json::from_slice(text).unwrap();
        let short = parse(text).unwrap();
        for message in [&short, &long] {
            let JsonRpcMessage::Request(request) = message else { panic!("a request") };
            assert!(request.request.get_meta().get_progress_token().is_some());
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
