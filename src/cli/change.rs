//! The change of a manifest that would let a denied call through: found from the code, applied, and judged again.

use std::fmt;
use std::net::SocketAddr;

use serde::Serialize;

use super::decide::Decided;
use crate::manifest::{AllowPattern, DomainPattern, Manifest, Mode, NamePattern, RootMode, Symlinks};
use crate::model::{Action, Bytes, Code, Flag, Flags, Host, HttpUrl, Link, RelPath, Target};
use crate::policy::address::is_public;
use crate::policy::paths::place;
use crate::policy::program::missing_imports;

/// One change of the manifest.
#[derive(Debug, Serialize)]
pub struct Change {
    /// The key, e.g. `roots.project.allowed_paths`.
    pub key: String,
    /// What to do with it, e.g. `add "notes/**"`.
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
    let rules = manifest.profiles.get_mut(profile)?;
    let what = match verdict.code {
        Code::ToolNotAllowed => {
            rules.allowed_tools.push(NamePattern::new(tool));
            format!("add \"{tool}\"")
        }
        Code::ToolDenied => format!("take \"{}\" out", take(&mut rules.denied_tools, &rule)?.as_str()),
        Code::PermissionMissing => {
            let named: Vec<&str> = Flag::ALL.map(Flag::as_str).into_iter().filter(|name| verdict.message.contains(name)).collect();
            rules.permissions = named.iter().filter_map(|name| Flags::parse(name)).fold(rules.permissions, Flags::union);
            format!("add {}", quoted(&named))
        }
        Code::ArgumentNotAllowed if rule.ends_with(".only_listed") => {
            manifest.tools.get_mut(tool)?.only_listed = false;
            "write false, or list the argument in allowed_arguments".to_owned()
        }
        Code::ArgumentNotAllowed => {
            manifest.tools.get_mut(tool)?.arguments.remove(rule.rsplit('.').next()?)?;
            "open the value that was given".to_owned()
        }
        Code::FileTooLarge => {
            manifest.files.max_file_size = Bytes(u64::MAX);
            rules.bounds.max_file_size = None;
            manifest.tools.get_mut(tool).into_iter().for_each(|rules| rules.bounds.max_file_size = None);
            "raise it".to_owned()
        }
        Code::Symlink => {
            manifest.files.symlinks = Symlinks::Inside;
            "write \"inside\"".to_owned()
        }
        Code::ImportNotAllowed => {
            let Action::RunPython(run) = decided.action.as_ref()? else { return None };
            let missing = missing_imports(&manifest.python, &run.code);
            missing.first()?;
            manifest.python.allowed_imports.extend(missing.iter().cloned());
            return Some(Change { key: "python.allowed_imports".to_owned(), what: format!("add {}", quoted(&missing)) });
        }
        Code::LevelDenied => {
            let every = manifest.approvals.modes_mut().into_iter().take(usize::from(u8::from(verdict.level?)) + 1);
            every.filter(|mode| **mode == Mode::Deny).for_each(|mode| *mode = Mode::Every);
            "write \"every\" (or \"operator\")".to_owned()
        }
        Code::RootNotInProfile | Code::RootReadOnly | Code::PathDenied | Code::PathNotAllowed => {
            lift_path(manifest, profile, &rule, decided)?
        }
        _ => return lift_network(manifest, rule, decided),
    };
    Some(Change { key: rule, what })
}

fn lift_path(manifest: &mut Manifest, profile: &str, rule: &str, decided: &Decided) -> Option<String> {
    let target = refused_target(manifest, decided)?;
    let root = manifest.roots.get_mut(&target.root)?;
    Some(match decided.verdict.code {
        Code::RootNotInProfile => {
            manifest.profiles.get_mut(profile)?.roots.as_mut()?.push(target.root.clone());
            format!("add \"{}\"", target.root)
        }
        Code::RootReadOnly => {
            root.mode = RootMode::ReadWrite;
            "write \"rw\"".to_owned()
        }
        // What belongs to the server has no rule, and no line lifts it.
        Code::PathDenied => {
            let list = if rule.starts_with("files.") { &mut manifest.files.denied } else { &mut root.denied };
            format!("take \"{}\" out, or make it narrower", take(list, rule)?.as_str())
        }
        _ => {
            let is_folder = matches!(decided.action, Some(Action::ListDirectory(_) | Action::SearchFiles(_) | Action::CreateDirectory(_)));
            let pattern = usual(&root.allowed, &target.path, is_folder)?;
            let what = format!("add \"{}\"", pattern.as_str());
            root.allowed.push(pattern);
            what
        }
    })
}

/// The pattern that a person would write to allow a path: everything where nothing is allowed yet, else the topmost folder on the way in which nothing is
/// allowed, else the files of the same ending beside it, else the path itself.
fn usual(allowed: &[AllowPattern], path: &RelPath, is_folder: bool) -> Option<AllowPattern> {
    let on_the_way = path.ancestors().take(path.segments().len() + usize::from(is_folder)).skip(1);
    let folders: Vec<String> = on_the_way.map(|folder| literal(&folder.to_string()) + "/").collect();
    let is_new = |folder: &&String| !allowed.iter().any(|pattern| pattern.as_str().starts_with(folder.as_str()));
    let text = if allowed.is_empty() || path.is_root() {
        "**".to_owned()
    } else if let Some(folder) = folders.iter().find(is_new) {
        format!("{folder}**")
    } else {
        let (_, name) = path.split_last()?;
        let beside = folders.last().map_or("", String::as_str);
        match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
            Some((_, ending)) => format!("{beside}*.{}", literal(ending)),
            None => literal(&path.to_string()),
        }
    };
    let matches = AllowPattern::parse(&text).ok().filter(|pattern| pattern.matches(path));
    matches.or_else(|| AllowPattern::parse(&literal(&path.to_string())).ok())
}

