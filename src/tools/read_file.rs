//! `read_file`: one file, or some of its lines.

use std::sync::LazyLock;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::answer::{LARGE, heavy, stop, time};
use super::schema;
use crate::gate::Permit;
use crate::model::{self, Action, Argument, Block, CallPath, Encoding, Failure, Flag, Flags, Origin, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::sandbox::root::{Content, Reading};
use crate::tool::{Card, Stage, Tool};

/// `read_file`
#[derive(Debug)]
pub(super) struct ReadFile;

static SPEC: ToolSpec = ToolSpec {
    name: "read_file",
    flags: Flags::of(&[Flag::ReadFile]),
    arguments: &[
        Argument { name: "path", default: None },
        Argument { name: "offset", default: Some("1") },
        Argument { name: "limit", default: None },
        Argument { name: "encoding", default: Some("\"utf-8\"") },
    ],
    inside: &[],
};

static INPUT: LazyLock<Map<String, Value>> = LazyLock::new(|| schema::input::<Args>(&SPEC));

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    path: String,
    /// First line.
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    #[schemars(description = "")]
    encoding: Option<Encoding>,
}

impl Tool for ReadFile {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Read a file",
            description: "Reads a text file, or some of its lines. A cut answer says which offset to go on with. Pictures come as images, other \
                          binary files only in base64.",
            read_only: true,
            destructive: false,
            idempotent: true,
            open_world: false,
            input_schema: INPUT.clone(),
            output_schema: None,
        }
    }

    fn known_as(&self) -> &'static [&'static str] {
        &["cat", "head", "tail", "view", "view_file", "open", "open_file", "read", "read_text_file", "get_file_contents", "file_read"]
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let args: Args = schema::parse(&INPUT, arguments)?;
        Ok(Action::ReadFile(model::ReadFile {
            path: CallPath::parse(&args.path)?,
            offset: args.offset.unwrap_or(1),
            limit: args.limit,
            encoding: args.encoding.unwrap_or_default(),
        }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let permit = permit.narrow::<model::ReadFile>()?;
            let stop = stop(&stage, &permit);
            stop.check()?;
            let large = permit.opened().first().is_some_and(|opened| opened.fact.size > LARGE);
            let reading = heavy(large, || sandbox.roots.read(permit, &stop))?;
            Ok(answer(reading))
        })
    }
}

fn answer(reading: Reading) -> Output {
    let mut facts = Map::new();
    facts.insert("path".to_owned(), reading.target.to_string().into());
    facts.insert("size".to_owned(), reading.size.into());
    facts.insert("modified".to_owned(), time(reading.modified_ns).into());
    for (key, value) in [
        ("sha256", reading.sha256.map(Value::from)),
        ("lines", reading.lines.map(Value::from)),
        ("next_offset", reading.next.map(Value::from)),
    ] {
        if let Some(value) = value {
            facts.insert(key.to_owned(), value);
        }
    }
    let cut = reading.next.is_some() || reading.cut_inside;
    facts.insert("truncated".to_owned(), cut.into());
    let mut blocks = vec![match reading.content {
        Content::Text(text) => Block::Text { text, origin: Origin::File },
        Content::Base64(text) => {
            facts.insert("encoding".to_owned(), "base64".into());
            Block::Text { text, origin: Origin::File }
        }
        Content::Image { data, mime_type } => {
            facts.insert("mime_type".to_owned(), mime_type.into());
            Block::Image { data, mime_type: mime_type.to_owned() }
        }
    }];
    if cut {
        let last = reading.first + reading.shown.max(1) - 1;
        let of = reading.lines.map(|lines| format!(" of {lines}")).unwrap_or_default();
        let inside = if reading.cut_inside { format!("; line {last} is longer than an answer may be and is cut") } else { String::new() };
        let on = reading.next.map(|next| format!("; go on with offset {next}")).unwrap_or_default();
        blocks.push(Block::Text { text: format!("[lines {} to {last}{of}{inside}{on}]", reading.first), origin: Origin::Own });
    }
    let mut output = Output { blocks, masked: reading.masked, ..Output::default() };
    output.meta.insert("toolgate/file".to_owned(), Value::Object(facts));
    output
}
