//! Floor 6: what the log lines of a call say. They are for whoever watches the process; the record of a call is the audit log.
//!
//! No line holds arguments, contents or headers: only names that the server itself gave, and those of the manifest and of the caller's identity.

use std::time::Duration;

use tracing::Span;

use crate::context::ServerContext;
use crate::entry::{Entry, Status};
use crate::filter::Filtered;
use crate::model::{Refusal, ToolCall};
use crate::tool::Tool;

/// The span of a call; every line that is written while it runs stands in it.
pub(crate) fn span(server: &ServerContext, entry: &Entry, call: &ToolCall) -> Span {
    // A name that no tool has is the caller's text.
    let tool = || server.tool(&call.tool).map_or("unknown", |tool: &dyn Tool| tool.spec().name);
    // W3C Trace Context, section 3.2: version, trace, parent, flags.
    let trace = || call.trace.as_deref().and_then(|parent| parent.split('-').nth(1));
    tracing::info_span!(
        "tool_call",
        call_id = entry.id(),
        tool = tool(),
        session = call.caller.session,
        principal = call.caller.principal,
        profile = call.caller.profile,
        trace_id = trace()
    )
}

/// A call that answered.
pub(crate) fn answered(span: &Span, filtered: &Filtered, status: Status, time: Duration) {
    let code = filtered.parts().code.map(crate::model::Code::as_str);
    tracing::info!(parent: span, outcome = status.as_str(), code, bytes_out = filtered.parts().size(), elapsed_ms = millis(time), "call");
}

/// A call that waits for its repetition with a person's answer.
pub(crate) fn asked(span: &Span, time: Duration) {
    tracing::info!(parent: span, outcome = "asked", elapsed_ms = millis(time), "call");
}

/// A call that was refused, or whose tool failed.
pub(crate) fn refused(span: &Span, refusal: &Refusal, status: Status, time: Duration) {
    let (code, rule) = (refusal.code.as_str(), refusal.rule.as_deref());
    tracing::info!(parent: span, outcome = status.as_str(), code, rule, elapsed_ms = millis(time), "call");
}

/// Milliseconds with three places.
fn millis(time: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "microseconds of a call are far below 2^52")]
    let micros = time.as_micros() as f64;
    micros / 1e3
}
