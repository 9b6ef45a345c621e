//! The `state` of a case as the judge's state: counts, grants, answers, reviewers, switches.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value};

use super::world::{list, texts, url_key};
use crate::manifest::units;
use crate::model::{Bytes, Caller, Level};
use crate::policy::{Answer, AnswerChannel, Budgets, Channels, Grant, Moment, Response, Review, Scope, State};

/// Reads a state. What is not described is ordinary: nothing is stopped, nothing was used, everybody can be asked.
pub fn read(state: &Map<String, Value>, request: &Value, caller: &Caller, tool: &str) -> State {
    let now = state.get("now").and_then(moment).unwrap_or_default();
    let used = state.get("used");
    let can_ask = |channel: &str| state.get("channels").is_none_or(|channels| texts(channels).any(|open| open == channel));
    State {
        killed: is_on(state.get("kill"), caller),
        audit_lost: state.get("audit_ok").is_some_and(|value| *value != Value::Bool(true)),
        suspended: is_on(state.get("suspended"), caller),
        now,
        calls_at: moments(state.get("calls_at")),
        tool_calls_at: match state.get("tool_calls_at") {
            Some(Value::Object(by_tool)) => moments(by_tool.get(tool)),
            other => moments(other),
        },
        used: budgets(used, None),
        cost: budgets(request.get("cost"), Some(tool)),
        under_way: used.and_then(|used| used.get("concurrent_calls")).and_then(Value::as_u64).unwrap_or(0),
        grants: state.get("grants").and_then(Value::as_array).into_iter().flatten().map(grant).collect(),
        policy: text(state.get("policy"), "P1"),
        channels: Channels { client: can_ask("client"), operator: can_ask("operator") },
        reviews: state.get("review").map(|value| list(value).iter().map(review).collect()),
        answer: state.get("approval").filter(|value| !value.is_null()).map(|value| answer(value, now)),
        untrusted: ["untrusted", "tainted"].iter().any(|name| state.get(*name) == Some(&Value::Bool(true))),
        contacted: state.get("contacted").into_iter().flat_map(texts).collect(),
        modules: BTreeSet::new(),
    }
}

fn text(value: Option<&Value>, missing: &str) -> String {
    value.and_then(Value::as_str).unwrap_or(missing).to_owned()
}

fn moment(value: &Value) -> Option<Moment> {
    value.as_f64().map(Moment::from_seconds)
}

fn moments(value: Option<&Value>) -> Vec<Moment> {
    value.into_iter().flat_map(list).filter_map(moment).collect()
}

/// When something ends; what cannot be read ended long ago.
fn end(value: &Value) -> Option<Moment> {
    value.get("expires").filter(|end| !end.is_null()).map(|end| moment(end).unwrap_or(Moment(i64::MIN)))
}

/// A switch that is on for all, or for the sessions or principals it names. What cannot be read is on.
fn is_on(value: Option<&Value>, caller: &Caller) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(names @ (Value::String(_) | Value::Array(_))) => texts(names).any(|name| name == caller.session || name == caller.principal),
        Some(_) => true,
    }
}

/// Amounts of the budgets. A call of a tool that uses a budget uses some of it, where the case does not say how much.
fn budgets(value: Option<&Value>, tool: Option<&str>) -> Budgets {
    let given = |name: &str| value.and_then(|value| value.get(name));
    let amount = |name: &str, users: &[&str]| match given(name) {
        Some(Value::String(text)) => Bytes::parse(text).map_or(u64::MAX, |Bytes(bytes)| bytes),
        Some(number) => number.as_u64().unwrap_or(u64::MAX),
        None => u64::from(tool.is_some_and(|tool| users.contains(&tool))),
    };
    let cpu = match given("cpu_per_hour") {
        Some(Value::String(text)) => units::duration(text).unwrap_or(Duration::MAX),
        Some(number) => number.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(Duration::MAX),
        None => Duration::from_millis(u64::from(tool == Some("run_python"))),
    };
    Budgets {
        write: amount("write_per_hour", &["write_file", "edit_file", "edit_files", "copy_file"]),
        egress: amount("egress_per_hour", &["fetch"]),
        cpu,
    }
}

fn grant(value: &Value) -> Grant {
    let field = |name: &str, missing: &str| text(value.get(name), missing);
    let (tool, target) = (field("tool", ""), field("target", ""));
    Grant {
        principal: field("principal", "p1"),
        session: field("session", "s1"),
        target: if tool == "fetch" { url_key(&target) } else { target },
        tool,
        // A word that is no scope covers nothing.
        scope: value.get("scope").map_or(Scope::Session, |scope| scope.as_str().and_then(Scope::parse).unwrap_or(Scope::Once)),
        policy: field("policy", "P1"),
        level: value.get("level").map(|level| level.as_u64().and_then(Level::from_number).unwrap_or(Level::Read)),
        expires: end(value),
    }
}

fn review(value: &Value) -> Review {
    let said = match (value.get("verdict"), value.get("level")) {
        (Some(_), Some(_)) => return Review::Doubt,
        (verdict, level) => verdict.or(level).unwrap_or(value),
    };
    match (said.as_str(), said.as_u64().and_then(Level::from_number)) {
        (Some("ok" | "allow"), _) => Review::Allow,
        (Some("deny"), _) => Review::Deny,
        (_, Some(level)) => Review::Level(level),
        _ => Review::Doubt,
    }
}

fn answer(value: &Value, now: Moment) -> Answer {
    let field = |name: &str| value.get(name);
    let response = field("response").map(|response| Response {
        action: text(response.get("action"), ""),
        content: response.get("content").and_then(Value::as_object).into_iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect(),
    });
    Answer {
        channel: match field("channel").map(Value::as_str) {
            None | Some(Some("client")) => AnswerChannel::Client,
            Some(Some("operator")) => AnswerChannel::Operator,
            Some(_) => AnswerChannel::Other,
        },
        response,
        approvers: field("approvers").into_iter().flat_map(texts).collect(),
        code: field("code").and_then(Value::as_str).map(str::to_owned),
        binding: field("binding").unwrap_or(&Value::Null).to_string(),
        binding_now: field("binding_now").or(field("binding")).unwrap_or(&Value::Null).to_string(),
        expires: end(value),
        at: field("now").and_then(moment).unwrap_or(now),
        used: field("used").is_some_and(|used| *used != Value::Bool(false)),
        for_principal: text(field("for_principal"), "p1"),
    }
}
