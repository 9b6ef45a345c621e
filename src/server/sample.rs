//! The client's own model as a reviewer: `sampling/createMessage`, which older clients offer. Its answer can only tighten.

#![expect(deprecated, reason = "sampling ends with 2026-07-28 and serves the clients before it")]

use std::time::Duration;

use rmcp::model::CreateMessageRequestParams;
use serde_json::json;

use super::asker::ClientAsker;

/// Words a verdict needs; more of them are a doubt anyway.
const TOKENS: u32 = 300;

/// What the client's model says to a text; nothing when the client has no sampling, is too new for it, or did not answer in time.
pub(super) async fn sample(asker: &ClientAsker, instructions: &str, text: &str, wait: Duration) -> Option<String> {
    asker.context.client_capabilities().and_then(|declared| declared.sampling).filter(|_| !asker.is_modern)?;
    let params: CreateMessageRequestParams = serde_json::from_value(json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
        "systemPrompt": instructions,
        "includeContext": "none",
        "temperature": 0,
        "maxTokens": TOKENS,
    }))
    .ok()?;
    let request = asker.context.peer.create_message(params);
    let said = tokio::select! {
        said = tokio::time::timeout(wait, request) => said.ok()?,
        () = asker.context.ct.cancelled() => return None,
        () = asker.gone.cancelled() => return None,
    };
    let result = said.map_err(|fault| tracing::info!(%fault, "the client's model was not asked")).ok()?;
    // One text and nothing else: whatever is shaped otherwise is no verdict.
    let content = serde_json::to_value(&result.message.content).ok()?;
    let content = content.as_array().filter(|pieces| pieces.len() == 1).and_then(|pieces| pieces.first()).cloned().unwrap_or(content);
    Some(content.get("text")?.as_str()?.to_owned())
}
