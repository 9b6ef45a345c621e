//! The second token: an answer that has been through the filter, and nothing else.

use serde_json::{Map, Value};

use crate::model::{Block, Code, Field, Output, Refusal};

/// An answer that may be shown. Only the filter makes one.
#[derive(Debug)]
pub struct Filtered(Parts);

/// What a filtered answer holds.
#[derive(Debug)]
pub struct Parts {
    /// The pieces in order.
    pub blocks: Vec<Block>,
    /// The structured answer.
    pub structured: Option<Map<String, Value>>,
    /// Facts about the answer.
    pub meta: Map<String, Value>,
    /// Whether the model is told that the tool failed.
    pub is_error: bool,
    /// The code of a failed answer.
    pub code: Option<Code>,
    /// Bytes written to roots.
    pub bytes_written: u64,
    /// Bytes sent out.
    pub bytes_sent: u64,
}

impl Filtered {
    /// Cleans an output: every text by where it comes from.
    /// # Errors  When the manifest denies what was found.
    pub fn of(output: Output) -> Result<Self, Refusal> {
        let structured = output.structured.map(|fields| {
            fields.into_iter().map(|(name, field)| (name.to_owned(), value(field))).collect()
        });
        Ok(Self(Parts {
            blocks: output.blocks,
            structured,
            meta: output.meta,
            is_error: output.is_error,
            code: output.code,
            bytes_written: output.bytes_written,
            bytes_sent: output.bytes_sent,
        }))
    }

    /// What it holds, to look at.
    pub fn parts(&self) -> &Parts {
        &self.0
    }

    /// What it holds, to send.
    pub fn into_parts(self) -> Parts {
        self.0
    }
}

fn value(field: Field) -> Value {
    match field {
        Field::Fact(value) => value,
        Field::Text(text, _) => Value::String(text),
        Field::List(items) => {
            let object = |fields: Vec<(&'static str, Field)>| fields.into_iter().map(|(name, field)| (name.to_owned(), value(field))).collect();
            Value::Array(items.into_iter().map(|fields| Value::Object(object(fields))).collect())
        }
    }
}

impl Parts {
    /// Length of what the model sees, in bytes before encoding.
    pub fn size(&self) -> usize {
        let blocks = self.blocks.iter().map(|block| match block {
            Block::Text { text, .. } => text.len(),
            Block::Image { data, .. } => data.len(),
        });
        blocks.sum()
    }
}
