//! Lines 1 to 6: who calls what, under which limits. What comes out is the caller's capability for this one call.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::state::State;
use super::window::window_of;
use crate::manifest::{Bounds, Manifest, Profile, Rates, RootMode, RootUse, ToolRules};
use crate::model::{Bytes, Caller, Code, Flag, Flags, Refusal, Target, ToolSpec};

/// What a caller may do with one tool, under which limits.
#[derive(Debug, Clone)]
pub struct Capability {
    /// The manifest it is judged by.
    pub manifest: Arc<Manifest>,
    /// The caller.
    pub caller: Caller,
    /// The caller's one profile.
    pub profile: String,
    /// The tool.
    pub spec: &'static ToolSpec,
    /// Largest file that is read whole or written.
    pub max_file_size: Bytes,
    /// What is left of `write_per_hour` for this call; none where what it writes was known before it was admitted, or where it writes nothing.
    pub write_left: Option<Bytes>,
    /// Longest answer.
    pub max_answer: Bytes,
    /// Longest run time.
    pub timeout: Duration,
    /// Most processor time of a program.
    pub cpu: Duration,
    /// The wall that this machine does not hold, in words: `check = "imports"` then acts as `strict`. None: nothing is known to be missing.
    pub lacking: Option<String>,
    /// Of the modules that the call's program imports and no list allows, those that are modules of a root it sees; each a plain name.
    pub modules: BTreeSet<String>,
}

const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);
/// Calls in any 60 seconds, where neither `[limits]` nor the profile says otherwise.
const DEFAULT_RATE: u64 = 10;

/// Admits a call to be looked at: lines 1 to 6. `spec` is the tool of this name, if there is one.
///
/// # Errors
/// `killed`, `audit_unavailable`, `no_profile`, `suspended`, `unknown_tool`, `rate_limited`, `quota`, `tool_denied`,
/// `tool_not_allowed`, `permission_missing`.
pub fn admit(
    manifest: &Arc<Manifest>,
    caller: &Caller,
    tool: &str,
    spec: Option<&'static ToolSpec>,
    state: &State,
) -> Result<Capability, Refusal> {
    if state.killed {
        return Err(Refusal::new(Code::Killed, "the emergency stop is on: no call is made")
            .hint("only the operator can lift it, with `toolgate resume`"));
    }
    if state.audit_lost {
        return Err(Refusal::new(Code::AuditUnavailable, "the audit log cannot be written, and no call is made without its record")
            .hint("the operator sees the reason with `toolgate doctor`"));
    }
    let Some((name, profile)) = caller.profile.as_deref().and_then(|name| manifest.profiles.get_key_value(name)) else {
        return Err(Refusal::new(Code::NoProfile, "this caller has no profile, so it may call no tool")
            .rule("clients")
            .hint("the operator gives profiles in `[clients]`, or starts the server with `--profile NAME`"));
    };
    if state.suspended {
        let (who, option) = if caller.is_suspended_by_session() {
            ("this session is".to_owned(), format!("--session {}", caller.session))
        } else {
            (format!("`{}` is in all its sessions", caller.principal), format!("--principal {}", caller.principal))
        };
        return Err(Refusal::new(Code::Suspended, format!("{who} suspended, because too many of its calls asked for what is denied"))
            .rule("limits.breaker")
            .hint(format!("it ends by itself after 10 minutes, or when the operator runs `toolgate resume {option}`")));
    }
    let Some(spec) = spec else {
        let shown: String = tool.chars().take(64).flat_map(char::escape_debug).collect();
        return Err(Refusal::new(Code::UnknownTool, format!("there is no tool `{shown}`")).hint("list the tools again"));
    };
    let rules = manifest.tools.get(spec.name);
    count(manifest, name, profile, spec, state)?;
    judge_tool(name, profile, spec.name)?;
    judge_alike(manifest, name, profile, spec)?;
    judge_flags(name, profile.permissions, spec, spec.flags)?;
    let least = |own: fn(&Bounds) -> Option<Bytes>, base: Bytes| {
        [own(&profile.bounds), rules.and_then(|rules| own(&rules.bounds))].into_iter().flatten().fold(base, Bytes::min)
    };
    let times = [profile.bounds.timeout, rules.and_then(|rules| rules.bounds.timeout)];
    Ok(Capability {
        manifest: Arc::clone(manifest),
        caller: caller.clone(),
        profile: name.clone(),
        spec,
        max_file_size: least(|bounds| bounds.max_file_size, manifest.files.max_file_size),
        write_left: None,
        max_answer: least(|bounds| bounds.max_answer, manifest.files.max_answer),
        timeout: times.into_iter().flatten().fold(manifest.limits.timeout, Duration::min),
        cpu: manifest.python.cpu,
        lacking: None,
        modules: state.modules.clone(),
    })
}

