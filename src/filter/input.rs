//! The filters on the way in: what a call carries in its arguments, its code, the body it would send.
//!
//! Nothing is altered here: what runs and what is sent is exactly what was judged and approved. A call is let through, let through with
//! what was found told, or refused.

use serde_json::{Map, Value};
use toolgate_filter::{Detectors, Finding, Kind, WordRules, scan};

use super::clean::{Count, counts};
use super::rules::Way;
use super::settings::{Settings, Watch};
use crate::model::{Code, Refusal};

/// What a call carries.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Carried {
    /// What was found, by kind and type.
    pub found: Vec<Count>,
    /// Why the call may not be made.
    pub denied: Option<Refusal>,
}

/// Looks through every text of a call's arguments, names of members included, as `[filters.input]` and the operator's rules say.
///
/// Costs nothing where nothing is set. A denial is `argument_not_allowed` and names the argument, the filter, and never the value.
pub fn carried(arguments: &Map<String, Value>, settings: &Settings) -> Carried {
    let mut carried = Carried::default();
    let looks = [settings.input.secrets, settings.input.personal_data, settings.input.hidden_unicode, settings.input.injection]
        .into_iter()
        .chain([settings.input.links])
        .chain(settings.rules.iter().map(|(_, rule)| rule.input))
        .any(|watch| watch != Watch::Off);
    if !looks {
        return carried;
    }
    let mut all = Vec::new();
    for (name, value) in arguments {
        each_text(value, &mut |text| {
            let found = findings(text, settings);
            // An address carries its words in percent signs.
            let decoded = percent_decoded(text).map(|decoded| findings(&decoded, settings)).unwrap_or_default();
            if carried.denied.is_none() {
                let first = found.iter().chain(&decoded).find(|finding| watch(finding.kind, settings) == Watch::Deny);
                carried.denied = first.map(|first| denial(name, first, settings));
            }
            // What is found both ways is one.
            all.extend(if decoded.len() > found.len() { decoded } else { found });
        });
    }
    carried.found = counts(&all, settings);
    carried
}

/// Every text in a value. Arguments were read with a bound on their depth.
fn each_text(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(values) => values.iter().for_each(|value| each_text(value, visit)),
        Value::Object(members) => {
            for (name, value) in members {
                visit(name);
                each_text(value, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text with its percent signs decoded once, as a server reads a query; none where it has none.
fn percent_decoded(text: &str) -> Option<String> {
    let query = text.contains('%') || (text.starts_with("http") && text.contains('+'));
    if !query {
        return None;
    }
    // `form_urlencoded` reads `&` and `=` as separators; the text is one value here.
    let one = text.replace('&', "%26").replace('=', "%3D");
    url::form_urlencoded::parse(one.as_bytes()).next().map(|(name, _)| name.into_owned()).filter(|decoded| decoded != text)
}

fn findings(text: &str, settings: &Settings) -> Vec<Finding> {
    let input = settings.input;
    let mut all = Vec::new();
    // Each kind alone: what is denied as one is not let through because it is more surely the other.
    for (detector, watch) in [(Detectors::SECRETS, input.secrets), (Detectors::PERSONAL_DATA, input.personal_data)] {
        if watch != Watch::Off {
            all.extend(scan(text, detector, &WordRules::default()));
        }
    }
    let looks = Detectors::NONE
        .and(Detectors::INJECTION, input.injection != Watch::Off)
        .and(Detectors::LINKS, input.links != Watch::Off)
        .and(Detectors::HIDDEN, input.hidden_unicode != Watch::Off);
    all.extend(scan(text, looks, settings.rules.built()));
    settings.rules.keep(Way::In, &mut all);
    all
}

fn watch(kind: Kind, settings: &Settings) -> Watch {
    match kind {
        Kind::Injection => settings.input.injection,
        Kind::Secret => settings.input.secrets,
        Kind::PersonalData => settings.input.personal_data,
        Kind::HiddenText => settings.input.hidden_unicode,
        Kind::Link => settings.input.links,
        Kind::Rule(place) => settings.rules.at(place).map_or(Watch::Off, |(_, rule)| rule.input),
    }
}

fn denial(argument: &str, found: &Finding, settings: &Settings) -> Refusal {
    let (what, rule) = match found.kind {
        Kind::Injection => ("text that reads as instructions".to_owned(), "filters.input.injection".to_owned()),
        Kind::Secret => (format!("a secret ({})", found.sub), "filters.input.secrets".to_owned()),
        Kind::PersonalData => (format!("personal data ({})", found.type_), "filters.input.personal_data".to_owned()),
        Kind::HiddenText => ("hidden characters".to_owned(), "filters.input.hidden_unicode".to_owned()),
        Kind::Link => (format!("a link that is not what it seems ({})", found.type_), "filters.input.links".to_owned()),
        Kind::Rule(place) => {
            let name = settings.rules.at(place).map_or("", |(name, _)| name);
            (format!("what the operator's rule `{name}` looks for"), format!("filters.rules.{name}.input"))
        }
    };
    let argument: String = super::escape_line(argument).chars().take(64).collect();
    Refusal::new(Code::ArgumentNotAllowed, format!("the argument `{argument}` holds {what}"))
        .rule(rule)
        .hint("take it out and call again; it may not leave by this way")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    type Told = (Vec<(String, usize)>, Option<(Code, String)>);

    fn judged(settings: &str, arguments: Value) -> Told {
        let settings: Settings = serde_json::from_str(settings).unwrap();
        let Value::Object(arguments) = arguments else { panic!("an object") };
        let carried = carried(&arguments, &settings);
        let found = carried.found.iter().map(|count| (count.type_.to_string(), count.count)).collect();
        (found, carried.denied.map(|refusal| (refusal.code, refusal.rule.unwrap_or_default())))
    }

    #[test]
    fn what_a_call_carries_is_told_or_refused_as_the_manifest_says() {
        let key = json!({"url": "https://a.example/", "headers": {"X-Note": "AKIAQ7ZT3N5WXK2VPLMR"}});
        assert_eq!(judged("{}", key.clone()), (vec![], None));
        assert_eq!(judged(r#"{"input":{"secrets":"mark"}}"#, key.clone()), (vec![("aws-access-key".to_owned(), 1)], None));
        let denied = Some((Code::ArgumentNotAllowed, "filters.input.secrets".to_owned()));
        assert_eq!(judged(r#"{"input":{"secrets":"deny"}}"#, key), (vec![("aws-access-key".to_owned(), 1)], denied));
        let rules = r#"{"rules":{"names":{"words":["Aurora"],"input":"deny"},"out":{"words":["body"],"action":"deny"}}}"#;
        let denied = Some((Code::ArgumentNotAllowed, "filters.rules.names.input".to_owned()));
        assert_eq!(judged(rules, json!({"edits": [{"new_text": "about aurora"}]})), (vec![("names".to_owned(), 1)], denied));
        assert_eq!(judged(rules, json!({"body": "a body"})), (vec![], None));
    }

    #[test]
    fn a_denial_names_the_argument_and_never_the_value() {
        let settings: Settings = serde_json::from_str(r#"{"input":{"personal_data":"deny"}}"#).unwrap();
        let arguments = Map::from_iter([("code".to_owned(), json!("send('a.b@example.org')"))]);
        let refusal = carried(&arguments, &settings).denied.unwrap();
        assert_eq!(refusal.message, "the argument `code` holds personal data (EMAIL)");
    }
}
