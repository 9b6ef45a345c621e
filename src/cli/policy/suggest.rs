//! Lines that the log suggests: what was refused and could be allowed, and what is open and was never used. Printed as TOML that can be pasted;
//! nothing is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::super::change::lift;
use super::super::run::{End, Fault};
use super::super::setup;
use super::replay::{Recorded, judged, recorded, target};
use crate::manifest::Manifest;
use crate::model::{Action, Code, Flag, Flags};
use crate::policy::Decision;
use crate::policy::paths::place;
use crate::tools;

/// What is proposed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// Also what a denial names.
    pub(super) denied: bool,
    /// Only what tightens.
    pub(super) tighten: bool,
}

/// A line of the manifest as it could be.
#[derive(Debug, Default)]
struct Proposal {
    /// Why, for the comment above it.
    why: Vec<String>,
    /// What is added to or taken from the list under the key.
    added: BTreeSet<String>,
    removed: BTreeSet<String>,
    /// A value that is no list.
    value: Option<String>,
}

type Proposals = BTreeMap<String, Proposal>;

/// Prints what the last calls suggest.
pub(super) fn suggest(file: Option<&Path>, most: usize, wanted: Wanted, out: &mut dyn Write) -> Result<End, Fault> {
    let mut found = setup::find(&super::choice(file, &[]))?;
    let state = setup::state_path(&found.manifest, found.file.as_deref())?;
    let calls = recorded(&state, most)?;
    let (manifest, roots) = super::opened(&mut found);
    let name = found.file.as_deref().map_or_else(|| "the built-in manifest".to_owned(), |file| file.display().to_string());
    writeln!(out, "# {} recorded call(s), judged by {name} as it is now", calls.len())?;
    let mut used = Used::default();
    let mut refused: BTreeMap<(String, String, String), (usize, Recorded)> = BTreeMap::new();
    let mut named_by_a_denial = 0_usize;
    for call in &calls {
        let decided = judged(&manifest, roots.as_ref(), call);
        if decided.verdict.decision != Decision::Deny {
            used.take(&manifest, call, decided.action.as_ref());
        } else if call.refused.is_some() {
            let is_denial =
                matches!(
                    decided.verdict.code,
                    Code::ToolDenied | Code::PathDenied | Code::DomainDenied | Code::PortNotAllowed | Code::LevelDenied
                ) && decided.verdict.rule.as_deref().is_some_and(|rule| rule.contains("denied") || rule.starts_with("approvals"));
            if is_denial && !wanted.denied {
                named_by_a_denial += 1;
                continue;
            }
            let code = decided.verdict.code.as_str().to_owned();
            let entry = refused.entry((code, call.profile.clone(), format!("{} {}", call.tool, target(call)))).or_insert((0, call.clone()));
            entry.0 += 1;
        }
    }
    let mut loosening = Proposals::new();
    if !wanted.tighten {
        for ((code, _, what), (count, call)) in &refused {
            allow(&mut loosening, &manifest, roots.as_ref(), call, &format!("{count} × {code}: {what}"));
        }
    }
    let mut tightening = Proposals::new();
    if !calls.is_empty() {
        used.unused(&manifest, &mut tightening);
    }
    print(&manifest, "to allow what was refused (lines in the place of those that stand there)", &loosening, out)?;
    print(&manifest, "to close what no recorded call used (instead of the lines above, not besides)", &tightening, out)?;
    if named_by_a_denial > 0 {
        writeln!(out, "\n# {named_by_a_denial} call(s) were refused by a denial; it is left alone (see --denied)")?;
    }
    if loosening.is_empty() && tightening.is_empty() {
        writeln!(out, "# nothing to propose")?;
    }
    Ok(End::Done)
}

/// Proposes what would let a refused call through, where lines of the manifest would.
fn allow(proposals: &mut Proposals, manifest: &Arc<Manifest>, roots: Option<&crate::sandbox::root::Roots>, call: &Recorded, why: &str) {
    let mut changed = Arc::clone(manifest);
    let mut steps = Vec::new();
    let mut decided = judged(&changed, roots, call);
    while decided.verdict.decision == Decision::Deny && steps.len() < 6 {
        let Some(change) = lift(Arc::make_mut(&mut changed), &call.profile, &call.tool, &decided) else { return };
        steps.push(change);
        decided = judged(&changed, roots, call);
    }
    if decided.verdict.decision == Decision::Deny {
        return;
    }
    for change in steps {
        let key = change.key.split('[').next().unwrap_or_default().to_owned();
        let words = quoted(&change.what);
        let proposal = proposals.entry(key).or_default();
        proposal.why.push(why.to_owned());
        match change.what.split(' ').next() {
            Some("add") => proposal.added.extend(words),
            Some("take") => proposal.removed.extend(words),
            _ => proposal.value = Some(change.what),
        }
    }
}

