//! How it is decided and recorded: approvals, limits, review, audit.

use super::super::{
    Approvals, AuditRules, Bounds, Breaker, Durability, Limits, Mode, NoClientChannel, Remember, ReviewBy, ReviewRules, Reviewer, raw,
};
use super::Reader;
use super::access::remember;
use crate::model::{Inside, Level};

impl Reader<'_, '_> {
    pub(super) fn approvals(&mut self, written: raw::Approvals) -> Approvals {
        let mut approvals = Approvals::default();
        let modes = [written.level_0, written.level_1, written.level_2, written.level_3, written.level_4];
        for (mode, written) in approvals.modes.iter_mut().zip(modes) {
            if let Some(written) = written {
                *mode = match written {
                    raw::Mode::None => Mode::None,
                    raw::Mode::First => Mode::First,
                    raw::Mode::Every => Mode::Every,
                    raw::Mode::Operator => Mode::Operator,
                    raw::Mode::Deny => Mode::Deny,
                };
            }
        }
        if written.remember == Some(raw::Remember::Envelope) {
            self.fault("approvals.remember", "only `run_python` has an envelope; write it under `[tools.run_python]`");
        }
        approvals.remember = written.remember.map_or(Remember::Session, remember);
        if let Some(timeout) = self.time("approvals.timeout", written.timeout.as_ref()) {
            approvals.timeout = timeout;
        }
        approvals.no_client_channel = match written.no_client_channel {
            Some(raw::NoClientChannel::Operator) => NoClientChannel::Operator,
            Some(raw::NoClientChannel::Deny) | None => NoClientChannel::Deny,
        };
        approvals.two_persons = written.two_persons.unwrap_or_default();
        for (index, name) in approvals.two_persons.iter().enumerate() {
            if self.spec(name).is_none() {
                let known = self.tool_names();
                self.unknown(&format!("approvals.two_persons[{index}]"), "tool", name, known);
            }
        }
        approvals.raise_after_untrusted = matches!(written.after_untrusted, Some(raw::AfterUntrusted::Raise));
        approvals
    }

    pub(super) fn limits(&mut self, written: raw::Limits) -> Limits {
        let rates = (written.rate_limit_per_minute, written.rate_limit_per_hour);
        let mut limits =
            Limits { bounds: Bounds { rate_per_minute: rates.0, rate_per_hour: rates.1, ..Bounds::default() }, ..Limits::default() };
        if let Some(timeout) = self.time("limits.timeout", written.timeout.as_ref()) {
            limits.timeout = timeout;
        }
        if let Some(calls) = written.concurrent_calls {
            limits.concurrent_calls = calls;
        }
        if let Some(bytes) = self.bytes("limits.write_per_hour", written.write_per_hour.as_ref()) {
            limits.write_per_hour = bytes;
        }
        if let Some(bytes) = self.bytes("limits.egress_per_hour", written.egress_per_hour.as_ref()) {
            limits.egress_per_hour = bytes;
        }
        if let Some(time) = self.time("limits.cpu_per_hour", written.cpu_per_hour.as_ref()) {
            limits.cpu_per_hour = time;
        }
        if let Some(breaker) = written.breaker {
            let within = self.time("limits.breaker.within", breaker.within.as_ref()).unwrap_or(limits.breaker.within);
            let denials = breaker.denials.unwrap_or(limits.breaker.denials);
            if denials == 0 {
                self.fault("limits.breaker.denials", "0 denials would suspend every session at once; write a large number for no breaker");
            }
            limits.breaker = Breaker { denials, within };
        }
        limits
    }

    pub(super) fn review(&mut self, written: raw::Review) -> ReviewRules {
        let mut review = ReviewRules::default();
        if let Some(level) = written.from_level.and_then(Level::from_number) {
            review.from_level = level;
        }
        // One rule exists; its name stands in the file so that a reader need not guess it.
        let (Some(raw::ReviewRule::AnyDeny) | None) = written.rule;
        for (index, reviewer) in written.reviewers.unwrap_or_default().into_iter().enumerate() {
            let at = format!("review.reviewers[{index}]");
            let by = match (reviewer.command.unwrap_or_default(), reviewer.client_model == Some(true)) {
                (command, true) if command.is_empty() => ReviewBy::ClientModel,
                (command, of_model) => {
                    if of_model {
                        self.fault(
                            &format!("{at}.client_model"),
                            "a reviewer is either a `command` or the client's model; write two reviewers",
                        );
                    } else if command.first().is_none_or(String::is_empty) {
                        self.fault(&format!("{at}.command"), "`command` is missing; write the program and its arguments as a list");
                    }
                    ReviewBy::Command(command)
                }
            };
            let timeout = self.time(&format!("{at}.timeout"), reviewer.timeout.as_ref());
            review.reviewers.push(Reviewer { by, timeout: timeout.unwrap_or(std::time::Duration::from_secs(10)) });
        }
        review
    }

