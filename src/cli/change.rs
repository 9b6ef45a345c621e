//! The smallest change of a manifest that would let a denied call through: found from the code, applied, and judged again.

use std::fmt;

use super::decide::Decided;
use crate::manifest::{AllowPattern, Manifest, Mode, NamePattern, NoClientChannel, RootMode, Symlinks};
use crate::model::{Action, Bytes, Code, Flag, Flags, Host, HttpUrl, Link, Target};
use crate::policy::network::DomainPattern;
use crate::policy::program::missing_imports;

/// One change of the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The key, e.g. `roots.project.allowed_paths`.
    pub key: String,
    /// What to do with it, e.g. `add "notes/a.txt"`.
    pub what: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.what)
    }
}

/// The change that would lift this one refusal, already made in `manifest`. None where no line of the manifest can lift it.
pub(super) fn lift(manifest: &mut Manifest, profile: &str, tool: &str, decided: &Decided) -> Option<Change> {
    let verdict = &decided.verdict;
    let rule = verdict.rule.clone().unwrap_or_default();
    let change = |key: String, what: String| Some(Change { key, what });
    match verdict.code {
        Code::ToolNotAllowed => {
            manifest.profiles.get_mut(profile)?.allowed_tools.push(NamePattern::new(tool));
            change(rule, format!("add \"{tool}\""))
        }
        Code::ToolDenied => {
            let rules = manifest.profiles.get_mut(profile)?;
            let pattern = take(&mut rules.denied_tools, index_of(&rule)?)?;
            change(rule, format!("take \"{}\" out", pattern.as_str()))
        }
        Code::PermissionMissing => {
            let rules = manifest.profiles.get_mut(profile)?;
            let named: Vec<&str> = Flag::ALL.map(Flag::as_str).into_iter().filter(|name| verdict.message.contains(name)).collect();
            rules.permissions = named.iter().filter_map(|name| Flags::parse(name)).fold(rules.permissions, Flags::union);
            change(rule, format!("add {}", quoted(&named)))
        }
        Code::ArgumentNotAllowed => lift_argument(manifest, tool, rule),
        Code::RootNotInProfile | Code::RootReadOnly | Code::PathDenied | Code::PathNotAllowed | Code::FileTooLarge | Code::Symlink => {
            lift_path(manifest, profile, tool, rule, decided)
        }
        Code::SchemeNotAllowed
        | Code::DomainDenied
        | Code::DomainNotAllowed
        | Code::PortNotAllowed
        | Code::IpLiteral
        | Code::InternalAddress => lift_network(manifest, &rule, decided),
        Code::ImportNotAllowed => {
            let Action::RunPython(run) = decided.action.as_ref()? else { return None };
            let missing = missing_imports(&manifest.python, &run.code);
            if missing.is_empty() {
                return None;
            }
            manifest.python.allowed_imports.extend(missing.iter().cloned());
            change("python.allowed_imports".to_owned(), format!("add {}", quoted(&missing)))
        }
        Code::RateLimited => {
            let tools = manifest.tools.get_mut(tool);
            let rates = if rule.starts_with("tools.") {
                &mut tools?.bounds.rates
            } else if rule.starts_with("profiles.") {
                &mut manifest.profiles.get_mut(profile)?.bounds.rates
            } else {
                manifest.limits.default_rate = u64::MAX;
                &mut manifest.limits.rates
            };
            if rule.ends_with("hour") {
                rates.per_hour = Some(u64::MAX);
            } else {
                rates.per_minute = Some(u64::MAX);
            }
            change(rule, "raise it, or wait".to_owned())
        }
        Code::LevelDenied => {
            let level = verdict.level?;
            let every = manifest.approvals.modes_mut().into_iter().take(usize::from(u8::from(level)) + 1);
            every.filter(|mode| **mode == Mode::Deny).for_each(|mode| *mode = Mode::Every);
            change(rule, "write \"every\" (or \"operator\")".to_owned())
        }
        Code::NoApprovalChannel => {
            manifest.approvals.no_client_channel = NoClientChannel::Operator;
            change("approvals.no_client_channel".to_owned(), "write \"operator\", or use a client that can show questions".to_owned())
        }
        _ => None,
    }
}

fn lift_argument(manifest: &mut Manifest, tool: &str, rule: String) -> Option<Change> {
    let rules = manifest.tools.get_mut(tool)?;
    if rule.ends_with(".only_listed") {
        rules.only_listed = false;
        return Some(Change { key: rule, what: "write false, or list the argument in allowed_arguments".to_owned() });
    }
    let name = rule.rsplit('.').next()?;
    rules.arguments.remove(name)?;
    Some(Change { key: rule, what: "open the value that was given".to_owned() })
}

