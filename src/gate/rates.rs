//! What is counted and charged, as the manifest limits it: windows of calls, hourly budgets that are reserved before a call acts and settled
//! after it, requests to one host. All sessions of a principal on this server share them.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::admit::moment;
use super::counts::{Ask, BUDGETS, Counts, Standing, Window};
use crate::manifest::{Manifest, NetworkRules};
use crate::model::{Bytes, Code, EditFiles, Refusal, ToolCall};
use crate::policy::request::size;
use crate::policy::{Budgets, LimitOf, RateLimit, python_roots, rate_limits, window, write_per_hour};

/// Milliseconds.
pub type Millis = u64;

/// The span of `rate_limit_per_minute`.
pub(super) const MINUTE: Millis = 60_000;
/// The span of `rate_limit_per_hour`.
pub(super) const HOUR: Millis = 3_600_000;

/// The windows that hold for a profile's calls, and for those of one tool.
pub(super) fn windows(manifest: &Manifest, profile: Option<&str>, tool: Option<&str>) -> (Vec<Window>, Vec<Window>) {
    let window = |limit: RateLimit| Window { most: limit.most, span: millis(limit.span) };
    let (of_tool, all): (Vec<_>, Vec<_>) = rate_limits(manifest, profile, tool).partition(|limit| limit.of == LimitOf::Tool);
    (all.into_iter().map(window).collect(), of_tool.into_iter().map(window).collect())
}

/// What a call asks of its principal's budgets. What its arguments tell is exact; what only the doing tells is reserved up to the most it
/// can be, as far as there is any left, and the call is held to what it got.
pub(super) fn ask(manifest: &Manifest, profile: Option<&str>, call: &ToolCall) -> Ask {
    let length = |name: &str| call.arguments.get(name).and_then(Value::as_str).map_or(0, |text| text.len() as u64);
    let encoded = call.arguments.get("encoding").and_then(Value::as_str) == Some("base64");
    let written = if encoded { length("content") / 4 * 3 } else { length("content") };
    let file = manifest.files.max_file_size.0;
    let edits = call.arguments.get("edits").and_then(Value::as_array).into_iter().flatten();
    let files = edits.filter_map(|edit| edit.get("path")?.as_str()).collect::<BTreeSet<&str>>().len().min(EditFiles::MOST) as u64;
    let cpu = millis(manifest.python.cpu);
    // URL and headers are as good a way out as a body.
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let headers = call.arguments.get("headers").and_then(Value::as_object).into_iter().flatten();
    let headers = headers.map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default()));
    let (exactly, at_most) = match call.tool.as_str() {
        "write_file" => ([written, 0, 0], [0; BUDGETS]),
        // One byte or one millisecond must be left for what cannot be known before.
        "edit_file" | "copy_file" => ([1, 0, 0], [file, 0, 0]),
        "edit_files" => ([1, 0, 0], [file.saturating_mul(files), 0, 0]),
        "fetch" => {
            let sends = size(text("url"), headers, text("body"));
            let saves = call.arguments.get("save_to").is_some_and(|path| !path.is_null());
            if saves { ([1, sends, 0], [file, 0, 0]) } else { ([0, sends, 0], [0; BUDGETS]) }
        }
        // Encoded for the way, an attachment is a third longer.
        "send_email" => {
            let attached = call.arguments.get("attachments").and_then(Value::as_array).map_or(0, Vec::len) as u64;
            ([0, length("subject") + length("body") + 1, 0], [0, file.saturating_mul(attached).saturating_mul(4) / 3, 0])
        }
        "run_python" => {
            let writes = profile.is_some_and(|profile| python_roots(manifest, profile).iter().any(|(_, writes)| *writes));
            ([u64::from(writes), 0, 1], [0, 0, cpu.saturating_sub(1)])
        }
        _ => ([0; BUDGETS], [0; BUDGETS]),
    };
    Ask { exactly, at_most, budget: budget(manifest, profile) }
}

/// What a profile may send in any hour.
pub(super) fn upload(manifest: &Manifest, profile: &str) -> Bytes {
    let [_, most, _] = budget(manifest, Some(profile));
    Bytes(most)
}

/// The budgets of a profile: the smaller of its own and everybody's.
fn budget(manifest: &Manifest, profile: Option<&str>) -> [u64; BUDGETS] {
    let limits = &manifest.limits;
    let own = profile.and_then(|name| manifest.profiles.get(name));
    [
        profile.map_or(limits.write_per_hour, |profile| write_per_hour(manifest, profile)).0,
        own.and_then(|own| own.egress_per_hour).map_or(limits.egress_per_hour, |own| own.min(limits.egress_per_hour)).0,
        millis(own.and_then(|own| own.cpu_per_hour).map_or(limits.cpu_per_hour, |own| own.min(limits.cpu_per_hour))),
    ]
}

pub(super) fn millis(time: Duration) -> Millis {
    Millis::try_from(time.as_millis()).unwrap_or(Millis::MAX)
}

/// Amounts as the judge reads them.
pub(super) const fn budgets([write, egress, cpu]: [u64; BUDGETS]) -> Budgets {
    Budgets { write, egress, cpu: Duration::from_millis(cpu) }
}

