//! What the official suite wants to find at a server: tools, prompts and resources of its own choosing, behind the product's HTTP stack.

#![expect(deprecated, reason = "the suite of 2025-11-25 asks for what 2026-07-28 has taken back")]

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CreateMessageRequestParams, ElicitRequestParams,
    ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, InputRequiredResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam,
    ReadResourceRequestParams, ReadResourceResponse, RequestStateCodec, SealOptions, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A picture of one red point, and a sound of nothing.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Clone)]
pub(crate) struct Fixtures {
    codec: Arc<RequestStateCodec>,
}

impl Fixtures {
    pub(crate) fn new() -> Self {
        Self { codec: Arc::new(RequestStateCodec::try_new([7; 32]).unwrap()) }
    }

    fn seal(&self, what: &str) -> String {
        self.codec.seal_with(what.as_bytes(), &SealOptions::new())
    }

    /// What was sealed; none when nothing came back.
    fn opened(&self, state: Option<&String>) -> Result<Option<String>, ErrorData> {
        let Some(state) = state else { return Ok(None) };
        let opened = self.codec.open_with(state, b"").map_err(|_| ErrorData::invalid_params("the request state was changed", None))?;
        Ok(Some(String::from_utf8(opened).unwrap()))
    }
}

fn model<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap_or_else(|fault| panic!("a fixture has not the form of its type: {fault}"))
}

/// A result that is whole, as 2026-07-28 wants it told.
fn whole<T: DeserializeOwned>(mut value: Value) -> T {
    value["resultType"] = json!("complete");
    model(value)
}

fn content(blocks: &Value) -> CallToolResponse {
    CallToolResponse::Complete(whole(json!({"content": blocks})))
}

fn text(text: &str) -> CallToolResponse {
    content(&json!([{"type": "text", "text": text}]))
}

fn form(message: &str, name: &str, kind: &str) -> Value {
    let schema = json!({"type": "object", "properties": {name: {"type": kind}}, "required": [name]});
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}})
}

fn sampling(prompt: &str) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}})
}

fn ask(requests: Value, state: Option<String>) -> InputRequiredResult {
    InputRequiredResult::new(Some(model(requests)), state)
}

fn tool(name: &str, schema: &Value) -> Tool {
    model(json!({"name": name, "description": format!("A fixture of the conformance suite: {name}"), "inputSchema": schema}))
}

fn tools() -> Vec<Tool> {
    let nothing = json!({"type": "object", "properties": {}});
    let one = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    let mut tools: Vec<Tool> = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_tool_with_progress",
        "test_error_handling",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_reconnection",
        "test_missing_capability",
        "test_streaming_elicitation",
        "test_logging_tool",
        "test_input_required_result_elicitation",
        "test_input_required_result_sampling",
        "test_input_required_result_list_roots",
        "test_input_required_result_request_state",
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
        "test_input_required_result_tampered_state",
        "test_input_required_result_capabilities",
    ]
    .iter()
    .map(|name| tool(name, &nothing))
    .collect();
    tools.push(tool("test_sampling", &one("prompt")));
    tools.push(tool("test_elicitation", &one("message")));
    let header = json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
    tools.push(tool("test_custom_header", &header));
    tools.push(tool(
        "json_schema_2020_12_tool",
        &json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"address": {"$anchor": "addressDef", "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
            "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}},
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]}, "else": {"required": ["email"]},
            "additionalProperties": false,
        }),
    ));
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools
}

fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    }})
}

fn choices() -> Value {
    let titled = |name: &str, title: &str| {
        (1..=3).map(|n| json!({"const": format!("value{n}"), "title": format!("{title} {name} {n}")})).collect::<Vec<_>>()
    };
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": titled("Option", "The")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice", "The")}},
    }})
}

impl Fixtures {
    /// A question during the call, as the handshake era has it.
    async fn elicit(message: &str, schema: &Value, context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let params: ElicitRequestParams = model(json!({"mode": "form", "message": message, "requestedSchema": schema}));
        let answer = context.peer.create_elicitation_with_timeout(params, Some(Duration::from_secs(10))).await;
        let answer = answer.map_err(|fault| ErrorData::internal_error(fault.to_string(), None))?;
        let action = json!(answer.action);
        Ok(text(&format!("Elicitation completed: action={}, content={}", action.as_str().unwrap_or_default(), json!(answer.content))))
    }