/// The words of a change: what stands in quotes, or the number.
fn quoted(what: &str) -> Vec<String> {
    if what.contains('"') {
        return what.split('"').skip(1).step_by(2).map(|word| format!("\"{}\"", word.replace('\\', "\\\\"))).collect();
    }
    what.split(' ').filter(|word| word.parse::<u16>().is_ok()).map(str::to_owned).collect()
}

/// What calls that went through made use of.
#[derive(Debug, Default)]
struct Used {
    profiles: BTreeSet<String>,
    tools: BTreeSet<(String, String)>,
    roots: BTreeSet<(String, String)>,
    patterns: BTreeSet<(String, usize)>,
    domains: BTreeSet<usize>,
    fetched: bool,
}

impl Used {
    fn take(&mut self, manifest: &Manifest, call: &Recorded, action: Option<&Action>) {
        self.profiles.insert(call.profile.clone());
        self.tools.insert((call.profile.clone(), call.tool.clone()));
        let Some(action) = action else { return };
        for target in action.touches().iter().filter_map(|touch| place(manifest, &touch.path).ok()) {
            self.roots.insert((call.profile.clone(), target.root.clone()));
            let Some(root) = manifest.roots.get(&target.root) else { continue };
            let matching =
                root.allowed.iter().enumerate().filter(|(_, pattern)| pattern.run(&target.path).leads || pattern.matches(&target.path));
            self.patterns.extend(matching.map(|(index, _)| (target.root.clone(), index)));
        }
        match action {
            Action::Fetch(fetch) => {
                self.fetched = true;
                let host = crate::model::HttpUrl::parse(&fetch.url).ok();
                let host = host.as_ref().and_then(|url| crate::policy::network::DomainPattern::parse(url.host_str()).ok());
                let Some(host) = host else { return };
                let allowed = manifest.network.allowed_domains.iter().enumerate();
                self.domains.extend(allowed.filter(|(_, pattern)| host.is_within(pattern)).map(|(index, _)| index));
            }
            Action::RunPython(_) => {
                let seen = crate::policy::python_roots(manifest, &call.profile);
                self.roots.extend(seen.into_iter().map(|(name, _)| (call.profile.clone(), name.to_owned())));
            }
            _ => {}
        }
    }

    /// What is open and was not used, by profiles that were.
    fn unused(&self, manifest: &Manifest, proposals: &mut Proposals) {
        let mut add = |key: String, word: String, why: String| {
            let proposal = proposals.entry(key).or_default();
            proposal.removed.insert(word);
            proposal.why.push(why);
        };
        for (name, profile) in manifest.profiles.iter().filter(|(name, _)| self.profiles.contains(*name)) {
            let used: Vec<&str> = self.tools.iter().filter(|(owner, _)| owner == name).map(|(_, tool)| tool.as_str()).collect();
            let needed = |flag: Flag| {
                tools::specs().iter().any(|spec| used.contains(&spec.name) && spec.flags.contains(Flags::of(&[flag])))
                    // A fetch into a file, and programs that see folders, use flags that their tool alone does not need.
                    || used.contains(&"run_python") && matches!(flag, Flag::ReadFile | Flag::WriteFile)
                    || used.contains(&"fetch") && flag == Flag::WriteFile
            };
            for flag in profile.permissions.missing_from(Flags::NONE).filter(|flag| !needed(*flag)) {
                let key = format!("profiles.{name}.permissions");
                add(key, format!("\"{}\"", flag.as_str()), format!("no call of `{name}` needed {}", flag.as_str()));
            }
            for pattern in profile.allowed_tools.iter().filter(|pattern| !used.iter().any(|tool| pattern.matches(tool))) {
                let key = format!("profiles.{name}.allowed_tools");
                add(key, format!("\"{}\"", pattern.as_str()), format!("no call of `{name}` used `{}`", pattern.as_str()));
            }
            for root in profile.roots.iter().flatten().filter(|root| !self.roots.contains(&(name.clone(), (*root).clone()))) {
                add(format!("profiles.{name}.roots"), format!("\"{root}\""), format!("no call of `{name}` touched `{root}`"));
            }
        }
        for (name, root) in manifest.roots.iter().filter(|(name, _)| self.roots.iter().any(|(_, root)| root == *name)) {
            let unused = root.allowed.iter().enumerate().filter(|(index, _)| !self.patterns.contains(&(name.clone(), *index)));
            for (_, pattern) in unused {
                let why = format!("no call touched `{}` of `{name}`", pattern.as_str());
                add(format!("roots.{name}.allowed_paths"), format!("\"{}\"", pattern.as_str()), why);
            }
        }
        for (index, pattern) in manifest.network.allowed_domains.iter().enumerate() {
            if self.fetched && !self.domains.contains(&index) {
                add("network.allowed_domains".to_owned(), format!("\"{pattern}\""), format!("no call fetched from `{pattern}`"));
            }
        }
    }
}

