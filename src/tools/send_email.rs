//! `send_email`: one mail by the manifest's mail server.

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::schema::arguments;
use crate::gate::Permit;
use crate::model::{self, Action, CallPath, Code, Failure, Flag, Output, Refusal, ToolSpec};
use crate::sandbox::{Sandbox, mail};
use crate::tool::{Card, Stage, Tool};

/// `send_email`
#[derive(Debug)]
pub(super) struct SendEmail;

arguments! {
    /// Addresses alone, without names.
    #[schemars(length(min = 1))]
    to: Vec<String>,
    /// Addresses that get a copy.
    cc: Option<Vec<String>>,
    /// One line.
    subject: String,
    /// The text.
    body: String,
    /// Paths of files to attach.
    attachments: Option<Vec<String>>,
}

static SPEC: ToolSpec = ToolSpec::new("send_email", &[Flag::SendEmail], ARGUMENTS);

impl Tool for SendEmail {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn card(&self) -> Card {
        Card {
            title: "Send a mail",
            description: "Sends a mail as plain text. A person is asked first. toolgate://policy names the recipients that are allowed.",
            open_world: true,
            known_as: "email mail send_mail sendmail send_message smtp",
            ..Card::changes(&INPUT)
        }
    }

    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let Args { to, cc, subject, body, attachments } = Args::read(arguments)?;
        let attachments = attachments.unwrap_or_default().iter().map(|path| CallPath::parse(path)).collect::<Result<_, _>>()?;
        Ok(Action::SendEmail(model::SendEmail { to, cc: cc.unwrap_or_default(), subject, body, attachments }))
    }

    fn execute<'a>(&'a self, permit: Permit<Action>, sandbox: &'a Sandbox, stage: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let permit = permit.narrow::<model::SendEmail>()?;
            let recipients = permit.action().recipients().count();
            let sent = tokio::select! {
                biased;
                () = stage.cancel.cancelled() => return Err(Failure::new(Code::Cancelled, "the call was cancelled; the mail may have been sent")),
                sent = mail::send(permit, &sandbox.egress) => sent?,
            };
            let output = Output::text(format!("the mail server has taken the mail for {recipients} recipient(s), {sent} bytes"));
            Ok(Output { bytes_sent: sent, ..output.fact("recipients", recipients).fact("size", sent) })
        })
    }
}