fn lift_network(manifest: &mut Manifest, rule: String, decided: &Decided) -> Option<Change> {
    let Action::Fetch(fetch) = decided.action.as_ref()? else { return None };
    let url = HttpUrl::parse(&fetch.url).ok()?;
    let network = &mut manifest.network;
    let change = |key: &str, what: String| Some(Change { key: format!("network.{key}"), what });
    match decided.verdict.code {
        Code::DomainNotAllowed => {
            network.allowed_domains.push(DomainPattern::parse(url.host_str()).ok()?);
            change("allowed_domains", format!("add \"{}\"", url.host_str()))
        }
        Code::DomainDenied => {
            let what = format!("take \"{}\" out", take(&mut network.denied_domains, &rule)?);
            Some(Change { key: rule, what })
        }
        Code::PortNotAllowed => {
            if let Some(port) = take(&mut network.denied_ports, &rule) {
                return Some(Change { key: rule, what: format!("take {port} out") });
            }
            network.allowed_ports.push(url.port());
            change("allowed_ports", format!("add {}", url.port()))
        }
        Code::SchemeNotAllowed if !network.allowed_schemes.contains(&url.scheme()) => {
            network.allowed_schemes.push(url.scheme());
            change("allowed_schemes", format!("add \"{}\"", url.scheme()))
        }
        Code::IpLiteral | Code::InternalAddress => {
            let addresses = match url.host() {
                Host::Address(address) => vec![address],
                Host::Name(_) => decided.facts.as_ref()?.addresses.iter().copied().filter(|address| !is_public(*address)).collect(),
            };
            let at_port = addresses.into_iter().map(|address| SocketAddr::new(address, url.port()));
            let closed: Vec<SocketAddr> = at_port.filter(|address| !network.internal.contains(address)).collect();
            closed.first()?;
            network.internal.extend(&closed);
            change("internal", format!("add {}", quoted(&closed)))
        }
        _ => None,
    }
}

/// The target the refusal speaks of: the first one whose words stand in its message.
pub(super) fn refused_target(manifest: &Manifest, decided: &Decided) -> Option<Target> {
    let touches = decided.action.as_ref()?.touches();
    let placed = touches.iter().filter_map(|touch| place(manifest, &touch.path).ok());
    let seen = decided.facts.iter().flat_map(|facts| &facts.paths).zip(decided.screened.iter().flat_map(|screened| &screened.targets));
    // An entry below a folder, or where a link leads, may be what was refused.
    let more = seen.flat_map(|(fact, target)| {
        let leads = if let Link::Leads(path) = &fact.link { Some(path) } else { None };
        let paths = leads.into_iter().chain(fact.below.iter().map(|entry| &entry.path));
        paths.map(|path| Target { root: target.root.clone(), path: path.clone() })
    });
    let message = &decided.verdict.message;
    placed.chain(more).find(|target| message.contains(&format!("`{target}`")) || message.starts_with(&format!("`{}` is", target.root)))
}

/// A pattern that matches this path alone.
fn literal(path: &str) -> String {
    path.chars().map(|c| if matches!(c, '*' | '?' | '[') { format!("[{c}]") } else { c.to_string() }).collect()
}

/// Takes the entry out that a rule such as `files.denied_paths[2]` names.
fn take<T>(list: &mut Vec<T>, rule: &str) -> Option<T> {
    let index: usize = rule.rsplit_once('[')?.1.strip_suffix(']')?.parse().ok()?;
    (index < list.len()).then(|| list.remove(index))
}

fn quoted(words: &[impl fmt::Display]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_allowed_by_the_pattern_that_a_person_would_write() {
        for (allowed, path, expected) in [
            (&[][..], "notes/a.txt", "**"),
            (&["src/**"], "notes/2026/a.txt", "notes/**"),
            (&["notes/*"], "notes/2026/a.txt", "notes/2026/**"),
            (&["src/**"], "sales.csv", "*.csv"),
            (&["data/a.txt"], "data/b[1].csv", "data/*.csv"),
            (&["src/**"], ".env", ".env"),
            (&["src/**"], "a[1]/b.txt", "a[[]1]/**"),
        ] {
            let allowed: Vec<_> = allowed.iter().map(|pattern| AllowPattern::parse(pattern).unwrap()).collect();
            let pattern = usual(&allowed, &RelPath::parse(path).unwrap(), false).unwrap();
            assert_eq!(pattern.as_str(), expected, "{path}");
        }
        let folder = usual(&[AllowPattern::parse("src/**").unwrap()], &RelPath::parse("docs").unwrap(), true).unwrap();
        assert_eq!(folder.as_str(), "docs/**");
    }
}