    fn repeated(
        &self,
        params: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<CallToolResponse>, ErrorData> {
        let state = self.opened(params.request_state.as_ref())?;
        let answers = params.input_responses.as_ref().map_or(Value::Null, |answers| json!(answers));
        let has = |name: &str| answers.get(name).is_some_and(Value::is_object);
        let answer = match params.name.as_ref() {
            "test_input_required_result_elicitation" if has("user_name") => {
                text(&format!("Hello, {}!", answers["user_name"]["content"]["name"].as_str().unwrap_or("you")))
            }
            "test_input_required_result_elicitation" | "test_streaming_elicitation" => {
                ask(json!({"user_name": form("What is your name?", "name", "string")}), None).into()
            }
            "test_input_required_result_sampling" if has("capital_question") => text(&answers["capital_question"]["content"].to_string()),
            "test_input_required_result_sampling" => {
                ask(json!({"capital_question": sampling("What is the capital of France?")}), None).into()
            }
            "test_input_required_result_list_roots" if has("client_roots") => text(&answers["client_roots"]["roots"].to_string()),
            "test_input_required_result_list_roots" => ask(json!({"client_roots": {"method": "roots/list", "params": {}}}), None).into(),
            "test_input_required_result_request_state" if has("confirm") && state.as_deref() == Some("asked") => text("state-ok"),
            "test_input_required_result_request_state" | "test_input_required_result_tampered_state" if state.is_none() => {
                ask(json!({"confirm": form("Please confirm", "ok", "boolean")}), Some(self.seal("asked"))).into()
            }
            "test_input_required_result_tampered_state" => text("confirmed"),
            "test_input_required_result_multiple_inputs" if has("user_name") && has("greeting") && has("client_roots") => text("all there"),
            "test_input_required_result_multiple_inputs" => ask(
                json!({
                    "user_name": form("What is your name?", "name", "string"),
                    "greeting": sampling("Generate a greeting"),
                    "client_roots": {"method": "roots/list", "params": {}},
                }),
                Some(self.seal("several")),
            )
            .into(),
            "test_input_required_result_multi_round" => match state.as_deref() {
                None => ask(json!({"step1": form("Step 1: What is your name?", "name", "string")}), Some(self.seal("one"))).into(),
                Some("one") => {
                    ask(json!({"step2": form("Step 2: What is your favorite color?", "color", "string")}), Some(self.seal("two"))).into()
                }
                Some(_) => text("both steps done"),
            },
            "test_input_required_result_capabilities" => {
                let declared = context.client_capabilities().map_or(Value::Null, |declared| json!(declared));
                let mut requests = json!({});
                if declared.get("sampling").is_some() {
                    requests["greeting"] = sampling("Generate a greeting");
                }
                if declared.get("elicitation").is_some() {
                    requests["user_name"] = form("What is your name?", "name", "string");
                }
                ask(requests, None).into()
            }
            _ => return Ok(None),
        };
        Ok(Some(answer))
    }
}

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        model(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "prompts": {}, "resources": {"subscribe": true}, "logging": {}, "completions": {}},
            "serverInfo": {"name": "toolgate-fixtures", "version": "1"},
        }))
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(&self, params: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        if let Some(answer) = self.repeated(&params, &context)? {
            return Ok(answer);
        }
        let argument =
            |name: &str| params.arguments.as_ref().and_then(|all| all.get(name)?.as_str().map(str::to_owned)).unwrap_or_default();
        let picture = json!({"type": "image", "data": PICTURE, "mimeType": "image/png"});
        match params.name.as_ref() {
            "test_simple_text" => Ok(text("This is a simple text response for testing.")),
            "test_image_content" => Ok(content(&json!([picture]))),
            "test_audio_content" => Ok(content(&json!([{"type": "audio", "data": SOUND, "mimeType": "audio/wav"}]))),
            "test_embedded_resource" => Ok(content(&json!([{"type": "resource", "resource": {
                "uri": "test://embedded-resource", "mimeType": "text/plain", "text": "This is an embedded resource content."}}]))),
            "test_multiple_content_types" => Ok(content(&json!([
                {"type": "text", "text": "Multiple content types test:"}, picture,
                {"type": "resource", "resource": {"uri": "test://mixed-content-resource", "mimeType": "application/json",
                    "text": "{\"test\":\"data\",\"value\":123}"}},
            ]))),
            "test_tool_with_logging" => {
                for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                    let note: LoggingMessageNotificationParam = model(json!({"level": "info", "data": line}));
                    let _ = context.peer.notify_logging_message(note).await;
                    tokio::time::sleep(PAUSE).await;
                }
                Ok(text("logged"))
            }
            "test_tool_with_progress" => {
                if let Some(token) = context.meta.get_progress_token() {
                    for done in [0.0, 50.0, 100.0] {
                        let _ = context.peer.notify_progress(ProgressNotificationParam::new(token.clone(), done).with_total(100.0)).await;
                        tokio::time::sleep(PAUSE).await;
                    }
                }
                Ok(text("progressed"))
            }
            "test_error_handling" => Ok(CallToolResponse::Complete(whole(json!({
                "isError": true, "content": [{"type": "text", "text": "This tool intentionally returns an error for testing"}]})))),
            "test_sampling" => {
                let asked: CreateMessageRequestParams = model(sampling(&argument("prompt"))["params"].clone());
                let answer =
                    context.peer.create_message(asked).await.map_err(|fault| ErrorData::internal_error(fault.to_string(), None))?;
                Ok(text(&format!("LLM response: {}", json!(answer)["content"])))
            }
            "test_elicitation" => {
                let schema = json!({"type": "object", "required": ["username", "email"], "properties": {
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"}}});
                Self::elicit(&argument("message"), &schema, &context).await
            }
            "test_elicitation_sep1034_defaults" => Self::elicit("Please fill in", &defaults(), &context).await,
            "test_elicitation_sep1330_enums" => Self::elicit("Please choose", &choices(), &context).await,
            "test_missing_capability" => {
                let declared = context.client_capabilities().map_or(Value::Null, |declared| json!(declared));
                if declared.get("sampling").is_some() {
                    return Ok(text("sampling is declared"));
                }
                let data = json!({"requiredCapabilities": {"sampling": {}}});
                Err(ErrorData::new(ErrorCode(-32021), "the client has not declared sampling", Some(data)))
            }
            "test_logging_tool" | "test_reconnection" | "test_custom_header" | "json_schema_2020_12_tool" => Ok(text("done")),
            other => Err(ErrorData::invalid_params(format!("there is no tool `{other}`"), None)),
        }
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn complete(&self, _: CompleteRequestParams, _: RequestContext<RoleServer>) -> Result<CompleteResult, ErrorData> {
        Ok(whole(json!({"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": false}})))
    }

    async fn list_prompts(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListPromptsResult, ErrorData> {
        let argument = |name: &str| json!({"name": name, "description": "An argument of the test", "required": true});
        Ok(whole(json!({"prompts": [
            {"name": "test_input_required_result_prompt", "description": "asks before it answers"},
            {"name": "test_prompt_with_arguments", "description": "has arguments", "arguments": [argument("arg1"), argument("arg2")]},
            {"name": "test_prompt_with_embedded_resource", "description": "embeds", "arguments": [argument("resourceUri")]},
            {"name": "test_prompt_with_image", "description": "shows"},
            {"name": "test_simple_prompt", "description": "says"},
        ]})))
    }

    async fn get_prompt(&self, params: GetPromptRequestParams, _: RequestContext<RoleServer>) -> Result<GetPromptResponse, ErrorData> {
        let argument =
            |name: &str| params.arguments.as_ref().and_then(|all| json!(all)[name].as_str().map(str::to_owned)).unwrap_or_default();
        let says = |text: &str| json!({"role": "user", "content": {"type": "text", "text": text}});
        let messages = match params.name.as_str() {
            "test_simple_prompt" => json!([says("This is a simple prompt for testing.")]),
            "test_prompt_with_arguments" => {
                json!([says(&format!("Prompt with arguments: arg1='{}', arg2='{}'", argument("arg1"), argument("arg2")))])
            }
            "test_prompt_with_embedded_resource" => json!([
                {"role": "user", "content": {"type": "resource", "resource": {"uri": argument("resourceUri"), "mimeType": "text/plain",
                    "text": "Embedded resource content for testing."}}},
                says("Please process the embedded resource above."),
            ]),
            "test_prompt_with_image" => json!([
                {"role": "user", "content": {"type": "image", "data": PICTURE, "mimeType": "image/png"}},
                says("Please analyze the image above."),
            ]),
            "test_input_required_result_prompt" if params.input_responses.is_none() => {
                return Ok(ask(json!({"user_context": form("What context should the prompt use?", "context", "string")}), None).into());
            }
            "test_input_required_result_prompt" => json!([says("with its context")]),
            other => return Err(ErrorData::invalid_params(format!("there is no prompt `{other}`"), None)),
        };
        Ok(GetPromptResponse::Complete(whole(json!({"messages": messages}))))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let one = |uri: &str, kind: &str| json!({"uri": uri, "name": uri, "description": "A resource of the test", "mimeType": kind});
        Ok(whole(json!({"resources": [
            one("test://static-text", "text/plain"), one("test://static-binary", "image/png"), one("test://watched-resource", "text/plain"),
        ]})))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(whole(json!({"resourceTemplates": [
            {"uriTemplate": "test://template/{id}/data", "name": "data", "description": "data by id", "mimeType": "application/json"},
        ]})))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = params.uri.as_str();
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let contents = match (uri, id) {
            ("test://static-text" | "test://watched-resource", _) => {
                json!({"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."})
            }
            ("test://static-binary", _) => json!({"uri": uri, "mimeType": "image/png", "blob": PICTURE}),
            (_, Some(id)) => {
                let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()})
            }
            _ => return Err(ErrorData::resource_not_found("there is no such resource", Some(json!({"uri": uri})))),
        };
        Ok(ReadResourceResponse::Complete(whole(json!({"contents": [contents]}))))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }
}
