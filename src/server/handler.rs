//! MCP's side of a call: requests become calls of the server, replies become results. Both eras, one handler.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, ContentBlock,
    CustomRequest, CustomResult, ErrorCode, ErrorData, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, MetaObject, PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig, SubscriptionFilter, Tool as McpTool, ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::asker::{APPROVAL, ClientAsker, channel, input_required};
use super::http::Session;
use super::message::Malformed;
use super::metrics::Metrics;
use super::resources;
use super::seal::Seals;
use crate::calls;
use crate::context::ServerContext;
use crate::entry::Answer;
use crate::gate::QueueEntry;
use crate::model::{Block, Caller, ClientLabel, Code, Inside, Refusal, Repeat, ToolCall};
use crate::tool::{Progress, Stage, Tool};
use crate::tools::schema::as_meant;

/// Who is on the other end, as the transport established it.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    /// The authenticated identity.
    pub(super) principal: String,
    /// The session.
    pub(super) session: String,
    /// The profile it maps to.
    pub(super) profile: Option<String>,
}

/// The handler of one connection: a cheap clone over the shared server.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) server: Arc<ServerContext>,
    pub(super) peer: Peer,
    pub(super) seals: Seals,
    /// Cancelled as soon as nobody can answer a question any more.
    pub(super) eof: CancellationToken,
    /// Cancelled when the session is to end: its calls end with it.
    pub(super) leaving: CancellationToken,
    /// The session's place at the HTTP endpoint.
    pub(super) session: Option<Arc<Session>>,
    /// What operators watch of the HTTP endpoint.
    pub(super) metrics: Option<Arc<Metrics>>,
}

/// How often it is looked whether a client that waits for changes is still there.
const STILL_THERE: Duration = Duration::from_secs(30);

impl Handler {
    fn this_server() -> Implementation {
        Implementation::new("toolgate", env!("CARGO_PKG_VERSION")).with_title("toolgate")
    }

    fn call(&self, params: CallToolRequestParams, context: &RequestContext<RoleServer>) -> ToolCall {
        let client = context.client_info().map_or_else(ClientLabel::default, |info| ClientLabel { name: info.name, version: info.version });
        let repeat = params.request_state.map(|state| Repeat {
            state,
            answer: params.input_responses.as_ref().and_then(|all| serde_json::to_value(all).ok()?.get(APPROVAL).cloned()),
        });
        let arguments = params.arguments.unwrap_or_default();
        ToolCall {
            arguments: match self.server.tool(&params.name) {
                Some(tool) => as_meant(tool.card().input_schema, arguments),
                None => arguments,
            },
            tool: params.name.into_owned(),
            trace: context.meta.0.get("traceparent").and_then(Value::as_str).filter(|text| is_trace(text)).map(str::to_owned),
            malformed: malformed(context).map(|found| found.0.clone()),
            caller: Caller {
                principal: self.peer.principal.clone(),
                session: self.peer.session.clone(),
                profile: self.peer.profile.clone(),
                client,
                channel: channel(context, is_modern(context)),
            },
            repeat,
        }
    }

    /// Sends progress notes where the client asked for them, in the order in which they are made: their values must increase. One that finds
    /// [`NOTES`] others waiting is left out.
    fn progress(context: &RequestContext<RoleServer>) -> Progress {
        let Some(token) = context.meta.get_progress_token() else { return Progress::default() };
        let peer = context.peer.clone();
        let (sender, mut notes) = tokio::sync::mpsc::channel(NOTES);
        // Ends when the call has let go of its progress.
        tokio::spawn(async move {
            while let Some(note) = notes.recv().await {
                if let Err(fault) = peer.notify_progress(note).await {
                    tracing::debug!(%fault, "a progress notification was not sent");
                }
            }
        });
        Progress::new(move |progress, total, message| {
            let mut note = ProgressNotificationParam::new(token.clone(), progress);
            note.message = Some(message).filter(|message| !message.is_empty());
            note.total = total;
            // A client that does not read misses some.
            let _ = sender.try_send(note);
        })
    }
}

