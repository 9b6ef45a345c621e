//! What operators watch, in Prometheus' text form (exposition format 0.0.4).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::entry::Answer;
use crate::model::Code;

/// Counts of one endpoint. Labels come from closed lists: no caller can grow them.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    counts: Mutex<Series>,
    times: Mutex<BTreeMap<&'static str, Times>>,
    pub(super) running: Gauge,
    pub(super) pending: Gauge,
    pub(super) connections: Gauge,
    pub(super) streams: Gauge,
}

/// Values by the name of their family and their labels.
pub(super) type Series = BTreeMap<(&'static str, String), u64>;

#[derive(Debug, Default, Clone, Copy)]
struct Times {
    below: [u64; BUCKETS.len()],
    count: u64,
    micros: u64,
}

/// Upper bounds in seconds.
const BUCKETS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0];

const TIMES: &str = "toolgate_call_duration_seconds";

/// Name, kind, help.
const FAMILIES: [(&str, &str, &str); 14] = [
    ("toolgate_calls_total", "counter", "Calls by tool, verdict and status."),
    (TIMES, "histogram", "Time from a call to its answer, waiting for a person included."),
    ("toolgate_requests_refused_total", "counter", "Requests turned away before they were calls."),
    ("toolgate_request_bytes_total", "counter", "Bytes of request bodies."),
    ("toolgate_approvals_pending", "gauge", "Questions that wait for a person: during a call, or in the operators' queue."),
    (
        "toolgate_python_pool",
        "gauge",
        "Interpreters, by the profile they serve and what they do: `running`, `ready` (they wait for a call), `building`, `kept` (sessions).",
    ),
    ("toolgate_calls_running", "gauge", "Calls under way."),
    ("toolgate_connections", "gauge", "Connections that stand."),
    ("toolgate_streams", "gauge", "Streams of the 2024-11-05 transport that are held open."),
    ("toolgate_sessions", "gauge", "Sessions that are open."),
    ("toolgate_audit_lag_records", "gauge", "Records in the kernel that are not known to be on disk."),
    ("toolgate_audit_healthy", "gauge", "Whether records can be written; no record, no call."),
    ("toolgate_killed", "gauge", "Whether the emergency stop is on."),
    ("toolgate_uptime_seconds", "gauge", "Since the start of this process."),
];

/// A number that goes up and down.
#[derive(Debug, Default, Clone)]
pub(super) struct Gauge(Arc<AtomicU64>);

impl Gauge {
    /// One more, until what is returned is dropped.
    pub(super) fn one(&self) -> One {
        self.0.fetch_add(1, Ordering::AcqRel);
        One(Arc::clone(&self.0))
    }