/// Prints proposals as tables with whole keys, each with its reasons.
fn print(manifest: &Manifest, title: &str, proposals: &Proposals, out: &mut dyn Write) -> Result<(), Fault> {
    if proposals.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n# -- {title}")?;
    // Keys are sorted, so that those of one table follow each other: a table stands once, or it could not be pasted.
    let mut open = "";
    for (key, proposal) in proposals {
        let Some((table, name)) = key.rsplit_once('.') else { continue };
        if table != open {
            writeln!(out, "\n[{table}]")?;
            open = table;
        }
        for why in proposal.why.iter().take(MOST_REASONS) {
            writeln!(out, "# {}", crate::filter::escape_line(why))?;
        }
        if proposal.why.len() > MOST_REASONS {
            writeln!(out, "# and {} more", proposal.why.len() - MOST_REASONS)?;
        }
        let at = manifest.spans.locate(key).map(|place| format!("  # line {}", place.line)).unwrap_or_default();
        if let Some(value) = &proposal.value {
            writeln!(out, "# {name}: {value}{at}")?;
        } else {
            let mut all: Vec<String> = now(manifest, key).into_iter().filter(|word| !proposal.removed.contains(word)).collect();
            all.extend(proposal.added.iter().filter(|word| !all.contains(word)).cloned().collect::<Vec<_>>());
            writeln!(out, "{name} = [{}]{at}", all.join(", "))?;
        }
    }
    Ok(())
}

/// Reasons that are shown for one line.
const MOST_REASONS: usize = 5;

/// The list that stands under a key now, as TOML words.
fn now(manifest: &Manifest, key: &str) -> Vec<String> {
    let word = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let parts: Vec<&str> = key.split('.').collect();
    let network = &manifest.network;
    match parts.as_slice() {
        ["profiles", name, list] => {
            let Some(profile) = manifest.profiles.get(*name) else { return Vec::new() };
            match *list {
                "permissions" => profile.permissions.missing_from(Flags::NONE).map(|flag| word(flag.as_str())).collect(),
                "allowed_tools" => profile.allowed_tools.iter().map(|pattern| word(pattern.as_str())).collect(),
                "denied_tools" => profile.denied_tools.iter().map(|pattern| word(pattern.as_str())).collect(),
                _ => profile.roots.iter().flatten().map(|root| word(root)).collect(),
            }
        }
        ["roots", name, list] => {
            let Some(root) = manifest.roots.get(*name) else { return Vec::new() };
            match *list {
                "denied_paths" => root.denied.iter().map(|pattern| word(pattern.as_str())).collect(),
                _ => root.allowed.iter().map(|pattern| word(pattern.as_str())).collect(),
            }
        }
        ["files", _] => manifest.files.denied.iter().map(|pattern| word(pattern.as_str())).collect(),
        ["network", "allowed_domains"] => network.allowed_domains.iter().map(|pattern| word(&pattern.to_string())).collect(),
        ["network", "denied_domains"] => network.denied_domains.iter().map(|pattern| word(&pattern.to_string())).collect(),
        ["network", "allowed_ports"] => network.allowed_ports.iter().map(ToString::to_string).collect(),
        ["network", "denied_ports"] => network.denied_ports.iter().map(ToString::to_string).collect(),
        ["network", "allowed_schemes"] => network.allowed_schemes.iter().map(|scheme| word(scheme.as_str())).collect(),
        ["network", "internal"] => network.internal.iter().map(|address| word(&address.to_string())).collect(),
        ["python", "allowed_imports"] => manifest.python.allowed_imports.iter().map(|module| word(module)).collect(),
        _ => Vec::new(),
    }
}
