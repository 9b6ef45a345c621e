//! In what respects a new manifest may be looser than the one in force. What is not seen to be as tight counts as looser, so that a reload
//! which says nothing here can be taken over at once.

use std::collections::BTreeSet;

use super::{
    AllowPattern, Bounds, Check, DenyPattern, LaterPattern, Manifest, NamePattern, NoClientChannel, Place, Profile, Remember, Root,
    RootMode, RootUse, Symlinks, ToolRules,
};
use crate::model::Level;
use crate::policy::network::{DomainPattern, Robots};

/// Gathers the keys in which the new manifest may be looser.
#[derive(Debug, Default)]
struct Found(Vec<String>);

impl Found {
    fn when(&mut self, looser: bool, at: &str, why: impl Into<String>) {
        if looser {
            self.0.push(format!("{at}: {}", why.into()));
        }
    }

    /// Everything in the new list must have been in the old one.
    fn no_more<T: PartialEq>(&mut self, at: &str, old: &[T], new: &[T]) {
        self.nothing_wider(at, old, new, T::eq);
    }

    /// Everything in the new list must lie within something of the old one.
    fn nothing_wider<T>(&mut self, at: &str, old: &[T], new: &[T], within: impl Fn(&T, &T) -> bool) {
        self.when(new.iter().any(|entry| !old.iter().any(|other| within(entry, other))), at, "opens what was closed");
    }

    /// Everything in the old list must still be in the new one.
    fn no_less<T: PartialEq>(&mut self, at: &str, old: &[T], new: &[T]) {
        self.nothing_freed(at, old, new, T::eq);
    }

    /// Everything in the old list must lie within something of the new one.
    fn nothing_freed<T>(&mut self, at: &str, old: &[T], new: &[T], within: impl Fn(&T, &T) -> bool) {
        self.when(old.iter().any(|entry| !new.iter().any(|other| within(entry, other))), at, "no longer denies what it denied");
    }

    fn not_above<T: PartialOrd>(&mut self, at: &str, old: &T, new: &T) {
        self.when(new > old, at, "is raised");
    }

    fn same<T: PartialEq>(&mut self, at: &str, old: &T, new: &T) {
        self.when(old != new, at, "is changed");
    }

    /// A limit that is lifted or raised is looser; one that is set or lowered is not.
    fn limit<T: PartialOrd>(&mut self, at: &str, old: Option<&T>, new: Option<&T>) {
        let looser = match (old, new) {
            (Some(old), Some(new)) => new > old,
            (Some(_), None) => true,
            (None, _) => false,
        };
        self.when(looser, at, "is raised or lifted");
    }
}

impl Manifest {
    /// The respects in which `new` may be looser than this manifest, each with its key. Empty: it is as tight or tighter in all.
    pub fn loosened_by(&self, new: &Manifest) -> Vec<String> {
        let mut found = Found::default();
        clients(&mut found, self, new);
        for (name, root) in &new.roots {
            match self.roots.get(name) {
                Some(old) => one_root(&mut found, &format!("roots.{name}"), old, root),
                None => found.when(true, &format!("roots.{name}"), "is new"),
            }
        }
        walls(&mut found, self, new);
        python(&mut found, self, new);
        for (name, profile) in &new.profiles {
            match self.profiles.get(name) {
                Some(old) => one_profile(&mut found, &format!("profiles.{name}"), old, profile, self, new),
                None => found.when(true, &format!("profiles.{name}"), "is new"),
            }
        }
        for (name, old) in &self.tools {
            one_tool(&mut found, &format!("tools.{name}"), old, new.tools.get(name));
            let own = |manifest: &Manifest| remembers(manifest.tools.get(name).and_then(|rules| rules.remember), manifest);
            found.when(own(new) > own(self), &format!("tools.{name}.remember"), "remembers longer");
        }
        for (name, rules) in new.tools.iter().filter(|(name, _)| !self.tools.contains_key(*name)) {
            // An absent argument takes the first that is listed, so a new list can also change a call.
            found.when(remembers(rules.remember, new) > remembers(None, self), &format!("tools.{name}.remember"), "remembers longer");
        }
        decisions(&mut found, self, new);
        found.0
    }
}

