//! What a server says on standard error: lines for people, or one JSON object a line for a collector of logs. Standard output is the transport.

use std::fmt;
use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, filter, fmt as lines};

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line, every call among them.
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
                    write_line(&object(&[("level", json!("ERROR")), ("message", json!("a fault of our own")), ("at", json!(place))]));
                }));
                registry.with(JsonLines.with_filter(filter::filter_fn(may_be_told))).try_init()
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
                write_line(&object(&[("level", json!("INFO")), ("message", json!("serving MCP")), ("address", json!(address))]));
                Ok(())
            }
        }
    }

    /// Says why the server ends.
    pub(super) fn failed(self, why: &str) {
        match self {
            Self::Text => drop(writeln!(io::stderr(), "toolgate: {why}")),
            Self::Json => write_line(&object(&[("level", json!("ERROR")), ("message", json!(why))])),
        }
    }
}

/// rmcp writes whole messages below error, and with them arguments and what stands in headers: nothing that was asked for brings them out.
fn may_be_told(line: &Metadata<'_>) -> bool {
    !line.target().starts_with("rmcp") || *line.level() == Level::ERROR
}

/// Writes events as JSON, each with the fields of the spans it stands in.
struct JsonLines;

/// The fields of a span.
struct Fields(Map<String, Value>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for JsonLines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields(Map::new());
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let about = event.metadata();
        let mut line = Fields(object(&[("level", json!(about.level().as_str())), ("target", json!(about.target()))]));
        for span in context.event_scope(event).into_iter().flat_map(tracing_subscriber::registry::Scope::from_root) {
            if let Some(fields) = span.extensions().get::<Fields>() {
                line.0.extend(fields.0.clone());
            }
        }
        event.record(&mut line);
        write_line(&line.0);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), Value::String(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

fn object(fields: &[(&str, Value)]) -> Map<String, Value> {
    let mut all = Map::from_iter([("ts".to_owned(), Value::String(Timestamp::now().to_string()))]);
    all.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    all
}

/// Writes one line in one piece, so that lines of several threads do not mix.
fn write_line(line: &Map<String, Value>) {
    let mut text = Vec::with_capacity(256);
    if line.serialize(&mut serde_json::Serializer::with_formatter(&mut text, Ascii(CompactFormatter))).is_ok() {
        text.push(b'\n');
        // Whoever reads us is gone; the server serves on.
        let _ = io::stderr().write_all(&text);
    }
}

/// JSON in ASCII alone: nothing in a line steers a terminal or reads in another order than it stands.
struct Ascii(CompactFormatter);

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut units = [0; 2];
        for character in fragment.chars() {
            if character.is_ascii() && character != '\u{7f}' {
                self.0.write_string_fragment(writer, character.encode_utf8(&mut [0; 1]))?;
                continue;
            }
            for unit in character.encode_utf16(&mut units) {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_ascii_and_reads_back_as_it_was() {
        let odd = "a\u{202e}b\u{9b}31m\u{7f}\n\"\\ \u{1f600} \u{e9}\u{2028}";
        let mut text = Vec::new();
        json!({"message": odd}).serialize(&mut serde_json::Serializer::with_formatter(&mut text, Ascii(CompactFormatter))).unwrap();
        assert!(text.iter().all(|byte| (0x20..0x7f).contains(byte)), "{}", String::from_utf8_lossy(&text));
        assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), json!({"message": odd}));
    }
}