/// What was reserved for one call. Dropped without a word it is given back while the call had not begun to act, and stays charged after: nobody
/// knows then what it used.
#[derive(Debug)]
pub struct Reservation {
    counts: Arc<Counts>,
    principal: String,
    reserved: [u64; BUDGETS],
    acting: bool,
    settled: bool,
}

impl Reservation {
    pub(super) fn new(counts: Arc<Counts>, principal: &str, standing: &Standing) -> Self {
        Self { counts, principal: principal.to_owned(), reserved: standing.reserved, acting: false, settled: false }
    }

    /// Bytes the call may write.
    pub(super) const fn write(&self) -> u64 {
        let [write, _, _] = self.reserved;
        write
    }

    /// Gives back of what may be written all but so much, and says what the call may write now. One byte stays in any case.
    pub fn keep(&mut self, most: Bytes) -> Bytes {
        let [write, sent, cpu] = self.reserved;
        let kept = write.min(most.0.max(1));
        self.counts.settle(&self.principal, [write - kept, 0, 0], [0; BUDGETS]);
        self.reserved = [kept, sent, cpu];
        Bytes(self.write())
    }

    /// Processor time the call may use.
    pub(super) const fn cpu(&self) -> Duration {
        let [_, _, cpu] = self.reserved;
        Duration::from_millis(cpu)
    }

    /// The call is about to act.
    pub fn begin(&mut self) {
        self.acting = true;
    }

    /// Charges what was used in the place of what was reserved.
    pub fn settle(mut self, written: u64, sent: u64, cpu_ms: u64) {
        self.replace([written, sent, cpu_ms]);
    }

    /// The call failed before it changed anything, and `sent` bytes had left.
    pub fn settle_failed(mut self, sent: u64) {
        self.replace([0, sent, 0]);
    }

    /// The call was cut off in the middle, when `sent` bytes had left; what it wrote and computed is not known.
    pub fn settle_cut(mut self, sent: u64) {
        let [written, _, cpu_ms] = self.reserved;
        self.replace([written, sent, cpu_ms]);
    }

    fn replace(&mut self, used: [u64; BUDGETS]) {
        self.settled = true;
        self.counts.settle(&self.principal, self.reserved, used);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.acting && !self.settled {
            self.replace([0; BUDGETS]);
        }
    }
}

/// Counts what happens below the gate on a caller's behalf: each request to a host, also those of a program's own.
#[derive(Debug, Clone)]
pub struct Meter(pub(super) Arc<Counts>);

impl Meter {
    /// Counts a request to a host; `[network] rate_limit_per_minute` and `rate_limit_per_hour` hold for each host by itself.
    /// # Errors  `rate_limited` with the exact wait.
    pub fn host(&self, principal: &str, host: &str, rules: &NetworkRules) -> Result<(), Refusal> {
        let limits = [(rules.rate_per_minute, MINUTE, "minute"), (rules.rate_per_hour, HOUR, "hour")];
        let windows: Vec<Window> = limits.iter().filter_map(|(most, span, _)| most.map(|most| Window { most, span: *span })).collect();
        if windows.is_empty() {
            return Ok(());
        }
        let key = format!("{principal}\0host\0{}", host.to_ascii_lowercase());
        let ([ages], _) = self.0.call([(key, &windows)]);
        let (now, times) = moments(&ages);
        for (most, span, unit) in limits {
            let Some(most) = most else { continue };
            if let Some(wait) = window::window_of(&times, now, most, Duration::from_millis(span)) {
                let message = format!("limit reached: {most} requests to one host per {unit}");
                return Err(Refusal::new(Code::RateLimited, message).rule(format!("network.rate_limit_per_{unit}")).retry_after(wait));
            }
        }
        Ok(())
    }

    /// Charges bytes that are sent outside any call's own account, e.g. by a program through the gateway, or where a redirect leads; `most` is
    /// what the caller may send in any hour.
    /// # Errors  `quota` where the budget does not hold them: then they must not be sent.
    pub fn send(&self, principal: &str, Bytes(most): Bytes, bytes: u64) -> Result<(), Refusal> {
        let ask = Ask { at_most: [0, bytes, 0], budget: [0, most, 0], ..Ask::default() };
        let standing = self.0.reserve(principal, &ask);
        let [_, reserved, _] = standing.reserved;
        if reserved < bytes {
            self.0.settle(principal, [0, reserved, 0], [0; BUDGETS]);
            let message = format!("the budget of {} in any hour (egress_per_hour) is used up", Bytes(most));
            return Err(Refusal::new(Code::Quota, message).rule("limits.egress_per_hour").hint("send less, or wait"));
        }
        Ok(())
    }
}

/// Ages as moments of one clock, with its now.
pub(super) fn moments(ages: &[Millis]) -> (crate::policy::Moment, Vec<crate::policy::Moment>) {
    const NOW: Millis = 4 * HOUR;
    (moment(NOW), ages.iter().map(|age| moment(NOW.saturating_sub(*age))).collect())
}

#[expect(clippy::needless_pass_by_value, reason = "the argument of `map_err`")]
pub(super) fn unread(fault: io::Error) -> Refusal {
    tracing::error!(%fault, "the suspensions of callers cannot be read");
    Refusal::new(Code::AuditUnavailable, "whether this caller is suspended cannot be read, so the call is not made")
        .hint("ask the operator to look at the server's state folder and its disk")
}
