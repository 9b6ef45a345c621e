//! Requests to the web, in numbers: the counts behind `audit report --network` and the resource `toolgate://network`.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;

use super::read::Stored;

/// Counts over requests. One request is one call of `fetch`, its redirects included, or one connection of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Network {
    /// All of them.
    pub total: u64,
    /// By method.
    pub by_method: BTreeMap<String, u64>,
    /// By the status of the answer, or by the code of what went wrong.
    pub by_status: BTreeMap<String, u64>,
    /// By host.
    pub by_host: BTreeMap<String, u64>,
    /// The last ten, newest last.
    pub last: VecDeque<Request>,
}

/// One request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Request {
    /// When (RFC 3339).
    pub ts: String,
    /// The method; for a connection of a program `TUNNEL` (TLS, of which nothing more is seen) or `PLAIN`.
    pub method: String,
    /// Scheme, host and path; what a query says is nobody's business here.
    pub url: String,
    /// The status of the answer, or the code of what went wrong.
    pub status: String,
    /// How long it took, in milliseconds.
    pub ms: Option<u64>,
}

impl Network {
    /// Counts one request.
    pub fn note(&mut self, request: Request) {
        self.total = self.total.saturating_add(1);
        let host = request.url.split_once("://").map_or("-", |(_, rest)| rest.split('/').next().unwrap_or_default());
        bump(&mut self.by_method, &request.method);
        bump(&mut self.by_status, &request.status);
        bump(&mut self.by_host, host);
        if self.last.len() >= LAST {
            self.last.pop_front();
        }
        self.last.push_back(request);
    }

    /// Counts the requests that records tell of.
    pub fn of(records: impl Iterator<Item = Stored>) -> Self {
        let (mut network, mut under_way) = (Self::default(), HashMap::new());
        for record in records {
            match record.text("ev") {
                "network.closed" => network.note(of_program(&record)),
                "network.contact" if record.text("decision") == "deny" => network.note(of_program(&record)),
                _ if record.text("tool") != "fetch" => {}
                "call.started" => drop(under_way.insert(record.text("call").to_owned(), begun(&record))),
                "call.finished" => {
                    let mut request = under_way.remove(record.text("call")).unwrap_or_else(|| begun(&record));
                    let status = record.fields.get("http_status").and_then(Value::as_u64).map(|status| status.to_string());
                    let code = ["error_code", "status"].into_iter().map(|name| record.text(name)).find(|text| !text.is_empty());
                    request.status = status.unwrap_or_else(|| code.unwrap_or("-").to_owned());
                    request.ms = record.fields.get("duration_ms").and_then(Value::as_f64).map(whole);
                    network.note(request);
                }
                "tool.denied" => {
                    let mut request = begun(&record);
                    record.text("reason").clone_into(&mut request.status);
                    network.note(request);
                }
                _ => {}
            }
        }
        network
    }

    /// The counts for a person or a model.
    pub fn text(&self) -> String {
        let mut text = format!("{} requests\n", self.total);
        for (title, counts) in [("by method", &self.by_method), ("by status", &self.by_status), ("by host", &self.by_host)] {
            if counts.is_empty() {
                continue;
            }
            let _ = writeln!(text, "{title}");
            let mut counts: Vec<_> = counts.iter().collect();
            counts.sort_by(|one, other| other.1.cmp(one.1));
            for (name, count) in counts {
                let _ = writeln!(text, "  {count:>8}  {}", super::plain(name));
            }
        }
        if !self.last.is_empty() {
            text.push_str("last\n");
        }
        for request in &self.last {
            let ms = request.ms.map_or(String::new(), |ms| format!("  {ms} ms"));
            let parts = [&request.ts, &request.method, &request.status, &request.url].map(|part| super::plain(part));
            let _ = writeln!(text, "  {}{ms}", parts.join("  "));
        }
        text
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "milliseconds of a call; a float saturates")]
fn whole(ms: f64) -> u64 {
    ms as u64
}

