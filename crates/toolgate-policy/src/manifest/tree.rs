//! The text of a manifest as a JSON value. The ledger notes where each part stands.

use std::ops::Range;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::{Ledger, Source};
use super::unclosed::Unclosed;

/// Reads TOML. A text that is not TOML has one fault, for what follows it cannot be read.
pub(super) fn from_toml(text: &str, ledger: &mut Ledger<'_>) -> Option<Value> {
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(fault) => {
            let span = fault.span().unwrap_or(0..0);
            let (span, what) = match Unclosed::find(text).filter(|found| found.at <= span.start) {
                Some(found) => (found.at..found.at + found.opener.len(), found.to_string()),
                None => (span, fault.message().replace('\n', " ")),
            };
            ledger.fault_in("", &span, format!("this is not TOML: {what}"), None);
            return None;
        }
    };
    ledger.sources.insert(String::new(), Source { value: table.span(), ..Source::default() });
    Some(table_of(table.get_ref(), "", ledger))
}

/// The path of a key below the path of its table.
pub(super) fn below(at: &str, key: &str) -> String {
    if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") }
}

fn table_of(table: &DeTable<'_>, at: &str, ledger: &mut Ledger<'_>) -> Value {
    let mut members = Map::new();
    for (key, value) in table {
        members.insert(key.get_ref().to_string(), value_of(value, &below(at, key.get_ref()), key.span(), ledger));
    }
    Value::Object(members)
}

/// What JSON has no word for is `null`, with its name in the ledger.
fn value_of(value: &Spanned<DeValue<'_>>, at: &str, key: Range<usize>, ledger: &mut Ledger<'_>) -> Value {
    let mut foreign = None;
    let read = match value.get_ref() {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(value) => Value::from(*value),
        DeValue::Integer(number) => {
            let (digits, radix) = (number.as_str(), number.radix());
            let signed = i64::from_str_radix(digits, radix).map(Value::from);
            foreign = Some("a whole number beyond 64 bits");
            signed.or_else(|_| u64::from_str_radix(digits, radix).map(Value::from)).unwrap_or_default()
        }
        DeValue::Float(number) => {
            foreign = Some("a number that is not finite");
            number.as_str().parse().ok().and_then(Number::from_f64).map(Value::Number).unwrap_or_default()
        }
        DeValue::Datetime(_) => {
            foreign = Some("a date");
            Value::Null
        }
        DeValue::Array(values) => {
            let entries = values.iter().enumerate();
            entries.map(|(index, entry)| value_of(entry, &format!("{at}[{index}]"), entry.span(), ledger)).collect()
        }
        DeValue::Table(table) => table_of(table, at, ledger),
    };
    let foreign = foreign.filter(|_| read.is_null());
    ledger.sources.insert(at.to_owned(), Source { key, value: value.span(), foreign });
    read
}
