//! Stage 4: may this caller use this tool now? The call is counted, whatever it holds and whatever becomes of it.

use serde_json::Value;

use super::door::{Door, lock, wall_millis};
use super::rates::{Budget, HOUR, MINUTE, Millis, Rates};
use crate::audit::{Entry, Event, Status};
use crate::manifest::{Bounds, Manifest};
use crate::model::{Code, Refusal, ToolCall, ToolSpec};
use crate::policy::{self, Budgets, Capability, Moment, State};

impl Door {
    /// Admits a call to be looked at, and counts it unless it repeats one that was counted.
    /// # Errors  As [`policy::admit`].
    pub fn admit(&self, call: &ToolCall, spec: Option<&'static ToolSpec>, repeats: bool) -> Result<Capability, Refusal> {
        let now = self.shared.now();
        let caller = &call.caller;
        let key = format!("{}/{}", caller.principal, caller.profile.as_deref().unwrap_or_default());
        let tool = spec.map(|spec| spec.name);
        let state = {
            let mut rates = lock(&self.shared.rates);
            if self.was_resumed(rates.suspended_since(&caller.session), &caller.principal, now) {
                rates.resume(&caller.session);
            }
            let suspended = rates.is_suspended(&caller.session, now);
            let used = Budgets {
                write: rates.used(&caller.principal, Budget::Write, now),
                egress: rates.used(&caller.principal, Budget::Egress, now),
                cpu: std::time::Duration::from_millis(rates.used(&caller.principal, Budget::Cpu, now)),
            };
            let (own, of_tool) = self.reins(caller.profile.as_deref(), tool);
            let (mut calls_at, mut tool_calls_at) = (Vec::new(), Vec::new());
            if !repeats {
                calls_at = moments(&mut rates, &key, None, now, &own);
                tool_calls_at = moments(&mut rates, &key, tool, now, &of_tool);
                rates.count(&key, tool, now, usize::try_from(own.most.max(of_tool.most)).unwrap_or(usize::MAX));
            }
            State {
                killed: self.is_killed(),
                suspended,
                now: moment(now),
                calls_at,
                tool_calls_at,
                used,
                cost: cost(call),
                ..State::default()
            }
        };
        policy::admit(&self.manifest, caller, &call.tool, spec, &state)
    }

    /// Whether the operator lifted a suspension that began `since`, from any process.
    fn was_resumed(&self, since: Option<Millis>, principal: &str, now: Millis) -> bool {
        let Some(since) = since else { return false };
        let began = wall_millis().saturating_sub(now.saturating_sub(since));
        self.shared.state.resumed_at(principal).is_some_and(|resumed| resumed >= began)
    }

    /// The limits of rate that hold for a profile, and for a tool.
    fn reins(&self, profile: Option<&str>, tool: Option<&str>) -> (Rein, Rein) {
        let manifest: &Manifest = &self.manifest;
        let profile = profile.and_then(|name| manifest.profiles.get(name)).map(|profile| &profile.bounds);
        let own = Rein::of([Some(&manifest.limits.bounds), profile].into_iter().flatten(), Some(manifest.limits.default_rate));
        let rules = tool.and_then(|name| manifest.tools.get(name)).map(|rules| &rules.bounds);
        (own, Rein::of(rules.into_iter(), None))
    }

    /// Takes note of how a call was refused: enough denials in a row suspend the session.
    pub fn learn(&self, entry: &Entry, call: &ToolCall, refusal: &Refusal, status: Status) {
        let Some(breaker) = &self.manifest.limits.breaker else { return };
        // Waiting, and answers a person gave, say nothing about what the caller is up to.
        let harmless = matches!(refusal.code, Code::RateLimited | Code::Quota | Code::NoApprovalChannel | Code::Suspended | Code::Killed);
        if status != Status::Denied || harmless {
            return;
        }
        let within = Millis::try_from(breaker.within.as_millis()).unwrap_or(Millis::MAX);
        let tripped = lock(&self.shared.rates).deny(&call.caller.session, self.shared.now(), breaker.denials, within);
        if tripped && let Err(fault) = entry.note(Event::BreakerTripped, serde_json::Map::new()) {
            tracing::error!(%fault, "a suspension could not be recorded");
        }
    }

    /// Charges what a finished call used.
    pub fn charge(&self, call: &ToolCall, written: u64, sent: u64, cpu_ms: u64) {
        let now = self.shared.now();
        let mut rates = lock(&self.shared.rates);
        for (budget, amount) in [(Budget::Write, written), (Budget::Egress, sent), (Budget::Cpu, cpu_ms)] {
            rates.charge(&call.caller.principal, budget, amount, now);
        }
    }
}

/// The limits of rate of one list of past calls.
#[derive(Debug)]
struct Rein {
    /// Fewer calls than this refuse nothing.
    least: u64,
    /// More calls than this say nothing new.
    most: u64,
    /// How far back a limit looks.
    span: Millis,
}

impl Rein {
    fn of<'a>(bounds: impl Iterator<Item = &'a Bounds>, fallback: Option<u64>) -> Self {
        let mut rein = Self { least: u64::MAX, most: fallback.unwrap_or(0), span: MINUTE };
        for bounds in bounds {
            for limit in [bounds.rate_per_minute, bounds.rate_per_hour].into_iter().flatten() {
                rein.least = rein.least.min(limit);
                rein.most = rein.most.max(limit);
            }
            if bounds.rate_per_hour.is_some() {
                rein.span = HOUR;
            }
        }
        if rein.least == u64::MAX {
            rein.least = fallback.unwrap_or(u64::MAX);
        }
        rein
    }
}

/// Past calls as moments; none where there are too few to refuse anything, so that a long list is only looked at when it can matter.
fn moments(rates: &mut Rates, key: &str, tool: Option<&'static str>, now: Millis, rein: &Rein) -> Vec<Moment> {
    let calls = rates.calls(key, tool, now, rein.span);
    if (calls.len() as u64) < rein.least { Vec::new() } else { calls.iter().map(|at| moment(*at)).collect() }
}

pub(super) fn moment(at: Millis) -> Moment {
    Moment(i64::try_from(at.saturating_mul(1_000_000)).unwrap_or(i64::MAX))
}

/// What a call will use of the budgets, at most, by its arguments alone.
fn cost(call: &ToolCall) -> Budgets {
    let length = |name: &str| call.arguments.get(name).and_then(Value::as_str).map_or(0, |text| text.len() as u64);
    Budgets { write: length("content"), egress: length("body") + length("url"), cpu: std::time::Duration::ZERO }
}