/// One limit of calls.
#[derive(Debug, Clone, Copy)]
pub struct RateLimit {
    /// Calls in any `span`.
    pub most: u64,
    /// A minute or an hour.
    pub span: Duration,
    /// Where it stands.
    pub of: LimitOf,
}

/// Whose calls a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitOf {
    /// `[limits]`: all calls of a principal under a profile.
    Everyone,
    /// `[profiles.NAME]`: the same.
    Profile,
    /// `[tools.NAME]`: the calls of one tool.
    Tool,
}

/// The limits of calls that hold together.
pub fn rate_limits(manifest: &Manifest, profile: Option<&str>, tool: Option<&str>) -> impl Iterator<Item = RateLimit> {
    let limits = &manifest.limits;
    let own = profile.and_then(|name| manifest.profiles.get(name)).map_or_else(Rates::default, |profile| profile.bounds.rates);
    let of_tool = tool.and_then(|name| manifest.tools.get(name)).map_or_else(Rates::default, |rules| rules.bounds.rates);
    // The default is no ceiling for a profile that sets a limit of its own.
    let default = own.per_minute.is_none().then_some(DEFAULT_RATE);
    let everyone = Rates { per_minute: limits.rates.per_minute.or(default), ..limits.rates };
    let all = [(LimitOf::Everyone, everyone), (LimitOf::Profile, own), (LimitOf::Tool, of_tool)];
    all.into_iter().flat_map(|(of, rates)| {
        let written = [(rates.per_minute, MINUTE), (rates.per_hour, HOUR)];
        written.into_iter().filter_map(move |(most, span)| Some(RateLimit { most: most?, span, of }))
    })
}

/// Line 4. Of several limits that are reached, the one with the longest wait is told.
fn count(manifest: &Manifest, name: &str, profile: &Profile, spec: &ToolSpec, state: &State) -> Result<(), Refusal> {
    let waits = rate_limits(manifest, Some(name), Some(spec.name)).filter_map(|limit| {
        let times = if limit.of == LimitOf::Tool { &state.tool_calls_at } else { &state.calls_at };
        Some((window_of(times, state.now, limit.most, limit.span)?, limit))
    });
    let Some((wait, RateLimit { most, span, of })) = waits.max_by_key(|(wait, _)| *wait) else {
        return budgets(manifest, name, profile, spec, state);
    };
    let unit = if span == HOUR { "hour" } else { "minute" };
    let table = match of {
        LimitOf::Everyone => "limits".to_owned(),
        LimitOf::Profile => format!("profiles.{name}"),
        LimitOf::Tool => format!("tools.{}", spec.name),
    };
    let refusal = Refusal::new(Code::RateLimited, format!("limit reached: {most} calls per {unit}"));
    let refusal = refusal.rule(format!("{table}.rate_limit_per_{unit}"));
    Err(if most == 0 { refusal.hint("the manifest allows no such call") } else { refusal.retry_after(wait) })
}

fn budgets(manifest: &Manifest, name: &str, own: &Profile, spec: &ToolSpec, state: &State) -> Result<(), Refusal> {
    let limits = &manifest.limits;
    let (used, cost) = (&state.used, &state.cost);
    let rule = |own, key| rule_of(own, name, key);
    // A budget that was overrun holds what would use more of it, and no other tool.
    let is_held = |cost: bool, flag| cost || spec.flags.contains(flag);
    for (used, cost, limit, own, key, flag) in [
        (used.write, cost.write, limits.write_per_hour, own.write_per_hour, "write_per_hour", Flag::WriteFile),
        (used.egress, cost.egress, limits.egress_per_hour, own.egress_per_hour, "egress_per_hour", Flag::NetworkAccess),
    ] {
        let limit_here = least(limit, own);
        if is_held(cost > 0, flag) && used.saturating_add(cost) > limit_here.0 {
            let message = format!("the budget of {limit_here} in any hour ({key}) is used up");
            let hint = "use less, or wait; a running call counts with the most it may still use";
            return Err(Refusal::new(Code::Quota, message).rule(rule(limit_here < limit, key)).hint(hint));
        }
    }
    let cpu = least(limits.cpu_per_hour, own.cpu_per_hour);
    if is_held(!cost.cpu.is_zero(), Flag::ExecuteCode) && used.cpu.saturating_add(cost.cpu) > cpu {
        let message = format!("the budget of {} s of processor time in any hour is used up", cpu.as_secs());
        return Err(Refusal::new(Code::Quota, message)
            .rule(rule(cpu < limits.cpu_per_hour, "cpu_per_hour"))
            .hint("run shorter programs, or wait"));
    }
    let most = concurrent_calls(manifest, name);
    if state.under_way >= most {
        let message = format!("{most} calls are running already");
        return Err(Refusal::new(Code::Quota, message).rule(rule(most < limits.concurrent_calls, "concurrent_calls")).retry_after(1));
    }
    Ok(())
}

