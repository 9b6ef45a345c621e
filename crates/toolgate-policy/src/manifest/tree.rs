//! A manifest as a tree in which everything knows where it stands: from TOML, or from JSON without places.

use std::ops::Range;

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::fault::Ledger;

/// One value and its place.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

/// What a value is.
#[derive(Debug)]
pub(super) enum Kind {
    Table(Vec<Member>),
    Array(Vec<Node>),
    Scalar(Value),
    /// What JSON has no word for.
    Foreign(&'static str),
}

/// One key of a table.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) span: Range<usize>,
    pub(super) value: Node,
}

/// Reads TOML. Every fault of syntax is told; after one nothing is read further, for what follows it would be told wrongly.
pub(super) fn from_toml(text: &str, ledger: &mut Ledger<'_>) -> Option<Node> {
    let (table, faults) = DeTable::parse_recoverable(text);
    for fault in &faults {
        let span = fault.span().unwrap_or(0..0);
        ledger.fault_in("", &span, format!("this is not TOML: {}", fault.message().replace('\n', " ")), None);
    }
    if !faults.is_empty() {
        return None;
    }
    let span = table.span();
    Some(Node { span, kind: Kind::Table(members(table.get_ref())) })
}

fn members(table: &DeTable<'_>) -> Vec<Member> {
    table
        .iter()
        .map(|(key, value)| Member {
            key: key.get_ref().to_string(),
            span: key.span(),
            value: Node { span: value.span(), kind: kind(value.get_ref()) },
        })
        .collect()
}

fn kind(value: &DeValue<'_>) -> Kind {
    match value {
        DeValue::String(text) => Kind::Scalar(Value::String(text.to_string())),
        DeValue::Boolean(value) => Kind::Scalar(Value::Bool(*value)),
        DeValue::Integer(number) => {
            let (digits, radix) = (number.as_str(), number.radix());
            let signed = i64::from_str_radix(digits, radix).map(Value::from);
            let read = signed.or_else(|_| u64::from_str_radix(digits, radix).map(Value::from));
            read.map_or(Kind::Foreign("a whole number beyond 64 bits"), Kind::Scalar)
        }
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map_or(Kind::Foreign("a number that is not finite"), |number| Kind::Scalar(Value::Number(number))),
        DeValue::Datetime(_) => Kind::Foreign("a date"),
        DeValue::Array(values) => {
            Kind::Array(values.iter().map(|value| Node { span: value.span(), kind: kind(value.get_ref()) }).collect())
        }
        DeValue::Table(table) => Kind::Table(members(table)),
    }
}

/// Takes a JSON value.
pub(super) fn from_json(value: &Value) -> Node {
    let kind = match value {
        Value::Object(members) => {
            Kind::Table(members.iter().map(|(key, value)| Member { key: key.clone(), span: 0..0, value: from_json(value) }).collect())
        }
        Value::Array(values) => Kind::Array(values.iter().map(from_json).collect()),
        scalar => Kind::Scalar(scalar.clone()),
    };
    Node { span: 0..0, kind }
}

impl Node {
    /// The value without its places.
    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Table(members) => Value::Object(members.iter().map(|member| (member.key.clone(), member.value.to_json())).collect()),
            Kind::Array(values) => Value::Array(values.iter().map(Node::to_json).collect()),
            Kind::Scalar(value) => value.clone(),
            Kind::Foreign(_) => Value::Null,
        }
    }

    /// What it is, in the words of a fault.
    pub(super) fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Table(_) => "a table",
            Kind::Array(_) => "a list",
            Kind::Scalar(Value::String(_)) => "a text",
            Kind::Scalar(Value::Bool(_)) => "a truth value",
            Kind::Scalar(Value::Number(number)) if number.is_f64() => "a number with a fraction",
            Kind::Scalar(Value::Number(_)) => "a whole number",
            Kind::Scalar(_) => "null",
            Kind::Foreign(name) => name,
        }
    }
}
