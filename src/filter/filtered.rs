//! The second token: an answer that has been through the filter, and nothing else.

use serde_json::{Map, Value, json};

use super::cleaning::{self, Parts, Provenance};
use super::treatment::Count;
use crate::manifest::Filters;
use crate::model::{Output, Refusal};

/// An answer that may be shown. Only the filter makes one.
/// Its parts can be read, and parts do not make one:
/// ```
/// fn pass(filtered: toolgate::filter::Filtered) -> toolgate::filter::Parts { filtered.into_parts() }
/// ```
/// ```compile_fail,E0423
/// fn pass(parts: toolgate::filter::Parts) -> toolgate::filter::Filtered { toolgate::filter::Filtered(parts) }
/// ```
#[derive(Debug)]
pub struct Filtered(Parts);

/// What was found in the arguments, in the `_meta` of the answer.
const ARGUMENTS: &str = "toolgate/input";

/// What the session has taken in, in the `_meta` of its answers.
pub(super) const SESSION: &str = "toolgate/session";

impl Filtered {
    /// Cleans an output: every text by where it comes from. `delimiter`: fresh random letters and digits that no text can know.
    /// # Errors  `review_denied`: the manifest denies what was found.
    pub fn of(output: Output, settings: &Filters, delimiter: &str, provenance: Provenance) -> Result<Self, Refusal> {
        cleaning::parts(output, settings, delimiter, provenance).map(Self)
    }

    /// An answer made of parts that the filters have been over.
    pub(super) const fn of_parts(parts: Parts) -> Self {
        Self(parts)
    }

    /// What it holds, to look at.
    pub fn parts(&self) -> &Parts {
        &self.0
    }

    /// What it holds, to send.
    pub fn into_parts(self) -> Parts {
        self.0
    }

    /// Says in its `_meta` that the session has taken in untrusted content, by this answer or before.
    #[must_use]
    pub fn in_untrusted_session(mut self) -> Self {
        let mut fact = Map::from_iter([("untrusted".to_owned(), json!(true))]);
        if let Some(source) = &self.0.untrusted {
            fact.insert("source".to_owned(), json!(super::escape_line(source)));
        }
        self.0.meta.insert(SESSION.to_owned(), Value::Object(fact));
        self
    }

    /// Says in its `_meta` what was found in the arguments of the call.
    #[must_use]
    pub fn with_arguments(mut self, found: &[Count]) -> Self {
        if !found.is_empty() {
            self.0.meta.insert(ARGUMENTS.to_owned(), json!({"found": found}));
        }
        self
    }
}

#[cfg(test)]
#[path = "filtered_tests.rs"]
mod tests;
