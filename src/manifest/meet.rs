//! The manifest that is as tight as two others in every respect: what holds while a looser one waits for the operator. Where two entries
//! overlap in a way that no one entry can say, neither is open.

use sha2::{Digest, Sha256};

use super::loosened::remembers;
use super::rule::meet as both_rules;
use super::within::{joined, narrowed};
use super::{
    AllowPattern, Approvals, Bounds, Breaker, Check, Clients, Files, Limits, Manifest, NamePattern, NoClientChannel, OAuth, Place, Profile,
    Python, Quota, ReviewRules, Root, RootMode, RootUse, Symlinks, ToolRules,
};
use crate::model::Level;
use crate::policy::network::{DomainPattern, NetworkRules, Robots};

impl Manifest {
    /// What both this manifest, which is in force, and `new` allow. Where they differ without either being the tighter (filters, the log,
    /// the interpreter), this one's holds.
    #[must_use]
    pub fn meet(&self, new: &Self) -> Self {
        let roots = self
            .roots
            .iter()
            .filter_map(|(name, old)| {
                let new = new.roots.get(name)?;
                let same = old.place == new.place && (old.place == Place::Session || old.paths == new.paths);
                same.then(|| (name.clone(), root(old, new)))
            })
            .collect();
        let mut met = Self {
            clients: clients(&self.clients, &new.clients),
            roots,
            files: files(&self.files, &new.files),
            network: network(&self.network, &new.network),
            python: python(&self.python, &new.python),
            approvals: approvals(&self.approvals, &new.approvals),
            limits: limits(&self.limits, &new.limits),
            review: ReviewRules {
                from_level: self.review.from_level.min(new.review.from_level),
                reviewers: joined(&self.review.reviewers, &new.review.reviewers),
            },
            tests: Vec::new(),
            sha256: Sha256::new().chain_update(self.sha256).chain_update(new.sha256).finalize().into(),
            spans: new.spans.clone(),
            ..self.clone()
        };
        met.profiles = self
            .profiles
            .iter()
            .filter_map(|(name, old)| Some((name.clone(), profile(old, new.profiles.get(name)?, self, new, &met))))
            .collect();
        met.tools = self.tools.keys().chain(new.tools.keys()).map(|name| (name.clone(), tool(name, self, new))).collect();
        met
    }
}

fn least<T: Ord>(old: Option<T>, new: Option<T>) -> Option<T> {
    match (old, new) {
        (Some(old), Some(new)) => Some(old.min(new)),
        (old, new) => old.or(new),
    }
}

/// Only what both give alike; a token that fits a rule of one alone has no access.
fn clients(old: &Clients, new: &Clients) -> Clients {
    let alike = |old: &Option<String>, new: &Option<String>| old.clone().filter(|_| old == new);
    let oauth = joined(&old.oauth, &new.oauth).into_iter().map(|rule| {
        let in_both = old.oauth.contains(&rule) && new.oauth.contains(&rule);
        // No profile has this name.
        if in_both { rule } else { OAuth { profile: String::new(), ..rule } }
    });
    Clients {
        stdio: alike(&old.stdio, &new.stdio),
        http: alike(&old.http, &new.http),
        tokens: old.tokens.iter().filter(|token| new.tokens.contains(token)).cloned().collect(),
        oauth: oauth.collect(),
    }
}

fn root(old: &Root, new: &Root) -> Root {
    Root {
        mode: if old.mode == RootMode::ReadOnly { old.mode } else { new.mode },
        allowed: narrowed(&old.allowed, &new.allowed, AllowPattern::is_within),
        denied: joined(&old.denied, &new.denied),
        untrusted: joined(&old.untrusted, &new.untrusted),
        quota: old.quota.into_iter().chain(new.quota).reduce(Quota::meet),
        ..old.clone()
    }
}

fn files(old: &Files, new: &Files) -> Files {
    Files {
        denied: joined(&old.denied, &new.denied),
        untrusted: joined(&old.untrusted, &new.untrusted),
        runs_later: joined(&old.runs_later, &new.runs_later),
        names_runs_later: old.names_runs_later || new.names_runs_later,
        max_file_size: old.max_file_size.min(new.max_file_size),
        max_answer: old.max_answer.min(new.max_answer),
        symlinks: if old.symlinks == Symlinks::Deny { old.symlinks } else { new.symlinks },
    }
}