/// How many calls of one session may be under way at one time.
pub fn concurrent_calls(manifest: &Manifest, profile: &str) -> u64 {
    least(manifest.limits.concurrent_calls, manifest.profiles.get(profile).and_then(|rules| rules.concurrent_calls))
}

/// The limit for everybody, or the profile's own where that is less.
fn least<T: Ord>(all: T, own: Option<T>) -> T {
    own.into_iter().fold(all, T::min)
}

fn rule_of(is_own: bool, profile: &str, key: &str) -> String {
    if is_own { format!("profiles.{profile}.{key}") } else { format!("limits.{key}") }
}

/// Line 5.
pub(super) fn judge_tool(name: &str, profile: &Profile, tool: &str) -> Result<(), Refusal> {
    if let Some((index, pattern)) = profile.denied_tools.iter().enumerate().find(|(_, pattern)| pattern.matches(tool)) {
        return Err(Refusal::new(Code::ToolDenied, format!("`{tool}` is denied by `{}`", pattern.as_str()))
            .rule(format!("profiles.{name}.denied_tools[{index}]"))
            .hint("use another tool; this one stays denied"));
    }
    if !profile.allowed_tools.iter().any(|pattern| pattern.matches(tool)) {
        return Err(Refusal::new(Code::ToolNotAllowed, format!("`{tool}` is not open to this caller"))
            .rule(format!("profiles.{name}.allowed_tools"))
            .hint("use one of the listed tools"));
    }
    Ok(())
}

/// Line 5, for a tool that does what older tools do. A manifest that was written before this tool restricts what it does by the names of those.
fn judge_alike(manifest: &Manifest, name: &str, profile: &Profile, spec: &ToolSpec) -> Result<(), Refusal> {
    let has_rules = |tool: &str| manifest.tools.contains_key(tool);
    for other in spec.alike {
        let (code, rule) = if let Some(index) = profile.denied_tools.iter().position(|pattern| pattern.matches(other)) {
            (Code::ToolDenied, format!("profiles.{name}.denied_tools[{index}]"))
        } else if has_rules(other) && !has_rules(spec.name) {
            (Code::ToolNotAllowed, format!("tools.{other}"))
        } else if manifest.approvals.needs_two(other) && !manifest.approvals.needs_two(spec.name) {
            (Code::ToolNotAllowed, "approvals.two_persons".to_owned())
        } else {
            continue;
        };
        return Err(Refusal::new(code, format!("`{}` does what `{other}` does, which is denied or restricted by `{rule}`", spec.name))
            .rule(rule)
            .hint(match code {
                Code::ToolDenied => "use another tool; this one stays denied".to_owned(),
                _ => format!("use `{other}`; the operator can allow this one with a table `[tools.{}]`", spec.name),
            }));
    }
    Ok(())
}

/// Line 6.
pub(super) fn judge_flags(name: &str, held: Flags, spec: &ToolSpec, needed: Flags) -> Result<(), Refusal> {
    let missing: Vec<&str> = needed.missing_from(held).map(Flag::as_str).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(Code::PermissionMissing, format!("`{}` needs {}, which this caller does not have", spec.name, missing.join(" and ")))
        .rule(format!("profiles.{name}.permissions"))
        .hint("work without it; only the operator can give this permission"))
}