    /// `[filters]`: its words are those of the schema; what the operator's own rules look for is built once, here, to know that it can be.
    pub(super) fn filters(&mut self, written: Option<crate::filter::Settings>) -> crate::filter::Settings {
        let settings = written.unwrap_or_default();
        for (key, fault) in settings.rules.faults() {
            let at = if key.is_empty() { "filters.rules".to_owned() } else { format!("filters.rules.{key}") };
            self.fault(&at, fault);
        }
        settings
    }

    pub(super) fn audit(&mut self, written: raw::Audit) -> AuditRules {
        let durability = match written.durability {
            Some(raw::Durability::Effects) | None => Durability::Effects,
            Some(raw::Durability::Every) => Durability::Every,
            Some(raw::Durability::Relaxed) => Durability::Relaxed,
        };
        let mut audit = AuditRules { durability, ..AuditRules::default() };
        if let Some(bytes) = self.bytes("audit.rotate", written.rotate.as_ref()) {
            audit.rotate = bytes;
        }
        if let Some(time) = self.time("audit.keep", written.keep.as_ref()) {
            audit.keep = time;
        }
        if let Some(names) = written.hash_args {
            audit.hash_args = self.argument_names("audit.hash_args", names, &[]);
        }
        if let Some(names) = written.redact {
            let usual = AuditRules::default().redact;
            audit.redact = self.argument_names("audit.redact", names, &usual);
        }
        audit
    }

    /// Names of arguments that some tool has, or one of `usual`. `ARGUMENT.NAME` is a name inside an argument that has such: a header, a parameter
    /// of an address, a field; `NAME` is what is looked for.
    fn argument_names(&mut self, at: &str, written: Vec<String>, usual: &[String]) -> Vec<String> {
        let mut known: Vec<&str> = self.specs.iter().flat_map(|spec| spec.arguments).map(|argument| argument.name).collect();
        known.extend(usual.iter().map(String::as_str));
        known.sort_unstable();
        known.dedup();
        let is_known = |name: &str| known.iter().any(|known| known.eq_ignore_ascii_case(name));
        let inside: Vec<(&str, Inside)> = self.specs.iter().flat_map(|spec| spec.inside).copied().collect();
        let is_inside = |outer: &str, inner: &str| {
            inside.iter().filter(|(argument, _)| argument.eq_ignore_ascii_case(outer)).any(|(_, names)| match names {
                Inside::Free => inner.contains(char::is_alphanumeric) && !inner.contains(char::is_control),
                Inside::Names(names) => names.iter().any(|name| name.eq_ignore_ascii_case(inner)),
            })
        };
        let fields: Vec<String> = inside
            .iter()
            .filter_map(|(argument, names)| match names {
                Inside::Free => None,
                Inside::Names(names) => Some(names.iter().map(move |name| format!("{argument}.{name}"))),
            })
            .flatten()
            .collect();
        let mut names = Vec::with_capacity(written.len());
        for (index, text) in written.into_iter().enumerate() {
            let at = format!("{at}[{index}]");
            match text.split_once('.') {
                None if is_known(&text) => names.push(text),
                Some((outer, inner)) if is_inside(outer, inner) => names.push(inner.to_owned()),
                _ => {
                    let what = format!(
                        "`{}` is no argument of a tool; a name inside an argument is written with it, e.g. `headers.cookie` or `edits.new_text`",
                        text.escape_debug()
                    );
                    let near = crate::model::nearest(&text, known.iter().copied().chain(fields.iter().map(String::as_str)));
                    self.ledger.fault_near(&at, what, near);
                }
            }
        }
        names
    }
}