fn network(old: &NetworkRules, new: &NetworkRules) -> NetworkRules {
    let kept = |old: &[u16], new: &[u16]| old.iter().filter(|port| new.contains(port)).copied().collect();
    NetworkRules {
        // A list beside `any_public` says nothing: the other side's list is what both open.
        allowed_domains: match (old.any_public, new.any_public) {
            (true, false) => new.allowed_domains.clone(),
            (false, true) => old.allowed_domains.clone(),
            _ => narrowed(&old.allowed_domains, &new.allowed_domains, DomainPattern::is_within),
        },
        any_public: old.any_public && new.any_public,
        denied_domains: joined(&old.denied_domains, &new.denied_domains),
        allowed_ports: kept(&old.allowed_ports, &new.allowed_ports),
        denied_ports: joined(&old.denied_ports, &new.denied_ports),
        allowed_schemes: old.allowed_schemes.iter().filter(|scheme| new.allowed_schemes.contains(scheme)).copied().collect(),
        internal: old.internal.iter().filter(|address| new.internal.contains(address)).copied().collect(),
        max_response: old.max_response.min(new.max_response),
        max_connections: old.max_connections.min(new.max_connections),
        rate_per_minute: least(old.rate_per_minute, new.rate_per_minute),
        rate_per_hour: least(old.rate_per_hour, new.rate_per_hour),
        robots: if old.robots == Robots::Respect { old.robots } else { new.robots },
        ..old.clone()
    }
}

fn python(old: &Python, new: &Python) -> Python {
    let any = |python: &Python| python.allowed_imports.iter().any(|module| module == "*");
    let common = |old: &[String], new: &[String]| old.iter().filter(|name| new.contains(name)).cloned().collect();
    let strictness = |check: Check| match check {
        Check::Strict => 0,
        Check::Imports => 1,
        Check::Off => 2,
    };
    Python {
        check: if strictness(new.check) < strictness(old.check) { new.check } else { old.check },
        allowed_imports: match (any(old), any(new)) {
            (true, false) => new.allowed_imports.clone(),
            (false, true) => old.allowed_imports.clone(),
            _ => common(&old.allowed_imports, &new.allowed_imports),
        },
        allowed_calls: common(&old.allowed_calls, &new.allowed_calls),
        allowed_attributes: common(&old.allowed_attributes, &new.allowed_attributes),
        roots: narrowed(&old.roots, &new.roots, RootUse::is_within),
        network: old.network && new.network,
        timeout: old.timeout.min(new.timeout),
        cpu: old.cpu.min(new.cpu),
        cpu_share: old.cpu_share.min(new.cpu_share),
        memory: old.memory.min(new.memory),
        processes: old.processes.min(new.processes),
        open_files: old.open_files.min(new.open_files),
        file_size: old.file_size.min(new.file_size),
        scratch: old.scratch.min(new.scratch),
        output: old.output.min(new.output),
        max_sessions: old.max_sessions.min(new.max_sessions),
        idle: old.idle.min(new.idle),
        require: joined(&old.require, &new.require),
        ..old.clone()
    }
}

fn profile(old: &Profile, new: &Profile, of: &Manifest, by: &Manifest, met: &Manifest) -> Profile {
    let sees = |profile: &Profile, name: &String| profile.roots.as_ref().is_none_or(|roots| roots.contains(name));
    let both_silent = old.roots.is_none() && new.roots.is_none();
    let roots = met.roots.keys().filter(|name| sees(old, name) && sees(new, name)).cloned().collect();
    // Where nobody says anything a default holds, which a written limit lifts: the smaller of what holds is written down.
    let written = |profile: &Profile, manifest: &Manifest| least(profile.bounds.rate_per_minute, manifest.limits.bounds.rate_per_minute);
    let rate = match (written(old, of), written(new, by)) {
        (None, None) => None,
        (old, new) => Some(old.unwrap_or(of.limits.default_rate).min(new.unwrap_or(by.limits.default_rate))),
    };
    Profile {
        permissions: old.permissions.intersection(new.permissions),
        allowed_tools: narrowed(&old.allowed_tools, &new.allowed_tools, NamePattern::is_within),
        denied_tools: joined(&old.denied_tools, &new.denied_tools),
        roots: if both_silent { None } else { Some(roots) },
        bounds: Bounds { rate_per_minute: rate, ..bounds(&old.bounds, &new.bounds) },
    }
}