fn begun(record: &Stored) -> Request {
    let argument = |name: &str| record.fields.get("args").and_then(|args| args.get(name)).and_then(Value::as_str);
    Request {
        ts: record.text("ts").to_owned(),
        method: argument("method").unwrap_or("GET").chars().take(16).collect(),
        url: argument("url").map_or("-".to_owned(), bare),
        ..Request::default()
    }
}

/// A URL without user, query and fragment, at most 200 characters of it.
pub fn bare(url: &str) -> String {
    let bare = url.split(['?', '#']).next().unwrap_or_default();
    let without_user = bare.split_once("://").and_then(|(scheme, rest)| {
        let (authority, path) = rest.split_once('/').map_or((rest, ""), |(authority, path)| (authority, path));
        let host = authority.rsplit_once('@').map(|(_, host)| host)?;
        Some(format!("{scheme}://{host}/{path}"))
    });
    without_user.unwrap_or_else(|| bare.to_owned()).chars().take(200).collect()
}

fn bump(counts: &mut BTreeMap<String, u64>, name: &str) {
    let name = if counts.len() >= MOST_NAMES && !counts.contains_key(name) { "(others)" } else { name };
    *counts.entry(name.to_owned()).or_default() += 1;
}

/// Requests that are kept by themselves.
const LAST: usize = 10;
/// Names that are counted by themselves.
const MOST_NAMES: usize = 1000;

/// A connection of a program, as a request: `how` it was made, and `ok` or the code of what went wrong.
pub fn connection(ts: String, how: &str, host: &str, port: u64, status: &str) -> Request {
    let (scheme, usual) = if how == "tunnel" { ("https", 443) } else { ("http", 80) };
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let port = if port == usual { String::new() } else { format!(":{port}") };
    Request { ts, method: how.to_ascii_uppercase(), url: format!("{scheme}://{host}{port}"), status: status.to_owned(), ms: None }
}

fn of_program(record: &Stored) -> Request {
    let port = record.fields.get("port").and_then(Value::as_u64).unwrap_or_default();
    connection(record.text("ts").to_owned(), record.text("how"), record.text("host"), port, record.text("reason"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_and_the_last_ten_kept() {
        let mut network = Network::default();
        for n in 0..12 {
            let (method, status) = if n % 3 == 0 { ("POST", "404") } else { ("GET", "200") };
            let url = format!("https://{}.example/{n}", if n < 6 { "a" } else { "b" });
            network.note(Request { ts: "t".to_owned(), method: method.to_owned(), url, status: status.to_owned(), ms: Some(n) });
        }
        let counts = |counts: &BTreeMap<String, u64>| counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>();
        assert_eq!((network.total, counts(&network.by_method)), (12, vec!["GET 8".to_owned(), "POST 4".to_owned()]));
        assert_eq!(counts(&network.by_status), ["200 8", "404 4"]);
        assert_eq!(counts(&network.by_host), ["a.example 6", "b.example 6"]);
        assert_eq!((network.last.len(), network.last[0].ms, network.last[9].ms), (10, Some(2), Some(11)));
        assert!(network.text().ends_with("  t  GET  200  https://b.example/11  11 ms\n"), "{}", network.text());
    }

    #[test]
    fn what_a_query_or_a_user_part_says_is_not_told() {
        let rows = [
            ("https://a.example/x?token=s#f", "https://a.example/x"),
            ("https://u:p@a.example/x", "https://a.example/x"),
            ("https://u:p@a.example", "https://a.example/"),
            ("nonsense", "nonsense"),
        ];
        for (url, told) in rows {
            assert_eq!(bare(url), told);
        }
    }

    #[test]
    fn a_connection_of_a_program_reads_like_a_request() {
        let shown = |how, host, port| connection("t".to_owned(), how, host, port, "ok").url;
        assert_eq!(shown("tunnel", "a.example", 443), "https://a.example");
        assert_eq!(shown("plain", "a.example", 80), "http://a.example");
        assert_eq!(shown("plain", "::1", 8080), "http://[::1]:8080");
    }
}
