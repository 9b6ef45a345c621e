//! Stage 4: may this caller use this tool now? The call is counted, whatever it holds and whatever becomes of it; one that is refused for its
//! rate is not, or a client that tries again too early would never pass again.

use super::door::Door;
use super::rates::{self, Reservation, millis, uncounted};
use crate::audit::counts::Window;
use crate::audit::{Entry, Event, Status};
use crate::model::{Bytes, Code, Refusal, ToolCall, ToolSpec};
use crate::policy::{self, Capability, Moment, State};

/// A call that may be looked at.
#[derive(Debug)]
pub struct Admitted {
    /// What its caller may do with its tool.
    pub capability: Capability,
    /// What is reserved of the budgets for it.
    pub reservation: Reservation,
}

impl Door {
    /// Admits a call to be looked at, and counts it unless it repeats one that was counted.
    /// # Errors  As [`policy::admit`]; `audit_unavailable` where it cannot be counted.
    pub fn admit(&self, call: &ToolCall, spec: Option<&'static ToolSpec>, repeats: bool) -> Result<Admitted, Refusal> {
        let caller = &call.caller;
        let profile = caller.profile.as_deref();
        let counts = &self.shared.counts;
        let (mut calls, mut tool_calls) = (Vec::new(), Vec::new());
        if !repeats {
            let key = |tool: &str| format!("{}\0{}\0{tool}", caller.principal, profile.unwrap_or_default());
            let (all, windows) = (key(""), rates::windows_of_profile(&self.manifest, profile));
            let of_tool = spec.map(|spec| (key(spec.name), rates::windows_of_tool(&self.manifest, spec.name)));
            let counted = match of_tool.filter(|(_, windows)| !windows.is_empty()) {
                Some((tool, of_tool)) => counts.call([(&*all, &*windows), (&*tool, &*of_tool)]).map(Into::into),
                None => counts.call([(&*all, &*windows)]).map(|[calls]| (calls, Vec::new())),
            };
            (calls, tool_calls) = counted.map_err(|fault| uncounted(&fault))?;
        }
        let ask = rates::ask(&self.manifest, profile, call);
        let standing = counts.reserve(&caller.principal, &ask).map_err(|fault| uncounted(&fault))?;
        // Given back on every way out of here but the last.
        let reservation = Reservation::new(std::sync::Arc::clone(counts), &caller.principal, &standing);
        let (now, calls_at) = rates::moments(&calls);
        let (_, tool_calls_at) = rates::moments(&tool_calls);
        let state = State {
            killed: self.is_killed(),
            suspended: standing.suspended,
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
                capability.max_file_size = capability.max_file_size.min(Bytes(reservation.write()));
            }
        }
        Ok(Admitted { capability, reservation })
    }

    /// Takes note of how a call was refused: enough denials within a time suspend the principal, in all its sessions.
    pub fn learn(&self, entry: &Entry, call: &ToolCall, refusal: &Refusal, status: Status) {
        let Some(breaker) = &self.manifest.limits.breaker else { return };
        // Waiting, and answers a person gave, say nothing about what the caller is up to.
        let harmless = matches!(
            refusal.code,
            Code::RateLimited | Code::Quota | Code::NoApprovalChannel | Code::Suspended | Code::Killed | Code::AuditUnavailable
        );
        if status != Status::Denied || harmless {
            return;
        }
        let tripped = self.shared.counts.deny(&call.caller.principal, Window { most: breaker.denials, span: millis(breaker.within) });
        match tripped.map(|tripped| tripped.then(|| entry.note(Event::BreakerTripped, serde_json::Map::new()))) {
            Ok(None | Some(Ok(()))) => {}
            Ok(Some(Err(fault))) => tracing::error!(%fault, "a suspension could not be recorded"),
            Err(fault) => tracing::error!(%fault, "a denial could not be counted"),
        }
    }
}

pub(super) fn moment(at: u64) -> Moment {
    Moment(i64::try_from(at.saturating_mul(1_000_000)).unwrap_or(i64::MAX))
}