fn bounds(old: &Bounds, new: &Bounds) -> Bounds {
    Bounds {
        rate_per_minute: least(old.rate_per_minute, new.rate_per_minute),
        rate_per_hour: least(old.rate_per_hour, new.rate_per_hour),
        max_file_size: least(old.max_file_size, new.max_file_size),
        max_answer: least(old.max_answer, new.max_answer),
        timeout: least(old.timeout, new.timeout),
        write_per_hour: least(old.write_per_hour, new.write_per_hour),
        egress_per_hour: least(old.egress_per_hour, new.egress_per_hour),
        cpu_per_hour: least(old.cpu_per_hour, new.cpu_per_hour),
        concurrent_calls: least(old.concurrent_calls, new.concurrent_calls),
    }
}

fn tool(name: &str, of: &Manifest, by: &Manifest) -> ToolRules {
    let none = ToolRules::default();
    let (old, new) = (of.tools.get(name).unwrap_or(&none), by.tools.get(name).unwrap_or(&none));
    let (how_old, how_new) = (old.remember.unwrap_or(of.approvals.remember), new.remember.unwrap_or(by.approvals.remember));
    let mut met = ToolRules {
        level: old.level.max(new.level),
        remember: Some(if remembers(Some(how_new), by) < remembers(Some(how_old), of) { how_new } else { how_old }),
        only_listed: old.only_listed || new.only_listed,
        bounds: bounds(&old.bounds, &new.bounds),
        ..old.clone()
    };
    met.arguments.clear();
    let mut contradict = false;
    for argument in old.arguments.keys().chain(new.arguments.keys()) {
        let rule = match (old.arguments.get(argument), new.arguments.get(argument)) {
            (Some(old), Some(new)) => {
                let both = both_rules(old, new);
                contradict |= both.is_none();
                both
            }
            // Where only listed ones may be given, one that the other side lists may not.
            (Some(rule), None) => Some(rule.clone()).filter(|_| !new.only_listed),
            (None, Some(rule)) => Some(rule.clone()).filter(|_| !old.only_listed),
            (None, None) => None,
        };
        met.arguments.extend(rule.map(|rule| (argument.clone(), rule)));
    }
    if contradict {
        // No value suits both, and an absent argument takes one: no call is open.
        met.bounds.rate_per_minute = Some(0);
    }
    met
}

fn approvals(old: &Approvals, new: &Approvals) -> Approvals {
    let both_queue = old.no_client_channel == NoClientChannel::Operator && new.no_client_channel == NoClientChannel::Operator;
    let mut met = old.clone();
    for (mode, level) in met.modes.iter_mut().zip(Level::ALL) {
        *mode = old.mode(level).max(new.mode(level));
    }
    let session = |approvals: &Approvals| approvals.remember == super::Remember::Session;
    met.remember = if session(old) && !session(new) { new.remember } else { old.remember };
    met.timeout = old.timeout.min(new.timeout);
    met.no_client_channel = if both_queue { NoClientChannel::Operator } else { NoClientChannel::Deny };
    met.two_persons = joined(&old.two_persons, &new.two_persons);
    met.raise_after_untrusted |= new.raise_after_untrusted;
    met
}

fn limits(old: &Limits, new: &Limits) -> Limits {
    Limits {
        default_rate: old.default_rate.min(new.default_rate),
        bounds: bounds(&old.bounds, &new.bounds),
        timeout: old.timeout.min(new.timeout),
        concurrent_calls: old.concurrent_calls.min(new.concurrent_calls),
        write_per_hour: old.write_per_hour.min(new.write_per_hour),
        egress_per_hour: old.egress_per_hour.min(new.egress_per_hour),
        cpu_per_hour: old.cpu_per_hour.min(new.cpu_per_hour),
        breaker: Breaker { denials: old.breaker.denials.min(new.breaker.denials), within: old.breaker.within.max(new.breaker.within) },
    }
}
