//! The log in others' words: OpenTelemetry spans and OCSF events. A copy for dashboards; the record of truth stays the log.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::hex;
use super::read::Stored;

/// Whose words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One OTLP/JSON `ExportTraceServiceRequest` a line, one span for each finished call.
    /// # Source
    /// OpenTelemetry protocol 1.x, JSON encoding; semantic conventions for MCP and generative AI (status: development).
    Otlp,
    /// One OCSF API Activity event (class 6003) a line, for each end and each denial of a call.
    /// # Source
    /// Open Cybersecurity Schema Framework 1.9.0, class API Activity; what has no place there stands under `unmapped`.
    Ocsf,
}

/// Turns records, in the order of their times, into lines of another format.
#[derive(Debug)]
pub struct Export {
    format: Format,
    /// Starts whose end has not come yet.
    started: BTreeMap<String, Stored>,
}

impl Export {
    /// An export that has seen nothing.
    pub const fn new(format: Format) -> Self {
        Self { format, started: BTreeMap::new() }
    }

    /// Takes a record; `Some`: the line it completes.
    pub fn add(&mut self, record: Stored) -> Option<Value> {
        let call = record.text("call").to_owned();
        match record.text("ev") {
            "call.started" => {
                self.started.insert(call, record);
                None
            }
            "call.finished" => {
                let started = self.started.remove(&call);
                Some(self.line(started.as_ref(), &record))
            }
            "tool.denied" => Some(self.line(None, &record)),
            _ => None,
        }
    }

    fn line(&self, started: Option<&Stored>, end: &Stored) -> Value {
        let both = Both { started, end };
        match self.format {
            Format::Otlp => both.span(),
            Format::Ocsf => both.activity(),
        }
    }
}

/// A call's end and, where it is known, its start; a field of the end goes first.
struct Both<'r> {
    started: Option<&'r Stored>,
    end: &'r Stored,
}

