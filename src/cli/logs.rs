//! What a server says on standard error: lines for people, or one JSON object a line for a collector of logs. Standard output is the transport.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use jiff::Timestamp;
use serde_json::{Value, json};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::{LookupSpan, Scope};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, filter, fmt as lines};

use crate::filter::escape;

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line, also for each call.
    Json,
}

/// The variable that names the form where no argument does.
const FORMAT: &str = "TOOLGATE_LOG_FORMAT";

impl LogFormat {
    /// The form that was asked for: by the argument, else by `TOOLGATE_LOG_FORMAT`, else text.
    /// # Errors  What the variable says, when it is neither `text` nor `json`.
    pub fn asked(argument: Option<Self>) -> Result<Self, String> {
        let Some(variable) = std::env::var_os(FORMAT).filter(|value| argument.is_none() && !value.is_empty()) else {
            return Ok(argument.unwrap_or_default());
        };
        let named = variable.to_str().and_then(|name| <Self as clap::ValueEnum>::from_str(name, true).ok());
        named.ok_or_else(|| format!("`{FORMAT}` is `{}`; write text or json", variable.to_string_lossy()))
    }

    /// Begins to log in this form. `TOOLGATE_LOG` says what; without it warnings, and in JSON every call as well; with `-q` errors alone.
    pub(super) fn begin(self, quiet: bool) {
        let usual = match self {
            _ if quiet => "error",
            Self::Text => "warn",
            Self::Json => "warn,toolgate=info",
        };
        let chosen = EnvFilter::try_from_env("TOOLGATE_LOG").unwrap_or_else(|_| EnvFilter::new(usual));
        let registry = Registry::default().with(chosen);
        let begun = match self {
            Self::Text => {
                let layer = lines::layer().with_writer(io::stderr).with_ansi(false).with_filter(filter::filter_fn(may_be_told));
                registry.with(layer).try_init()
            }
            Self::Json => {
                std::panic::set_hook(Box::new(|panic| {
                    let place = panic.location().map(ToString::to_string);
                    // The words of a panic may hold what was being worked on.
                    write_line(json!({"level": "ERROR", "message": "a fault of our own", "at": place}));
                }));
                let layer = lines::layer().with_writer(io::stderr).with_ansi(false).fmt_fields(JsonFields::new()).event_format(JsonLines);
                registry.with(layer.with_filter(filter::filter_fn(may_be_told))).try_init()
            }
        };
        // Who embeds us may log in a way of their own.
        drop(begun);
    }

    /// Says that callers are served at this address: scripts wait for it, so no filter holds it back.
    /// # Errors  When standard error is closed.
    pub(super) fn serving(self, address: &str, text: &str) -> io::Result<()> {
        match self {
            Self::Text => writeln!(io::stderr(), "toolgate: {text}"),
            Self::Json => {
                write_line(json!({"level": "INFO", "message": "serving MCP", "address": address}));
                Ok(())
            }
        }
    }

    /// Says why the command ends.
    pub(super) fn failed(self, why: &str) {
        match self {
            Self::Text => drop(writeln!(io::stderr(), "toolgate: {}", escape(why))),
            Self::Json => write_line(json!({"level": "ERROR", "message": why})),
        }
    }
}

/// rmcp writes whole messages below error, and with them arguments and what stands in headers: nothing that was asked for brings them out.
fn may_be_told(line: &Metadata<'_>) -> bool {
    !line.target().starts_with("rmcp") || *line.level() == Level::ERROR
}

/// Writes an event as one object, with the fields of the spans it stands in.
struct JsonLines;

impl<S: Subscriber + for<'a> LookupSpan<'a>> FormatEvent<S, JsonFields> for JsonLines {
    fn format_event(&self, context: &FmtContext<'_, S, JsonFields>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let about = event.metadata();
        let mut parts = vec![json!({"level": about.level().as_str(), "target": about.target()})];
        let mut add = |fields: &str| parts.push(serde_json::from_str(fields).unwrap_or_default());
        for span in context.event_scope().into_iter().flat_map(Scope::from_root) {
            if let Some(fields) = span.extensions().get::<FormattedFields<JsonFields>>() {
                add(&fields.fields);
            }
        }
        let mut own = String::new();
        context.format_fields(Writer::new(&mut own), event)?;
        add(&own);
        writeln!(writer, "{}", line(parts))
    }
}

/// Writes one line in one piece, so that lines of several threads do not mix. Whoever reads us may be gone; the server serves on.
fn write_line(part: Value) {
    let _ = io::stderr().write_all(format!("{}\n", line([part])).as_bytes());
}

/// One object of the time and the members of all parts.
fn line(parts: impl IntoIterator<Item = Value>) -> String {
    let time = json!({"ts": Timestamp::now().to_string()});
    let members = std::iter::once(time).chain(parts).filter_map(|part| if let Value::Object(part) = part { Some(part) } else { None });
    ascii(&Value::Object(members.flatten().collect()))
}

/// JSON in ASCII alone: nothing in a line steers a terminal or reads in another order than it stands.
fn ascii(line: &Value) -> String {
    let mut text = String::new();
    // What is not ASCII stands inside of strings only.
    for unit in line.to_string().encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte < 0x7f => text.push(char::from(byte)),
            _ => drop(write!(text, "\\u{unit:04x}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_ascii_and_reads_back_as_it_was() {
        let odd = "a\u{202e}b\u{9b}31m\u{7f}\n\"\\ \u{1f600} \u{e9}\u{2028}";
        let text = ascii(&json!({"message": odd}));
        assert!(text.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({"message": odd}));
    }
}
