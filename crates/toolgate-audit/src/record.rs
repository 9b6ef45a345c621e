//! One record of the log, before it has a place in a chain.

use std::io::Write as _;
use std::time::Duration;

use data_encoding::HEXLOWER;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::escape;
use super::settings::Redacted;

macro_rules! events {
    ($($(#[$meta:meta])* $variant:ident = $text:literal,)*) => {
        /// What a record tells: the field `ev`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        #[non_exhaustive]
        pub enum Event { $($(#[$meta])* $variant,)* }

        impl Event {
            /// The event as it is written.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }
    };
}

events! {
    /// A call is about to act.
    #[default]
    CallStarted = "call.started",
    /// A call has acted, was refused after its start, or will never be known: see `status`.
    CallFinished = "call.finished",
    /// A call was denied by policy.
    ToolDenied = "tool.denied",
    /// A person was asked.
    ApprovalRequested = "approval.requested",
    /// A person answered.
    ApprovalAnswered = "approval.answered",
    /// Nobody answered in time.
    ApprovalExpired = "approval.expired",
    /// An approval was used up.
    ApprovalConsumed = "approval.consumed",
    /// Somebody tried to answer as an operator and could not prove to be one.
    OperatorRefused = "operator.refused",
    /// An operator was given a secret, or lost it.
    OperatorChanged = "operator.changed",
    /// A reviewer spoke.
    ReviewVerdict = "review.verdict",
    /// A program is about to reach a host, or was refused it.
    NetworkContact = "network.contact",
    /// A program is done with a host.
    NetworkClosed = "network.closed",
    /// A rate or a budget was hit.
    LimitHit = "limit.hit",
    /// A session was suspended.
    BreakerTripped = "breaker.tripped",
    /// A suspension ended.
    BreakerReset = "breaker.reset",
    /// The emergency stop was pulled.
    KillOn = "kill.on",
    /// The emergency stop was lifted.
    KillOff = "kill.off",
    /// A manifest took effect.
    ManifestLoaded = "manifest.loaded",
    /// A manifest was refused.
    ManifestRefused = "manifest.refused",
    /// A session began.
    SessionStarted = "session.started",
    /// A session ended.
    SessionEnded = "session.ended",
    /// A session's scratch folder was removed.
    WorkspaceWiped = "workspace.wiped",
    /// A file of the log begins.
    LogOpened = "log.opened",
    /// A file of the log ends, its process with it.
    LogClosed = "log.closed",
    /// A file of the log ends; the chain goes on in the next.
    LogRotated = "log.rotated",
    /// A later process closed the file of one that died.
    LogRecovered = "log.recovered",
    /// A closed file was removed because of its age.
    LogExpired = "log.expired",
    /// A digest of the log was made, to be kept elsewhere.
    LogHead = "log.head",
}

/// The client's own account of itself: a label, never an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
}

/// The fields of a record in the order in which they are written. What is `None` is left out; `v`, `seq`, `ts`, `prev` and `hash` are the log's own.
#[derive(Debug, Clone, Default)]
pub struct Record<'a> {
    /// What it tells.
    pub event: Event,
    /// The call it belongs to.
    pub call: Option<&'a str>,
    /// The session of the call.
    pub session: Option<&'a str>,
    /// Who called.
    pub principal: Option<&'a str>,
    /// The caller's profile.
    pub profile: Option<&'a str>,
    /// The caller's program.
    pub client: Option<Client<'a>>,
    /// The tool that was called.
    pub tool: Option<&'a str>,
    /// Its arguments in their redacted form; writes `args` and `args_sha256`.
    pub args: Option<&'a Redacted>,
    /// The effect the call would have.
    pub effect: Option<&'a str>,
    /// Its level, 0 to 4.
    pub level: Option<u8>,
    /// `allow`, `ask` or `deny`.
    pub decision: Option<&'a str>,
    /// The code of the decision.
    pub reason: Option<&'a str>,
    /// The rule of the manifest that decided.
    pub rule: Option<&'a str>,
    /// The approval that was used.
    pub approval: Option<&'a str>,
    /// SHA-256 of the manifest in force.
    pub manifest_sha256: Option<&'a str>,
    /// How long it took; written as milliseconds with up to three decimals.
    pub duration: Option<Duration>,
    /// The shape of the answer: length, digest, whether it was cut.
    pub result: Option<&'a Value>,
    /// What belongs to this event alone (`status`, `error_code`, `bytes_written`, …). A name of the fields above gets the prefix `x_`.
    pub extra: Map<String, Value>,
}

impl Record<'_> {
    /// A record of `event` with every field left out.
    pub fn new(event: Event) -> Self {
        Self { event, ..Self::default() }
    }

    /// A record of the log itself: `extra` is an object.
    pub(crate) fn of(event: Event, extra: Value) -> Self {
        let Value::Object(extra) = extra else { return Self::new(event) };
        Self { extra, ..Self::new(event) }
    }

    /// Writes the part of the line between `ts` and `prev`, beginning with `,"ev":`.
    pub(crate) fn write_body(&self, out: &mut Vec<u8>) {
        text(out, "ev", Some(self.event.as_str()));
        text(out, "call", self.call);
        text(out, "session", self.session);
        text(out, "principal", self.principal);
        text(out, "profile", self.profile);
        if let Some(Client { name: client, version }) = self.client {
            name(out, "client");
            out.extend_from_slice(b"{\"name\":");
            short(out, client);
            out.extend_from_slice(b",\"version\":");
            short(out, version);
            out.push(b'}');
        }
        text(out, "tool", self.tool);
        if let Some(args) = self.args {
            name(out, "args");
            out.extend_from_slice(args.json().as_bytes());
            text(out, "args_sha256", Some(args.sha256()));
        }
        text(out, "effect", self.effect);
        if let Some(level) = self.level {
            name(out, "level");
            // Writing to a Vec cannot fail.
            let _ = write!(out, "{level}");
        }
        text(out, "decision", self.decision);
        text(out, "reason", self.reason);
        text(out, "rule", self.rule);
        text(out, "approval", self.approval);
        text(out, "manifest_sha256", self.manifest_sha256);
        if let Some(duration) = self.duration {
            name(out, "duration_ms");
            let micros = duration.as_micros();
            let _ = match micros % 1000 {
                0 => write!(out, "{}", micros / 1000),
                rest => write!(out, "{}.{rest:03}", micros / 1000),
            };
        }
        if let Some(result) = self.result {
            name(out, "result");
            escape::write(out, result);
        }
        for (key, item) in &self.extra {
            out.push(b',');
            if RESERVED.split(' ').any(|name| name == key) {
                escape::write(out, &format!("x_{key}"));
            } else {
                escape::write(out, key);
            }
            out.push(b':');
            escape::write(out, item);
        }
    }
}

fn name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn text(out: &mut Vec<u8>, field: &str, value: Option<&str>) {
    if let Some(value) = value {
        name(out, field);
        short(out, value);
    }
}

/// Writes a text, cut where it is longer than `LONGEST` characters.
fn short(out: &mut Vec<u8>, value: &str) {
    // The length in bytes first: most texts are short, and need not be walked.
    let end = if value.len() > LONGEST { value.char_indices().nth(LONGEST) } else { None };
    let Some((end, _)) = end else { return escape::write(out, value) };
    let (head, _) = value.split_at_checked(end).unwrap_or_default();
    escape::write(out, &format!("{head}… ({} bytes, sha256 {})", value.len(), HEXLOWER.encode(&Sha256::digest(value))));
}

/// Longer texts are cut, with length and digest: a name the client invents (a tool, its own name) may have any length.
const LONGEST: usize = 1024;

/// The names no extra field may have.
const RESERVED: &str = "v seq ts ev call session principal profile client tool args args_sha256 effect level decision reason rule approval \
                        manifest_sha256 duration_ms result prev hash";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body(record: &Record<'_>) -> String {
        let mut out = Vec::new();
        record.write_body(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fields_left_out_are_not_written_and_durations_are_milliseconds() {
        assert_eq!(body(&Record::new(Event::KillOn)), r#","ev":"kill.on""#);
        let timed = |micros| body(&Record { duration: Some(Duration::from_micros(micros)), ..Record::new(Event::KillOn) });
        assert_eq!(timed(12_000), r#","ev":"kill.on","duration_ms":12"#);
        assert_eq!(timed(1_050), r#","ev":"kill.on","duration_ms":1.050"#);
    }

    #[test]
    fn an_extra_field_cannot_take_the_name_of_a_fixed_one() {
        let extra = [("hash".to_owned(), json!("f00")), ("status".to_owned(), json!("success"))].into_iter().collect();
        assert_eq!(
            body(&Record { extra, ..Record::new(Event::CallFinished) }),
            r#","ev":"call.finished","x_hash":"f00","status":"success""#
        );
    }
}
