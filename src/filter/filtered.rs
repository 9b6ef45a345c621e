//! The second token: an answer that has been through the filter, and nothing else.

use serde_json::{Map, Value};

use crate::model::{Block, Code, Output};

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
    /// What it holds, to look at.
    pub fn parts(&self) -> &Parts {
        &self.0
    }

    /// What it holds, to send.
    pub fn into_parts(self) -> Parts {
        self.0
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
