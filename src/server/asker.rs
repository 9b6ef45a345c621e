//! The two ways of asking through a client: during the call (before 2026-07-28), or by a sealed state and a repeated call.

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitationSchema, EnumSchema, InputRequest, InputRequests, InputRequiredResult, LegacyEnumSchema,
    PrimitiveSchemaDefinition, ProtocolVersion, StringSchema,
};
use rmcp::service::{RequestContext, ServiceError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::metrics::Gauge;
use super::seal::Seals;
use crate::gate::{Asker, Waits};
use crate::model::{Channel, Question};
use crate::tool::Progress;

/// One client during one call.
pub(super) struct ClientAsker {
    pub(super) context: RequestContext<RoleServer>,
    pub(super) seals: Seals,
    pub(super) progress: Progress,
    /// Cancelled when nobody can answer any more.
    pub(super) gone: CancellationToken,
    /// Of 2026-07-28 or later: nothing is asked during a call.
    pub(super) is_modern: bool,
    /// Counts the questions that wait.
    pub(super) pending: Option<Gauge>,
}

/// The one name under which an approval travels.
pub(super) const APPROVAL: &str = "approval";

/// Where an answer can come from, by what the client of this request declared.
pub(super) fn channel(context: &RequestContext<RoleServer>, is_modern: bool) -> Channel {
    let elicitation = context.client_capabilities().and_then(|declared| declared.elicitation);
    // `{}` means form mode (2025-11-25, client/elicitation); a client of URL mode alone cannot show our form.
    let form = elicitation.is_some_and(|declared| declared.form.is_some() || declared.url.is_none());
    match (form, is_modern) {
        (false, _) => Channel::None,
        (true, false) => Channel::During,
        (true, true) => Channel::Repeat,
    }
}

impl Asker for ClientAsker {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Value>> {
        async move {
            let _pending = self.pending.as_ref().map(Gauge::one);
            let asked =
                self.context.peer.create_elicitation_with_timeout(form(question, ChoiceFormat::of(&self.context)), Some(question.wait));
            let mut asked = std::pin::pin!(asked);
            let mut beat = tokio::time::interval(HEARTBEAT);
            beat.tick().await;
            let mut waited = 0.0;
            loop {
                tokio::select! {
                    answer = &mut asked => return match answer {
                        Ok(result) => Some(json!({"action": result.action, "content": result.content})),
                        // It came and cannot be read, or is an error: no yes, and not late either.
                        Err(fault @ (ServiceError::McpError(_) | ServiceError::UnexpectedResponse)) => {
                            tracing::info!(%fault, "an answer to a question cannot be read");
                            Some(json!({"action": "accept", "content": {}}))
                        }
                        Err(fault) => {
                            tracing::info!(%fault, "no answer to a question");
                            None
                        }
                    },
                    () = self.context.ct.cancelled() => return None,
                    () = self.gone.cancelled() => return None,
                    // Keeps clients from giving the call up while a person thinks, where they heed progress.
                    _ = beat.tick() => {
                        waited += HEARTBEAT.as_secs_f64();
                        self.progress.note(waited, None, "waiting for a person to answer");
                    }
                }
            }
        }
        .boxed()
    }

    fn waits(&self) -> Waits {
        if self.is_modern { Waits::Repeated } else { Waits::During }
    }

    fn beat(&self, waited: Duration) {
        self.progress.note(waited.as_secs_f64(), None, "waiting for an operator to answer");
    }

    fn gone(&self) -> BoxFuture<'_, ()> {
        async move {
            tokio::select! {
                () = self.context.ct.cancelled() => {}
                () = self.gone.cancelled() => {}
            }
        }
        .boxed()
    }

    fn is_cancelled(&self) -> bool {
        self.context.ct.is_cancelled() && !self.gone.is_cancelled()
    }

    fn sample<'a>(&'a self, instructions: &'a str, text: &'a str, wait: Duration) -> BoxFuture<'a, Option<String>> {
        super::sample::sample(self, instructions, text, wait).boxed()
    }

    fn seal(&self, state: &[u8], ttl: Duration) -> Option<String> {
        self.seals.seal(state, ttl)
    }

    fn open(&self, sealed: &str) -> Option<Vec<u8>> {
        self.seals.open(sealed)
    }
}