impl Both<'_> {
    fn field(&self, name: &str) -> Option<&Value> {
        self.end.fields.get(name).or_else(|| self.started?.fields.get(name))
    }

    fn text(&self, name: &str) -> &str {
        self.field(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn status(&self) -> &str {
        match self.end.text("status") {
            "" => "denied",
            status => status,
        }
    }

    /// Nanoseconds of the start and of the end.
    fn times(&self) -> (i128, i128) {
        let end = self.end.time().map_or(0, jiff::Timestamp::as_nanosecond);
        (self.started.and_then(Stored::time).map_or(end, jiff::Timestamp::as_nanosecond), end)
    }

    fn span(&self) -> Value {
        let tool = self.text("tool");
        let digest = hex::text(&hex::sha256(self.text("call").as_bytes()));
        let (own_trace, rest) = digest.split_at_checked(32).unwrap_or_default();
        let (span, _) = rest.split_at_checked(16).unwrap_or_default();
        let parent = self.field("traceparent").and_then(Value::as_str).and_then(trace_parent);
        let (begin, end) = self.times();
        let mut attributes = vec![
            attribute("mcp.method.name", &json!("tools/call")),
            attribute("gen_ai.operation.name", &json!("execute_tool")),
            attribute("gen_ai.tool.name", &json!(tool)),
        ];
        for (name, field) in [
            ("mcp.session.id", "session"),
            ("jsonrpc.request.id", "jsonrpc_id"),
            ("toolgate.call", "call"),
            ("toolgate.principal", "principal"),
            ("toolgate.profile", "profile"),
            ("toolgate.effect", "effect"),
            ("toolgate.level", "level"),
            ("toolgate.decision", "decision"),
            ("toolgate.reason", "reason"),
            ("toolgate.rule", "rule"),
        ] {
            attributes.extend(self.field(field).map(|value| attribute(name, value)));
        }
        attributes.push(attribute("toolgate.status", &json!(self.status())));
        let code = if self.status() == "success" { 1 } else { 2 };
        if code == 2 {
            let kind = self.field("error_code").or_else(|| self.field("reason")).cloned().unwrap_or_else(|| json!("tool_error"));
            attributes.push(attribute("error.type", &kind));
        }
        let mut span = json!({
            "traceId": own_trace, "spanId": span, "name": format!("tools/call {tool}"), "kind": 2,
            "startTimeUnixNano": begin.to_string(), "endTimeUnixNano": end.to_string(),
            "attributes": attributes, "status": {"code": code},
        });
        if let (Some((trace, parent)), Some(span)) = (parent, span.as_object_mut()) {
            span.insert("traceId".to_owned(), json!(trace));
            span.insert("parentSpanId".to_owned(), json!(parent));
        }
        let resource = [attribute("service.name", &json!("toolgate")), attribute("service.version", &json!(env!("CARGO_PKG_VERSION")))];
        let scope = json!({"name": "toolgate.audit"});
        json!({"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [{"scope": scope, "spans": [span]}]}]})
    }

    fn activity(&self) -> Value {
        let (activity, activity_name) = match self.text("effect") {
            "create" => (1, "Create"),
            "read" => (2, "Read"),
            "modify" | "change" => (3, "Update"),
            "delete" => (4, "Delete"),
            _ => (99, "Other"),
        };
        let success = self.status() == "success";
        let (begin, end) = self.times();
        let severity = match self.field("level").and_then(Value::as_u64) {
            _ if self.status() == "denied" => (3, "Medium"),
            Some(3..) => (3, "Medium"),
            Some(2) => (2, "Low"),
            _ => (1, "Informational"),
        };
        let mut unmapped = Map::new();
        for name in
            ["args", "args_sha256", "effect", "level", "decision", "reason", "rule", "approval", "manifest_sha256", "status", "result"]
        {
            unmapped.extend(self.field(name).map(|value| (name.to_owned(), value.clone())));
        }
        json!({
            "class_uid": 6003, "class_name": "API Activity", "category_uid": 6, "category_name": "Application Activity",
            "activity_id": activity, "activity_name": activity_name, "type_uid": 600_300 + activity,
            "severity_id": severity.0, "severity": severity.1,
            "status_id": if success { 1 } else { 2 }, "status": if success { "Success" } else { "Failure" }, "status_code": self.text("reason"),
            "time": end / 1_000_000, "start_time": begin / 1_000_000, "end_time": end / 1_000_000,
            "metadata": {
                "version": "1.9.0", "uid": self.end.text("hash"), "sequence": self.end.seq(), "correlation_uid": self.text("call"),
                "product": {"name": "toolgate", "version": env!("CARGO_PKG_VERSION")}, "log_name": self.end.file,
            },
            "actor": {"user": {"name": self.text("principal")}, "session": {"uid": self.text("session")}, "app_name": self.client()},
            "api": {"operation": self.text("tool"), "service": {"name": "toolgate"}, "request": {"uid": self.text("call")}},
            "src_endpoint": {"name": self.text("principal")},
            "unmapped": unmapped,
        })
    }

    fn client(&self) -> &str {
        self.field("client").and_then(|client| client.get("name")).and_then(Value::as_str).unwrap_or_default()
    }
}

fn attribute(name: &str, value: &Value) -> Value {
    let value = match value {
        Value::Number(number) if number.is_i64() => json!({"intValue": number.to_string()}),
        Value::String(text) => json!({"stringValue": text}),
        other => json!({"stringValue": other.to_string()}),
    };
    json!({"key": name, "value": value})
}

/// The trace and the parent of a `traceparent`, read strictly.
/// # Source
/// W3C Trace Context, section 3.2.2: lower-case hexadecimal, neither all zero.
fn trace_parent(text: &str) -> Option<(&str, &str)> {
    let mut parts = text.split('-');
    let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is = |part: &str, length: usize| part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let valid = parts.next().is_none() && version == "00" && is(trace, 32) && is(parent, 16) && is(flags, 2);
    (valid && trace.contains(|digit| digit != '0') && parent.contains(|digit| digit != '0')).then_some((trace, parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STARTED: &str = r#"{"seq":2,"ts":"2026-11-21T12:00:00.000000Z","ev":"call.started","call":"c1","session":"s1","principal":"stdio","client":{"name":"probe","version":"1"},"tool":"read_file","args":{"path":"project/a.txt"},"effect":"read","level":0,"decision":"allow","reason":"ok","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}"#;
    const FINISHED: &str = r#"{"seq":3,"ts":"2026-11-21T12:00:00.250000Z","ev":"call.finished","call":"c1","error_code":"not_found","status":"error","hash":"ab"}"#;

    fn exported(format: Format) -> Vec<Value> {
        let mut export = Export::new(format);
        [STARTED, FINISHED].iter().filter_map(|line| export.add(Stored::read("f.jsonl", line.as_bytes()).unwrap())).collect()
    }

    #[test]
    fn a_call_becomes_one_span_below_the_caller_s() {
        let spans = exported(Format::Otlp);
        let span = &spans[0]["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!(spans.len(), 1);
        assert_eq!((&span["traceId"], &span["parentSpanId"]), (&json!("0af7651916cd43dd8448eb211c80319c"), &json!("b7ad6b7169203331")));
        assert_eq!((&span["name"], &span["kind"], &span["status"]), (&json!("tools/call read_file"), &json!(2), &json!({"code": 2})));
        assert_eq!((&span["startTimeUnixNano"], &span["endTimeUnixNano"]), (&json!("1795262400000000000"), &json!("1795262400250000000")));
        let has = |wanted: Value| span["attributes"].as_array().unwrap().contains(&wanted);
        assert!(has(json!({"key": "error.type", "value": {"stringValue": "not_found"}})));
        assert!(has(json!({"key": "toolgate.level", "value": {"intValue": "0"}})));
    }

    #[test]
    fn a_call_becomes_one_api_activity() {
        let events = exported(Format::Ocsf);
        assert_eq!(events.len(), 1);
        let shown = ["class_uid", "type_uid", "status_id", "time", "start_time"].map(|name| events[0][name].clone());
        assert_eq!(shown, [json!(6003), json!(600_302), json!(2), json!(1_795_262_400_250_i64), json!(1_795_262_400_000_i64)]);
        assert_eq!((&events[0]["actor"]["user"]["name"], &events[0]["api"]["operation"]), (&json!("stdio"), &json!("read_file")));
    }

    #[test]
    fn a_malformed_parent_is_not_taken_over() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert!(trace_parent(good).is_some());
        for bad in [
            "",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            &format!("{good}-x"),
        ] {
            assert_eq!(trace_parent(bad), None, "{bad}");
        }
    }
}