fn clients(found: &mut Found, old: &Manifest, new: &Manifest) {
    found.same("http", &old.http, &new.http);
    let (was, is) = (&old.clients, &new.clients);
    for (at, was, is) in [("clients.stdio", &was.stdio, &is.stdio), ("clients.http", &was.http, &is.http)] {
        found.when(is.is_some() && was != is, at, "gives another profile");
    }
    found.no_more("clients.token", &was.tokens, &is.tokens);
    found.no_more("clients.oauth", &was.oauth, &is.oauth);
    // A token that fits two rules has no access: taking one of them away opens it.
    found.no_less("clients.oauth", &was.oauth, &is.oauth);
}

fn one_root(found: &mut Found, at: &str, old: &Root, new: &Root) {
    let moved = old.place != new.place || (old.place != Place::Session && old.paths != new.paths);
    found.when(moved, &format!("{at}.path"), "is another folder");
    found.when(old.mode == RootMode::ReadOnly && new.mode == RootMode::ReadWrite, &format!("{at}.mode"), "may be written");
    found.nothing_wider(&format!("{at}.allowed_paths"), &old.allowed, &new.allowed, AllowPattern::is_within);
    found.nothing_freed(&format!("{at}.denied_paths"), &old.denied, &new.denied, DenyPattern::is_within);
    found.no_less(&format!("{at}.untrusted_paths"), &old.untrusted, &new.untrusted);
    let quota = |root: &Root| (root.quota.and_then(|quota| quota.bytes), root.quota.and_then(|quota| quota.files));
    let ((old_bytes, old_files), (new_bytes, new_files)) = (quota(old), quota(new));
    found.limit(&format!("{at}.quota.bytes"), old_bytes.as_ref(), new_bytes.as_ref());
    found.limit(&format!("{at}.quota.files"), old_files.as_ref(), new_files.as_ref());
}

fn walls(found: &mut Found, old: &Manifest, new: &Manifest) {
    let (was, is) = (&old.files, &new.files);
    found.nothing_freed("files.denied_paths", &was.denied, &is.denied, DenyPattern::is_within);
    found.no_less("files.untrusted_paths", &was.untrusted, &is.untrusted);
    let freed = was.runs_later.iter().any(|later| !is.runs_later.iter().any(|other| LaterPattern::is_within(later, other)));
    found.when(freed, "files.runs_later", "no longer asks as for level 3");
    let dropped = was.names_runs_later && !was.runs_later.is_empty() && !is.names_runs_later;
    found.when(dropped, "files.runs_later", "no longer holds for programs");
    found.not_above("files.max_file_size", &was.max_file_size, &is.max_file_size);
    found.not_above("files.max_answer", &was.max_answer, &is.max_answer);
    found.when(was.symlinks == Symlinks::Deny && is.symlinks == Symlinks::Inside, "files.symlinks", "follows links");
    let (was, is) = (&old.network, &new.network);
    if !was.any_public {
        found.nothing_wider("network.allowed_domains", &was.allowed_domains, &is.allowed_domains, DomainPattern::is_within);
    }
    found.when(!was.any_public && is.any_public, "network.any_public", "opens every public host");
    found.nothing_freed("network.denied_domains", &was.denied_domains, &is.denied_domains, DomainPattern::is_denied_by);
    found.no_more("network.allowed_ports", &was.allowed_ports, &is.allowed_ports);
    found.no_less("network.denied_ports", &was.denied_ports, &is.denied_ports);
    found.no_more("network.allowed_schemes", &was.allowed_schemes, &is.allowed_schemes);
    found.no_more("network.internal", &was.internal, &is.internal);
    found.not_above("network.max_response", &was.max_response, &is.max_response);
    // Fewer redirects are followed, and the call that ends there was judged to there.
    found.same("network.max_redirects", &was.max_redirects, &is.max_redirects);
    found.not_above("network.max_connections", &was.max_connections, &is.max_connections);
    found.limit("network.rate_limit_per_minute", was.rate_per_minute.as_ref(), is.rate_per_minute.as_ref());
    found.limit("network.rate_limit_per_hour", was.rate_per_hour.as_ref(), is.rate_per_hour.as_ref());
    found.same("network.proxy", &was.proxy, &is.proxy);
    found.when(was.robots == Robots::Respect && is.robots == Robots::Ignore, "network.robots", "is no longer asked");
    found.same("network.secrets", &was.secrets, &is.secrets);
}