/// Whether a profile could ever use a tool: what it can never use is not listed.
pub fn could_use(manifest: &Manifest, profile: &str, spec: &ToolSpec) -> bool {
    manifest.profiles.get(profile).is_some_and(|rules| {
        judge_tool(profile, rules, spec.name).is_ok()
            && judge_alike(manifest, profile, rules, spec).is_ok()
            && judge_flags(profile, rules.permissions, spec, spec.flags).is_ok()
    }) && has_object(manifest, profile, spec.flags)
}

/// Whether there is anything a tool with these flags could act on: a root, one that may be written, a host, a database, a mail server.
fn has_object(manifest: &Manifest, profile: &str, flags: Flags) -> bool {
    let mut roots = manifest.roots_of(profile);
    if flags.contains(Flag::NetworkAccess) {
        let network = &manifest.network;
        return network.any_public || !network.allowed_domains.is_empty() || !network.internal.is_empty();
    }
    if flags.contains(Flag::SendEmail) {
        return manifest.mail.smtp.is_some();
    }
    if flags.contains(Flag::DatabaseRead) {
        return !manifest.databases.is_empty();
    }
    if flags.contains(Flag::WriteFile) {
        return roots.any(|(_, root)| root.mode == RootMode::ReadWrite);
    }
    !flags.contains(Flag::ReadFile) || roots.next().is_some()
}

impl Capability {
    /// The caller's profile; every capability has one, so none is a fault of ours and opens nothing.
    pub(super) fn rules(&self) -> Option<&Profile> {
        self.manifest.profiles.get(&self.profile)
    }

    /// The tightening of the tool.
    pub(super) fn tool_rules(&self) -> Option<&ToolRules> {
        self.manifest.tools.get(self.spec.name)
    }
}

/// The roots a program of this profile sees and whether it may write there: those of `[python] roots` that the profile has, with what
/// its flags allow. The level of a program and its jail both go by this.
pub fn python_roots<'m>(manifest: &'m Manifest, profile: &str) -> Vec<(&'m str, bool)> {
    let rules = manifest.profiles.get(profile).filter(|rules| rules.permissions.contains(Flag::ReadFile));
    let seen = |seen: &RootUse| {
        let rules = rules.filter(|rules| rules.has_root(&seen.name))?;
        let (name, root) = manifest.roots.get_key_value(&seen.name)?;
        let writes = seen.mode == RootMode::ReadWrite && root.mode == RootMode::ReadWrite;
        Some((name.as_str(), writes && rules.permissions.contains(Flag::WriteFile)))
    };
    manifest.python.roots.iter().filter_map(seen).collect()
}

/// What a caller of this profile may write in an hour: the smaller of its own and everybody's.
pub fn write_per_hour(manifest: &Manifest, profile: &str) -> Bytes {
    least(manifest.limits.write_per_hour, manifest.profiles.get(profile).and_then(|profile| profile.write_per_hour))
}

/// Why a file is not written that is larger than what is left of [`write_per_hour`].
pub fn over_writes(manifest: &Manifest, profile: &str, target: &Target, size: Bytes, left: Bytes) -> Refusal {
    let limit = write_per_hour(manifest, profile);
    let message = format!("`{target}` would take {size}, and {left} are left of the budget of {limit} an hour (write_per_hour)");
    Refusal::new(Code::Quota, message)
        .rule(rule_of_writes(manifest, profile))
        .hint("write less, or wait; a running call counts with the most it may still use")
}

/// The rule from which [`write_per_hour`] is.
pub fn rule_of_writes(manifest: &Manifest, profile: &str) -> String {
    rule_of(write_per_hour(manifest, profile) < manifest.limits.write_per_hour, profile, "write_per_hour")
}

/// Whether a program of this profile reaches the network.
pub fn python_network(manifest: &Manifest, profile: &str) -> bool {
    manifest.python.network && manifest.profiles.get(profile).is_some_and(|rules| rules.permissions.contains(Flag::NetworkAccess))
}

/// Whether a program of some profile would see what lies in one root, and does not see what lies in the other: a copy from the second into the
/// first would show it what masks hide in the answers of tools.
pub fn shows_more(manifest: &Manifest, from: &str, to: &str) -> bool {
    manifest.profiles.iter().any(|(name, rules)| {
        let roots = python_roots(manifest, name);
        let sees = |root: &str| roots.iter().any(|(name, _)| *name == root);
        rules.permissions.contains(Flag::ExecuteCode) && sees(to) && !sees(from)
    })
}
