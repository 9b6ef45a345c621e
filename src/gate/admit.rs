//! Stage 4: may this caller use this tool now? The call is counted, whatever it holds and whatever becomes of it; one that is refused for its
//! rate is not, or a client that tries again too early would never pass again. A rate of the host is found out later, before a request is sent.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

use super::counts::{Counted, Window};
use super::rates::{self, Reservation, millis, unread};
use super::shared::CallGate;
use crate::audit::Event;
use crate::entry::{Entry, Status};
use crate::model::{Bytes, Refusal, ToolCall, ToolSpec};
use crate::policy::{self, Capability, Moment, State};
use crate::state::of_session;

/// A call that may be looked at.
#[derive(Debug)]
pub struct Admitted {
    /// What its caller may do with its tool.
    pub capability: Capability,
    /// What is reserved of the budgets for it.
    pub reservation: Reservation,
    /// The call as it is counted; nothing where it repeats one that was.
    pub counted: Counted,
}

impl CallGate {
    /// Admits a call to be looked at, and counts it unless it repeats one that was counted.
    /// # Errors  As [`policy::admit`]; `audit_unavailable` where it cannot be told whether its caller is suspended.
    pub fn admit(&self, call: &ToolCall, spec: Option<&'static ToolSpec>, repeats: bool) -> Result<Admitted, Refusal> {
        let caller = &call.caller;
        let profile = caller.profile.as_deref();
        let counts = &self.shared.counts;
        let (mut calls, mut tool_calls, mut call_counted) = (Vec::new(), Vec::new(), Counted::default());
        if !repeats {
            let key = |tool: &str| format!("{}\0{}\0{tool}", caller.principal, profile.unwrap_or_default());
            let tool = spec.map(|spec| spec.name);
            let (of_all, of_tool) = rates::windows(&self.manifest, profile, tool);
            if let Some(tool) = tool.filter(|_| !of_tool.is_empty()) {
                ([calls, tool_calls], call_counted) = counts.call([(key(""), &*of_all), (key(tool), &*of_tool)]);
            } else {
                ([calls], call_counted) = counts.call([(key(""), &*of_all)]);
            }
        }
        let ask = rates::ask(&self.manifest, profile, call);
        let standing = counts.reserve(&caller.principal, &ask);
        // Given back on every way out of here but the last.
        let reservation = Reservation::new(std::sync::Arc::clone(counts), &caller.principal, &standing);
        // A session on standard input is one process: where this one refused nothing yet, none of its sessions is suspended.
        let suspended = if caller.is_suspended_by_session() {
            self.shared.has_refused_sessions.load(Ordering::Relaxed)
                && self.shared.store.is_suspended(&of_session(&caller.session)).map_err(unread)?
        } else {
            self.shared.store.is_suspended(&caller.principal).map_err(unread)?
        };
        let (now, calls_at) = rates::moments(&calls);
        let (_, tool_calls_at) = rates::moments(&tool_calls);
        let state = State {
            killed: self.is_killed(),
            suspended,
            now,
            calls_at,
            tool_calls_at,
            used: rates::budgets(standing.used),
            cost: rates::budgets(ask.exactly),
            ..State::default()
        };
        let mut capability = policy::admit(&self.manifest, caller, &call.tool, spec, &state)?;
        if ask.at_most != [0; 3] {
            // What nobody knows before is held to what was reserved for it.
            capability.cpu = capability.cpu.min(reservation.cpu());
            if reservation.write() > 0 {
                capability.write_left = Some(Bytes(reservation.write()));
            }
        }
        Ok(Admitted { capability, reservation, counted: call_counted })
    }

    /// Takes note of how a call was refused: enough refusals that only a probe meets, within a time, suspend the caller: on standard input
    /// its session, else the principal in all its sessions.
    pub fn record_denial(&self, entry: &Entry, call: &ToolCall, refusal: &Refusal, status: Status) {
        let breaker = self.manifest.limits.breaker;
        if status != Status::Denied || !refusal.code.meets_a_wall() {
            return;
        }
        let caller = &call.caller;
        let account = if caller.is_suspended_by_session() {
            self.shared.has_refused_sessions.store(true, Ordering::Relaxed);
            Cow::Owned(of_session(&caller.session))
        } else {
            Cow::Borrowed(&*caller.principal)
        };
        if !self.shared.counts.deny(&account, Window { most: breaker.denials, span: millis(breaker.within) }) {
            return;
        }
        if let Err(fault) = self.shared.store.suspend(&account) {
            tracing::error!(%fault, "a caller could not be suspended");
        } else if let Err(fault) = entry.note(Event::BreakerTripped, serde_json::Map::new()) {
            tracing::error!(%fault, "a suspension could not be recorded");
        }
    }
}

pub(super) fn moment(at: u64) -> Moment {
    Moment(i64::try_from(at.saturating_mul(1_000_000)).unwrap_or(i64::MAX))
}
