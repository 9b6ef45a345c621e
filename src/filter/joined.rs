//! Answers of several calls as one: each in its own place under its name, as it was filtered.

use serde_json::{Map, Value, json};

use super::cleaning::{Parts, own};
use super::filtered::{Filtered, SESSION};
use crate::model::Refusal;

/// What one call of several came to.
#[derive(Debug)]
pub struct Part {
    /// What it was about, as the caller wrote it: a path, a URL.
    pub name: String,
    /// Its id in the log; empty where it was not made.
    pub call: String,
    /// What is shown of it.
    pub shown: Shown,
}

/// What is shown of one call of several.
#[derive(Debug)]
pub enum Shown {
    /// Its answer.
    Answer(Box<Filtered>),
    /// Why it was refused or failed.
    Refusal(Refusal),
    /// It was not made, for this reason.
    Not(String),
}

impl Part {
    /// Bytes that it takes of the answer.
    pub fn size(&self) -> usize {
        let shown = match &self.shown {
            Shown::Answer(filtered) => filtered.parts().size(),
            Shown::Refusal(refusal) => refusal.message.len(),
            Shown::Not(why) => why.len(),
        };
        self.name.len() + shown
    }
}

impl Filtered {
    /// The answers of several calls as one. `key`: where in `_meta` the facts of each are listed, under its name as `named`. It is an error where
    /// none of them is an answer without one.
    pub fn joined(key: &str, named: &str, all: Vec<Part>) -> Self {
        let (mut whole, mut listed) = (Parts { is_error: true, ..Parts::default() }, Vec::new());
        let mut left_out: Option<(String, Vec<String>)> = None;
        for Part { name, call, shown } in all {
            // A caller's name may hold whatever a text may.
            let title = super::escape_line(&name).into_owned();
            let mut facts = Map::from_iter([(named.to_owned(), json!(title))]);
            if !call.is_empty() {
                facts.insert("call_id".to_owned(), json!(call));
            }
            match shown {
                Shown::Answer(filtered) => {
                    let parts = filtered.into_parts();
                    whole.is_error &= parts.is_error;
                    whole.blocks.push(own(format!("==> {title} <==")));
                    whole.blocks.extend(parts.blocks);
                    whole.untrusted = whole.untrusted.or(parts.untrusted);
                    whole.bytes_written += parts.bytes_written;
                    whole.bytes_sent += parts.bytes_sent;
                    whole.notes.extend(parts.notes);
                    // Whether the session is marked is said once, of the whole.
                    for (key, value) in parts.meta.into_iter().filter(|(key, _)| key != SESSION) {
                        match value {
                            Value::Object(of) if matches!(key.as_str(), "toolgate/file" | "toolgate/page") => facts.extend(of),
                            value => drop(facts.insert(key, value)),
                        }
                    }
                }
                Shown::Refusal(refusal) => {
                    whole.blocks.push(own(format!("==> {title} <==\n{refusal}")));
                    if let Ok(Value::Object(why)) = serde_json::to_value(&refusal) {
                        facts.extend(why);
                    }
                }
                Shown::Not(why) => {
                    facts.insert("not_shown".to_owned(), json!(why));
                    left_out.get_or_insert_with(|| (why, Vec::new())).1.push(title);
                }
            }
            listed.push(Value::Object(facts));
        }
        if let Some((why, names)) = left_out {
            let these = names.iter().map(|name| json!(name).to_string()).collect::<Vec<_>>().join(", ");
            whole.blocks.push(own(format!("[not shown: {}; {why}; call again for: {these}]", names.len())));
        }
        whole.meta.insert(key.to_owned(), Value::Array(listed));
        Self::of_parts(whole)
    }
}