/// Progress notes of one call that wait to be sent.
const NOTES: usize = 16;

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().enable_resources().build();
        let roots = self.server.roots_in_line(self.peer.profile.as_deref());
        ServerConfig::new(capabilities).with_server_info(Self::this_server()).with_instructions(format!(
            "Files are named ROOT/folder/file. Your roots: {roots}. Every call is judged by a policy. Read the resource toolgate://policy for \
             what you may do here. A refusal says which rule decided and what to do instead; repeating the same call does not help."
        ))
    }

    /// Tells the client when its list of tools is another one, as long as it is there.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (mut tools, gone) = (Tools::of(&self.server, self.peer.profile.clone()), self.eof.clone());
        tokio::spawn(async move {
            while !context.peer.is_transport_closed() {
                tokio::select! {
                    () = gone.cancelled() => return,
                    () = tokio::time::sleep(STILL_THERE) => continue,
                    changed = tools.change() => if !changed { return },
                }
                if let Err(fault) = context.peer.notify_tool_list_changed().await {
                    tracing::debug!(%fault, "a client was not notified of its new list of tools");
                }
            }
        });
    }

    /// From 2026-07-28 a client hears of changes on a stream that it asks for.
    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    /// The stream of a client that asked for it, until the client or the server ends it.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut tools = Tools::of(&self.server, self.peer.profile.clone());
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.eof.cancelled() => return Ok(()),
                changed = tools.change() => if !changed { return Ok(()) },
            }
            let is_wanted = context.accepted().tools_list_changed == Some(true);
            if is_wanted && let Err(fault) = context.sink().notify_tool_list_changed().await {
                tracing::debug!(%fault, "a client was not notified of its new list of tools");
            }
        }
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        one_page(request.as_ref())?;
        let profile = self.peer.profile.as_deref();
        let roots = self.server.roots_in_short(profile);
        self.server.listed(profile);
        let tools = self.server.tools_for(profile).into_iter().map(|tool| with_roots(describe(tool), tool, &roots)).collect();
        let mut result = ListToolsResult::with_all_items(tools).with_cache_scope(CacheScope::Private);
        stamp(&mut result.meta, &context);
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<McpTool> {
        // Asked for with every call of 2026-07-28: one tool is looked at, and its card is made once.
        let tool = self.server.tool(name)?;
        self.server.could_use(self.peer.profile.as_deref(), tool).then(|| describe(tool))
    }

    async fn call_tool(&self, params: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let call = self.call(params, &context);
        // Over standard input it was taken when the request was read, so that calls keep their order.
        let place = context.extensions.get::<Arc<QueueEntry>>().cloned().unwrap_or_else(|| Arc::new(self.server.gate().queue().enter()));
        // Over HTTP a session with a call under way, or one that waits for a person, is not idle.
        let _held = self.session.as_ref().map(|session| {
            session.begin(&self.server);
            session.hold()
        });
        let _running = self.metrics.as_ref().map(|metrics| metrics.running.one());
        let begun = Instant::now();
        let tool = self.server.tool(&call.tool).map_or("unknown", |tool| tool.spec().name);
        let progress = Self::progress(&context);
        // Cancelled by the client, by the end of the connection, or by the end of the server; a time-out of ours ends only this call.
        let cancel = context.ct.child_token();
        let asker = ClientAsker {
            is_modern: is_modern(&context),
            // Not a copy: it holds the head of the request.
            context,
            seals: self.seals.clone(),
            progress: progress.clone(),
            gone: self.eof.clone(),
            pending: self.metrics.as_ref().map(|metrics| metrics.pending.clone()),
        };
        let stop = cancel.clone();
        let mut answering = std::pin::pin!(calls::answer(&self.server, call, &asker, Stage { cancel, progress }, &place));
        let answer = tokio::select! {
            biased;
            answer = &mut answering => answer,
            () = self.leaving.cancelled() => {
                stop.cancel();
                answering.await
            }
        };
        let answer = answer.into_answer();
        if let Some(metrics) = &self.metrics {
            metrics.answered(tool, &answer, begun.elapsed());
        }
        respond(answer, &asker.context)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        one_page(request.as_ref())?;
        let mut result =
            ListResourcesResult::with_all_items(resources::list(&self.server, &self.peer)).with_cache_scope(CacheScope::Private);
        stamp(&mut result.meta, &context);
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let Some(contents) = resources::read(&self.server, &self.peer, &request.uri) else {
            let what = format!("there is no resource `{}`", crate::filter::escape_line(&request.uri));
            return Err(ErrorData::resource_not_found(what, Some(json!({"uri": request.uri}))));
        };
        let mut result = ReadResourceResult::new(vec![contents]).with_cache_scope(CacheScope::Private);
        stamp(&mut result.meta, &context);
        Ok(result.into())
    }

    // What is not declared is not there: rmcp would answer these with an empty success.
    async fn list_prompts(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListPromptsResult, ErrorData> {
        Err(no_method("prompts/list"))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        one_page(request.as_ref())?;
        let mut result = ListResourceTemplatesResult::with_all_items(Vec::new()).with_cache_scope(CacheScope::Private);
        stamp(&mut result.meta, &context);
        Ok(result)
    }

    async fn complete(&self, _: CompleteRequestParams, _: RequestContext<RoleServer>) -> Result<CompleteResult, ErrorData> {
        Err(no_method("completion/complete"))
    }

    async fn on_custom_request(&self, request: CustomRequest, _: RequestContext<RoleServer>) -> Result<CustomResult, ErrorData> {
        Err(no_method(&request.method))
    }
}