fn lift_path(manifest: &mut Manifest, profile: &str, tool: &str, rule: String, decided: &Decided) -> Option<Change> {
    let target = refused_target(manifest, decided)?;
    let change = |key: String, what: String| Some(Change { key, what });
    match decided.verdict.code {
        Code::RootNotInProfile => {
            manifest.profiles.get_mut(profile)?.roots.as_mut()?.push(target.root.clone());
            change(rule, format!("add \"{}\"", target.root))
        }
        Code::RootReadOnly => {
            manifest.roots.get_mut(&target.root)?.mode = RootMode::ReadWrite;
            change(rule, "write \"rw\"".to_owned())
        }
        // What belongs to the server has no rule, and no line lifts it.
        Code::PathDenied if rule.is_empty() => None,
        Code::PathDenied => {
            let index = index_of(&rule)?;
            let list =
                if rule.starts_with("files.") { &mut manifest.files.denied } else { &mut manifest.roots.get_mut(&target.root)?.denied };
            let pattern = take(list, index)?;
            change(rule, format!("take \"{}\" out, or make it narrower", pattern.as_str()))
        }
        Code::PathNotAllowed => {
            let text = if target.path.is_root() { "**".to_owned() } else { literal(&target.path.to_string()) };
            manifest.roots.get_mut(&target.root)?.allowed.push(AllowPattern::parse(&text).ok()?);
            change(rule, format!("add \"{text}\""))
        }
        Code::FileTooLarge => {
            manifest.files.max_file_size = Bytes(u64::MAX);
            manifest.profiles.get_mut(profile)?.bounds.max_file_size = None;
            if let Some(rules) = manifest.tools.get_mut(tool) {
                rules.bounds.max_file_size = None;
            }
            change(rule, "raise it".to_owned())
        }
        Code::Symlink => {
            manifest.files.symlinks = Symlinks::Inside;
            change(rule, "write \"inside\"".to_owned())
        }
        _ => None,
    }
}

fn lift_network(manifest: &mut Manifest, rule: &str, decided: &Decided) -> Option<Change> {
    let url = HttpUrl::parse(match decided.action.as_ref()? {
        Action::Fetch(fetch) => &fetch.url,
        _ => return None,
    })
    .ok()?;
    let network = &mut manifest.network;
    let change = |key: &str, what: String| Some(Change { key: key.to_owned(), what });
    match decided.verdict.code {
        Code::DomainNotAllowed => {
            network.allowed_domains.push(DomainPattern::parse(url.host_str()).ok()?);
            change("network.allowed_domains", format!("add \"{}\"", url.host_str()))
        }
        Code::DomainDenied => {
            let pattern = take(&mut network.denied_domains, index_of(rule)?)?;
            change(rule, format!("take \"{pattern}\" out"))
        }
        Code::PortNotAllowed if index_of(rule).is_some() => {
            let port = take(&mut network.denied_ports, index_of(rule)?)?;
            change(rule, format!("take {port} out"))
        }
        Code::PortNotAllowed => {
            network.allowed_ports.push(url.port());
            change("network.allowed_ports", format!("add {}", url.port()))
        }
        Code::SchemeNotAllowed if !network.allowed_schemes.contains(&url.scheme()) => {
            network.allowed_schemes.push(url.scheme());
            change("network.allowed_schemes", format!("add \"{}\"", url.scheme()))
        }
        Code::IpLiteral | Code::InternalAddress => {
            let addresses = match url.host() {
                Host::Address(address) => vec![address],
                Host::Name(_) => decided.facts.as_ref()?.addresses.clone(),
            };
            let closed: Vec<_> = addresses
                .into_iter()
                .map(|address| std::net::SocketAddr::new(address, url.port()))
                .filter(|address| !network.internal.contains(address))
                .filter(|address| matches!(url.host(), Host::Address(_)) || !crate::policy::address::is_public(address.ip()))
                .collect();
            if closed.is_empty() {
                return None;
            }
            let shown: Vec<String> = closed.iter().map(ToString::to_string).collect();
            network.internal.extend(closed);
            change("network.internal", format!("add {}", quoted(&shown.iter().map(String::as_str).collect::<Vec<_>>())))
        }
        _ => None,
    }
}

/// The target the refusal speaks of: the first one whose words stand in its message.
fn refused_target(manifest: &Manifest, decided: &Decided) -> Option<Target> {
    let touches = decided.action.as_ref()?.touches();
    let placed = touches.iter().filter_map(|touch| crate::policy::paths::place(manifest, &touch.path).ok());
    let seen = decided.facts.iter().flat_map(|facts| &facts.paths).zip(decided.screened.iter().flat_map(|screened| &screened.targets));
    // An entry below a folder, or where a link leads, may be what was refused.
    let more = seen.flat_map(|(fact, target)| {
        let below = fact.below.iter().map(|entry| Target { root: target.root.clone(), path: entry.path.clone() });
        let leads = match &fact.link {
            Link::Leads(path) => Some(Target { root: target.root.clone(), path: path.clone() }),
            _ => None,
        };
        leads.into_iter().chain(below).collect::<Vec<_>>()
    });
    let speaks_of = |target: &Target| {
        let message = &decided.verdict.message;
        message.contains(&format!("`{target}`")) || message.starts_with(&format!("`{}` is", target.root))
    };
    placed.chain(more).find(speaks_of)
}

/// A pattern that matches this path alone.
fn literal(path: &str) -> String {
    path.chars().flat_map(|c| if matches!(c, '*' | '?' | '[') { vec!['[', c, ']'] } else { vec![c] }).collect()
}

fn index_of(rule: &str) -> Option<usize> {
    rule.rsplit_once('[')?.1.strip_suffix(']')?.parse().ok()
}

fn take<T>(list: &mut Vec<T>, index: usize) -> Option<T> {
    (index < list.len()).then(|| list.remove(index))
}

fn quoted(words: &[impl fmt::Display]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}
