//! `read_file`: one file, or some of its lines.

use std::sync::Arc;
use std::time::Instant;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::answer::{LARGE, heavy, known, stop, time};
use super::schema::{self, arguments};
use crate::gate::Permit;
use crate::model::{self, Action, Block, CallPath, Code, Encoding, Failure, Flag, Origin, Output, Refusal, ToolSpec};
use crate::sandbox::Sandbox;
use crate::sandbox::files::{Content, Form, Reading};
use crate::sandbox::pages::{Job, Source};
use crate::tool::{Card, Stage, Tool};
use toolgate_page::{Format, Mode};

/// `read_file`
#[derive(Debug)]
pub(super) struct ReadFile;

arguments! {
    /// ROOT/folder/file
    path: String,
    /// First line to read.
    #[schemars(range(min = 1))]
    offset: u64 = 1,
    /// Most lines to return.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// First column of the first line.
    #[schemars(range(min = 1))]
    column: u64 = 1,
    line_numbers: bool = false,
    encoding: Encoding = "utf-8",
}

static SPEC: ToolSpec = ToolSpec::new("read_file", &[Flag::ReadFile], ARGUMENTS);

impl Tool for ReadFile {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Read a file",
            description: "Reads a text file or some of its lines. A truncated answer says how to continue. PDF files and notebooks are returned \
                          as text, pictures as images, other binary files only as base64.",
            known_as: "cat head tail view view_file open open_file read read_text_file get_file_contents file_read",
            ..Card::reads(&INPUT)
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let Args { path, offset, limit, column, line_numbers, encoding } = Args::read(arguments)?;
        if line_numbers && encoding == Encoding::Base64 {
            return Err(schema::invalid("line_numbers", "absent with encoding `base64`, which has no lines", "true"));
        }
        let path = CallPath::parse(&path)?;
        Ok(Action::ReadFile(model::ReadFile { path, offset, limit, column, line_numbers, encoding }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let permit = permit.narrow::<model::ReadFile>()?;
            let stop = stop(&stage, &permit);
            stop.check()?;
            let (action, terms, began) = (permit.action().clone(), Arc::clone(permit.terms()), Instant::now());
            let large = permit.opened().first().is_some_and(|opened| opened.fact.size > LARGE);
            let mut reading = heavy(large, || sandbox.roots.read(permit, &stop))?;
            let Content::Pdf(bytes) = &mut reading.content else { return Ok(answer(reading, &action)) };
            let bytes = std::mem::take(bytes);
            let job = Job { source: Source::Pdf, mode: Mode::Page, format: Format::Text, content_type: None, base: None };
            // What was read by then is still answered within the time of the call.
            let left = terms.timeout.saturating_sub(began.elapsed());
            let article = sandbox.readers.read(&job, &bytes, left * 3 / 4).await.map_err(|failure| unread(&reading, failure))?;
            let reading = heavy(article.text.len() as u64 > LARGE, || reading.with_text(article.text, &action, &terms))?;
            let mut output = answer(reading, &action);
            if article.truncated {
                let missing = "[parts of the file could not be read, or not in time; their text is missing]";
                output.blocks.push(Block::text(missing, Origin::Own));
            }
            Ok(output)
        })
    }
}

/// Why the text of a PDF file was not read.
fn unread(reading: &Reading, failure: Failure) -> Failure {
    let Failure(refusal) = failure;
    let message = match refusal.code {
        Code::Unreadable => refusal.message.replace("the page", &format!("`{}`", reading.target)),
        _ => refusal.message,
    };
    Failure::new(refusal.code, message).hint("encoding `base64` gives its bytes")
}

/// What the bytes are, where the text is not they themselves, in a word and as a note.
fn note(form: Form, is_marked: bool) -> Option<(&'static str, String)> {
    Some(match form {
        Form::Text if is_marked => ("utf-8-bom", "[UTF-8 with a byte order mark, which edit_file keeps]".to_owned()),
        Form::Text => return None,
        Form::Decoded { encoding, broken: 0 } => {
            (encoding, format!("[read as {encoding}; edit_file refuses it, and write_file would make it UTF-8]"))
        }
        Form::Decoded { encoding, broken } => {
            let places = if broken == 1 { "1 place is".to_owned() } else { format!("{broken} places are") };
            (encoding, format!("[{places} not {encoding} and shown as U+FFFD; edit_file refuses the file]"))
        }
        Form::Pdf => ("pdf", "[the text of a PDF file]".to_owned()),
        Form::Notebook => {
            ("notebook", "[the cells of a notebook; edit_file and search_files see its JSON, as does encoding `base64`]".to_owned())
        }
    })
}

fn answer(reading: Reading, action: &model::ReadFile) -> Output {
    let mut facts = known(json!({
        "path": reading.target.to_string(),
        "size": reading.size,
        "modified": time(reading.modified_ns),
        "sha256": reading.sha256,
        "lines": reading.lines,
        "next_offset": reading.next,
        "next_column": reading.next_column,
        "truncated": reading.next.is_some(),
    }));
    let mut is_marked = false;
    let mut blocks = vec![match reading.content {
        Content::Text(text) => {
            is_marked = reading.first == 1 && text.starts_with('\u{feff}');
            match (text.is_empty(), reading.size) {
                (false, _) => Block::text(text, Origin::File),
                (true, 0) => Block::text("[empty file]", Origin::Own),
                (true, _) => Block::text("[no text]", Origin::Own),
            }
        }
        // The text of these bytes is read before there is an answer.
        Content::Pdf(_) => Block::text("", Origin::Own),
        Content::Base64(text) if text.is_empty() => Block::text("[empty file]", Origin::Own),
        Content::Base64(text) => {
            facts.insert("encoding".to_owned(), "base64".into());
            Block::text(text, Origin::File)
        }
        Content::Image { data, mime_type } => {
            facts.insert("mime_type".to_owned(), mime_type.into());
            Block::Image { data, mime_type: mime_type.to_owned() }
        }
    }];
    if let Some(next) = reading.next {
        let last = reading.first + reading.shown.max(1) - 1;
        let of = reading.lines.map(|lines| format!(" of {lines}")).unwrap_or_default();
        // A file too large to be read whole is read by a limit alone.
        let limit = action.limit.map(|limit| format!(" and limit {limit}")).unwrap_or_default();
        let on = match reading.next_column {
            None => format!("go on with offset {next}{limit}"),
            Some(column) => format!(
                "line {next} is longer than an answer may be; go on inside it with offset {next}, column {column}{limit}, or after it with offset {}{limit}",
                next + 1
            ),
        };
        blocks.push(Block::text(format!("[lines {} to {last}{of}; {on}]", reading.first), Origin::Own));
    }
    if let Some((name, note)) = note(reading.form, is_marked) {
        facts.insert("read_as".to_owned(), name.into());
        blocks.push(Block::text(note, Origin::Own));
    }
    let numbered_from = action.line_numbers.then_some(reading.first);
    let mut output = Output { blocks, masked: reading.masked, numbered_from, ..Output::default() };
    output.meta.insert("toolgate/file".to_owned(), Value::Object(facts));
    output
}
