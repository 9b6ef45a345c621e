//! The filters on what a call carries in its arguments, its code, the body it would send. Nothing is altered: what runs and what is sent is exactly
//! what was judged and approved.

use serde_json::{Map, Value};

use super::treatment::{Count, Scope, clean};
use crate::manifest::{Filters, Input, Watch};
use crate::model::Refusal;

/// Looks through every text of a call's arguments, names of members included, as `[filters.input]` and the operator's rules say. Costs nothing where
/// nothing is set.
/// # Errors  `argument_not_allowed`: the manifest denies what was found. It names the argument and the filter, never the value.
pub fn scan_arguments(arguments: &Map<String, Value>, settings: &Filters) -> Result<Vec<Count>, Refusal> {
    let mut found = Vec::new();
    if settings.input == Input::default() && settings.rules.iter().all(|(_, rule)| rule.input == Watch::Off) {
        return Ok(found);
    }
    for (name, value) in arguments {
        let mut texts = Vec::new();
        collect(value, &mut texts);
        for text in texts {
            let written = clean(text, settings, Scope::Argument(name))?.found;
            let read = clean(&percent_decoded(text), settings, Scope::Argument(name))?.found;
            // What is found in both forms is one finding.
            found.extend(if read.len() > written.len() { read } else { written });
        }
    }
    Ok(Count::sum(found))
}

/// Every text in a value. Arguments were read with a bound on their depth.
fn collect<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            texts.push(name);
            collect(value, texts);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text with its percent signs decoded once, as a server reads a query; empty where it has none.
fn percent_decoded(text: &str) -> String {
    if !text.contains('%') && !text.starts_with("http") {
        return String::new();
    }
    // `form_urlencoded` reads `&` and `=` as separators; the text is one value here.
    let one = text.replace('&', "%26").replace('=', "%3D");
    url::form_urlencoded::parse(one.as_bytes()).next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Code;

    /// The types that were found with their counts, or the code and the rule of the refusal.
    fn judged(settings: &str, arguments: Value) -> Result<Vec<(String, usize)>, (Code, String)> {
        let settings: Filters = serde_json::from_str(settings).unwrap();
        let Value::Object(arguments) = arguments else { panic!("an object") };
        scan_arguments(&arguments, &settings)
            .map(|found| found.into_iter().map(|count| (count.type_, count.count)).collect())
            .map_err(|refusal| (refusal.code, refusal.rule.unwrap_or_default()))
    }

    #[test]
    fn what_a_call_carries_is_counted_or_refused_as_the_manifest_says() {
        let key = json!({"url": "https://a.example/", "headers": {"X-Note": "AKIAQ7ZT3N5WXK2VPLMR"}});
        assert_eq!(judged("{}", key.clone()), Ok(vec![]));
        assert_eq!(judged(r#"{"input":{"secrets":"mark"}}"#, key.clone()), Ok(vec![("aws-access-key".to_owned(), 1)]));
        let denied = |rule: &str| Err((Code::ArgumentNotAllowed, rule.to_owned()));
        assert_eq!(judged(r#"{"input":{"secrets":"deny"}}"#, key), denied("filters.input.secrets"));
        let rules = r#"{"rules":{"names":{"words":["Aurora"],"input":"deny"},"out":{"words":["body"],"action":"deny"}}}"#;
        assert_eq!(judged(rules, json!({"edits": [{"new_text": "about aurora"}]})), denied("filters.rules.names.input"));
        assert_eq!(judged(rules, json!({"url": "https://a.example/?q=%41urora"})), denied("filters.rules.names.input"));
        assert_eq!(judged(rules, json!({"body": "a body"})), Ok(vec![]));
    }

    #[test]
    fn a_denial_names_the_argument_and_never_the_value() {
        let settings: Filters = serde_json::from_str(r#"{"input":{"personal_data":"deny"}}"#).unwrap();
        let arguments = Map::from_iter([("code".to_owned(), json!("send('a.b@example.org')"))]);
        let refusal = scan_arguments(&arguments, &settings).unwrap_err();
        assert_eq!(refusal.message, "the argument `code` holds personal data (EMAIL)");
    }
}
