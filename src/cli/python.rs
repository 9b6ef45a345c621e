//! `toolgate python`: a program in the sandbox, by one real call of the tool through the whole gate.

use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::jsonl::reader;
use super::run::{End, Fault, Globals, Report};
use super::setup::{self, Choice};
use crate::calls;
use crate::entry::Answer;
use crate::gate::Asker;
use crate::model::{Block, Caller, Channel, ClientLabel, Question, ToolCall};
use crate::sandbox::{Progress, Stage};

/// Run a Python program in the sandbox, by the rules of the manifest.
#[derive(Debug, Args)]
pub(super) struct Python {
    /// The program; `-` reads standard input.
    file: PathBuf,
    #[command(flatten)]
    choice: Choice,
}

pub(super) fn run(arguments: &Python, globals: &Globals) -> Result<Report, Fault> {
    let mut code = String::new();
    reader(&arguments.file)?.read_to_string(&mut code)?;
    let found = setup::find_trusted(globals.manifest.as_deref(), &arguments.choice.roots)?;
    let profile = setup::stdio_profile(&found.manifest, &arguments.choice)?;
    let server = setup::build(found)?;
    let caller = operator(profile);
    let session = caller.session.clone();
    let call = ToolCall {
        tool: "run_python".to_owned(),
        arguments: Map::from_iter([("code".to_owned(), json!(code))]),
        malformed: None,
        trace: None,
        caller,
        repeat: None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let stage = Stage { cancel: tokio_util::sync::CancellationToken::new(), progress: Progress::default() };
    let reply = runtime.block_on(async {
        let place = server.gate().queue().enter();
        let reply = calls::answer(&server, call, &Nobody, stage, &place).await;
        server.sandbox().close().await;
        reply
    });
    server.session_ends(&session);
    server.close();
    let (failed, text, json) = match reply.into_answer() {
        Answer::Done { filtered, .. } => {
            let parts = filtered.into_parts();
            let texts = parts.blocks.iter().filter_map(|block| match block {
                Block::Text { text, .. } => Some(text.as_str()),
                Block::Image { .. } => None,
            });
            (parts.is_error, texts.collect::<Vec<_>>().join("\n"), parts.structured.map_or(Value::Null, Value::Object))
        }
        Answer::Refused { refusal, .. } => (true, refusal.to_string(), json!(refusal)),
        Answer::Ask { question, .. } => (true, question.text, Value::Null),
    };
    Ok(Report { json, text: format!("{}\n", text.trim_end_matches('\n')), end: End::of(!failed) })
}

/// The caller of the command line: its calls put no question.
pub(super) fn operator(profile: Option<String>) -> Caller {
    Caller {
        principal: "operator".to_owned(),
        session: format!("cli_{}", std::process::id()),
        profile,
        client: ClientLabel { name: "toolgate".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        channel: Channel::None,
    }
}

/// Nobody to ask.
struct Nobody;

impl Asker for Nobody {
    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<Value>> {
        async { None }.boxed()
    }

    fn seal(&self, _: &[u8], _: std::time::Duration) -> Option<String> {
        None
    }

    fn open(&self, _: &str) -> Option<Vec<u8>> {
        None
    }
}