/// Below the 60 s after which common clients give a silent call up.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The answer that makes a 2026-07-28 client ask and repeat the call.
pub(super) fn input_required(question: &Question, state: String) -> InputRequiredResult {
    if question.by_operator {
        // Nothing is asked of the client: it only comes back, which the protocol calls a result with a request state alone.
        let mut waits = InputRequiredResult::from_request_state(state);
        let told = json!({"approval": question.id, "waits_for": "operator", "expires_in_s": question.wait.as_secs()});
        waits.meta.get_or_insert_default().0.insert("toolgate/approval".to_owned(), told);
        return waits;
    }
    let mut requests = InputRequests::new();
    requests.insert(APPROVAL.to_owned(), InputRequest::Elicitation(ElicitRequest::new(form(question, ChoiceFormat::OneOf))));
    InputRequiredResult::new(Some(requests), Some(state))
}

/// How a form gives the words of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChoiceFormat {
    /// `oneOf` with `const` and `title` (from 2025-11-25).
    OneOf,
    /// `enum` with `enumNames` (before).
    EnumNames,
}

impl ChoiceFormat {
    fn of(context: &RequestContext<RoleServer>) -> Self {
        // ISO dates compare as text.
        let knows = context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2025_11_25.as_str());
        if knows { Self::OneOf } else { Self::EnumNames }
    }
}

/// The form of the contract: `decision` first, nothing filled in, `deny` the first choice; `confirm` where a code was shown.
fn form(question: &Question, words: ChoiceFormat) -> ElicitRequestParams {
    let values: Vec<String> = question.choices.iter().map(|choice| choice.value.clone()).collect();
    let titles: Vec<String> = question.choices.iter().map(|choice| choice.title.clone()).collect();
    let named = |values: Vec<String>, titles| {
        let mut named = LegacyEnumSchema::new(values);
        named.enum_names = Some(titles);
        EnumSchema::Legacy(named)
    };
    let decision = match words {
        // There are as many titles as values.
        ChoiceFormat::OneOf => match EnumSchema::builder(values.clone()).enum_titles(titles.clone()) {
            Ok(builder) => builder.build(),
            Err(_) => named(values, titles),
        },
        ChoiceFormat::EnumNames => named(values, titles),
    };
    let mut schema = ElicitationSchema::builder().required_property("decision", PrimitiveSchemaDefinition::Enum(decision));
    if question.code.is_some() {
        let confirm = StringSchema::new().description("The code shown in the text.");
        schema = schema.required_property("confirm", PrimitiveSchemaDefinition::String(confirm));
    }
    ElicitRequestParams::FormElicitationParams { meta: None, message: question.text.clone(), requested_schema: schema.build_unchecked() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Choice;

    #[test]
    fn the_form_offers_no_first_on_top_and_fills_nothing_in() {
        let choice = |value: &str, title: &str| Choice { value: value.to_owned(), title: title.to_owned() };
        let mut question = Question {
            id: "a".into(),
            text: "Delete".into(),
            code: Some("K7QX".into()),
            choices: vec![choice("deny", "No"), choice("once", "Yes, this once")],
            wait: Duration::from_secs(1),
            by_operator: false,
        };
        let asked = serde_json::to_value(form(&question, ChoiceFormat::OneOf)).unwrap();
        assert_eq!(
            asked["requestedSchema"],
            json!({
                "type": "object",
                "properties": {
                    "decision": {"type": "string", "oneOf": [{"const": "deny", "title": "No"}, {"const": "once", "title": "Yes, this once"}]},
                    "confirm": {"type": "string", "description": "The code shown in the text."},
                },
                "required": ["decision", "confirm"],
            })
        );
        question.code = None;
        let asked = serde_json::to_value(form(&question, ChoiceFormat::EnumNames)).unwrap();
        assert_eq!(asked["requestedSchema"]["required"], json!(["decision"]));
        assert_eq!(asked["mode"], "form");
        let decision = json!({"type": "string", "enum": ["deny", "once"], "enumNames": ["No", "Yes, this once"]});
        assert_eq!(asked["requestedSchema"]["properties"]["decision"], decision);
    }
}
