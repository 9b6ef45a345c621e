//! Line 7: names and values of arguments, before the tool reads them.

use serde_json::{Map, Number, Value};

use super::capability::{Capability, judge_flags};
use crate::manifest::{ArgumentRule, Filters};
use crate::model::{Code, Flag, Flags, Refusal};

impl Capability {
    /// Judges the arguments by the manifest: listed names and values, ranges, lengths; for an absent one the value that is then in force.
    /// A number without a bound is outside of every range.
    /// Gives them back with the first listed value in the place of each absent one.
    ///
    /// `malformed`: what the strict reader of the message found that JSON parsers differ on, such as a duplicate key.
    /// `scan`: looks through their texts as `[filters]` says, after all else.
    ///
    /// # Errors
    /// `permission_missing` (a file to save to without the flag to write), `argument_invalid`, `argument_not_allowed`.
    pub fn check_arguments<T>(
        &self,
        arguments: &Map<String, Value>,
        malformed: Option<&str>,
        scan: impl FnOnce(&Map<String, Value>, &Filters) -> Result<T, Refusal>,
    ) -> Result<Map<String, Value>, Refusal> {
        if arguments.get("save_to").is_some_and(|value| !value.is_null()) && self.spec.arguments.iter().any(|known| known.name == "save_to")
        {
            let held = self.rules().map_or(Flags::NONE, |rules| rules.permissions);
            judge_flags(&self.profile, held, self.spec, Flags::of(&[Flag::WriteFile]))?;
        }
        if let Some(oddity) = malformed {
            return Err(Refusal::new(Code::ArgumentInvalid, format!("the arguments are ambiguous: {oddity}")).hint("send every name once"));
        }
        let rules = self.tool_rules();
        // A name that the tool does not know is reported with all other faults of the form otherwise, where the tool reads its arguments.
        if let Some(rules) = rules.filter(|rules| rules.only_listed)
            && let Some(name) = arguments.keys().find(|name| !rules.arguments.contains_key(*name))
        {
            let listed: Vec<&str> = rules.arguments.keys().map(String::as_str).collect();
            let is_known = self.spec.arguments.iter().any(|known| known.name == name);
            let code = if is_known { Code::ArgumentNotAllowed } else { Code::UnknownArgument };
            return Err(Refusal::new(code, format!("`{name}` may not be given to `{}`", self.spec.name))
                .rule(format!("tools.{}.only_listed", self.spec.name))
                .hint(format!("leave it out; these may be given: {}", listed.join(", "))));
        }
        let mut complete = arguments.clone();
        for (name, rule) in rules.iter().flat_map(|rules| &rules.arguments) {
            self.check_one(name, rule, arguments.get(name))?;
            if let ArgumentRule::Listed(values) = rule
                && !arguments.contains_key(name)
                && let Some(first) = values.first()
            {
                complete.insert(name.clone(), first.clone());
            }
        }
        scan(arguments, &self.manifest.filters)?;
        Ok(complete)
    }

    fn check_one(&self, name: &str, rule: &ArgumentRule, given: Option<&Value>) -> Result<(), Refusal> {
        let (value, shown) = match (rule, given) {
            // An absent argument takes the first of the list.
            (ArgumentRule::Listed(_), None) => return Ok(()),
            (_, Some(given)) => (Some(given.clone()), "is"),
            (ArgumentRule::Bounded(_), None) => (self.in_force(name, rule), "is absent and would be"),
        };
        let Err(wanted) = fits(rule, value.as_ref().unwrap_or(&Value::Null)) else { return Ok(()) };
        let shown = match value {
            Some(value) => format!("{shown} `{}`", value.to_string().chars().take(60).collect::<String>()),
            None => "is absent and would have no bound".to_owned(),
        };
        Err(Refusal::new(Code::ArgumentNotAllowed, format!("`{name}` of `{}` {shown}, which is not allowed", self.spec.name))
            .rule(format!("tools.{}.allowed_arguments.{name}", self.spec.name))
            .hint(format!("give {wanted}")))
    }

    /// The value that an absent argument comes to; none for a number that then has no bound. A text is empty.
    fn in_force(&self, name: &str, rule: &ArgumentRule) -> Option<Value> {
        let written = self.spec.arguments.iter().find(|known| known.name == name).and_then(|known| known.default);
        match (written, rule, name) {
            (Some(text), ..) => serde_json::from_str(text).ok(),
            (None, ArgumentRule::Bounded(bounds), _) if bounds.is_of_text() => Some(Value::String(String::new())),
            // A part of a second counts as a whole one: the program may use it.
            (None, _, "timeout_s") => {
                let most = self.manifest.python.timeout;
                Some(most.as_secs().saturating_add(u64::from(most.subsec_nanos() > 0)).into())
            }
            (None, _, "max_length") => Some(self.max_answer.0.into()),
            (None, ..) => None,
        }
    }
}

/// Whether a value keeps a rule; else what would.
fn fits(rule: &ArgumentRule, value: &Value) -> Result<(), String> {
    let bounds = match rule {
        ArgumentRule::Listed(values) if values.contains(value) => return Ok(()),
        ArgumentRule::Listed(values) => {
            let shown: Vec<String> = values.iter().take(10).map(Value::to_string).collect();
            return Err(format!("one of {}", shown.join(", ")));
        }
        ArgumentRule::Bounded(bounds) => bounds,
    };
    let (measured, min, max) = if bounds.is_of_text() {
        (value.as_str().map(|text| text.len().into()), bounds.min_length.map(Number::from), bounds.max_length.map(Number::from))
    } else {
        (value.as_number().cloned(), bounds.min.clone(), bounds.max.clone())
    };
    // Whole bounds ask for whole numbers: 5.0 is read as 5 by one parser and refused by another.
    let whole = [&min, &max].into_iter().flatten().all(|bound| !bound.is_f64());
    let low = |number| min.as_ref().is_some_and(|min| less(number, min));
    let high = |number| max.as_ref().is_some_and(|max| less(max, number));
    if measured.as_ref().is_some_and(|number| !(whole && number.is_f64() || low(number) || high(number))) {
        return Ok(());
    }
    let range = within(min, max);
    Err(if bounds.is_of_text() { format!("a text with a length{range} in bytes") } else { format!("a number{range}") })
}

/// Bounds in words, e.g. ` from 1 to 5`.
fn within(min: Option<Number>, max: Option<Number>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!(" from {min} to {max}"),
        (Some(min), None) => format!(" from {min}"),
        (None, Some(max)) => format!(" up to {max}"),
        (None, None) => String::new(),
    }
}

/// Compares without losing digits of whole numbers.
fn less(a: &Number, b: &Number) -> bool {
    let whole = |number: &Number| number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a < b,
        _ => a.as_f64().unwrap_or(f64::NAN) < b.as_f64().unwrap_or(f64::NAN),
    }
}