    pub(super) fn value(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// One of what a gauge counts.
#[derive(Debug)]
pub(super) struct One(Arc<AtomicU64>);

impl Drop for One {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Metrics {
    fn add(&self, name: &'static str, labels: String, value: u64) {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry((name, labels)).or_default() += value;
    }

    /// Counts an answered call; `tool` is one the server has, or `unknown`.
    pub(super) fn answered(&self, tool: &'static str, answer: &Answer, time: Duration) {
        let (verdict, status) = words(answer);
        self.add("toolgate_calls_total", labels(&[("tool", tool), ("verdict", verdict), ("status", status)]), 1);
        let mut all = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let times = all.entry(tool).or_default();
        for (count, bound) in times.below.iter_mut().zip(BUCKETS) {
            *count += u64::from(time.as_secs_f64() <= bound);
        }
        times.count += 1;
        times.micros += u64::try_from(time.as_micros()).unwrap_or(u64::MAX / 2);
    }

    /// Counts a request that was turned away before it was a call.
    pub(super) fn refuse(&self, why: &'static str) {
        self.add("toolgate_requests_refused_total", labels(&[("reason", why)]), 1);
    }

    /// Counts bytes of a body.
    pub(super) fn read(&self, bytes: usize) {
        self.add("toolgate_request_bytes_total", String::new(), bytes as u64);
    }

    /// The page, with what is read at the moment of asking.
    pub(super) fn text(&self, now: Series) -> String {
        let mut all = self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        all.entry(("toolgate_request_bytes_total", String::new())).or_default();
        all.insert(("toolgate_approvals_pending", labels(&[("channel", "client")])), self.pending.value());
        for (name, gauge) in
            [("toolgate_calls_running", &self.running), ("toolgate_connections", &self.connections), ("toolgate_streams", &self.streams)]
        {
            all.insert((name, String::new()), gauge.value());
        }
        all.extend(now);
        let mut page = String::new();
        for (name, kind, help) in FAMILIES {
            let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for ((_, labels), value) in all.iter().filter(|((of, _), _)| *of == name) {
                let _ = writeln!(page, "{name}{labels} {value}");
            }
            if name == TIMES {
                self.durations(&mut page);
            }
        }
        page
    }

    fn durations(&self, page: &mut String) {
        for (tool, times) in &*self.times.lock().unwrap_or_else(PoisonError::into_inner) {
            let bounds = BUCKETS.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
            for (bound, count) in bounds.zip(times.below.into_iter().chain([times.count])) {
                let _ = writeln!(page, "{TIMES}_bucket{{tool=\"{tool}\",le=\"{bound}\"}} {count}");
            }
            let seconds = Duration::from_micros(times.micros).as_secs_f64();
            let _ = writeln!(page, "{TIMES}_sum{{tool=\"{tool}\"}} {seconds}\n{TIMES}_count{{tool=\"{tool}\"}} {}", times.count);
        }
    }
}

/// Labels as they stand behind a name (exposition format 0.0.4: backslash, quote and line feed are escaped).
pub(super) fn labels(all: &[(&str, &str)]) -> String {
    let escape = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let all: Vec<String> = all.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
    format!("{{{}}}", all.join(","))
}

/// Verdict and status of an answer.
fn words(answer: &Answer) -> (&'static str, &'static str) {
    match answer {
        Answer::Ask { .. } => ("ask", "pending"),
        Answer::Done { filtered, .. } if filtered.parts().is_error => ("allow", "error"),
        Answer::Done { .. } => ("allow", "success"),
        Answer::Refused { refusal, .. } => match refusal.code {
            Code::Timeout => ("allow", "timeout"),
            Code::Cancelled => ("allow", "killed"),
            // From here on the codes are what a tool says, which was allowed and failed.
            code if code >= Code::NotFound => ("allow", "error"),
            _ => ("deny", "denied"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Refusal;

    #[test]
    fn the_page_has_the_form_that_prometheus_reads() {
        let metrics = Metrics::default();
        let denied = Answer::Refused { refusal: Refusal::new(Code::PathDenied, "no"), call_id: "c".into() };
        let failed = Answer::Refused { refusal: Refusal::new(Code::NotFound, "no"), call_id: "c".into() };
        metrics.answered("read_file", &denied, Duration::from_micros(700));
        metrics.answered("read_file", &failed, Duration::from_secs(2));
        metrics.refuse("origin");
        let _running = metrics.running.one();
        drop(metrics.pending.one());
        let now = [
            (("toolgate_python_pool", labels(&[("profile", "a \"b\" \\"), ("state", "ready")])), 2),
            (("toolgate_approvals_pending", labels(&[("channel", "operator")])), 1),
            (("toolgate_sessions", String::new()), 3),
            (("toolgate_audit_lag_records", String::new()), 1),
        ];
        let page = metrics.text(now.into());
        for line in [
            "toolgate_calls_total{tool=\"read_file\",verdict=\"deny\",status=\"denied\"} 1",
            "toolgate_calls_total{tool=\"read_file\",verdict=\"allow\",status=\"error\"} 1",
            "toolgate_call_duration_seconds_bucket{tool=\"read_file\",le=\"0.001\"} 1",
            "toolgate_call_duration_seconds_bucket{tool=\"read_file\",le=\"+Inf\"} 2",
            "toolgate_call_duration_seconds_count{tool=\"read_file\"} 2",
            "toolgate_requests_refused_total{reason=\"origin\"} 1",
            "toolgate_calls_running 1",
            "toolgate_approvals_pending{channel=\"client\"} 0",
            "toolgate_approvals_pending{channel=\"operator\"} 1",
            r#"toolgate_python_pool{profile="a \"b\" \\",state="ready"} 2"#,
            "toolgate_sessions 3",
            "toolgate_audit_lag_records 1",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        for line in page.lines().filter(|line| !line.starts_with('#')) {
            assert!(line.rsplit_once(' ').is_some_and(|(_, value)| value.parse::<f64>().is_ok()), "{line}");
        }
    }
}