fn python(found: &mut Found, old: &Manifest, new: &Manifest) {
    let (was, is) = (&old.python, &new.python);
    for (at, was, is) in [
        ("python.interpreter", format!("{:?}", (&was.interpreter, &was.packages)), format!("{:?}", (&is.interpreter, &is.packages))),
        ("python.preload", format!("{:?}", was.preload), format!("{:?}", is.preload)),
        ("python.env", format!("{:?}", was.env), format!("{:?}", is.env)),
        ("python.backend", was.backend.clone(), is.backend.clone()),
    ] {
        found.same(at, &was, &is);
    }
    let strictness = |check: Check| match check {
        Check::Strict => 0,
        Check::Imports => 1,
        Check::Off => 2,
    };
    found.not_above("python.check", &strictness(was.check), &strictness(is.check));
    if !was.allowed_imports.iter().any(|module| module == "*") {
        found.no_more("python.allowed_imports", &was.allowed_imports, &is.allowed_imports);
    }
    found.no_more("python.allowed_calls", &was.allowed_calls, &is.allowed_calls);
    found.no_more("python.allowed_attributes", &was.allowed_attributes, &is.allowed_attributes);
    found.nothing_wider("python.roots", &was.roots, &is.roots, RootUse::is_within);
    found.when(!was.network && is.network, "python.network", "reaches the network");
    found.no_less("python.require", &was.require, &is.require);
    for (at, was, is) in
        [("python.timeout", was.timeout, is.timeout), ("python.cpu", was.cpu, is.cpu), ("python.sessions.idle", was.idle, is.idle)]
    {
        found.not_above(at, &was, &is);
    }
    for (at, was, is) in [
        ("python.cpu_share", u64::from(was.cpu_share), u64::from(is.cpu_share)),
        ("python.memory", was.memory.0, is.memory.0),
        ("python.processes", u64::from(was.processes), u64::from(is.processes)),
        ("python.open_files", u64::from(was.open_files), u64::from(is.open_files)),
        ("python.file_size", was.file_size.0, is.file_size.0),
        ("python.scratch", was.scratch.0, is.scratch.0),
        ("python.output", was.output.0, is.output.0),
        ("python.sessions.max", u64::from(was.max_sessions), u64::from(is.max_sessions)),
    ] {
        found.not_above(at, &was, &is);
    }
}

fn one_profile(found: &mut Found, at: &str, was: &Profile, is: &Profile, old: &Manifest, new: &Manifest) {
    found.when(!was.permissions.contains(is.permissions), &format!("{at}.permissions"), "holds more");
    found.nothing_wider(&format!("{at}.allowed_tools"), &was.allowed_tools, &is.allowed_tools, NamePattern::is_within);
    found.nothing_freed(&format!("{at}.denied_tools"), &was.denied_tools, &is.denied_tools, NamePattern::is_within);
    let roots = |profile: &Profile, manifest: &Manifest| -> BTreeSet<String> {
        match &profile.roots {
            Some(roots) => roots.iter().cloned().collect(),
            None => manifest.roots.keys().cloned().collect(),
        }
    };
    let more = !roots(is, new).is_subset(&roots(was, old));
    found.when(more, &format!("{at}.roots"), "sees more folders");
    // Where neither the profile nor `[limits]` says anything a default holds, which a written limit lifts.
    let rate = |profile: &Profile, manifest: &Manifest| {
        let written = [profile.bounds.rate_per_minute, manifest.limits.bounds.rate_per_minute];
        written.into_iter().flatten().min().unwrap_or(manifest.limits.default_rate)
    };
    found.not_above(&format!("{at}.rate_limit_per_minute"), &rate(was, old), &rate(is, new));
    bounds(found, at, &Bounds { rate_per_minute: None, ..was.bounds.clone() }, &is.bounds);
}