fn no_method(name: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{}`", crate::filter::escape_line(name)), None)
}

/// The tools of a profile, and when they are others.
struct Tools {
    server: Arc<ServerContext>,
    profile: Option<String>,
    known: (Vec<&'static str>, String),
    changes: tokio::sync::watch::Receiver<u64>,
}

impl Tools {
    fn of(server: &Arc<ServerContext>, profile: Option<String>) -> Self {
        // Before the look, so that no change between the two is missed.
        let changes = server.changes();
        let mut tools = Self { server: Arc::clone(server), profile, known: Default::default(), changes };
        tools.known = tools.listed();
        tools
    }

    /// What a list of tools is made of: the tools' names, and the roots.
    fn listed(&self) -> (Vec<&'static str>, String) {
        let profile = self.profile.as_deref();
        (self.server.tools_for(profile).iter().map(|tool| tool.spec().name).collect(), self.server.roots_in_line(profile))
    }

    /// Waits until the list is another one; false where they cannot change any more. Cancel-safe.
    async fn change(&mut self) -> bool {
        loop {
            if self.changes.changed().await.is_err() {
                return false;
            }
            let now = self.listed();
            if now != self.known {
                self.known = now;
                return true;
            }
        }
    }
}

/// Whether a text is a `traceparent` of version 00: only such a one may stand in records.
fn is_trace(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let hex = |part: &str, length: usize| part.len() == length && part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let some = |part: &str| part.bytes().any(|b| b != b'0');
    matches!(parts.as_slice(), ["00", trace, span, flags] if hex(trace, 32) && hex(span, 16) && hex(flags, 2) && some(trace) && some(span))
}

/// What the transport noticed of the message: the wire of standard input leaves it in the request, HTTP beside it.
fn malformed(context: &RequestContext<RoleServer>) -> Option<&Malformed> {
    let own = context.extensions.get::<Malformed>();
    own.or_else(|| context.extensions.get::<::http::request::Parts>()?.extensions.get::<Malformed>())
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    // ISO dates compare as text.
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Everything fits one page; a cursor can only be one we never gave.
fn one_page(request: Option<&PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|params| params.cursor.as_ref()) {
        Some(_) => Err(ErrorData::invalid_params("there is no page with this cursor", None)),
        None => Ok(()),
    }
}

/// From 2026-07-28 every result names its server (basic/index, `_meta`).
fn stamp(meta: &mut Option<MetaObject>, context: &RequestContext<RoleServer>) {
    if is_modern(context) {
        meta.get_or_insert_default().0.insert("io.modelcontextprotocol/serverInfo".to_owned(), json!(Handler::this_server()));
    }
}

/// A tool as clients see it: made when it is first asked for, then a copy that shares its schemas.
fn describe(tool: &'static dyn Tool) -> McpTool {
    static KNOWN: Mutex<BTreeMap<&'static str, McpTool>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(tool.spec().name).or_insert_with(|| description(tool)).clone()
}

/// Tells with a tool that takes paths which roots they can begin with.
fn with_roots(mut described: McpTool, tool: &'static dyn Tool, roots: &str) -> McpTool {
    let is_path = |name: &str| matches!(name, "path" | "paths" | "from" | "to" | "save_to");
    let spec = tool.spec();
    let holds_paths =
        spec.inside.iter().any(|(_, inside)| matches!(inside, Inside::Names(names) if names.iter().any(|name| is_path(name))));
    let takes_paths = holds_paths || spec.arguments.iter().any(|argument| is_path(argument.name));
    if let Some(description) = described.description.as_mut().filter(|_| takes_paths) {
        let _ = write!(description.to_mut(), " Roots: {roots}.");
    }
    described
}

fn description(tool: &'static dyn Tool) -> McpTool {
    let card = tool.card();
    let annotations = ToolAnnotations::default()
        .read_only(card.read_only)
        .destructive(card.destructive)
        .idempotent(card.idempotent)
        .open_world(card.open_world);
    let mut described = McpTool::new(tool.spec().name, card.description, Arc::new(card.input_schema.clone())).with_annotations(annotations);
    described.title = Some(card.title.to_owned());
    described.output_schema = card.output_schema.map(Arc::new);
    described
}

fn respond(answer: Answer, context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    let mut result = match answer {
        Answer::Ask { question, state } => {
            let mut asked = input_required(&question, state);
            stamp(&mut asked.meta, context);
            return Ok(asked.into());
        }
        Answer::Refused { refusal, call_id } if refusal.code == Code::UnknownTool => {
            let told = [Some(refusal.message), refusal.hint].into_iter().flatten().collect::<Vec<_>>().join("; ");
            return Err(ErrorData::invalid_params(told, Some(json!({"code": refusal.code, "call_id": call_id}))));
        }
        Answer::Refused { refusal, call_id } => refused(&refusal, &call_id),
        Answer::Done { filtered, call_id } => {
            let parts = filtered.into_parts();
            let is_empty = |block: &Block| matches!(block, Block::Text { text, .. } if text.is_empty());
            let pieces = parts.blocks.into_iter().filter(|block| !is_empty(block)).map(block).collect();
            let mut result = if parts.is_error { CallToolResult::error(pieces) } else { CallToolResult::success(pieces) };
            result.structured_content = parts.structured.map(|mut structured| {
                structured.insert("call_id".to_owned(), Value::String(call_id));
                Value::Object(structured)
            });
            if !parts.meta.is_empty() {
                result.meta.get_or_insert_default().0.extend(parts.meta);
            }
            result
        }
    };
    stamp(&mut result.meta, context);
    Ok(result.into())
}

/// A refusal or a failed tool: a text the model can act on, and the same facts as fields.
fn refused(refusal: &Refusal, call_id: &str) -> CallToolResult {
    let mut facts = match serde_json::to_value(refusal) {
        Ok(Value::Object(facts)) => facts,
        _ => Map::new(),
    };
    facts.insert("call_id".to_owned(), json!(call_id));
    let mut result = CallToolResult::error(vec![ContentBlock::text(refusal.to_string())]);
    result.structured_content = Some(Value::Object(facts));
    result
}

fn block(block: Block) -> ContentBlock {
    match block {
        Block::Text { text, .. } => ContentBlock::text(text),
        Block::Image { data, mime_type } => ContentBlock::image(STANDARD.encode(data), mime_type),
    }
}
