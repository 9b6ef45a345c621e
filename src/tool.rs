//! Floor 5: the contract of a tool. It plans (pure) and executes (with a permit); everything between is the gate's.

use std::fmt::Debug;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::gate::Permit;
use crate::model::{Action, Failure, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;

pub use crate::sandbox::{Progress, Stage};

/// What a client is told of a tool.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "the protocol has these four hints, each its own")]
pub struct Card {
    /// A title for people.
    pub title: &'static str,
    /// What the model needs to use it well.
    pub description: &'static str,
    /// Names under which callers know such a tool elsewhere, in lower case with `_`, apart by spaces. No client is shown them: a call of one of them is
    /// answered with this tool's name.
    pub known_as: &'static str,
    /// It changes nothing.
    pub read_only: bool,
    /// It can destroy or replace what exists.
    pub destructive: bool,
    /// Doing it twice is doing it once.
    pub idempotent: bool,
    /// It reaches beyond this machine.
    pub open_world: bool,
    /// JSON Schema of the arguments: no `$ref`, no type arrays, `additionalProperties: false`.
    pub input_schema: &'static Map<String, Value>,
    /// JSON Schema of the structured answer, success and refusal alike; none where the answer is the text itself.
    pub output_schema: Option<Map<String, Value>>,
}

impl Card {
    /// The card of a tool that only reads, and whose answer is its text; title and description are to be filled in.
    pub const fn reads(input_schema: &'static Map<String, Value>) -> Self {
        Self {
            title: "",
            description: "",
            known_as: "",
            read_only: true,
            destructive: false,
            idempotent: true,
            open_world: false,
            input_schema,
            output_schema: None,
        }
    }

    /// The card of a tool that changes what exists, and answers with an object; title and description are to be filled in.
    pub fn changes(input_schema: &'static Map<String, Value>) -> Self {
        let output_schema = Some(Map::from_iter([("type".to_owned(), json!("object"))]));
        Self { read_only: false, destructive: true, idempotent: false, output_schema, ..Self::reads(input_schema) }
    }

    /// SHA-256 over all of it with the tool's name, in hex.
    pub fn digest(&self, name: &str) -> String {
        let told = json!({
            "name": name,
            "title": self.title,
            "description": self.description,
            "hints": [self.read_only, self.destructive, self.idempotent, self.open_world],
            "input": self.input_schema,
            "output": self.output_schema,
        });
        crate::gate::hex(&Sha256::digest(told.to_string().as_bytes()))
    }
}

/// The calls of another tool that a call consists of.
#[derive(Debug, Clone, Copy)]
pub struct Parts {
    /// The other tool's name.
    pub tool: &'static str,
    /// Names the parts, at least one. Fails with `argument_invalid` or `unknown_argument`.
    pub split: fn(Map<String, Value>) -> Result<Vec<Piece>, Refusal>,
    /// Whether the parts are done at one time, and not one after the other.
    pub at_once: bool,
    /// What the call does, in the record's word.
    pub effect: &'static str,
    /// Where in `_meta` the facts of each part are listed, e.g. `toolgate/files`.
    pub key: &'static str,
    /// Under which name the name of a part stands there, e.g. `path`.
    pub named: &'static str,
}

/// One of the calls that a call consists of.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// What it is about, as the caller wrote it.
    pub name: String,
    /// The arguments of the other tool.
    pub arguments: Map<String, Value>,
}

/// One tool. It knows no other tool and nothing of MCP.
pub trait Tool: Debug + Send + Sync {
    /// Its name, flags and arguments.
    fn spec(&self) -> &'static ToolSpec;

    /// What a client is told of it.
    fn card(&self) -> Card;

    /// Arguments to action: strict, pure. Unknown names and listed values were judged before.
    /// # Errors  `argument_invalid`, `argument_not_allowed`, `path_malformed`.
    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal>;

    /// The calls of another tool that a call of this one consists of, each of which is judged by itself. Such a tool plans and does nothing of its
    /// own. None for every other tool.
    fn parts(&self) -> Option<Parts> {
        None
    }

    /// Does what the permit names, once.
    /// # Errors  What the world said no with.
    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>>;
}
