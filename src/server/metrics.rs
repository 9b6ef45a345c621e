//! What operators watch, in Prometheus' text form (exposition format 0.0.4).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::audit::Answer;
use crate::model::Code;

/// Counts of one endpoint. Labels come from closed lists: no caller can grow them.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    calls: Mutex<BTreeMap<Labels, u64>>,
    times: Mutex<BTreeMap<&'static str, Times>>,
    pub(super) running: Gauge,
    pub(super) pending: Gauge,
    pub(super) connections: Gauge,
    pub(super) streams: Gauge,
    pub(super) refused: Mutex<BTreeMap<&'static str, u64>>,
    bytes_in: AtomicU64,
}

/// Tool, verdict, status.
type Labels = (&'static str, &'static str, &'static str);

#[derive(Debug, Default, Clone, Copy)]
struct Times {
    below: [u64; BUCKETS.len()],
    count: u64,
    micros: u64,
}

/// Upper bounds in seconds.
const BUCKETS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0];

/// A number that goes up and down.
#[derive(Debug, Default, Clone)]
pub(super) struct Gauge(Arc<AtomicI64>);

impl Gauge {
    /// One more, until what is returned is dropped.
    pub(super) fn one(&self) -> One {
        self.0.fetch_add(1, Ordering::AcqRel);
        One(Arc::clone(&self.0))
    }

    pub(super) fn value(&self) -> i64 {
        self.0.load(Ordering::Acquire)
    }
}

/// One of what a gauge counts.
#[derive(Debug)]
pub(super) struct One(Arc<AtomicI64>);

impl Drop for One {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What is read at the moment of asking.
#[derive(Debug, Clone)]
pub(super) struct Now {
    pub(super) sessions: usize,
    /// Questions in the operators' queue that nobody has settled yet.
    pub(super) operator: usize,
    /// Interpreters by profile and what they do.
    pub(super) python: BTreeMap<(String, &'static str), u64>,
    pub(super) audit_lag: u64,
    pub(super) healthy: bool,
    pub(super) killed: bool,
    pub(super) uptime: Duration,
}

impl Metrics {
    /// Counts an answered call; `tool` is one the house has, or `unknown`.
    pub(super) fn answered(&self, tool: &'static str, answer: &Answer, time: Duration) {
        let (verdict, status) = words(answer);
        *self.calls.lock().unwrap_or_else(PoisonError::into_inner).entry((tool, verdict, status)).or_default() += 1;
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
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner).entry(why).or_default() += 1;
    }

    /// Counts bytes of a body.
    pub(super) fn read(&self, bytes: usize) {
        self.bytes_in.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The page.
    pub(super) fn text(&self, now: &Now) -> String {
        let mut page = String::with_capacity(4096);
        head(&mut page, "toolgate_calls_total", "counter", "Calls by tool, verdict and status.");
        for ((tool, verdict, status), count) in &*self.calls.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(page, "toolgate_calls_total{{tool=\"{tool}\",verdict=\"{verdict}\",status=\"{status}\"}} {count}");
        }
        head(&mut page, "toolgate_call_duration_seconds", "histogram", "Time from a call to its answer, waiting for a person included.");
        for (tool, times) in &*self.times.lock().unwrap_or_else(PoisonError::into_inner) {
            for (count, bound) in times.below.iter().zip(BUCKETS) {
                let _ = writeln!(page, "toolgate_call_duration_seconds_bucket{{tool=\"{tool}\",le=\"{bound}\"}} {count}");
            }
            let seconds = Duration::from_micros(times.micros).as_secs_f64();
            let _ = writeln!(page, "toolgate_call_duration_seconds_bucket{{tool=\"{tool}\",le=\"+Inf\"}} {}", times.count);
            let _ = writeln!(page, "toolgate_call_duration_seconds_sum{{tool=\"{tool}\"}} {seconds}");
            let _ = writeln!(page, "toolgate_call_duration_seconds_count{{tool=\"{tool}\"}} {}", times.count);
        }
        head(&mut page, "toolgate_requests_refused_total", "counter", "Requests turned away before they were calls.");
        for (why, count) in &*self.refused.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(page, "toolgate_requests_refused_total{{reason=\"{why}\"}} {count}");
        }
        let bytes = i64::try_from(self.bytes_in.load(Ordering::Relaxed)).unwrap_or(i64::MAX);
        one(&mut page, "toolgate_request_bytes_total", "counter", "Bytes of request bodies.", bytes);
        let number = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
        head(
            &mut page,
            "toolgate_approvals_pending",
            "gauge",
            "Questions that wait for a person: during a call, or in the operators' queue.",
        );
        for (channel, count) in [("client", self.pending.value()), ("operator", number(now.operator))] {
            let _ = writeln!(page, "toolgate_approvals_pending{{channel=\"{channel}\"}} {count}");
        }
        head(
            &mut page,
            "toolgate_python_pool",
            "gauge",
            "Interpreters, by the profile they serve and what they do: `running`, `ready` (they wait for a call), `building`, `kept` (sessions).",
        );
        for ((profile, state), count) in &now.python {
            let _ = writeln!(page, "toolgate_python_pool{{profile=\"{}\",state=\"{state}\"}} {count}", label(profile));
        }
        for (name, help, value) in [
            ("toolgate_calls_running", "Calls under way.", self.running.value()),
            ("toolgate_connections", "Connections that stand.", self.connections.value()),
            ("toolgate_streams", "Streams of the 2024-11-05 transport that are held open.", self.streams.value()),
            ("toolgate_sessions", "Sessions that are open.", number(now.sessions)),
            (
                "toolgate_audit_lag_records",
                "Records in the kernel that are not known to be on disk.",
                i64::try_from(now.audit_lag).unwrap_or(i64::MAX),
            ),
            ("toolgate_audit_healthy", "Whether records can be written; no record, no call.", i64::from(now.healthy)),
            ("toolgate_killed", "Whether the emergency stop is on.", i64::from(now.killed)),
            ("toolgate_uptime_seconds", "Since the start of this process.", i64::try_from(now.uptime.as_secs()).unwrap_or(i64::MAX)),
        ] {
            one(&mut page, name, "gauge", help, value);
        }
        page
    }
}

fn head(page: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn one(page: &mut String, name: &str, kind: &str, help: &str, value: i64) {
    head(page, name, kind, help);
    let _ = writeln!(page, "{name} {value}");
}

/// The value of a label (exposition format 0.0.4: backslash, quote and line feed are escaped).
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
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
        let python = BTreeMap::from([(("a \"b\" \\".to_owned(), "ready"), 2)]);
        let now = Now { sessions: 3, operator: 1, python, audit_lag: 1, healthy: true, killed: false, uptime: Duration::from_secs(9) };
        let page = metrics.text(&now);
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