fn bounds(found: &mut Found, at: &str, was: &Bounds, is: &Bounds) {
    let key = |name: &str| format!("{at}.{name}");
    found.limit(&key("rate_limit_per_minute"), was.rate_per_minute.as_ref(), is.rate_per_minute.as_ref());
    found.limit(&key("rate_limit_per_hour"), was.rate_per_hour.as_ref(), is.rate_per_hour.as_ref());
    found.limit(&key("max_file_size"), was.max_file_size.as_ref(), is.max_file_size.as_ref());
    found.limit(&key("max_answer"), was.max_answer.as_ref(), is.max_answer.as_ref());
    found.limit(&key("timeout"), was.timeout.as_ref(), is.timeout.as_ref());
    found.limit(&key("write_per_hour"), was.write_per_hour.as_ref(), is.write_per_hour.as_ref());
    found.limit(&key("egress_per_hour"), was.egress_per_hour.as_ref(), is.egress_per_hour.as_ref());
    found.limit(&key("cpu_per_hour"), was.cpu_per_hour.as_ref(), is.cpu_per_hour.as_ref());
    found.limit(&key("concurrent_calls"), was.concurrent_calls.as_ref(), is.concurrent_calls.as_ref());
}

fn one_tool(found: &mut Found, at: &str, was: &ToolRules, is: Option<&ToolRules>) {
    let none = ToolRules::default();
    let is = is.unwrap_or(&none);
    found.when(is.level.unwrap_or(Level::Read) < was.level.unwrap_or(Level::Read), &format!("{at}.level"), "is lowered");
    found.when(was.only_listed && !is.only_listed, &format!("{at}.only_listed"), "is lifted");
    for (name, rule) in &was.arguments {
        // An argument that may no longer be given at all is as tight as can be; an absent one takes its default either way.
        let lifted = is.arguments.get(name).is_none_or(|new| !rule.holds(new));
        found.when(lifted, &format!("{at}.allowed_arguments.{name}"), "is changed or lifted");
    }
    // With `only_listed` a further rule opens an argument.
    let further = is.arguments.keys().any(|name| !was.arguments.contains_key(name));
    found.when(was.only_listed && further, &format!("{at}.allowed_arguments"), "opens an argument");
    bounds(found, at, &was.bounds, &is.bounds);
}

/// How long a yes lasts: more is looser. An envelope covers every program.
pub(super) fn remembers(own: Option<Remember>, manifest: &Manifest) -> u8 {
    match own.unwrap_or(manifest.approvals.remember) {
        Remember::Off => 0,
        Remember::Session => 1,
        Remember::Envelope => 2,
    }
}

fn decisions(found: &mut Found, old: &Manifest, new: &Manifest) {
    let (was, is) = (&old.approvals, &new.approvals);
    for level in Level::ALL {
        found.when(is.mode(level) < was.mode(level), &format!("approvals.level_{}", u8::from(level)), "asks less");
    }
    found.when(remembers(None, new) > remembers(None, old), "approvals.remember", "remembers longer");
    found.not_above("approvals.timeout", &was.timeout, &is.timeout);
    let queues = is.no_client_channel == NoClientChannel::Operator && was.no_client_channel == NoClientChannel::Deny;
    found.when(queues, "approvals.no_client_channel", "asks an operator where it denied");
    found.no_less("approvals.two_persons", &was.two_persons, &is.two_persons);
    found.when(was.raise_after_untrusted && !is.raise_after_untrusted, "approvals.after_untrusted", "is lifted");
    let (was, is) = (&old.limits, &new.limits);
    // The rate in any minute is compared profile by profile, where its default is known.
    found.limit("limits.rate_limit_per_hour", was.bounds.rate_per_hour.as_ref(), is.bounds.rate_per_hour.as_ref());
    found.not_above("limits.timeout", &was.timeout, &is.timeout);
    found.not_above("limits.concurrent_calls", &was.concurrent_calls, &is.concurrent_calls);
    found.not_above("limits.write_per_hour", &was.write_per_hour, &is.write_per_hour);
    found.not_above("limits.egress_per_hour", &was.egress_per_hour, &is.egress_per_hour);
    found.not_above("limits.cpu_per_hour", &was.cpu_per_hour, &is.cpu_per_hour);
    let trips_later = is.breaker.denials > was.breaker.denials || is.breaker.within < was.breaker.within;
    found.when(trips_later, "limits.breaker", "trips later");
    found.not_above("review.from_level", &old.review.from_level, &new.review.from_level);
    found.no_less("review.reviewers", &old.review.reviewers, &new.review.reviewers);
    // What goes back to the model and what is recorded have no order that is worth a guess.
    found.same("filters", &old.filters, &new.filters);
    found.same("audit", &old.audit, &new.audit);
    found.same("state.dir", &old.state_dir, &new.state_dir);
}
