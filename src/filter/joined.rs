//! Answers of several calls as one: each in its own place under its name, as it was filtered.

use serde_json::{Map, Value, json};

use super::filtered::{Filtered, Parts, SESSION};
use crate::model::{Block, Origin, Refusal};

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
        let own = |text: String| Block::Text { text, origin: Origin::Own };
        let (mut blocks, mut listed) = (Vec::new(), Vec::new());
        let (mut untrusted, mut written, mut sent, mut notes, mut any) = (None, 0, 0, Vec::new(), false);
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
                    any |= !parts.is_error;
                    blocks.push(own(format!("==> {title} <==")));
                    blocks.extend(parts.blocks);
                    // Whether the session is marked is said once, of the whole.
                    for (key, value) in parts.meta.into_iter().filter(|(key, _)| key != SESSION) {
                        match value {
                            Value::Object(of) if matches!(key.as_str(), "toolgate/file" | "toolgate/page") => {
                                facts.extend(of);
                            }
                            value => drop(facts.insert(key, value)),
                        }
                    }
                    untrusted = untrusted.or(parts.untrusted);
                    written += parts.bytes_written;
                    sent += parts.bytes_sent;
                    notes.extend(parts.notes);
                }
                Shown::Refusal(refusal) => {
                    blocks.push(own(format!("==> {title} <==\n{refusal}")));
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
            blocks.push(own(format!("[not shown: {}; {why}; call again for: {these}]", names.len())));
        }
        Self::of_parts(Parts {
            blocks,
            structured: None,
            meta: Map::from_iter([(key.to_owned(), Value::Array(listed))]),
            is_error: !any,
            code: None,
            bytes_written: written,
            bytes_sent: sent,
            notes,
            untrusted,
        })
    }
}
